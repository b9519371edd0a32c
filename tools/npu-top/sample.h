/* SPDX-License-Identifier: MIT */
/*
 * What is known at one moment: devices, processes, queues, models. Sources fill it in, rates.c
 * makes figures a second of two of them, views show those.
 */
#ifndef TOP_SAMPLE_H
#define TOP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats_page.h"

#define TOP_NO_ROW SIZE_MAX

enum top_state {
	TOP_WELL = 0,
	TOP_FROZEN, /* its process does not look after it: stopped, or starved */
	TOP_STOPPED, /* a queue has stopped for good */
	TOP_DENIED, /* no permission */
	TOP_WEDGED, /* it does not answer */
	TOP_GONE,
	TOP_RESETTING, /* its driver is starting it again */
	TOP_DEAD, /* its driver cannot */
};

#define TOP_TROUBLE_BYTES 512

/* A number that nobody told. */
#define TOP_UNKNOWN UINT64_MAX

/* What a card's driver says of it to everybody (Documentation/driver/sysfs-driver-npu). */
struct top_driver_says {
	char state[16]; /* the driver's own word; "": it says nothing */
	char last_failure[128]; /* "": there was none */
	int64_t read_ns; /* CLOCK_MONOTONIC */
	uint64_t busy_ns, clock_hz, memory_bytes, resets; /* or TOP_UNKNOWN; a clock of 0 sleeps */
};

/* What is the matter, since when, for whom, and what helps is in @trouble; "" when all is well. */
struct top_device {
	char name[NPURT_STATS_NAME_BYTES];
	char config[16];
	char driver[NPURT_STATS_NAME_BYTES];
	char firmware[32];
	char bus[32]; /* "0000:00:04.0"; "" of a model */
	enum top_state state;
	char trouble[TOP_TROUBLE_BYTES];
	int error; /* of a card that cannot be asked: negative errno; else 0 */
	pid_t pid; /* whose model it is; 0: hardware */
	uid_t uid; /* of this process */
	uint32_t page; /* of this process's pages, which a model has one of; 0: hardware */
	uint64_t start_time;
	uint32_t clusters, dma_channels;
	uint64_t clock_hz;
	bool has_counters;
	int64_t counters_ns; /* CLOCK_MONOTONIC: when they were read */
	uint64_t time_cycles, tasks, mac_cycles, vector_cycles, dma_cycles;
	uint64_t dram_read_bytes, dram_write_bytes, tlb_misses;
	struct top_driver_says driver_says;
};

struct top_process {
	size_t device;
	pid_t pid;
	uint64_t start_time;
	uid_t uid;
	bool ours; /* of this user and this process namespace: may be ended */
	bool in_container; /* its number is another process namespace's */
	bool has_page, has_engines;
	char user[32];
	char command[64];
	uint64_t memory_bytes;
	uint64_t contexts, queues, tasks;
	uint64_t mac_cycles, vector_cycles, dma_cycles; /* of its engines, when it has_engines */
	uint64_t ended_runs, ended_failed; /* of models that are gone */
	uint64_t left_out; /* queues and models that its page has no place for */
};

/* Rows of a process's page; their numbers are that page's. */
struct top_queue {
	size_t process;
	uint32_t page;
	int64_t read_ns; /* CLOCK_MONOTONIC: when its counts were read */
	int64_t beat_ns; /* CLOCK_MONOTONIC: when its gauges were read */
	struct npurt_stats_queue row;
};

struct top_model {
	size_t process;
	int64_t begin_ns; /* CLOCK_MONOTONIC: its counts are of a moment from then on */
	int64_t read_ns; /* as of a queue: until then */
	uint32_t page;
	size_t queue; /* TOP_NO_ROW: none */
	struct npurt_stats_model row;
};

enum top_event_kind {
	TOP_EVENT_WEDGED = 0, /* a uevent: it was reset, or cannot be */
	TOP_EVENT_HEALTH, /* of devlink */
	TOP_EVENT_LOST, /* of whatever card */
};

#define TOP_EVENTS 8

struct top_event {
	enum top_event_kind kind;
	bool is_bad;
	uint64_t number; /* of all that have come: the first is 1 */
	int64_t realtime_ns; /* when it was read */
	char device[NPURT_STATS_NAME_BYTES];
	char bus[32];
	char what[32]; /* what helps; whose report it is */
	char text[160]; /* of the device, which is not named in it */
};

struct top_note {
	char text[160];
};

struct top_sample {
	int64_t monotonic_ns, realtime_ns;
	size_t devices, processes, queues, models, notes;
	struct top_device *device;
	struct top_process *process;
	struct top_queue *queue;
	struct top_model *model;
	struct top_note *note;
	size_t events;
	struct top_event event[TOP_EVENTS]; /* the last ones, oldest first */
	char events_missing[200]; /* which events cannot be seen, and why; "": none */
};

/** top_sample_new() - an empty one of now; exits when out of memory, as the next ones do */
struct top_sample *top_sample_new(void);

/** top_now() - CLOCK_MONOTONIC in nanoseconds */
int64_t top_now(void);
void top_sample_free(struct top_sample *sample);

struct top_device *top_add_device(struct top_sample *sample);
struct top_process *top_add_process(struct top_sample *sample, size_t device, pid_t pid);
struct top_queue *top_add_queue(struct top_sample *sample);
struct top_model *top_add_model(struct top_sample *sample);
void top_add_note(struct top_sample *sample, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** top_find_process() - the row of a process of our namespace on a device; TOP_NO_ROW */
size_t top_find_process(const struct top_sample *sample, size_t device, pid_t pid);

/** top_name_process() - fill in user, command, start time; false when it is gone */
bool top_name_process(struct top_process *process);

/** top_clean_text() - end a text within @bytes, and take what a terminal could obey out of it */
void top_clean_text(char *text, size_t bytes);

/** top_state_name() - a word for it */
const char *top_state_name(enum top_state state);

#endif /* TOP_SAMPLE_H */
