# SPDX-License-Identifier: MIT
# In the guest: every allocation of a call fails once, and every fifth of binding the driver.
. /lib/guest.sh
export NPU_TELL_ERRNOS=1

campaign_fault 5 || failed=1
result "kmemleak finds nothing" leaks_nothing
echo "1..$number"
exit $failed
