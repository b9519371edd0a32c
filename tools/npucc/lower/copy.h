/* SPDX-License-Identifier: MIT */
#ifndef NPUCC_LOWER_COPY_H
#define NPUCC_LOWER_COPY_H

#include "lower.h"

/*
 * copy_region - copy @in to @out (same dims; a stride of 0 in @in repeats), spread over the clusters. Regions
 * copied within a layer must not overlap. Returns 0, or -1 with a sentence naming @node.
 */
int copy_region(struct lower *lower, const struct graph_node *node, const struct placement *out,
		const struct placement *in);

/* copy_fill - fill @out with @number, in the same way. */
int copy_fill(struct lower *lower, const struct graph_node *node, const struct placement *out,
	      float number);

#endif
