/* SPDX-License-Identifier: MIT */
/*
 * Buffers and models that are let go of while tasks may still use them. libnpurt/leave.c.
 *
 * Proved: each is released once, no earlier than the last task that uses it has been retired, and none
 * stays when the queue has retired all. Two stores may be seen late by others who take no lock, until a
 * fence: how far the queue has come, and that the list has become longer.
 *
 * Each BREAK_* takes one rule away, and then spin must find an error; check-models runs them all.
 */
#define TASKS 2
#define LEAVERS 2

byte retired;			/* as the one who retires has stored it */
byte retired_seen;		/* as others see it */
bit locked;
byte list[LEAVERS];		/* leavers' numbers + 1, in order of leaving */
byte first, last;		/* places of the list in use */
bit first_seen;			/* as who has no lock sees that there are some */
byte until[LEAVERS];
byte released[LEAVERS];
byte at_work = LEAVERS + 1;

#define EMPTY	(first == last)

inline lock()
{
	atomic { !locked -> locked = 1 }
}

inline unlock()
{
	locked = 0
}

inline release(who)
{
	assert(until[who] <= retired);
	released[who]++
}

/* @own: who retires knows how far the queue has come */
inline release_left(own)
{
	do
	:: !first_seen -> break
	:: else ->
		found = 0;
#ifndef BREAK_LOCK
		lock();
#endif
		if
		:: !EMPTY ->
			found = list[first];
			if
			:: until[found - 1] <= (own -> retired : retired_seen) ->
				first++;
				first_seen = !EMPTY
			:: else -> found = 0
			fi
		:: else
		fi;
#ifndef BREAK_LOCK
		unlock();
#endif
		if
		:: found -> release(found - 1)
		:: else -> break
		fi
	od
}

proctype leaver(byte me)
{
	byte found;

	if
	:: until[me] <= retired_seen -> release(me)
	:: else ->
		lock();
		list[last] = me + 1;
		last++;
		unlock();
#ifndef BREAK_LEAVER_FENCE
		/* Only its own stores, here and there. */
		first_seen = !EMPTY;
#endif
#ifndef BREAK_LOOK_AGAIN
		release_left(0)
#endif
	fi;
	at_work--
}

/* Under retire_lock, so there is one at a time. */
proctype retirer()
{
	byte found;

	do
	:: retired == TASKS -> break
	:: else ->
#ifdef BREAK_RETIRE_FIRST
		release_left(1);
#endif
		retired++;
#ifndef BREAK_RETIRER_FENCE
		retired_seen = retired;
#endif
#ifndef BREAK_RETIRE_FIRST
		release_left(1)
#endif
	od;
	at_work--
}

/* Stores come through some time, fence or not. */
active proctype memory()
{
end_waits:
	do
	:: atomic { retired_seen != retired -> retired_seen = retired }
	:: atomic { first_seen != !EMPTY -> first_seen = !EMPTY }
	:: at_work == 0 -> break
	od;
	assert(released[0] == 1 && released[1] == 1)
}

init {
	byte one, other;

	atomic {
		/* Used by no task in flight, by the first, or by the second. */
		select(one : 0 .. TASKS);
		select(other : 0 .. TASKS);
		until[0] = one;
		until[1] = other;
		run leaver(0);
		run leaver(1);
		run retirer()
	}
}
