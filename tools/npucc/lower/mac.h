/* SPDX-License-Identifier: MIT */
/*
 * Everything that runs on the MAC array is one problem: windows over planes of
 * activations against blocks of output channels. Convolutions, depthwise convolutions
 * and matrix products describe themselves as a struct mac_problem; mac_plan() chooses
 * tiles, loop order and split by cost; mac_emit() writes the streams.
 *
 * Terms:
 *	instance	one plane: a batch's image, a group of channels, a matrix
 *	tile		output positions whose activations are in local SRAM together
 *	pass		positions of one MAC instruction (one accumulator half at most)
 *	block		output channels of one MAC instruction
 *	chunk		part of the sum over kernel and depth that one MAC instruction does
 *	piece		range of depth the chunks of a split are made of
 *	group		blocks whose weights are loaded together
 */
#ifndef NPUCC_LOWER_MAC_H
#define NPUCC_LOWER_MAC_H

#include "lower.h"

/* MAC instructions of a layer in one cluster: beyond, a program is no use to anybody. */
#define MAC_STEPS_MAX		(1u << 21)

/* Planes of a layer. */
#define MAC_INSTANCES_MAX	(1u << 20)

enum { MAC_Y = 0, MAC_X = 1, MAC_C = 2 };

/* Byte offsets in the operands' arguments; of weights, elements of the constant. */
struct mac_instance {
	int64_t activations, output, residual;
	int64_t weights;		/* constant: first element; else bytes */
	int64_t bias;			/* first element */
	uint32_t weight_set;		/* equal numbers: same weights and bias */
};

/* How operands are held, and what of an integer stands for zero. */
struct mac_types {
	enum npu_dtype activations, weights, output, residual;
	uint8_t sums;			/* NPU_OUT_SUM_* */
	int32_t activations_zero, weights_zero, output_zero, residual_zero;
};

struct mac_problem {
	const struct graph_node *node;
	struct mac_types types;
	bool depthwise;			/* shape V: depth == channels, each for itself */
	uint32_t instance_count;
	const struct mac_instance *instances;	/* sorted by weight_set */
	uint32_t weight_sets;
	/* activations of an instance: [height][width][depth] */
	uint32_t a_argument;
	int64_t a_stride[3];
	uint32_t height, width, depth;
	uint32_t kernel[2], stride[2], dilation[2];
	int32_t pad[2];			/* before the first row and column */
	/* results: [out_height][out_width][channels] */
	uint32_t out_height, out_width, channels;
	uint32_t o_argument;
	int64_t o_stride[3];
	bool residual;
	uint32_t r_argument;
	int64_t r_stride[3];
	/* weights: a constant with strides in elements ... */
	const struct graph_value *weights;
	uint32_t w_argument;		/* packed: in NPU_ARG_WEIGHTS, or brought to global SRAM */
	int64_t w_stride_channel, w_stride_kernel[2], w_stride_depth;
	/* ... or (weights == NULL, kernel 1x1) a matrix in DRAM, strides in bytes */
	uint32_t b_argument;
	int64_t b_stride_channel, b_stride_depth;
	bool parameters;		/* the output stage takes parameters of each channel */
	const struct graph_value *bias;	/* constant, or NULL */
	int64_t bias_stride;		/* from channel to channel; one element repeats */
	struct graph_activation activation;
	uint64_t macs;			/* useful ones */
};

struct mac_chunk {
	uint32_t kernel[2], kernel_count[2];	/* first tap and taps, y and x */
	uint32_t depth, depth_count;
	uint32_t steps;
	uint32_t piece;
	uint32_t offset, bytes;		/* in a block's packed weights */
};

enum mac_split {
	MAC_WHOLE,	/* a block's weights are loaded at once */
	MAC_BY_CHUNK,	/* chunk by chunk */
	MAC_BY_PIECE,	/* and the activations piece by piece */
};

struct mac_plan {
	uint8_t shape;			/* NPU_MAC_SHAPE_* */
	uint32_t block_channels, step_depth;	/* of that shape */
	uint32_t blocks;
	uint32_t parts_space, parts_channel;	/* clusters = their product */
	uint32_t tile[2], tiles[2];	/* output positions; tiles an instance */
	uint32_t pass[2];
	enum mac_split split;
	uint32_t kernel_split;		/* 0 whole kernel, 1 rows, 2 taps */
	uint32_t piece_depth;
	struct mac_chunk *chunks;
	uint32_t chunk_count;
	uint32_t block_bytes;		/* packed */
	bool weights_outer;
	uint32_t group_blocks;		/* of a load */
	uint32_t store_blocks;		/* whose results are stored together */
	bool store_by_channel;		/* a store slot is [channel][position] */
	uint32_t store_channel;		/* DMA channel of the stores; activations 0, weights 1 */
	uint32_t prefetch_channel;	/* the one with less to do */
	uint32_t a_slots, w_slots, s_slots;
	uint32_t a_bytes, w_bytes, s_bytes;	/* of a slot */
	uint32_t parameter_bytes, table_bytes;
	uint32_t local_bytes;
	uint64_t cycles, dram_bytes, array_cycles;
};

/*
 * mac_plan - the cheapest plan that fits local SRAM, its chunks in lower->arena.
 * Returns 0, or -1 with a sentence naming the node.
 */
int mac_plan(struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan);

/* mac_search - mac_plan() without message and log; false when nothing fits. */
bool mac_search(struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan);

/* mac_blocks - first block and number of blocks of channel part @part. */
void mac_blocks(const struct mac_plan *plan, uint32_t part, uint32_t *first, uint32_t *count);

/* Input rows or columns that output positions [first, first + count) of @axis read. */
struct mac_extent {
	uint32_t first, count;
};

struct mac_extent mac_input(const struct mac_problem *problem, unsigned int axis, uint32_t first,
			    uint32_t count);

/*
 * mac_scales - *@scales = [set][channel] factors that the weights are divided by and the output stage
 * multiplies with, to be freed; NULL where none pays. Returns 0 or -1 with a sentence.
 */
int mac_scales(struct lower *lower, const struct mac_problem *problem, float **scales);

/*
 * mac_pack - the constant weights of every set, divided by @scales (or NULL), as
 * [set][block][chunk][step][channel][depth] in .rodata, one offset a set in @offsets. Returns 0 or -1
 * with a sentence.
 */
int mac_pack(struct lower *lower, const struct mac_problem *problem, const struct mac_plan *plan,
	     const float *scales, int64_t *offsets);

/*
 * mac_parameters - npu_channel_fp of every set's channels in .rodata; *@offset. Only for
 * problems with parameters.
 */
int mac_parameters(struct lower *lower, const struct mac_problem *problem, const float *scales,
		   int64_t *offset);

/* mac_set_types - how @problem's operands are held, by its node; parameters as these need them. */
void mac_set_types(struct mac_problem *problem);

/* mac_integer.c: the same for nodes on integers, parameters of every set's channels, ... */
void mac_set_integer(struct mac_problem *problem);
int mac_integer_parameters(struct lower *lower, const struct mac_problem *problem, int64_t *offset);

/* ... and bounds of a clamp in steps of the result; false where the result is float. */
bool mac_integer_clamp(const struct mac_problem *problem, float low, float high,
		       struct npu_stage *stage);

/* mac_bias_at - the bias of @channel of @instance, 0 without one. */
float mac_bias_at(const struct mac_problem *problem, const struct mac_instance *instance,
		  uint32_t channel);

/*
 * mac_flatten - make one row of a plane, or all images of one weight set one plane, where a 1x1
 * window with stride 1 lets positions follow each other without a gap. @instances is
 * rewritten in place.
 */
void mac_flatten(struct mac_problem *problem, struct mac_instance *instances);

/* mac_lower - plan, pack, emit; the whole of a MAC operator. Fills lower->figures. */
int mac_lower(struct lower *lower, const struct mac_problem *problem);

/* mac_emit - the streams of a plan. */
int mac_emit(struct lower *lower, const struct mac_problem *problem, const struct mac_plan *plan,
	     const int64_t *set_offsets, int64_t parameters, int64_t table);

/*
 * mac_activation - how the output stage does @activation: NPU_ACTIVATION_*, with the
 * bounds of a clamp. Returns false when it cannot; scan and lowering both ask here.
 */
bool mac_activation(const struct graph_activation *activation, uint8_t *stage, float *low,
		    float *high);

#endif
