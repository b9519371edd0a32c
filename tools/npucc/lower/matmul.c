// SPDX-License-Identifier: MIT
/* MATMUL: rows of A are positions, columns of B are channels. */
#include <stdlib.h>
#include <string.h>

#include "mac.h"

#define BATCH_MAX (GRAPH_MAX_RANK - 2)

/* An operand's strides over [batch...][rows][columns], in bytes or (constant B) elements. */
struct matrix {
	int64_t offset;
	int64_t batch[BATCH_MAX]; /* aligned with the output's; 0 where it repeats */
	int64_t row, column;
};

struct product {
	uint32_t batch_rank;
	int64_t batch[BATCH_MAX];
	int64_t m, n, k;
	struct matrix a, b, y, r;
	bool residual;
};

static void set_matrix(const struct product *product, const struct placement *placement,
		       bool transpose, struct matrix *matrix)
{
	uint32_t rank = placement->rank, i;

	memset(matrix, 0, sizeof(*matrix));
	matrix->offset = placement->offset;
	matrix->row = rank < 2 ? 0 : placement->strides[rank - 2];
	matrix->column = rank < 1 ? 0 : placement->strides[rank - 1];
	if (rank >= 2 && placement->dims[rank - 2] == 1)
		matrix->row = 0;
	if (rank >= 1 && placement->dims[rank - 1] == 1)
		matrix->column = 0;
	if (transpose) {
		int64_t swap = matrix->row;

		matrix->row = matrix->column;
		matrix->column = swap;
	}
	for (i = 2; i < rank; i++)
		if (placement->dims[rank - 1 - i] != 1)
			matrix->batch[product->batch_rank + 1 - i] =
				placement->strides[rank - 1 - i];
}

/* Batches that all use the same B, and follow each other like rows, are rows. */
static bool batch_joins(const struct product *product, uint32_t batch)
{
	int64_t m = product->m;

	if (product->batch[batch] == 1)
		return true;
	if (product->b.batch[batch])
		return false;
	return m == 1 || (product->a.batch[batch] == product->a.row * m &&
			  product->y.batch[batch] == product->y.row * m &&
			  (!product->residual || product->r.batch[batch] == product->r.row * m));
}

static void join_rows(struct product *product)
{
	while (product->batch_rank && batch_joins(product, product->batch_rank - 1) &&
	       product->m * product->batch[product->batch_rank - 1] < INT32_MAX / 2) {
		uint32_t last = --product->batch_rank;

		/* A single row has no stride of its own: the batch's is the one to walk by. */
		if (product->m == 1) {
			product->a.row = product->a.batch[last];
			product->y.row = product->y.batch[last];
			product->r.row = product->r.batch[last];
		}
		product->m *= product->batch[last];
	}
}

static int compare_weights(const void *left, const void *right)
{
	const struct mac_instance *a = left, *b = right;

	if (a->weights != b->weights)
		return a->weights < b->weights ? -1 : 1;
	return a->output < b->output ? -1 : a->output > b->output;
}

static int make_instances(struct lower *lower, const struct product *product,
			  struct mac_problem *problem)
{
	struct mac_instance *instances;
	uint64_t count = 1, i;
	uint32_t d;

	for (d = 0; d < product->batch_rank; d++)
		count *= (uint64_t)product->batch[d];
	instances = count > MAC_INSTANCES_MAX ?
			    NULL :
			    arena_alloc_array(lower->arena, count, sizeof(*instances));
	if (!instances)
		return diag_error(
			lower->diag,
			"node '%s': a batch of more than %u matrices is too large; split it in the model",
			problem->node->name, MAC_INSTANCES_MAX);
	for (i = 0; i < count; i++) {
		struct mac_instance *instance = &instances[i];
		uint64_t rest = i;

		*instance = (struct mac_instance){
			.activations = product->a.offset,
			.output = product->y.offset,
			.residual = product->r.offset,
			.weights = product->b.offset,
		};
		for (d = product->batch_rank; d-- > 0;) {
			int64_t at = (int64_t)(rest % (uint64_t)product->batch[d]);

			rest /= (uint64_t)product->batch[d];
			instance->activations += at * product->a.batch[d];
			instance->output += at * product->y.batch[d];
			instance->residual += at * product->r.batch[d];
			instance->weights += at * product->b.batch[d];
		}
	}
	qsort(instances, count, sizeof(*instances), compare_weights);
	for (i = 1; i < count; i++)
		instances[i].weight_set = instances[i - 1].weight_set +
					  (instances[i].weights != instances[i - 1].weights);
	problem->instances = instances;
	problem->instance_count = (uint32_t)count;
	problem->weight_sets = instances[count - 1].weight_set + 1;
	return 0;
}

/* Constant B as elements, row major; anything else as bytes. */
static void read_b(const struct graph_node *node, struct product *product,
		   struct mac_problem *problem)
{
	const struct graph_value *value = node->inputs[GRAPH_IN_WEIGHT];
	struct placement b = { 0 };
	int64_t stride = 1;
	uint32_t i;

	if (!graph_is_constant(value)) {
		b = *placement_of(value);
		problem->b_argument = b.argument;
	} else {
		problem->weights = value;
		b.rank = value->rank;
		for (i = value->rank; i-- > 0;) {
			b.dims[i] = value->dims[i];
			b.strides[i] = stride;
			stride *= value->dims[i];
		}
	}
	set_matrix(product, &b, node->attr.matmul.transpose_b, &product->b);
}

/* Residual, or a bias that is computed at run time: it stands in for one. */
static int read_residual(struct lower *lower, const struct graph_node *node,
			 struct product *product, struct mac_problem *problem)
{
	const struct graph_value *residual =
		node->input_count > GRAPH_IN_RESIDUAL ? node->inputs[GRAPH_IN_RESIDUAL] : NULL;
	const struct graph_value *bias =
		node->input_count > GRAPH_IN_BIAS ? node->inputs[GRAPH_IN_BIAS] : NULL;
	struct placement r;

	if (bias && graph_is_constant(bias)) {
		problem->bias = bias;
	} else if (bias && residual) {
		return diag_error(
			lower->diag,
			"node '%s': a bias that is no constant and a residual cannot be added by one layer; compile with --fusion 0",
			node->name);
	} else if (bias) {
		residual = bias;
	}
	if (!residual)
		return 0;
	if (lower_read_placement(lower, residual, &r))
		return -1;
	set_matrix(product, &r, false, &product->r);
	product->residual = problem->residual = true;
	problem->r_argument = r.argument;
	return 0;
}

int lower_matmul(struct lower *lower, struct graph_node *node)
{
	const struct graph_value *output = node->outputs[0], *x = node->inputs[GRAPH_IN_X];
	const struct placement *y = placement_of(output);
	struct mac_problem problem = {
		.node = node,
		.activation = node->activation,
		.bias_stride = 1,
		.kernel = { 1, 1 },
		.stride = { 1, 1 },
		.dilation = { 1, 1 },
		.height = 1,
		.out_height = 1,
	};
	struct product product = { .batch_rank = output->rank - 2 };
	struct placement a;
	uint32_t i;

	for (i = 0; i < product.batch_rank; i++)
		product.batch[i] = output->dims[i];
	product.m = output->dims[output->rank - 2];
	product.n = output->dims[output->rank - 1];
	product.k = x->dims[x->rank - (node->attr.matmul.transpose_a ? 2 : 1)];
	if (lower_read_placement(lower, x, &a) || read_residual(lower, node, &product, &problem))
		return -1;
	read_b(node, &product, &problem);
	mac_set_types(&problem);
	set_matrix(&product, &a, node->attr.matmul.transpose_a, &product.a);
	set_matrix(&product, y, false, &product.y);
	problem.macs = (uint64_t)graph_element_count(output) * (uint64_t)product.k;
	join_rows(&product);
	problem.a_argument = a.argument;
	problem.o_argument = y->argument;
	problem.width = problem.out_width = (uint32_t)product.m;
	problem.depth = (uint32_t)product.k;
	problem.channels = (uint32_t)product.n;
	problem.a_stride[MAC_X] = product.a.row;
	problem.a_stride[MAC_C] = product.a.column;
	problem.o_stride[MAC_X] = product.y.row;
	problem.o_stride[MAC_C] = product.y.column;
	problem.r_stride[MAC_X] = product.r.row;
	problem.r_stride[MAC_C] = product.r.column;
	problem.b_stride_channel = product.b.column;
	problem.b_stride_depth = product.b.row;
	problem.w_stride_channel = product.b.column;
	problem.w_stride_depth = product.b.row;
	if (make_instances(lower, &product, &problem))
		return -1;
	return mac_lower(lower, &problem);
}
