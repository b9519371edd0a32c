/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what, const char *reason)
{
	fprintf(stderr, "npu-run: %s: %s\n", what, reason);
	return -1;
}

static int collect(struct npurt_future *future, struct npurt_task_report *report)
{
	int error = npurt_future_wait(future, NPURT_FOREVER);

	if (error) {
		const char *reason = npurt_future_error(future);

		return complain("the run failed", *reason ? reason : npurt_last_error());
	}
	if (!report)
		return 0;
	memset(report, 0, sizeof(*report));
	report->size = sizeof(*report);
	if (npurt_future_get_report(future, report))
		return complain("the run has no report", npurt_last_error());
	return 0;
}

/* Marks cost the same cycles whether they are written or not, so every run is profiled. */
static int submit(struct session *session, struct npurt_future **future)
{
	struct npurt_run_options run = { .size = sizeof(run), .flags = NPURT_RUN_PROFILE };

	if (npurt_run_submit(session->model, session->bindings, session->count, &run, future))
		return complain("the run was not taken", npurt_last_error());
	return 0;
}

static int take_layers(struct session *session, struct npurt_future *future,
		       struct measurement *measurement)
{
	uint32_t layers = session->info.layers;

	measurement->layers = calloc(layers ? layers : 1, sizeof(*measurement->layers));
	if (!measurement->layers)
		return complain("layer times", "no memory");
	if (npurt_future_get_layer_times(future, measurement->layers, layers) < 0)
		return complain("layer times", npurt_last_error());
	return 0;
}

/* A window of @depth runs in flight over @count runs; @reports may be NULL. */
static int run_many(struct session *session, uint32_t count, uint32_t depth,
		    struct measurement *measurement, bool keep)
{
	struct npurt_future **window = calloc(depth, sizeof(*window));
	uint32_t submitted = 0, done = 0;
	int result = 0;

	if (!window)
		return complain("the queue", "no memory");
	while (!result && done < count) {
		struct npurt_future **slot;

		if (submitted < count && submitted - done < depth) {
			result = submit(session, &window[submitted % depth]);
			submitted += !result;
			continue;
		}
		slot = &window[done % depth];
		result = collect(*slot, keep ? &measurement->reports[done] : NULL);
		if (!result && keep && done == 0)
			result = take_layers(session, *slot, measurement);
		npurt_future_release(*slot);
		*slot = NULL;
		done++;
	}
	for (uint32_t i = 0; i < depth; i++)
		npurt_future_release(window[i]);
	free(window);
	return result;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int summarize(struct measurement *measurement)
{
	uint32_t runs = measurement->runs, last = runs - 1;
	uint64_t *values = calloc(runs, sizeof(*values));

	if (!values)
		return complain("the figures", "no memory");
	for (uint32_t i = 0; i < runs; i++)
		values[i] = measurement->reports[i].cycles;
	measurement->cycles_first = values[0];
	if (runs > 1)
		qsort(values + 1, last, sizeof(*values), compare_u64);
	measurement->cycles_warm = runs > 1 ? values[1 + (last - 1) / 2] : values[0];
	qsort(values, runs, sizeof(*values), compare_u64);
	measurement->cycles = values[last / 2];
	for (uint32_t i = 0; i < runs; i++)
		values[i] = (uint64_t)(measurement->reports[i].complete_ns -
				       measurement->reports[i].submit_ns);
	qsort(values, runs, sizeof(*values), compare_u64);
	measurement->latency_min = (int64_t)values[0];
	measurement->latency_median = (int64_t)values[last / 2];
	measurement->latency_p99 = (int64_t)values[(uint64_t)last * 99 / 100];
	measurement->latency_max = (int64_t)values[last];
	free(values);
	return 0;
}

int measure_run(struct session *session, const struct options *options,
		struct measurement *measurement)
{
	memset(measurement, 0, sizeof(*measurement));
	measurement->runs = options->iterations;
	measurement->reports = calloc(options->iterations, sizeof(*measurement->reports));
	if (!measurement->reports)
		return complain("the figures", "no memory");
	if (options->warmup &&
	    run_many(session, options->warmup, options->queue_depth, measurement, false))
		return -1;
	if (run_many(session, options->iterations, options->queue_depth, measurement, true))
		return -1;
	return summarize(measurement);
}

void measure_free(struct measurement *measurement)
{
	free(measurement->reports);
	free(measurement->layers);
	memset(measurement, 0, sizeof(*measurement));
}
