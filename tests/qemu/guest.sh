# SPDX-License-Identifier: MIT
# What scripts in the guest share; they say: . /lib/guest.sh

number=0
failed=0

# result NAME COMMAND...: a test of its own, whose output is shown when it fails
result() {
	name=$1
	shift
	number=$((number + 1))
	if said=$("$@" 2>&1); then
		echo "ok $number $name"
	else
		echo "$said" | sed 's/^/# /'
		echo "not ok $number $name"
		failed=1
	fi
}

# says TEXT COMMAND...: the command must succeed, and say the text
says() {
	text=$1
	shift
	told=$("$@" 2>&1) || {
		echo "it failed: $told"
		return 1
	}
	echo "expected '$text', got: $told"
	echo "$told" | grep -q "$text"
}

has_kmemleak() {
	[ -e /sys/kernel/debug/kmemleak ]
}

# What nobody points to any more, by the kernel's own search; younger objects than 5 s are passed over.
leaks_nothing() {
	leaks=/sys/kernel/debug/kmemleak
	sleep 6
	# What is found must be found twice the same.
	echo scan >$leaks && sleep 1 && echo scan >$leaks || return 1
	[ -z "$(cat $leaks)" ] || {
		head -c 6000 $leaks
		return 1
	}
}

# KiB that are free, KiB of buffers and files, and objects, when all is given back that can be.
memory_now() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	for slab in /sys/kernel/slab/*/shrink; do
		echo 1 >"$slab"
	done
	sleep 1
	# Processors keep free pages to themselves, many and ever others.
	free_now=$(($(awk '/^MemFree/ { print $2 }' /proc/meminfo) +
		$(awk '$1 == "count:" { sum += $2 } END { print 4 * sum }' /proc/zoneinfo)))
	shmem_now=$(awk '/^Shmem:/ { print $2 }' /proc/meminfo)
	objects_now=$(awk '/^(kmalloc|drm|radix|maple)/ { sum += $2 } END { print sum }' /proc/slabinfo)
}

memory_before() {
	memory_now
	free_before=$free_now
	shmem_before=$shmem_now
	objects_before=$objects_now
}

# Some is always elsewhere, as processors keep freed objects to themselves: up to 250 have been seen. What
# is allowed does not depend on how much was done, so that a leak is found by doing more: the large campaigns do
# everything 500 times.
enough_is_back() {
	memory_now
	echo "free $free_before KiB, then $free_now; shmem $shmem_before, then $shmem_now;" \
		"objects $objects_before, then $objects_now"
	[ $((free_before - free_now)) -lt 512 ] &&
		[ $((shmem_now - shmem_before)) -lt 512 ] &&
		[ $((objects_now - objects_before)) -lt 400 ]
}

# memory_is_back COMMAND...: what leaks each time something is done leaks as much when it is done again;
# what moved elsewhere once does not.
memory_is_back() {
	enough_is_back && return
	memory_before
	"$@" >/dev/null || return 1
	enough_is_back
}

# check_memory COMMAND...: by the best means this kernel has, since memory_before
check_memory() {
	if has_kmemleak; then
		result "kmemleak finds nothing" leaks_nothing
	else
		result "memory is back" memory_is_back "$@"
	fi
}
