// SPDX-License-Identifier: MIT
/* Access to host memory. See memory.h. */
#include "memory.h"

#include <string.h>

static uint64_t to_page_end(uint64_t address, uint64_t bytes)
{
	uint64_t left = NPU_PAGE_BYTES - (address & NPU_PAGE_MASK);

	return left < bytes ? left : bytes;
}

bool npu_context_read(struct npu_model *model, unsigned int context, uint64_t address, void *to,
		      uint64_t bytes, enum npu_access access, struct npu_memory_error *error)
{
	uint8_t *out = to;

	while (bytes) {
		uint64_t piece = to_page_end(address, bytes);
		const void *from = npu_mmu_pointer(model, context, address, access, false, error);

		if (!from)
			return false;
		memcpy(out, from, piece);
		out += piece;
		address += piece;
		bytes -= piece;
	}
	return true;
}

bool npu_context_write(struct npu_model *model, unsigned int context, uint64_t address,
		       const void *from, uint64_t bytes, struct npu_memory_error *error)
{
	const uint8_t *in = from;

	while (bytes) {
		uint64_t piece = to_page_end(address, bytes);
		void *to = npu_mmu_pointer(model, context, address, NPU_ACCESS_WRITE, true, error);

		if (!to)
			return false;
		memcpy(to, in, piece);
		in += piece;
		address += piece;
		bytes -= piece;
	}
	return true;
}

bool npu_context_copy(struct npu_model *model, unsigned int context, uint64_t to, uint64_t from,
		      uint64_t bytes, struct npu_memory_error *error)
{
	while (bytes) {
		uint64_t piece = to_page_end(from, to_page_end(to, bytes));
		const void *source = npu_mmu_pointer(model, context, from, NPU_ACCESS_READ, false,
						     error);
		void *target;

		if (!source)
			return false;
		target = npu_mmu_pointer(model, context, to, NPU_ACCESS_WRITE, true, error);
		if (!target)
			return false;
		memmove(target, source, piece);
		to += piece;
		from += piece;
		bytes -= piece;
	}
	return true;
}
