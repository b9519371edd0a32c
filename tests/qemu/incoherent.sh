# SPDX-License-Identifier: MIT
# Runs in the guest, on a device whose DMA bypasses the caches. Writes KTAP.
. /lib/guest.sh

says_why() {
	dmesg | grep "npu.*no user queues" || {
		dmesg | grep npu
		return 1
	}
}

firmware_runs() {
	npu-ctl log --device accel0 | grep "info: "
}

/kselftest/npu_incoherent || failed=1
result "the driver says why" says_why
result "the firmware runs, and its log can be read" firmware_runs
echo "1..$number"
exit $failed
