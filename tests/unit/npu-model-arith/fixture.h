/* SPDX-License-Identifier: MIT */
/*
 * A cluster under test, three times: the library with and without the host's vector
 * instructions, and the reference, which is written from the manual and shares nothing with it.
 */
#ifndef TEST_FIXTURE_H
#define TEST_FIXTURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "execute.h"
#include "npu/npu_isa.h"
#include "operation.h"

struct cluster {
	struct npu_config config, plain_config;
	struct npu_cluster_memory memory, plain;
	uint8_t *local, *acc[2];	/* the reference's */
	struct npu_td tds[NPU_TD_COUNT];
};

/* Every test is repeatable: a generator of its own, seeded by the test. */
struct random {
	uint64_t state;
};

uint32_t random_u32(struct random *random);
/* low..high, both included. */
uint32_t random_range(struct random *random, uint32_t low, uint32_t high);
bool random_chance(struct random *random, uint32_t one_in);
/* An fp16 of moderate size; now and then a zero, a subnormal, an infinity, a NaN, any bits. */
uint16_t random_half(struct random *random, bool special);
float random_float(struct random *random, bool special);

/* A cluster of this configuration, memories equal and filled with random bytes. */
void cluster_open(struct cluster *cluster, const char *configuration, struct random *random);
void cluster_close(struct cluster *cluster);
/* The same bytes into all three local memories. */
void cluster_poke(struct cluster *cluster, int64_t offset, const void *bytes, size_t count);
void cluster_fill_random(struct cluster *cluster, struct random *random);
/* Fills an area with elements of a type: numbers, not just bits. */
void cluster_fill_type(struct cluster *cluster, struct random *random, int64_t offset,
		       size_t bytes, unsigned int dtype, bool special);

struct npu_td make_tensor(unsigned int dtype, int64_t offset, const uint32_t dim[4],
			  const int64_t stride[4], int zero);
/* Natural strides, innermost contiguous, rows `gap` bytes apart beyond their length. */
void natural_strides(int64_t stride[4], const uint32_t dim[4], unsigned int dtype, uint32_t gap);

/* Decodes; fails the test if the decoder refuses. */
struct npu_operation must_decode(const struct cluster *cluster, const struct npu_insn *insn);
/* Executes with the library, both ways; the reference does its part before cluster_compare(). */
void cluster_execute(struct cluster *cluster, const struct npu_insn *insn);
/* All memories equal; the message names what differs. */
void cluster_compare(const struct cluster *cluster, const char *what);

/* -------------------------------------------------------------- reference (reference.c) */
float reference_from_half(uint16_t half);
uint16_t reference_to_half(float value);
float reference_load(const uint8_t *at, unsigned int dtype, int zero);
void reference_store(uint8_t *at, unsigned int dtype, int zero, float value);
/* Address of an element of a descriptor in the reference's local memory. */
uint8_t *reference_element(const struct cluster *cluster, const struct npu_td *td,
			   const uint32_t index[4]);
unsigned int reference_dtype(const struct npu_td *td);
int reference_zero(const struct npu_td *td);
float reference_max(float a, float b);
float reference_min(float a, float b);
float reference_table(const uint8_t *table, float x);
float reference_function(unsigned int subop, float x);

void reference_mac(struct cluster *cluster, const struct npu_insn *insn);
void reference_out(struct cluster *cluster, const struct npu_insn *insn);
void reference_vec(struct cluster *cluster, const struct npu_insn *insn);
void reference_layout(struct cluster *cluster, const struct npu_insn *insn);

#endif /* TEST_FIXTURE_H */
