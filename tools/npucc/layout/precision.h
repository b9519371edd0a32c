/* SPDX-License-Identifier: MIT */
/*
 * Where fp16 between nodes would cost accuracy and fp32 costs next to nothing: small values
 * that only the vector unit (fp32 inside) makes and reads. The gates of squeeze-and-excitation blocks are
 * the reason: each of their few numbers multiplies a whole plane.
 */
#ifndef NPUCC_LAYOUT_PRECISION_H
#define NPUCC_LAYOUT_PRECISION_H

#include <stdbool.h>

#include "../graph/graph.h"

/*
 * precision_vector_conv - @node is a convolution of one position by a small fp32 matrix: done in fp32 by
 * the vector unit, whose time is hidden behind reading the matrix.
 */
bool precision_vector_conv(const struct graph_node *node);

/*
 * precision_vector_matmul - @node multiplies powers (squares and their sums) by a small fp32 matrix: done in
 * fp32 by the vector unit, since the array's fp16 operands would overflow.
 */
bool precision_vector_matmul(const struct graph_node *node);

/* precision_on_vector_unit - @node is computed in fp32, each operand in its own type. */
bool precision_on_vector_unit(const struct graph_node *node);

/* precision_wide - @value is held in fp32, not in the graph's float type; inputs and outputs may be, too. */
bool precision_wide(const struct graph_value *value);

/*
 * precision_boundary - @value is an input that only is quantized, or an output made of integers:
 * held in fp32, since fp16 in between would turn some of the integers by one.
 */
bool precision_boundary(const struct graph_value *value);

#endif
