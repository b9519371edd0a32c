// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t random_u32(struct random *random)
{
	/* splitmix64 */
	uint64_t z = (random->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 16);
}

uint32_t random_range(struct random *random, uint32_t low, uint32_t high)
{
	return low + random_u32(random) % (high - low + 1);
}

bool random_chance(struct random *random, uint32_t one_in)
{
	return random_u32(random) % one_in == 0;
}

uint16_t random_half(struct random *random, bool special)
{
	static const uint16_t specials[] = {
		0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
		0xfd55, 0x3c00, 0xbc00,
	};

	if (special && random_chance(random, 16))
		return specials[random_u32(random) % (sizeof(specials) / sizeof(specials[0]))];
	if (special && random_chance(random, 16))
		return (uint16_t)random_u32(random);
	return (uint16_t)((random_u32(random) & 0x8000) | random_range(random, 0x2800, 0x4400));
}

float random_float(struct random *random, bool special)
{
	static const uint32_t specials[] = {
		0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000,
		0x7fc00000, 0xffa00001, 0x4b000000, 0x4b000001, 0xcf000000, 0x4f000000, 0x3f000000,
		0x3fc00000, 0x40200000,
	};
	uint32_t bits;
	float value;

	if (special && random_chance(random, 8))
		bits = specials[random_u32(random) % (sizeof(specials) / sizeof(specials[0]))];
	else if (special && random_chance(random, 8))
		bits = random_u32(random);
	else
		bits = (random_u32(random) & 0x807fffff) | random_range(random, 118, 136) << 23;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void cluster_open(struct cluster *cluster, const char *configuration, struct random *random)
{
	char plain[128], error[256];

	memset(cluster, 0, sizeof(*cluster));
	snprintf(plain, sizeof(plain), "%s%cvector=off", configuration,
		 strchr(configuration, '?') ? '&' : '?');
	assert_int_equal(npu_config_parse(configuration, &cluster->config, error, sizeof(error)),
			 0);
	assert_int_equal(npu_config_parse(plain, &cluster->plain_config, error, sizeof(error)), 0);
	assert_int_equal(npu_cluster_memory_init(&cluster->memory, &cluster->config), 0);
	assert_int_equal(npu_cluster_memory_init(&cluster->plain, &cluster->plain_config), 0);
	cluster->local = malloc(cluster->config.local_bytes);
	cluster->acc[0] = malloc(cluster->config.acc_bytes / 2);
	cluster->acc[1] = malloc(cluster->config.acc_bytes / 2);
	assert_true(cluster->local && cluster->acc[0] && cluster->acc[1]);
	cluster_fill_random(cluster, random);
}

void cluster_close(struct cluster *cluster)
{
	npu_cluster_memory_release(&cluster->memory);
	npu_cluster_memory_release(&cluster->plain);
	free(cluster->local);
	free(cluster->acc[0]);
	free(cluster->acc[1]);
	memset(cluster, 0, sizeof(*cluster));
}

void cluster_poke(struct cluster *cluster, int64_t offset, const void *bytes, size_t count)
{
	assert_true(offset >= 0 && (uint64_t)offset + count <= cluster->config.local_bytes);
	memcpy(cluster->local + offset, bytes, count);
	memcpy(cluster->memory.local + offset, bytes, count);
	memcpy(cluster->plain.local + offset, bytes, count);
}

static void fill(uint8_t *to, size_t bytes, struct random *random)
{
	size_t i;

	for (i = 0; i + 4 <= bytes; i += 4) {
		uint32_t word = random_u32(random);

		memcpy(to + i, &word, 4);
	}
}

void cluster_fill_random(struct cluster *cluster, struct random *random)
{
	size_t half = cluster->config.acc_bytes / 2;
	unsigned int i;

	fill(cluster->local, cluster->config.local_bytes, random);
	memcpy(cluster->memory.local, cluster->local, cluster->config.local_bytes);
	memcpy(cluster->plain.local, cluster->local, cluster->config.local_bytes);
	for (i = 0; i < 2; i++) {
		fill(cluster->acc[i], half, random);
		memcpy(cluster->memory.acc[i], cluster->acc[i], half);
		memcpy(cluster->plain.acc[i], cluster->acc[i], half);
	}
}

void cluster_fill_type(struct cluster *cluster, struct random *random, int64_t offset,
		       size_t bytes, unsigned int dtype, bool special)
{
	size_t size = NPU_DTYPE_BYTES(dtype), i;

	for (i = 0; i + size <= bytes; i += size) {
		uint32_t bits = random_u32(random);
		float value;

		if (dtype == NPU_DTYPE_FP16) {
			bits = random_half(random, special);
		} else if (dtype == NPU_DTYPE_FP32) {
			value = random_float(random, special);
			memcpy(&bits, &value, sizeof(bits));
		}
		cluster_poke(cluster, offset + (int64_t)i, &bits, size);
	}
}

struct npu_td make_tensor(unsigned int dtype, int64_t offset, const uint32_t dim[4],
			  const int64_t stride[4], int zero)
{
	struct npu_td td = {
		.word0 = (uint64_t)offset | (uint64_t)NPU_SPACE_LOCAL << NPU_TD_SPACE_SHIFT |
			 (uint64_t)dtype << NPU_TD_DTYPE_SHIFT |
			 (uint64_t)(uint8_t)zero << NPU_TD_ZERO_SHIFT,
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		td.dim[i] = (uint16_t)dim[i];
		td.stride[i] = (uint32_t)stride[i];
	}
	return td;
}

void natural_strides(int64_t stride[4], const uint32_t dim[4], unsigned int dtype, uint32_t gap)
{
	stride[3] = NPU_DTYPE_BYTES(dtype);
	stride[2] = stride[3] * dim[3] + gap;
	stride[1] = stride[2] * dim[2];
	stride[0] = stride[1] * dim[1];
}

struct npu_operation must_decode(const struct cluster *cluster, const struct npu_insn *insn)
{
	struct npu_operation operation;
	uint32_t error;
	uint64_t detail;

	if (npu_operation_decode(&cluster->config, insn, cluster->tds, &operation, &error, &detail))
		fail_msg("opcode 0x%02x subop 0x%02x refused: error %u detail 0x%llx",
			 insn->opcode, insn->subop, error, (unsigned long long)detail);
	return operation;
}

void cluster_execute(struct cluster *cluster, const struct npu_insn *insn)
{
	struct npu_operation operation = must_decode(cluster, insn);

	npu_execute(&cluster->config, &cluster->memory, &operation);
	npu_execute(&cluster->plain_config, &cluster->plain, &operation);
}

static void compare(const char *what, const char *where, const uint8_t *got,
		    const uint8_t *expected, size_t bytes)
{
	size_t i;

	if (!memcmp(got, expected, bytes))
		return;
	for (i = 0; got[i] == expected[i]; i++)
		;
	i &= ~(size_t)3;
	fail_msg("%s: %s differs at 0x%zx: %02x%02x%02x%02x instead of %02x%02x%02x%02x", what,
		 where, i, got[i + 3], got[i + 2], got[i + 1], got[i], expected[i + 3],
		 expected[i + 2], expected[i + 1], expected[i]);
}

void cluster_compare(const struct cluster *cluster, const char *what)
{
	size_t half = cluster->config.acc_bytes / 2;

	compare(what, "plain local memory", cluster->plain.local, cluster->local,
		cluster->config.local_bytes);
	compare(what, "plain accumulators 0", cluster->plain.acc[0], cluster->acc[0], half);
	compare(what, "plain accumulators 1", cluster->plain.acc[1], cluster->acc[1], half);
	compare(what, "local memory", cluster->memory.local, cluster->local,
		cluster->config.local_bytes);
	compare(what, "accumulators 0", cluster->memory.acc[0], cluster->acc[0], half);
	compare(what, "accumulators 1", cluster->memory.acc[1], cluster->acc[1], half);
}
