// SPDX-License-Identifier: MIT
#include "prefetch.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 8192u
#define ITEM_LEAST 2048u	/* smaller weights are there after one latency anyway */
#define LAYERS_BACK 256u		/* weights do not stay in global SRAM longer than that */
#define ALIGN 64u

/* Memory that is taken from one layer to another, both included. */
struct extent {
	int64_t first, end;
	uint32_t birth, death;
};

struct item {
	const struct graph_node *node;
	uint32_t position;
	uint64_t bytes, bytes_before, reserved;	/* before: in the pass before */
	int64_t source, source_before;
	int64_t target;
	bool noted, active;
};

/* What a layer leaves of the DRAM's time. */
struct layer {
	uint64_t spare;			/* bytes */
};

struct prefetch {
	struct graph *graph;
	const struct npu_config *config;
	uint32_t *position;		/* of nodes, by id */
	uint32_t node_count;
	struct item *items;		/* by position */
	struct layer *layers;		/* by position */
	struct extent *extents;
	uint32_t extent_count;
	struct prefetch_piece *pieces;
	uint32_t piece_count, piece_capacity;
};

/* -------------------------------------------------------------- values in the window */
static void add_extent(struct prefetch *prefetch, const struct graph_value *value)
{
	const struct placement *placement = placement_of(value);
	struct extent *extent = &prefetch->extents[prefetch->extent_count];
	uint32_t i;

	if (!placement || placement->argument != STREAM_ARGUMENT_GLOBAL)
		return;
	extent->first = extent->end = placement->offset;
	for (i = 0; i < placement->rank; i++) {
		int64_t reach = (placement->dims[i] - 1) * placement->strides[i];

		*(reach < 0 ? &extent->first : &extent->end) += reach;
	}
	extent->end += NPU_DTYPE_BYTES(placement->dtype);
	extent->birth = value->producer ? prefetch->position[value->producer->id] : 0;
	extent->death = extent->birth;
	for (i = 0; i < value->use_count; i++) {
		uint32_t at = prefetch->position[value->uses[i].node->id];

		extent->death = at > extent->death ? at : extent->death;
	}
	/*
	 * A view may start to be read long after its memory was written: from the birth of what
	 * it looks at on, it is taken.
	 */
	while (value && value->producer && layout_is_view(value->producer)) {
		value = value->producer->inputs[0];
		extent->birth = value->producer ? prefetch->position[value->producer->id] : 0;
	}
	prefetch->extent_count++;
}

struct prefetch *prefetch_new(struct graph *graph, const struct npu_config *config)
{
	struct arena *arena = graph->arena;
	struct prefetch *prefetch = arena_alloc(arena, sizeof(*prefetch));
	struct graph_node *node, *following;
	uint32_t i;

	if (!prefetch)
		return NULL;
	prefetch->graph = graph;
	prefetch->config = config;
	prefetch->position = arena_alloc_array(arena, graph->next_node_id + 1ull, sizeof(uint32_t));
	prefetch->items = arena_alloc_array(arena, graph->node_count + 1ull, sizeof(struct item));
	prefetch->layers = arena_alloc_array(arena, graph->node_count + 1ull, sizeof(struct layer));
	/* Values, and the items' own. */
	prefetch->extents = arena_alloc_array(arena, graph->value_count + graph->node_count + 1ull,
					      sizeof(struct extent));
	if (!prefetch->position || !prefetch->items || !prefetch->layers || !prefetch->extents)
		return NULL;
	graph_for_each_node(graph, node, following)
	{
		prefetch->items[prefetch->node_count].node = node;
		prefetch->items[prefetch->node_count].position = prefetch->node_count;
		prefetch->position[node->id] = prefetch->node_count++;
	}
	for (i = 0; i < graph->value_count; i++)
		if (!graph_is_constant(graph->values[i]))
			add_extent(prefetch, graph->values[i]);
	return prefetch;
}

/* -------------------------------------------------------------------------- passes */
void prefetch_begin(struct prefetch *prefetch)
{
	uint32_t i;

	for (i = 0; i < prefetch->node_count; i++) {
		prefetch->items[i].source_before = prefetch->items[i].source;
		prefetch->items[i].bytes_before = prefetch->items[i].bytes;
		prefetch->items[i].noted = false;
	}
}

void prefetch_note(struct prefetch *prefetch, const struct graph_node *node, int64_t source,
		   uint64_t bytes)
{
	struct item *item = &prefetch->items[prefetch->position[node->id]];

	item->noted = true;
	item->source = source;
	item->bytes = bytes;
}

void prefetch_layer(struct prefetch *prefetch, const struct graph_node *node,
		    const struct lower_figures *figures)
{
	const struct item *item = &prefetch->items[prefetch->position[node->id]];
	struct layer *layer = &prefetch->layers[item->position];
	uint64_t time = figures->array_cycles * 13 / 16 * prefetch->config->dram_bytes;

	/* Only what hides behind the array; and a prediction is no promise. */
	layer->spare = item->noted && time > figures->dram_bytes ?
			       (time - figures->dram_bytes) * 3 / 4 : 0;
}

bool prefetch_target(const struct prefetch *prefetch, const struct graph_node *node,
		     int64_t *target)
{
	const struct item *item = &prefetch->items[prefetch->position[node->id]];

	*target = item->target;
	return item->active;
}

bool prefetch_check(struct prefetch *prefetch)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < prefetch->node_count; i++) {
		struct item *item = &prefetch->items[i];

		if (!item->active)
			continue;
		if (!item->noted || item->bytes > item->reserved) {
			item->active = false;
			good = false;
		} else if (item->source != item->source_before ||
			   item->bytes != item->bytes_before) {
			good = false;
		}
	}
	return good;
}

/* ---------------------------------------------------------------------------- plan */
static int compare_extents(const void *left, const void *right)
{
	const struct extent *a = *(struct extent *const *)left;
	const struct extent *b = *(struct extent *const *)right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* The lowest offset of @bytes free from layer @birth to @death; -1 when there is none. */
static int64_t find_room(struct prefetch *prefetch, uint32_t birth, uint32_t death, int64_t bytes,
			 uint64_t limit)
{
	struct extent **taken = calloc(prefetch->extent_count + 1ull, sizeof(*taken));
	uint32_t i, count = 0;
	int64_t offset = 0;

	if (!taken)
		return -1;
	for (i = 0; i < prefetch->extent_count; i++)
		if (prefetch->extents[i].birth <= death && birth <= prefetch->extents[i].death)
			taken[count++] = &prefetch->extents[i];
	qsort(taken, count, sizeof(*taken), compare_extents);
	for (i = 0; i < count && taken[i]->first < offset + bytes; i++)
		if (taken[i]->end > offset)
			offset = (taken[i]->end + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
	free(taken);
	return (uint64_t)(offset + bytes) <= limit ? offset : -1;
}

/* The latest layer from which on enough can be carried; the item's own position when none. */
static uint32_t first_carrier(const struct prefetch *prefetch, const struct item *item)
{
	uint64_t spare = 0;
	uint32_t at = item->position, back;

	for (back = 0; back < LAYERS_BACK && at > 0; back++) {
		at--;
		spare += prefetch->layers[at].spare / PIECE_BYTES * PIECE_BYTES;
		if (spare >= item->bytes)
			return at;
	}
	return item->position;
}

static bool add_piece(struct prefetch *prefetch, uint32_t carrier, const struct item *item,
		      uint64_t first, uint64_t bytes)
{
	struct prefetch_piece *pieces = prefetch->pieces;

	if (prefetch->piece_count == prefetch->piece_capacity) {
		uint32_t capacity = 2 * prefetch->piece_capacity + 64;

		pieces = arena_alloc_array(prefetch->graph->arena, capacity, sizeof(*pieces));
		if (!pieces)
			return false;
		if (prefetch->piece_count)
			memcpy(pieces, prefetch->pieces, prefetch->piece_count * sizeof(*pieces));
		prefetch->pieces = pieces;
		prefetch->piece_capacity = capacity;
	}
	pieces[prefetch->piece_count++] = (struct prefetch_piece){
		.carrier = carrier, .item = item->position, .first = first, .bytes = bytes,
	};
	return true;
}

/* Cut @item's weights into pieces, the last of them to the nearest layers. */
static bool carry(struct prefetch *prefetch, const struct item *item, uint32_t carrier)
{
	uint64_t first = 0;

	for (; carrier < item->position && first < item->reserved; carrier++) {
		struct layer *layer = &prefetch->layers[carrier];

		while (layer->spare >= PIECE_BYTES && first < item->reserved) {
			uint64_t left = item->reserved - first;
			uint64_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;

			if (!add_piece(prefetch, carrier, item, first, bytes))
				return false;
			layer->spare -= PIECE_BYTES;
			first += bytes;
		}
	}
	return first == item->reserved;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct prefetch_piece *a = left, *b = right;

	if (a->carrier != b->carrier)
		return a->carrier < b->carrier ? -1 : 1;
	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static bool plan_item(struct prefetch *prefetch, struct item *item, uint64_t limit, uint64_t *used)
{
	uint32_t carrier = first_carrier(prefetch, item), before = prefetch->piece_count;
	uint64_t reserved = (item->bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	int64_t target;

	if (carrier == item->position)
		return false;
	target = find_room(prefetch, carrier, item->position, (int64_t)reserved, limit);
	if (target < 0)
		return false;
	item->reserved = item->bytes;
	if (!carry(prefetch, item, carrier)) {
		prefetch->piece_count = before;
		return false;
	}
	item->target = target;
	item->active = true;
	prefetch->extents[prefetch->extent_count++] = (struct extent){
		.first = target, .end = target + (int64_t)reserved,
		.birth = carrier, .death = item->position,
	};
	if ((uint64_t)target + reserved > *used)
		*used = (uint64_t)target + reserved;
	return true;
}

/* Large weights first: they get the nearest carriers, and stay the shortest. */
static int compare_items(const void *left, const void *right)
{
	const struct item *a = *(struct item *const *)left;
	const struct item *b = *(struct item *const *)right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

uint32_t prefetch_plan(struct prefetch *prefetch, uint64_t limit, uint64_t *used)
{
	struct item **order = calloc(prefetch->node_count + 1ull, sizeof(*order));
	uint32_t i, count = 0, placed = 0;

	if (!order)
		return 0;
	for (i = 0; i < prefetch->node_count; i++)
		if (prefetch->items[i].noted && prefetch->items[i].bytes >= ITEM_LEAST)
			order[count++] = &prefetch->items[i];
	qsort(order, count, sizeof(*order), compare_items);
	for (i = 0; i < count; i++)
		placed += plan_item(prefetch, order[i], limit, used);
	free(order);
	if (prefetch->piece_count)
		qsort(prefetch->pieces, prefetch->piece_count, sizeof(*prefetch->pieces),
		      compare_pieces);
	return placed;
}

/* ---------------------------------------------------------------------------- pieces */
const struct prefetch_piece *prefetch_pieces(const struct prefetch *prefetch,
					     const struct graph_node *node, uint32_t *count)
{
	uint32_t position = prefetch->position[node->id], first = 0, end;

	while (first < prefetch->piece_count && prefetch->pieces[first].carrier < position)
		first++;
	for (end = first; end < prefetch->piece_count; end++)
		if (prefetch->pieces[end].carrier != position)
			break;
	*count = end - first;
	return *count ? &prefetch->pieces[first] : NULL;
}

bool prefetch_move(const struct prefetch *prefetch, const struct prefetch_piece *piece,
		   struct npu_td *dst, struct npu_td *src)
{
	const struct item *item = &prefetch->items[piece->item];
	uint64_t bytes = piece->bytes;
	uint32_t dims[4] = { 1, 1, 1, 0 };
	static const int64_t strides[4] = { 0, 0, 0, 4 };

	if (!item->active || piece->first >= item->bytes_before)
		return false;
	if (bytes > item->bytes_before - piece->first)
		bytes = item->bytes_before - piece->first;
	dims[3] = (uint32_t)(bytes / 4);
	*dst = td_global((uint32_t)(item->target + (int64_t)piece->first), NPU_DTYPE_FP32, dims,
			 strides);
	*src = td_dram(NPU_ARG_WEIGHTS, item->source_before + (int64_t)piece->first, NPU_DTYPE_FP32,
		       dims, strides);
	return true;
}
