# SPDX-License-Identifier: MIT
# Runs in the guest: the kernel's test programs, then the library's errors of opening. Writes KTAP.
. /lib/guest.sh

for program in /kselftest/*; do
	echo "# ${program##*/}"
	"$program" || failed=1
done

check() { # NAME, TEXT it must say, COMMAND that must fail
	name=$1
	text=$2
	shift 2
	number=$((number + 1))
	if said=$("$@" 2>&1) || ! echo "$said" | grep -q "$text"; then
		echo "# expected a failure that says '$text', got: $said"
		echo "not ok $number $name"
		failed=1
	else
		echo "ok $number $name"
	fi
}

echo "# npu-ctl"
mkdir -p /etc
echo "root:x:0:0::/:/bin/sh" >/etc/passwd
echo "user:x:1000:1000::/:/bin/sh" >>/etc/passwd
chmod 0660 /dev/accel/accel0
check "open without permission" "join the group" su user -c "npu-ctl info --device accel0"
check "open what is not there" "modprobe npu" npu-ctl info --device accel7
check "open what is no DRM device" "no device of the kernel's DRM" \
	sh -c "rm -f /dev/accel/accel9 && mknod /dev/accel/accel9 c 1 3 && npu-ctl info --device accel9"
# The firmware's log, by debugfs. Its first lines may have been overwritten by the last.
number=$((number + 1))
said=$(npu-ctl log --device accel0 2>&1)
if echo "$said" | grep -q "info: context [0-9]*: destroyed"; then
	echo "ok $number the firmware's log"
else
	echo "# got: $said"
	echo "not ok $number the firmware's log"
	failed=1
fi
chmod 0666 /dev/accel/accel0
check "the firmware's log is for root" "run this as root" su user -c "npu-ctl log --device accel0"
chmod 0660 /dev/accel/accel0
mkdir /tmp/cgroup
mount -t cgroup -o devices devices /tmp/cgroup
mkdir -p /tmp/cgroup/none
check "open against the device cgroup" "device cgroup" \
	sh -c 'echo a >/tmp/cgroup/none/devices.deny; echo $$ >/tmp/cgroup/none/tasks; npu-ctl info --device accel0'
# The last node that goes: the driver lets go of the card in good order.
number=$((number + 1))
if rmmod npu && insmod /modules/npu.ko && npu-ctl info --device accel0 >/dev/null; then
	echo "ok $number unload and load again"
else
	echo "not ok $number unload and load again"
	failed=1
fi
[ ! -e /sys/kernel/debug/kmemleak ] || result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
