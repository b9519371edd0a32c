/* SPDX-License-Identifier: MIT */
#include "tile.h"

#include <string.h>

#define TILE_DIM_MAX 65535

void space_init(struct space *space, uint32_t rank, const int64_t *dims)
{
	memset(space, 0, sizeof(*space));
	space->rank = rank;
	for (uint32_t i = 0; i < rank; i++)
		space->dims[i] = dims[i];
}

uint32_t space_add(struct space *space, const struct placement *placement)
{
	uint32_t index = space->operand_count++;
	struct space_operand *operand = &space->operand[index];
	uint32_t lead = space->rank - placement->rank;

	operand->argument = placement->argument;
	operand->offset = placement->offset;
	operand->dtype = placement->dtype;
	for (uint32_t i = 0; i < placement->rank; i++)
		if (placement->dims[i] != 1)
			operand->strides[lead + i] = placement->strides[i];
	return index;
}

static void move_dim(struct space *space, uint32_t to, uint32_t from)
{
	space->dims[to] = space->dims[from];
	for (uint32_t o = 0; o < space->operand_count; o++)
		space->operand[o].strides[to] = space->operand[o].strides[from];
}

static void swap_dims(struct space *space, uint32_t a, uint32_t b)
{
	int64_t dim = space->dims[a];

	space->dims[a] = space->dims[b];
	space->dims[b] = dim;
	for (uint32_t o = 0; o < space->operand_count; o++) {
		int64_t *strides = space->operand[o].strides;
		int64_t stride = strides[a];

		strides[a] = strides[b];
		strides[b] = stride;
	}
}

static void drop_unit_dims(struct space *space)
{
	uint32_t loose = space->rank - space->fixed, kept = 0;

	for (uint32_t i = 0; i < space->rank; i++) {
		bool is_fixed = i >= loose;

		/* Of the fixed ones the last stays in any case. */
		if (space->dims[i] == 1 && (!is_fixed || space->fixed > 1)) {
			space->fixed -= is_fixed;
			continue;
		}
		move_dim(space, kept++, i);
	}
	space->rank = kept;
}

static int64_t magnitude(int64_t value)
{
	return value < 0 ? -value : value;
}

/* Insertion sort: stable, so dims of equal strides keep the model's order. */
static void order_dims(struct space *space, uint32_t operand)
{
	const int64_t *strides = space->operand[operand].strides;
	uint32_t loose = space->rank - space->fixed;

	for (uint32_t i = 1; i < loose; i++)
		for (uint32_t j = i; j > 0 && magnitude(strides[j]) > magnitude(strides[j - 1]); j--)
			swap_dims(space, j, j - 1);
}

static bool mergeable(const struct space *space, uint32_t outer)
{
	int64_t inner_dim = space->dims[outer + 1];

	for (uint32_t o = 0; o < space->operand_count; o++) {
		const int64_t *strides = space->operand[o].strides;

		if (strides[outer] != strides[outer + 1] * inner_dim)
			return false;
	}
	return true;
}

static void merge_dims(struct space *space)
{
	uint32_t first_fixed = space->rank - space->fixed;

	for (uint32_t i = space->rank; i-- > 1;) {
		uint32_t outer = i - 1;

		if (i == first_fixed || !mergeable(space, outer))
			continue;
		space->dims[i] *= space->dims[outer];
		for (uint32_t j = outer; j + 1 < space->rank; j++)
			move_dim(space, j, j + 1);
		space->rank--;
		if (i > first_fixed)
			space->fixed--;
		else
			first_fixed--;
	}
}

static void insert_unit_dim(struct space *space)
{
	for (uint32_t i = space->rank++; i > 0; i--)
		move_dim(space, i, i - 1);
	space->dims[0] = 1;
	for (uint32_t o = 0; o < space->operand_count; o++)
		space->operand[o].strides[0] = 0;
}

void space_simplify(struct space *space, uint32_t operand)
{
	drop_unit_dims(space);
	order_dims(space, operand);
	merge_dims(space);
	/* There must always be a dim to cut, be it of one element. */
	if (space->rank == space->fixed)
		insert_unit_dim(space);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t outer_count(const struct space *space, uint32_t split)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < split; i++)
		count *= (uint64_t)space->dims[i];
	return count;
}

/* Smaller pieces of the split dim where there would be too few tiles to go round. */
static void spread(struct tiling *tiling, uint64_t wanted)
{
	const struct space *space = tiling->space;
	uint64_t outer = outer_count(space, tiling->split);
	int64_t dim = space->dims[tiling->split];
	int64_t pieces = ceil_div(dim, tiling->chunk);

	if (outer * (uint64_t)pieces < wanted) {
		int64_t want_pieces = (int64_t)((wanted + outer - 1) / outer);

		pieces = want_pieces < dim ? want_pieces : dim;
	}
	tiling->chunk = ceil_div(dim, pieces);
	tiling->tiles = outer * (uint64_t)ceil_div(dim, tiling->chunk);
}

bool tiling_choose(struct tiling *tiling, const struct space *space, int64_t max_elements,
		   uint32_t clusters, uint32_t per_cluster)
{
	uint32_t loose = space->rank - space->fixed;
	int64_t inner = 1;
	uint32_t split = space->rank;
	int64_t outer_dim = 0;

	/* Grow the tile from the innermost dim outwards. */
	while (split > 0) {
		int64_t dim = space->dims[split - 1];
		bool whole = split > loose ||
			     (inner * dim <= max_elements && dim <= TILE_DIM_MAX);

		if (!whole || space->rank - split >= 4)
			break;
		inner *= dim;
		split--;
		outer_dim = dim;
	}
	if (inner > max_elements || split > loose)
		return false;
	for (uint32_t i = loose; i < space->rank; i++)
		if (space->dims[i] > TILE_DIM_MAX)
			return false;
	tiling->space = space;
	if (split == 0 || space->rank - split >= 4) {
		/* Everything is in, or no dim is left: cut the outermost dim of the tile. */
		if (split >= loose)
			return false;
		tiling->split = split;
		tiling->chunk = outer_dim;
	} else {
		int64_t room = max_elements / inner;

		tiling->split = split - 1;
		tiling->chunk = room < TILE_DIM_MAX ? room : TILE_DIM_MAX;
		if (tiling->chunk < 1)
			return false;
		if (tiling->chunk > space->dims[split - 1])
			tiling->chunk = space->dims[split - 1];
	}
	spread(tiling, (uint64_t)clusters * per_cluster);
	return true;
}

void tile_at(const struct tiling *tiling, uint64_t index, struct tile *tile)
{
	const struct space *space = tiling->space;
	uint32_t split = tiling->split;
	uint64_t pieces = (uint64_t)ceil_div(space->dims[split], tiling->chunk);
	int64_t start[GRAPH_MAX_RANK] = { 0 };
	uint64_t rest = index / pieces;
	uint32_t lead = 4 - (space->rank - split);

	start[split] = (int64_t)(index % pieces) * tiling->chunk;
	for (uint32_t i = split; i-- > 0;) {
		start[i] = (int64_t)(rest % (uint64_t)space->dims[i]);
		rest /= (uint64_t)space->dims[i];
	}
	memset(tile, 0, sizeof(*tile));
	tile->elements = 1;
	for (uint32_t i = 0; i < 4; i++) {
		int64_t dim = 1;

		if (i >= lead) {
			uint32_t d = split + (i - lead);

			dim = space->dims[d];
			if (d == split && start[d] + tiling->chunk < dim)
				dim = tiling->chunk;
			else
				dim -= start[d];
		}
		tile->dims[i] = (uint32_t)dim;
		tile->elements *= dim;
	}
	for (uint32_t o = 0; o < space->operand_count; o++) {
		const struct space_operand *operand = &space->operand[o];

		tile->offset[o] = operand->offset;
		for (uint32_t d = 0; d < space->rank; d++)
			tile->offset[o] += start[d] * operand->strides[d];
		for (uint32_t i = lead; i < 4; i++)
			tile->strides[o][i] = operand->strides[split + (i - lead)];
	}
}

bool tile_changes(const struct tiling *tiling, uint32_t operand)
{
	const struct space *space = tiling->space;
	const int64_t *strides = space->operand[operand].strides;

	for (uint32_t i = 0; i < tiling->split; i++)
		if (strides[i] && space->dims[i] > 1)
			return true;
	return strides[tiling->split] && tiling->chunk < space->dims[tiling->split];
}

/* Dims of what is held of an operand: a repeated dim is held once. */
static void held_dims(const struct tile *tile, uint32_t operand, uint32_t dims[4])
{
	for (uint32_t i = 0; i < 4; i++)
		dims[i] = tile->strides[operand][i] ? tile->dims[i] : 1;
}

uint32_t tile_bytes(const struct tiling *tiling, uint32_t operand)
{
	uint32_t dims[4];
	struct tile tile;
	uint64_t bytes = NPU_DTYPE_BYTES(tiling->space->operand[operand].dtype);

	tile_at(tiling, 0, &tile);
	held_dims(&tile, operand, dims);
	for (uint32_t i = 0; i < 4; i++)
		bytes *= dims[i];
	return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

struct npu_td tile_dram(const struct tiling *tiling, const struct tile *tile, uint32_t operand)
{
	const struct space_operand *source = &tiling->space->operand[operand];
	uint32_t dims[4];

	held_dims(tile, operand, dims);
	return td_dram(source->argument, tile->offset[operand], source->dtype, dims,
		       tile->strides[operand]);
}

struct npu_td tile_local(const struct tiling *tiling, const struct tile *tile, uint32_t operand,
			 uint32_t offset)
{
	uint32_t dims[4];

	held_dims(tile, operand, dims);
	return td_local_dense(offset, tiling->space->operand[operand].dtype, dims[0], dims[1],
			      dims[2], dims[3]);
}

struct npu_td tile_view(const struct tiling *tiling, const struct tile *tile, uint32_t operand,
			uint32_t offset)
{
	enum npu_dtype dtype = tiling->space->operand[operand].dtype;
	int64_t stride = NPU_DTYPE_BYTES(dtype), strides[4];
	uint32_t dims[4];

	held_dims(tile, operand, dims);
	for (uint32_t i = 4; i-- > 0;) {
		/* A dim of one element is no repeat: keep the dense stride, it costs nothing. */
		strides[i] = dims[i] == tile->dims[i] ? stride : 0;
		stride *= dims[i];
	}
	return td_local(offset, dtype, tile->dims, strides);
}

struct npu_td tile_dense(const struct tile *tile, enum npu_dtype dtype, uint32_t offset)
{
	return td_local_dense(offset, dtype, tile->dims[0], tile->dims[1], tile->dims[2],
			      tile->dims[3]);
}

void lower_share(uint64_t total, uint32_t clusters, uint32_t cluster, uint64_t *first,
		 uint64_t *last)
{
	*first = total * cluster / clusters;
	*last = total * (cluster + 1) / clusters;
}
