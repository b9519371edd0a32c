/* SPDX-License-Identifier: MIT */
/*
 * A trace for chrome://tracing and Perfetto: NPURT_TRACE=FILE. Documentation/runtime/guide.rst, "Tracing".
 *
 * All rows are on the host's CLOCK_MONOTONIC. Without NPURT_TRACE each of these costs one look at a
 * flag.
 */
#ifndef NPURT_TRACE_H
#define NPURT_TRACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define NPURT_PROBE(name, context, task) DTRACE_PROBE2(npurt, name, context, task)
#endif
#endif
#ifndef NPURT_PROBE
#define NPURT_PROBE(name, context, task) ((void)0)
#endif

#define NPURT_TRACE_BYTES 65536u

struct npu_record;
struct npurt_device_info;

struct npurt_trace {
	bool on;
	int fd;
	pthread_mutex_t lock;
	uint32_t contexts; /* have been numbered */
	uint64_t flows;
	char *text; /* not written yet */
	uint32_t used;
	off_t offset; /* in the file, of what is not written yet */
};

/* A task, as the trace tells of it. */
struct npurt_trace_task {
	uint32_t context; /* its number */
	uint64_t flow; /* from its submission to its wake-up; 0: none */
	const char *name;
	int result;
	int64_t start_ns, end_ns;
	const struct npu_record *record; /* host order; NULL: none */
};

static inline bool npurt_trace_on(const struct npurt_trace *trace)
{
	return __atomic_load_n(&trace->on, __ATOMIC_RELAXED);
}

/** npurt_trace_open() - begin one, if the environment asks for it; what cannot be opened is not */
void npurt_trace_open(struct npurt_trace *trace);

/** npurt_trace_flush() - have all of it in the file, should the process end */
void npurt_trace_flush(struct npurt_trace *trace);

/** npurt_trace_close() - end it; nobody uses it any more */
void npurt_trace_close(struct npurt_trace *trace);

/** npurt_trace_context() - a number for a context, and rows for its queue and its engines */
uint32_t npurt_trace_context(struct npurt_trace *trace, const struct npurt_device_info *info);

/** npurt_trace_flow() - a number for what leads from a submission to its wake-up */
static inline uint64_t npurt_trace_flow(struct npurt_trace *trace)
{
	return npurt_trace_on(trace) ? __atomic_add_fetch(&trace->flows, 1, __ATOMIC_RELAXED) : 0;
}

/**
 * npurt_trace_host() - something the calling thread has done, until now
 * @name: what
 * @of: of which model or graph, or NULL
 * @flow: begins here ('s') or ends here ('f'), by @phase; 0: none
 */
void npurt_trace_host(struct npurt_trace *trace, const char *name, const char *of,
		      int64_t start_ns, uint64_t flow, char phase);

/** npurt_trace_task() - a task is over: its queue's row, and the engines' */
void npurt_trace_task(struct npurt_trace *trace, const struct npurt_trace_task *task);

#endif /* NPURT_TRACE_H */
