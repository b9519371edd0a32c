// SPDX-License-Identifier: MIT
#include "placement.h"

enum npu_dtype layout_dtype(enum graph_dtype dtype, enum npu_dtype float_type)
{
	switch (dtype) {
	case GRAPH_DTYPE_I8:
		return NPU_DTYPE_INT8;
	case GRAPH_DTYPE_U8:
	case GRAPH_DTYPE_BOOL:
		return NPU_DTYPE_UINT8;
	case GRAPH_DTYPE_I16:
		return NPU_DTYPE_INT16;
	case GRAPH_DTYPE_U16:
	case GRAPH_DTYPE_I32:
	case GRAPH_DTYPE_U32:
	case GRAPH_DTYPE_I64:
	case GRAPH_DTYPE_U64:
		return NPU_DTYPE_INT32;
	default:
		return float_type;
	}
}

bool layout_same_bits(enum graph_dtype from, enum graph_dtype to)
{
	if (graph_dtype_is_float(from) || graph_dtype_is_float(to))
		return graph_dtype_is_float(from) && graph_dtype_is_float(to);
	if (from == to || from == GRAPH_DTYPE_BOOL)
		return layout_dtype(from, NPU_DTYPE_FP16) == layout_dtype(to, NPU_DTYPE_FP16);
	/* Held in 32 bits, of which a cast to it keeps 16. */
	if (to == GRAPH_DTYPE_U16 || to == GRAPH_DTYPE_BOOL)
		return false;
	return layout_dtype(from, NPU_DTYPE_FP16) == layout_dtype(to, NPU_DTYPE_FP16);
}

const struct placement *placement_of(const struct graph_value *value)
{
	return value->user;
}

/* Whether dim @i and the next one step as one in every placement. */
static bool contiguous(const struct placement *placements, uint32_t count, uint32_t i)
{
	uint32_t p;

	for (p = 0; p < count; p++)
		if (placements[p].strides[i] !=
		    placements[p].strides[i + 1] * placements[p].dims[i + 1])
			return false;
	return true;
}

static void remove_dim(struct placement *placements, uint32_t count, uint32_t dim)
{
	uint32_t p, i;

	for (p = 0; p < count; p++) {
		struct placement *placement = &placements[p];

		for (i = dim; i + 1 < placement->rank; i++) {
			placement->dims[i] = placement->dims[i + 1];
			placement->strides[i] = placement->strides[i + 1];
		}
		placement->rank--;
	}
}

uint32_t placement_collapse(struct placement *placements, uint32_t count)
{
	uint32_t i = 0, p;

	while (i < placements[0].rank) {
		if (placements[0].dims[i] == 1)
			remove_dim(placements, count, i);
		else
			i++;
	}
	for (i = 0; i + 1 < placements[0].rank;) {
		if (!contiguous(placements, count, i)) {
			i++;
			continue;
		}
		for (p = 0; p < count; p++)
			placements[p].dims[i + 1] *= placements[p].dims[i];
		remove_dim(placements, count, i);
	}
	return placements[0].rank;
}
