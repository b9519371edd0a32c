/* SPDX-License-Identifier: MIT */
/*
 * CONVTRANSPOSE as a convolution: with strides of s, output positions of one remainder modulo s see the
 * same taps of the kernel. So each remainder (phase) is a convolution of stride 1 with its part of the
 * kernel, all phases together are one with s times s as many channels, and its result
 * is put in order by a transposition; what the pads cut off is cut off last.
 */
#include "decompose.h"

/* Along height (0) or width (1). */
struct phases {
	int64_t stride, dilation, kernel, pad;
	int64_t taps;			/* of a phase */
	int64_t input, output;
	int64_t positions;		/* output positions of a phase */
};

static struct phases phases_of(const struct graph_node *node, uint32_t i)
{
	const struct graph_window *window = &node->attr.conv.window;
	struct phases p = {
		.stride = window->stride[i],
		.dilation = window->dilation[i],
		.kernel = window->kernel[i],
		.pad = window->pad_begin[i],
		.input = node->inputs[GRAPH_IN_X]->dims[2 + i],
		.output = node->outputs[0]->dims[2 + i],
	};

	p.taps = (p.kernel - 1) * p.dilation / p.stride + 1;
	p.positions = (p.pad + p.output - 1) / p.stride + 1;
	if (p.positions < p.input)
		p.positions = p.input;
	return p;
}

struct shape {
	int64_t groups, in, out;	/* channels of a group */
	struct phases y, x;
};

static int64_t phase_count(const struct shape *shape)
{
	return shape->y.stride * shape->x.stride;
}

/* Channels in the order group, phase, channel: those of a phase stay together. */
static int64_t channel_of(const struct shape *shape, int64_t group, int64_t phase, int64_t channel)
{
	return (group * phase_count(shape) + phase) * shape->out + channel;
}

/* Tap @t of the kernel: which phase it belongs to, and its place there (kernels are flipped). */
static int64_t phase_of_tap(const struct phases *p, int64_t t, int64_t *place)
{
	int64_t position = t * p->dilation;

	*place = p->taps - 1 - position / p->stride;
	return position % p->stride;
}

static void place_kernel(const struct shape *shape, const struct graph_value *weight, int64_t group,
			 int64_t in, int64_t out, float *to)
{
	const struct phases *y = &shape->y, *x = &shape->x;
	int64_t from = ((group * shape->in + in) * shape->out + out) * y->kernel * x->kernel;

	for (int64_t ty = 0; ty < y->kernel; ty++)
		for (int64_t tx = 0; tx < x->kernel; tx++) {
			int64_t row, column;
			int64_t phase = phase_of_tap(y, ty, &row) * x->stride +
					phase_of_tap(x, tx, &column);
			int64_t channel = channel_of(shape, group, phase, out);

			to[((channel * shape->in + in) * y->taps + row) * x->taps + column] =
				graph_constant_as_f32(weight, from + ty * x->kernel + tx);
		}
}

static struct graph_value *phase_weights(struct decompose *d, const struct shape *shape)
{
	const int64_t dims[4] = { shape->groups * shape->out * phase_count(shape), shape->in,
				  shape->y.taps, shape->x.taps };
	float *data = arena_alloc_array(d->graph->arena,
					(uint64_t)(dims[0] * dims[1] * dims[2] * dims[3]), sizeof(*data));

	if (!data)
		return NULL;
	for (int64_t group = 0; group < shape->groups; group++)
		for (int64_t in = 0; in < shape->in; in++)
			for (int64_t out = 0; out < shape->out; out++)
				place_kernel(shape, d->node->inputs[GRAPH_IN_WEIGHT], group, in, out,
					     data);
	return graph_constant_new(d->graph, d->node->inputs[GRAPH_IN_WEIGHT]->name, GRAPH_DTYPE_F32, 4,
				  dims, data);
}

static struct graph_value *phase_bias(struct decompose *d, const struct shape *shape,
				      const struct graph_value *bias)
{
	const int64_t count = shape->groups * shape->out * phase_count(shape);
	float *data = arena_alloc_array(d->graph->arena, (uint64_t)count, sizeof(*data));

	if (!data)
		return NULL;
	for (int64_t group = 0; group < shape->groups; group++)
		for (int64_t phase = 0; phase < phase_count(shape); phase++)
			for (int64_t out = 0; out < shape->out; out++)
				data[channel_of(shape, group, phase, out)] =
					graph_constant_as_f32(bias, group * shape->out + out);
	return graph_constant_new(d->graph, bias->name, GRAPH_DTYPE_F32, 1, &count, data);
}

static struct graph_value *convolution(struct decompose *d, const struct shape *shape,
				       struct graph_value *weight, struct graph_value *bias)
{
	struct graph_value *inputs[3] = { d->node->inputs[GRAPH_IN_X], weight, bias };
	union graph_attr attr = { .conv = { .group = shape->groups } };
	const struct phases *axis[2] = { &shape->y, &shape->x };

	for (uint32_t i = 0; i < 2; i++) {
		attr.conv.window.kernel[i] = axis[i]->taps;
		attr.conv.window.stride[i] = attr.conv.window.dilation[i] = 1;
		attr.conv.window.pad_begin[i] = axis[i]->taps - 1;
		attr.conv.window.pad_end[i] = axis[i]->positions - axis[i]->input;
	}
	return weight ? decompose_op(d, GRAPH_OP_CONV, &attr, inputs, bias ? 3 : 2) : NULL;
}

/* [N, group phase channel, Y, X] to [N, group channel, Y phase, X phase] */
static struct graph_value *interleaved(struct decompose *d, const struct shape *shape,
				       struct graph_value *x)
{
	static const union graph_attr order = { .transpose = { .perm = { 0, 1, 4, 5, 2, 6, 3 } } };
	const int64_t batch = d->node->inputs[GRAPH_IN_X]->dims[0];
	const int64_t apart[7] = { batch, shape->groups, shape->y.stride, shape->x.stride, shape->out,
				   shape->y.positions, shape->x.positions };
	const int64_t together[4] = { batch, shape->groups * shape->out,
				      shape->y.positions * shape->y.stride,
				      shape->x.positions * shape->x.stride };

	if (phase_count(shape) == 1)
		return x;
	x = decompose_reshape(d, x, 7, apart);
	x = decompose_op(d, GRAPH_OP_TRANSPOSE, &order, &x, 1);
	return decompose_reshape(d, x, 4, together);
}

static struct graph_value *cut(struct decompose *d, const struct shape *shape, struct graph_value *x)
{
	const union graph_attr attr = {
		.slice = {
			.start = { 0, 0, shape->y.pad, shape->x.pad },
			.step = { 1, 1, 1, 1 },
		},
	};

	if (!x || graph_shape_equal(x, d->node->outputs[0]))
		return x;
	return decompose_stated(d, GRAPH_OP_SLICE, &attr, x, 4, d->node->outputs[0]->dims);
}

int decompose_convtranspose(struct decompose *d)
{
	struct graph_node *node = d->node;
	const struct graph_value *weight = node->inputs[GRAPH_IN_WEIGHT];
	struct graph_value *bias = node->input_count > GRAPH_IN_BIAS ? node->inputs[GRAPH_IN_BIAS] : NULL;
	struct graph_value *residual =
		node->input_count > GRAPH_IN_RESIDUAL ? node->inputs[GRAPH_IN_RESIDUAL] : NULL;
	struct shape shape = {
		.groups = node->attr.conv.group,
		.in = weight->dims[0] / node->attr.conv.group,
		.out = weight->dims[1],
		.y = phases_of(node, 0),
		.x = phases_of(node, 1),
	};
	struct graph_value *value;

	if (bias) {
		bias = phase_bias(d, &shape, bias);
		if (!bias)
			return decompose_finish(d, NULL);
	}
	value = convolution(d, &shape, phase_weights(d, &shape), bias);
	if (value && !residual)
		value->producer->activation = node->activation;
	value = cut(d, &shape, interleaved(d, &shape, value));
	if (value && residual) {
		value = decompose_eltwise(d, GRAPH_ELTWISE_ADD, value, residual);
		if (value)
			value->producer->activation = node->activation;
	}
	return decompose_finish(d, value);
}
