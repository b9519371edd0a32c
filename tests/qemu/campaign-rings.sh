# SPDX-License-Identifier: MIT
# In the guest: the card's program dies, and nobody sleeps in the driver who would look whether it is there.
. /lib/guest.sh

campaign_gone kill-device-under-rings || failed=1
result "the driver of a card that is dead can be unloaded" rmmod npu
! has_kmemleak || result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
