# SPDX-License-Identifier: MIT
# In the guest: programs are killed, the driver is unbound under them, and loaded again. KILLS, ROUNDS.
. /lib/guest.sh

finish() {
	echo "1..$number"
	exit $failed
}

# The first time fills caches.
campaign_kill 20 "$SEED" >/dev/null
memory_before
campaign_kill "$KILLS" "$SEED" || failed=1
check_memory "$KILLS"
campaign_rebind "$ROUNDS" "$SEED" || failed=1
check_memory "$ROUNDS"

reload() {
	for round in $(seq "$ROUNDS"); do
		rmmod npu && insmod /modules/npu.ko || return 1
	done
	npu-ctl info --device accel0
}

result "unloaded and loaded $ROUNDS times" reload
check_memory "$ROUNDS"
finish
