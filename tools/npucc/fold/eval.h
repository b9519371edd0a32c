/* SPDX-License-Identifier: MIT */
/*
 * Evaluator of canonical nodes on concrete data: constant folding, and the
 * numeric checks of the passes. Plain and exact rather than fast: sums are
 * kept in double, element-wise functions are computed in double and rounded
 * once to the element type.
 */
#ifndef NPUCC_FOLD_EVAL_H
#define NPUCC_FOLD_EVAL_H

#include "../graph/graph.h"

/*
 * eval_node - compute the outputs of @node.
 * @inputs: elements of each input in its own type, NULL where it is absent.
 * @outputs: room for each output (graph_element_count() x graph_dtype_bytes()).
 *
 * Every shape must be known. Returns 0, or -1 when this operator or type
 * cannot be evaluated here or an index is out of range (sentence in @diag).
 */
int eval_node(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag);

/* eval_work - about how many elementary steps eval_node() takes; saturates. */
uint64_t eval_work(const struct graph_node *node);

/* Helpers the files of the evaluator share. */

/* eval_load, eval_store - element as double; storing rounds, integers saturate. */
double eval_load(enum graph_dtype dtype, const void *data, int64_t index);
void eval_store(enum graph_dtype dtype, void *data, int64_t index, double number);

/* eval_load_int, eval_store_int - integers and BOOL; storing wraps as C does. */
int64_t eval_load_int(enum graph_dtype dtype, const void *data, int64_t index);
void eval_store_int(enum graph_dtype dtype, void *data, int64_t index, int64_t number);

/* Walks the elements of a shape with up to four operands of their own strides. */
#define EVAL_OPERANDS 4
struct eval_walk {
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK];
	int64_t index[GRAPH_MAX_RANK];
	int64_t stride[EVAL_OPERANDS][GRAPH_MAX_RANK];
	int64_t offset[EVAL_OPERANDS];
	int64_t count;
};

/* eval_walk_init - over the elements of @shape; operands stand still until given strides. */
void eval_walk_init(struct eval_walk *walk, const struct graph_value *shape);

/* eval_walk_broadcast - operand @operand broadcasts from @value's shape to the walk's. */
void eval_walk_broadcast(struct eval_walk *walk, uint32_t operand, const struct graph_value *value);

void eval_walk_next(struct eval_walk *walk);

/* eval_strides - row-major strides of @value. */
void eval_strides(const struct graph_value *value, int64_t strides[GRAPH_MAX_RANK]);

/* eval_activation - one unary function. */
double eval_activation(const struct graph_activation *activation, double x);

/*
 * The taps of a separable interpolation: output = sum of weight[i] * input[clamped first + i],
 * or the node's extrapolation value where @outside.
 */
#define EVAL_MAX_TAPS 4096
struct eval_taps {
	bool outside;
	int64_t first, count;
	double weight[EVAL_MAX_TAPS];
};

/*
 * eval_resize_taps - of output position @at along @dim, of @in input and @size output positions.
 * Returns 0, or -1 when the scale is out of range.
 */
int eval_resize_taps(const struct graph_attr_resize *resize, uint32_t dim, int64_t in, int64_t size,
		     int64_t at, struct eval_taps *taps);

/* eval_clamp - @position, or the end of 0..size-1 that it lies beyond. */
int64_t eval_clamp(int64_t position, int64_t size);

/* By group of operators; same contract as eval_node(). */
int eval_move(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag);
int eval_math(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag);
int eval_dense(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	       struct diag *diag);
int eval_quant(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	       struct diag *diag);
int eval_resize(const struct graph_node *node, const void *const *inputs, void *const *outputs,
		struct diag *diag);

#endif
