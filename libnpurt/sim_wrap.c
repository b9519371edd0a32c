// SPDX-License-Identifier: MIT
/*
 * The application's own memory as part of a `sim:` device's: pages of the device's memory whose
 * place is elsewhere. The model asks for each page's place once and keeps it, so it forgets all when
 * a place changes.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim.h"

struct sim_wrapped {
	struct sim_wrapped *next;
	uint64_t dma, bytes;
	unsigned char *host;
	bool writable;
};

void *sim_wrap_translate(struct sim *sim, uint64_t address, uint64_t size, bool write)
{
	const struct sim_wrapped *wrapped;
	unsigned char *host = sim_pointer(sim, address);

	pthread_mutex_lock(&sim->memory_lock);
	for (wrapped = sim->wrapped; wrapped; wrapped = wrapped->next) {
		uint64_t offset = address - wrapped->dma;

		if (address < wrapped->dma || offset >= wrapped->bytes)
			continue;
		host = wrapped->host + offset;
		if (size > wrapped->bytes - offset || (write && !wrapped->writable))
			host = NULL;
		break;
	}
	pthread_mutex_unlock(&sim->memory_lock);
	return host;
}

int sim_memory_wrap(struct npurt_backend *backend, void *host, uint64_t bytes, bool writable,
		    struct npurt_memory *memory)
{
	struct sim *sim = sim_of(backend);
	struct sim_wrapped *wrapped = malloc(sizeof(*wrapped));
	uint64_t dma;
	int ret;

	if (!wrapped)
		return npurt_fail(-ENOMEM, "sim: no memory for a buffer");
	ret = sim_memory_take(sim, bytes, &dma);
	if (ret) {
		free(wrapped);
		return ret;
	}
	*wrapped = (struct sim_wrapped){
		.dma = dma, .bytes = bytes, .host = host, .writable = writable,
	};
	pthread_mutex_lock(&sim->memory_lock);
	wrapped->next = sim->wrapped;
	__atomic_store_n(&sim->wrapped, wrapped, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sim->memory_lock);
	npu_model_thread_memory_changed(sim->model);
	*memory = (struct npurt_memory){
		.host = host, .bytes = bytes, .handle = dma, .wrapped = true,
	};
	return 0;
}

void sim_wrap_end(struct sim *sim, const struct npurt_memory *memory)
{
	struct sim_wrapped *wrapped, **link = &sim->wrapped;

	pthread_mutex_lock(&sim->memory_lock);
	while ((*link)->dma != memory->handle)
		link = &(*link)->next;
	wrapped = *link;
	__atomic_store_n(link, wrapped->next, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sim->memory_lock);
	free(wrapped);

	/* Whoever gets the pages next, the model sees his. */
	npu_model_thread_memory_changed(sim->model);
	sim_pages_give(sim, memory->handle, memory->bytes);
}
