/* SPDX-License-Identifier: MIT */
/*
 * A queue's slots: producers that reserve and publish, a device that completes and may stop, and
 * whoever retires tasks under the lock. libnpurt/queue.c.
 *
 * Proved: every task that was reserved ends once and in order, also when the queue stops while
 * producers are anywhere; none ends while its producer still uses it; and who retires does not wait
 * for ever for a producer that has gone.
 *
 * Each BREAK_* takes one rule away, and then spin must find an error; check-models runs them all.
 */
#define PRODUCERS 2
#define PACKETS 2		/* of each */
#define RING 2			/* slots */
#define TOTAL (PRODUCERS * PACKETS)
#define SLOT(index)	((index) % RING)

byte write_index;
byte done;			/* the progress semaphore, and the device's read index */
byte retired;
bit stopped;
bit header[TOTAL];		/* published, by index: phases are ring.pml's business */
byte task[RING];
byte filled[RING];
bit in_use[TOTAL];		/* its producer still needs the task */
byte left = PRODUCERS;

proctype producer()
{
	byte index, count;

	do
	:: count == PACKETS -> break
	:: stopped -> break
	:: atomic {
		count < PACKETS && write_index - retired < RING && write_index - done < RING ->
		index = write_index;
		write_index++;
		in_use[index] = 1;
		count++
	};
		task[SLOT(index)] = index + 1;
#ifdef BREAK_AFTER
		/* Said too early. */
		filled[SLOT(index)] = index / RING + 1;
#endif
		/* The task is read to make the packet, and not looked at once that is there. */
		in_use[index] = 0;
#ifndef BREAK_AFTER
#ifndef BREAK_HEADER
		filled[SLOT(index)] = index / RING + 1;
#endif
#endif
		header[index] = 1;
#ifdef BREAK_HEADER
		/* Said too late: the slot may be in use again, and have a word of its own. */
		filled[SLOT(index)] = index / RING + 1;
#endif
		index = 0
	od;
	left--
}

active proctype device()
{
end_waits:
	do
	:: atomic { !stopped && done < TOTAL && header[done] -> done++ }
	:: atomic { !stopped -> stopped = 1; break }
	od
}

inline retire_one()
{
	atomic {
		assert(task[SLOT(retired)] == retired + 1);
		assert(!in_use[retired]);
		task[SLOT(retired)] = 0;
		retired++
	}
}

/* Several threads may do it, one at a time: one stands for all. */
active proctype retirer()
{
	bit is_stopped;

end_nothing:
	do
	:: retired < done -> retire_one()
#ifdef BREAK_WAIT
	:: stopped && retired < write_index -> retire_one()
#else
	:: stopped && retired < write_index ->
		/* Without the producer's word there is no way on. */
wait:		filled[SLOT(retired)] == retired / RING + 1;
		retire_one()
#endif
	od
}

/* When nothing can go on: all that was reserved has ended. */
active proctype auditor()
{
	timeout;
	assert(left == 0);
	assert(retired == write_index)
}

init {
	atomic { run producer(); run producer() }
}
