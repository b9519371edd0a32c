// SPDX-License-Identifier: MIT
/* Text form of the graph: for people, logs and tests; it is never read back. */
#include <inttypes.h>
#include <string.h>

#include "graph.h"

static const char *const dtype_names[GRAPH_DTYPE_COUNT] = {
	[GRAPH_DTYPE_NONE] = "none", [GRAPH_DTYPE_F32] = "f32",	  [GRAPH_DTYPE_F16] = "f16",
	[GRAPH_DTYPE_BF16] = "bf16", [GRAPH_DTYPE_F64] = "f64",	  [GRAPH_DTYPE_I8] = "i8",
	[GRAPH_DTYPE_U8] = "u8",     [GRAPH_DTYPE_I16] = "i16",	  [GRAPH_DTYPE_U16] = "u16",
	[GRAPH_DTYPE_I32] = "i32",   [GRAPH_DTYPE_U32] = "u32",	  [GRAPH_DTYPE_I64] = "i64",
	[GRAPH_DTYPE_U64] = "u64",   [GRAPH_DTYPE_BOOL] = "bool", [GRAPH_DTYPE_OTHER] = "other",
};

#define X(name, text) text,
static const char *const op_names[] = { GRAPH_OPS(X) };
static const char *const activation_names[] = { GRAPH_ACTIVATIONS(X) };
static const char *const eltwise_names[] = { GRAPH_ELTWISES(X) };
static const char *const reduce_names[] = { GRAPH_REDUCES(X) };
#undef X

const char *graph_dtype_name(enum graph_dtype dtype)
{
	return dtype < GRAPH_DTYPE_COUNT ? dtype_names[dtype] : "?";
}

const char *graph_op_name(enum graph_op op)
{
	return op < GRAPH_OP_COUNT ? op_names[op] : "?";
}

const char *graph_activation_name(enum graph_activation_kind kind)
{
	return kind < GRAPH_ACTIVATION_COUNT ? activation_names[kind] : "?";
}

const char *graph_eltwise_name(enum graph_eltwise_kind kind)
{
	return kind < GRAPH_ELTWISE_COUNT ? eltwise_names[kind] : "?";
}

const char *graph_reduce_name(enum graph_reduce_kind kind)
{
	return kind < GRAPH_REDUCE_COUNT ? reduce_names[kind] : "?";
}

uint32_t graph_dtype_bytes(enum graph_dtype dtype)
{
	switch (dtype) {
	case GRAPH_DTYPE_I8:
	case GRAPH_DTYPE_U8:
	case GRAPH_DTYPE_BOOL:
		return 1;
	case GRAPH_DTYPE_F16:
	case GRAPH_DTYPE_BF16:
	case GRAPH_DTYPE_I16:
	case GRAPH_DTYPE_U16:
		return 2;
	case GRAPH_DTYPE_F32:
	case GRAPH_DTYPE_I32:
	case GRAPH_DTYPE_U32:
		return 4;
	case GRAPH_DTYPE_F64:
	case GRAPH_DTYPE_I64:
	case GRAPH_DTYPE_U64:
		return 8;
	default:
		return 0;
	}
}

bool graph_dtype_is_float(enum graph_dtype dtype)
{
	return dtype == GRAPH_DTYPE_F32 || dtype == GRAPH_DTYPE_F16 || dtype == GRAPH_DTYPE_BF16 ||
	       dtype == GRAPH_DTYPE_F64;
}

char *graph_format_shape(const struct graph_value *value, char text[GRAPH_SHAPE_TEXT])
{
	size_t used = 0;
	uint32_t i;

	if (!value || !value->has_rank) {
		strcpy(text, "?");
		return text;
	}
	if (!value->rank) {
		strcpy(text, "scalar");
		return text;
	}
	for (i = 0; i < value->rank; i++) {
		const char *separator = i ? "x" : "";
		int wrote;

		if (value->dims[i] < 0)
			wrote = snprintf(text + used, GRAPH_SHAPE_TEXT - used, "%s?", separator);
		else
			wrote = snprintf(text + used, GRAPH_SHAPE_TEXT - used, "%s%" PRId64,
					 separator, value->dims[i]);
		used += (size_t)wrote;
	}
	return text;
}

/* Names hold any bytes; a dump line must stay one line of printable ASCII. */
static void dump_text(const char *text, size_t length, FILE *out)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < length && i < 120; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
	fputs(i < length ? "...\"" : "\"", out);
}

static void dump_value(const struct graph_value *value, FILE *out)
{
	char shape[GRAPH_SHAPE_TEXT];
	int64_t count, i;

	if (!value) {
		fputc('-', out);
		return;
	}
	fprintf(out, "%s%" PRIu32 " %s[%s]", graph_is_constant(value) ? "c" : "%", value->id,
		graph_dtype_name(value->dtype), graph_format_shape(value, shape));
	count = graph_element_count(value);
	if (!graph_is_constant(value) || count > 6)
		return;
	fputs("{", out);
	for (i = 0; i < count; i++) {
		if (graph_dtype_is_float(value->dtype))
			fprintf(out, "%s%.7g", i ? "," : "",
				(double)graph_constant_as_f32(value, i));
		else
			fprintf(out, "%s%" PRId64, i ? "," : "", graph_constant_as_i64(value, i));
	}
	fputs("}", out);
}

static void dump_list(const char *name, const int64_t *numbers, uint32_t count, FILE *out)
{
	uint32_t i;

	fprintf(out, " %s=", name);
	for (i = 0; i < count; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", numbers[i]);
}

static void dump_activation(const struct graph_activation *activation, FILE *out)
{
	fprintf(out, " %s", graph_activation_name(activation->kind));
	switch (activation->kind) {
	case GRAPH_ACTIVATION_CLIP:
	case GRAPH_ACTIVATION_HARDSIGMOID:
	case GRAPH_ACTIVATION_HARDSWISH:
	case GRAPH_ACTIVATION_LINEAR:
	case GRAPH_ACTIVATION_SELU:
	case GRAPH_ACTIVATION_SHRINK:
	case GRAPH_ACTIVATION_ISINF:
		fprintf(out, "(%.7g,%.7g)", (double)activation->alpha, (double)activation->beta);
		break;
	case GRAPH_ACTIVATION_LEAKYRELU:
	case GRAPH_ACTIVATION_ELU:
	case GRAPH_ACTIVATION_CELU:
	case GRAPH_ACTIVATION_SILU:
	case GRAPH_ACTIVATION_THRESHOLDED_RELU:
		fprintf(out, "(%.7g)", (double)activation->alpha);
		break;
	default:
		break;
	}
	if (activation->affine)
		fprintf(out, "*%.7g+%.7g", (double)activation->scale, (double)activation->shift);
}

static void dump_window(const struct graph_window *window, FILE *out)
{
	dump_list("kernel", window->kernel, 2, out);
	dump_list("stride", window->stride, 2, out);
	if (window->dilation[0] != 1 || window->dilation[1] != 1)
		dump_list("dilation", window->dilation, 2, out);
	if (window->pad_begin[0] || window->pad_begin[1] || window->pad_end[0] ||
	    window->pad_end[1]) {
		dump_list("pad_begin", window->pad_begin, 2, out);
		dump_list("pad_end", window->pad_end, 2, out);
	}
}

static void dump_pool(const struct graph_attr_pool *pool, FILE *out)
{
	static const char *const kinds[] = { "max", "average", "lp" };

	fprintf(out, " %s%s", pool->global ? "global_" : "", kinds[pool->kind]);
	dump_window(&pool->window, out);
	if (pool->count_include_pad)
		fputs(" count_include_pad", out);
}

static void dump_resize(const struct graph_attr_resize *resize, uint32_t rank, FILE *out)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	static const char *const coordinates[] = { "half_pixel",	 "half_pixel_symmetric",
						   "pytorch_half_pixel", "align_corners",
						   "asymmetric",	 "crop_and_resize" };
	static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
					       "ceil" };
	uint32_t i;

	fprintf(out, " %s %s", modes[resize->mode], coordinates[resize->coordinate]);
	if (resize->mode == GRAPH_RESIZE_NEAREST)
		fprintf(out, " %s", nearest[resize->nearest]);
	fputs(" scale=", out);
	for (i = 0; i < rank; i++)
		fprintf(out, "%s%.7g", i ? "," : "", (double)resize->scale[i]);
}

static void dump_attr(const struct graph_node *node, FILE *out)
{
	static const char *const pad_modes[] = { "constant", "reflect", "edge", "wrap" };
	const union graph_attr *attr = &node->attr;
	uint32_t rank = node->input_count && node->inputs[0] ? node->inputs[0]->rank : 0;

	switch (node->op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
		dump_window(&attr->conv.window, out);
		if (attr->conv.group != 1)
			fprintf(out, " group=%" PRId64, attr->conv.group);
		break;
	case GRAPH_OP_MATMUL:
		if (attr->matmul.transpose_a)
			fputs(" transpose_a", out);
		if (attr->matmul.transpose_b)
			fputs(" transpose_b", out);
		break;
	case GRAPH_OP_ELTWISE:
		fprintf(out, " %s", graph_eltwise_name(attr->eltwise));
		break;
	case GRAPH_OP_ACTIVATION:
		dump_activation(&attr->activation, out);
		break;
	case GRAPH_OP_POOL:
		dump_pool(&attr->pool, out);
		break;
	case GRAPH_OP_REDUCE:
		fprintf(out, " %s axes=0x%" PRIx32 "%s", graph_reduce_name(attr->reduce.kind),
			attr->reduce.axes, attr->reduce.keep_dims ? " keep" : "");
		break;
	case GRAPH_OP_SOFTMAX:
		fprintf(out, " axis=%" PRId64 "%s", attr->softmax.axis,
			attr->softmax.log ? " log" : "");
		break;
	case GRAPH_OP_LAYERNORM:
		fprintf(out, " axis=%" PRId64 " epsilon=%.7g%s", attr->norm.axis,
			(double)attr->norm.epsilon, attr->norm.rms ? " rms" : "");
		break;
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
		fprintf(out, " groups=%" PRId64 " epsilon=%.7g", attr->norm.groups,
			(double)attr->norm.epsilon);
		break;
	case GRAPH_OP_TRANSPOSE:
		dump_list("perm", attr->transpose.perm, rank, out);
		break;
	case GRAPH_OP_CONCAT:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_GATHER:
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
		fprintf(out, " axis=%" PRId64, attr->axis.axis);
		break;
	case GRAPH_OP_SLICE:
		dump_list("start", attr->slice.start, rank, out);
		dump_list("step", attr->slice.step, rank, out);
		break;
	case GRAPH_OP_PAD:
		fprintf(out, " %s", pad_modes[attr->pad.mode]);
		dump_list("begin", attr->pad.begin, rank, out);
		dump_list("end", attr->pad.end, rank, out);
		fprintf(out, " value=%.7g", (double)attr->pad.value);
		break;
	case GRAPH_OP_RESIZE:
		dump_resize(&attr->resize, rank, out);
		break;
	case GRAPH_OP_UNKNOWN:
		if (node->problem)
			fprintf(out, " problem=\"%s\"", node->problem);
		break;
	default:
		break;
	}
}

static void dump_node(const struct graph_node *node, FILE *out)
{
	uint32_t i;

	fputs("  ", out);
	for (i = 0; i < node->output_count; i++) {
		fputs(i ? ", " : "", out);
		dump_value(node->outputs[i], out);
	}
	fprintf(out, " = %s", graph_op_name(node->op));
	if (node->op == GRAPH_OP_UNKNOWN)
		fprintf(out, ":%s", node->op_type);
	dump_attr(node, out);
	if (node->activation.kind != GRAPH_ACTIVATION_NONE) {
		fputs(" ->", out);
		dump_activation(&node->activation, out);
	}
	if (node->quant)
		fputs(" on integers", out);
	fputs(" (", out);
	for (i = 0; i < node->input_count; i++) {
		fputs(i ? ", " : "", out);
		dump_value(node->inputs[i], out);
	}
	fputs(") ", out);
	dump_text(node->name, strlen(node->name), out);
	if (node->merged)
		fprintf(out, " merged=%" PRIu32, node->merged);
	fputc('\n', out);
}

void graph_dump(const struct graph *graph, FILE *out)
{
	const struct graph_node *node;
	uint32_t i;

	fprintf(out, "graph ");
	dump_text(graph->name, strlen(graph->name), out);
	fprintf(out, " nodes=%" PRIu32 "\n", graph->node_count);
	for (i = 0; i < graph->input_count; i++) {
		fputs("  input ", out);
		dump_value(graph->inputs[i], out);
		fputc(' ', out);
		dump_text(graph->inputs[i]->name, graph->inputs[i]->name_length, out);
		fputc('\n', out);
	}
	for (node = graph->first; node; node = node->next)
		dump_node(node, out);
	for (i = 0; i < graph->output_count; i++) {
		fputs("  output ", out);
		dump_value(graph->outputs[i], out);
		fputc(' ', out);
		dump_text(graph->outputs[i]->name, graph->outputs[i]->name_length, out);
		fputc('\n', out);
	}
}
