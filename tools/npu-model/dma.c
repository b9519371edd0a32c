// SPDX-License-Identifier: MIT
/*
 * DMA, its effect: strided copies between DRAM, global and local SRAM.
 *
 * Elements are copied in the order of the descriptor's dims; source and destination that overlap
 * give a defined but useless result.
 */
#include <string.h>

#include "cluster.h"
#include "machine.h"
#include "memory.h"

/* One side: where an element's bytes are. SRAM: a base; DRAM: the page used last. */
struct side {
	bool dram;
	uint8_t *base;
	uint64_t page;			/* number of the page `base` is of; UINT64_MAX: none */
	uint64_t start;			/* address of the first element */
	enum npu_access access;
};

struct copy {
	struct npu_model *model;
	unsigned int context;
	struct side from;
	struct side to[NPU_PROGRAM_CLUSTERS_MAX];
	unsigned int targets;
	uint8_t *owner;			/* of the window's 64-byte pieces, when that is written */
	uint8_t owner_value;
	uint64_t run;			/* bytes without a gap on both sides */
	unsigned int dims;
	uint32_t dim[4];
	int64_t from_stride[4], to_stride[4];
	struct npu_memory_error error;
	enum npu_access failed;		/* the access `error` is about */
};

bool npu_dma_check(const struct npu_task *task, const struct npu_operation *operation)
{
	return !(operation->dma.multicast >> task->clusters);
}

/* Both sides inside the window, where they are in it. */
static bool check_window(const struct npu_task *task, const struct npu_operation *operation,
			 struct npu_task_fault *fault)
{
	const struct npu_tensor *sides[2] = { &operation->src[0], &operation->dst };
	int64_t limit = task->window_bytes;

	for (unsigned int i = 0; i < 2; i++) {
		int64_t first = sides[i]->offset + sides[i]->low;
		int64_t end = sides[i]->offset + sides[i]->high;

		if (sides[i]->space != NPU_SPACE_GLOBAL || (first >= 0 && end <= limit))
			continue;
		fault->error = NPU_ERROR_GLOBAL_RANGE;
		fault->access = i ? NPU_ACCESS_WRITE : NPU_ACCESS_READ;
		fault->address = (uint64_t)(first < 0 || first > limit ? first : limit);
		return false;
	}
	return true;
}

/* The page of a DRAM side. Returns a pointer to @address, valid to the end of the page, or NULL. */
static uint8_t *dram_pointer(struct copy *copy, struct side *side, uint64_t address)
{
	if (side->page != address >> NPU_PAGE_SHIFT) {
		uint8_t *data = npu_mmu_pointer(copy->model, copy->context, address, side->access,
						side->access == NPU_ACCESS_WRITE, &copy->error);

		if (!data) {
			copy->failed = side->access;
			return NULL;
		}
		side->base = data - (address & NPU_PAGE_MASK);
		side->page = address >> NPU_PAGE_SHIFT;
	}
	return side->base + (address & NPU_PAGE_MASK);
}

static uint64_t page_left(uint64_t address)
{
	return NPU_PAGE_BYTES - (address & NPU_PAGE_MASK);
}

static bool copy_to(struct copy *copy, struct side *to, uint64_t address, const uint8_t *from,
		    uint64_t bytes)
{
	while (to->dram && bytes) {
		uint64_t piece = page_left(address) < bytes ? page_left(address) : bytes;
		uint8_t *out = dram_pointer(copy, to, address);

		if (!out)
			return false;
		memmove(out, from, piece);
		address += piece;
		from += piece;
		bytes -= piece;
	}
	if (bytes)
		memmove(to->base + address, from, bytes);
	return true;
}

static bool copy_piece(struct copy *copy, uint64_t to, const uint8_t *from, uint64_t bytes)
{
	for (unsigned int i = 0; i < copy->targets; i++) {
		if (!copy_to(copy, &copy->to[i], copy->to[i].start + to, from, bytes))
			return false;
	}
	if (copy->owner) {
		uint64_t first = (copy->to[0].start + to) / NPU_OWNER_BYTES;
		uint64_t last = (copy->to[0].start + to + bytes - 1) / NPU_OWNER_BYTES;

		memset(copy->owner + first, copy->owner_value, last - first + 1);
	}
	return true;
}

/* @from and @to are relative to the first elements. */
static bool copy_run(struct copy *copy, uint64_t from, uint64_t to)
{
	uint64_t bytes = copy->run;

	from += copy->from.start;
	if (!copy->from.dram)
		return copy_piece(copy, to, copy->from.base + from, bytes);
	while (bytes) {
		uint64_t piece = page_left(from) < bytes ? page_left(from) : bytes;
		const uint8_t *data = dram_pointer(copy, &copy->from, from);

		if (!data || !copy_piece(copy, to, data, piece))
			return false;
		from += piece;
		to += piece;
		bytes -= piece;
	}
	return true;
}

/* First and last byte that @count elements of @size bytes, @stride apart, touch from @address. */
static void span(uint64_t address, int64_t stride, uint32_t count, uint64_t size, uint64_t *first,
		 uint64_t *last)
{
	uint64_t reach = (uint64_t)stride * (count - 1);

	*first = stride < 0 ? address + reach : address;
	*last = (stride < 0 ? address : address + reach) + size - 1;
}

/* A pointer to @address good for the whole span, or NULL when it leaves a page or faults. */
static uint8_t *span_pointer(struct copy *copy, struct side *side, uint64_t address, int64_t stride,
			     uint32_t count)
{
	uint64_t first, last;

	if (!side->dram)
		return side->base + address;
	span(address, stride, count, copy->run, &first, &last);
	if (first >> NPU_PAGE_SHIFT != last >> NPU_PAGE_SHIFT)
		return NULL;
	return dram_pointer(copy, side, address);
}

static void copy_strided(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride,
			 uint32_t count, uint64_t size)
{
	for (int64_t i = 0; i < count; i++) {
		uint8_t *target = to + i * to_stride;
		const uint8_t *source = from + i * from_stride;

		switch (size) {
		case 1:
			*target = *source;
			break;
		case 2:
			memcpy(target, source, 2);
			break;
		default:
			memcpy(target, source, 4);
			break;
		}
	}
}

/*
 * Single elements along the innermost dim, without asking for every one where it is. Returns false
 * when that is not possible here, with nothing done.
 */
static bool copy_elements(struct copy *copy, uint64_t from, uint64_t to)
{
	unsigned int d = copy->dims - 1;
	uint32_t count = copy->dim[d];
	int64_t from_stride = copy->from_stride[d], to_stride = copy->to_stride[d];
	const uint8_t *source;
	uint8_t *target;
	uint64_t first, last;

	if (copy->run > 4 || copy->targets != 1)
		return false;
	/* A wider stride leaves pieces of the window out, which stay without an owner. */
	if (copy->owner && (to_stride > NPU_OWNER_BYTES || to_stride < -(int64_t)NPU_OWNER_BYTES))
		return false;
	from += copy->from.start;
	to += copy->to[0].start;
	source = span_pointer(copy, &copy->from, from, from_stride, count);
	if (!source)
		return false;
	target = span_pointer(copy, &copy->to[0], to, to_stride, count);
	if (!target)
		return false;
	copy_strided(target, to_stride, source, from_stride, count, copy->run);
	if (copy->owner) {
		span(to, to_stride, count, copy->run, &first, &last);
		memset(copy->owner + first / NPU_OWNER_BYTES, copy->owner_value,
		       last / NPU_OWNER_BYTES - first / NPU_OWNER_BYTES + 1);
	}
	return true;
}

/* All runs along the innermost dim; or the one there is. */
static bool copy_inner(struct copy *copy, uint64_t from, uint64_t to)
{
	unsigned int d = copy->dims - 1;

	if (!copy->dims)
		return copy_run(copy, from, to);
	if (copy_elements(copy, from, to))
		return true;
	for (uint32_t i = 0; i < copy->dim[d]; i++) {
		if (!copy_run(copy, from, to))
			return false;
		from += (uint64_t)copy->from_stride[d];
		to += (uint64_t)copy->to_stride[d];
	}
	return true;
}

static bool copy_all(struct copy *copy)
{
	uint32_t index[4] = { 0 };
	uint64_t from = 0, to = 0;

	for (;;) {
		unsigned int d = copy->dims ? copy->dims - 1 : 0;

		if (!copy_inner(copy, from, to))
			return false;
		for (;;) {
			if (!d)
				return true;
			d--;
			from += (uint64_t)copy->from_stride[d];
			to += (uint64_t)copy->to_stride[d];
			if (++index[d] < copy->dim[d])
				break;
			from -= (uint64_t)copy->from_stride[d] * copy->dim[d];
			to -= (uint64_t)copy->to_stride[d] * copy->dim[d];
			index[d] = 0;
		}
	}
}

static void set_dims(struct copy *copy, const struct npu_tensor *from, const struct npu_tensor *to)
{
	copy->run = to->element_bytes;
	for (unsigned int i = 0; i < 4; i++) {
		if (to->dim[i] == 1)
			continue;
		copy->dim[copy->dims] = to->dim[i];
		copy->from_stride[copy->dims] = from->stride[i];
		copy->to_stride[copy->dims] = to->stride[i];
		copy->dims++;
	}
	while (copy->dims && copy->from_stride[copy->dims - 1] == (int64_t)copy->run &&
	       copy->to_stride[copy->dims - 1] == (int64_t)copy->run) {
		copy->dims--;
		copy->run *= copy->dim[copy->dims];
	}
}

static struct side make_side(struct npu_model *model, struct npu_cluster *cluster,
			     const struct npu_tensor *tensor, enum npu_access access)
{
	const struct npu_task *task = cluster->task;
	struct side side = {
		.page = UINT64_MAX,
		.start = (uint64_t)tensor->offset,
		.access = access,
	};

	switch (tensor->space) {
	case NPU_SPACE_DRAM:
		side.dram = true;
		side.start += task->argument[tensor->argument];
		break;
	case NPU_SPACE_GLOBAL:
		side.base = model->global + task->window_base;
		break;
	default:
		side.base = cluster->memory.local;
		break;
	}
	return side;
}

static void make_targets(struct copy *copy, struct npu_cluster *cluster,
			 const struct npu_operation *operation)
{
	const struct npu_task *task = cluster->task;
	unsigned int mask = operation->dma.multicast;

	if (!mask) {
		copy->to[copy->targets++] = make_side(copy->model, cluster, &operation->dst,
						      NPU_ACCESS_WRITE);
		return;
	}
	for (unsigned int i = 0; i < task->clusters; i++) {
		if (mask >> i & 1)
			copy->to[copy->targets++] =
				make_side(copy->model, &copy->model->clusters[task->cluster[i]],
					  &operation->dst, NPU_ACCESS_WRITE);
	}
}

bool npu_dma_execute(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_operation *operation, struct npu_task_fault *fault)
{
	const struct npu_task *task = cluster->task;
	struct copy copy = {
		.model = model,
		.context = task->context,
		.from = make_side(model, cluster, &operation->src[0], NPU_ACCESS_READ),
	};

	if (!check_window(task, operation, fault))
		return false;
	make_targets(&copy, cluster, operation);
	if (operation->dst.space == NPU_SPACE_GLOBAL) {
		copy.owner = model->global_owner + task->window_base / NPU_OWNER_BYTES;
		copy.owner_value = npu_owner_mark(task->context);
	}
	set_dims(&copy, &operation->src[0], &operation->dst);
	if (copy_all(&copy))
		return true;
	fault->error = copy.error.error;
	fault->address = copy.error.address;
	fault->access = copy.failed;
	return false;
}
