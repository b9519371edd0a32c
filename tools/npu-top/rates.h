/* SPDX-License-Identifier: MIT */
/*
 * What happened between two samples. A figure that cannot be known is NaN.
 */
#ifndef TOP_RATES_H
#define TOP_RATES_H

#include "sample.h"

/* Of what happened in between; of ever where nothing did before. */
struct top_quantiles {
	uint64_t count;
	double p50_ns, p99_ns;
};

enum top_bound {
	TOP_BOUND_NONE = 0, /* idle, or unknown */
	TOP_BOUND_COMPUTE,
	TOP_BOUND_DMA,
	TOP_BOUND_STALLS, /* tasks run, and their engines wait for each other or for memory */
	TOP_BOUND_HOST, /* the device has time left */
};

struct top_device_rates {
	double use; /* share of its time in which its clusters had tasks, of those to be seen */
	double busy; /* share of the time that its driver says it was at work */
	double mac, vector, dma; /* share of the engines' time, 0 to 1 */
	double stall; /* of the time of tasks on all their engines; of what this process may see */
	double tasks; /* a second */
	double dram_read, dram_write; /* bytes a second */
	double speed; /* device seconds that passed in a second: 1 of hardware */
	enum top_bound bound;
};

struct top_process_rates {
	double use; /* share of the device's time */
	double mac, vector, dma;
	double runs, failed; /* a second, of models */
	uint64_t all_runs, all_failed;
};

struct top_queue_rates {
	double submitted, completed, refused, timed_out; /* a second */
	struct top_quantiles wait, wait_ever;
};

struct top_model_rates {
	double runs, failed; /* a second */
	double use; /* share of the device's time */
	double cycles; /* a run */
	double mac, dma, stall; /* shares of the cycles of its runs */
	struct top_quantiles latency, latency_ever;
};

/* Arrays beside those of @now. */
struct top_rates {
	const struct top_sample *now;
	double seconds;
	struct top_device_rates *device;
	struct top_process_rates *process;
	struct top_queue_rates *queue;
	struct top_model_rates *model;
};

/**
 * top_rates_make() - compare two samples
 * @before: NULL: there is none, and nothing is known of anything a second
 */
void top_rates_make(struct top_rates *rates, const struct top_sample *before,
		    const struct top_sample *now);
void top_rates_free(struct top_rates *rates);

/** top_quantile() - of the difference of two histograms; @before may be NULL */
double top_quantile(const struct npurt_stats_times *before, const struct npurt_stats_times *now,
		    double share, uint64_t *count);

const char *top_bound_name(enum top_bound bound);

#endif /* TOP_RATES_H */
