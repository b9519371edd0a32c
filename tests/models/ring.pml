/* SPDX-License-Identifier: MIT */
/*
 * A ring, its sleeping flag and its doorbell: producers that ring only when the device sleeps, and
 * a device that comes and goes. Documentation/hardware/queues.rst, "Rings"; command-processor.rst,
 * "Slots"; libnpurt/ring.h.
 *
 * Proved: every packet that is published is taken, once and in order, whoever publishes first,
 * although doorbells are left out, and the ring ends with the flag set. Stores wait in a buffer
 * before others see them, as those of processors and devices do, so a fence that is missing shows.
 *
 * Each BREAK_* takes one rule away, and then spin must find an error; check-models runs them all.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PACKETS
#define PACKETS 2		/* of each */
#endif
#ifndef MOVES
#define MOVES 1
#endif
#define RING 2			/* packets in the ring */
#define TOTAL (PRODUCERS * PACKETS)

#define PHASE(index)	(1 - ((index) / RING) % 2)
#define SLOT(index)	((index) % RING)

/* The ring's memory. Memory of zeroes holds no packet. */
byte write_index;
byte read_index;
bit header[RING];
byte packet[RING];		/* who published it, for the proof */
bit sleeping = 1;

/* Stores that are on their way: 0, or the index of a header, or the flag's value, plus one. */
byte header_store[PRODUCERS];
byte sleeping_store;

bool rung;			/* the doorbell's register */
bool core_rung;			/* this queue's bit in CORE_DOORBELLS */
byte done;			/* producers that have published everything */
byte others_want = MOVES;	/* how often the firmware wants the slot for another queue */

/* In whatever order and as late as can be, but all of them arrive. */
active proctype memory()
{
	byte i;

end_nothing:
	do
	:: atomic {
		sleeping_store -> sleeping = sleeping_store - 1;
		sleeping_store = 0
	}
	:: atomic {
		header_store[0] ->
		header[SLOT(header_store[0] - 1)] = PHASE(header_store[0] - 1);
		header_store[0] = 0
	}
#if PRODUCERS > 1
	:: atomic {
		header_store[1] ->
		header[SLOT(header_store[1] - 1)] = PHASE(header_store[1] - 1);
		header_store[1] = 0
	}
#endif
	od
}

/* ----------------------------------------------------------------- producers */

proctype producer(byte me)
{
	byte index, count;
	bool must_ring;

	do
	:: atomic { count == PACKETS -> done++; break }
	:: atomic {
		/* There is room: the device has finished with what was in the slot. */
		count < PACKETS && write_index - read_index < RING ->
		index = write_index;
		write_index++;
		count++
	};
#ifdef BREAK_FLAG_FIRST
		must_ring = sleeping;
#endif
		/* Its own earlier store is out of the buffer before this one gets in. */
		atomic {
			!header_store[me] ->
			packet[SLOT(index)] = me + 1;
			header_store[me] = index + 1
		};
#ifndef BREAK_PRODUCER_FENCE
		!header_store[me];
#endif
#ifndef BREAK_FLAG_FIRST
		must_ring = sleeping;
#endif
		if
		:: must_ring -> rung = true
		:: else
		fi;
		atomic { must_ring = false; index = 0 }
	od
}

/* -------------------------------------------------------------------- device */

#define PUBLISHED	(header[SLOT(read_index)] == PHASE(read_index))

inline take()
{
	atomic {
		assert(packet[SLOT(read_index)]);
		packet[SLOT(read_index)] = 0;
		read_index++
	}
}

/* Stores wait for those before them; reads do not. */
inline store_sleeping(flag)
{
	atomic { !sleeping_store -> sleeping_store = flag + 1 }
}

inline fence()
{
	!sleeping_store
}

mtype = { OUT, FETCH, EMPTY };

active proctype device()
{
	mtype slot = OUT;

end_waits:
	do
	/* In no slot: a doorbell is told to the firmware, which attaches the queue sometime. */
	:: slot == OUT && rung -> atomic { rung = false; core_rung = true }
	:: slot == OUT && core_rung -> atomic { core_rung = false; slot = FETCH };
		store_sleeping(0)
	:: slot == FETCH ->
		if
		:: PUBLISHED -> take()
		:: else ->
			store_sleeping(1);
#ifndef BREAK_DEVICE_FENCE
			fence();
#endif
#ifdef BREAK_LOOK_AGAIN
			slot = EMPTY
#else
			if
			:: PUBLISHED -> store_sleeping(0)
			:: else -> slot = EMPTY
			fi
#endif
		fi
	:: slot == EMPTY && rung -> atomic { rung = false; slot = FETCH };
		store_sleeping(0)
	/* The firmware may take the slot away at any moment. */
	:: (slot == FETCH || slot == EMPTY) && others_want ->
		atomic { others_want--; slot = OUT };
#ifndef BREAK_LEAVE_ASLEEP
		store_sleeping(1);
		fence();
#endif
#ifndef BREAK_LEAVE
		if
		:: PUBLISHED || rung -> rung = false; core_rung = true
		:: else
		fi
#endif
	od
}

/* When nothing can go on: nothing was left lying. */
active proctype auditor()
{
	timeout;
	assert(done == PRODUCERS);
	assert(read_index == TOTAL);
	assert(sleeping)
}

init {
	byte n;

	atomic {
		n = 0;
		do
		:: n < PRODUCERS -> run producer(n); n++
		:: else -> break
		od
	}
}
