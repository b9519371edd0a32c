// SPDX-License-Identifier: MIT
/*
 * Queues. Loops: QUEUES_MAX turns at most.
 */
#include "context.h"
#include "grant.h"
#include "hw.h"
#include "log.h"
#include "queue.h"
#include "scheduler.h"
#include "slot.h"

_Static_assert(QUEUE_WORDS == 2, "sets are looked at word by word below");

enum queue_state {
	QUEUE_ABSENT,
	QUEUE_ASLEEP,		/* no slot, nothing known to do */
	QUEUE_READY,		/* no slot, rung */
	QUEUE_IN_SLOT,
	QUEUE_HELD,		/* no slot, rung, and none is to be had */
};

enum holding {
	HOLDING_NONE,
	HOLDING_NEW,		/* those that are not in the middle of anything */
	HOLDING_ALL,
};

/**
 * struct queue - a queue
 * @state:	enum queue_state
 * @context:	its address space
 * @priority:	0..PRIORITIES - 1
 * @slot:	in QUEUE_IN_SLOT
 * @rung:	in QUEUE_IN_SLOT: the hardware rang it here, since it is on its way out
 * @dead:	an error stopped it; only to be destroyed
 * @doomed:	is being destroyed, waits for its slot to become free
 * @overran:	one of its tasks ran out of its budget
 */
struct queue {
	u8 state;
	u8 context;
	u8 priority;
	u8 slot;
	bool rung;
	bool dead;
	bool doomed;
	bool overran;
};

static struct queue queues[QUEUES_MAX];
static u64 rank[QUEUES_MAX];
static u32 ready[QUEUE_WORDS];
static u32 unreported[QUEUE_WORDS];
static u8 error_of[QUEUES_MAX];
static enum holding holding;

static void set_add(u32 *set, unsigned int queue)
{
	set[queue / 32] |= BIT(queue % 32);
}

static void set_remove(u32 *set, unsigned int queue)
{
	set[queue / 32] &= ~BIT(queue % 32);
}

/* Both ends of the ring must be addresses of Sv39: bits 63..38 all equal. */
static bool canonical(u64 address)
{
	u64 top = address >> 38;

	return top == 0 || top == (1u << 26) - 1;
}

static bool ring_valid(const struct queue_setup *setup)
{
	u64 first = (u64)setup->ring_high << 32 | setup->ring_low;
	u64 last;

	if (setup->log2_packets < NPU_RING_LOG2_MIN || setup->log2_packets > NPU_RING_LOG2_MAX)
		return false;
	last = first + NPU_RING_PACKETS_OFFSET +
	       ((u32)NPU_PACKET_BYTES << setup->log2_packets) - 1;
	return first % NPU_PACKET_BYTES == 0 && last > first && canonical(first) &&
	       canonical(last);
}

enum npu_error queue_create(const struct queue_setup *setup)
{
	u32 registers = NPU_REG_QUEUE(setup->queue);
	struct queue *queue;

	if (setup->queue >= hw.queues || setup->context >= hw.contexts ||
	    setup->priority >= PRIORITIES || setup->error > 0xff || !ring_valid(setup))
		return NPU_ERROR_BAD_ARGUMENT;
	if (!context_exists(setup->context))
		return NPU_ERROR_NOT_FOUND;
	queue = &queues[setup->queue];
	if (queue->state != QUEUE_ABSENT)
		return NPU_ERROR_EXISTS;

	*queue = (struct queue){
		.state = QUEUE_ASLEEP,
		.context = (u8)setup->context,
		.priority = (u8)setup->priority,
		.slot = NONE,
		.dead = setup->error,
	};
	grant_forget(setup->queue);
	hw_write(registers + NPU_QUEUE_RING_LO, setup->ring_low);
	hw_write(registers + NPU_QUEUE_RING_HI, setup->ring_high);
	hw_write(registers + NPU_QUEUE_READ_LO, setup->index_low);
	hw_write(registers + NPU_QUEUE_READ_HI, setup->index_high);
	hw_write(registers + NPU_QUEUE_CONFIG,
		 NPU_QUEUE_CONFIG_VALID | setup->log2_packets << 8 | setup->context);
	hw_write(registers + NPU_QUEUE_ERROR, setup->error);
	log_write(LOG_INFO, "queue %u: created, context %u, priority %u", setup->queue,
		  setup->context, setup->priority);
	return NPU_ERROR_NONE;
}

static void vanish(unsigned int queue)
{
	hw_write(NPU_REG_QUEUE(queue) + NPU_QUEUE_CONFIG, 0);
	set_remove(ready, queue);
	set_remove(unreported, queue);
	queues[queue].state = QUEUE_ABSENT;
}

static void destroy(unsigned int queue)
{
	slot_withdraw_next(hw_time());
	if (queues[queue].state != QUEUE_IN_SLOT) {
		vanish(queue);
		return;
	}
	queues[queue].doomed = true;
	slot_kill(queues[queue].slot);
}

enum npu_error queue_destroy(u32 queue)
{
	if (queue >= hw.queues)
		return NPU_ERROR_BAD_ARGUMENT;
	if (queues[queue].state == QUEUE_ABSENT)
		return NPU_ERROR_NOT_FOUND;
	destroy(queue);
	log_write(LOG_INFO, "queue %u: destroyed", queue, 0, 0);
	return NPU_ERROR_NONE;
}

void queue_destroy_all(u32 context)
{
	for (unsigned int queue = 0; queue < hw.queues; queue++) {
		if (queues[queue].state != QUEUE_ABSENT && queues[queue].context == context)
			destroy(queue);
	}
}

bool queue_exists(u32 queue)
{
	return queue < hw.queues && queues[queue].state != QUEUE_ABSENT;
}

bool queue_any(u32 context)
{
	for (unsigned int queue = 0; queue < hw.queues; queue++) {
		if (queues[queue].state != QUEUE_ABSENT && queues[queue].context == context)
			return true;
	}
	return false;
}

u32 queue_progress(unsigned int queue)
{
	return hw_read(NPU_REG_QUEUE(queue) + NPU_QUEUE_PROGRESS);
}

static bool is_held(unsigned int queue)
{
	return holding == HOLDING_ALL || !queue_progress(queue);
}

static void wait_for_slot(unsigned int queue, u64 now)
{
	if (holding != HOLDING_NONE && is_held(queue)) {
		queues[queue].state = QUEUE_HELD;
		return;
	}
	queues[queue].state = QUEUE_READY;
	rank[queue] = scheduler_rank(now, queues[queue].priority);
	set_add(ready, queue);
}

static void ring(unsigned int number, u64 now)
{
	struct queue *queue = &queues[number];

	if (queue->dead)
		return;
	if (queue->state == QUEUE_ASLEEP)
		wait_for_slot(number, now);
	else if (queue->state == QUEUE_IN_SLOT)
		queue->rung = true;
}

void queue_poll_doorbells(u64 now)
{
	unsigned int bit;

	for (unsigned int word = 0; word < QUEUE_WORDS; word++) {
		u32 rung = hw_read(NPU_REG_CORE_DOORBELLS_LO + word * 4);

		if (!rung)
			continue;
		/* Before the queue is looked at, so that a later one is not lost. */
		hw_write(NPU_REG_CORE_DOORBELLS_LO + word * 4, rung);
		SET_EACH(bit, rung)
			ring(word * 32 + bit, now);
	}
}

void queue_overrun(void)
{
	u32 stuck = hw_read(NPU_REG_CORE_STUCK);
	unsigned int queue;

	if (stuck) {
		/*
		 * A rung up the ladder: their task ends now, nobody else's is on them. If its budget ran
		 * out, that is told then.
		 */
		log_write(LOG_ERROR, "clusters %x do not stop: reset", stuck, 0, 0);
		hw_write(NPU_REG_CORE_STUCK, stuck);
		return;
	}
	queue = hw_read(NPU_REG_CORE_WATCHDOG) & 0xff;
	if (!queue_exists(queue) || queues[queue].overran)
		return;
	queues[queue].overran = true;
	log_write(LOG_WARNING, "queue %u: task %u ran out of its budget, context %u", queue,
		  hw_read(NPU_REG_CORE_WATCHDOG_TASK), queues[queue].context);
}

enum npu_error queue_place(u32 queue, struct queue_place *place)
{
	u32 registers = NPU_REG_QUEUE(queue);

	if (queue >= hw.queues)
		return NPU_ERROR_BAD_ARGUMENT;
	if (queues[queue].state == QUEUE_ABSENT)
		return NPU_ERROR_NOT_FOUND;
	place->index_low = hw_read(registers + NPU_QUEUE_READ_LO);
	place->index_high = hw_read(registers + NPU_QUEUE_READ_HI);
	place->error = hw_read(registers + NPU_QUEUE_ERROR);
	place->progress = queue_progress(queue);
	return NPU_ERROR_NONE;
}

void queue_hold(bool all)
{
	slot_withdraw_next(hw_time());
	holding = all ? HOLDING_ALL : HOLDING_NEW;
	for (unsigned int queue = 0; queue < hw.queues; queue++) {
		if (queues[queue].state != QUEUE_READY || !is_held(queue))
			continue;
		set_remove(ready, queue);
		queues[queue].state = QUEUE_HELD;
	}
}

void queue_release(u64 now)
{
	holding = HOLDING_NONE;
	for (unsigned int queue = 0; queue < hw.queues; queue++) {
		if (queues[queue].state == QUEUE_HELD)
			wait_for_slot(queue, now);
	}
}

bool queue_any_held(void)
{
	for (unsigned int queue = 0; queue < hw.queues; queue++) {
		if (queues[queue].state == QUEUE_HELD)
			return true;
	}
	return false;
}

bool queue_any_ready(void)
{
	return ready[0] | ready[1];
}

void queue_ready(u32 *set)
{
	for (unsigned int word = 0; word < QUEUE_WORDS; word++)
		set[word] = ready[word];
}

unsigned int queue_first(const u32 *set, u64 *first_rank)
{
	unsigned int queue = policy_first(rank, set, QUEUE_WORDS);

	if (queue != NONE)
		*first_rank = rank[queue];
	return queue;
}

unsigned int queue_first_ready(u64 *first_rank)
{
	return queue_first(ready, first_rank);
}

u64 queue_rank(unsigned int queue)
{
	return rank[queue];
}

unsigned int queue_priority(unsigned int queue)
{
	return queues[queue].priority;
}

void queue_enters_slot(unsigned int queue, unsigned int slot)
{
	set_remove(ready, queue);
	queues[queue].state = QUEUE_IN_SLOT;
	queues[queue].slot = (u8)slot;
	queues[queue].rung = false;
}

void queue_left_slot(unsigned int queue, u64 now)
{
	queues[queue].state = QUEUE_ASLEEP;
	queues[queue].slot = NONE;
	if (queues[queue].doomed)
		vanish(queue);
	else if (queues[queue].rung && !queues[queue].dead)
		wait_for_slot(queue, now);
}

void queue_stopped(unsigned int queue)
{
	u32 error = hw_read(NPU_REG_QUEUE(queue) + NPU_QUEUE_ERROR);

	if (queues[queue].dead)
		return;
	queues[queue].dead = true;
	error_of[queue] = (u8)error;
	log_write(LOG_WARNING, "queue %u: stopped, context %u, error %u", queue,
		  queues[queue].context, error);
	set_add(unreported, queue);
}

bool queue_has_report(void)
{
	return unreported[0] | unreported[1];
}

void queue_next_report(struct queue_report *report)
{
	unsigned int word = unreported[0] ? 0 : 1;
	unsigned int queue = word * 32 + lowest_bit(unreported[word]);

	set_remove(unreported, queue);
	report->queue = queue;
	report->context = queues[queue].context;
	report->error = error_of[queue];
}
