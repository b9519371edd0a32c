// SPDX-License-Identifier: MIT
/* Operators on integers, by their definition: on the numbers in double, then quantized. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"

static double *numbers_of(const struct graph_value *value, const void *data,
			  const struct graph_quantization *quantization)
{
	int64_t count = graph_element_count(value), inner = 1, i;
	double *numbers = malloc((size_t)count * sizeof(*numbers) + 1);
	uint32_t d;

	for (d = quantization->axis + 1; d < value->rank; d++)
		inner *= value->dims[d];
	for (i = 0; numbers && i < count; i++) {
		double scale = (double)quantization->scales[i / inner % quantization->count];

		numbers[i] = scale * (eval_load(value->dtype, data, i) - quantization->zero);
	}
	return numbers;
}

static void quantize(const struct graph_value *value, const struct graph_quantization *quantization,
		     const double *numbers, void *output)
{
	int64_t count = graph_element_count(value), i;

	for (i = 0; i < count; i++) {
		double number = numbers[i];

		if (quantization->scales)
			number = nearbyint(number / (double)quantization->scales[0]) +
				 quantization->zero;
		eval_store(value->dtype, output, i, number);
	}
}

struct numbers {
	struct graph_node node;		/* the node on numbers */
	struct graph_value *values;	/* its inputs, then its output */
	struct graph_value **inputs;
	const void **data;		/* of the inputs */
	double **own;			/* those that are numbers made here, then the output */
};

static int prepare(const struct graph_node *node, const void *const *inputs, struct numbers *n)
{
	uint32_t count = node->input_count, i;
	int64_t results = graph_element_count(node->outputs[0]);

	n->values = calloc(count + 1ull, sizeof(*n->values));
	n->inputs = calloc(count + 1ull, sizeof(*n->inputs));
	n->data = calloc(count + 1ull, sizeof(*n->data));
	n->own = calloc(count + 1ull, sizeof(*n->own));
	if (!n->values || !n->inputs || !n->data || !n->own)
		return -1;
	for (i = 0; i < count; i++) {
		const struct graph_quantization *quantization = &node->quant->inputs[i];

		if (!node->inputs[i])
			continue;
		n->values[i] = *node->inputs[i];
		n->inputs[i] = &n->values[i];
		n->data[i] = inputs[i];
		if (!quantization->scales)
			continue;
		n->own[i] = numbers_of(node->inputs[i], inputs[i], quantization);
		if (!n->own[i])
			return -1;
		n->values[i].dtype = GRAPH_DTYPE_F64;
		n->data[i] = n->own[i];
	}
	n->values[count] = *node->outputs[0];
	n->values[count].dtype = GRAPH_DTYPE_F64;
	n->own[count] = malloc((size_t)results * sizeof(double) + 1);
	return n->own[count] ? 0 : -1;
}

int eval_quant(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	       struct diag *diag)
{
	struct numbers n = { .node = *node };
	struct graph_value *output;
	uint32_t count = node->input_count, i;
	int result = -1;

	if (prepare(node, inputs, &n)) {
		diag_error(diag, "not enough memory to evaluate node '%s'", node->name);
		goto out;
	}
	output = &n.values[count];
	n.node.quant = NULL;
	n.node.inputs = n.inputs;
	n.node.outputs = &output;
	result = eval_node(&n.node, n.data, (void *const *)&n.own[count], diag);
	if (!result)
		quantize(node->outputs[0], &node->quant->output, n.own[count], outputs[0]);
out:
	for (i = 0; n.own && i <= count; i++)
		free(n.own[i]);
	free(n.own);
	free(n.data);
	free(n.inputs);
	free(n.values);
	return result;
}
