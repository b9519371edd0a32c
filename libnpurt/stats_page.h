/* SPDX-License-Identifier: MIT */
/*
 * The statistics page: what a process shows of a device it has opened to monitors of the same user.
 *
 * A file in NPURT_STATS_FOLDER, named NPURT_STATS_PREFIX PID.NUMBER, mode 0600, one for each opened
 * device, removed when the device is closed or the process exits. A process that was killed leaves
 * its file behind: it is stale when no process of that number, with that start time, lives in that
 * process namespace.
 *
 * Numbers are in the host's byte order. The page is written by one process and read by any; a
 * reader copies it and believes nothing in it. Two kinds of fields:
 * - `counts` go up while work is done, each stored at once, at any time.
 * - Everything else changes under the page's sequence number, which is odd meanwhile: a copy is
 *   whole when the number was even and the same before and after.
 */
#ifndef NPURT_STATS_PAGE_H
#define NPURT_STATS_PAGE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define NPURT_STATS_FOLDER "/dev/shm"
#define NPURT_STATS_PREFIX "npurt-stats."

#define NPURT_STATS_MAGIC 0x315441545355504eull /* "NPUSTAT1" */
#define NPURT_STATS_VERSION 1

#define NPURT_STATS_QUEUES 32
#define NPURT_STATS_MODELS 64
#define NPURT_STATS_NAME_BYTES 64

/* The publisher looks this often; what a reader sees is no older, while the process runs. */
#define NPURT_STATS_BEAT_NS 250000000ll

/*
 * How long something took: 16 buckets for each power of two, so a value is known to 1/16 of itself.
 * The last one holds everything from half a minute on.
 */
#define NPURT_STATS_BUCKETS 512

struct npurt_stats_times {
	uint64_t sum_ns;
	uint64_t bucket[NPURT_STATS_BUCKETS];
};

static inline unsigned int npurt_stats_bucket(uint64_t ns)
{
	unsigned int power;

	if (ns < 16)
		return (unsigned int)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	if (power > NPURT_STATS_BUCKETS / 16 + 2)
		return NPURT_STATS_BUCKETS - 1;
	return (power - 3) * 16 + (unsigned int)(ns >> (power - 4) & 15);
}

/** npurt_stats_bucket_start() - the least value in a bucket; behind the last one: their end */
static inline uint64_t npurt_stats_bucket_start(unsigned int bucket)
{
	if (bucket < 16)
		return bucket;
	return (uint64_t)(16 + bucket % 16) << (bucket / 16 - 1);
}

/* A context and its queue. @number: 1 and up, never used again in a page; 0: nothing here. */
struct npurt_stats_queue {
	uint32_t number;
	uint32_t priority;
	uint32_t capacity; /* tasks in flight at most */
	uint32_t depth; /* tasks in flight */
	uint32_t waiting; /* submitters waiting for room */
	int32_t error; /* negative errno: it has stopped for good */
	uint64_t submitted, completed;
	uint64_t bytes_in_flight, bytes_capacity; /* 0: not bounded by bytes */
	uint64_t memory_bytes; /* of the context: buffers, models, the queue itself */
	uint64_t oldest_ns; /* age of the oldest task in flight; 0: none, or nobody asked */
	struct {
		uint64_t high_water; /* of depth */
		uint64_t refused; /* full, and the submitter would not wait */
		uint64_t timed_out; /* full for longer than the submitter would wait */
		struct npurt_stats_times wait; /* behind others of the queue */
	} counts;
};

enum npurt_stats_kind {
	NPURT_STATS_MODEL = 1,
	NPURT_STATS_GRAPH,
};

/* A model, or a graph, whose runs are its replays. @number as of a queue. */
struct npurt_stats_model {
	uint32_t number;
	uint32_t kind;
	uint32_t queue; /* its number */
	uint32_t clusters;
	char name[NPURT_STATS_NAME_BYTES];
	uint64_t memory_bytes;
	struct {
		uint64_t runs; /* ended, whatever their result */
		uint64_t failed;
		uint64_t out_of_budget; /* of these */
		uint64_t cycles; /* on the device, from start to end */
		uint64_t mac_cycles, output_cycles, vector_cycles, dma_cycles;
		uint64_t stall_token_cycles, stall_memory_cycles;
		uint64_t dram_read_bytes, dram_write_bytes;
		struct npurt_stats_times latency; /* from submission until the host saw the end */
	} counts;
};

enum npurt_stats_flag {
	NPURT_STATS_HAS_COUNTERS = 1u << 0, /* of the device */
};

struct npurt_stats_device {
	char name[NPURT_STATS_NAME_BYTES];
	char config[16];
	char driver[NPURT_STATS_NAME_BYTES];
	char firmware[32];
	uint32_t firmware_abi, hardware_version;
	uint32_t clusters, dma_channels;
	uint64_t clock_hz;
	uint64_t time_cycles, tasks;
	uint64_t mac_cycles, vector_cycles, dma_cycles;
	uint64_t dram_read_bytes, dram_write_bytes, tlb_misses;
};

struct npurt_stats_page {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* sizeof(struct npurt_stats_page) */
	uint32_t sequence;
	uint32_t flags; /* enum npurt_stats_flag */
	uint32_t pid;
	uint32_t reserved;
	uint64_t start_time; /* npurt_stats_start_time() */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
	int64_t beat_ns; /* CLOCK_MONOTONIC: when the publisher last looked */
	uint64_t beats;
	uint64_t ended_runs, ended_failed; /* of models that are gone */
	uint32_t queues_left_out, models_left_out; /* there was no place for them */
	uint32_t queues_used, models_used; /* places behind these have never been used */
	struct npurt_stats_device device;
	struct npurt_stats_queue queue[NPURT_STATS_QUEUES];
	struct npurt_stats_model model[NPURT_STATS_MODELS];
};

/**
 * npurt_stats_start_time() - when a process started, in the kernel's ticks; with its number it is
 * like no other
 * @pid: 0: the caller
 *
 * Return: 0 when there is no such process.
 */
static inline uint64_t npurt_stats_start_time(pid_t pid)
{
	char path[32] = "/proc/self/stat", text[1024];
	unsigned long long ticks = 0;
	const char *after;
	size_t bytes;
	FILE *file;
	int i;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = 0;
	/* The program's name, in brackets, may hold anything. */
	after = strrchr(text, ')');
	for (i = 2; after && i < 22; i++)
		after = strchr(after + 1, ' ');
	if (!after || sscanf(after, "%llu", &ticks) != 1)
		return 0;
	return ticks;
}

#endif /* NPURT_STATS_PAGE_H */
