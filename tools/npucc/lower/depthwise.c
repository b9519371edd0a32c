// SPDX-License-Identifier: MIT
/*
 * CONV with as many groups as channels: shape V.
 *
 * Channels are cut into slabs, each an instance of its own, so that a tile holds only the
 * channels it works on. Several results a channel are several problems with a stride.
 */
#include "conv.h"

static int depthwise_slabs(struct lower *lower, struct graph_node *node,
			   const struct mac_problem *whole, const struct placement *r,
			   uint32_t slab, struct mac_problem *problem)
{
	const struct placement *x = placement_of(node->inputs[GRAPH_IN_X]);
	const struct placement *y = placement_of(node->outputs[0]);
	uint32_t channels = (uint32_t)x->dims[1], images = (uint32_t)x->dims[0];
	uint32_t multiplier = (uint32_t)(y->dims[1] / channels);
	uint32_t slabs = channels / slab, s, n, m;
	struct mac_instance *instances, *instance;

	if (conv_refuse_planes(lower, node, (uint64_t)slabs * multiplier * images))
		return -1;
	*problem = *whole;
	problem->depth = problem->channels = slab;
	problem->weight_sets = slabs * multiplier;
	problem->instance_count = slabs * multiplier * images;
	instances = arena_alloc_array(lower->arena, problem->instance_count, sizeof(*instances));
	if (!instances)
		return diag_error(lower->diag, "node '%s': no memory for %u channels", node->name,
				  channels);
	problem->instances = instances;
	for (s = 0, instance = instances; s < slabs; s++) {
		for (m = 0; m < multiplier; m++) {
			for (n = 0; n < images; n++, instance++) {
				int64_t channel = (int64_t)s * slab;
				int64_t result = channel * multiplier + m;

				instance->activations =
					x->offset + n * x->strides[0] + channel * x->strides[1];
				instance->output =
					y->offset + n * y->strides[0] + result * y->strides[1];
				instance->residual = r->offset + n * r->strides[0] +
						     result * whole->r_stride[MAC_C] / multiplier;
				instance->weights = result * whole->w_stride_channel / multiplier;
				instance->bias = result;
				instance->weight_set = s * multiplier + m;
			}
		}
	}
	return 0;
}

/* Whether slabs of @slab channels leave few lanes idle that larger ones would use. */
static bool good_slab(uint32_t channels, uint32_t slab, uint32_t array)
{
	uint64_t blocks = (uint64_t)(channels / slab) * ((slab + array - 1) / array);
	uint64_t least = (channels + array - 1) / array;

	return channels % slab == 0 && blocks * 7 <= least * 8;
}

int lower_depthwise(struct lower *lower, struct graph_node *node)
{
	uint32_t channels = (uint32_t)node->inputs[GRAPH_IN_X]->dims[1];
	uint32_t multiplier = (uint32_t)(node->outputs[0]->dims[1] / channels);
	uint32_t array = lower->config->mac_channels, slab;
	struct mac_problem whole, problem, best;
	uint64_t best_cycles = UINT64_MAX;
	struct placement r;
	struct mac_plan plan;

	if (conv_describe(lower, node, &whole, &r))
		return -1;
	whole.depthwise = true;
	whole.o_stride[MAC_C] *= multiplier;
	whole.r_stride[MAC_C] *= multiplier;
	whole.w_stride_channel *= multiplier;
	whole.bias_stride = multiplier;
	whole.macs =
		(uint64_t)graph_element_count(node->outputs[0]) * whole.kernel[0] * whole.kernel[1];
	for (slab = channels; slab; slab--) {
		/* Narrower than the array only where nothing else fits. */
		if (slab < array && best_cycles != UINT64_MAX)
			break;
		if (channels % slab || (slab >= array && !good_slab(channels, slab, array)))
			continue;
		if (depthwise_slabs(lower, node, &whole, &r, slab, &problem))
			return -1;
		if (mac_search(lower, &problem, &plan) && plan.cycles < best_cycles) {
			best_cycles = plan.cycles;
			best = problem;
		}
	}
	/* mac_lower() says why nothing fits. */
	return mac_lower(lower, best_cycles == UINT64_MAX ? &problem : &best);
}
