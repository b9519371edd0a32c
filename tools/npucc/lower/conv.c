// SPDX-License-Identifier: MIT
/* CONV, dense and grouped: one instance an image and group. */
#include <string.h>

#include "conv.h"

#define PAD_MAX 8192 /* origins of windows have 16 bits */

static void set_planes(const struct graph_node *node, struct mac_problem *problem)
{
	const struct placement *x = placement_of(node->inputs[GRAPH_IN_X]);
	const struct placement *y = placement_of(node->outputs[0]);
	const struct graph_window *window = &node->attr.conv.window;
	static const unsigned int dims[3] = { 2, 3, 1 }; /* of N, C, H, W */
	unsigned int axis;

	for (axis = 0; axis < 3; axis++) {
		problem->a_stride[axis] = x->strides[dims[axis]];
		problem->o_stride[axis] = y->strides[dims[axis]];
	}
	for (axis = 0; axis < 2; axis++) {
		problem->kernel[axis] = (uint32_t)window->kernel[axis];
		problem->stride[axis] = (uint32_t)window->stride[axis];
		problem->dilation[axis] = (uint32_t)window->dilation[axis];
		problem->pad[axis] = (int32_t)window->pad_begin[axis];
	}
	problem->a_argument = x->argument;
	problem->o_argument = y->argument;
	problem->height = (uint32_t)x->dims[2];
	problem->width = (uint32_t)x->dims[3];
	problem->out_height = (uint32_t)y->dims[2];
	problem->out_width = (uint32_t)y->dims[3];
}

/* A residual whose dims of size 1 repeat. */
static int set_residual(struct lower *lower, const struct graph_value *value,
			struct mac_problem *problem, struct placement *r)
{
	static const unsigned int dims[3] = { 2, 3, 1 };
	unsigned int axis;

	if (lower_read_placement(lower, value, r))
		return -1;
	problem->residual = true;
	problem->r_argument = r->argument;
	for (axis = 0; axis < 3; axis++)
		problem->r_stride[axis] = r->dims[dims[axis]] == 1 ? 0 : r->strides[dims[axis]];
	if (r->dims[0] == 1)
		r->strides[0] = 0;
	return 0;
}

static void set_weights(const struct graph_node *node, struct mac_problem *problem)
{
	const struct graph_value *weight = node->inputs[GRAPH_IN_WEIGHT];

	problem->weights = weight;
	problem->w_stride_kernel[MAC_X] = 1;
	problem->w_stride_kernel[MAC_Y] = weight->dims[3];
	problem->w_stride_depth = weight->dims[2] * weight->dims[3];
	problem->w_stride_channel = weight->dims[1] * problem->w_stride_depth;
	problem->activation = node->activation;
	problem->bias_stride = 1;
	if (node->input_count > GRAPH_IN_BIAS)
		problem->bias = node->inputs[GRAPH_IN_BIAS];
}

int conv_refuse_planes(struct lower *lower, const struct graph_node *node, uint64_t planes)
{
	if (planes <= MAC_INSTANCES_MAX)
		return 0;
	return diag_error(
		lower->diag,
		"node '%s' (%s): images times groups are more than %u; use a smaller batch or fewer groups",
		node->name, node->op_type, MAC_INSTANCES_MAX);
}

int conv_describe(struct lower *lower, const struct graph_node *node, struct mac_problem *problem,
		  struct placement *residual)
{
	const struct graph_value *value =
		node->input_count > GRAPH_IN_RESIDUAL ? node->inputs[GRAPH_IN_RESIDUAL] : NULL;

	for (unsigned int axis = 0; axis < 2; axis++) {
		int64_t pad = node->attr.conv.window.pad_begin[axis];

		if (pad < -PAD_MAX || pad > PAD_MAX)
			return diag_error(
				lower->diag,
				"node '%s' (%s): a pad of %lld is beyond %d; pad less, or by a Pad node",
				node->name, node->op_type, (long long)pad, PAD_MAX);
	}
	*problem = (struct mac_problem){ .node = node };
	memset(residual, 0, sizeof(*residual));
	set_planes(node, problem);
	set_weights(node, problem);
	mac_set_types(problem);
	return value ? set_residual(lower, value, problem, residual) : 0;
}

int lower_conv(struct lower *lower, struct graph_node *node)
{
	const struct placement *x = placement_of(node->inputs[GRAPH_IN_X]);
	const struct placement *y = placement_of(node->outputs[0]);
	uint32_t groups = (uint32_t)node->attr.conv.group, images = (uint32_t)x->dims[0], g, n;
	struct mac_instance *instances, *instance;
	struct mac_problem problem;
	struct placement r;

	if (conv_describe(lower, node, &problem, &r))
		return -1;
	problem.weight_sets = groups;
	problem.depth = (uint32_t)(x->dims[1] / groups);
	problem.channels = (uint32_t)(y->dims[1] / groups);
	if (conv_refuse_planes(lower, node, (uint64_t)groups * images))
		return -1;
	problem.instance_count = groups * images;
	problem.macs = (uint64_t)graph_element_count(node->outputs[0]) * problem.depth *
		       problem.kernel[0] * problem.kernel[1];
	instances = arena_alloc_array(lower->arena, problem.instance_count, sizeof(*instances));
	if (!instances)
		return diag_error(lower->diag, "node '%s': no memory for %u groups", node->name,
				  groups);
	for (g = 0, instance = instances; g < groups; g++) {
		for (n = 0; n < images; n++, instance++) {
			int64_t channel = (int64_t)g * problem.channels;

			instance->activations = x->offset + n * x->strides[0] +
						(int64_t)g * problem.depth * x->strides[1];
			instance->output = y->offset + n * y->strides[0] + channel * y->strides[1];
			instance->residual =
				r.offset + n * r.strides[0] + channel * problem.r_stride[MAC_C];
			instance->weights = channel * problem.w_stride_channel;
			instance->bias = channel;
			instance->weight_set = g;
		}
	}
	problem.instances = instances;
	mac_flatten(&problem, instances);
	return mac_lower(lower, &problem);
}
