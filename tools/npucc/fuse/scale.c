// SPDX-License-Identifier: MIT
/*
 * The scale of an attention: a scalar factor that acts on queries, or on the
 * scores made of them, goes back through views and the product into the
 * weights the queries come from.
 */
#include <stdlib.h>
#include <string.h>

#include "../fold/eval.h"
#include "fuse.h"
#include "match.h"

#define MAX_PATH 16

/* More elements than this are not worth the tracing. */
#define MAX_TRACED ((int64_t)1 << 24)

/* The way back from the scaled value to what makes it; nodes[0] is the last. */
struct path {
	struct graph_node *nodes[MAX_PATH];
	uint32_t count;
	struct graph_node *source;
};

static bool is_view(const struct graph_node *node)
{
	return node->op == GRAPH_OP_RESHAPE || node->op == GRAPH_OP_TRANSPOSE ||
	       node->op == GRAPH_OP_SLICE;
}

static bool is_plain(const struct graph_node *node)
{
	return node->activation.kind == GRAPH_ACTIVATION_NONE &&
	       (node->input_count <= GRAPH_IN_RESIDUAL || !node->inputs[GRAPH_IN_RESIDUAL]);
}

/* A product of two computed operands: a factor of the first is one of the product. */
static bool is_product(const struct graph_node *node)
{
	return node->op == GRAPH_OP_MATMUL && is_plain(node) &&
	       (node->input_count <= GRAPH_IN_BIAS || !node->inputs[GRAPH_IN_BIAS]);
}

static bool all_single(const struct path *path)
{
	uint32_t i;

	for (i = 0; i < path->count; i++)
		if (!graph_single_user(path->nodes[i]->inputs[0]))
			return false;
	return true;
}

static bool find_path(struct graph_value *x, struct path *path)
{
	uint32_t steps;

	memset(path, 0, sizeof(*path));
	if (!graph_single_user(x))
		return false;
	for (steps = 0; steps < MAX_PATH && x->producer; steps++) {
		struct graph_node *node = x->producer;

		if (match_weighted(node) && is_plain(node)) {
			path->source = node;
			return true;
		}
		if (is_view(node)) {
			path->nodes[path->count++] = node;
			x = node->inputs[0];
		} else if (is_product(node) && all_single(path) && graph_single_user(x) &&
			   graph_single_user(node->inputs[0])) {
			/* Everything up to here is scaled as a whole. */
			path->count = 0;
			x = node->inputs[0];
		} else {
			return false;
		}
	}
	return false;
}

/* Channel numbers in the place of a value's elements, of the same size. */
struct trace {
	void *channels;
	const struct graph_value *value;
};

static int64_t channel_at(const struct trace *trace, int64_t index)
{
	if (graph_dtype_bytes(trace->value->dtype) == 2)
		return ((const uint16_t *)trace->channels)[index];
	return ((const uint32_t *)trace->channels)[index];
}

static bool begin_trace(struct trace *trace, const struct graph_node *source)
{
	const struct graph_value *y = source->outputs[0];
	uint32_t dim = match_channel_dim(source), bytes = graph_dtype_bytes(y->dtype), j;
	int64_t count = graph_element_count(y), channels = y->dims[dim], inner = 1, i;

	if (count < 1 || count > MAX_TRACED || (bytes != 2 && bytes != 4) ||
	    (bytes == 2 && channels > 0xffff))
		return false;
	for (j = dim + 1; j < y->rank; j++)
		inner *= y->dims[j];
	trace->value = y;
	trace->channels = malloc((size_t)count * bytes);
	for (i = 0; trace->channels && i < count; i++) {
		if (bytes == 2)
			((uint16_t *)trace->channels)[i] = (uint16_t)(i / inner % channels);
		else
			((uint32_t *)trace->channels)[i] = (uint32_t)(i / inner % channels);
	}
	return trace->channels != NULL;
}

/* What a view makes of the traced value; the caller frees it. */
static bool follow_trace(const struct trace *trace, const struct graph_node *view,
			 struct trace *result)
{
	const struct graph_value *y = view->outputs[0];
	const void *inputs[1] = { trace->channels };
	void *outputs[1];

	result->value = y;
	result->channels = malloc((size_t)graph_element_count(y) * graph_dtype_bytes(y->dtype) + 1);
	outputs[0] = result->channels;
	return result->channels && !eval_node(view, inputs, outputs, NULL);
}

static void mark(const struct trace *trace, bool *channels)
{
	int64_t count = graph_element_count(trace->value), i;

	for (i = 0; i < count; i++)
		channels[channel_at(trace, i)] = true;
}

/* Channels that others than @next read of the traced value. */
static bool mark_others(const struct trace *trace, const struct graph_node *next, bool *channels)
{
	struct trace part;
	uint32_t i;
	bool good;

	if (trace->value->is_output) {
		mark(trace, channels);
		return true;
	}
	for (i = 0; i < trace->value->use_count; i++) {
		const struct graph_node *user = trace->value->uses[i].node;

		if (user == next)
			continue;
		if (user->op != GRAPH_OP_SLICE) {
			mark(trace, channels);
			continue;
		}
		good = follow_trace(trace, user, &part);
		if (good)
			mark(&part, channels);
		free(part.channels);
		if (!good)
			return false;
	}
	return true;
}

/* @wanted: channels the scaled value is made of; @others: those somebody else reads. */
static bool trace_channels(const struct path *path, bool *wanted, bool *others)
{
	struct trace trace = { NULL, NULL }, next;
	bool good = begin_trace(&trace, path->source);
	uint32_t i = path->count;

	while (good && i-- > 0) {
		good = mark_others(&trace, path->nodes[i], others) &&
		       follow_trace(&trace, path->nodes[i], &next);
		if (!good)
			break;
		free(trace.channels);
		trace = next;
	}
	if (good)
		mark(&trace, wanted);
	free(trace.channels);
	return good;
}

static bool scale_channels(const struct path *path, double factor, float *scale, int64_t channels)
{
	bool *marks = calloc((size_t)channels * 2 + 1, sizeof(*marks));
	bool good = marks && trace_channels(path, marks, marks + channels);
	int64_t c;

	for (c = 0; good && c < channels; c++) {
		good = !(marks[c] && marks[channels + c]);
		scale[c] = marks[c] ? (float)factor : 1.0f;
	}
	free(marks);
	return good;
}

static uint32_t absorb_scale(struct graph *graph, struct graph_node *node,
			     const struct match_linear *linear)
{
	struct path path;
	int64_t channels;
	uint32_t done = 0;
	float *numbers;

	if (linear->shift != 0 || linear->scale == 0 ||
	    !graph_value_can_replace(node->outputs[0], linear->x) || !find_path(linear->x, &path))
		return 0;
	channels = path.source->outputs[0]->dims[match_channel_dim(path.source)];
	numbers = calloc((size_t)channels * 2 + 1, sizeof(*numbers));
	if (!numbers) {
		graph->out_of_memory = true;
		return 0;
	}
	if (scale_channels(&path, linear->scale, numbers, channels) &&
	    fuse_scale_weights(graph, path.source, numbers, numbers + channels) &&
	    !graph_value_replace(graph, node->outputs[0], linear->x)) {
		path.source->merged += 1 + node->merged;
		done = 1;
	}
	free(numbers);
	return done;
}

uint32_t fuse_scale(struct graph *graph)
{
	struct graph_node *node, *following;
	struct match_linear linear;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following) if (match_linear_node(node, &linear)) count +=
		absorb_scale(graph, node, &linear);
	return count;
}
