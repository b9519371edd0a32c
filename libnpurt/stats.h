/* SPDX-License-Identifier: MIT */
/*
 * What the library tells the statistics page (stats_page.h). Every pointer may be NULL: then nobody
 * counts. The functions here that run with every task store into memory and do nothing else.
 */
#ifndef NPURT_STATS_H
#define NPURT_STATS_H

#include "objects.h"
#include "stats_page.h"

/** npurt_stats_open() - publish a page of a device; NULL where that cannot be, or is not wanted */
struct npurt_stats *npurt_stats_open(struct npurt_device *device);
void npurt_stats_close(struct npurt_stats *stats);

struct npurt_stats_queue *npurt_stats_add_queue(struct npurt_stats *stats,
						struct npurt_queue *queue, uint32_t priority);
/** npurt_stats_remove_queue() - its last task has ended */
void npurt_stats_remove_queue(struct npurt_stats *stats, struct npurt_stats_queue *row);

/** npurt_stats_add_model() - a row of a model or a graph; @from is copied, its number is given */
struct npurt_stats_model *npurt_stats_add_model(struct npurt_stats *stats,
						const struct npurt_stats_queue *queue,
						const struct npurt_stats_model *from);
void npurt_stats_remove_model(struct npurt_stats *stats, struct npurt_stats_model *row);

/* One writer at a time; readers see the value of before or after. */
static inline void npurt_stats_count(uint64_t *count, uint64_t more)
{
	__atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
}

static inline void npurt_stats_time(struct npurt_stats_times *times, int64_t ns)
{
	uint64_t span = ns > 0 ? (uint64_t)ns : 0;

	npurt_stats_count(&times->sum_ns, span);
	npurt_stats_count(&times->bucket[npurt_stats_bucket(span)], 1);
}

/** npurt_stats_ran() - a run or a replay has ended; under a lock of the row's own */
static inline void npurt_stats_ran(struct npurt_stats_model *row, const struct npurt_future *future)
{
	const struct npu_record *record = &future->record;

	if (!row)
		return;
	npurt_stats_count(&row->counts.runs, 1);
	if (future->result) {
		npurt_stats_count(&row->counts.failed, 1);
		npurt_stats_count(&row->counts.out_of_budget, future->result == -ETIME);
	}
	if (future->submit_ns)
		npurt_stats_time(&row->counts.latency, future->complete_ns - future->submit_ns);
	if (!future->has_record)
		return;
	npurt_stats_count(&row->counts.cycles, record->end - record->start);
	npurt_stats_count(&row->counts.mac_cycles, record->mac_cycles);
	npurt_stats_count(&row->counts.output_cycles, record->out_cycles);
	npurt_stats_count(&row->counts.vector_cycles, record->vector_cycles);
	npurt_stats_count(&row->counts.dma_cycles, record->dma_cycles);
	npurt_stats_count(&row->counts.stall_token_cycles, record->stall_token);
	npurt_stats_count(&row->counts.stall_memory_cycles, record->stall_memory);
	npurt_stats_count(&row->counts.dram_read_bytes, (uint64_t)record->dram_read * 64);
	npurt_stats_count(&row->counts.dram_write_bytes, (uint64_t)record->dram_write * 64);
}

/**
 * npurt_stats_retiring() - tasks are about to be let go of: never are more of them in flight
 *
 * Under retire_lock, like the next one.
 */
static inline void npurt_stats_retiring(struct npurt_stats_queue *row, uint64_t depth)
{
	if (row && depth > row->counts.high_water)
		__atomic_store_n(&row->counts.high_water, depth, __ATOMIC_RELAXED);
}

/** npurt_stats_waited() - a task of the queue has ended, which had others before it for a while */
static inline void npurt_stats_waited(struct npurt_queue *queue, const struct npurt_future *future)
{
	if (!queue->stats || !future->submit_ns)
		return;
	npurt_stats_time(&queue->stats->counts.wait, queue->front_ns - future->submit_ns);
	queue->front_ns = future->complete_ns;
}

/** npurt_stats_refused() - the queue is full, and a submission ends with this; any thread */
static inline void npurt_stats_refused(struct npurt_stats_queue *row, int error)
{
	if (row)
		__atomic_fetch_add(error == -ETIMEDOUT ? &row->counts.timed_out :
							 &row->counts.refused,
				   1, __ATOMIC_RELAXED);
}

#endif /* NPURT_STATS_H */
