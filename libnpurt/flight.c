// SPDX-License-Identifier: MIT
/*
 * What the queue did before something went wrong: completion records stay in its memory until their
 * places are used again, so nothing has to be kept for this.
 */
#include <inttypes.h>

#include "objects.h"

#define SHOWN 16u

void npurt_queue_log_last(struct npurt_queue *queue, uint64_t index)
{
	const struct npurt_log *log = &queue->context->device->log;
	uint64_t shown = queue->ring.depth < SHOWN ? queue->ring.depth : SHOWN;
	uint64_t i = index >= shown ? index - shown + 1 : 0;

	if (!npurt_log_enabled(log, NPURT_LOG_ERROR))
		return;
	/* Of failures that follow each other each tells what the one before has not. */
	i = i > queue->logged ? i : queue->logged;
	queue->logged = index + 1;
	for (; i <= index; i++) {
		const struct npu_record *record = npurt_queue_record(queue, i);

		/* The end of a graph has no record, nor has what was lost. */
		if (le32toh(record->task_id) != (uint32_t)(i + 1))
			continue;
		npurt_log_line(log, NPURT_LOG_ERROR,
			       "context %p: recorded: task %u from cycle %" PRIu64 " to %" PRIu64
			       ", MAC %u, vector %u, DMA %u, error %u",
			       (void *)queue->context, (uint32_t)(i + 1), le64toh(record->start),
			       le64toh(record->end), le32toh(record->mac_cycles),
			       le32toh(record->vector_cycles), le32toh(record->dma_cycles),
			       le16toh(record->error));
	}
}
