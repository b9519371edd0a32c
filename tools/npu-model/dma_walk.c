// SPDX-License-Identifier: MIT
/*
 * DMA, its timing: bursts, translations, demands. timing.rst, "DMA" and "TLB".
 */
#include "cluster.h"
#include "machine.h"

/* One side of a transfer in DRAM, in the order in which it is visited. */
struct visit {
	struct npu_model *model;
	unsigned int context;
	enum npu_access access;
	uint64_t run;			/* bytes without a gap */
	unsigned int dims;		/* outer dims, the outermost first */
	uint32_t dim[4];
	int64_t stride[4];

	uint64_t bursts;
	uint64_t last_burst;
	uint64_t last_page;
	bool begun;
	unsigned int levels;		/* levels read for the first page */
};

static int64_t absolute(int64_t value)
{
	return value < 0 ? -value : value;
}

/* Dims that move the address, by falling stride; equal strides keep the descriptor's order. */
static void sort_dims(struct visit *visit, const struct npu_tensor *tensor)
{
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int to = visit->dims;

		if (tensor->dim[i] == 1 || !tensor->stride[i])
			continue;
		while (to && absolute(visit->stride[to - 1]) < absolute(tensor->stride[i])) {
			visit->dim[to] = visit->dim[to - 1];
			visit->stride[to] = visit->stride[to - 1];
			to--;
		}
		visit->dim[to] = tensor->dim[i];
		visit->stride[to] = tensor->stride[i];
		visit->dims++;
	}
}

/* Innermost dims whose elements follow each other become part of the run. */
static void join_dims(struct visit *visit)
{
	while (visit->dims && visit->stride[visit->dims - 1] == (int64_t)visit->run) {
		visit->run *= visit->dim[visit->dims - 1];
		visit->dims--;
	}
}

static void touch_pages(struct visit *visit, uint64_t first, uint64_t last)
{
	for (uint64_t page = first; page <= last; page++) {
		unsigned int levels;

		if (visit->begun && page == visit->last_page)
			continue;
		levels = npu_mmu_touch(visit->model, visit->context, page << NPU_PAGE_SHIFT,
				       visit->access);
		if (!visit->begun)
			visit->levels = levels;
		visit->begun = true;
		visit->last_page = page;
	}
}

static void visit_run(struct visit *visit, uint64_t address)
{
	uint64_t last_byte = address + visit->run - 1;
	uint64_t first = address / NPU_BURST_BYTES;
	uint64_t last = last_byte / NPU_BURST_BYTES;

	/* At the end of the address space nothing is mapped: the access will fault. */
	if (last < first)
		return;
	visit->bursts += last - first + 1;
	if (visit->begun && first == visit->last_burst)
		visit->bursts--;
	visit->last_burst = last;
	touch_pages(visit, address >> NPU_PAGE_SHIFT, last_byte >> NPU_PAGE_SHIFT);
}

static void visit_all(struct visit *visit, uint64_t base)
{
	uint32_t index[4] = { 0 };
	uint64_t address = base;

	for (;;) {
		unsigned int d = visit->dims;

		visit_run(visit, address);
		for (;;) {
			if (!d)
				return;
			d--;
			address += (uint64_t)visit->stride[d];
			if (++index[d] < visit->dim[d])
				break;
			address -= (uint64_t)visit->stride[d] * visit->dim[d];
			index[d] = 0;
		}
	}
}

/* Bursts of a side in DRAM; the levels of its first page's walk are added to *levels. */
static uint32_t count_side(struct npu_model *model, const struct npu_task *task,
			   const struct npu_tensor *tensor, enum npu_access access,
			   unsigned int *levels)
{
	struct visit visit = {
		.model = model,
		.context = task->context,
		.access = access,
		.run = tensor->element_bytes,
	};

	sort_dims(&visit, tensor);
	join_dims(&visit);
	visit_all(&visit, task->argument[tensor->argument] + (uint64_t)tensor->offset);
	*levels += visit.levels;
	return (uint32_t)visit.bursts;
}

/* What a multicast or an own cluster's memory takes in. */
static void demand_destination(struct npu_flow *flow, const struct npu_task *task,
			       const struct npu_cluster *own,
			       const struct npu_operation *operation, bool from_global)
{
	uint64_t bytes = operation->dma.bytes;

	for (unsigned int i = 0; i < task->clusters; i++) {
		unsigned int cluster = task->cluster[i];
		bool chosen = operation->dma.multicast ? operation->dma.multicast >> i & 1 :
							 cluster == own->number;

		if (!chosen)
			continue;
		npu_flow_demand(flow, NPU_RESOURCE(cluster, NPU_RESOURCE_LOCAL_WRITE), bytes,
				operation->work);
		if (from_global)
			npu_flow_demand(flow, NPU_RESOURCE(cluster, NPU_RESOURCE_PORT_READ), bytes,
					operation->work);
	}
}

static void demand(struct npu_flow *flow, const struct npu_task *task,
		   const struct npu_cluster *own, const struct npu_job *job)
{
	const struct npu_operation *operation = &job->operation;
	bool from_global = operation->src[0].space == NPU_SPACE_GLOBAL;
	bool to_global = operation->dst.space == NPU_SPACE_GLOBAL;
	uint64_t bytes = operation->dma.bytes;
	uint64_t work = operation->work;
	uint64_t bursts = (uint64_t)job->bursts_read + job->bursts_write;

	npu_flow_reset(flow);
	npu_flow_demand(flow, NPU_RESOURCE_DRAM, bursts * NPU_BURST_BYTES, work);
	npu_flow_demand(flow, NPU_RESOURCE_GLOBAL, bytes * (from_global + to_global), work);
	if (operation->src[0].space == NPU_SPACE_LOCAL)
		npu_flow_demand(flow, NPU_RESOURCE(own->number, NPU_RESOURCE_LOCAL_READ), bytes,
				work);
	if (operation->dst.space == NPU_SPACE_LOCAL)
		demand_destination(flow, task, own, operation, from_global);
	else if (from_global)
		npu_flow_demand(flow, NPU_RESOURCE(own->number, NPU_RESOURCE_PORT_READ), bytes,
				work);
	if (to_global)
		npu_flow_demand(flow, NPU_RESOURCE(own->number, NPU_RESOURCE_PORT_WRITE), bytes,
				work);
}

uint64_t npu_dma_prepare(struct npu_model *model, struct npu_cluster *cluster, struct npu_job *job,
			 struct npu_flow *flow)
{
	const struct npu_task *task = cluster->task;
	struct npu_operation *operation = &job->operation;
	uint64_t burst_work, latency = 0;
	unsigned int levels = 0;

	job->bursts_read = 0;
	job->bursts_write = 0;
	if (operation->src[0].space == NPU_SPACE_DRAM) {
		job->bursts_read = count_side(model, task, &operation->src[0], NPU_ACCESS_READ,
					      &levels);
		latency += model->config.dram_latency;
	}
	if (operation->dst.space == NPU_SPACE_DRAM) {
		job->bursts_write = count_side(model, task, &operation->dst, NPU_ACCESS_WRITE,
					       &levels);
		latency += model->config.dram_latency;
	}
	burst_work = ((uint64_t)job->bursts_read + job->bursts_write) *
		     npu_config_burst_cycles(&model->config);
	if (burst_work > operation->work)
		operation->work = burst_work;
	demand(flow, task, cluster, job);
	return latency + (uint64_t)levels * npu_walk_cycles(&model->config);
}
