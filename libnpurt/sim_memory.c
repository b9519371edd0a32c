// SPDX-License-Identifier: MIT
/* Physical memory of a `sim:` device: reserved address space, of which only used pages cost. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

#define LARGE_PAGE ((uint64_t)2 << 20)
/* Below this, writing zeros is cheaper than giving pages back to the kernel. */
#define ZERO_BY_HAND ((uint64_t)64 << 10)

int sim_memory_init(struct sim *sim, uint64_t bytes)
{
	unsigned char *start, *aligned;
	uint64_t lead;

	start = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return npurt_fail(-ENOMEM,
				  "sim: %" PRIu64
				  " MiB of address space for the device's memory are "
				  "not to be had (%s): ask for less with ?memory=MIB, or raise "
				  "`ulimit -v`",
				  bytes >> 20, strerror(errno));
	/* A page's pointer is as aligned as its address for the device. */
	lead = -(uint64_t)(uintptr_t)start & (LARGE_PAGE - 1);
	aligned = start + lead;
	if (lead)
		munmap(start, lead);
	if (lead < LARGE_PAGE)
		munmap(aligned + bytes, LARGE_PAGE - lead);
	sim->memory = aligned;
	sim->memory_bytes = bytes;
	/* A child would read and write its parent's device memory. */
	madvise(sim->memory, bytes, MADV_DONTFORK);
	if (npurt_range_init(&sim->free_memory, SIM_MEMORY_BASE, SIM_MEMORY_BASE + bytes))
		return npurt_fail(-ENOMEM, "sim: no memory for the list of free pages");
	return 0;
}

void sim_memory_fini(struct sim *sim)
{
	if (sim->memory)
		munmap(sim->memory, sim->memory_bytes);
	sim->memory = NULL;
	npurt_range_fini(&sim->free_memory);
}

uint64_t sim_pages_alloc(struct sim *sim, uint64_t bytes, uint64_t align)
{
	uint64_t dma = 0;

	pthread_mutex_lock(&sim->memory_lock);
	if (npurt_range_take(&sim->free_memory, bytes, align, &dma))
		dma = 0;
	pthread_mutex_unlock(&sim->memory_lock);
	return dma;
}

static void clear(struct sim *sim, uint64_t dma, uint64_t bytes)
{
	if (bytes <= ZERO_BY_HAND || madvise(sim_pointer(sim, dma), bytes, MADV_DONTNEED))
		memset(sim_pointer(sim, dma), 0, bytes);
}

void sim_pages_give(struct sim *sim, uint64_t dma, uint64_t bytes)
{
	pthread_mutex_lock(&sim->memory_lock);
	npurt_range_give(&sim->free_memory, dma, bytes);
	pthread_mutex_unlock(&sim->memory_lock);
}

void sim_pages_free(struct sim *sim, uint64_t dma, uint64_t bytes)
{
	if (!dma)
		return;
	/* Free pages are zero, so that whoever gets them next sees nothing of this one. */
	clear(sim, dma, bytes);
	sim_pages_give(sim, dma, bytes);
}

void *sim_translate(void *host, uint64_t address, uint64_t size, bool write)
{
	struct sim *sim = host;
	uint64_t offset = address - SIM_MEMORY_BASE;

	if (address < SIM_MEMORY_BASE || offset >= sim->memory_bytes ||
	    size > sim->memory_bytes - offset)
		return NULL;
	if (__atomic_load_n(&sim->wrapped, __ATOMIC_ACQUIRE))
		return sim_wrap_translate(sim, address, size, write);
	return sim->memory + offset;
}

int sim_memory_take(struct sim *sim, uint64_t bytes, uint64_t *dma)
{
	*dma = sim_pages_alloc(sim, bytes, bytes >= LARGE_PAGE ? LARGE_PAGE : SIM_PAGE);
	if (!*dma)
		return npurt_fail(-ENOMEM,
				  "sim: %" PRIu64
				  " bytes of device memory asked for, no free piece of "
				  "its %" PRIu64 " MiB is that large: free buffers, or open the "
				  "device with ?memory=MIB",
				  bytes, sim->memory_bytes >> 20);
	return 0;
}

int sim_memory_alloc(struct npurt_backend *backend, uint64_t bytes, struct npurt_memory *memory)
{
	struct sim *sim = sim_of(backend);
	uint64_t dma;
	int ret = sim_memory_take(sim, bytes, &dma);

	if (ret)
		return ret;
	memory->host = sim_pointer(sim, dma);
	memory->bytes = bytes;
	memory->handle = dma;
	return 0;
}

void sim_memory_free(struct npurt_backend *backend, const struct npurt_memory *memory)
{
	if (memory->wrapped)
		sim_wrap_end(sim_of(backend), memory);
	else if (memory->shared)
		sim_share_end(sim_of(backend), memory);
	else
		sim_pages_free(sim_of(backend), memory->handle, memory->bytes);
}

void sim_memory_clear(struct npurt_backend *backend, const struct npurt_memory *memory)
{
	clear(sim_of(backend), memory->handle, memory->bytes);
}
