/* SPDX-License-Identifier: MIT */
/* The ONNX project's test models: a model.onnx with inputs and expected outputs each. */
#ifndef TESTS_SUPPORT_NPUCC_NODE_MODELS_H
#define TESTS_SUPPORT_NPUCC_NODE_MODELS_H

#include "front/onnx.h"
#include "npucc_front.h"

#define NODE_MAX_TENSORS 64

/* A tensor of the test data. */
struct node_tensor {
	enum graph_dtype dtype;
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK];
	const void *data;
};

struct node_case {
	char folder[512];
	struct arena arena;
	struct onnx_files *files;
	const struct onnx_model *model;
	struct node_tensor inputs[NODE_MAX_TENSORS];
	uint32_t input_count;
	struct node_tensor outputs[NODE_MAX_TENSORS];
	uint32_t output_count;
	struct onnx_files *tensor_files[2 * NODE_MAX_TENSORS];
	uint32_t file_count;
};

/*
 * node_case_open - read the model and data set 0 of @folder. False when it has
 * tensors npucc has no type for (strings, sequences): nothing can be compared.
 */
bool node_case_open(struct node_case *node_case, const char *folder);
void node_case_close(struct node_case *node_case);

/*
 * node_case_load - the model through npucc's front half. Inputs whose bit is
 * set in @constants are fixed to their values; shapes come from the data.
 */
struct npucc_model *node_case_load(const struct node_case *node_case, uint64_t constants,
				   int fusion, struct diag *diag);

/* How far a float may be off: the sum of the three. Integers, infinities and NaNs have to be equal. */
struct node_tolerance {
	double absolute;
	double of_value;		/* times the expected value */
	double of_largest;		/* times the largest finite one of the tensor */
};

/* node_compare - output @index, @value with elements @data, as @expected. 0, or -1 with a sentence. */
int node_compare(const struct graph_value *value, const void *data,
		 const struct node_tensor *expected, uint32_t index,
		 const struct node_tolerance *tolerance, struct diag *diag);

/*
 * node_case_run - interpret the model and compare with the expected outputs.
 * Returns 0 when equal within rtol 1e-3 and atol 1e-4 (twice a float16's
 * precision for float16 outputs), else -1 with a sentence in @diag.
 */
int node_case_run(const struct node_case *node_case, struct npucc_model *model, uint64_t constants,
		  struct diag *diag);

/* node_folders - the sorted folders below @top; the caller frees each and the list. */
char **node_folders(const char *top, uint32_t *count);

#endif
