/* SPDX-License-Identifier: MIT */
/*
 * Passes that make fewer, larger nodes of many small ones. Each pass is one
 * function over the graph, correct alone and in any order; the driver runs
 * them until nothing changes.
 */
#ifndef NPUCC_FUSE_FUSE_H
#define NPUCC_FUSE_FUSE_H

#include "../graph/graph.h"

/* In the order they run; the bit in npucc_front_options.disabled_passes is 1 << this. */
enum fuse_pass {
	FUSE_VIEWS,		/* identity reshapes, transposes, casts; pairs of them */
	FUSE_PAD,		/* PAD of zeros into the window of CONV */
	FUSE_NORM,		/* decomposed LayerNorm back to one node */
	FUSE_PATTERNS,		/* decomposed activations (SiLU, GELU, ...) back to one node */
	FUSE_BATCHNORM,		/* BATCHNORM, Mul and Div by constants into weights and bias */
	FUSE_BIAS,		/* Add and Sub of a constant into the bias */
	FUSE_LINEAR,		/* chains of scalar arithmetic; into the weights that follow */
	FUSE_SCALE,		/* the scale of an attention into the queries' weights */
	FUSE_RESIDUAL,		/* Add of a tensor into CONV, MATMUL */
	FUSE_ACTIVATION,	/* activation onto its producer */
	FUSE_AFFINE,		/* scalar arithmetic after an activation onto it */
	FUSE_TRANSPOSE,		/* transposes of the last two dimensions into MATMUL */
	FUSE_PASS_COUNT
};

/*
 * fuse_graph - run the passes of @level (0: none, 1: into producers, 2: all)
 * except those whose bit is set in @disabled, verifying after each.
 * Returns 0 or -1 with a sentence.
 */
int fuse_graph(struct graph *graph, int level, uint64_t disabled, struct diag *diag);

/* The passes. Each returns the number of rewrites; out of memory is in graph->out_of_memory. */
uint32_t fuse_views(struct graph *graph);
uint32_t fuse_pad(struct graph *graph);
uint32_t fuse_norm(struct graph *graph);
uint32_t fuse_patterns(struct graph *graph);
uint32_t fuse_batchnorm(struct graph *graph);
uint32_t fuse_bias(struct graph *graph);
uint32_t fuse_linear(struct graph *graph);
uint32_t fuse_scale(struct graph *graph);
uint32_t fuse_residual(struct graph *graph);
uint32_t fuse_activation(struct graph *graph);
uint32_t fuse_affine(struct graph *graph);
uint32_t fuse_transpose(struct graph *graph);

const char *fuse_pass_name(enum fuse_pass pass);

#endif
