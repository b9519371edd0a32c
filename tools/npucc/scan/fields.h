/* SPDX-License-Identifier: MIT */
/* Fields of nodes as numbers, for the table of limits. */
#ifndef NPUCC_SCAN_FIELDS_H
#define NPUCC_SCAN_FIELDS_H

#include "limits.h"

/* Of every node: of its first input and first output. */
int64_t scan_input_dtype(const struct graph_node *node);	/* enum graph_dtype */
int64_t scan_product_dtype(const struct graph_node *node);	/* of what is multiplied and added as floats */
int64_t scan_integer_product_dtype(const struct graph_node *node);
int64_t scan_scale_constant(const struct graph_node *node);	/* QUANTIZE, DEQUANTIZE */
int64_t scan_output_dtype(const struct graph_node *node);
int64_t scan_largest_dim(const struct graph_node *node);	/* of all inputs, outputs */
int64_t scan_smallest_dim(const struct graph_node *node);	/* the same, without constants */
int64_t scan_shapes_known(const struct graph_node *node);	/* 1: every one */

/* CONV, CONVTRANSPOSE, POOL */
int64_t scan_kernel_height(const struct graph_node *node);
int64_t scan_kernel_width(const struct graph_node *node);
int64_t scan_stride_height(const struct graph_node *node);
int64_t scan_stride_width(const struct graph_node *node);
int64_t scan_dilation_height(const struct graph_node *node);
int64_t scan_dilation_width(const struct graph_node *node);
int64_t scan_largest_pad(const struct graph_node *node);

/* CONV, CONVTRANSPOSE, MATMUL: 1 when constant (and where there is no bias) */
int64_t scan_weight_constant(const struct graph_node *node);
int64_t scan_bias_constant(const struct graph_node *node);

/* Enumerations; scan_*_text() name their values. */
int64_t scan_activation(const struct graph_node *node);		/* fused or own */
int64_t scan_eltwise(const struct graph_node *node);
int64_t scan_division_dtype(const struct graph_node *node);	/* ELTWISE: DIV, POW */
int64_t scan_reduce(const struct graph_node *node);
int64_t scan_pool(const struct graph_node *node);
int64_t scan_interpolation_dtype(const struct graph_node *node);	/* RESIZE, not nearest */
int64_t scan_repeated_dims(const struct graph_node *node);	/* TILE, RESIZE: dims, and those repeated */
int64_t scan_cast_dtype(const struct graph_node *node);	/* CAST of what may be negative: to what */
int64_t scan_lookup_axis(const struct graph_node *node);	/* GATHER by computed indices */
int64_t scan_lookup_rows(const struct graph_node *node);	/* first dimension of the data */
int64_t scan_lookup_dtype(const struct graph_node *node);

const char *scan_dtype_text(int64_t value);
const char *scan_activation_text(int64_t value);
const char *scan_eltwise_text(int64_t value);
const char *scan_reduce_text(int64_t value);
const char *scan_pool_text(int64_t value);
const char *scan_boolean_text(int64_t value);

#endif
