# SPDX-License-Identifier: MIT
# In the guest: programs are killed, the driver is unbound under them, and loaded again. PARTS: which of
# these; KILLS, ROUNDS: how often.
. /lib/guest.sh

reload() {
	for round in $(seq "$ROUNDS"); do
		rmmod npu && insmod /modules/npu.ko || return 1
	done
	npu-ctl info --device accel0
}

# The first time fills caches, where memory is counted.
if ! has_kmemleak; then
	campaign_kill 20 "$SEED" >/dev/null
	memory_before
fi
for part in $PARTS; do
	case $part in
	kill)
		campaign_kill "$KILLS" "$SEED" || failed=1
		check_memory campaign_kill "$KILLS" "$SEED"
		;;
	rebind)
		campaign_rebind "$ROUNDS" "$SEED" || failed=1
		check_memory campaign_rebind "$ROUNDS" "$SEED"
		;;
	reload)
		result "unloaded and loaded $ROUNDS times" reload
		check_memory reload
		;;
	esac
done
echo "1..$number"
exit $failed
