/* SPDX-License-Identifier: MIT */
/*
 * One cluster's part of a MAC layer while its stream is made: what mac_steps.c writes down,
 * mac_share.c finds common to several clusters, mac_operand.c describes, and
 * mac_emit.c emits.
 */
#ifndef NPUCC_LOWER_MAC_EMITTER_H
#define NPUCC_LOWER_MAC_EMITTER_H

#include "mac.h"

struct load {
	uint32_t first_step, last_step;
	uint32_t tile;			/* activations, residual: index of struct place */
	uint32_t piece;			/* activations */
	uint32_t pass[2];		/* residual */
	uint32_t block, blocks;		/* weights, residual */
	uint32_t chunk;			/* weights; UINT32_MAX: all of them */
	uint32_t instance;
};

/*
 * Loads that several clusters want alike: one of them, the leader, issues them as
 * multicasts. Each member frees a slot by a shared token of its own, since a
 * common one could not tell two slots freed by one from one freed by two.
 */
struct sharing {
	uint32_t members;		/* 1: not shared */
	uint16_t mask;
	bool leader;
	unsigned int own;		/* this cluster's token */
	unsigned int tokens[NPU_PROGRAM_CLUSTERS_MAX];	/* of the members */
};

struct loads {
	struct load *list;
	uint32_t count, capacity, issued;
	struct ring ring;
	struct sharing sharing;
};

/* A tile of an instance. */
struct place {
	uint32_t instance;
	uint32_t first[2], count[2];	/* output positions */
};

struct step {
	uint32_t place;
	uint32_t pass[2];		/* first position in the tile */
	uint32_t block, chunk;
	uint32_t a, w, r;		/* loads */
	bool first_chunk, last_chunk;
	bool first_stored, last_stored;	/* of the blocks stored together */
	uint32_t store_block, store_blocks;
};

struct run;
struct cut;

struct emitter {
	struct lower *lower;
	const struct mac_problem *problem;
	const struct mac_plan *plan;
	const int64_t *set_offsets;
	int64_t parameters, table;
	uint32_t cluster;
	struct stream *stream;
	uint32_t first_block, blocks;
	struct place *places;
	uint32_t place_count;
	struct step *steps;
	uint32_t step_count, step_capacity;
	struct run *run;		/* being written down */
	struct loads a, w, r;
	struct ring acc, store;
	uint32_t half;
	uint32_t parameters_at, table_at;
	uint32_t parameters_first_set, parameters_first_channel;
	unsigned int ready;		/* token: parameters and table are there */
	bool wants_ready;
	struct npu_stage stage;
	/* pieces of later layers' weights this layer carries (prefetch.h) */
	const struct prefetch_piece *pieces;
	uint32_t piece_count, pieces_moved;
	/* points inside the layer (mac_points.c) */
	struct cut *cuts;
	uint32_t first_point, point_count, points_emitted;
};

/* Emits the transfer of a load to @slot into @stream. */
typedef void mac_move_function(struct emitter *e, struct stream *stream, const struct load *load,
			       uint32_t slot, uint16_t multicast);


/* ------------------------------------------------------------------ mac_steps.c */
/*
 * mac_list_steps - write down the cluster's places, steps and loads. Returns 0, or -1 with a
 * sentence. mac_free_steps() frees the lists, also after a failure.
 */
int mac_list_steps(struct emitter *e);
void mac_free_steps(struct emitter *e);

/* ------------------------------------------------------------------- mac_emit.c */
mac_move_function mac_move_activations, mac_move_weights, mac_move_residual;

/* mac_move_parameters - parameters of the channels, and the table; true when there are any. */
bool mac_move_parameters(struct emitter *e, struct stream *stream);

/* mac_slot_address - the slot a load goes to; loads are used in the order they were issued in. */
uint32_t mac_slot_address(const struct loads *loads, uint32_t index);

/* mac_may_issue - whether the load after @issued ones may stand in the stream before step @step. */
bool mac_may_issue(const struct loads *loads, uint32_t issued, uint32_t step);

/* ------------------------------------------------------------------- mac_pace.c */
/*
 * mac_pace - predicted cycles before each of the cluster's steps and behind the last one; rings are
 * there. To be freed; NULL when out of memory.
 */
uint64_t *mac_pace(const struct emitter *e);

/* mac_transfer_cycles - of a load, while all clusters load; those that share one count once. */
uint64_t mac_transfer_cycles(const struct emitter *e, const struct loads *loads, uint32_t index);

/* ----------------------------------------------------------------- mac_points.c */
/* mac_place_points - choose where points stand; rings are there. 0, or -1 with a sentence. */
int mac_place_points(struct emitter *emitters, uint32_t clusters);

/* mac_emit_early_points - those that stand between the first step's loads, behind the last one issued. */
void mac_emit_early_points(struct emitter *e);

/* mac_emit_points - those that stand before step @step; UINT32_MAX: all that are left. */
void mac_emit_points(struct emitter *e, uint32_t step);

/* ------------------------------------------------------------------ mac_share.c */
/* mac_share - find loads that clusters have in common; give out shared tokens. */
void mac_share(struct emitter *emitters, const struct mac_plan *plan);

/* mac_load_begin - the slot of the next load, once every reader has let go of what was in it. */
uint32_t mac_load_begin(struct emitter *e, struct loads *loads);

/* mac_load_end - the last instruction on the array was the last to read the oldest load. */
void mac_load_end(struct emitter *e, struct loads *loads);

/* ---------------------------------------------------------------- mac_operand.c */
/* How a tile's activations lie in their slot: [rows][columns][depth], dense. */
struct tile_view {
	struct mac_extent extent[2];
	uint32_t depth;
	int64_t pixel;			/* bytes */
};

/* How results lie in a store slot or a residual's: strides of [y][x][c]. */
struct slot_view {
	uint32_t dims[4];
	int64_t strides[4];
};

/* mac_view - how the activations of @place over @depth channels lie in a slot. */
struct tile_view mac_view(const struct emitter *e, const struct place *place, uint32_t depth);

/* mac_piece_depth - channels of the activations' piece @piece. */
uint32_t mac_piece_depth(const struct emitter *e, uint32_t piece);

/* mac_channels - channels that are really there of @blocks blocks from @block on. */
uint32_t mac_channels(const struct emitter *e, uint32_t block, uint32_t blocks);

/* mac_slot_view - how results (or a residual) of @dtype of such blocks lie in a slot. */
struct slot_view mac_slot_view(const struct emitter *e, const struct place *place,
			       const uint32_t pass[2], uint32_t block, uint32_t blocks,
			       enum npu_dtype dtype);

/* mac_dram - results, or residual, of @view in memory. */
struct npu_td mac_dram(const struct emitter *e, const struct place *place, const uint32_t pass[2],
		       uint32_t block, const struct slot_view *view, bool residual);

/* The operands of a step; @slot is where the load or the ring's slot begins. */
struct npu_td mac_weight_operand(const struct emitter *e, const struct step *step, uint32_t slot);
struct npu_td mac_activation_operand(const struct emitter *e, const struct step *step,
				     const struct tile_view *view, uint32_t slot);
struct npu_window mac_window_operand(const struct emitter *e, const struct step *step,
				     const struct tile_view *view, const uint32_t dims[4]);
struct npu_td mac_out_operand(const struct emitter *e, const struct step *step, uint32_t slot,
			      bool residual);

#endif
