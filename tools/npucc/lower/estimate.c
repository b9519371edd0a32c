// SPDX-License-Identifier: MIT
#include "estimate.h"

#include <stdlib.h>
#include <string.h>

#include "operation.h"

struct sums {
	uint64_t engine[NPU_ENGINE_COUNT]; /* busy cycles of the busiest cluster */
	uint64_t first_load, last_store; /* what nothing overlaps */
	uint64_t bursts, global_bytes;
	uint64_t code; /* bytes, of the longest stream */
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bursts of one side: runs by the smallest strides, each with its ragged ends. */
static uint64_t bursts_of(const struct npu_tensor *tensor)
{
	uint64_t run = tensor->element_bytes, runs = 1, stride;
	bool used[4] = { false };
	int d, i, best;

	for (i = 0; i < 4; i++) {
		best = -1;
		for (d = 0; d < 4; d++)
			if (!used[d] &&
			    (best < 0 || llabs(tensor->stride[d]) < llabs(tensor->stride[best])))
				best = d;
		used[best] = true;
		stride = (uint64_t)llabs(tensor->stride[best]);
		if (tensor->dim[best] == 1 || !stride)
			continue;
		/* Runs closer than a burst share it. */
		if (runs == 1 && (stride <= run || stride < NPU_BURST_BYTES))
			run = stride * (tensor->dim[best] - 1) + run;
		else
			runs *= tensor->dim[best];
	}
	return runs * ((run + NPU_BURST_BYTES - 1) / NPU_BURST_BYTES) +
	       (run % NPU_BURST_BYTES ? runs / 2 : 0);
}

static uint64_t dma_time(const struct npu_config *config, const struct npu_operation *op,
			 struct sums *sums)
{
	const struct npu_tensor *sides[2] = { &op->src[0], &op->dst };
	uint64_t time = op->work, bursts = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (sides[i]->space == NPU_SPACE_DRAM)
			bursts += bursts_of(sides[i]);
		else if (sides[i]->space == NPU_SPACE_GLOBAL)
			sums->global_bytes += op->dma.bytes;
	}
	sums->bursts += bursts;
	time = most(time, bursts * npu_config_burst_cycles(config));
	return time + (bursts ? config->dram_latency : 0);
}

static void add_operation(const struct npu_config *config, const struct npu_operation *op,
			  uint64_t engine[NPU_ENGINE_COUNT], struct sums *sums)
{
	uint64_t time = op->work + op->start;

	if (op->opcode == NPU_OP_DMA) {
		time = dma_time(config, op, sums);
		if (op->dst.space == NPU_SPACE_LOCAL)
			sums->first_load = sums->first_load ? sums->first_load : time;
		else
			sums->last_store = time;
	}
	engine[op->engine] += time;
}

static void add_cluster(const struct lower *lower, uint32_t cluster, size_t at,
			struct estimate_registers *registers, struct sums *sums)
{
	uint64_t engine[NPU_ENGINE_COUNT] = { 0 }, detail;
	size_t size, first = at;
	const uint8_t *code = stream_bytes(lower->streams[cluster], &size);
	struct npu_operation op;
	struct npu_insn insn;
	uint32_t error;
	unsigned int i;

	for (; at + sizeof(insn) <= size; at += sizeof(insn)) {
		memcpy(&insn, code + at, sizeof(insn));
		if (npu_operation_decode(lower->config, &insn, registers->td, &op, &error, &detail))
			continue; /* the device would say so; an estimate need not */
		if (op.opcode == NPU_OP_LDTD && at + sizeof(insn) + sizeof(struct npu_td) <= size) {
			memcpy(&registers->td[op.target], code + at + sizeof(insn),
			       sizeof(struct npu_td));
			at += sizeof(struct npu_td);
		} else if (op.opcode == NPU_OP_TDSET) {
			npu_td_set(&registers->td[op.target], &op);
		} else if (op.engine != NPU_ENGINE_FRONT) {
			add_operation(lower->config, &op, engine, sums);
		}
	}
	for (i = 0; i < NPU_ENGINE_COUNT; i++)
		sums->engine[i] = most(sums->engine[i], engine[i]);
	sums->code = most(sums->code, size - first);
}

void estimate_layer(const struct lower *lower, struct estimate_registers *registers,
		    const size_t start[NPU_PROGRAM_CLUSTERS_MAX], struct lower_figures *figures)
{
	const struct npu_config *config = lower->config;
	uint64_t burst = npu_config_burst_cycles(config), blocks, time, total = 0;
	struct sums sums = { 0 };
	uint32_t cluster;
	unsigned int i;

	for (cluster = 0; cluster < lower->clusters; cluster++)
		add_cluster(lower, cluster, start[cluster], &registers[cluster], &sums);
	for (i = 0; i < NPU_ENGINE_COUNT; i++)
		total = most(total, sums.engine[i]);
	blocks = (sums.code + config->fetch_block_bytes - 1) / config->fetch_block_bytes;
	time = blocks *
	       (config->dram_latency + config->fetch_block_bytes / NPU_BURST_BYTES * burst);
	total = most(most(total, time), sums.bursts * burst);
	total = most(total, sums.global_bytes / config->global_sram_bytes);
	if (!figures->cycles)
		figures->cycles =
			total + sums.first_load + sums.last_store + config->barrier_cycles;
	if (!figures->dram_bytes)
		figures->dram_bytes = sums.bursts * NPU_BURST_BYTES;
}
