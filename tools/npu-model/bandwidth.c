// SPDX-License-Identifier: MIT
/* Shared bandwidth. See bandwidth.h. */
#include "bandwidth.h"

#include <string.h>

#define WORK_SHIFT	16

void npu_bandwidth_init(struct npu_bandwidth *bandwidth, const struct npu_config *config)
{
	struct npu_resource *resource = bandwidth->resource;

	memset(bandwidth, 0, sizeof(*bandwidth));
	for (unsigned int i = 0; i < NPU_RESOURCE_COUNT; i++)
		resource[i].rate = NPU_RATE_FULL;
	for (unsigned int i = 0; i < NPU_CONFIG_CLUSTERS_MAX; i++) {
		resource[NPU_RESOURCE(i, NPU_RESOURCE_LOCAL_READ)].capacity =
			config->local_read_bytes;
		resource[NPU_RESOURCE(i, NPU_RESOURCE_LOCAL_WRITE)].capacity =
			config->local_write_bytes;
		resource[NPU_RESOURCE(i, NPU_RESOURCE_PORT_READ)].capacity =
			config->global_port_bytes;
		resource[NPU_RESOURCE(i, NPU_RESOURCE_PORT_WRITE)].capacity =
			config->global_port_bytes;
	}
	resource[NPU_RESOURCE_GLOBAL].capacity = config->global_sram_bytes;
	resource[NPU_RESOURCE_DRAM].capacity = config->dram_bytes;
}

void npu_flow_demand(struct npu_flow *flow, unsigned int resource, uint64_t bytes, uint64_t work)
{
	uint64_t demand;

	if (!bytes || flow->demand_count == NPU_FLOW_DEMANDS_MAX)
		return;
	demand = (bytes - 1) / work + 1;
	flow->demand[flow->demand_count++] = (struct npu_demand){
		.resource = (uint8_t)resource,
		.bytes = demand > UINT32_MAX ? UINT32_MAX : (uint32_t)demand,
	};
}

static uint32_t resource_rate(const struct npu_resource *resource)
{
	uint64_t rate;

	if (resource->sum <= resource->capacity)
		return NPU_RATE_FULL;
	rate = NPU_RATE_FULL * resource->capacity / resource->sum;
	/* However many want it, the work of each gets done. */
	return rate ? (uint32_t)rate : 1;
}

static uint32_t flow_rate(const struct npu_bandwidth *bandwidth, const struct npu_flow *flow)
{
	uint32_t rate = NPU_RATE_FULL;

	for (unsigned int i = 0; i < flow->demand_count; i++) {
		uint32_t limit = bandwidth->resource[flow->demand[i].resource].rate;

		if (limit < rate)
			rate = limit;
	}
	return rate;
}

static void schedule_end(struct npu_event_queue *queue, struct npu_flow *flow)
{
	uint64_t cycles = (flow->remaining + flow->rate - 1) / flow->rate;

	npu_event_schedule(queue, &flow->end, flow->since + cycles);
}

static void change_rate(struct npu_event_queue *queue, struct npu_flow *flow, uint64_t now,
			uint32_t rate)
{
	uint64_t done = flow->rate * (now - flow->since);

	flow->remaining -= done < flow->remaining ? done : flow->remaining;
	flow->since = now;
	flow->rate = rate;
	schedule_end(queue, flow);
}

/* The sums of the resources @flow uses have changed: find the rates of all who share one. */
static void settle(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
		   const struct npu_flow *flow, uint64_t now)
{
	uint64_t affected = 0;

	for (unsigned int i = 0; i < flow->demand_count; i++) {
		struct npu_resource *resource = &bandwidth->resource[flow->demand[i].resource];
		uint32_t rate = resource_rate(resource);

		if (rate == resource->rate)
			continue;
		resource->rate = rate;
		affected |= resource->users;
	}
	while (affected) {
		struct npu_flow *other = bandwidth->flow[__builtin_ctzll(affected)];
		uint32_t rate = flow_rate(bandwidth, other);

		affected &= affected - 1;
		if (rate != other->rate)
			change_rate(queue, other, now, rate);
	}
}

void npu_bandwidth_start(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
			 struct npu_flow *flow, uint64_t now, uint64_t work)
{
	bandwidth->flow[flow->id] = flow;
	flow->remaining = work << WORK_SHIFT;
	flow->since = now;
	flow->rate = NPU_RATE_FULL;
	for (unsigned int i = 0; i < flow->demand_count; i++) {
		struct npu_resource *resource = &bandwidth->resource[flow->demand[i].resource];

		resource->sum += flow->demand[i].bytes;
		resource->users |= 1ull << flow->id;
	}
	settle(bandwidth, queue, flow, now);
	/* A resource that was short already, and stays at that rate, affects the newcomer too. */
	flow->rate = flow_rate(bandwidth, flow);
	schedule_end(queue, flow);
}

void npu_bandwidth_stop(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
			struct npu_flow *flow, uint64_t now)
{
	npu_event_cancel(queue, &flow->end);
	if (bandwidth->flow[flow->id] != flow)
		return;
	bandwidth->flow[flow->id] = NULL;
	for (unsigned int i = 0; i < flow->demand_count; i++) {
		struct npu_resource *resource = &bandwidth->resource[flow->demand[i].resource];

		resource->sum -= flow->demand[i].bytes;
		resource->users &= ~(1ull << flow->id);
	}
	settle(bandwidth, queue, flow, now);
}
