# SPDX-License-Identifier: MIT
# Runs in the guest: the kernel's test programs, then the library's errors of opening. Writes KTAP.
. /lib/guest.sh
export NPU_TELL_ERRNOS=1

for program in /kselftest/*; do
	echo "# ${program##*/}"
	"$program" || failed=1
done

# refused TEXT COMMAND...: the command must fail, and say the text
refused() {
	text=$1
	shift
	if told=$("$@" 2>&1); then
		echo "it succeeded: $told"
		return 1
	fi
	echo "expected a failure that says '$text', got: $told"
	echo "$told" | grep -q "$text"
}

# What driver/udev/60-npu.rules goes by.
rule_matches() {
	[ "$(basename "$(readlink /sys/class/accel/accel0/subsystem)")" = accel ] &&
		[ "$(basename "$(readlink /sys/class/accel/accel0/device/driver)")" = npu ]
}

# Its first lines may have been overwritten by the last.
firmware_log() {
	log=$(npu-ctl log --device accel0)
	echo "$log"
	echo "$log" | grep -q "info: context [0-9]*: destroyed"
}

# Who asks for one sees it, once.
leaves_dump() {
	npu-ctl coredump --discard >/dev/null 2>&1
	echo 0 >/sys/module/npu/parameters/coredump_interval
	npu-ctl reset --device accel0 &&
		refused "run this as root" su user -c "npu-ctl coredump" &&
		says "failed on .*: somebody asked for a reset" npu-ctl coredump --device accel0 &&
		says '"outcome": *"reset"' npu-ctl coredump --json --output /tmp/dump --discard &&
		says "Nothing failed: root asked for this reset" npu-ctl coredump /tmp/dump &&
		refused "the kernel has none of accel0" npu-ctl coredump --device accel0
}

# The last node goes: the driver lets go of the card in good order.
load_again() {
	rmmod npu && insmod /modules/npu.ko && npu-ctl info --device accel0 >/dev/null
}

# What the kernel does not know of its command line it tells init, as it does.
on_bus() {
	bus=$(basename "$(readlink /sys/class/accel/accel0/device/subsystem)")
	echo "the device is on $bus, and $1 was to be tested"
	[ "$bus" = "$1" ]
}

interrupts_come_by() {
	grep "$1.* npu\$" /proc/interrupts || {
		cat /proc/interrupts
		return 1
	}
}

result "the udev rule finds the device" rule_matches
result "it is on the bus that is tested" on_bus "${npu_bus:-pci}"
[ "${npu_bus:-pci}" = pci ] || result "its interrupt is wired" interrupts_come_by npu-shim

echo "# npu-ctl"
mkdir -p /etc
echo "root:x:0:0::/:/bin/sh" >/etc/passwd
echo "user:x:1000:1000::/:/bin/sh" >>/etc/passwd
chmod 0660 /dev/accel/accel0
result "open without permission" refused "join the group" su user -c "npu-ctl info --device accel0"
result "open what is not there" refused "modprobe npu" npu-ctl info --device accel7
result "open what is no DRM device" refused "no device of the kernel's DRM" \
	sh -c "rm -f /dev/accel/accel9 && mknod /dev/accel/accel9 c 1 3 && npu-ctl info --device accel9"
result "the firmware's log" firmware_log
chmod 0666 /dev/accel/accel0
result "the firmware's log is for root" refused "run this as root" su user -c "npu-ctl log --device accel0"
chmod 0660 /dev/accel/accel0
result "a reset is for root" refused "run this as root" su user -c "npu-ctl reset --device accel0"
result "a reset" says "working" npu-ctl reset --device accel0
result "what there has been" says '"last_failure": *"somebody asked for a reset"' npu-ctl errors --device accel0 --json
result "a context after it" npu-ctl health --device accel0
result "a core dump" leaves_dump
mkdir /tmp/cgroup
mount -t cgroup -o devices devices /tmp/cgroup
mkdir -p /tmp/cgroup/none
result "open against the device cgroup" refused "device cgroup" \
	sh -c 'echo a >/tmp/cgroup/none/devices.deny; echo $$ >/tmp/cgroup/none/tasks; npu-ctl info --device accel0'
result "unload and load again" load_again
! has_kmemleak || result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
