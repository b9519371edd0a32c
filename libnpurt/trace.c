// SPDX-License-Identifier: MIT
/*
 * Events in Chrome's JSON array format: one a line, gathered and written a buffer at a time.
 *
 * Process 1 is the host, with a row a thread; 2 the queues, with a row a context; 3 the engines, with a
 * row for each context and engine. A queue runs one task at a time, so its slices do not overlap.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "npu/npu_packet.h"
#include "npurt.h"

enum row_group {
	HOST = 1,
	QUEUES,
	ENGINES,
};

#define ENGINE_COUNT 4
static const char *const engine_names[ENGINE_COUNT] = { "MAC array", "output", "vector", "DMA" };

#define EVENT_BYTES_MAX 1024u
#define NAME_BYTES 128u
/* Devices that write a trace at the same time under one name. */
#define FILES_MAX 9

/* ------------------------------------------------------------------------ text */

static bool put(const struct npurt_trace *trace, const char *text, size_t bytes, off_t offset)
{
	while (bytes) {
		ssize_t written = pwrite(trace->fd, text, bytes, offset);

		if (written <= 0)
			return false;
		text += written;
		bytes -= (size_t)written;
		offset += written;
	}
	return true;
}

/* The file is whole after each of these; the next one begins where the end of the list stands. */
static void flush(struct npurt_trace *trace)
{
	static const char end[] = "\n]\n";

	/* A disk that is full must not stop the work; the trace ends there. */
	if (!put(trace, trace->text, trace->used, trace->offset) ||
	    !put(trace, end, sizeof(end) - 1, trace->offset + trace->used))
		__atomic_store_n(&trace->on, false, __ATOMIC_RELAXED);
	trace->offset += trace->used;
	trace->used = 0;
}

/* One event, or nothing: a part of one would spoil the file. Under the lock. */
static void NPURT_PRINTF(2, 3) add(struct npurt_trace *trace, const char *format, ...)
{
	va_list arguments;
	int length;

	if (trace->used + EVENT_BYTES_MAX > NPURT_TRACE_BYTES)
		flush(trace);
	va_start(arguments, format);
	length = vsnprintf(trace->text + trace->used, EVENT_BYTES_MAX, format, arguments);
	va_end(arguments);
	if (length > 0 && (uint32_t)length < EVENT_BYTES_MAX)
		trace->used += (uint32_t)length;
}

/* What JSON allows inside quotes, of a name that may be anything. */
static const char *quoted(const char *from, char to[NAME_BYTES])
{
	uint32_t used = 0;

	for (; from && *from && used + 3 < NAME_BYTES; from++) {
		if (*from == '"' || *from == '\\')
			to[used++] = '\\';
		to[used++] = (unsigned char)*from < 0x20 ? ' ' : *from;
	}
	to[used] = '\0';
	return to;
}

static double us(int64_t ns)
{
	return (double)ns / 1000;
}

static void add_row(struct npurt_trace *trace, enum row_group group, uint32_t row,
		    const char *name)
{
	add(trace,
	    ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,"
	    "\"args\":{\"name\":\"%s\"}}",
	    group, row, name);
}

static void add_flow(struct npurt_trace *trace, char phase, enum row_group group, uint32_t row,
		     int64_t ns, uint64_t flow)
{
	add(trace,
	    ",\n{\"ph\":\"%c\",\"name\":\"task\",\"cat\":\"task\",\"id\":%" PRIu64
	    ",\"pid\":%d,\"tid\":%u,\"ts\":%.3f%s}",
	    phase, flow, group, row, us(ns), phase == 's' ? "" : ",\"bp\":\"e\"");
}

/* ------------------------------------------------------------------- life time */

/* A file that no other device, of this process or another, writes its trace to; or -1. */
static int open_alone(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0644);

	if (fd < 0)
		return -1;
	/* Where files cannot be locked nobody can be told from others. */
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		errno = EWOULDBLOCK;
		return -1;
	}
	/* What is no file on a disk cannot be cut, and need not be. */
	if (ftruncate(fd, 0) && errno != EINVAL) {
		close(fd);
		errno = EIO;
		return -1;
	}
	return fd;
}

/* FILE, or the first of FILE.2 to FILE.9 that nobody writes. */
static int open_file(const char *path)
{
	char numbered[PATH_MAX];
	int fd = open_alone(path, 0), i;

	for (i = 2; fd < 0 && errno == EWOULDBLOCK && i <= FILES_MAX; i++) {
		if (snprintf(numbered, sizeof(numbered), "%s.%d", path, i) >=
		    (int)sizeof(numbered))
			break;
		/* A name that nobody has chosen. */
		fd = open_alone(numbered, O_NOFOLLOW);
	}
	return fd;
}

void npurt_trace_open(struct npurt_trace *trace)
{
	static const char *const groups[] = { "host", "queues", "engines" };
	const char *path = secure_getenv("NPURT_TRACE");
	unsigned int i;

	trace->fd = -1;
	pthread_mutex_init(&trace->lock, NULL);
	if (!path || !*path)
		return;
	trace->text = malloc(NPURT_TRACE_BYTES);
	if (!trace->text)
		return;
	trace->fd = open_file(path);
	if (trace->fd < 0)
		return;
	trace->on = true;
	add(trace, "[");
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		add(trace,
		    "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
		    "\"args\":{\"name\":\"%s\"}}",
		    i ? ",\n" : "\n", HOST + i, groups[i]);
}

void npurt_trace_flush(struct npurt_trace *trace)
{
	if (!npurt_trace_on(trace))
		return;
	pthread_mutex_lock(&trace->lock);
	flush(trace);
	pthread_mutex_unlock(&trace->lock);
}

void npurt_trace_close(struct npurt_trace *trace)
{
	npurt_trace_flush(trace);
	if (trace->fd >= 0) {
		/* A forked child may have the file open still. */
		flock(trace->fd, LOCK_UN);
		close(trace->fd);
	}
	free(trace->text);
	pthread_mutex_destroy(&trace->lock);
}

uint32_t npurt_trace_context(struct npurt_trace *trace, const struct npurt_device_info *info)
{
	char name[NAME_BYTES], device[NAME_BYTES];
	uint32_t number, i;

	if (!npurt_trace_on(trace))
		return 0;
	quoted(info->name, device);
	pthread_mutex_lock(&trace->lock);
	number = ++trace->contexts;
	snprintf(name, sizeof(name), "context %u on %.64s", number, device);
	add_row(trace, QUEUES, number, name);
	for (i = 0; i < ENGINE_COUNT; i++) {
		snprintf(name, sizeof(name), "context %u: %s", number, engine_names[i]);
		add_row(trace, ENGINES, number * ENGINE_COUNT + i, name);
	}
	pthread_mutex_unlock(&trace->lock);
	return number;
}

/* ---------------------------------------------------------------------- events */

void npurt_trace_host(struct npurt_trace *trace, const char *name, const char *of,
		      int64_t start_ns, uint64_t flow, char phase)
{
	uint32_t thread = (uint32_t)syscall(SYS_gettid);
	int64_t end_ns = npurt_now();
	char text[NAME_BYTES];

	quoted(of, text);
	pthread_mutex_lock(&trace->lock);
	add(trace,
	    ",\n{\"ph\":\"X\",\"name\":\"%s%s%s\",\"cat\":\"host\",\"pid\":%d,\"tid\":%u,"
	    "\"ts\":%.3f,\"dur\":%.3f}",
	    name, *text ? " " : "", text, HOST, thread, us(start_ns), us(end_ns - start_ns));
	if (flow)
		add_flow(trace, phase, HOST, thread, phase == 's' ? start_ns : end_ns, flow);
	pthread_mutex_unlock(&trace->lock);
}

/* How long of the task an engine was at work: sums over clusters and channels. */
static void add_engines(struct npurt_trace *trace, const struct npurt_trace_task *task)
{
	const struct npu_record *record = task->record;
	const uint32_t busy[ENGINE_COUNT] = { record->mac_cycles, record->out_cycles,
					      record->vector_cycles, record->dma_cycles };
	uint32_t i;

	for (i = 0; i < ENGINE_COUNT; i++) {
		if (!busy[i])
			continue;
		add(trace,
		    ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"engine\",\"pid\":%d,\"tid\":%u,"
		    "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"busy_cycles\":%u}}",
		    engine_names[i], ENGINES, task->context * ENGINE_COUNT + i, us(task->start_ns),
		    us(task->end_ns - task->start_ns), busy[i]);
	}
}

void npurt_trace_task(struct npurt_trace *trace, const struct npurt_trace_task *task)
{
	char text[NAME_BYTES];

	quoted(task->name, text);
	pthread_mutex_lock(&trace->lock);
	add(trace,
	    ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"task\",\"pid\":%d,\"tid\":%u,"
	    "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"result\":%d",
	    text, QUEUES, task->context, us(task->start_ns), us(task->end_ns - task->start_ns),
	    task->result);
	if (task->record)
		add(trace,
		    ",\"task\":%u,\"device_start\":%" PRIu64 ",\"device_cycles\":%" PRIu64
		    ",\"stall_token_cycles\":%u,\"stall_memory_cycles\":%u",
		    (uint32_t)task->record->task_id, (uint64_t)task->record->start,
		    (uint64_t)(task->record->end - task->record->start),
		    (uint32_t)task->record->stall_token, (uint32_t)task->record->stall_memory);
	add(trace, "}}");
	if (task->flow)
		add_flow(trace, 't', QUEUES, task->context, task->start_ns, task->flow);
	if (task->record)
		add_engines(trace, task);
	pthread_mutex_unlock(&trace->lock);
}
