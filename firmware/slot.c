// SPDX-License-Identifier: MIT
/*
 * Slots.
 *
 * Events only say that something happened; what is done follows from the state as it is now.
 * So an event that comes late, or twice, does no harm.
 */
#include "grant.h"
#include "hw.h"
#include "queue.h"
#include "slot.h"

struct slot {
	u8 queue;
	bool served;
	u64 since;
	u64 rank;
};

static struct slot slots[SLOTS_MAX];
static u32 attached;
static u32 leaving;
static u32 next;		/* as last written to CORE_NEXT; VALID may be gone by now */
static bool unsure;		/* somebody was named since all slots were looked at */
static bool poll_again;

static void control(unsigned int slot, u32 command)
{
	hw_write(NPU_REG_SLOT(slot) + NPU_SLOT_CONTROL, command);
}

static void entered(unsigned int slot, unsigned int queue, u64 rank, u64 now)
{
	slots[slot].queue = (u8)queue;
	slots[slot].served = false;
	slots[slot].since = now;
	slots[slot].rank = rank;
	queue_enters_slot(queue, slot);
}

void slot_attach(unsigned int slot, unsigned int queue, u64 rank, u64 now)
{
	control(slot, NPU_SLOT_ATTACH | queue);
	attached |= BIT(slot);
	/* First: it is on its way to its task, which then need not ask. */
	grant_offer(slot, queue, rank, now);
	entered(slot, queue, rank, now);
}

static void write_next(u32 value)
{
	if (value == next)
		return;
	next = value;
	unsure = unsure || value;
	hw_write(NPU_REG_CORE_NEXT, value);
}

void slot_name_next(unsigned int queue, bool with_grant)
{
	write_next(NPU_NEXT_VALID | (with_grant ? NPU_NEXT_GRANT : 0) | queue);
}

void slot_detach(unsigned int slot)
{
	control(slot, NPU_SLOT_DETACH);
	leaving |= BIT(slot);
	grant_withdraw(slot);
}

void slot_preempt(unsigned int slot, bool keep)
{
	control(slot, NPU_SLOT_PREEMPT | (keep ? NPU_SLOT_KEEP : 0));
}

void slot_kill(unsigned int slot)
{
	control(slot, NPU_SLOT_KILL);
	leaving |= BIT(slot);
	grant_withdraw(slot);
}

static u32 state_word(unsigned int slot)
{
	return hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_STATE);
}

static unsigned int queue_in(u32 word)
{
	return word >> 8 & 0xff;
}

u32 slot_state(unsigned int slot)
{
	return state_word(slot) & 0xff;
}

bool slot_kept(unsigned int slot)
{
	return state_word(slot) & NPU_SLOT_STATE_KEPT;
}

bool slot_was_preempted(unsigned int slot)
{
	return (hw_read(NPU_REG_SLOT_LEFT(slot)) & 0xff) == NPU_SLOT_LEFT_PREEMPTED;
}

u32 slot_attached(void)
{
	return attached;
}

u32 slot_leaving(void)
{
	return leaving;
}

unsigned int slot_queue(unsigned int slot)
{
	return slots[slot].queue;
}

unsigned int slot_priority(unsigned int slot)
{
	return queue_priority(slots[slot].queue);
}

void slot_serve(unsigned int slot, u64 now)
{
	if (slots[slot].served)
		return;
	slots[slot].served = true;
	slots[slot].since = now;
}

bool slot_served(unsigned int slot)
{
	return slots[slot].served;
}

u64 slot_since(unsigned int slot)
{
	return slots[slot].since;
}

u64 slot_rank(unsigned int slot)
{
	return slots[slot].rank;
}

static u32 take_events(unsigned int slot)
{
	u32 registers = NPU_REG_SLOT(slot);
	u32 events = hw_read(registers + NPU_SLOT_EVENT);

	if (events)
		hw_write(registers + NPU_SLOT_EVENT, events);
	return events;
}

static void freed(unsigned int slot, u64 now)
{
	/* Whoever is named may be put in here instead, unless he has got another slot already. */
	if (next) {
		write_next(0);
		poll_again = true;
	}
	attached &= ~BIT(slot);
	leaving &= ~BIT(slot);
	grant_free(slot);
	queue_left_slot(slots[slot].queue, now);
}

/* The queue that was named is in the slot already. */
static void switched(unsigned int slot, unsigned int queue, u64 now)
{
	/* It may have been named once more meanwhile. */
	if ((next & 0xff) == queue)
		write_next(0);
	leaving &= ~BIT(slot);
	queue_left_slot(slots[slot].queue, now);
	entered(slot, queue, queue_rank(queue), now);
	grant_take_over(slot, queue, now);
}

/* The events, then the state that they led to. */
static u32 look(unsigned int slot, u32 *word)
{
	u32 events = take_events(slot);

	if (!events)
		return 0;
	*word = state_word(slot);
	/* What came in between belongs to this queue, not to the next one in the slot. */
	if ((*word & 0xff) == NPU_SLOT_STATE_FREE ||
	    (queue_in(*word) != slots[slot].queue && !(events & NPU_SLOT_EVENT_SWITCHED))) {
		events |= take_events(slot);
		*word = state_word(slot);
	}
	return events;
}

static void poll(unsigned int slot, u64 now)
{
	u32 word;
	u32 events = look(slot, &word);
	u32 state;

	if (!events)
		return;
	state = word & 0xff;
	if (events & NPU_SLOT_EVENT_SWITCHED)
		switched(slot, queue_in(word), now);
	/* A queue that stops leaves its slot free, so this is the one that is there now. */
	if (events & NPU_SLOT_EVENT_STOPPED)
		queue_stopped(slots[slot].queue);
	if (state == NPU_SLOT_STATE_FREE) {
		freed(slot, now);
		return;
	}
	/* Something got done without asking. */
	if ((events & (NPU_SLOT_EVENT_DONE | NPU_SLOT_EVENT_SWITCHED)) == NPU_SLOT_EVENT_DONE)
		slot_serve(slot, now);

	switch (state) {
	case NPU_SLOT_STATE_STOPPED:
		slot_detach(slot);
		break;
	case NPU_SLOT_STATE_REQUEST:
		if (!(leaving & BIT(slot)))
			grant_request(slot, now);
		break;
	default:
		break;
	}
	grant_check(slot);
}

void slot_poll(u64 now)
{
	unsigned int slot;

	/* Two turns at most: in the second nobody is named any more. */
	do {
		poll_again = false;
		SET_EACH(slot, attached)
			poll(slot, now);
	} while (poll_again);
	unsure = next;
}

void slot_vacate(unsigned int slot, u64 now)
{
	slot_preempt(slot, false);
	slot_detach(slot);
	poll(slot, now);
}

void slot_withdraw_next(u64 now)
{
	if (!unsure)
		return;
	write_next(0);
	slot_poll(now);
}
