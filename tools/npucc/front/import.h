/* SPDX-License-Identifier: MIT */
/*
 * From ONNX nodes to canonical nodes, in one walk over the model.
 *
 * Every shape is fixed when compiling, so shapes, values of shape chains and
 * constants are known the moment a node is reached: each node is translated,
 * its outputs' shapes inferred and, where everything it reads is constant,
 * evaluated on the spot. What remains is the graph that has to run.
 */
#ifndef NPUCC_FRONT_IMPORT_H
#define NPUCC_FRONT_IMPORT_H

#include "../graph/graph.h"
#include "../npucc_front.h"
#include "onnx.h"

/* What a translator may answer beside 0 (done) and -1 (error, sentence written). */
#define IMPORT_UNKNOWN 1	/* no canonical form; node->problem says why */

#define IMPORT_MAX_INLINE_DEPTH	16
#define IMPORT_DEFAULT_FOLD_WORK ((uint64_t)2 << 30)

struct import_scope;

struct import {
	struct arena *arena;
	struct diag *diag;
	struct graph *graph;
	const struct onnx_model *model;
	struct onnx_files *files;
	const struct npucc_front_options *options;
	struct import_scope *scope;	/* innermost */
	uint32_t inline_depth;
	uint32_t inlined_nodes;		/* nodes of branches, loops and functions */
	uint64_t fold_work;		/* steps constant folding may still take */
	uint32_t onnx_nodes;		/* translated so far */
};

/* The ONNX node being translated. */
struct import_node {
	struct import *import;
	const struct onnx_node *onnx;
	const char *name;		/* printable, for messages and canonical nodes */
	const char *op_type;
	int64_t opset;			/* of its domain */
	struct graph_value **inputs;	/* NULL where absent */
	uint32_t input_count;
	const char *problem;		/* set before IMPORT_UNKNOWN is returned */
};

typedef int (*import_function)(struct import_node *in);

/* One operator of a domain. */
struct import_operator {
	const char *op_type;
	import_function translate;
};

/* Tables of the translators' files, ended by a NULL op_type. */
extern const struct import_operator import_dense_operators[];
extern const struct import_operator import_elementwise_operators[];
extern const struct import_operator import_shape_operators[];
extern const struct import_operator import_index_operators[];
extern const struct import_operator import_reduce_operators[];
extern const struct import_operator import_norm_operators[];
extern const struct import_operator import_quant_operators[];
extern const struct import_operator import_control_operators[];
extern const struct import_operator import_resize_operators[];

/*
 * import_model - translate the whole model into import->graph.
 * Returns 0 or -1 with sentences in import->diag.
 */
int import_model(struct import *import);

/* import_error - a sentence that begins with the node; returns -1. */
int import_error(struct import_node *in, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* import_missing - the sentence for a node without one of its first @needed inputs; returns -1. */
int import_missing(struct import_node *in, uint32_t needed);

/* import_need_rank - input 0 has at least @least dimensions ([N,C,...]): 0, or -1 with a sentence. */
int import_need_rank(struct import_node *in, uint32_t least);

/* import_unknown - set the problem; returns IMPORT_UNKNOWN. */
int import_unknown(struct import_node *in, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* import_memory - the sentence for lack of memory; returns -1. */
int import_memory(struct import_node *in);

/* Inputs: NULL when absent. */
struct graph_value *import_input(const struct import_node *in, uint32_t index);

/* Attributes: NULL or the default when absent or of another type. */
const struct onnx_attribute *import_attribute(const struct import_node *in, const char *name);
int64_t import_attribute_int(const struct import_node *in, const char *name, int64_t otherwise);
float import_attribute_float(const struct import_node *in, const char *name, float otherwise);
bool import_attribute_is(const struct import_node *in, const char *name, const char *text);
bool import_attribute_text(const struct import_node *in, const char *name, struct wire_bytes *text);

/*
 * import_ints - a list of integers that is an input in newer opsets and an
 * attribute in older ones: input @index when present, else attribute @name
 * (may be NULL). On return *count is -1 when neither is there.
 * Returns 0, or IMPORT_UNKNOWN when the input is not constant or too long.
 */
int import_ints(struct import_node *in, uint32_t index, const char *name, int64_t *list,
		uint32_t room, int32_t *count);

/* import_axis - @axis counted from the end when negative; error when out of range. */
int import_axis(struct import_node *in, int64_t axis, uint32_t rank, int64_t *result);

/* import_node_new - a canonical node at the end of the graph with these inputs. */
struct graph_node *import_node_new(struct import_node *in, enum graph_op op, uint32_t input_count,
				   struct graph_value *const *inputs, uint32_t output_count);

/*
 * import_finish - infer the node's outputs and fold it when all it reads is
 * constant. For nodes of one output the result (constant or not) is returned;
 * NULL after an error. Outputs that must state a shape have been given by
 * import_stated() before.
 */
struct graph_value *import_finish(struct import_node *in, struct graph_node *node);
int import_finish_all(struct import_node *in, struct graph_node *node);

/* import_stated - give output @index of @node a type and shape. */
int import_stated(struct import_node *in, struct graph_node *node, uint32_t index,
		  enum graph_dtype dtype, uint32_t rank, const int64_t *dims);

/* import_result - output @index of the ONNX node is @value. Returns 0, -1 when NULL. */
int import_result(struct import_node *in, uint32_t index, struct graph_value *value);

/* import_bound - the value of that name where the walk is now, NULL when none. */
struct graph_value *import_bound(const struct import *import, struct wire_bytes name);

/* Short forms of what translators often need; NULL after an error. */
struct graph_value *import_reshape(struct import_node *in, struct graph_value *x, uint32_t rank,
				   const int64_t *dims);
struct graph_value *import_transpose(struct import_node *in, struct graph_value *x,
				     const int64_t *perm);
struct graph_value *import_eltwise(struct import_node *in, enum graph_eltwise_kind kind,
				   struct graph_value *a, struct graph_value *b);
struct graph_value *import_activation(struct import_node *in, struct graph_value *x,
				      enum graph_activation_kind kind, float alpha, float beta);
struct graph_value *import_cast(struct import_node *in, struct graph_value *x,
				enum graph_dtype dtype);
/* A scalar of @like's type. */
struct graph_value *import_scalar(struct import_node *in, const struct graph_value *like,
				  float number);
/* A constant of any type filled by the caller through *data. */
struct graph_value *import_constant(struct import_node *in, enum graph_dtype dtype, uint32_t rank,
				    const int64_t *dims, void **data);
/* A tensor of the model as a constant. */
struct graph_value *import_tensor(struct import *import, const struct onnx_tensor *tensor);

/*
 * import_inline - translate @graph's nodes in a scope of their own inside the
 * current one; @names become @values (count of them) there. On success
 * @results (graph->output_count of them) are the values of its outputs.
 */
int import_inline(struct import_node *in, const struct onnx_graph *graph,
		  const struct wire_bytes *names, struct graph_value *const *values,
		  uint32_t count, struct graph_value **results);

/* True when every input present has a known shape; sets the problem otherwise. */
bool import_shapes_known(struct import_node *in);

#endif
