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
 * @log2: packets, as the device knows it
 */
struct npurt_ring {
	struct npu_ring_control *control;
	const uint64_t *retired;
	uint64_t depth;
	unsigned int log2;
};

static inline uint64_t npurt_ring_size(const struct npurt_ring *ring)
{
	return (uint64_t)1 << ring->log2;
}

static inline uint64_t npurt_ring_written(const struct npurt_ring *ring)
{
	return le64toh(__atomic_load_n(&ring->control->write_index, __ATOMIC_RELAXED));
}

/*
 * The packet of an index. Only who reserved it may touch it.
 */
static inline unsigned char *npurt_ring_packet(const struct npurt_ring *ring, uint64_t index)
{
	uint64_t slot = index & (npurt_ring_size(ring) - 1);

	return (unsigned char *)ring->control + NPU_RING_PACKETS_OFFSET + slot * NPU_PACKET_BYTES;
}

/**
 * npurt_ring_reserve() - take n packets, all or none
 * @ring: the ring
 * @n: how many, 1 or more
 * @index: set to the first one's index
 *
 * Return: 0; -E2BIG when @n can never fit, -EAGAIN when there is no room now, which has no effect.
 * Any thread, lock free.
 */
static inline int npurt_ring_reserve(const struct npurt_ring *ring, uint64_t n, uint64_t *index)
{
	uint64_t write = npurt_ring_written(ring);

	if (n > npurt_ring_size(ring) || n > ring->depth)
		return -E2BIG;
	for (;;) {
		uint64_t read, retired;
		__le64 expected = htole64(write);

		/*
		 * Both are at least as new as `write`, so a difference that is too large has been
		 * true; one that is negative makes the exchange fail. Acquire: the memory of the
		 * packets is ours only once the device, and the library, are done with it.
		 */
		read = le64toh(__atomic_load_n(&ring->control->read_index, __ATOMIC_ACQUIRE));
		retired = __atomic_load_n(ring->retired, __ATOMIC_ACQUIRE);
		if ((int64_t)(write + n - read) > (int64_t)npurt_ring_size(ring))
			return -EAGAIN;
		if ((int64_t)(write + n - retired) > (int64_t)ring->depth)
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
	return !((index >> ring->log2) & 1);
}

/**
 * npurt_ring_publish() - fill in one reserved packet and hand it to the device
 * @ring: the ring
 * @index: from npurt_ring_reserve()
 * @packet: its 64 bytes; the header without the phase bit
 *
 * Of several packets reserved together the first one is published last, if the device is to see
 * all or none.
 */
static inline void npurt_ring_publish(const struct npurt_ring *ring, uint64_t index,
				      const void *packet)
{
	unsigned char *slot = npurt_ring_packet(ring, index);
	uint32_t header;

	memcpy(&header, packet, sizeof(header));
	header = le32toh(header);
	if (npurt_ring_phase(ring, index))
		header |= NPU_PACKET_PHASE;
	memcpy(slot + sizeof(header), (const char *)packet + sizeof(header),
	       NPU_PACKET_BYTES - sizeof(header));
	__atomic_store_n((uint32_t *)slot, htole32(header), __ATOMIC_RELEASE);
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
