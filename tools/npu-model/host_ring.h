/* SPDX-License-Identifier: MIT */
/*
 * Kernel-owned rings the device fills: fault queue and event ring. Manual: queues.rst, "Events".
 *
 * An entry's phase bit (bit 0 of its first word) says whether it is new: ((i >> log2) & 1) ^ 1 for
 * index i. The first word is stored last.
 */
#ifndef NPU_MODEL_HOST_RING_H
#define NPU_MODEL_HOST_RING_H

#include <stdbool.h>
#include <stdint.h>

struct npu_model;

#define NPU_HOST_RING_LOG2_MAX	16

struct npu_host_ring {
	uint64_t base;			/* DMA address, its low 12 bits are taken as zero */
	uint32_t log2;			/* entries; 0: no ring */
	uint32_t producer, consumer;	/* wrap at 2^32 */
	uint32_t lost;
};

/** npu_host_ring_configure() - set the size (0 or too large: no ring); both indices start at 0 */
void npu_host_ring_configure(struct npu_host_ring *ring, uint32_t log2);

/** npu_host_ring_full() - true when an entry cannot be appended now */
bool npu_host_ring_full(const struct npu_host_ring *ring);

/** npu_host_ring_empty() - true when the driver has consumed all */
static inline bool npu_host_ring_empty(const struct npu_host_ring *ring)
{
	return ring->producer == ring->consumer;
}

/**
 * npu_host_ring_append() - write an entry
 * @entry:	@words little-endian 64-bit words, bit 0 of the first is the phase and ignored
 * @words:	2 or 4
 *
 * Returns false when there is no room or no memory.
 */
bool npu_host_ring_append(struct npu_model *model, struct npu_host_ring *ring,
			  const uint64_t *entry, unsigned int words);

/** npu_host_ring_consume() - the driver's index; one that was never written is taken as "all" */
void npu_host_ring_consume(struct npu_host_ring *ring, uint32_t index);

#endif /* NPU_MODEL_HOST_RING_H */
