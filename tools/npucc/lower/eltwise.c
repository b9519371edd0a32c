/* SPDX-License-Identifier: MIT */
/*
 * Element-wise operators: ELTWISE, ACTIVATION, BATCHNORM, PRELU, WHERE. Tiles of the output
 * stream through the vector unit; loads on DMA channel 0, stores on channel 1.
 */
#include "eltwise_function.h"
#include "tile_pipeline.h"
#include "vector_program.h"

#define MAX_SOURCES 3
/* Larger tiles gain nothing once descriptor and latency costs are below a few percent. */
#define ELTWISE_TILE_ELEMENTS 16384

struct sources {
	const struct graph_value *value[MAX_SOURCES];
	uint32_t count;
};

static bool constant_scalar(const struct graph_value *value, float *number)
{
	if (!graph_is_constant(value) || graph_element_count(value) != 1)
		return false;
	*number = graph_constant_as_f32(value, 0);
	return true;
}

/* Adds @value to the operands to be streamed; returns its slot. */
static enum vector_slot stream_source(struct sources *sources, const struct graph_value *value)
{
	for (uint32_t i = 0; i < sources->count; i++)
		if (sources->value[i] == value)
			return (enum vector_slot)(VECTOR_IN0 + i);
	sources->value[sources->count] = value;
	return (enum vector_slot)(VECTOR_IN0 + sources->count++);
}

static void binary(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		   enum vector_slot a, enum vector_slot b, float scalar)
{
	vector_step(program, function, dst, a, b, VECTOR_NONE, scalar);
}

static struct eltwise_operand operand_of(struct sources *sources, const struct graph_node *node,
					 uint32_t index, bool may_be_scalar)
{
	struct eltwise_operand operand = { .slot = VECTOR_SCALAR };

	if (!may_be_scalar || !constant_scalar(node->inputs[index], &operand.scalar) ||
	    !eltwise_takes_number(node->attr.eltwise, index, operand.scalar))
		operand.slot = stream_source(sources, node->inputs[index]);
	return operand;
}

static int build_eltwise(const struct graph_node *node, struct vector_program *program,
			 struct sources *sources)
{
	enum graph_eltwise_kind kind = node->attr.eltwise;
	bool fused = node->activation.kind != GRAPH_ACTIVATION_NONE;
	enum vector_slot dst = fused ? VECTOR_TEMP0 : VECTOR_OUT;
	struct eltwise_operand a, b;

	/* An instruction has one immediate: with two numbers the second is streamed. */
	a = operand_of(sources, node, 0, true);
	b = operand_of(sources, node, 1, a.slot != VECTOR_SCALAR);
	if (!eltwise_function(program, kind, dst, a, b))
		return -1;
	if (fused)
		vector_activation(program, &node->activation, VECTOR_OUT, dst);
	return 0;
}

static int build(const struct graph_node *node, struct vector_program *program,
		 struct sources *sources)
{
	enum vector_slot a, b, c;

	switch (node->op) {
	case GRAPH_OP_ELTWISE:
		return build_eltwise(node, program, sources);
	case GRAPH_OP_ACTIVATION:
		if (!vector_activation_supported(node->attr.activation.kind))
			return -1;
		a = stream_source(sources, node->inputs[0]);
		vector_activation(program, &node->attr.activation, VECTOR_OUT, a);
		return 0;
	case GRAPH_OP_BATCHNORM:
		a = stream_source(sources, node->inputs[0]);
		b = stream_source(sources, node->inputs[1]);
		c = stream_source(sources, node->inputs[2]);
		vector_step(program, NPU_VEC_MULADD, VECTOR_OUT, a, b, c, 0);
		return 0;
	case GRAPH_OP_PRELU:
		a = stream_source(sources, node->inputs[0]);
		b = stream_source(sources, node->inputs[1]);
		binary(program, NPU_VEC_MIN, VECTOR_TEMP0, a, VECTOR_SCALAR, 0);
		binary(program, NPU_VEC_MUL, VECTOR_TEMP0, VECTOR_TEMP0, b, 0);
		binary(program, NPU_VEC_MAX, VECTOR_TEMP1, a, VECTOR_SCALAR, 0);
		binary(program, NPU_VEC_ADD, VECTOR_OUT, VECTOR_TEMP0, VECTOR_TEMP1, 0);
		return 0;
	case GRAPH_OP_WHERE:
		a = stream_source(sources, node->inputs[0]);
		b = stream_source(sources, node->inputs[1]);
		c = stream_source(sources, node->inputs[2]);
		vector_step(program, NPU_VEC_SELECT, VECTOR_OUT, a, b, c, 0);
		return 0;
	default:
		return -1;
	}
}

/* BATCHNORM's [C] parameters stand along axis 1, not the last one. */
static void along_channels(struct placement *placement, uint32_t rank)
{
	int64_t dim = placement->dims[0], stride = placement->strides[0];

	if (placement->rank != 1 || rank < 3)
		return;
	placement->rank = rank - 1;
	for (uint32_t i = 0; i < placement->rank; i++) {
		placement->dims[i] = 1;
		placement->strides[i] = 0;
	}
	placement->dims[0] = dim;
	placement->strides[0] = stride;
}

static int make_space(struct lower *lower, const struct graph_node *node,
		      const struct sources *sources, struct space *space)
{
	const struct graph_value *output = node->outputs[0];
	const struct placement *out = placement_of(output);

	space_init(space, output->rank, output->dims);
	space_add(space, out);
	for (uint32_t i = 0; i < sources->count; i++) {
		struct placement placement;

		if (lower_read_placement(lower, sources->value[i], &placement))
			return -1;
		if (node->op == GRAPH_OP_BATCHNORM && i > 0)
			along_channels(&placement, output->rank);
		space_add(space, &placement);
	}
	space_simplify(space, 0);
	return 0;
}

struct eltwise {
	struct lower *lower;
	struct vector_program program;
	struct npu_td table[NPU_PROGRAM_CLUSTERS_MAX];
	uint32_t temp[NPU_PROGRAM_CLUSTERS_MAX][2];
};

static int prepare(void *context, uint32_t cluster, const struct tile *largest)
{
	struct eltwise *eltwise = context;
	struct npu_td operand[VECTOR_SLOT_COUNT] = { 0 };

	if (vector_load_table(&eltwise->program, eltwise->lower, cluster, operand))
		return -1;
	eltwise->table[cluster] = operand[VECTOR_TABLE];
	for (uint32_t i = 0; i < 2; i++) {
		if (!eltwise->program.uses_temp[i])
			continue;
		eltwise->temp[cluster][i] = lower_local(eltwise->lower, cluster,
							(uint32_t)largest->elements * 4);
		if (eltwise->temp[cluster][i] == UINT32_MAX)
			return diag_error(eltwise->lower->diag,
					  "no room in local SRAM for a temporary tile");
	}
	return 0;
}

static void compute(void *context, uint32_t cluster, const struct tile *tile,
		    const struct npu_td operand[SPACE_MAX_OPERANDS])
{
	const struct eltwise *eltwise = context;
	struct npu_td slot[VECTOR_SLOT_COUNT] = { 0 };

	slot[VECTOR_OUT] = operand[0];
	for (uint32_t i = 0; i < MAX_SOURCES; i++)
		slot[VECTOR_IN0 + i] = operand[1 + i];
	slot[VECTOR_TABLE] = eltwise->table[cluster];
	for (uint32_t i = 0; i < 2; i++)
		slot[VECTOR_TEMP0 + i] = tile_dense(tile, NPU_DTYPE_FP32, eltwise->temp[cluster][i]);
	vector_emit(&eltwise->program, eltwise->lower->streams[cluster], slot);
}

int lower_eltwise(struct lower *lower, struct graph_node *node)
{
	struct eltwise eltwise = { .lower = lower };
	struct tile_kernel kernel = { .prepare = prepare, .compute = compute, .context = &eltwise };
	struct sources sources = { .count = 0 };
	struct tiling tiling;
	struct space space;
	uint32_t temps;
	int64_t elements;

	if (build(node, &eltwise.program, &sources) || eltwise.program.overflow || !sources.count)
		return diag_error(lower->diag, "node '%s' (%s): no vector instructions for this form",
				  node->name, node->op_type);
	if (make_space(lower, node, &sources, &space))
		return -1;
	kernel.constant_bytes = vector_table_bytes(&eltwise.program);
	temps = eltwise.program.uses_temp[0] + eltwise.program.uses_temp[1];
	elements = tile_pipeline_elements(lower, &space, 4 * temps, sizeof(struct npu_table),
					  ELTWISE_TILE_ELEMENTS);
	if (!tiling_choose(&tiling, &space, elements, lower->clusters, 2))
		return diag_error(lower->diag,
				  "node '%s' (%s): no tile fits %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, lower_local_free(lower, 0));
	return tile_pipeline_run(lower, &tiling, &kernel);
}
