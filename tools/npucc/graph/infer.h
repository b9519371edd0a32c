/* SPDX-License-Identifier: MIT */
/*
 * Shapes and types of canonical nodes: one function tells what the outputs of
 * a node must be, for the importer (which asks) and the verifier (which checks).
 */
#ifndef NPUCC_GRAPH_INFER_H
#define NPUCC_GRAPH_INFER_H

#include "graph.h"

/*
 * graph_infer_node - set type and shape of every output of @node.
 *
 * All inputs must have known shapes. Where the operator's sizes are stated by
 * the output itself (RESHAPE, SLICE, SPLIT, EXPAND, TILE, RESIZE, POOL; type of
 * CAST and QUANTIZE, and of nodes computed on integers) the caller has set them and they are checked instead.
 * Returns 0, or -1 with a sentence naming the node.
 */
int graph_infer_node(struct graph_node *node, struct diag *diag);

/* graph_check_node - the outputs are what graph_infer_node() would make them. */
int graph_check_node(const struct graph_node *node, struct diag *diag);

/* graph_resizes - RESIZE @node does not leave dimension @dim as it is. */
bool graph_resizes(const struct graph_node *node, uint32_t dim);

/*
 * graph_broadcast - numpy broadcast of @a and @b's shapes into @result (shape
 * only). Returns 0 or -1 when they do not go together.
 */
int graph_broadcast(const struct graph_value *a, const struct graph_value *b,
		    struct graph_value *result);

/*
 * graph_window_output - output size of one dimension of a convolution or pool,
 * rounded down (or up with @ceil, leaving out windows that start in the end
 * padding). May be zero or negative when the window does not fit.
 */
int64_t graph_window_output(const struct graph_window *window, uint32_t dim, int64_t input,
			    bool ceil);

/* A size of a window: "kernel" "height". */
struct graph_window_field {
	const char *name;
	const int64_t *sizes;
	int64_t least, most, value;
	const char *dimension;
};

/* graph_window_problem - the first size that is out of range is *@problem; false: none is. */
bool graph_window_problem(const struct graph_window *window, struct graph_window_field *problem);

/* graph_window_valid - sizes in the range every other function relies on. */
bool graph_window_valid(const struct graph_window *window);

/* graph_eltwise_is_compare - the kind gives BOOL. */
bool graph_eltwise_is_compare(enum graph_eltwise_kind kind);

#endif
