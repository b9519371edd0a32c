/* SPDX-License-Identifier: MIT */
/*
 * Operators on integers.
 *
 * Models say what integers stand for by DEQUANTIZE before an operator and QUANTIZE behind it (the
 * importer brings QLinearConv and its like into this form). quant_graph() makes one node
 * of the three, whose node->quant says what operands stand for; the device computes it on
 * the integers. What stays between DEQUANTIZE and QUANTIZE is computed in fp16.
 */
#ifndef NPUCC_QUANT_QUANT_H
#define NPUCC_QUANT_QUANT_H

#include "../graph/graph.h"

/*
 * quant_graph - rewrite @graph; *@count nodes compute on integers afterwards. Constants whose
 * DEQUANTIZE nobody took along become float. Returns 0, or -1 with a sentence.
 */
int quant_graph(struct graph *graph, uint32_t *count, struct diag *diag);

/* quant_speaks_of_integers - there is a QUANTIZE or DEQUANTIZE in @graph. */
bool quant_speaks_of_integers(const struct graph *graph);

/* The parts. Each rewrites @node where it applies and returns the number of rewrites. */
uint32_t quant_move_dequantize(struct graph *graph, struct graph_node *node);
uint32_t quant_move_quantize(struct graph *graph, struct graph_node *node);
uint32_t quant_requantize(struct graph *graph, struct graph_node *node);
uint32_t quant_dense(struct graph *graph, struct graph_node *node);
uint32_t quant_elementwise(struct graph *graph, struct graph_node *node);
uint32_t quant_concat(struct graph *graph, struct graph_node *node);

/* ----------------------------------------------------------------------- operand.c */
/*
 * quant_read - what the integers of DEQUANTIZE or QUANTIZE @node stand for. False when scales
 * or zero points are no constants, not positive, or the zero points differ.
 */
bool quant_read(struct graph *graph, const struct graph_node *node,
		struct graph_quantization *quantization);

/*
 * quant_source - the DEQUANTIZE that makes @value of bytes (int8, uint8) with one scale, or NULL.
 */
struct graph_node *quant_source(struct graph *graph, const struct graph_value *value,
				struct graph_quantization *quantization);

/* quant_target - the QUANTIZE to bytes with one scale that alone reads @value, or NULL. */
struct graph_node *quant_target(struct graph *graph, const struct graph_value *value,
				struct graph_quantization *quantization);

/* quant_same - both stand for the same numbers, integer by integer. */
bool quant_same(const struct graph_quantization *a, const struct graph_quantization *b);

/* quant_is_byte - int8 or uint8. */
bool quant_is_byte(enum graph_dtype dtype);

/* quant_new - a description for @input_count operands, none of them quantized; NULL: no memory. */
struct graph_quant *quant_new(struct graph *graph, uint32_t input_count);

/* quant_fold - replace @node, if it reads constants only, by its result. 1, or 0 when not. */
uint32_t quant_fold(struct graph *graph, struct graph_node *node);

#endif
