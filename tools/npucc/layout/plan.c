// SPDX-License-Identifier: MIT
/*
 * The memory plan: a placement for every value.
 *
 * Values that take memory of their own get a storage; views join their source's.
 * Storages are packed so that those alive at the same time never overlap: first into global
 * SRAM, those first that are read most for the time they stay; the rest into .bss.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../emit/stream.h"
#include "early.h"
#include "precision.h"
#include "placement.h"
#include "view.h"

#define STORAGE_ALIGN	64
#define SCRATCH_MAX	((uint64_t)1 << 38)	/* well inside a descriptor's address */
#define IO_MAX		(NPU_ARG_PROFILE - NPU_ARG_FIRST_IO)

struct storage {
	uint32_t argument;
	int64_t bytes, offset;
	uint32_t birth, death;		/* positions of nodes, both included */
	uint32_t reads;
	uint32_t index;
	bool placed;
};

struct value_layout {
	struct placement placement;	/* first: placement_of() returns it */
	struct storage *storage;
};

struct plan {
	struct graph *graph;
	enum npu_dtype float_type;
	enum layout_preference preference;
	struct diag *diag;
	uint32_t *position;		/* of nodes, by id */
	uint32_t *class;		/* union-find over values, by id */
	bool *channels_last;		/* by class */
	bool *early;			/* by id of value: see early.h */
	struct storage **storages;	/* those of values between nodes */
	uint32_t storage_count;
	struct storage **neighbours;	/* scratch of the packing */
};

/* ------------------------------------------------------------------ channels last */
static uint32_t class_of(struct plan *plan, uint32_t id)
{
	while (plan->class[id] != id) {
		plan->class[id] = plan->class[plan->class[id]];
		id = plan->class[id];
	}
	return id;
}

static bool is_plane(const struct graph_value *value)
{
	return value && value->rank == 4 && !graph_is_constant(value);
}

static void join_values(struct plan *plan, const struct graph_value *a,
			const struct graph_value *b)
{
	uint32_t first = class_of(plan, a->id), second = class_of(plan, b->id);

	if (first == second)
		return;
	plan->class[second] = first;
	plan->channels_last[first] |= plan->channels_last[second];
}

static bool wants_channels_last(enum graph_op op)
{
	switch (op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
	case GRAPH_OP_POOL:
	case GRAPH_OP_RESIZE:
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
	case GRAPH_OP_LRN:
		return true;
	default:
		return false;
	}
}

/* Operators that read and write all their planes in the same order. */
static bool keeps_order(enum graph_op op)
{
	switch (op) {
	case GRAPH_OP_ELTWISE:
	case GRAPH_OP_ACTIVATION:
	case GRAPH_OP_PRELU:
	case GRAPH_OP_BATCHNORM:
	case GRAPH_OP_WHERE:
	case GRAPH_OP_CAST:
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
	case GRAPH_OP_CONCAT:
	case GRAPH_OP_PAD:
	case GRAPH_OP_SLICE:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_REDUCE:
		return true;
	default:
		return wants_channels_last(op);
	}
}

static void classify_node(struct plan *plan, const struct graph_node *node)
{
	const struct graph_value *first = NULL;
	uint32_t i;

	if (!keeps_order(node->op))
		return;
	for (i = 0; i < node->input_count + node->output_count; i++) {
		const struct graph_value *value = i < node->input_count ? node->inputs[i] :
			node->outputs[i - node->input_count];

		if (!is_plane(value))
			continue;
		if (!first)
			first = value;
		join_values(plan, first, value);
	}
	if (first && wants_channels_last(node->op))
		plan->channels_last[class_of(plan, first->id)] = true;
}

/* ------------------------------------------------------------------- placements */
static int check_shape(struct plan *plan, const struct graph_value *value)
{
	char text[GRAPH_SHAPE_TEXT];

	if (graph_shape_known(value) && graph_element_count(value) > 0)
		return 0;
	return diag_error(plan->diag,
			  "value '%s' has shape %s: the device needs every dim known and at least 1; give the inputs' shapes with --shape",
			  value->name, graph_format_shape(value, text));
}

static struct value_layout *layout_new(struct plan *plan, struct graph_value *value)
{
	struct value_layout *layout = arena_alloc(plan->graph->arena, sizeof(*layout));

	if (!layout)
		return NULL;
	layout->placement.dtype = layout_dtype(value->dtype, plan->float_type);
	if (precision_wide(value) || precision_boundary(value) || plan->early[value->id])
		layout->placement.dtype = NPU_DTYPE_FP32;
	layout->placement.rank = value->rank;
	memcpy(layout->placement.dims, value->dims, sizeof(layout->placement.dims));
	value->user = layout;
	return layout;
}

/* Row major, or channels innermost; returns the bytes. */
static int64_t set_strides(struct placement *placement, bool channels_last)
{
	static const uint32_t planes[4] = { 1, 3, 2, 0 };
	int64_t stride = NPU_DTYPE_BYTES(placement->dtype);
	uint32_t i;

	for (i = 0; i < placement->rank; i++) {
		uint32_t dim = channels_last ? planes[i] : placement->rank - 1 - i;

		placement->strides[dim] = stride;
		stride *= placement->dims[dim];
	}
	return stride;
}

static int out_of_memory(struct plan *plan)
{
	return diag_error(plan->diag, "the memory plan does not fit into the compiler's memory");
}

static struct storage *storage_new(struct plan *plan, uint32_t argument, int64_t bytes,
				   uint32_t birth)
{
	struct storage *storage = arena_alloc(plan->graph->arena, sizeof(*storage));

	if (!storage)
		return NULL;
	storage->argument = argument;
	storage->bytes = bytes;
	storage->birth = birth;
	storage->death = birth;
	if (argument == NPU_ARG_SCRATCH) {
		storage->index = plan->storage_count;
		plan->storages[plan->storage_count++] = storage;
	}
	return storage;
}

static int place_own(struct plan *plan, struct graph_value *value, uint32_t argument,
		     uint32_t birth)
{
	struct value_layout *layout;
	bool channels_last = false;
	int64_t bytes;

	if (check_shape(plan, value))
		return -1;
	layout = layout_new(plan, value);
	if (!layout)
		return out_of_memory(plan);
	if (argument == NPU_ARG_SCRATCH && value->rank == 4 && plan->preference != LAYOUT_NCHW)
		channels_last = plan->preference == LAYOUT_NHWC ||
				plan->channels_last[class_of(plan, value->id)];
	layout->placement.argument = argument;
	bytes = set_strides(&layout->placement, channels_last);
	layout->storage = storage_new(plan, argument, bytes, birth);
	return layout->storage ? 0 : out_of_memory(plan);
}

/* Joins the input's storage when a view does; false leaves @value unplaced. */
static bool place_view(struct plan *plan, const struct graph_node *node, uint32_t index)
{
	struct graph_value *value = node->outputs[index];
	const struct value_layout *source;
	struct value_layout *layout;
	struct placement view;

	if (value->is_output || !node->input_count || graph_is_constant(node->inputs[0]))
		return false;
	source = node->inputs[0]->user;
	if (!source || !view_output(node, index, &source->placement, &view))
		return false;
	layout = layout_new(plan, value);
	if (!layout)
		return false;
	layout->placement = view;
	layout->storage = source->storage;
	return true;
}

static int place_node(struct plan *plan, const struct graph_node *node)
{
	uint32_t i, position = plan->position[node->id];

	for (i = 0; i < node->output_count; i++) {
		struct graph_value *value = node->outputs[i];

		if (!value || value->user)	/* outputs of the graph are placed */
			continue;
		if (check_shape(plan, value))
			return -1;
		if (place_view(plan, node, i))
			continue;
		if (place_own(plan, value, NPU_ARG_SCRATCH, position))
			return -1;
	}
	return 0;
}

bool layout_is_view(const struct graph_node *node)
{
	const struct value_layout *source;
	uint32_t i;

	if (!node->input_count || !node->inputs[0] || graph_is_constant(node->inputs[0]))
		return false;
	source = node->inputs[0]->user;
	for (i = 0; i < node->output_count; i++) {
		const struct graph_value *value = node->outputs[i];
		const struct value_layout *layout = value ? value->user : NULL;

		if (value && (!layout || !source || layout->storage != source->storage))
			return false;
	}
	return true;
}

static int place_all(struct plan *plan)
{
	struct graph *graph = plan->graph;
	struct graph_node *node, *following;
	uint32_t i;

	for (i = 0; i < graph->input_count; i++)
		if (place_own(plan, graph->inputs[i], NPU_ARG_FIRST_IO + i, 0))
			return -1;
	for (i = 0; i < graph->output_count; i++) {
		struct graph_value *value = graph->outputs[i];

		if (value->user || !value->producer)
			return diag_error(plan->diag,
					  "output '%s' is no result of a node of its own (an input, a constant, or an output listed twice); let an Identity make it",
					  value->name);
		if (place_own(plan, value, NPU_ARG_FIRST_IO + graph->input_count + i, 0))
			return -1;
	}
	graph_for_each_node(graph, node, following)
		if (place_node(plan, node))
			return -1;
	return 0;
}

/* ----------------------------------------------------------------------- packing */
static void extend_lifetimes(struct plan *plan)
{
	uint32_t i, use;

	for (i = 0; i < plan->graph->value_count; i++) {
		const struct graph_value *value = plan->graph->values[i];
		struct value_layout *layout = value->user;

		for (use = 0; layout && use < value->use_count; use++) {
			uint32_t position = plan->position[value->uses[use].node->id];

			if (position > layout->storage->death)
				layout->storage->death = position;
			layout->storage->reads++;
		}
	}
}

/* Traffic a byte saves for each layer it occupies global SRAM, then size, then age. */
static int compare_worth(const void *left, const void *right)
{
	const struct storage *a = *(struct storage *const *)left;
	const struct storage *b = *(struct storage *const *)right;
	uint64_t worth_a = (a->reads + 1ull) * (b->death - b->birth + 1ull);
	uint64_t worth_b = (b->reads + 1ull) * (a->death - a->birth + 1ull);

	if (worth_a != worth_b)
		return worth_a > worth_b ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int compare_size(const void *left, const void *right)
{
	const struct storage *a = *(struct storage *const *)left;
	const struct storage *b = *(struct storage *const *)right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int compare_offset(const void *left, const void *right)
{
	const struct storage *a = *(struct storage *const *)left;
	const struct storage *b = *(struct storage *const *)right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

/* The lowest offset in @argument's memory that is free during all of @storage's life. */
static int64_t free_offset(struct plan *plan, const struct storage *storage, uint32_t argument)
{
	uint32_t i, count = 0;
	int64_t offset = 0;

	for (i = 0; i < plan->storage_count; i++) {
		struct storage *other = plan->storages[i];

		if (other->placed && other->argument == argument &&
		    other->birth <= storage->death && storage->birth <= other->death)
			plan->neighbours[count++] = other;
	}
	qsort(plan->neighbours, count, sizeof(*plan->neighbours), compare_offset);
	for (i = 0; i < count; i++) {
		struct storage *other = plan->neighbours[i];

		if (other->offset >= offset + storage->bytes)
			break;
		if (other->offset + other->bytes > offset)
			offset = other->offset + other->bytes;
	}
	return offset;
}

static void place_storages(struct plan *plan, uint32_t argument, uint64_t limit, uint64_t *used)
{
	uint32_t i;

	for (i = 0; i < plan->storage_count; i++) {
		struct storage *storage = plan->storages[i];
		int64_t offset;

		if (storage->placed || (uint64_t)storage->bytes > limit)
			continue;
		offset = free_offset(plan, storage, argument);
		if ((uint64_t)(offset + storage->bytes) > limit)
			continue;
		storage->argument = argument;
		storage->offset = offset;
		storage->placed = true;
		if ((uint64_t)(offset + storage->bytes) > *used)
			*used = (uint64_t)(offset + storage->bytes);
	}
}

static int pack_storages(struct plan *plan, struct layout_memory *memory)
{
	uint32_t i;

	for (i = 0; i < plan->storage_count; i++)
		plan->storages[i]->bytes = (plan->storages[i]->bytes + STORAGE_ALIGN - 1) &
			~(int64_t)(STORAGE_ALIGN - 1);
	memory->global_bytes = memory->scratch_bytes = 0;
	qsort(plan->storages, plan->storage_count, sizeof(*plan->storages), compare_worth);
	place_storages(plan, STREAM_ARGUMENT_GLOBAL, memory->global_limit, &memory->global_bytes);
	qsort(plan->storages, plan->storage_count, sizeof(*plan->storages), compare_size);
	place_storages(plan, NPU_ARG_SCRATCH, SCRATCH_MAX, &memory->scratch_bytes);
	for (i = 0; i < plan->storage_count; i++)
		if (!plan->storages[i]->placed)
			return diag_error(plan->diag,
					  "intermediate values need more than %" PRIu64 " bytes; give smaller shapes with --shape",
					  SCRATCH_MAX);
	return 0;
}

static void finish_placements(struct plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->graph->value_count; i++) {
		struct value_layout *layout = plan->graph->values[i]->user;

		if (!layout)
			continue;
		layout->placement.argument = layout->storage->argument;
		layout->placement.offset += layout->storage->offset;
	}
}

static int plan_init(struct plan *plan, bool early)
{
	struct graph *graph = plan->graph;
	struct graph_node *node, *following;
	uint32_t i, position = 0;

	plan->position = arena_alloc_array(graph->arena, graph->next_node_id + 1ull, sizeof(uint32_t));
	plan->class = arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(uint32_t));
	plan->channels_last = arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(bool));
	plan->early = early ? precision_early(graph) :
			      arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(bool));
	plan->storages = arena_alloc_array(graph->arena, graph->value_count + 1ull,
					   sizeof(*plan->storages));
	plan->neighbours = arena_alloc_array(graph->arena, graph->value_count + 1ull,
					     sizeof(*plan->neighbours));
	if (!plan->neighbours || !plan->position || !plan->class || !plan->channels_last ||
	    !plan->early || !plan->storages)
		return out_of_memory(plan);
	for (i = 0; i < graph->value_count; i++) {
		graph->values[i]->user = NULL;
		plan->class[i] = i;
	}
	graph_for_each_node(graph, node, following)
		plan->position[node->id] = position++;
	graph_for_each_node(graph, node, following)
		classify_node(plan, node);
	return 0;
}

static int plan_with(struct plan *plan, bool early, struct layout_memory *memory)
{
	if (plan_init(plan, early) || place_all(plan))
		return -1;
	extend_lifetimes(plan);
	return pack_storages(plan, memory);
}

/*
 * Twice the bytes are free in global SRAM and are not in DRAM. Half as much again of it as with fp16 alone is
 * what precision may cost; the cycles grew threefold where a network left SRAM only for it.
 */
static bool early_is_affordable(const struct plan *empty, const struct layout_memory *with_early)
{
	struct layout_memory without = { .global_limit = with_early->global_limit };
	struct plan plan = *empty;

	if (plan_with(&plan, false, &without))
		return true;
	return with_early->scratch_bytes <= without.scratch_bytes + without.scratch_bytes / 2;
}

int layout_plan(struct graph *graph, enum npu_dtype float_type, enum layout_preference preference,
		struct layout_memory *memory, struct diag *diag)
{
	const struct plan empty = {
		.graph = graph, .float_type = float_type, .preference = preference, .diag = diag,
	};
	struct plan plan = empty;

	if (graph->input_count + graph->output_count > IO_MAX)
		return diag_error(diag,
				  "the model has %u inputs and %u outputs; a program takes %u in all",
				  graph->input_count, graph->output_count, (unsigned int)IO_MAX);
	if (plan_with(&plan, true, memory))
		return -1;
	if (memory->scratch_bytes) {
		bool early = early_is_affordable(&empty, memory);

		plan = empty;
		if (plan_with(&plan, early, memory))
			return -1;
	}
	finish_placements(&plan);
	return 0;
}
