/* SPDX-License-Identifier: MIT */
/*
 * Watches: sleepers in the kernel, the device's watch of one semaphore, the event ring and its
 * interrupt. Documentation/hardware/queues.rst, "Watches" and "Kernel rings"; registers.rst,
 * "Interrupts to the host"; driver/npu_semaphore.c, driver/npu_irq.c, driver/shared/npu_watch.h.
 *
 * Proved: whoever waits for a value that the semaphore reaches comes to his end, and so does
 * everybody when the device dies, without the driver's look once a second; nobody ends early. The
 * number of waiters, waits, values and entries is small, their order is any.
 *
 * Each BREAK_* takes one rule away, and then spin must find an error; check-models runs them all.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2		/* waits of each, one after the other */
#endif
#ifndef TOP
#define TOP 2			/* what the semaphore reaches at most */
#endif
#ifndef RING
#define RING 2			/* entries of the event ring */
#endif

mtype = { ARM, CONSUMER };

/* Posted writes to registers arrive in order, at some time. */
chan posted = [2] of { mtype, byte };

/* Host memory: what the device writes, and the threshold the driver writes. */
byte value;
byte threshold;
bit ring[RING];			/* the phase bit is all there is in an entry */

bool interrupt;			/* a message, taken by the interrupt's thread */
bool died;			/* the device does nothing more, and says so to nobody */

/* The driver, under its lock. */
bool locked;
byte wants[WAITERS];		/* 0: does not wait */
bool error;			/* status word */
bool asleep[WAITERS];		/* state of a task; whoever wakes it clears it */

byte wish[WAITERS];		/* as wants[], for the proof alone: nobody clears it but he */

/* Indices count on for ever; only these parts of them are looked at. */
#define PHASE(index)	(1 - (index) / RING)
#define SLOT(index)	((index) % RING)
#define NEXT(index)	(((index) + 1) % (2 * RING))
#define FULL		((produced + 2 * RING - consumed) % (2 * RING) == RING)

/* ------------------------------------------------------------------- device */

inline write_event()
{
#ifdef BREAK_INTERRUPT_FIRST
	if
	:: produced == consumed -> interrupt = true
	:: else
	fi;
	atomic { ring[SLOT(produced)] = PHASE(produced); produced = NEXT(produced) }
#else
	ring[SLOT(produced)] = PHASE(produced);
	atomic {
		if
		:: produced == consumed -> interrupt = true
		:: else
		fi;
		produced = NEXT(produced)
	}
#endif
}

inline fire()
{
	if
#ifdef BREAK_FULL
	:: true -> write_event()
#else
	:: atomic { !FULL -> fired = false }; write_event()
	:: FULL -> fired = true
#endif
	fi
}

inline compare()
{
	if
	:: atomic { armed && counter >= watch -> armed = false; watch = 0 }; fire()
	:: else
	fi
}

active proctype device()
{
	byte counter, last, watch, fetched, produced, consumed;
	bool armed, fetching, fired;

	/* Where it stops, those who wait for more sleep on. */
	select(last : 0 .. TOP);
end_quiet:
	do
	:: died -> break
	/* The semaphore may change between a fetch and its comparison. */
	:: atomic { !fetching && posted ? [ARM, _] ->
		posted ? ARM, _; fetched = threshold; fetching = true }
	:: atomic { fetching -> fetching = false; watch = fetched; fetched = 0; armed = true };
#ifndef BREAK_COMPARE
		compare()
#endif
	:: atomic { !fetching && posted ? [CONSUMER, _] -> posted ? CONSUMER, consumed };
		if
		:: fired -> fire()
		:: else
		fi;
#ifndef BREAK_RAISE_AGAIN
		if
		:: consumed != produced -> interrupt = true
		:: else
		fi
#endif
	:: atomic { counter < last -> counter++; value = counter };
		compare()
	od;
	/* What is written to a device that died goes nowhere. */
end_dead:
	do
	:: posted ? _, _
	od
}

/* ------------------------------------------------------------------- driver */

byte i, lowest;			/* under the lock */

inline find_lowest()
{
	d_step {
		i = 0;
		lowest = 0;
		do
		:: i < WAITERS ->
			if
			:: wants[i] && (!lowest || wants[i] < lowest) -> lowest = wants[i]
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

inline wake_met(up_to)
{
	d_step {
		i = 0;
		do
		:: i < WAITERS ->
			if
			:: wants[i] && wants[i] <= up_to -> wants[i] = 0; asleep[i] = false
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* Ends the part under the lock. */
inline arm_and_unlock(at)
{
#ifdef BREAK_ARM_FIRST
	posted ! ARM, 0;
	atomic { threshold = at; lowest = 0; locked = false }
#else
	threshold = at;
	atomic { posted ! ARM, 0; lowest = 0; locked = false }
#endif
}

active proctype interrupt_thread()
{
	byte next, before;

end_idle:
	do
	:: atomic { interrupt -> interrupt = false; before = next };
		do
		:: atomic { ring[SLOT(next)] == PHASE(next) -> next = NEXT(next) };
			atomic {
				!locked -> locked = true;
				wake_met(value);
				find_lowest()
			};
			if
#ifndef BREAK_REARM
			:: lowest -> arm_and_unlock(lowest)
#endif
			:: else -> atomic { lowest = 0; locked = false }
			fi
		:: atomic { else -> break }
		od;
		if
		:: next != before -> posted ! CONSUMER, next
		:: else
		fi
	od
}

#define MET	(value >= want || error)

proctype waiter(byte me)
{
	byte want, round;
	bool patient;

	do
	:: atomic { round == ROUNDS -> break }
	:: atomic {
		round < ROUNDS ->
		round++;
#ifdef FIXED
		/* More of them, with less to choose: every second wait may end by itself. */
		want = 1 + (me + round) % TOP;
		patient = (me + round) % 2
#else
		select(want : 1 .. TOP);
		if
		:: patient = true
		:: patient = false
		fi
#endif
		};
		if
		:: MET -> goto done
		:: else
		fi;
		atomic { !locked -> locked = true; find_lowest(); wants[me] = want; wish[me] = want };
		if
#ifdef BREAK_LOWEST
		:: !lowest -> arm_and_unlock(want)
#else
		:: !lowest || want < lowest -> arm_and_unlock(want)
#endif
		:: else -> atomic { lowest = 0; locked = false }
		fi;
		do
		:: true ->
#ifdef BREAK_SLEEP_LAST
			if
			:: MET -> break
			:: else
			fi;
			asleep[me] = true;
#else
			asleep[me] = true;
#ifndef BREAK_REREAD
			if
			:: MET -> break
			:: else
			fi;
#endif
#endif
end_asleep:
			if
			:: !asleep[me]
			/* A deadline, a signal: only he knows of it. */
			:: !patient -> break
			fi;
#ifdef BREAK_REREAD
			if
			:: MET -> break
			:: else
			fi
#endif
		od;
		atomic { !locked -> wants[me] = 0; wish[me] = 0; asleep[me] = false };
done:
		atomic { assert(MET || !patient); want = 0; patient = false }
	od
}

/* When nothing can go on: whoever sleeps has reason to. */
active proctype auditor()
{
	byte n;

	timeout;
	do
	:: n < WAITERS -> assert(!wish[n] || (wish[n] > value && !error)); n++
	:: else -> break
	od
}

#ifdef DEATH
/* At any moment; the driver learns it by other ways, and tells everybody. */
active proctype death()
{
	died = true;
	atomic {
		!locked ->
#ifndef BREAK_DEATH
		wake_met(TOP);
#endif
		error = true
	}
}
#endif

init {
	byte n;

	atomic {
		n = 0;
		do
		:: n < WAITERS -> run waiter(n); n++
		:: else -> break
		od
	}
}
