/* SPDX-License-Identifier: MIT */
/*
 * The producers' side of a ring: Documentation/hardware/queues.rst.
 *
 * Any number of threads put packets into one ring without a lock. Between npurt_ring_reserve()
 * and npurt_ring_publish() a producer must not take a lock, allocate, call back or wait: what it
 * has reserved stops everybody behind it.
 */
#ifndef NPURT_RING_H
#define NPURT_RING_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "npu/npu_packet.h"

#if defined(__SANITIZE_THREAD__)
#define NPURT_RING_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NPURT_RING_TSAN 1
#endif
#endif

/*
 * @control: the control block; the packets follow it
 * @retired: index up to which the library has let go of packets' records and arguments; it may
 *	lag behind the device's read index
 * @depth: packets between @retired and the write index at most
 * @size: packets, a power of two
 * @room: index up to which there has been room when somebody looked last. Only who needs more
 *	looks again: the device writes its read index all the time, and each look fetches it from
 *	another core's cache
 */
struct npurt_ring {
	struct npu_ring_control *control;
	const uint64_t *retired;
	uint64_t depth;
	uint64_t size;
	uint64_t room;
};

static inline uint64_t npurt_ring_written(const struct npurt_ring *ring)
{
	return le64toh(__atomic_load_n(&ring->control->write_index, __ATOMIC_RELAXED));
}

/*
 * The packet of an index. Only who reserved it may touch it.
 */
static inline unsigned char *npurt_ring_packet(const struct npurt_ring *ring, uint64_t index)
{
	uint64_t slot = index & (ring->size - 1);

	return (unsigned char *)ring->control + NPU_RING_PACKETS_OFFSET + slot * NPU_PACKET_BYTES;
}

/*
 * Is there room up to an index? Acquire: the memory of the packets is the producers' only once the
 * device, and the library, are done with it; release hands that on to who sees `room` alone.
 */
static inline bool npurt_ring_look(struct npurt_ring *ring, uint64_t end)
{
	uint64_t read = le64toh(__atomic_load_n(&ring->control->read_index, __ATOMIC_ACQUIRE));
	uint64_t retired = __atomic_load_n(ring->retired, __ATOMIC_ACQUIRE);
	uint64_t by_device = read + ring->size, by_us = retired + ring->depth;
	uint64_t room = by_device < by_us ? by_device : by_us;

	__atomic_store_n(&ring->room, room, __ATOMIC_RELEASE);
	return end <= room;
}

/**
 * npurt_ring_reserve() - take n packets, all or none
 * @ring: the ring
 * @n: how many, 1 or more
 * @index: set to the first one's index
 *
 * What is seen of the device and of @retired may be old, so that there is more room than seen; a write
 * index that is old makes the exchange fail.
 *
 * Return: 0; -E2BIG when @n can never fit, -EAGAIN when there is no room now, which has no effect.
 * Any thread, lock free.
 */
static inline int npurt_ring_reserve(struct npurt_ring *ring, uint64_t n, uint64_t *index)
{
	uint64_t write = npurt_ring_written(ring);

	if (n > ring->size || n > ring->depth)
		return -E2BIG;
	for (;;) {
		__le64 expected = htole64(write);

		if (write + n > __atomic_load_n(&ring->room, __ATOMIC_ACQUIRE) &&
		    !npurt_ring_look(ring, write + n))
			return -EAGAIN;
		if (__atomic_compare_exchange_n(&ring->control->write_index, &expected,
						htole64(write + n), false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			*index = write;
			return 0;
		}
		write = le64toh(expected);
	}
}

static inline bool npurt_ring_phase(const struct npurt_ring *ring, uint64_t index)
{
	return !(index & ring->size);
}

/** npurt_ring_fill() - write a reserved packet, all but its header */
static inline void npurt_ring_fill(const struct npurt_ring *ring, uint64_t index,
				   const void *packet)
{
	memcpy(npurt_ring_packet(ring, index) + sizeof(__le32),
	       (const char *)packet + sizeof(__le32), NPU_PACKET_BYTES - sizeof(__le32));
}

/**
 * npurt_ring_publish() - hand a packet that has been filled in to the device
 * @ring: the ring
 * @index: from npurt_ring_reserve()
 * @header: the packet's, without the phase bit
 *
 * Of several packets reserved together the first one is published last, if the device is to see
 * all or none.
 */
static inline void npurt_ring_publish(const struct npurt_ring *ring, uint64_t index, __le32 header)
{
	uint32_t phase = npurt_ring_phase(ring, index) ? NPU_PACKET_PHASE : 0;

	__atomic_store_n((__le32 *)(void *)npurt_ring_packet(ring, index),
			 htole32(le32toh(header) | phase), __ATOMIC_RELEASE);
}

/** npurt_fence() - a full one, next to an atomic access that the thread sanitizer knows */
static inline void npurt_fence(void)
{
#ifndef NPURT_RING_TSAN
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/**
 * npurt_ring_needs_doorbell() - must the device be told?
 * @ring: the ring
 *
 * To be asked after each publish. The device sets its sleeping flag and then looks at the headers
 * again; with the full fence here either it sees the packet or we see the flag.
 *
 * Return: true when the doorbell has to be rung.
 */
static inline bool npurt_ring_needs_doorbell(const struct npurt_ring *ring)
{
#ifdef NPURT_RING_TSAN
	/* The thread sanitizer does not know fences. */
	return __atomic_fetch_or(&ring->control->sleeping, 0, __ATOMIC_SEQ_CST) != 0;
#else
	npurt_fence();
	return __atomic_load_n(&ring->control->sleeping, __ATOMIC_RELAXED) != 0;
#endif
}

/**
 * npurt_ring_error() - has the device stopped the queue?
 * @ring: the ring
 * @index: set to the packet's index that stopped it, when it has
 *
 * Return: enum npu_error, 0 while the queue is well.
 */
static inline uint32_t npurt_ring_error(const struct npurt_ring *ring, uint64_t *index)
{
	uint32_t error = le32toh(__atomic_load_n(&ring->control->error, __ATOMIC_ACQUIRE));

	if (error)
		*index = le64toh(__atomic_load_n(&ring->control->error_index, __ATOMIC_RELAXED));
	return error;
}

#endif /* NPURT_RING_H */
