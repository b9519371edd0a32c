// SPDX-License-Identifier: MIT
/* Kernel-owned rings the device fills. See host_ring.h. */
#include "host_ring.h"

#include "memory.h"

void npu_host_ring_configure(struct npu_host_ring *ring, uint32_t log2)
{
	ring->log2 = log2 <= NPU_HOST_RING_LOG2_MAX ? log2 : 0;
	ring->producer = 0;
	ring->consumer = 0;
}

bool npu_host_ring_full(const struct npu_host_ring *ring)
{
	return !ring->log2 || ring->producer - ring->consumer >= 1u << ring->log2;
}

bool npu_host_ring_append(struct npu_model *model, struct npu_host_ring *ring,
			  const uint64_t *entry, unsigned int words)
{
	uint32_t slot = ring->producer & ((1u << ring->log2) - 1);
	uint32_t phase = (ring->producer >> ring->log2 & 1) ^ 1;
	uint64_t address = (ring->base & ~NPU_PAGE_MASK) + (uint64_t)slot * words * 8;
	uint8_t *to;

	if (npu_host_ring_full(ring))
		return false;
	to = npu_host_pointer(model, address, true);
	if (!to)
		return false;
	for (unsigned int i = 1; i < words; i++)
		npu_store64(to + 8 * i, entry[i], __ATOMIC_RELAXED);
	npu_store32(to + 4, (uint32_t)(entry[0] >> 32), __ATOMIC_RELAXED);
	npu_store32(to, ((uint32_t)entry[0] & ~1u) | phase, __ATOMIC_RELEASE);
	ring->producer++;
	return true;
}

void npu_host_ring_consume(struct npu_host_ring *ring, uint32_t index)
{
	if (index - ring->consumer > ring->producer - ring->consumer)
		index = ring->producer;
	ring->consumer = index;
}
