# SPDX-License-Identifier: MIT
# In the guest: the card is taken out and put in again, then its program dies. UNPLUGS.
. /lib/guest.sh

campaign_gone unplug "$UNPLUGS" || failed=1
campaign_gone kill-device || failed=1
result "the driver of a card that is dead can be unloaded" rmmod npu
! has_kmemleak || result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
