/* SPDX-License-Identifier: MIT */
/*
 * Tensor-level intermediate representation of npucc.
 *
 * A graph is a list of nodes in topological order over values (tensors). It is
 * what the importer makes of an ONNX model, what the fusion passes rewrite and
 * what the back end reads. All of it lives in the graph's arena.
 *
 * Canonical form: the importer turns each ONNX operator, of whichever opset,
 * into one of the operators below with typed attributes; optional inputs that
 * are absent are NULL. An operator that has no canonical form stays as
 * GRAPH_OP_UNKNOWN with its ONNX name in op_type, so that the scan can refuse
 * it by name. Layout is that of ONNX (NCHW); layouts of the device are the
 * back end's business.
 *
 * Nothing here is thread safe; one graph belongs to one thread at a time.
 */
#ifndef NPUCC_GRAPH_GRAPH_H
#define NPUCC_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../support/arena.h"
#include "../support/diag.h"

#define GRAPH_MAX_RANK	8
#define GRAPH_DIM_UNKNOWN (-1)

/* Element types. The order is private; use the helpers below. */
enum graph_dtype {
	GRAPH_DTYPE_NONE,	/* unknown, or not a tensor */
	GRAPH_DTYPE_F32,
	GRAPH_DTYPE_F16,
	GRAPH_DTYPE_BF16,
	GRAPH_DTYPE_F64,
	GRAPH_DTYPE_I8,
	GRAPH_DTYPE_U8,
	GRAPH_DTYPE_I16,
	GRAPH_DTYPE_U16,
	GRAPH_DTYPE_I32,
	GRAPH_DTYPE_U32,
	GRAPH_DTYPE_I64,
	GRAPH_DTYPE_U64,
	GRAPH_DTYPE_BOOL,	/* one byte, 0 or 1 */
	GRAPH_DTYPE_OTHER,	/* one ONNX knows and npucc does not (strings, 8-bit floats) */
	GRAPH_DTYPE_COUNT
};

/* X-macro: enumerator suffix, text of the dump. */
#define GRAPH_OPS(X) \
	X(UNKNOWN, "unknown") \
	X(CONV, "conv") \
	X(CONVTRANSPOSE, "convtranspose") \
	X(MATMUL, "matmul") \
	X(ELTWISE, "eltwise") \
	X(ACTIVATION, "activation") \
	X(PRELU, "prelu") \
	X(POOL, "pool") \
	X(REDUCE, "reduce") \
	X(SOFTMAX, "softmax") \
	X(LAYERNORM, "layernorm") \
	X(INSTANCENORM, "instancenorm") \
	X(GROUPNORM, "groupnorm") \
	X(LRN, "lrn") \
	X(BATCHNORM, "batchnorm") \
	X(TRANSPOSE, "transpose") \
	X(RESHAPE, "reshape") \
	X(CONCAT, "concat") \
	X(SLICE, "slice") \
	X(SPLIT, "split") \
	X(PAD, "pad") \
	X(EXPAND, "expand") \
	X(TILE, "tile") \
	X(GATHER, "gather") \
	X(CAST, "cast") \
	X(WHERE, "where") \
	X(RESIZE, "resize") \
	X(QUANTIZE, "quantize") \
	X(DEQUANTIZE, "dequantize")

enum graph_op {
#define X(name, text) GRAPH_OP_##name,
	GRAPH_OPS(X)
#undef X
	GRAPH_OP_COUNT
};

/*
 * Inputs by operator ("?" may be NULL). Outputs: one, except SPLIT.
 *
 * UNKNOWN	whatever the ONNX node had
 * CONV		x [N,C,H,W], weight [M,C/group,kH,kW], bias? [M], residual? (output's shape)
 *		y = activation(conv(x, weight) + bias + residual). 1-D convolutions are
 *		lifted between two RESHAPEs (H = 1). 3-D ones stay UNKNOWN.
 * CONVTRANSPOSE x [N,C,H,W], weight [C,M/group,kH,kW], bias? [M], residual?
 * MATMUL	a [...,M,K], b [...,K,N], bias? [N], residual? (output's shape)
 *		y = activation(a' b' + bias + residual), with a', b' transposed in their last
 *		two dimensions where the attributes say so; leading dimensions broadcast.
 *		Ranks are >= 2; vectors of ONNX MatMul are lifted by RESHAPE. Gemm becomes
 *		this, alpha and beta folded into constants or ELTWISE nodes.
 * ELTWISE	a, b, numpy broadcast; y = activation(a op b)
 * ACTIVATION	x
 * PRELU	x, slope (broadcasts to x)
 * POOL		x [N,C,H,W]
 * REDUCE	x
 * SOFTMAX	x
 * LAYERNORM	x, scale?, bias? (both broadcast to x's dims [axis..])
 * INSTANCENORM	x, scale [C], bias [C]
 * GROUPNORM	x, scale [C], bias [C] (per channel)
 * LRN		x
 * BATCHNORM	x, scale [C], shift [C]: y = x * scale + shift along axis 1 (mean, variance
 *		and epsilon are already folded into the two)
 * TRANSPOSE	x
 * RESHAPE	x; new dims are the output's (Reshape, Flatten, Squeeze, Unsqueeze)
 * CONCAT	one or more
 * SLICE	x; sizes are the output's dims
 * SPLIT	x; sizes are the outputs' dims
 * PAD		x
 * EXPAND	x; dims are the output's
 * TILE		x; output dim / input dim repeats
 * GATHER	data, indices (I32 or I64; negative ones count from the end)
 * CAST		x; type is the output's
 * WHERE	condition (BOOL), a, b; numpy broadcast
 * RESIZE	x
 * QUANTIZE	x, scale, zero_point?
 * DEQUANTIZE	x, scale, zero_point?
 */
enum {
	GRAPH_IN_X = 0,
	GRAPH_IN_WEIGHT = 1,
	GRAPH_IN_BIAS = 2,
	GRAPH_IN_RESIDUAL = 3,
};

/*
 * Unary functions: the ACTIVATION operator and the activation fused onto CONV,
 * CONVTRANSPOSE, MATMUL and ELTWISE. Parameters alpha, beta as stated.
 */
#define GRAPH_ACTIVATIONS(X) \
	X(NONE, "none") \
	X(RELU, "relu")			/* max(x, 0) */ \
	X(CLIP, "clip")			/* min(max(x, alpha), beta); either may be infinite */ \
	X(LEAKYRELU, "leakyrelu")	/* x < 0 ? alpha x : x */ \
	X(ELU, "elu")			/* x < 0 ? alpha (e^x - 1) : x */ \
	X(SELU, "selu")			/* beta (x > 0 ? x : alpha (e^x - 1)) */ \
	X(CELU, "celu")			/* max(0,x) + min(0, alpha (e^(x/alpha) - 1)) */ \
	X(SIGMOID, "sigmoid") \
	X(HARDSIGMOID, "hardsigmoid")	/* clip(alpha x + beta, 0, 1) */ \
	X(HARDSWISH, "hardswish")	/* x clip(alpha x + beta, 0, 1), 1/6 and 1/2 as a rule */ \
	X(SILU, "silu")			/* x sigmoid(alpha x) */ \
	X(TANH, "tanh") \
	X(ERF, "erf") \
	X(GELU, "gelu")			/* x/2 (1 + erf(x / sqrt 2)) */ \
	X(GELU_TANH, "gelu_tanh")	/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */ \
	X(MISH, "mish")			/* x tanh(softplus(x)) */ \
	X(SOFTPLUS, "softplus")		/* ln(1 + e^x) */ \
	X(SOFTSIGN, "softsign")		/* x / (1 + |x|) */ \
	X(THRESHOLDED_RELU, "thresholdedrelu") /* x > alpha ? x : 0 */ \
	X(SHRINK, "shrink")		/* lambd = alpha, bias = beta */ \
	X(EXP, "exp") \
	X(LOG, "log") \
	X(SQRT, "sqrt") \
	X(RSQRT, "rsqrt")		/* 1 / sqrt(x) */ \
	X(RECIPROCAL, "reciprocal") \
	X(SQUARE, "square")		/* x x (from Pow(x, 2) and Mul(x, x)) */ \
	X(ABS, "abs") \
	X(NEG, "neg") \
	X(SIGN, "sign") \
	X(FLOOR, "floor") \
	X(CEIL, "ceil") \
	X(ROUND, "round")		/* half to even */ \
	X(LINEAR, "linear")		/* alpha x + beta */ \
	X(NOT, "not")			/* BOOL */ \
	X(SIN, "sin") \
	X(COS, "cos") \
	X(TAN, "tan") \
	X(ASIN, "asin") \
	X(ACOS, "acos") \
	X(ATAN, "atan") \
	X(SINH, "sinh") \
	X(COSH, "cosh") \
	X(ASINH, "asinh") \
	X(ACOSH, "acosh") \
	X(ATANH, "atanh") \
	X(ISNAN, "isnan")		/* gives BOOL */ \
	X(ISINF, "isinf")		/* gives BOOL; alpha, beta: detect negative, positive */

enum graph_activation_kind {
#define X(name, text) GRAPH_ACTIVATION_##name,
	GRAPH_ACTIVATIONS(X)
#undef X
	GRAPH_ACTIVATION_COUNT
};

struct graph_activation {
	enum graph_activation_kind kind;
	float alpha;
	float beta;
	bool affine;		/* what follows it: y = scale f(x) + shift; only with */
	float scale, shift;	/* npucc_front_options.fold_affine */
};

#define GRAPH_ELTWISES(X) \
	X(ADD, "add") \
	X(SUB, "sub") \
	X(MUL, "mul") \
	X(DIV, "div") \
	X(MAX, "max") \
	X(MIN, "min") \
	X(POW, "pow") \
	X(MOD, "mod")			/* sign of the divisor */ \
	X(FMOD, "fmod")			/* sign of the dividend */ \
	X(EQUAL, "equal")		/* this and the following give BOOL */ \
	X(GREATER, "greater") \
	X(GREATER_EQUAL, "greater_equal") \
	X(LESS, "less") \
	X(LESS_EQUAL, "less_equal") \
	X(AND, "and") \
	X(OR, "or") \
	X(XOR, "xor")

enum graph_eltwise_kind {
#define X(name, text) GRAPH_ELTWISE_##name,
	GRAPH_ELTWISES(X)
#undef X
	GRAPH_ELTWISE_COUNT
};

#define GRAPH_REDUCES(X) \
	X(SUM, "sum") \
	X(MEAN, "mean") \
	X(MAX, "max") \
	X(MIN, "min") \
	X(PROD, "prod") \
	X(L1, "l1") \
	X(L2, "l2") \
	X(SUM_SQUARE, "sum_square") \
	X(LOG_SUM, "log_sum") \
	X(LOG_SUM_EXP, "log_sum_exp") \
	X(ARGMAX, "argmax")		/* one axis, gives I64 */ \
	X(ARGMIN, "argmin")

enum graph_reduce_kind {
#define X(name, text) GRAPH_REDUCE_##name,
	GRAPH_REDUCES(X)
#undef X
	GRAPH_REDUCE_COUNT
};

enum graph_pool_kind {
	GRAPH_POOL_MAX,
	GRAPH_POOL_AVERAGE,
	GRAPH_POOL_LP,			/* p in attr.pool.p */
};

enum graph_pad_mode {
	GRAPH_PAD_CONSTANT,
	GRAPH_PAD_REFLECT,
	GRAPH_PAD_EDGE,
	GRAPH_PAD_WRAP,
};

enum graph_resize_mode {
	GRAPH_RESIZE_NEAREST,
	GRAPH_RESIZE_LINEAR,
	GRAPH_RESIZE_CUBIC,
};

enum graph_resize_coordinate {
	GRAPH_COORDINATE_HALF_PIXEL,
	GRAPH_COORDINATE_HALF_PIXEL_SYMMETRIC,
	GRAPH_COORDINATE_PYTORCH_HALF_PIXEL,
	GRAPH_COORDINATE_ALIGN_CORNERS,	/* x (in - 1) / (scale in - 1), scale in not rounded */
	GRAPH_COORDINATE_ASYMMETRIC,
	GRAPH_COORDINATE_CROP_AND_RESIZE,
};

enum graph_resize_nearest {
	GRAPH_NEAREST_ROUND_PREFER_FLOOR,
	GRAPH_NEAREST_ROUND_PREFER_CEIL,
	GRAPH_NEAREST_FLOOR,
	GRAPH_NEAREST_CEIL,
};

/* Window of CONV, CONVTRANSPOSE and POOL; index 0 is height, 1 is width. */
struct graph_window {
	int64_t kernel[2];
	int64_t stride[2];
	int64_t dilation[2];
	int64_t pad_begin[2];	/* explicit; auto_pad is resolved by shape inference */
	int64_t pad_end[2];	/* ceil_mode of pools is in the output's dims, not here */
};

struct graph_attr_conv {
	struct graph_window window;
	int64_t group;
	int64_t output_padding[2];	/* CONVTRANSPOSE only */
};

struct graph_attr_matmul {
	bool transpose_a;
	bool transpose_b;
};

struct graph_attr_pool {
	struct graph_window window;
	enum graph_pool_kind kind;
	bool count_include_pad;
	bool global;		/* window is the whole plane (kernel = H, W) */
	int64_t p;
};

struct graph_attr_reduce {
	enum graph_reduce_kind kind;
	uint32_t axes;		/* bit i: dimension i is reduced; 0 only when nothing is */
	bool keep_dims;
	bool select_last_index;	/* ARGMAX, ARGMIN */
};

struct graph_attr_softmax {
	int64_t axis;		/* 0..rank-1, a single dimension (old flattening is rewritten) */
	bool log;
};

struct graph_attr_norm {
	int64_t axis;		/* LAYERNORM: first normalised dimension */
	int64_t groups;		/* GROUPNORM */
	float epsilon;
	bool rms;		/* LAYERNORM without the mean (RMSNormalization) */
};

struct graph_attr_lrn {
	float alpha, beta, bias;
	int64_t size;
};

struct graph_attr_transpose {
	int64_t perm[GRAPH_MAX_RANK];	/* output dim i is input dim perm[i] */
};

struct graph_attr_axis {	/* CONCAT, SPLIT, GATHER, QUANTIZE, DEQUANTIZE */
	int64_t axis;		/* 0..rank-1 */
	int64_t block_size;	/* (DE)QUANTIZE: blocked scales, 0 when not */
};

struct graph_attr_slice {
	int64_t start[GRAPH_MAX_RANK];	/* for every dimension, in range */
	int64_t step[GRAPH_MAX_RANK];	/* never 0; may be negative */
};

struct graph_attr_pad {
	enum graph_pad_mode mode;
	int64_t begin[GRAPH_MAX_RANK];	/* negative ones cut */
	int64_t end[GRAPH_MAX_RANK];
	float value;
};

struct graph_attr_resize {
	enum graph_resize_mode mode;
	enum graph_resize_coordinate coordinate;
	enum graph_resize_nearest nearest;
	float scale[GRAPH_MAX_RANK];	/* output / input, as the model states it */
	float roi_start[GRAPH_MAX_RANK];
	float roi_end[GRAPH_MAX_RANK];
	float cubic_a;
	float extrapolation;
	bool exclude_outside;
	bool antialias;
};

union graph_attr {
	struct graph_attr_conv conv;		/* CONV, CONVTRANSPOSE */
	struct graph_attr_matmul matmul;
	enum graph_eltwise_kind eltwise;
	struct graph_activation activation;	/* ACTIVATION */
	struct graph_attr_pool pool;
	struct graph_attr_reduce reduce;
	struct graph_attr_softmax softmax;
	struct graph_attr_norm norm;		/* LAYERNORM, INSTANCENORM, GROUPNORM */
	struct graph_attr_lrn lrn;
	struct graph_attr_transpose transpose;
	struct graph_attr_axis axis;		/* CONCAT, SPLIT, GATHER, QUANTIZE, DEQUANTIZE */
	struct graph_attr_slice slice;
	struct graph_attr_pad pad;
	struct graph_attr_resize resize;
};

/* What the integers of an operand stand for: number = scale (integer - zero). */
struct graph_quantization {
	const float *scales;		/* [count]; NULL: the operand is none of integers */
	uint32_t count;			/* 1, or the operand's dims[axis] */
	uint32_t axis;
	int32_t zero;
};

/*
 * An operator that takes integers which stand for numbers: its result is that of the operator
 * on the numbers (a fused activation included), quantized to the output's type. Bounds of
 * activations, pads and values are numbers. Output scales NULL: the result is float.
 */
struct graph_quant {
	struct graph_quantization *inputs;	/* [input_count] */
	struct graph_quantization output;
};

struct graph_node;

/* One place where a value is read. */
struct graph_use {
	struct graph_node *node;
	uint32_t index;			/* node->inputs[index] */
};

/* A tensor: a graph input, a constant, or the output of a node. */
struct graph_value {
	uint32_t id;			/* index in graph->values; stable, never reused */
	const char *name;		/* any bytes (name_length of them), NUL terminated */
	size_t name_length;
	enum graph_dtype dtype;
	bool has_rank;			/* false: nothing is known about the shape */
	uint32_t rank;			/* 0..GRAPH_MAX_RANK */
	int64_t dims[GRAPH_MAX_RANK];	/* GRAPH_DIM_UNKNOWN where not known */
	const void *data;		/* constant's elements, aligned for dtype, or NULL */
	struct graph_node *producer;	/* NULL for graph inputs and constants */
	uint32_t producer_index;
	struct graph_use *uses;
	uint32_t use_count;
	uint32_t use_capacity;
	bool is_input;			/* member of graph->inputs */
	bool is_output;			/* member of graph->outputs */
	void *user;			/* for the pass or the back end working on it */
};

struct graph_node {
	uint32_t id;			/* unique in the graph, never reused */
	uint32_t origin;		/* id of the node that decompose/ made it of, or its own */
	enum graph_op op;
	const char *name;		/* printable, non-empty: ONNX name or one made up */
	const char *op_type;		/* ONNX operator it came from, e.g. "Conv" */
	const char *domain;		/* "" is ai.onnx */
	struct graph_value **inputs;
	uint32_t input_count;
	struct graph_value **outputs;
	uint32_t output_count;
	union graph_attr attr;
	struct graph_activation activation;	/* fused; kind NONE when nothing is */
	const struct graph_quant *quant;	/* computed on integers (quant/quant.h), else NULL */
	uint32_t merged;		/* ONNX nodes fused into this one beyond itself */
	struct graph_node *previous, *next;	/* topological order */
	const char *problem;		/* UNKNOWN: why it has no canonical form, else NULL */
	const void *source;		/* UNKNOWN: its struct onnx_node, else NULL */
	void *user;
};

struct graph {
	struct arena *arena;
	const char *name;
	struct graph_node *first, *last;
	uint32_t node_count;
	uint32_t next_node_id;
	struct graph_value **values;	/* [value_count], includes unused ones */
	uint32_t value_count;
	uint32_t value_capacity;
	struct graph_value **inputs;	/* runtime inputs, model's order */
	uint32_t input_count;
	struct graph_value **outputs;
	uint32_t output_count;
	bool out_of_memory;		/* set by the functions below when they return NULL */
};

/* for each node in topological order; the body may remove `node`. */
#define graph_for_each_node(graph, node, following) \
	for ((node) = (graph)->first, (following) = (node) ? (node)->next : NULL; (node); \
	     (node) = (following), (following) = (node) ? (node)->next : NULL)

/* graph_new - empty graph in @arena (kept by reference); NULL when out of memory. */
struct graph *graph_new(struct arena *arena, const char *name);

/* graph_value_new - a value without producer; NULL when out of memory. @name is copied. */
struct graph_value *graph_value_new(struct graph *graph, const char *name, size_t name_length,
				    enum graph_dtype dtype);

/* graph_value_set_shape - make the shape known; @rank <= GRAPH_MAX_RANK. */
void graph_value_set_shape(struct graph_value *value, uint32_t rank, const int64_t *dims);

/*
 * graph_constant_new - a constant value; @data must be aligned for @dtype and
 * live as long as the arena (it is not copied).
 */
struct graph_value *graph_constant_new(struct graph *graph, const char *name,
				       enum graph_dtype dtype, uint32_t rank,
				       const int64_t *dims, const void *data);

/* graph_constant_f32 - constant of @count floats copied from @data, shape [dims]. */
struct graph_value *graph_constant_f32(struct graph *graph, const char *name, uint32_t rank,
				       const int64_t *dims, const float *data);

/* graph_constant_scalar - rank-0 F32 constant. */
struct graph_value *graph_constant_scalar(struct graph *graph, const char *name, float number);

/*
 * graph_node_new - a node before @before (NULL: at the end) with @input_count
 * NULL inputs and @output_count NULL outputs. Strings are kept by reference.
 */
struct graph_node *graph_node_new(struct graph *graph, struct graph_node *before,
				  enum graph_op op, const char *name, const char *op_type,
				  uint32_t input_count, uint32_t output_count);

/* graph_node_set_input - rewire one input, keeping use lists; -1 when out of memory. */
int graph_node_set_input(struct graph *graph, struct graph_node *node, uint32_t index,
			 struct graph_value *value);

/* graph_node_resize_inputs - change the number of inputs; new ones are NULL. */
int graph_node_resize_inputs(struct graph *graph, struct graph_node *node, uint32_t count);

/* graph_node_set_output - @node becomes the producer of @value. */
void graph_node_set_output(struct graph_node *node, uint32_t index, struct graph_value *value);

/* graph_node_new_output - graph_value_new() + graph_node_set_output(). */
struct graph_value *graph_node_new_output(struct graph *graph, struct graph_node *node,
					  uint32_t index, const char *name,
					  enum graph_dtype dtype);

/*
 * graph_value_replace - every reader of @old reads @with instead. When @old is
 * a graph output, @with takes its place and its name; that is refused (-1)
 * when @with is a graph input, a constant or an output already: the caller
 * must leave the node alone then. graph_value_can_replace() asks first.
 */
int graph_value_replace(struct graph *graph, struct graph_value *old, struct graph_value *with);
bool graph_value_can_replace(const struct graph_value *old, const struct graph_value *with);

/* graph_node_remove - unlink a node; its outputs must have no uses left. */
void graph_node_remove(struct graph *graph, struct graph_node *node);

/* graph_node_precedes - @a stands before @b in the list; both are of the same graph. */
bool graph_node_precedes(const struct graph_node *a, const struct graph_node *b);

/* graph_node_move_before - move @node in the list so that it precedes @before. */
void graph_node_move_before(struct graph *graph, struct graph_node *node,
			    struct graph_node *before);

/*
 * graph_remove_dead - drop nodes none of whose outputs is read or an output of
 * the graph. Returns the number removed.
 */
uint32_t graph_remove_dead(struct graph *graph);

/*
 * graph_verify - check every invariant: order, use lists, producers, input
 * counts, attributes in range, shapes consistent with the operator.
 * Returns 0, or -1 with a sentence in @diag. Values of unknown shape pass.
 */
int graph_verify(const struct graph *graph, struct diag *diag);

/* graph_dump - write the graph as text, one line a node. */
void graph_dump(const struct graph *graph, FILE *out);

/* Names for dumps and messages; never NULL. */
const char *graph_dtype_name(enum graph_dtype dtype);
const char *graph_op_name(enum graph_op op);
const char *graph_activation_name(enum graph_activation_kind kind);
const char *graph_eltwise_name(enum graph_eltwise_kind kind);
const char *graph_reduce_name(enum graph_reduce_kind kind);

/* graph_dtype_bytes - bytes an element, 0 for NONE and OTHER. */
uint32_t graph_dtype_bytes(enum graph_dtype dtype);
bool graph_dtype_is_float(enum graph_dtype dtype);

/* graph_shape_known - rank and every dim known. */
bool graph_shape_known(const struct graph_value *value);

/* graph_element_count - product of dims; -1 when not known or beyond 2^40. */
int64_t graph_element_count(const struct graph_value *value);

/* graph_shape_equal - both known and the same. */
bool graph_shape_equal(const struct graph_value *a, const struct graph_value *b);

/* graph_is_constant - @value is non-NULL and has data (or has no elements at all). */
bool graph_is_constant(const struct graph_value *value);

/* graph_constant_as_f32 - element @index of a numeric constant converted to float. */
float graph_constant_as_f32(const struct graph_value *value, int64_t index);

/* graph_constant_as_i64 - the same to int64 (floats truncated, saturated). */
int64_t graph_constant_as_i64(const struct graph_value *value, int64_t index);

/* graph_single_user - the only node reading @value (once, and no graph output), or NULL. */
struct graph_node *graph_single_user(const struct graph_value *value);

/* graph_moves_elements - @node copies elements of its inputs as they are, or looks at them in another way. */
bool graph_moves_elements(const struct graph_node *node);

/* graph_format_shape - "1x3x48x320" ("scalar", "?" where unknown) into @text; returns @text. */
#define GRAPH_SHAPE_TEXT 192
char *graph_format_shape(const struct graph_value *value, char text[GRAPH_SHAPE_TEXT]);

#endif
