# SPDX-License-Identifier: MIT
# In the guest: every allocation fails once.
. /lib/guest.sh

campaign_fault probe || failed=1
result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
