/* SPDX-License-Identifier: MIT */
/*
 * Workers that sleep when there is no job, and those who push jobs and wake one only when somebody
 * sleeps. libnpurt/workers.c.
 *
 * Proved: no job is left lying while every worker sleeps. A futex sleeps only if its word is
 * still what the sleeper has read before. Loads may be early: a pusher's look at the sleepers can move
 * up to where it takes the stack's lock, as that is all that holds it back.
 *
 * Each BREAK_* takes one rule away, and then spin must find an error; check-models runs them all.
 */
#define WORKERS 2
#define JOBS 2

bit locked;			/* of the one stack, which stands for all */
byte stack;
byte sleepers;
byte word;			/* the futex */
bit asleep[WORKERS];
byte ran;

inline lock()
{
	atomic { !locked -> locked = 1 }
}

inline unlock()
{
	locked = 0
}

inline wake_one()
{
	atomic {
		word++;
		if
		:: asleep[0] -> asleep[0] = 0
		:: asleep[1] -> asleep[1] = 0
		:: !asleep[0] && !asleep[1] -> skip
		fi
	}
}

proctype pusher()
{
	byte seen;

#ifdef BREAK_LOCK_FIRST
	/* Nothing holds the load back. */
	seen = sleepers;
#endif
	lock();
#ifndef BREAK_LOCK_FIRST
	seen = sleepers;
#endif
	stack++;
	unlock();
	if
	:: seen -> wake_one()
	:: else
	fi
}

proctype worker(byte me)
{
	byte before;
	bit found;

end_waits:
	do
	:: /* An empty stack is seen without the lock. */
		if
		:: stack ->
			lock();
			if
			:: stack -> stack--; found = 1
			:: else
			fi;
			unlock();
			if
			:: found ->
				found = 0;
				ran++;
				/* There are more: the sleepers wake in a cascade. */
				if
				:: stack && sleepers -> wake_one()
				:: else
				fi
			:: else
			fi
		:: else ->
#ifndef BREAK_WORD_FIRST
			before = word;
#endif
			atomic { sleepers++ };
#ifndef BREAK_LOOK_AGAIN
			lock();
			found = stack > 0;
			unlock();
#endif
#ifdef BREAK_WORD_FIRST
			before = word;
#endif
			if
			:: found -> found = 0
			:: else ->
				atomic {
					if
					:: word == before -> asleep[me] = 1
					:: else
					fi
				};
end_sleeps:			!asleep[me]
			fi;
			atomic { sleepers-- }
		fi
	od
}

active proctype auditor()
{
	timeout;
	assert(ran == JOBS)
}

init {
	atomic { run worker(0); run worker(1); run pusher(); run pusher() }
}
