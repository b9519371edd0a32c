// SPDX-License-Identifier: MIT
#include "fuse.h"

#include <inttypes.h>

static const struct {
	const char *name;
	int level; /* least fusion level that runs it */
	uint32_t (*run)(struct graph *graph);
} passes[FUSE_PASS_COUNT] = {
	[FUSE_VIEWS] = { "views", 1, fuse_views },
	[FUSE_PAD] = { "pad", 1, fuse_pad },
	[FUSE_NORM] = { "norm", 2, fuse_norm },
	[FUSE_PATTERNS] = { "patterns", 1, fuse_patterns },
	[FUSE_BATCHNORM] = { "batchnorm", 1, fuse_batchnorm },
	[FUSE_BIAS] = { "bias", 1, fuse_bias },
	[FUSE_LINEAR] = { "linear", 2, fuse_linear },
	[FUSE_SCALE] = { "scale", 2, fuse_scale },
	[FUSE_RESIDUAL] = { "residual", 2, fuse_residual },
	[FUSE_ACTIVATION] = { "activation", 1, fuse_activation },
	[FUSE_AFFINE] = { "affine", 2, fuse_affine },
	[FUSE_TRANSPOSE] = { "transpose", 2, fuse_transpose },
};

/* Every pass shrinks the graph, so this is never met; it bounds what a fault could do. */
#define MAX_ROUNDS 16

const char *fuse_pass_name(enum fuse_pass pass)
{
	return pass < FUSE_PASS_COUNT ? passes[pass].name : "?";
}

static int run_pass(struct graph *graph, uint32_t pass, struct diag *diag, uint32_t *changes)
{
	uint32_t count = passes[pass].run(graph);

	if (graph->out_of_memory)
		return diag_error(diag, "not enough memory for the fusion pass '%s'",
				  passes[pass].name);
	if (!count)
		return 0;
	graph_remove_dead(graph);
	*changes += count;
	if (graph_verify(graph, diag))
		return diag_error(diag,
				  "the fusion pass '%s' broke the graph; leave it out and report "
				  "this with the model",
				  passes[pass].name);
	return 0;
}

/* Passes @first up to @end until none of them changes anything. */
static int run_group(struct graph *graph, uint32_t first, uint32_t end, int level,
		     uint64_t disabled, struct diag *diag, uint32_t *total)
{
	uint32_t round, pass, changes;

	for (round = 0; round < MAX_ROUNDS; round++) {
		changes = 0;
		for (pass = first; pass < end; pass++) {
			if (passes[pass].level > level || (disabled >> pass & 1))
				continue;
			if (run_pass(graph, pass, diag, &changes))
				return -1;
		}
		*total += changes;
		if (!changes)
			return 0;
	}
	return 0;
}

int fuse_graph(struct graph *graph, int level, uint64_t disabled, struct diag *diag)
{
	uint32_t round, changes;

	/* Patterns first and to the end: an activation fused too early hides them. */
	for (round = 0; round < MAX_ROUNDS; round++) {
		changes = 0;
		if (run_group(graph, 0, FUSE_RESIDUAL, level, disabled, diag, &changes) ||
		    run_group(graph, FUSE_RESIDUAL, FUSE_PASS_COUNT, level, disabled, diag,
			      &changes))
			return -1;
		if (!changes)
			return 0;
	}
	return 0;
}
