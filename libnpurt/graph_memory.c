// SPDX-License-Identifier: MIT
/*
 * What a replay has on the device: one packet and one record for each device node, in the order of
 * graph->order[], then the arguments of runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "npu_pgtable.h"
#include "run_packet.h"

/* Where a device looks for a record or for arguments. */
#define BLOCK 64u

static unsigned char *at(const struct npurt_replay *replay, uint64_t offset)
{
	return replay->memory->memory.host + offset;
}

static uint64_t record_offset(const struct npurt_graph *graph, uint32_t place)
{
	return ((uint64_t)graph->device_nodes + place) * BLOCK;
}

uint64_t npurt_replay_list(const struct npurt_replay *replay, uint32_t place)
{
	return replay->memory->va + (uint64_t)place * NPU_PACKET_BYTES;
}

const struct npu_record *npurt_replay_record(const struct npurt_replay *replay, uint32_t place)
{
	return (const void *)at(replay, record_offset(replay->graph, place));
}

struct npurt_run npurt_replay_run(const struct npurt_replay *replay, uint32_t index)
{
	const struct npurt_node *node = &replay->graph->node[index];

	return (struct npurt_run){
		.model = node->run.model,
		.uses = &replay->held[node->first_use],
		.use_count = node->run.use_count,
	};
}

/* Gives every device node room for its arguments, the first time. */
static void lay_out(struct npurt_graph *graph)
{
	uint64_t offset = 2 * (uint64_t)graph->device_nodes * BLOCK;
	uint32_t i;

	for (i = 0; i < graph->device_nodes; i++) {
		struct npurt_node *node = &graph->node[graph->order[i]];

		node->first_use = graph->uses;
		graph->uses += node->run.use_count;
		if (node->kind != NPURT_NODE_RUN)
			continue;
		node->arguments = offset;
		offset += (npurt_run_argument_count(&node->run) * sizeof(__le64) + BLOCK - 1) &
			  ~(uint64_t)(BLOCK - 1);
	}
	graph->memory_bytes = offset;
}

int npurt_replay_init(struct npurt_replay *replay, struct npurt_graph *graph)
{
	uint32_t i;

	replay->graph = graph;
	replay->unit = calloc((size_t)graph->units + 1, sizeof(*replay->unit));
	replay->result = calloc((size_t)graph->nodes + 1, sizeof(*replay->result));
	replay->cancelled = calloc((size_t)graph->nodes + 1, sizeof(*replay->cancelled));
	if (graph->device_nodes && !graph->memory_bytes)
		lay_out(graph);
	replay->held = calloc((size_t)graph->uses + 1, sizeof(*replay->held));
	if (!replay->unit || !replay->result || !replay->cancelled || !replay->held)
		return npurt_fail(-ENOMEM, "npurt: no memory for a graph of %u nodes",
				  graph->nodes);
	for (i = 0; i < graph->units; i++) {
		replay->unit[i].replay = replay;
		replay->unit[i].unit = i;
		replay->unit[i].task.ops = &npurt_segment_ops;
		replay->unit[i].task.timed = true;
		replay->unit[i].task.packets = npurt_graph_packets(&graph->unit[i]);
		if (graph->context->queue.bytes_max)
			replay->unit[i].task.bytes = npurt_graph_bytes(graph, &graph->unit[i]);
	}
	if (!graph->device_nodes)
		return 0;
	return npurt_buffer_new(graph->context, graph->memory_bytes, NPU_PROT_READ | NPU_PROT_WRITE,
				&replay->memory);
}

void npurt_replay_fini(struct npurt_replay *replay)
{
	uint32_t i;

	if (!replay->graph)
		return;
	for (i = 0; replay->held && i < replay->graph->uses; i++)
		npurt_buffer_put(replay->held[i].buffer);
	for (i = 0; replay->unit && i < replay->graph->units; i++)
		free(replay->unit[i].reason);
	npurt_buffer_put(replay->memory);
	free(replay->held);
	free(replay->unit);
	free(replay->result);
	free(replay->cancelled);
}

static void write_run(struct npurt_replay *replay, uint32_t place, const struct npurt_node *node)
{
	const struct npurt_graph *graph = replay->graph;
	const struct npurt_run run = npurt_replay_run(replay, graph->order[place]);
	struct npu_packet_exec *packet = (void *)at(replay, (uint64_t)place * NPU_PACKET_BYTES);
	const struct npurt_run_place where = {
		.task_id = graph->first_task_id + place,
		.arguments = replay->memory->va + node->arguments,
		.record = replay->memory->va + record_offset(graph, place),
	};

	npurt_run_arguments(&run, (__le64 *)(void *)at(replay, node->arguments));
	packet->header = npurt_run_packet(&run, node->budget, &where, packet);
}

static uint64_t binding_address(const struct npurt_binding *binding)
{
	return binding->buffer->va + binding->offset;
}

static void write_copy(struct npurt_replay *replay, uint32_t place, const struct npurt_node *node)
{
	const struct npurt_graph *graph = replay->graph;
	struct npu_packet_copy packet = {
		.header = htole32(NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0)),
		.task_id = htole32(graph->first_task_id + place),
		.source = htole64(binding_address(&replay->held[node->first_use])),
		.destination = htole64(binding_address(&replay->held[node->first_use + 1])),
		.record = htole64(replay->memory->va + record_offset(graph, place)),
		.bytes = htole32((uint32_t)node->bytes),
		.signal_sem = htole16(NPU_SEM_NONE),
	};

	memcpy(at(replay, (uint64_t)place * NPU_PACKET_BYTES), &packet, sizeof(packet));
}

/* The replay's own hold: the graph may be bound to something else while this one runs. */
static void hold(struct npurt_replay *replay, const struct npurt_node *node)
{
	uint32_t i;

	for (i = 0; i < node->run.use_count; i++) {
		struct npurt_binding *held = &replay->held[node->first_use + i];

		if (held->buffer != node->run.uses[i].buffer) {
			npurt_buffer_put(held->buffer);
			npurt_count_up(&node->run.uses[i].buffer->references);
		}
		*held = node->run.uses[i];
	}
}

void npurt_replay_write(struct npurt_replay *replay)
{
	const struct npurt_graph *graph = replay->graph;
	uint32_t i;

	if (replay->lists_written && replay->version == graph->version)
		return;
	for (i = 0; i < graph->device_nodes; i++) {
		const struct npurt_node *node = &graph->node[graph->order[i]];

		hold(replay, node);
		if (node->kind == NPURT_NODE_RUN)
			write_run(replay, i, node);
		else
			write_copy(replay, i, node);
	}
	replay->version = graph->version;
	replay->lists_written = true;
}

void npurt_replay_skip(struct npurt_replay *replay, uint32_t place)
{
	__le32 header = htole32(NPU_PACKET_HEADER(NPU_PACKET_NOP, 0, 0));
	unsigned char *packet = at(replay, (uint64_t)place * NPU_PACKET_BYTES);

	memset(packet, 0, NPU_PACKET_BYTES);
	memcpy(packet, &header, sizeof(header));
	replay->lists_written = false;
}
