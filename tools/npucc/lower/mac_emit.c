// SPDX-License-Identifier: MIT
/*
 * Streams of a MAC plan.
 *
 * One cluster's work is first written down as a list of steps (one MAC instruction
 * each) and the lists of loads they use. Then it is emitted in step order. A load is
 * emitted as early as it may: after the step that frees its slot, so that every wait
 * is for a release that stands before it in the stream. Such a stream cannot block
 * itself, whatever the depth of the engines' queues.
 */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mac_emitter.h"
#include "prefetch.h"

/* Loads standing in a DMA queue ahead of their use; the queue holds 8 instructions. */
#define LOADS_AHEAD 5u

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void mac_move_activations(struct emitter *e, struct stream *stream, const struct load *load,
			  uint32_t slot, uint16_t multicast)
{
	const struct mac_problem *problem = e->problem;
	const struct place *place = &e->places[load->tile];
	struct tile_view view = mac_view(e, place, mac_piece_depth(e, load->piece));
	uint32_t dims[4] = { 1, view.extent[MAC_Y].count, view.extent[MAC_X].count, view.depth };
	enum npu_dtype dtype = problem->types.activations;
	int64_t local[4] = { 0, view.pixel * view.extent[MAC_X].count, view.pixel,
			     NPU_DTYPE_BYTES(dtype) };
	int64_t dram[4] = { 0, problem->a_stride[MAC_Y], problem->a_stride[MAC_X],
			    problem->a_stride[MAC_C] };
	int64_t from = problem->instances[place->instance].activations +
		       view.extent[MAC_Y].first * problem->a_stride[MAC_Y] +
		       view.extent[MAC_X].first * problem->a_stride[MAC_X];
	struct npu_td dst, src;

	if (e->plan->split == MAC_BY_PIECE)
		from += (int64_t)load->piece * e->plan->piece_depth * problem->a_stride[MAC_C];
	dst = td_local(slot, dtype, dims, local);
	src = td_dram(problem->a_argument, from, dtype, dims, dram);
	stream_dma(stream, 0, &dst, &src, multicast);
}

static void issue_activations(struct emitter *e, const struct load *load)
{
	mac_move_activations(e, e->stream, load, mac_load_begin(e, &e->a), e->a.sharing.mask);
	ring_produce_end(&e->a.ring);
}

static void dma_bytes(struct stream *stream, unsigned int channel, uint32_t local,
		      unsigned int argument, int64_t from, uint32_t bytes, uint16_t multicast)
{
	/* As fp32 words of at most 65,535 a row: dims have 16 bits. */
	uint32_t words = bytes / 4, row = words, rows = 1;
	struct npu_td dst, src;

	while (row > UINT16_MAX || (words % row && row > 1)) {
		rows = (words + UINT16_MAX - 1) / UINT16_MAX;
		while (words % rows)
			rows++;
		row = words / rows;
	}
	dst = td_local_dense(local, NPU_DTYPE_FP32, 1, 1, rows, row);
	src = td_dram(argument, from, NPU_DTYPE_FP32, (uint32_t[4]){ 1, 1, rows, row },
		      (int64_t[4]){ 0, 0, 4 * (int64_t)row, 4 });
	stream_dma(stream, channel, &dst, &src, multicast);
}

/* A matrix that is no constant: rows of depth lanes, as the array reads them. */
static void move_matrix(struct emitter *e, struct stream *stream, const struct load *load,
			uint32_t slot, uint16_t multicast)
{
	const struct mac_problem *problem = e->problem;
	const struct mac_plan *plan = e->plan;
	uint32_t channel = load->block * plan->block_channels;
	uint32_t channels = least(load->blocks * plan->block_channels, problem->channels - channel);
	uint32_t first = load->chunk == UINT32_MAX ? 0 : plan->chunks[load->chunk].depth;
	uint32_t depth =
		load->chunk == UINT32_MAX ? problem->depth : plan->chunks[load->chunk].depth_count;
	uint32_t steps =
		load->chunk == UINT32_MAX ? plan->chunks[0].steps : plan->chunks[load->chunk].steps;
	uint32_t dims[4] = { 1, 1, channels, depth };
	enum npu_dtype dtype = problem->types.weights;
	int64_t element = NPU_DTYPE_BYTES(dtype);
	int64_t local[4] = { 0, 0, steps * plan->step_depth * element, element };
	int64_t dram[4] = { 0, 0, problem->b_stride_channel, problem->b_stride_depth };
	int64_t from = problem->instances[load->instance].weights +
		       channel * problem->b_stride_channel + first * problem->b_stride_depth;
	struct npu_td dst = td_local(slot, dtype, dims, local);
	struct npu_td src = td_dram(problem->b_argument, from, dtype, dims, dram);

	stream_dma(stream, 1, &dst, &src, multicast);
}

void mac_move_weights(struct emitter *e, struct stream *stream, const struct load *load,
		      uint32_t slot, uint16_t multicast)
{
	const struct mac_plan *plan = e->plan;
	const struct mac_instance *instance = &e->problem->instances[load->instance];
	uint32_t bytes;
	int64_t from;

	if (!e->problem->weights) {
		move_matrix(e, stream, load, slot, multicast);
		return;
	}
	from = e->set_offsets[instance->weight_set] + (int64_t)load->block * plan->block_bytes;
	bytes = load->blocks * plan->block_bytes;
	if (load->chunk != UINT32_MAX) {
		from += plan->chunks[load->chunk].offset;
		bytes = plan->chunks[load->chunk].bytes;
	}
	dma_bytes(stream, 1, slot, e->problem->w_argument, from, bytes, multicast);
}

static void issue_weights(struct emitter *e, const struct load *load)
{
	mac_move_weights(e, e->stream, load, mac_load_begin(e, &e->w), e->w.sharing.mask);
	ring_produce_end(&e->w.ring);
}

void mac_move_residual(struct emitter *e, struct stream *stream, const struct load *load,
		       uint32_t slot, uint16_t multicast)
{
	const struct place *place = &e->places[load->tile];
	enum npu_dtype dtype = e->problem->types.residual;
	struct slot_view view =
		mac_slot_view(e, place, load->pass, load->block, load->blocks, dtype);
	struct npu_td src = mac_dram(e, place, load->pass, load->block, &view, true);
	struct npu_td dst = td_local(slot, dtype, view.dims, view.strides);

	stream_dma(stream, 0, &dst, &src, multicast);
}

static void issue_residual(struct emitter *e, const struct load *load)
{
	mac_move_residual(e, e->stream, load, ring_produce_begin(&e->r.ring), 0);
	ring_produce_end(&e->r.ring);
}

bool mac_may_issue(const struct loads *loads, uint32_t issued, uint32_t step)
{
	uint32_t slots = loads->ring.slots, ahead = issued;

	if (issued == loads->count ||
	    (issued >= slots && loads->list[issued - slots].last_step >= step))
		return false;
	/* Those whose use is still to come: not more than the queue takes. */
	while (ahead > 0 && loads->list[ahead - 1].first_step >= step)
		ahead--;
	return issued - ahead < LOADS_AHEAD;
}

/* Loads of a ring that may stand in the stream before step @step. */
static void issue_loads(struct emitter *e, struct loads *loads, uint32_t step,
			void (*issue)(struct emitter *e, const struct load *load))
{
	while (mac_may_issue(loads, loads->issued, step)) {
		if (loads->sharing.members == 1 || loads->sharing.leader)
			issue(e, &loads->list[loads->issued]);
		loads->issued++;
		if (step == 0)
			mac_emit_early_points(e);
	}
}

bool mac_move_parameters(struct emitter *e, struct stream *stream)
{
	const struct mac_problem *problem = e->problem;
	uint32_t bytes = e->plan->parameter_bytes, count;
	int64_t from = e->parameters;

	if (bytes) {
		if (problem->weight_sets > 1) {
			count = problem->weight_sets * problem->channels;
		} else {
			e->parameters_first_channel = e->first_block * e->plan->block_channels;
			count = mac_channels(e, e->first_block, e->blocks);
			from += (int64_t)e->parameters_first_channel *
				sizeof(struct npu_channel_fp);
		}
		dma_bytes(stream, 0, e->parameters_at, NPU_ARG_WEIGHTS, from,
			  count * (uint32_t)sizeof(struct npu_channel_fp), 0);
	}
	if (e->plan->table_bytes)
		dma_bytes(stream, 0, e->table_at, NPU_ARG_WEIGHTS, e->table,
			  sizeof(struct npu_curve), 0);
	return bytes || e->plan->table_bytes;
}

static void issue_parameters(struct emitter *e)
{
	if (!mac_move_parameters(e, e->stream))
		return;
	stream_give(e->stream, NPU_ENGINE_DMA0, e->ready);
	e->wants_ready = true;
}

uint32_t mac_slot_address(const struct loads *loads, uint32_t index)
{
	return loads->ring.base + index % loads->ring.slots * loads->ring.slot_bytes;
}

static void emit_mac(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	const struct load *a = &e->a.list[step->a], *w = &e->w.list[step->w];
	struct tile_view view = mac_view(e, place, mac_piece_depth(e, a->piece));
	struct slot_view slot =
		mac_slot_view(e, place, step->pass, step->block, 1, e->problem->types.output);
	uint8_t subop = (uint8_t)(e->plan->shape | (e->half ? NPU_MAC_HALF : 0));
	struct npu_td activations, weights;
	struct npu_window window;

	if (step->first_chunk)
		ring_produce_begin(&e->acc);
	else
		subop |= NPU_MAC_RESUME;
	if (a->first_step == index)
		ring_consume_begin(&e->a.ring);
	if (w->first_step == index)
		ring_consume_begin(&e->w.ring);
	activations = mac_activation_operand(e, step, &view, mac_slot_address(&e->a, step->a));
	weights = mac_weight_operand(e, step, mac_slot_address(&e->w, step->w));
	window = mac_window_operand(e, step, &view, slot.dims);
	stream_mac(e->stream, subop, &activations, &weights, &window, 0,
		   mac_channels(e, step->block, 1));
	if (step->last_chunk)
		ring_produce_end(&e->acc);
	if (a->last_step == index)
		mac_load_end(e, &e->a);
	if (w->last_step == index)
		mac_load_end(e, &e->w);
}

static void emit_out(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	uint32_t set = e->problem->instances[place->instance].weight_set;
	uint32_t channel = step->block * e->plan->block_channels;
	uint32_t channels = mac_channels(e, step->block, 1);
	uint8_t subop = (uint8_t)(e->problem->types.sums | (e->half ? NPU_OUT_HALF : 0));
	struct npu_td dst, parameters, residual;

	ring_consume_begin(&e->acc);
	if (e->wants_ready) {
		stream_need(e->stream, NPU_ENGINE_OUT, e->ready);
		e->wants_ready = false;
	}
	if (step->first_stored) {
		ring_produce_begin(&e->store);
		if (e->problem->residual)
			ring_consume_begin(&e->r.ring);
	}
	dst = mac_out_operand(
		e, step, e->store.base + e->store.produced % e->store.slots * e->store.slot_bytes,
		false);
	if (e->problem->residual)
		residual = mac_out_operand(e, step, mac_slot_address(&e->r, step->r), true);
	if (e->problem->weight_sets > 1)
		channel += set * e->problem->channels;
	parameters =
		td_local_dense(e->parameters_at + (channel - e->parameters_first_channel) *
							  (uint32_t)sizeof(struct npu_channel_fp),
			       NPU_DTYPE_FP32, 1, 1, channels, 2);
	stream_out(e->stream, subop, &dst, e->problem->parameters ? &parameters : NULL, &e->stage,
		   e->problem->residual ? &residual : NULL, 0);
	ring_consume_end(&e->acc);
	e->half ^= e->acc.slots > 1;
	if (!step->last_stored)
		return;
	ring_produce_end(&e->store);
	if (e->problem->residual)
		ring_consume_end(&e->r.ring);
}

static void emit_store(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	struct slot_view view =
		mac_slot_view(e, place, step->pass, step->store_block, step->store_blocks,
			      e->problem->types.output);
	struct npu_td dst = mac_dram(e, place, step->pass, step->store_block, &view, false);
	struct npu_td src =
		td_local(ring_consume_begin(&e->store), e->problem->types.output, view.dims,
			 view.strides);

	stream_dma(e->stream, e->plan->store_channel, &dst, &src, 0);
	ring_consume_end(&e->store);
}

/* This cluster's pieces, spread over its steps: those due before step @step. */
static void issue_pieces(struct emitter *e, uint32_t step)
{
	uint32_t clusters = e->lower->clusters;
	uint32_t own = (e->piece_count + clusters - 1 - e->cluster) / clusters;
	struct npu_td dst, src;

	while (e->pieces_moved < own) {
		const struct prefetch_piece *piece =
			&e->pieces[e->pieces_moved * clusters + e->cluster];
		uint64_t due = (uint64_t)(e->pieces_moved + 1) * e->step_count / (own + 1);

		if (due > step)
			return;
		if (prefetch_move(e->lower->prefetch, piece, &dst, &src))
			stream_dma(e->stream, e->plan->prefetch_channel, &dst, &src, 0);
		e->pieces_moved++;
	}
}

static void emit_steps(struct emitter *e)
{
	uint32_t i;

	for (i = 0; i < e->step_count; i++) {
		mac_emit_points(e, i);
		issue_pieces(e, i);
		issue_loads(e, &e->a, i, issue_activations);
		issue_loads(e, &e->w, i, issue_weights);
		if (i == 0)
			issue_parameters(e);
		issue_loads(e, &e->r, i, issue_residual);
		emit_mac(e, i);
		if (!e->steps[i].last_chunk)
			continue;
		emit_out(e, i);
		if (e->steps[i].last_stored)
			emit_store(e, i);
	}
}

static uint32_t float_bits(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static int init_stage(struct emitter *e)
{
	float low = 0, high = 0;
	uint8_t activation;

	if (!mac_activation(&e->problem->activation, &activation, &low, &high))
		return -1;
	e->stage = (struct npu_stage){
		.activation = activation,
		.flags = e->problem->residual ? NPU_STAGE_RESIDUAL_BEFORE : 0,
		.table_address = htole32(activation == NPU_ACTIVATION_CURVE ? e->table_at : 0),
	};
	if (activation == NPU_ACTIVATION_CLAMP &&
	    !mac_integer_clamp(e->problem, low, high, &e->stage)) {
		e->stage.clamp_low = htole32(float_bits(low));
		e->stage.clamp_high = htole32(float_bits(high));
	}
	return 0;
}

/* Members of a shared ring must place it alike: what a ring of few loads leaves free stays free. */
static int init_loads(struct emitter *e, struct loads *loads, enum npu_engine producer,
		      uint32_t bytes, uint32_t slots)
{
	struct ring *ring = &loads->ring;

	if (ring_init(ring, e->lower, e->cluster, producer, NPU_ENGINE_MAC, bytes, slots,
		      loads->count))
		return -1;
	if (ring->slots < slots &&
	    lower_local(e->lower, e->cluster, (slots - ring->slots) * ring->slot_bytes) ==
		    UINT32_MAX)
		return -1;
	return 0;
}

static int init_cluster(struct emitter *e)
{
	const struct mac_plan *plan = e->plan;
	struct lower *lower = e->lower;
	uint32_t cluster = e->cluster, blocks = 0, i;

	for (i = 0; i < e->step_count; i++) {
		blocks += e->steps[i].last_chunk;
		e->store.total += e->steps[i].last_chunk && e->steps[i].last_stored;
	}
	if (init_loads(e, &e->a, NPU_ENGINE_DMA0, plan->a_bytes, plan->a_slots) ||
	    init_loads(e, &e->w, NPU_ENGINE_DMA1, plan->w_bytes, plan->w_slots))
		return -1;
	e->parameters_at = lower_local(lower, cluster, plan->parameter_bytes);
	e->table_at = lower_local(lower, cluster, plan->table_bytes);
	e->ready = lower_token(lower, cluster);
	if (e->parameters_at == UINT32_MAX || e->table_at == UINT32_MAX ||
	    ring_init(&e->acc, lower, cluster, NPU_ENGINE_MAC, NPU_ENGINE_OUT, 0,
		      lower->pipeline_stages == 1 ? 1 : 2, blocks) ||
	    ring_init(&e->store, lower, cluster, NPU_ENGINE_OUT,
		      plan->store_channel ? NPU_ENGINE_DMA1 : NPU_ENGINE_DMA0, plan->s_bytes,
		      plan->s_slots, e->store.total))
		return -1;
	if (e->problem->residual &&
	    ring_init(&e->r.ring, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_OUT, plan->s_bytes,
		      plan->s_slots, e->r.count))
		return -1;
	return init_stage(e);
}

int mac_emit(struct lower *lower, const struct mac_problem *problem, const struct mac_plan *plan,
	     const int64_t *set_offsets, int64_t parameters, int64_t table)
{
	struct emitter *emitters = calloc(lower->clusters, sizeof(*emitters));
	uint32_t cluster;
	int result = 0;

	if (!emitters)
		return diag_error(lower->diag, "node '%s' (%s): not enough memory for its streams",
				  problem->node->name, problem->node->op_type);
	for (cluster = 0; cluster < lower->clusters && !result; cluster++) {
		emitters[cluster] = (struct emitter){
			.lower = lower,
			.problem = problem,
			.plan = plan,
			.set_offsets = set_offsets,
			.parameters = parameters,
			.table = table,
			.cluster = cluster,
			.stream = lower->streams[cluster],
			.a.sharing.members = 1,
			.w.sharing.members = 1,
			.r.sharing.members = 1,
		};
		if (lower->prefetch)
			emitters[cluster].pieces = prefetch_pieces(
				lower->prefetch, problem->node, &emitters[cluster].piece_count);
		result = mac_list_steps(&emitters[cluster]);
	}
	if (!result)
		mac_share(emitters, plan);
	for (cluster = 0; cluster < lower->clusters && !result; cluster++) {
		if (emitters[cluster].step_count && init_cluster(&emitters[cluster]))
			result = diag_error(lower->diag,
					    "internal error: node '%s' (%s): its plan does not fit local SRAM",
					    problem->node->name, problem->node->op_type);
	}
	if (!result)
		result = mac_place_points(emitters, lower->clusters);
	for (cluster = 0; cluster < lower->clusters && !result; cluster++) {
		emit_steps(&emitters[cluster]);
		/* What a cluster with few steps, or none, has left. */
		mac_emit_points(&emitters[cluster], UINT32_MAX);
		issue_pieces(&emitters[cluster], UINT32_MAX);
	}
	for (cluster = 0; cluster < lower->clusters; cluster++)
		mac_free_steps(&emitters[cluster]);
	free(emitters);
	return result;
}
