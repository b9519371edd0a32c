// SPDX-License-Identifier: MIT
/*
 * Memory that a `sim:` device shares with others: a file is mapped over pages of the device's
 * memory, so that the device reaches it like all other.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sim.h"

/* Takes pages and lays @file over them; @file is the memory's from then on. */
static int lay_over(struct sim *sim, int file, uint64_t bytes, bool writable,
		    struct npurt_memory *memory)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	unsigned char *host;
	uint64_t dma;
	int ret = sim_memory_take(sim, bytes, &dma);

	if (ret)
		return ret;
	host = sim_pointer(sim, dma);
	if (mmap(host, bytes, prot, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
		ret = npurt_fail(-errno,
				 "sim: shared memory of %" PRIu64 " bytes cannot be mapped for %s: "
				 "%s", bytes, writable ? "writing" : "reading", strerror(errno));
		/* The kernel may have taken away what was there before. */
		sim_share_end(sim, &(struct npurt_memory){
			.host = host, .bytes = bytes, .handle = dma, .file = -1,
		});
		return ret;
	}
	madvise(host, bytes, MADV_DONTFORK);
	*memory = (struct npurt_memory){
		.host = host, .bytes = bytes, .handle = dma, .file = file, .shared = true,
	};
	return 0;
}

void sim_share_end(struct sim *sim, const struct npurt_memory *memory)
{
	void *host = mmap(memory->host, memory->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (memory->file >= 0)
		close(memory->file);
	if (host == MAP_FAILED) {
		/* What cannot be taken back from others is not used again. */
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR,
			       "sim: %" PRIu64 " bytes of shared memory stay mapped: %s",
			       memory->bytes, strerror(errno));
		return;
	}
	madvise(host, memory->bytes, MADV_DONTFORK);
	sim_pages_give(sim, memory->handle, memory->bytes);
}

int sim_memory_alloc_shared(struct npurt_backend *backend, uint64_t bytes,
			    struct npurt_memory *memory)
{
	int file = memfd_create("npu-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ret = 0;

	if (file < 0)
		return npurt_fail(-errno, "sim: making a file of shared memory: %s",
				  strerror(errno));
	/* Nobody can make it shorter under the device. */
	if (ftruncate(file, (off_t)bytes) ||
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		ret = npurt_fail(-errno, "sim: %" PRIu64 " bytes of shared memory: %s", bytes,
				 strerror(errno));
	if (!ret)
		ret = lay_over(sim_of(backend), file, bytes, true, memory);
	if (ret)
		close(file);
	return ret;
}

static int duplicate(int file)
{
	int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return npurt_fail(-errno, "sim: file descriptor %d of shared memory: %s", file,
				  strerror(errno));
	return copy;
}

int sim_memory_export(struct npurt_backend *backend, const struct npurt_memory *memory, int *file)
{
	int copy = duplicate(memory->file);

	(void)backend;
	if (copy < 0)
		return copy;
	*file = copy;
	return 0;
}

/* By its file system: to ask the buffer itself may mean to wait for somebody's device. */
static bool is_dma_buf(int file)
{
	struct statfs system;

	return !fstatfs(file, &system) && system.f_type == DMA_BUF_MAGIC;
}

/* How large the memory is, and that it stays so. */
static int measure(int file, uint64_t *bytes)
{
	struct stat stat;
	int seals;
	off_t end;

	if (fstat(file, &stat))
		return npurt_fail(-errno, "sim: file descriptor %d: %s", file, strerror(errno));
	if (is_dma_buf(file)) {
		end = lseek(file, 0, SEEK_END);
	} else {
		seals = fcntl(file, F_GET_SEALS);
		if (seals < 0)
			return npurt_fail(-EINVAL,
					  "sim: file descriptor %d is neither a dma-buf nor a "
					  "memfd: import what npurt_buffer_export() or another "
					  "driver exports", file);
		if (!(seals & F_SEAL_SHRINK))
			return npurt_fail(-EINVAL,
					  "sim: file descriptor %d is a memfd that could shrink "
					  "under the device: seal it with F_SEAL_SHRINK", file);
		end = stat.st_size;
	}
	if (end <= 0)
		return npurt_fail(-EINVAL, "sim: file descriptor %d has no memory (size %jd)",
				  file, (intmax_t)end);
	*bytes = ((uint64_t)end + SIM_PAGE - 1) & ~(uint64_t)(SIM_PAGE - 1);
	return 0;
}

int sim_memory_import(struct npurt_backend *backend, int file, bool writable,
		      struct npurt_memory *memory)
{
	uint64_t bytes = 0;
	int copy, ret;

	ret = measure(file, &bytes);
	if (ret)
		return ret;
	copy = duplicate(file);
	if (copy < 0)
		return copy;
	ret = lay_over(sim_of(backend), copy, bytes, writable, memory);
	if (ret)
		close(copy);
	return ret;
}
