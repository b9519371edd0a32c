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

static void control(unsigned int slot, u32 command)
{
	hw_write(NPU_REG_SLOT(slot) + NPU_SLOT_CONTROL, command);
}

void slot_attach(unsigned int slot, unsigned int queue, u64 rank, u64 now)
{
	control(slot, NPU_SLOT_ATTACH | queue);
	attached |= BIT(slot);
	slots[slot].queue = (u8)queue;
	slots[slot].served = false;
	slots[slot].since = now;
	slots[slot].rank = rank;
	grant_offer(slot, queue, now);
	queue_enters_slot(queue, slot);
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

void slot_vacate(unsigned int slot)
{
	slot_preempt(slot, false);
	slot_detach(slot);
}

void slot_kill(unsigned int slot)
{
	control(slot, NPU_SLOT_KILL);
	leaving |= BIT(slot);
	grant_withdraw(slot);
}

u32 slot_state(unsigned int slot)
{
	return hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_STATE) & 0xff;
}

bool slot_kept(unsigned int slot)
{
	return hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_STATE) & NPU_SLOT_STATE_KEPT;
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
	attached &= ~BIT(slot);
	leaving &= ~BIT(slot);
	grant_free(slot);
	queue_left_slot(slots[slot].queue, now);
}

static void poll(unsigned int slot, u64 now)
{
	u32 events = take_events(slot);
	u32 state;

	if (!events)
		return;
	state = slot_state(slot);
	/* What came in between belongs to this queue, not to the next one in the slot. */
	if (state == NPU_SLOT_STATE_FREE)
		events |= take_events(slot);
	if (events & NPU_SLOT_EVENT_STOPPED)
		queue_stopped(slots[slot].queue);
	if (state == NPU_SLOT_STATE_FREE) {
		freed(slot, now);
		return;
	}
	/* Something got done without asking. */
	if (events & NPU_SLOT_EVENT_DONE)
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

	SET_EACH(slot, attached)
		poll(slot, now);
}
