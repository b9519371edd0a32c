// SPDX-License-Identifier: MIT
/* Samples: rows, and what /proc says of a process. */
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Room for one row more; rows are zeroed. Grows by doubling. */
static void *add_row(void **rows, size_t *count, size_t bytes)
{
	size_t room = 4;
	char *row;

	while (room < *count)
		room *= 2;
	if (!*rows || *count == room) {
		void *more = realloc(*rows, (*rows ? room * 2 : room) * bytes);

		if (!more) {
			fputs("npu-top: out of memory\n", stderr);
			exit(1);
		}
		*rows = more;
	}
	row = (char *)*rows + *count * bytes;
	memset(row, 0, bytes);
	++*count;
	return row;
}

static int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t top_now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

struct top_sample *top_sample_new(void)
{
	struct top_sample *sample = calloc(1, sizeof(*sample));

	if (!sample) {
		fputs("npu-top: out of memory\n", stderr);
		exit(1);
	}
	sample->monotonic_ns = top_now();
	sample->realtime_ns = clock_now(CLOCK_REALTIME);
	return sample;
}

void top_sample_free(struct top_sample *sample)
{
	if (!sample)
		return;
	free(sample->device);
	free(sample->process);
	free(sample->queue);
	free(sample->model);
	free(sample->note);
	free(sample);
}

struct top_device *top_add_device(struct top_sample *sample)
{
	struct top_device *device =
		add_row((void **)&sample->device, &sample->devices, sizeof(*sample->device));

	device->driver_says = (struct top_driver_says){
		.busy_ns = TOP_UNKNOWN,
		.clock_hz = TOP_UNKNOWN,
		.memory_bytes = TOP_UNKNOWN,
		.resets = TOP_UNKNOWN,
	};
	return device;
}

struct top_process *top_add_process(struct top_sample *sample, size_t device, pid_t pid)
{
	struct top_process *process =
		add_row((void **)&sample->process, &sample->processes, sizeof(*sample->process));

	process->device = device;
	process->pid = pid;
	return process;
}

struct top_queue *top_add_queue(struct top_sample *sample)
{
	return add_row((void **)&sample->queue, &sample->queues, sizeof(*sample->queue));
}

struct top_model *top_add_model(struct top_sample *sample)
{
	return add_row((void **)&sample->model, &sample->models, sizeof(*sample->model));
}

void top_add_note(struct top_sample *sample, const char *format, ...)
{
	struct top_note *note = add_row((void **)&sample->note, &sample->notes, sizeof(*note));
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(note->text, sizeof(note->text), format, arguments);
	va_end(arguments);
}

size_t top_find_process(const struct top_sample *sample, size_t device, pid_t pid)
{
	for (size_t i = 0; i < sample->processes; i++) {
		const struct top_process *process = &sample->process[i];

		if (process->device == device && process->pid == pid && !process->in_container)
			return i;
	}
	return TOP_NO_ROW;
}

void top_clean_text(char *text, size_t bytes)
{
	size_t i;

	text[bytes - 1] = 0;
	for (i = 0; text[i]; i++) {
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	}
}

static bool read_command(struct top_process *process)
{
	char path[32];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = read(fd, process->command, sizeof(process->command) - 1);
	close(fd);
	if (bytes <= 0)
		return false;
	if (process->command[bytes - 1] == '\n')
		bytes--;
	process->command[bytes] = 0;
	top_clean_text(process->command, sizeof(process->command));
	return true;
}

static void read_user(struct top_process *process)
{
	static uid_t known = (uid_t)-1;
	static char name[sizeof(process->user)];
	const struct passwd *entry;

	/* Mostly everything is of one user. */
	if (process->uid != known || !*name) {
		known = process->uid;
		entry = getpwuid(known);
		if (entry)
			snprintf(name, sizeof(name), "%s", entry->pw_name);
		else
			snprintf(name, sizeof(name), "%u", (unsigned int)known);
		top_clean_text(name, sizeof(name));
	}
	memcpy(process->user, name, sizeof(process->user));
}

bool top_name_process(struct top_process *process)
{
	char path[32];
	struct stat stat_buffer;

	snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	if (stat(path, &stat_buffer))
		return false;
	process->uid = stat_buffer.st_uid;
	process->start_time = npurt_stats_start_time(process->pid);
	process->ours = process->uid == geteuid();
	read_user(process);
	return read_command(process);
}

const char *top_state_name(enum top_state state)
{
	static const char *const names[] = {
		[TOP_WELL] = "well",
		[TOP_FROZEN] = "frozen",
		[TOP_STOPPED] = "stopped",
		[TOP_DENIED] = "denied",
		[TOP_WEDGED] = "wedged",
		[TOP_GONE] = "gone",
		[TOP_RESETTING] = "resetting",
		[TOP_DEAD] = "dead",
	};

	return names[state];
}
