// SPDX-License-Identifier: MIT
/* Operands of the MAC array and of the output stage. */
#include <endian.h>
#include <string.h>

#include "mac_emitter.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct tile_view mac_view(const struct emitter *e, const struct place *place, uint32_t depth)
{
	return (struct tile_view){
		.extent = { mac_input(e->problem, MAC_Y, place->first[MAC_Y], place->count[MAC_Y]),
			    mac_input(e->problem, MAC_X, place->first[MAC_X],
				      place->count[MAC_X]) },
		.depth = depth,
		.pixel = (int64_t)depth * NPU_DTYPE_BYTES(e->problem->types.activations),
	};
}

uint32_t mac_piece_depth(const struct emitter *e, uint32_t piece)
{
	if (e->plan->split != MAC_BY_PIECE)
		return e->problem->depth;
	return least(e->plan->piece_depth, e->problem->depth - piece * e->plan->piece_depth);
}

/* The slot of the next load, once every reader has let go of what was in it. */
/* Channels that are really there of a run of blocks. */
uint32_t mac_channels(const struct emitter *e, uint32_t block, uint32_t blocks)
{
	return least(blocks * e->plan->block_channels,
		     e->problem->channels - block * e->plan->block_channels);
}

struct slot_view mac_slot_view(const struct emitter *e, const struct place *place,
			       const uint32_t pass[2], uint32_t block, uint32_t blocks,
			       enum npu_dtype dtype)
{
	int64_t element = NPU_DTYPE_BYTES(dtype);
	struct slot_view view = { .dims = { 1, 0, 0, mac_channels(e, block, blocks) } };
	uint32_t *dims = view.dims;

	dims[1] = least(e->plan->pass[MAC_Y], place->count[MAC_Y] - pass[MAC_Y]);
	dims[2] = least(e->plan->pass[MAC_X], place->count[MAC_X] - pass[MAC_X]);
	if (e->plan->store_by_channel) {
		view.strides[2] = element;
		view.strides[1] = element * dims[2];
		view.strides[3] = element * dims[2] * dims[1];
	} else {
		view.strides[3] = element;
		view.strides[2] = element * dims[3];
		view.strides[1] = element * dims[3] * dims[2];
	}
	return view;
}

/* Results or residual of @view in DRAM. */
struct npu_td mac_dram(const struct emitter *e, const struct place *place, const uint32_t pass[2],
		       uint32_t block, const struct slot_view *view, bool residual)
{
	const struct mac_problem *problem = e->problem;
	const struct mac_instance *instance = &problem->instances[place->instance];
	const int64_t *stride = residual ? problem->r_stride : problem->o_stride;
	int64_t strides[4] = { 0, stride[MAC_Y], stride[MAC_X], stride[MAC_C] };
	int64_t at = (residual ? instance->residual : instance->output) +
		     (int64_t)(place->first[MAC_Y] + pass[MAC_Y]) * stride[MAC_Y] +
		     (int64_t)(place->first[MAC_X] + pass[MAC_X]) * stride[MAC_X] +
		     (int64_t)block * e->plan->block_channels * stride[MAC_C];

	return td_dram(residual ? problem->r_argument : problem->o_argument, at,
		       residual ? problem->types.residual : problem->types.output, view->dims,
		       strides);
}

struct npu_td mac_weight_operand(const struct emitter *e, const struct step *step, uint32_t slot)
{
	const struct mac_plan *plan = e->plan;
	const struct mac_chunk *chunk = &plan->chunks[step->chunk];
	const struct load *load = &e->w.list[step->w];
	uint32_t channels = mac_channels(e, step->block, 1);
	const struct mac_types *types = &e->problem->types;
	int64_t element = NPU_DTYPE_BYTES(types->weights), row = plan->step_depth * element;
	uint32_t dims[4] = { 1, chunk->steps, channels, plan->step_depth };
	int64_t strides[4] = { 0, row * plan->block_channels, row, element };

	if (load->chunk == UINT32_MAX)
		slot += (step->block - load->block) * plan->block_bytes;
	if (e->problem->depthwise)
		return td_zero(td_local(slot, types->weights,
					(uint32_t[4]){ 1, 1, chunk->steps, channels },
					(int64_t[4]){ 0, 0, plan->block_channels * element,
						      element }),
			       types->weights_zero);
	if (!e->problem->weights) {
		strides[1] = row;
		strides[2] = row * chunk->steps;
	}
	return td_zero(td_local(slot, types->weights, dims, strides), types->weights_zero);
}

struct npu_td mac_activation_operand(const struct emitter *e, const struct step *step,
				     const struct tile_view *view, uint32_t slot)
{
	const struct mac_chunk *chunk = &e->plan->chunks[step->chunk];
	const struct mac_types *types = &e->problem->types;
	int64_t element = NPU_DTYPE_BYTES(types->activations);
	uint32_t depth = chunk->depth_count;

	if (e->problem->depthwise) {
		slot += step->block * e->plan->block_channels * (uint32_t)element;
		depth = mac_channels(e, step->block, 1);
	} else if (e->plan->split != MAC_BY_PIECE) {
		slot += chunk->depth * (uint32_t)element;
	}
	return td_zero(td_local(slot, types->activations,
				(uint32_t[4]){ 1, view->extent[MAC_Y].count,
					       view->extent[MAC_X].count, depth },
				(int64_t[4]){ 0, view->pixel * view->extent[MAC_X].count,
					      view->pixel, element }),
		       types->activations_zero);
}

struct npu_window mac_window_operand(const struct emitter *e, const struct step *step,
				     const struct tile_view *view, const uint32_t dims[4])
{
	const struct mac_problem *problem = e->problem;
	const struct mac_chunk *chunk = &e->plan->chunks[step->chunk];
	const struct place *place = &e->places[step->place];
	int64_t origin[2];
	unsigned int axis;

	for (axis = 0; axis < 2; axis++)
		origin[axis] =
			(int64_t)(place->first[axis] + step->pass[axis]) * problem->stride[axis] -
			problem->pad[axis] +
			(int64_t)chunk->kernel[axis] * problem->dilation[axis] -
			view->extent[axis].first;
	return (struct npu_window){
		.out_height = htole16((uint16_t)dims[1]),
		.out_width = htole16((uint16_t)dims[2]),
		.kernel_height = htole16((uint16_t)chunk->kernel_count[MAC_Y]),
		.kernel_width = htole16((uint16_t)chunk->kernel_count[MAC_X]),
		.stride_y = htole16((uint16_t)problem->stride[MAC_Y]),
		.stride_x = htole16((uint16_t)problem->stride[MAC_X]),
		.dilation_y = htole16((uint16_t)problem->dilation[MAC_Y]),
		.dilation_x = htole16((uint16_t)problem->dilation[MAC_X]),
		.origin_y = htole16((uint16_t)(int16_t)origin[MAC_Y]),
		.origin_x = htole16((uint16_t)(int16_t)origin[MAC_X]),
	};
}

/* Part of a stored slot that @step's block is. */
struct npu_td mac_out_operand(const struct emitter *e, const struct step *step, uint32_t slot,
			      bool residual)
{
	const struct mac_types *types = &e->problem->types;
	enum npu_dtype dtype = residual ? types->residual : types->output;
	const struct place *place = &e->places[step->place];
	struct slot_view view =
		mac_slot_view(e, place, step->pass, step->store_block, step->store_blocks, dtype);
	uint32_t channel = (step->block - step->store_block) * e->plan->block_channels;

	view.dims[3] = mac_channels(e, step->block, 1);
	return td_zero(td_local(slot + (uint32_t)(channel * view.strides[3]), dtype, view.dims,
				view.strides),
		       residual ? types->residual_zero : types->output_zero);
}
