/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in a line: first come, first served.
 */
#ifndef NPURT_LINE_H
#define NPURT_LINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Somebody in it; on its stack. */
struct npurt_line_place {
	struct npurt_line_place *next;
	pthread_cond_t first; /* it is now */
};

struct npurt_line {
	pthread_mutex_t lock;
	uint32_t waiting;
	struct npurt_line_place *first, *last;
};

void npurt_line_init(struct npurt_line *line);
void npurt_line_fini(struct npurt_line *line);

/** npurt_line_is_empty() - does nobody wait? */
static inline bool npurt_line_is_empty(const struct npurt_line *line)
{
	return !__atomic_load_n(&line->waiting, __ATOMIC_ACQUIRE);
}

/**
 * npurt_line_enter() - wait until everybody who came earlier has left
 * @place: room for the line's book-keeping until npurt_line_leave(), to be called in any case
 *
 * Return: 0, -ETIMEDOUT without a sentence.
 */
int npurt_line_enter(struct npurt_line *line, struct npurt_line_place *place, int64_t deadline_ns);
void npurt_line_leave(struct npurt_line *line, struct npurt_line_place *place);

#endif /* NPURT_LINE_H */
