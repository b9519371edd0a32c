// SPDX-License-Identifier: MIT
/* Mapped doorbell pages. See doorbells.h. */
#include "doorbells.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config_space.h"
#include "npu/npu_regs.h"

#define QUEUES	(CONFIG_BAR2_BYTES / NPU_DOORBELL_STRIDE)

/* Rounds without a store after which the thread lets others run between two rounds. */
#define PATIENCE	2000u

struct doorbells {
	struct npu_model_thread *model;
	pthread_t thread;
	_Atomic bool stop;
	int fd;
	uint8_t *pages;
};

static _Atomic uint64_t *cell(struct doorbells *doorbells, unsigned int queue, uint32_t offset)
{
	return (_Atomic uint64_t *)(doorbells->pages + queue * NPU_DOORBELL_STRIDE + offset);
}

static bool look_at(struct doorbells *doorbells, unsigned int queue, uint32_t offset)
{
	_Atomic uint64_t *value = cell(doorbells, queue, offset);
	uint64_t stored;

	if (!atomic_load_explicit(value, memory_order_relaxed))
		return false;
	stored = atomic_exchange(value, 0);
	npu_model_thread_doorbell(doorbells->model, queue, offset, stored, sizeof(stored));
	return true;
}

static void *look(void *opaque)
{
	struct doorbells *doorbells = opaque;
	unsigned int quiet = 0;

	while (!atomic_load(&doorbells->stop)) {
		bool seen = false;

		for (unsigned int i = 0; i < QUEUES; i++) {
			seen |= look_at(doorbells, i, NPU_DOORBELL_RING);
			seen |= look_at(doorbells, i, NPU_DOORBELL_SIGNAL);
		}
		quiet = seen ? 0 : quiet + (quiet < PATIENCE);
		if (quiet == PATIENCE)
			sched_yield();
	}
	return NULL;
}

static int make_pages(struct doorbells *doorbells)
{
	doorbells->fd = memfd_create("npu-doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (doorbells->fd < 0 || ftruncate(doorbells->fd, CONFIG_BAR2_BYTES) ||
	    fcntl(doorbells->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -1;
	doorbells->pages = mmap(NULL, CONFIG_BAR2_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				doorbells->fd, 0);
	return doorbells->pages == MAP_FAILED ? -1 : 0;
}

static void release(struct doorbells *doorbells)
{
	if (doorbells->pages != MAP_FAILED)
		munmap(doorbells->pages, CONFIG_BAR2_BYTES);
	if (doorbells->fd >= 0)
		close(doorbells->fd);
	free(doorbells);
}

struct doorbells *doorbells_create(struct npu_model_thread *model, char *error, size_t error_size)
{
	struct doorbells *doorbells = calloc(1, sizeof(*doorbells));
	int result;

	if (!doorbells) {
		snprintf(error, error_size, "not enough memory for doorbell pages");
		return NULL;
	}
	doorbells->model = model;
	doorbells->pages = MAP_FAILED;
	if (make_pages(doorbells)) {
		snprintf(error, error_size, "cannot make doorbell pages: %s", strerror(errno));
		release(doorbells);
		return NULL;
	}
	result = pthread_create(&doorbells->thread, NULL, look, doorbells);
	if (result) {
		snprintf(error, error_size, "no thread for the doorbell pages: %s",
			 strerror(result));
		release(doorbells);
		return NULL;
	}
	return doorbells;
}

void doorbells_destroy(struct doorbells *doorbells)
{
	if (!doorbells)
		return;
	atomic_store(&doorbells->stop, true);
	pthread_join(doorbells->thread, NULL);
	release(doorbells);
}

int doorbells_fd(const struct doorbells *doorbells)
{
	return doorbells->fd;
}

void doorbells_clear(struct doorbells *doorbells)
{
	for (unsigned int i = 0; i < QUEUES; i++) {
		atomic_store(cell(doorbells, i, NPU_DOORBELL_RING), 0);
		atomic_store(cell(doorbells, i, NPU_DOORBELL_SIGNAL), 0);
	}
}
