// SPDX-License-Identifier: MIT
/* Execution: memories, choice of kernels, what the engines have in common. See execute.h. */
#include "execute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "cpu_features.h"
#include "execute_internal.h"
#include "numbers.h"

#define MXCSR_DEFAULT	0x1f80u	/* round to nearest, subnormals kept, nothing trapped */

static struct npu_kernels choose_kernels(const struct npu_config *config)
{
	struct npu_kernels kernels = {
		.convert = &npu_convert_kernels_plain,
		.element = &npu_element_kernels_plain,
		.mac = &npu_mac_kernels_plain,
	};

	(void)config;
#ifdef NPU_HAVE_AVX2
	if (!config->plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    cpu_has_f16c()) {
		kernels.convert = &npu_convert_kernels_avx2;
		kernels.element = &npu_element_kernels_avx2;
		kernels.mac = &npu_mac_kernels_avx2;
	}
#endif
	return kernels;
}

static struct npu_execute_scratch *make_scratch(const struct npu_config *config)
{
	struct npu_execute_scratch *scratch = aligned_alloc(LINE, sizeof(*scratch));
	/* Rows and columns rounded up to what the kernels take. */
	size_t sums = config->acc_bytes / 2 +
		      (size_t)(NPU_MAC_ROWS * CHANNELS_MAX) * sizeof(uint64_t);

	if (!scratch)
		return NULL;
	memset(scratch, 0, sizeof(*scratch));
	scratch->kernels = choose_kernels(config);
	scratch->snapshot = calloc(1, config->local_bytes);
	scratch->sums = calloc(1, sums);
	return scratch;
}

int npu_cluster_memory_init(struct npu_cluster_memory *memory, const struct npu_config *config)
{
	size_t half = config->acc_bytes / 2;

	memset(memory, 0, sizeof(*memory));
	memory->local = calloc(1, config->local_bytes);
	memory->acc[0] = calloc(1, half);
	memory->acc[1] = calloc(1, half);
	memory->scratch = make_scratch(config);
	if (memory->local && memory->acc[0] && memory->acc[1] && memory->scratch &&
	    memory->scratch->snapshot && memory->scratch->sums)
		return 0;
	npu_cluster_memory_release(memory);
	return -ENOMEM;
}

void npu_cluster_memory_release(struct npu_cluster_memory *memory)
{
	if (memory->scratch) {
		free(memory->scratch->snapshot);
		free(memory->scratch->sums);
	}
	free(memory->scratch);
	free(memory->local);
	free(memory->acc[0]);
	free(memory->acc[1]);
	memset(memory, 0, sizeof(*memory));
}

static bool overlaps(const struct npu_tensor *tensor, int64_t first, int64_t last)
{
	return tensor->kind == NPU_OPERAND_TENSOR && first < tensor->offset + tensor->high &&
	       tensor->offset + tensor->low < last;
}

/* EXPSUM and REDUCE_SUMSQ write source 2. */
static bool writes_source2(const struct npu_operation *operation)
{
	return operation->opcode == NPU_OP_VEC && (operation->subop == NPU_VEC_EXPSUM ||
						   operation->subop == NPU_VEC_REDUCE_SUMSQ);
}

const uint8_t *execution_source(const struct execution *execution, int64_t first, int64_t last)
{
	const struct npu_operation *operation = execution->operation;
	uint8_t *snapshot = execution->scratch->snapshot;

	if (!overlaps(&operation->dst, first, last) &&
	    !(writes_source2(operation) && overlaps(&operation->src[2], first, last)))
		return execution->memory->local;
	memcpy(snapshot + first, execution->memory->local + first, (size_t)(last - first));
	return snapshot;
}

/* Every element has bytes of its own, in ascending order of the dims. */
static bool nested(const struct npu_tensor *tensor)
{
	int64_t inner = tensor->element_bytes;
	unsigned int i;

	for (i = 4; i-- > 0;) {
		if (tensor->dim[i] == 1)
			continue;
		if (tensor->stride[i] < inner)
			return false;
		inner = tensor->stride[i] * tensor->dim[i];
	}
	return true;
}

static bool same_elements(const struct npu_tensor *a, const struct npu_tensor *b)
{
	unsigned int i;

	if (a->offset != b->offset || a->element_bytes != b->element_bytes)
		return false;
	for (i = 0; i < 4; i++)
		if (a->dim[i] != b->dim[i] || (a->dim[i] > 1 && a->stride[i] != b->stride[i]))
			return false;
	return true;
}

const uint8_t *execution_tensor(const struct execution *execution,
				const struct npu_tensor *tensor, bool in_place)
{
	const struct npu_operation *operation = execution->operation;
	int64_t first = tensor->offset + tensor->low;
	int64_t last = tensor->offset + tensor->high;

	if (in_place && same_elements(tensor, &operation->dst) && nested(tensor) &&
	    !(writes_source2(operation) && overlaps(&operation->src[2], first, last)))
		return execution->memory->local;
	return execution_source(execution, first, last);
}

static inline void copy_strided(uint8_t *to, int64_t to_stride, const uint8_t *from,
				int64_t from_stride, size_t element_bytes, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		memcpy(to + i * to_stride, from + i * from_stride, element_bytes);
}

void execution_copy(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride,
		    uint8_t element_bytes, uint32_t count)
{
	if (to_stride == element_bytes && from_stride == element_bytes)
		memcpy(to, from, (size_t)count * element_bytes);
	else if (element_bytes == 1)
		copy_strided(to, to_stride, from, from_stride, 1, count);
	else if (element_bytes == 2)
		copy_strided(to, to_stride, from, from_stride, 2, count);
	else
		copy_strided(to, to_stride, from, from_stride, 4, count);
}

void execution_load(const struct execution *execution, float *to, const uint8_t *at,
		    int64_t stride, uint8_t dtype, int32_t zero, uint32_t count)
{
	npu_load_kernel *load = execution->kernels->convert->load[dtype];
	uint8_t element_bytes = (uint8_t)NPU_DTYPE_BYTES(dtype);
	uint32_t i;

	if (stride == element_bytes || count == 1) {
		load(to, at, zero, count);
		return;
	}
	if (!stride) {
		load(to, at, zero, 1);
		for (i = 1; i < count; i++)
			to[i] = to[0];
		return;
	}
	execution_copy(execution->scratch->bytes, element_bytes, at, stride, element_bytes, count);
	load(to, execution->scratch->bytes, zero, count);
}

void execution_store(const struct execution *execution, uint8_t *at, int64_t stride,
		     uint8_t dtype, int32_t zero, const float *from, uint32_t count)
{
	npu_store_kernel *store = execution->kernels->convert->store[dtype];
	uint8_t element_bytes = (uint8_t)NPU_DTYPE_BYTES(dtype);

	if (stride == element_bytes || count == 1) {
		store(at, from, zero, count);
		return;
	}
	store(execution->scratch->bytes, from, zero, count);
	execution_copy(at, stride, execution->scratch->bytes, element_bytes, element_bytes, count);
}

static float load_float(const uint8_t *from)
{
	return float_from_bits(load_le32(from));
}

/* What tables and curves begin with. */
static void load_ends(struct npu_function_table *table, const uint8_t *from)
{
	table->low = load_float(from + offsetof(struct npu_table, low));
	table->inverse_step = load_float(from + offsetof(struct npu_table, inverse_step));
	table->left_slope = load_float(from + offsetof(struct npu_table, left_slope));
	table->left_offset = load_float(from + offsetof(struct npu_table, left_offset));
	table->right_slope = load_float(from + offsetof(struct npu_table, right_slope));
	table->right_offset = load_float(from + offsetof(struct npu_table, right_offset));
}

void execution_load_table(struct npu_function_table *table, const uint8_t *from)
{
	const uint8_t *segment = from + offsetof(struct npu_table, segment);
	unsigned int i;

	load_ends(table, from);
	for (i = 0; i < 256; i++, segment += 8) {
		table->base[i] = load_float(segment);
		table->delta[i] = load_float(segment + 4);
	}
}

void execution_load_curve(struct npu_function_table *table, const uint8_t *from)
{
	const uint8_t *segment = from + offsetof(struct npu_curve, segment);
	unsigned int i;

	load_ends(table, from);
	for (i = 0; i < 256; i++, segment += 12) {
		table->base[i] = load_float(segment);
		table->delta[i] = load_float(segment + 4);
		table->curve[i] = load_float(segment + 8);
	}
}

static void execute(const struct execution *execution)
{
	switch (execution->operation->opcode) {
	case NPU_OP_MAC:
		if (execution->operation->mac.shape == NPU_MAC_SHAPE_V)
			execute_mac_taps(execution);
		else
			execute_mac(execution);
		break;
	case NPU_OP_OUT:
		execute_out(execution);
		break;
	case NPU_OP_VEC:
		execute_vec(execution);
		break;
	case NPU_OP_LAYOUT:
		execute_layout(execution);
		break;
	}
}

void npu_execute(const struct npu_config *config, struct npu_cluster_memory *memory,
		 const struct npu_operation *operation)
{
	const struct execution execution = {
		.config = config,
		.memory = memory,
		.scratch = memory->scratch,
		.kernels = &memory->scratch->kernels,
		.operation = operation,
	};
#ifdef __SSE2__
	unsigned int mxcsr = _mm_getcsr();

	/* A caller that flushes subnormals must not change the device's numbers. */
	_mm_setcsr(MXCSR_DEFAULT);
	execute(&execution);
	_mm_setcsr(mxcsr);
#else
	execute(&execution);
#endif
}
