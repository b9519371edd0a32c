// SPDX-License-Identifier: MIT
/* Files that shrink under their mappings. See bus_guard.h. */
#include "bus_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANGES	64

/* A range is valid while its end is not 0; the handler reads the end first. */
static struct {
	_Atomic uintptr_t start, end;
} ranges[RANGES];

static uintptr_t page_bytes;

static int guarded(uintptr_t address)
{
	for (unsigned int i = 0; i < RANGES; i++) {
		uintptr_t end = atomic_load(&ranges[i].end);

		if (end && address < end && address >= atomic_load(&ranges[i].start))
			return 1;
	}
	return 0;
}

static void handle(int number, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	int saved = errno;
	void *page;

	(void)context;
	if (info->si_code > 0 && guarded(address)) {
		/* The address comes as a number, from the kernel. */
		page = (void *)(address & ~(page_bytes - 1));
		if (mmap(page, page_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
			errno = saved;
			return;
		}
	}
	signal(number, SIG_DFL);
	raise(number);
}

void bus_guard_install(void)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void bus_guard_add(void *start, size_t size)
{
	for (unsigned int i = 0; i < RANGES; i++) {
		if (atomic_load(&ranges[i].end))
			continue;
		atomic_store(&ranges[i].start, (uintptr_t)start);
		atomic_store(&ranges[i].end, (uintptr_t)start + size);
		return;
	}
}

void bus_guard_remove(void *start)
{
	for (unsigned int i = 0; i < RANGES; i++) {
		if (atomic_load(&ranges[i].end) &&
		    atomic_load(&ranges[i].start) == (uintptr_t)start) {
			atomic_store(&ranges[i].end, 0);
			return;
		}
	}
}
