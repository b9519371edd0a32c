# SPDX-License-Identifier: MIT
# Runs in the guest: the library's tests through the kernel driver, what they ask of kernel and card,
# and what htop sees. Writes TAP.
. /lib/guest.sh

export CMOCKA_MESSAGE_OUTPUT=TAP NPU_TEST_DEVICE='accel0?pages=4k'
for name in run gate stop threads graph notify pool uring loop share wrap reset; do
	echo "# test-npurt-$name"
	NPU_TEST_NOTES=/tmp/notes test-npurt-$name || failed=1
done

echo "# test-calls"
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
test-calls || failed=1

result "every task takes the cycles it takes on the model in the process" diff /sim-notes /tmp/notes

# Stock htop: a column of the process, and the meter that names the engines.
echo "# htop $(cat /htop/version)"
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
load &
load=$!
cat >/tmp/htoprc <<END
htop_version=3.4.1
config_reader_min_version=3
hide_kernel_threads=1
hide_userland_threads=1
header_layout=one_100
column_meters_0=GPU
column_meter_modes_0=2
screen:Main=PID GPU_PERCENT GPU_TIME Command
.sort_key=GPU_PERCENT
.sort_direction=-1
END
# The process's line, with a percentage that is not zero; htop looks every 1.5 s.
used="^ *$load +([0-9]*[1-9][0-9]*\\.|0\\.[1-9]).* load\$"
htop_shows_use() {
	HTOPRC=/tmp/htoprc TERMINFO=/htop/terminfo LC_ALL=C screen 100 16 60 "$used" \
		/htop/lib/ld-linux-x86-64.so.2 --library-path /htop/lib /htop/htop >/tmp/screen
}

htop_names_engines() {
	grep -qE "vector: *[0-9]*\.[0-9]%" /tmp/screen && grep -qE "dma: *[0-9]*\.[0-9]%" /tmp/screen
}

result "htop shows the process's use of the NPU" htop_shows_use
sed 's/^/# /' /tmp/screen
grep "^drm-" /proc/$load/fdinfo/* | sed 's/^/# /'
result "htop's meter names the engines" htop_names_engines
kill $load
echo "1..$number"
exit $failed
