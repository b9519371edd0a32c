/* SPDX-License-Identifier: MIT */
/* What the passes recognise and how they rewrite. */
#ifndef NPUCC_FUSE_MATCH_H
#define NPUCC_FUSE_MATCH_H

#include "../graph/graph.h"

/* match_op - the producer of @value when it is an @op without fused activation, else NULL. */
struct graph_node *match_op(const struct graph_value *value, enum graph_op op);

/* match_activation - the producer when it is the ACTIVATION @kind, else NULL. */
struct graph_node *match_activation(const struct graph_value *value,
				    enum graph_activation_kind kind);

/* match_eltwise - the producer when it is the ELTWISE @kind without activation, else NULL. */
struct graph_node *match_eltwise(const struct graph_value *value, enum graph_eltwise_kind kind);

/* match_uniform - @value is a float constant whose elements all are *@number. */
bool match_uniform(const struct graph_value *value, double *number);

/* y = scale x + shift with numbers for the two. */
struct match_linear {
	struct graph_value *x;
	double scale;
	double shift;
};

/* match_linear_node - @node computes that, in whatever form. */
bool match_linear_node(const struct graph_node *node, struct match_linear *linear);

/*
 * match_linear_value - @value as a linear function of something: that of its
 * producers as far as they are one, at least value = 1 value + 0.
 */
void match_linear_value(struct graph_value *value, struct match_linear *linear);

/* match_linear_of - @value as a linear function of @x, which is on its chain of producers. */
bool match_linear_of(struct graph_value *value, const struct graph_value *x,
		     struct match_linear *linear);

/* match_close - equal to about float precision. */
bool match_close(double a, double b);

/*
 * match_channels - @constant, broadcast to @like, depends on dimension @dim
 * only (or on none): its like->dims[dim] numbers into @numbers.
 */
bool match_channels(const struct graph_value *constant, const struct graph_value *like,
		    uint32_t dim, float *numbers);

/* match_weighted - a CONV, CONVTRANSPOSE or MATMUL with constant float weights. */
bool match_weighted(const struct graph_node *node);

/* match_channel_dim - dimension of a weighted node's output that its weights' columns make. */
uint32_t match_channel_dim(const struct graph_node *node);

/*
 * fuse_take_output - @node makes what @last made, which is removed together
 * with @node's own output. Shapes and types must agree and nothing else may
 * read @node.
 */
void fuse_take_output(struct graph *graph, struct graph_node *node, struct graph_node *last);

/* fuse_become_activation - @node, in place, becomes an activation of @x. 1, or 0: no memory. */
uint32_t fuse_become_activation(struct graph *graph, struct graph_node *node,
				struct graph_value *x, enum graph_activation_kind kind,
				float alpha, float beta);

/*
 * fuse_scaled_activation - the same, but @node becomes @factor times that:
 * an activation before it is added where @factor is not 1.
 */
uint32_t fuse_scaled_activation(struct graph *graph, struct graph_node *node,
				struct graph_value *x, enum graph_activation_kind kind,
				float alpha, float beta, double factor);

/* fuse_scale_weights - new weights and bias: output channel c times @scale[c] plus @shift[c]. */
uint32_t fuse_scale_weights(struct graph *graph, struct graph_node *node, const float *scale,
			    const float *shift);

#endif
