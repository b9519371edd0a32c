// SPDX-License-Identifier: MIT
/* See reference.h. */
#include "reference.h"

#include <string.h>

/* Returns false when the packet cannot be executed now, or never. */
static bool execute(struct reference *reference, struct reference_queue *queue)
{
	const struct reference_packet *packet = &queue->packet[queue->done];
	uint64_t *value = NULL;

	if (packet->semaphore != REFERENCE_NONE)
		value = &reference->value[queue->context][packet->semaphore];
	switch (packet->kind) {
	case REFERENCE_BAD:
		return false;
	case REFERENCE_WAIT:
		return *value >= packet->value;
	case REFERENCE_TASK:
	case REFERENCE_SIGNAL:
		if (value)
			*value += packet->value;
		return true;
	default:
		return true;
	}
}

static bool pass(struct reference *reference)
{
	bool moved = false;

	for (unsigned int i = 0; i < reference->queues; i++) {
		struct reference_queue *queue = &reference->queue[i];

		while (queue->done < queue->pushed && queue->done < queue->limit &&
		       execute(reference, queue)) {
			queue->done++;
			moved = true;
		}
	}
	return moved;
}

void reference_run(struct reference *reference)
{
	memcpy(reference->value, reference->signalled, sizeof(reference->value));
	for (unsigned int i = 0; i < reference->queues; i++)
		reference->queue[i].done = 0;
	while (pass(reference))
		;
}
