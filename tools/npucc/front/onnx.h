/* SPDX-License-Identifier: MIT */
/*
 * ONNX messages as they stand in the file. Strings and tensor contents are
 * spans of the mapped bytes; arrays live in the arena. Nothing is interpreted
 * beyond what the file format itself says.
 */
#ifndef NPUCC_FRONT_ONNX_H
#define NPUCC_FRONT_ONNX_H

#include <stdbool.h>
#include <stdint.h>

#include "../graph/graph.h"
#include "../support/arena.h"
#include "../support/diag.h"
#include "wire.h"

/* Bounds of what is read. A model beyond them is refused with a sentence. */
#define ONNX_MAX_DEPTH		16		/* graphs inside attributes of nodes of graphs */
#define ONNX_MAX_NODES		(1u << 20)	/* in all graphs together */
#define ONNX_MAX_DIMS		64		/* of a tensor, before GRAPH_MAX_RANK applies */
#define ONNX_MAX_LIST		(1u << 24)	/* entries of one attribute */

/* TensorProto.DataType */
enum onnx_type {
	ONNX_UNDEFINED = 0,
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_BFLOAT16 = 16,
};

enum onnx_attribute_type {
	ONNX_ATTRIBUTE_UNDEFINED = 0,
	ONNX_ATTRIBUTE_FLOAT = 1,
	ONNX_ATTRIBUTE_INT = 2,
	ONNX_ATTRIBUTE_STRING = 3,
	ONNX_ATTRIBUTE_TENSOR = 4,
	ONNX_ATTRIBUTE_GRAPH = 5,
	ONNX_ATTRIBUTE_FLOATS = 6,
	ONNX_ATTRIBUTE_INTS = 7,
	ONNX_ATTRIBUTE_STRINGS = 8,
	ONNX_ATTRIBUTE_TENSORS = 9,
	ONNX_ATTRIBUTE_GRAPHS = 10,
	ONNX_ATTRIBUTE_SPARSE_TENSOR = 11,
	ONNX_ATTRIBUTE_SPARSE_TENSORS = 12,
	ONNX_ATTRIBUTE_TYPE_PROTO = 13,
	ONNX_ATTRIBUTE_TYPE_PROTOS = 14,
};

/* Where the elements of a tensor are. */
enum onnx_encoding {
	ONNX_ENCODING_NONE,		/* no data field at all (fine for empty tensors) */
	ONNX_ENCODING_RAW,
	ONNX_ENCODING_FLOAT,
	ONNX_ENCODING_INT32,
	ONNX_ENCODING_STRING,
	ONNX_ENCODING_INT64,
	ONNX_ENCODING_DOUBLE,
	ONNX_ENCODING_UINT64,
	ONNX_ENCODING_EXTERNAL,
};

struct onnx_tensor {
	struct wire_bytes name;
	int32_t type;			/* enum onnx_type, unchecked */
	uint32_t rank;
	const int64_t *dims;
	enum onnx_encoding encoding;
	uint64_t count;			/* elements in the typed data field */
	struct wire_bytes raw;		/* raw_data */
	struct wire_bytes body;		/* the whole message, for the typed fields */
	bool segmented;			/* has the segment field nobody supports */
	struct wire_bytes location;	/* external data */
	struct wire_bytes offset;
	struct wire_bytes length;
};

struct onnx_graph;

struct onnx_attribute {
	struct wire_bytes name;
	enum onnx_attribute_type type;	/* from the field, or from what is present */
	float f;
	int64_t i;
	struct wire_bytes s;
	const struct onnx_tensor *t;
	const struct onnx_graph *g;
	const float *floats;
	uint32_t float_count;
	const int64_t *ints;
	uint32_t int_count;
	const struct wire_bytes *strings;
	uint32_t string_count;
	struct wire_bytes reference;	/* ref_attr_name, inside functions */
};

struct onnx_node {
	struct wire_bytes name;
	struct wire_bytes op_type;
	struct wire_bytes domain;
	const struct wire_bytes *inputs;
	uint32_t input_count;
	const struct wire_bytes *outputs;
	uint32_t output_count;
	const struct onnx_attribute *attributes;
	uint32_t attribute_count;
};

struct onnx_dim {
	bool has_value;
	int64_t value;
	struct wire_bytes parameter;	/* dim_param, may be empty */
};

struct onnx_value_info {
	struct wire_bytes name;
	bool is_tensor;			/* false: sequence, map, optional, sparse or no type */
	int32_t type;			/* enum onnx_type, unchecked */
	bool has_shape;
	uint32_t rank;
	const struct onnx_dim *dims;
};

struct onnx_graph {
	struct wire_bytes name;
	const struct onnx_node *nodes;
	uint32_t node_count;
	const struct onnx_tensor *initializers;
	uint32_t initializer_count;
	const struct onnx_value_info *inputs;
	uint32_t input_count;
	const struct onnx_value_info *outputs;
	uint32_t output_count;
	const struct onnx_value_info *value_infos;
	uint32_t value_info_count;
	uint32_t sparse_initializer_count;
};

struct onnx_opset {
	struct wire_bytes domain;
	int64_t version;
};

struct onnx_function {
	struct wire_bytes name;
	struct wire_bytes domain;
	const struct wire_bytes *inputs;
	uint32_t input_count;
	const struct wire_bytes *outputs;
	uint32_t output_count;
	const struct onnx_node *nodes;
	uint32_t node_count;
	const struct onnx_attribute *defaults;	/* attribute_proto */
	uint32_t default_count;
	const struct onnx_opset *opsets;
	uint32_t opset_count;
};

struct onnx_model {
	int64_t ir_version;
	struct wire_bytes producer_name;
	const struct onnx_opset *opsets;
	uint32_t opset_count;
	const struct onnx_graph *graph;
	const struct onnx_function *functions;
	uint32_t function_count;
};

/*
 * onnx_parse - read a model. @bytes must stay mapped as long as the result is
 * used. Returns the model (in @arena), or NULL with a sentence in @diag.
 */
const struct onnx_model *onnx_parse(struct wire_bytes bytes, struct arena *arena,
				    struct diag *diag);

/*
 * onnx_parse_tensor - read a file that holds one TensorProto (the format of
 * test data). Same contract as onnx_parse().
 */
const struct onnx_tensor *onnx_parse_tensor(struct wire_bytes bytes, struct arena *arena,
					    struct diag *diag);

/* onnx_string - printable NUL terminated copy (other bytes as \xNN); never NULL. */
const char *onnx_string(struct arena *arena, struct wire_bytes bytes);

/* onnx_is - @bytes is exactly the string @text. */
bool onnx_is(struct wire_bytes bytes, const char *text);

/* onnx_equal - same bytes. */
bool onnx_equal(struct wire_bytes a, struct wire_bytes b);

/* Name of a TensorProto data type for messages. */
const char *onnx_type_name(int32_t type);

/* onnx_dtype - the graph's element type; GRAPH_DTYPE_OTHER for those it does not have. */
enum graph_dtype onnx_dtype(int32_t type);

/* Folder of the model, for external data; opaque. */
struct onnx_files;

/*
 * onnx_tensor_value - decode a tensor into elements aligned for its type.
 * @files: where external data is found, NULL when there can be none.
 * On success dims (rank of them, at most GRAPH_MAX_RANK) and *data are set;
 * *data points into the mapping when it is aligned there, else into @arena.
 * Returns 0, or -1 with a sentence naming the tensor.
 */
int onnx_tensor_value(const struct onnx_tensor *tensor, struct onnx_files *files,
		      struct arena *arena, struct diag *diag, enum graph_dtype *dtype,
		      int64_t dims[GRAPH_MAX_RANK], const void **data);

/*
 * onnx_files_open - map @path. Returns NULL with a sentence when it cannot be
 * read. onnx_files_close() unmaps it and every external file mapped since;
 * NULL is fine.
 */
struct onnx_files *onnx_files_open(const char *path, struct diag *diag);
void onnx_files_close(struct onnx_files *files);

/* onnx_files_get - the n-th mapped file (0 is the model); false beyond the last. */
bool onnx_files_get(const struct onnx_files *files, uint32_t index, struct wire_bytes *bytes);

/*
 * onnx_files_external - bytes of an external data file. @location must be a
 * relative path that stays inside the model's folder (symbolic links
 * included). Returns 0 or -1 with a sentence naming @tensor_name.
 */
int onnx_files_external(struct onnx_files *files, struct wire_bytes location,
			const char *tensor_name, struct diag *diag, struct wire_bytes *bytes);

#endif
