/* SPDX-License-Identifier: MIT */
#include "decompose.h"

/* log sum e^x = m + log sum e^(x - m), m being the maximum, so that nothing overflows. */
int decompose_reduction(struct decompose *d)
{
	struct graph_value *x = d->node->inputs[0], *output = d->node->outputs[0];
	uint32_t axes = d->node->attr.reduce.axes;
	struct graph_value *maximum, *sum, *result;

	if (d->node->attr.reduce.kind != GRAPH_REDUCE_LOG_SUM_EXP)
		return 0;
	maximum = decompose_reduce(d, GRAPH_REDUCE_MAX, x, axes);
	sum = decompose_eltwise(d, GRAPH_ELTWISE_SUB, x, maximum);
	sum = decompose_activation(d, sum, GRAPH_ACTIVATION_EXP, 0, 0);
	sum = decompose_reduce(d, GRAPH_REDUCE_LOG_SUM, sum, axes);
	result = decompose_eltwise(d, GRAPH_ELTWISE_ADD, sum, maximum);
	if (!d->node->attr.reduce.keep_dims)
		result = decompose_reshape(d, result, output->rank, output->dims);
	return decompose_finish(d, result);
}
