# SPDX-License-Identifier: MIT
# In the guest: the whole system sleeps in the middle of work, in each way it can. SLEEPS: how often.
. /lib/guest.sh

# A line that comes in wakes up.
echo enabled >/sys/class/tty/ttyS1/power/wakeup
for how in $(cat /sys/power/mem_sleep | tr -d "[]"); do
	case $how in
	deep) campaign_sleep deep "$SLEEPS" wakeup || failed=1 ;;
	s2idle) campaign_sleep s2idle "$SLEEPS" knock || failed=1 ;;
	esac
done
case $(cat /sys/power/state) in
*disk*)
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	campaign_sleep hibernation 1 || failed=1
	;;
esac
! has_kmemleak || result "kmemleak finds nothing" leaks_nothing
exit $failed
