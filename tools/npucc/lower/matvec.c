// SPDX-License-Identifier: MIT
/*
 * Convolutions of one position (squeeze-and-excitation gates), and products of powers: a matrix times a vector
 * or a few, in fp32 on the vector unit. Rows of the matrix stream through; the vector stays.
 */
#include <endian.h>

#include "../layout/view.h"
#include "tile_pipeline.h"
#include "vector_program.h"

#define MATVEC_TILE_ELEMENTS 16384
#define REDUCE_ROWS 0x8	/* dim 3 */

enum { OPERAND_OUT, OPERAND_MATRIX, OPERAND_VECTOR, OPERAND_BIAS };

struct matvec {
	struct lower *lower;
	struct vector_program program;		/* bias and activation of the rows' sums */
	bool has_bias;
	struct npu_td table[NPU_PROGRAM_CLUSTERS_MAX];
	uint32_t product[NPU_PROGRAM_CLUSTERS_MAX];	/* fp32, the tile */
	uint32_t column[NPU_PROGRAM_CLUSTERS_MAX][3];	/* fp32, a row each: sums, temporaries */
};

static int prepare(void *context, uint32_t cluster, const struct tile *largest)
{
	struct matvec *matvec = context;
	struct lower *lower = matvec->lower;
	struct npu_td operand[VECTOR_SLOT_COUNT] = { 0 };
	uint32_t rows = (uint32_t)(largest->elements / largest->dims[3]);
	bool fits;

	if (vector_load_table(&matvec->program, lower, cluster, operand))
		return -1;
	matvec->table[cluster] = operand[VECTOR_TABLE];
	matvec->product[cluster] = lower_local(lower, cluster, (uint32_t)largest->elements * 4);
	fits = matvec->product[cluster] != UINT32_MAX;
	for (uint32_t i = 0; i < 3; i++) {
		matvec->column[cluster][i] = lower_local(lower, cluster, rows * 4);
		fits &= matvec->column[cluster][i] != UINT32_MAX;
	}
	return fits ? 0 : diag_error(lower->diag, "no room in local SRAM for a matrix product's sums");
}

/* One element a row of an operand that repeats along the rows. */
static struct npu_td column_of(struct npu_td view)
{
	unsigned int dtype = (unsigned int)(le64toh(view.word0) >> NPU_TD_DTYPE_SHIFT &
					    NPU_TD_DTYPE_MASK);

	view.dim[3] = htole16(1);
	view.stride[3] = htole32(NPU_DTYPE_BYTES(dtype));
	return view;
}

static void compute(void *context, uint32_t cluster, const struct tile *tile,
		    const struct npu_td operand[SPACE_MAX_OPERANDS])
{
	const struct matvec *matvec = context;
	struct stream *stream = matvec->lower->streams[cluster];
	struct npu_td product = tile_dense(tile, NPU_DTYPE_FP32, matvec->product[cluster]);
	struct npu_td slot[VECTOR_SLOT_COUNT] = { 0 }, column[3];

	for (uint32_t i = 0; i < 3; i++)
		column[i] = td_local_dense(matvec->column[cluster][i], NPU_DTYPE_FP32, tile->dims[0],
					   tile->dims[1], tile->dims[2], 1);
	stream_vec(stream, NPU_VEC_MUL, &product, &operand[OPERAND_MATRIX], &operand[OPERAND_VECTOR],
		   NULL, 0, 0);
	stream_vec(stream, NPU_VEC_REDUCE_SUM, &column[0], &product, NULL, NULL, REDUCE_ROWS, 0);
	slot[VECTOR_OUT] = column_of(operand[OPERAND_OUT]);
	slot[VECTOR_IN0] = column[0];
	if (matvec->has_bias)
		slot[VECTOR_IN1] = column_of(operand[OPERAND_BIAS]);
	slot[VECTOR_TABLE] = matvec->table[cluster];
	slot[VECTOR_TEMP0] = column[1];
	slot[VECTOR_TEMP1] = column[2];
	vector_emit(&matvec->program, stream, slot);
}

/* A constant in fp32, whatever the graph's float type; @strides in elements. */
static int wide_constant(struct lower *lower, const struct graph_value *value, const int64_t dims[2],
			 const int64_t strides[2], struct placement *placement)
{
	uint64_t count = (uint64_t)graph_element_count(value);
	float *copy = arena_alloc_array(lower->arena, count, sizeof(*copy));

	if (!copy)
		return diag_error(lower->diag, "constant '%s' does not fit into the compiler's memory",
				  value->name);
	for (uint64_t i = 0; i < count; i++)
		copy[i] = graph_constant_as_f32(value, (int64_t)i);
	*placement = (struct placement) {
		.argument = NPU_ARG_WEIGHTS, .dtype = NPU_DTYPE_FP32, .rank = 2,
		.offset = lower_constant(lower, copy, count * sizeof(*copy), 64),
	};
	for (uint32_t i = 0; i < 2; i++) {
		placement->dims[i] = dims[i];
		placement->strides[i] = strides[i] * (int64_t)sizeof(*copy);
	}
	return placement->offset < 0 ? -1 : 0;
}

enum { SPACE_VECTORS, SPACE_ROWS, SPACE_PLACES, SPACE_RANK };	/* dims of the space */

/*
 * @from as a matrix [vectors, elements], its elements put along @dim of the space. A [1,C,1,1] value
 * is one vector. False when no strides do that.
 */
static bool vectors_as(const struct placement *from, int64_t elements, uint32_t dim,
		       struct placement *view)
{
	int64_t count = 1;
	struct placement matrix;

	for (uint32_t i = 0; i < from->rank; i++)
		count *= from->dims[i];
	if (!view_reshape(from, 2, (const int64_t[2]){ count / elements, elements }, &matrix))
		return false;
	*view = *from;
	view->rank = SPACE_RANK;
	for (uint32_t i = 0; i < SPACE_RANK; i++) {
		view->dims[i] = 1;
		view->strides[i] = 0;
	}
	view->dims[SPACE_VECTORS] = matrix.dims[0];
	view->strides[SPACE_VECTORS] = matrix.strides[0];
	view->dims[dim] = matrix.dims[1];
	view->strides[dim] = matrix.strides[1];
	return true;
}

/* The weights as rows of @rows of @places elements: those of a convolution are, others by strides. */
static int read_matrix(struct lower *lower, const struct graph_node *node, const int64_t dims[2],
		       struct placement *matrix)
{
	bool by_columns = node->op == GRAPH_OP_MATMUL && !node->attr.matmul.transpose_b;
	const int64_t by_row[2] = { dims[1], 1 }, by_column[2] = { 1, dims[0] };

	return wide_constant(lower, node->inputs[GRAPH_IN_WEIGHT], dims, by_columns ? by_column : by_row,
			     matrix);
}

static int make_space(struct lower *lower, const struct graph_node *node, struct space *space)
{
	const struct graph_value *bias = node->input_count > GRAPH_IN_BIAS ?
					 node->inputs[GRAPH_IN_BIAS] : NULL;
	const struct placement *result = placement_of(node->outputs[0]);
	bool is_conv = node->op == GRAPH_OP_CONV;
	uint32_t last = is_conv ? 1 : result->rank - 1;
	const struct graph_value *x = node->inputs[GRAPH_IN_X];
	const int64_t matrix_dims[2] = { result->dims[last], x->dims[is_conv ? 1 : x->rank - 1] };
	int64_t dims[SPACE_RANK] = { 1, matrix_dims[0], matrix_dims[1] };
	const int64_t rows[2] = { matrix_dims[0], 1 };
	struct placement out, in, matrix, added;

	if (lower_read_placement(lower, x, &in) ||
	    read_matrix(lower, node, matrix_dims, &matrix))
		return -1;
	if (!vectors_as(result, matrix_dims[0], SPACE_ROWS, &out) ||
	    !vectors_as(&in, matrix_dims[1], SPACE_PLACES, &in))
		return diag_error(lower->diag,
				  "node '%s' (%s): its operands are not laid out as vectors; put a Reshape before it",
				  node->name, node->op_type);
	dims[SPACE_VECTORS] = out.dims[SPACE_VECTORS];
	space_init(space, SPACE_RANK, dims);
	space_add(space, &out);
	space_add(space, &matrix);
	space_add(space, &in);
	if (bias) {
		if (wide_constant(lower, bias, rows, (const int64_t[2]){ 1, 0 }, &added))
			return -1;
		space_add(space, &added);
	}
	space->fixed = 1;
	space_simplify(space, OPERAND_MATRIX);
	return 0;
}

int lower_matvec(struct lower *lower, struct graph_node *node)
{
	struct matvec matvec = {
		.lower = lower,
		.has_bias = node->input_count > GRAPH_IN_BIAS && node->inputs[GRAPH_IN_BIAS],
	};
	struct tile_kernel kernel = { .prepare = prepare, .compute = compute, .context = &matvec };
	enum vector_slot sum = VECTOR_IN0;
	struct tiling tiling;
	struct space space;
	int64_t row, limit;

	if (matvec.has_bias) {
		vector_step(&matvec.program, NPU_VEC_ADD, VECTOR_TEMP0, VECTOR_IN0, VECTOR_IN1,
			    VECTOR_NONE, 0);
		sum = VECTOR_TEMP0;
	}
	vector_activation(&matvec.program, &node->activation, VECTOR_OUT, sum);
	kernel.constant_bytes = vector_table_bytes(&matvec.program);
	if (make_space(lower, node, &space))
		return -1;
	row = space.dims[space.rank - 1];
	limit = row > MATVEC_TILE_ELEMENTS ? row : MATVEC_TILE_ELEMENTS;
	limit = tile_pipeline_elements(lower, &space, 4 + 3 * 4, sizeof(struct npu_table), limit);
	if (!tiling_choose(&tiling, &space, limit, lower->clusters, 1))
		return diag_error(lower->diag,
				  "node '%s' (%s): a row of %lld weights does not fit %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, (long long)row,
				  lower_local_free(lower, 0));
	lower->figures.macs = (uint64_t)(graph_element_count(node->outputs[0]) * row);
	return tile_pipeline_run(lower, &tiling, &kernel);
}
