// SPDX-License-Identifier: MIT
/*
 * The mock's command processor: slots and what they do with the tasks of their queues.
 */
#include "mock.h"

#define NEVER		(~(uint64_t)0)
#define NO_QUEUE	(~0u)

static uint32_t waiting_tasks(const struct mock_queue *queue)
{
	return queue->pushed - queue->finished;
}

static struct mock_task *head(struct mock_queue *queue)
{
	return &queue->task[queue->finished % MOCK_TASKS];
}

static unsigned int context_of(const struct mock_queue *queue)
{
	return queue->registers[NPU_QUEUE_CONFIG / 4] & 0xff;
}

static void event(struct mock *mock, struct mock_slot *slot, uint32_t events)
{
	slot->events |= events;
	mock_interrupt(mock, NPU_CORE_IRQ_SLOT);
}

static void look(struct mock *mock, struct mock_slot *slot)
{
	slot->state = NPU_SLOT_STATE_FETCH;
	slot->until = mock_now(mock) + MOCK_FETCH;
	slot->look_again = false;
}

static void check_grants(const struct mock *mock, unsigned int number)
{
	const struct mock_slot *slot = &mock->slot[number];

	for (unsigned int i = 0; i < MOCK_SLOTS; i++) {
		const struct mock_slot *other = &mock->slot[i];

		if (i == number || !other->clusters)
			continue;
		if (slot->clusters & other->clusters)
			mock_complain(mock, "slots %u and %u share clusters: %x and %x", number, i,
				      slot->clusters, other->clusters);
		if ((uint64_t)slot->window < (uint64_t)other->window + other->window_bytes &&
		    (uint64_t)other->window < (uint64_t)slot->window + slot->window_bytes)
			mock_complain(mock, "slots %u and %u share global SRAM", number, i);
	}
}

static unsigned int clusters_in(uint32_t mask)
{
	return (unsigned int)__builtin_popcount(mask);
}

static bool fits(const struct mock_slot *slot, const struct mock_task *task)
{
	return slot->clusters && slot->written_grant &&
	       clusters_in(slot->clusters) >= task->clusters && slot->window_bytes >= task->bytes;
}

static void start(struct mock *mock, struct mock_slot *slot, const struct mock_task *task)
{
	slot->state = NPU_SLOT_STATE_RUNNING;
	slot->until = mock_now(mock) + task->cycles;
	mock->asleep = 0;
}

/* A queue comes into a slot. */
static void enter(struct mock *mock, struct mock_slot *slot, unsigned int number)
{
	struct mock_queue *queue = &mock->queue[number];

	slot->queue = number;
	slot->detach = false;
	look(mock, slot);
	queue->parked = false;
	queue->attaches++;
	queue->attached_at = mock_now(mock);
	if (queue->rung && mock_now(mock) - queue->rung_at > queue->longest_wait)
		queue->longest_wait = mock_now(mock) - queue->rung_at;
	queue->rung = false;
}

/* The queue of CORE_NEXT follows in a slot that is being left. */
static bool follow(struct mock *mock, struct mock_slot *slot)
{
	uint32_t next = mock->next;
	unsigned int number = next & 0xff;

	if (!(next & NPU_NEXT_VALID))
		return false;
	mock->next &= ~NPU_NEXT_VALID;
	if (number >= mock->config.queues || mock_queue_in_slot(mock, number) ||
	    !(mock->queue[number].registers[NPU_QUEUE_CONFIG / 4] & NPU_QUEUE_CONFIG_VALID) ||
	    mock->queue[number].registers[NPU_QUEUE_ERROR / 4])
		return false;
	if (!(next & NPU_NEXT_GRANT)) {
		slot->clusters = 0;
		slot->written_grant = 0;
	}
	enter(mock, slot, number);
	mock->switches++;
	event(mock, slot, NPU_SLOT_EVENT_SWITCHED);
	return true;
}

static void release(struct mock *mock, unsigned int number)
{
	struct mock_slot *slot = &mock->slot[number];
	struct mock_queue *queue = &mock->queue[slot->queue];
	bool waiting = slot->state == NPU_SLOT_STATE_WAITING;
	bool stopped = queue->registers[NPU_QUEUE_ERROR / 4] != 0;
	uint32_t events = slot->events;
	uint32_t left = slot->left;
	bool work = waiting_tasks(queue) || slot->look_again;

	if (!stopped && waiting)
		queue->parked = true;
	else if (!stopped && work)
		mock_set_doorbell(mock, slot->queue);
	if (!stopped && follow(mock, slot))
		return;
	*slot = (struct mock_slot){
		.queue = NO_QUEUE,
		.state = NPU_SLOT_STATE_FREE,
		.until = NEVER,
		.events = events,
		.left = left,
	};
	event(mock, slot, NPU_SLOT_EVENT_DETACHED);
}

static void stop(struct mock *mock, unsigned int number, uint32_t error)
{
	struct mock_slot *slot = &mock->slot[number];
	struct mock_queue *queue = &mock->queue[slot->queue];

	queue->registers[NPU_QUEUE_ERROR / 4] = error;
	queue->finished++;
	slot->state = NPU_SLOT_STATE_STOPPED;
	slot->until = NEVER;
	event(mock, slot, NPU_SLOT_EVENT_STOPPED);
	if (slot->detach)
		release(mock, number);
}

static void rest(struct mock *mock, unsigned int number, uint32_t state)
{
	struct mock_slot *slot = &mock->slot[number];

	slot->state = state;
	slot->until = NEVER;
	event(mock, slot, state == NPU_SLOT_STATE_REQUEST ? NPU_SLOT_EVENT_REQUEST :
							     NPU_SLOT_EVENT_IDLE);
}

/* The ring was read: act on what is there. */
static void fetched(struct mock *mock, unsigned int number)
{
	struct mock_slot *slot = &mock->slot[number];
	struct mock_queue *queue = &mock->queue[slot->queue];
	const struct mock_task *task = head(queue);

	if (!waiting_tasks(queue)) {
		if (slot->look_again)
			look(mock, slot);
		else
			rest(mock, number, NPU_SLOT_STATE_EMPTY);
		return;
	}
	switch (task->kind) {
	case MOCK_EXEC:
		slot->needs[0] = task->clusters;
		slot->needs[1] = task->bytes;
		if (fits(slot, task)) {
			start(mock, slot, task);
			return;
		}
		slot->requested = mock_now(mock);
		rest(mock, number, NPU_SLOT_STATE_REQUEST);
		return;
	case MOCK_COPY:
		start(mock, slot, task);
		return;
	case MOCK_WAIT:
		if (mock->semaphore[context_of(queue)][task->semaphore] < task->value) {
			rest(mock, number, NPU_SLOT_STATE_WAITING);
			return;
		}
		queue->finished++;
		queue->done++;
		look(mock, slot);
		return;
	case MOCK_BAD:
		stop(mock, number, NPU_ERROR_BAD_PACKET);
		return;
	}
}

/* A grant that was revoked ends with the task that ran on it. */
static void take_back(struct mock_slot *slot)
{
	if (!slot->written_grant)
		slot->clusters = 0;
}

static void finished(struct mock *mock, unsigned int number)
{
	struct mock_slot *slot = &mock->slot[number];
	struct mock_queue *queue = &mock->queue[slot->queue];
	unsigned int context = context_of(queue);
	uint32_t semaphore = head(queue)->semaphore;

	if (!queue->done++)
		queue->first_done = mock_now(mock);
	queue->finished++;
	slot->left = NPU_SLOT_LEFT_ENDED;
	mock->tasks++;
	take_back(slot);
	event(mock, slot, NPU_SLOT_EVENT_DONE);
	if (slot->detach)
		release(mock, number);
	else
		look(mock, slot);
	if (semaphore != ~0u)
		mock_signal(mock, context, semaphore, 1);
}

void mock_slot_advance(struct mock *mock)
{
	for (unsigned int i = 0; i < mock->config.slots; i++) {
		struct mock_slot *slot = &mock->slot[i];

		if (slot->until > mock_now(mock))
			continue;
		if (slot->state == NPU_SLOT_STATE_RUNNING)
			finished(mock, i);
		else
			fetched(mock, i);
	}
}

uint64_t mock_slot_next(const struct mock *mock)
{
	uint64_t next = NEVER;

	for (unsigned int i = 0; i < mock->config.slots; i++) {
		if (mock->slot[i].until < next)
			next = mock->slot[i].until;
	}
	return next;
}

static int slot_of(const struct mock *mock, unsigned int queue)
{
	for (unsigned int i = 0; i < mock->config.slots; i++) {
		if (mock->slot[i].state != NPU_SLOT_STATE_FREE && mock->slot[i].queue == queue)
			return (int)i;
	}
	return -1;
}

bool mock_queue_in_slot(const struct mock *mock, unsigned int queue)
{
	return slot_of(mock, queue) >= 0;
}

void mock_slot_doorbell(struct mock *mock, unsigned int queue)
{
	int number = slot_of(mock, queue);

	if (number < 0) {
		mock_set_doorbell(mock, queue);
		return;
	}
	mock->slot[number].look_again = true;
	if (mock->slot[number].state == NPU_SLOT_STATE_EMPTY)
		look(mock, &mock->slot[number]);
}

void mock_slot_semaphore(struct mock *mock, unsigned int context)
{
	for (unsigned int i = 0; i < mock->config.slots; i++) {
		struct mock_slot *slot = &mock->slot[i];

		if (slot->state == NPU_SLOT_STATE_WAITING &&
		    context_of(&mock->queue[slot->queue]) == context)
			look(mock, slot);
	}
	for (unsigned int i = 0; i < mock->config.queues; i++) {
		struct mock_queue *queue = &mock->queue[i];

		if (!queue->parked || context_of(queue) != context)
			continue;
		queue->parked = false;
		mock_set_doorbell(mock, i);
	}
}

static void attach(struct mock *mock, unsigned int number, uint32_t value)
{
	struct mock_slot *slot = &mock->slot[number];
	unsigned int queue = value & 0xff;

	if (slot->state != NPU_SLOT_STATE_FREE)
		mock_complain(mock, "queue %u attached to slot %u, which has queue %u", queue,
			      number, slot->queue);
	if (queue >= mock->config.queues ||
	    !(mock->queue[queue].registers[NPU_QUEUE_CONFIG / 4] & NPU_QUEUE_CONFIG_VALID))
		mock_complain(mock, "queue %u attached, which does not exist", queue);
	if (mock_queue_in_slot(mock, queue))
		mock_complain(mock, "queue %u attached twice", queue);
	if (mock->queue[queue].registers[NPU_QUEUE_ERROR / 4])
		mock_complain(mock, "queue %u attached, which was stopped", queue);
	enter(mock, slot, queue);
}

static void kill_task(struct mock *mock, unsigned int number)
{
	struct mock_slot *slot = &mock->slot[number];
	struct mock_queue *queue = &mock->queue[slot->queue];

	if (slot->state == NPU_SLOT_STATE_RUNNING) {
		queue->finished++;
		queue->killed++;
		slot->left = NPU_SLOT_LEFT_KILLED;
		event(mock, slot, NPU_SLOT_EVENT_DONE);
	}
	release(mock, number);
}

static void reject(struct mock *mock, unsigned int number, uint32_t error)
{
	if (mock->slot[number].state != NPU_SLOT_STATE_REQUEST)
		mock_complain(mock, "slot %u has nothing to reject", number);
	mock->queue[mock->slot[number].queue].rejected++;
	stop(mock, number, error);
}

static void control(struct mock *mock, unsigned int number, uint32_t value)
{
	struct mock_slot *slot = &mock->slot[number];

	if ((value & ~NPU_SLOT_KEEP) == NPU_SLOT_PREEMPT) {
		/* The tasks here have no points. */
		return;
	} else if (value & NPU_SLOT_ATTACH) {
		attach(mock, number, value);
	} else if (slot->state == NPU_SLOT_STATE_FREE) {
		return;
	} else if (value & NPU_SLOT_REJECT) {
		reject(mock, number, value & 0xff);
	} else if (value & NPU_SLOT_KILL) {
		kill_task(mock, number);
	} else if (value & NPU_SLOT_DETACH) {
		if (slot->state == NPU_SLOT_STATE_RUNNING)
			slot->detach = true;
		else
			release(mock, number);
	} else {
		mock_complain(mock, "command %x to slot %u is none", value, number);
	}
}

/* The clusters a task of @count uses of a grant. */
static uint32_t lowest(uint32_t mask, uint32_t count)
{
	uint32_t rest = mask;

	while (rest && count--)
		rest &= rest - 1;
	return mask & ~rest;
}

/* Whether the task that asks for a grant could start with @mask. */
static bool would_fit(const struct mock_slot *slot, uint32_t mask)
{
	return slot->state == NPU_SLOT_STATE_REQUEST && clusters_in(mask) >= slot->needs[0];
}

static void grant(struct mock *mock, unsigned int number, uint32_t mask)
{
	struct mock_slot *slot = &mock->slot[number];
	uint32_t all = mock->config.clusters == 32 ? ~0u : (1u << mock->config.clusters) - 1;

	if (mask && (slot->state == NPU_SLOT_STATE_FREE || slot->state == NPU_SLOT_STATE_STOPPED))
		mock_complain(mock, "slot %u got clusters in state %u", number, slot->state);
	slot->written_grant = mask;
	if (!mask) {
		if (slot->state == NPU_SLOT_STATE_RUNNING)
			slot->clusters = lowest(slot->clusters, slot->needs[0]);
		else
			slot->clusters = 0;
		return;
	}
	if (slot->state == NPU_SLOT_STATE_RUNNING && slot->clusters) {
		slot->clusters &= mask | lowest(slot->clusters, slot->needs[0]);
		return;
	}
	/* Meant for a task that has just ended: it takes away all the same. */
	if (slot->clusters && !(mask & ~slot->clusters) && !would_fit(slot, mask)) {
		slot->clusters = mask;
		return;
	}
	if (slot->state != NPU_SLOT_STATE_REQUEST && slot->clusters)
		mock_complain(mock, "slot %u got a second grant in state %u", number, slot->state);
	if (mask & ~all || slot->window % 64 ||
	    (uint64_t)slot->window + slot->window_bytes > mock->config.global_bytes)
		mock_complain(mock, "slot %u got what the device does not have", number);
	if ((mask / (mask & -mask)) & ((mask / (mask & -mask)) + 1))
		mock_complain(mock, "clusters %x are not neighbours", mask);
	slot->clusters = mask;
	slot->granted = mock_now(mock);
	check_grants(mock, number);
	/* An offer comes before the firmware knows what is needed. */
	if (slot->state != NPU_SLOT_STATE_REQUEST ||
	    (slot->events & NPU_SLOT_EVENT_REQUEST &&
	     !fits(slot, head(&mock->queue[slot->queue]))))
		return;
	if (!fits(slot, head(&mock->queue[slot->queue])))
		mock_complain(mock, "slot %u got less than it needs", number);
	start(mock, slot, head(&mock->queue[slot->queue]));
}

void mock_slot_sleep(struct mock *mock)
{
	for (unsigned int i = 0; i < mock->config.slots; i++) {
		if (mock->slot[i].state == NPU_SLOT_STATE_RUNNING)
			mock_complain(mock, "clusters are to sleep while slot %u is at work", i);
	}
}

void mock_slot_write(struct mock *mock, unsigned int number, uint32_t offset, uint32_t value)
{
	struct mock_slot *slot = &mock->slot[number];

	switch (offset) {
	case NPU_SLOT_CONTROL:
		control(mock, number, value);
		return;
	case NPU_SLOT_EVENT:
		slot->events &= ~value;
		return;
	case NPU_SLOT_GRANT_WINDOW:
	case NPU_SLOT_GRANT_WINDOW_BYTES:
		if (slot->state != NPU_SLOT_STATE_REQUEST && slot->clusters)
			mock_complain(mock, "window of slot %u changed in state %u", number,
				      slot->state);
		if (offset == NPU_SLOT_GRANT_WINDOW)
			slot->window = value;
		else
			slot->window_bytes = value;
		return;
	case NPU_SLOT_GRANT:
		grant(mock, number, value);
		return;
	default:
		mock_complain(mock, "write to register %x of slot %u", offset, number);
	}
}

uint32_t mock_slot_read(struct mock *mock, unsigned int number, uint32_t offset)
{
	const struct mock_slot *slot = &mock->slot[number];

	switch (offset) {
	case NPU_SLOT_STATE:
		return slot->state | (slot->queue & 0xff) << 8;
	case NPU_SLOT_EVENT:
		return slot->events;
	case NPU_SLOT_NEED_CLUSTERS:
		return slot->needs[0];
	case NPU_SLOT_NEED_GLOBAL:
		return slot->needs[1];
	case NPU_SLOT_GRANT:
		return slot->clusters;
	default:
		mock_complain(mock, "read of register %x of slot %u", offset, number);
	}
}
