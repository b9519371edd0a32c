/* SPDX-License-Identifier: MIT */
/*
 * Access to host memory: a context's by virtual address, the kernel's by DMA address.
 *
 * What other threads of the host look at while the device works (ring control words, packet
 * headers, record status, semaphores, events) goes through the atomic functions; the bulk is copied
 * plainly and is ordered by those.
 */
#ifndef NPU_MODEL_MEMORY_H
#define NPU_MODEL_MEMORY_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>

#include "mmu.h"

/**
 * npu_context_read() - copy from a context's memory
 * @access:	NPU_ACCESS_READ, NPU_ACCESS_FETCH or NPU_ACCESS_RING
 *
 * Returns false with *@error; then part of @to may be written.
 */
bool npu_context_read(struct npu_model *model, unsigned int context, uint64_t address, void *to,
		      uint64_t bytes, enum npu_access access, struct npu_memory_error *error);

/** npu_context_write() - copy into a context's memory; after an error part of it may be written */
bool npu_context_write(struct npu_model *model, unsigned int context, uint64_t address,
		       const void *from, uint64_t bytes, struct npu_memory_error *error);

/** npu_context_copy() - copy inside a context's memory, page by page, addresses ascending */
bool npu_context_copy(struct npu_model *model, unsigned int context, uint64_t to, uint64_t from,
		      uint64_t bytes, struct npu_memory_error *error);

/* Little-endian accesses by pointer; the address is a multiple of the size. */
static inline uint32_t npu_load32(const void *address, int order)
{
	return le32toh(__atomic_load_n((const uint32_t *)address, order));
}

static inline uint64_t npu_load64(const void *address, int order)
{
	return le64toh(__atomic_load_n((const uint64_t *)address, order));
}

static inline void npu_store16(void *address, uint16_t value, int order)
{
	__atomic_store_n((uint16_t *)address, htole16(value), order);
}

static inline void npu_store32(void *address, uint32_t value, int order)
{
	__atomic_store_n((uint32_t *)address, htole32(value), order);
}

static inline void npu_store64(void *address, uint64_t value, int order)
{
	__atomic_store_n((uint64_t *)address, htole64(value), order);
}

#endif /* NPU_MODEL_MEMORY_H */
