/* SPDX-License-Identifier: MIT */
/*
 * Operators that have no lowering of their own, made of those that have: after the scan has
 * accepted the model's nodes and before layout. One file an operator family.
 */
#ifndef NPUCC_DECOMPOSE_DECOMPOSE_H
#define NPUCC_DECOMPOSE_DECOMPOSE_H

#include "../graph/graph.h"

/* decompose_graph - rewrite every such node. Returns 0, or -1 with a sentence. */
int decompose_graph(struct graph *graph, struct diag *diag);

/* A node under decomposition; the new ones stand before it and carry its name. */
struct decompose {
	struct graph *graph;
	struct graph_node *node;
	struct diag *diag;
};

/*
 * decompose_op - a node of @op over @count inputs (absent ones NULL) with its inferred output, which is returned.
 * @attr: NULL for operators without. NULL when an input that must be there, memory, or
 * sense is missing: a chain of calls needs one check at its end.
 */
struct graph_value *decompose_op(struct decompose *d, enum graph_op op, const union graph_attr *attr,
				 struct graph_value *const *inputs, uint32_t count);

/* decompose_stated - the same for operators of one input whose output's shape is stated. */
struct graph_value *decompose_stated(struct decompose *d, enum graph_op op,
				     const union graph_attr *attr, struct graph_value *x,
				     uint32_t rank, const int64_t *dims);

/* Short forms. */
struct graph_value *decompose_reshape(struct decompose *d, struct graph_value *x, uint32_t rank,
				      const int64_t *dims);
struct graph_value *decompose_cast(struct decompose *d, struct graph_value *x, enum graph_dtype dtype);
struct graph_value *decompose_activation(struct decompose *d, struct graph_value *x,
					 enum graph_activation_kind kind, float alpha, float beta);
struct graph_value *decompose_eltwise(struct decompose *d, enum graph_eltwise_kind kind,
				      struct graph_value *a, struct graph_value *b);
struct graph_value *decompose_reduce(struct decompose *d, enum graph_reduce_kind kind,
				     struct graph_value *x, uint32_t axes);	/* dims kept */

/* decompose_finish - readers of the node's output read @value. Returns 0, or -1 with a sentence. */
int decompose_finish(struct decompose *d, struct graph_value *value);

/* One a file; each decomposes d->node, or leaves it alone. 0, or -1 with a sentence. */
int decompose_convtranspose(struct decompose *d);
int decompose_gather(struct decompose *d);		/* by computed indices */
int decompose_norm(struct decompose *d);		/* LAYERNORM of long rows, INSTANCENORM, GROUPNORM, LRN */
int decompose_resize(struct decompose *d);
int decompose_reduction(struct decompose *d);		/* LOG_SUM_EXP */

#endif
