/* SPDX-License-Identifier: MIT */
/*
 * Shared bandwidth: how fast running operations proceed. timing.rst, "Operations and rates".
 *
 * All in integers. An operation's remaining work is brought up to date only when its own rate
 * changes, which gives the same numbers as doing it at every change, because work done at one rate
 * is linear in time.
 */
#ifndef NPU_MODEL_BANDWIDTH_H
#define NPU_MODEL_BANDWIDTH_H

#include <stdint.h>

#include "config.h"
#include "event.h"

/* Resources by number: four of each cluster, then the shared ones. */
enum npu_resource_of_cluster {
	NPU_RESOURCE_LOCAL_READ = 0,
	NPU_RESOURCE_LOCAL_WRITE = 1,
	NPU_RESOURCE_PORT_READ = 2,	/* global SRAM to the cluster */
	NPU_RESOURCE_PORT_WRITE = 3,
};

#define NPU_RESOURCE(cluster, which)	((cluster) * 4u + (which))
#define NPU_RESOURCE_GLOBAL		(NPU_CONFIG_CLUSTERS_MAX * 4u)
#define NPU_RESOURCE_DRAM		(NPU_RESOURCE_GLOBAL + 1u)
#define NPU_RESOURCE_COUNT		(NPU_RESOURCE_DRAM + 1u)

/* A multicast from global SRAM: its reads, and a port and a local SRAM of every cluster. */
#define NPU_FLOW_DEMANDS_MAX		(2u * NPU_CONFIG_CLUSTERS_MAX + 4u)

/* Flows that may run at once: every engine and the prefetcher of each cluster, and COPY. */
#define NPU_FLOWS_MAX			64u

#define NPU_RATE_FULL			65536u

struct npu_demand {
	uint8_t resource;
	uint32_t bytes;			/* a cycle */
};

/**
 * struct npu_flow - the work phase of an operation
 * @end:	handled when the work is done; the owner sets handler and rank
 * @id:		index among the flows, unique, below NPU_FLOWS_MAX
 * @demand:	what it uses, set before npu_bandwidth_start()
 */
struct npu_flow {
	struct npu_alarm end;
	uint8_t id;
	uint8_t demand_count;
	uint32_t rate;
	uint64_t remaining;		/* 1/65536 cycles, at time `since` */
	uint64_t since;
	struct npu_demand demand[NPU_FLOW_DEMANDS_MAX];
};

struct npu_resource {
	uint64_t capacity;
	uint64_t sum;
	uint64_t users;			/* a bit a flow */
	uint32_t rate;
};

struct npu_bandwidth {
	struct npu_resource resource[NPU_RESOURCE_COUNT];
	struct npu_flow *flow[NPU_FLOWS_MAX];
};

/** npu_bandwidth_init() - capacities of a configuration, nothing running */
void npu_bandwidth_init(struct npu_bandwidth *bandwidth, const struct npu_config *config);

/** npu_flow_reset() - forget the demands of the operation before */
static inline void npu_flow_reset(struct npu_flow *flow)
{
	flow->demand_count = 0;
}

/**
 * npu_flow_demand() - declare @bytes moved in @work cycles on a resource
 *
 * Zero bytes declare nothing. A resource may be named once only.
 */
void npu_flow_demand(struct npu_flow *flow, unsigned int resource, uint64_t bytes, uint64_t work);

/**
 * npu_bandwidth_start() - the work phase begins at @now
 * @work:	cycles at full rate, 1 .. 2^40
 *
 * Schedules flow->end, and moves the ends of those that share with it.
 */
void npu_bandwidth_start(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
			 struct npu_flow *flow, uint64_t now, uint64_t work);

/**
 * npu_bandwidth_stop() - the work phase is over, done or not; cancels flow->end
 */
void npu_bandwidth_stop(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
			struct npu_flow *flow, uint64_t now);

#endif /* NPU_MODEL_BANDWIDTH_H */
