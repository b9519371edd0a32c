/* SPDX-License-Identifier: MIT */
/* A ring of io_uring's, by system calls alone: as much of it as the tests need. */
#ifndef URING_H
#define URING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drm/npu_accel.h"

struct uring {
	int fd;
	uint32_t setup; /* IORING_SETUP_* */
	unsigned char *rings;
	size_t rings_bytes;
	unsigned char *sqes;
	size_t sqes_bytes;
	struct io_uring_params params;
	uint32_t unsubmitted;
};

/* What a completion says. */
struct uring_result {
	uint64_t user_data;
	int32_t res;
};

static inline uint32_t *uring_word(const struct uring *ring, uint32_t offset)
{
	return (uint32_t *)(void *)(ring->rings + offset);
}

/* 0 or a negative errno. */
static inline int uring_open(struct uring *ring, uint32_t entries, uint32_t setup)
{
	uint32_t sqe_bytes = setup & IORING_SETUP_SQE128 ? 128 : 64;

	memset(ring, 0, sizeof(*ring));
	ring->setup = setup;
	ring->params.flags = setup | IORING_SETUP_CQSIZE;
	ring->params.cq_entries = 4 * entries;
	ring->params.sq_thread_idle = 50;
	ring->fd = (int)syscall(__NR_io_uring_setup, entries, &ring->params);
	if (ring->fd < 0)
		return -errno;
	ring->rings_bytes = ring->params.cq_off.cqes +
			    ring->params.cq_entries * sizeof(struct io_uring_cqe);
	if (ring->rings_bytes < ring->params.sq_off.array + ring->params.sq_entries * 4)
		ring->rings_bytes = ring->params.sq_off.array + ring->params.sq_entries * 4;
	ring->rings = mmap(NULL, ring->rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->sqes_bytes = ring->params.sq_entries * sqe_bytes;
	ring->sqes = mmap(NULL, ring->sqes_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  IORING_OFF_SQES);
	return ring->rings == MAP_FAILED || ring->sqes == MAP_FAILED ? -errno : 0;
}

static inline void uring_close(struct uring *ring)
{
	munmap(ring->rings, ring->rings_bytes);
	munmap(ring->sqes, ring->sqes_bytes);
	close(ring->fd);
}

static inline int uring_register_file(struct uring *ring, int fd)
{
	return syscall(__NR_io_uring_register, ring->fd, IORING_REGISTER_FILES, &fd, 1) ? -errno : 0;
}

/* An entry that is nothing yet; the caller knows that there is room. */
static inline struct io_uring_sqe *uring_sqe(struct uring *ring)
{
	uint32_t tail = *uring_word(ring, ring->params.sq_off.tail);
	uint32_t mask = *uring_word(ring, ring->params.sq_off.ring_mask);
	uint32_t bytes = ring->setup & IORING_SETUP_SQE128 ? 128 : 64;
	struct io_uring_sqe *sqe = (void *)(ring->sqes + (tail & mask) * bytes);

	memset(sqe, 0, bytes);
	uring_word(ring, ring->params.sq_off.array)[tail & mask] = tail & mask;
	return sqe;
}

static inline void uring_push(struct uring *ring)
{
	uint32_t *tail = uring_word(ring, ring->params.sq_off.tail);

	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	ring->unsubmitted++;
}

/* Hands over what was pushed, and waits for @count completions. */
static inline int uring_enter(struct uring *ring, uint32_t count)
{
	uint32_t flags = count ? IORING_ENTER_GETEVENTS : 0;
	int ret;

	if (ring->setup & IORING_SETUP_SQPOLL) {
		/* A full fence, in the form that the thread sanitizer knows. */
		__atomic_fetch_add(uring_word(ring, ring->params.sq_off.tail), 0, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(uring_word(ring, ring->params.sq_off.flags), __ATOMIC_RELAXED) &
		    IORING_SQ_NEED_WAKEUP)
			flags |= IORING_ENTER_SQ_WAKEUP;
	}
	do {
		ret = (int)syscall(__NR_io_uring_enter, ring->fd, ring->unsubmitted, count, flags,
				   NULL, 0);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return -errno;
	/* It may take fewer than there are; a polling kernel answers with all. */
	ring->unsubmitted -= (uint32_t)ret;
	return ring->unsubmitted ? -EAGAIN : 0;
}

/* Takes a completion, if there is one. */
static inline bool uring_take(struct uring *ring, struct uring_result *result)
{
	uint32_t *head = uring_word(ring, ring->params.cq_off.head);
	uint32_t mask = *uring_word(ring, ring->params.cq_off.ring_mask);
	const struct io_uring_cqe *cqes = (void *)(ring->rings + ring->params.cq_off.cqes);

	if (*head == __atomic_load_n(uring_word(ring, ring->params.cq_off.tail), __ATOMIC_ACQUIRE))
		return false;
	result->user_data = cqes[*head & mask].user_data;
	result->res = cqes[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Waits for a completion, 20 s at most; without one user_data is all ones. */
static inline struct uring_result uring_next(struct uring *ring)
{
	struct uring_result result = { .user_data = UINT64_MAX, .res = INT32_MIN };
	struct timespec now;
	time_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + 20;
	while (!uring_take(ring, &result) && now.tv_sec <= end) {
		/* Looking is work of the kernel's for rings that leave all to their submitter. */
		syscall(__NR_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
		usleep(100);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return result;
}

static inline struct io_uring_sqe *uring_command(struct uring *ring, int fd, uint32_t op,
						 const void *payload, uint64_t user_data)
{
	struct io_uring_sqe *sqe = uring_sqe(ring);

	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = op;
	sqe->user_data = user_data;
	memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), payload, 16);
	return sqe;
}

#define URING_NEVER UINT32_MAX

/* Prepares a wait; uring_push() makes it count. */
static inline struct io_uring_sqe *uring_wait(struct uring *ring, int fd, uint32_t ctx,
					      uint32_t sem, uint64_t value, uint32_t timeout_us,
					      uint64_t user_data)
{
	struct drm_npu_uring_wait wait = {
		.ctx = (uint16_t)ctx,
		.sem = (uint16_t)sem,
		.timeout_us = timeout_us,
		.value = value,
	};

	return uring_command(ring, fd, DRM_NPU_URING_OP_WAIT, &wait, user_data);
}

/* Prepares to end waits. */
static inline struct io_uring_sqe *uring_cancel(struct uring *ring, int fd, uint64_t of,
						uint64_t user_data)
{
	struct drm_npu_uring_cancel cancel = { .user_data = of };

	return uring_command(ring, fd, DRM_NPU_URING_OP_CANCEL, &cancel, user_data);
}

#endif /* URING_H */
