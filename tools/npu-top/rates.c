// SPDX-License-Identifier: MIT
/*
 * What happened between two samples. Rows are the same when user, process, start time and number
 * are; counters of a hostile or a restarted process may go backwards, which counts as nothing.
 */
#include "rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this share of its time an engine is what holds the device back. */
#define BOUND_SHARE 0.6

static double difference(uint64_t before, uint64_t now)
{
	return now > before ? (double)(now - before) : 0;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* A share is never more than all, whatever a page says. */
static double share(double part, double whole)
{
	double value = ratio(part, whole);

	return value > 1 ? 1 : value;
}

/* -------------------------------------------------------------------- quantiles */

static uint64_t bucket_difference(const struct npurt_stats_times *before,
				  const struct npurt_stats_times *now, unsigned int bucket)
{
	uint64_t from = before ? before->bucket[bucket] : 0;

	return now->bucket[bucket] > from ? now->bucket[bucket] - from : 0;
}

/* Between a bucket's ends its values are taken as evenly spread. */
static double in_bucket(unsigned int bucket, double part)
{
	double start = (double)npurt_stats_bucket_start(bucket);
	double end = (double)npurt_stats_bucket_start(bucket + 1);

	if (bucket < 16)
		return start;
	return start + (end - start) * part;
}

double top_quantile(const struct npurt_stats_times *before, const struct npurt_stats_times *now,
		    double wanted, uint64_t *count)
{
	double total = 0, seen = 0, rank;
	unsigned int i;

	for (i = 0; i < NPURT_STATS_BUCKETS; i++)
		total += (double)bucket_difference(before, now, i);
	if (count)
		*count = total < 1e18 ? (uint64_t)total : (uint64_t)1e18;
	if (total <= 0)
		return NAN;
	rank = wanted * total;
	for (i = 0; i < NPURT_STATS_BUCKETS; i++) {
		double here = (double)bucket_difference(before, now, i);

		if (here > 0 && seen + here >= rank)
			return in_bucket(i, fmax(rank - seen - 0.5, 0) / here);
		seen += here;
	}
	return in_bucket(NPURT_STATS_BUCKETS - 1, 1);
}

static void make_quantiles(struct top_quantiles *quantiles, const struct npurt_stats_times *before,
			   const struct npurt_stats_times *now)
{
	quantiles->p50_ns = top_quantile(before, now, 0.5, &quantiles->count);
	quantiles->p99_ns = top_quantile(before, now, 0.99, NULL);
}

/* --------------------------------------------------------------- the same row before */

static bool same_process(const struct top_process *a, const struct top_process *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->uid == b->uid;
}

static const struct top_device *device_before(const struct top_sample *before,
					      const struct top_device *now)
{
	for (size_t i = 0; before && i < before->devices; i++) {
		const struct top_device *device = &before->device[i];

		if (device->pid == now->pid && device->start_time == now->start_time &&
		    device->uid == now->uid && device->page == now->page && !strcmp(device->name, now->name))
			return device;
	}
	return NULL;
}

static const struct top_process *process_before(const struct top_sample *before,
						const struct top_sample *now,
						const struct top_process *process)
{
	const struct top_device *device = &now->device[process->device], *from;

	for (size_t i = 0; before && i < before->processes; i++) {
		from = &before->device[before->process[i].device];
		if (same_process(&before->process[i], process) && from->page == device->page &&
		    !strcmp(from->name, device->name))
			return &before->process[i];
	}
	return NULL;
}

static const struct top_queue *queue_before(const struct top_sample *before,
					    const struct top_process *process,
					    const struct top_queue *now)
{
	for (size_t i = 0; before && i < before->queues; i++) {
		if (before->queue[i].row.number == now->row.number &&
		    before->queue[i].page == now->page &&
		    same_process(&before->process[before->queue[i].process], process))
			return &before->queue[i];
	}
	return NULL;
}

static const struct top_model *model_before(const struct top_sample *before,
					    const struct top_process *process,
					    const struct top_model *now)
{
	for (size_t i = 0; before && i < before->models; i++) {
		if (before->model[i].row.number == now->row.number &&
		    before->model[i].page == now->page &&
		    same_process(&before->process[before->model[i].process], process))
			return &before->model[i];
	}
	return NULL;
}

/* ---------------------------------------------------------------------- devices */

static enum top_bound find_bound(const struct top_device_rates *rates)
{
	double compute = rates->mac > rates->vector ? rates->mac : rates->vector;

	if (!(rates->tasks > 0) || isnan(rates->mac) || isnan(rates->dma) || isnan(rates->use))
		return TOP_BOUND_NONE;
	if (compute >= BOUND_SHARE && compute >= rates->dma)
		return TOP_BOUND_COMPUTE;
	if (rates->dma >= BOUND_SHARE)
		return TOP_BOUND_DMA;
	return rates->use >= BOUND_SHARE ? TOP_BOUND_STALLS : TOP_BOUND_HOST;
}

static double busy(const struct top_driver_says *before, const struct top_driver_says *now)
{
	if (before->busy_ns == TOP_UNKNOWN || now->busy_ns == TOP_UNKNOWN)
		return NAN;
	return share(difference(before->busy_ns, now->busy_ns),
		     (double)(now->read_ns - before->read_ns));
}

static void device_rates(struct top_device_rates *rates, const struct top_device *before,
			 const struct top_device *now)
{
	double seconds, cycles, clusters = now->clusters;

	*rates = (struct top_device_rates){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0 };
	if (before)
		rates->busy = busy(&before->driver_says, &now->driver_says);
	if (!before || !now->has_counters || !before->has_counters)
		return;
	seconds = (double)(now->counters_ns - before->counters_ns) / 1e9;
	cycles = difference(before->time_cycles, now->time_cycles);
	rates->tasks = ratio(difference(before->tasks, now->tasks), seconds);
	rates->dram_read =
		ratio(difference(before->dram_read_bytes, now->dram_read_bytes), seconds);
	rates->dram_write =
		ratio(difference(before->dram_write_bytes, now->dram_write_bytes), seconds);
	rates->speed = ratio(ratio(cycles, (double)now->clock_hz), seconds);
	/* A model's time stands still while it has nothing to do. */
	if (cycles <= 0)
		cycles = seconds > 0 ? INFINITY : 0;
	rates->mac = share(difference(before->mac_cycles, now->mac_cycles), cycles * clusters);
	rates->vector =
		share(difference(before->vector_cycles, now->vector_cycles), cycles * clusters);
	/* The command processor has a channel of its own. */
	rates->dma = share(difference(before->dma_cycles, now->dma_cycles),
			   cycles * ((double)now->dma_channels + 1));
}

/* Device cycles that pass in a second; 0: unknown. */
static double pace(const struct top_device *device, const struct top_device_rates *rates)
{
	if (!device->pid)
		return (double)device->clock_hz;
	return isnan(rates->speed) ? 0 : rates->speed * (double)device->clock_hz;
}

/* ------------------------------------------------------------------- models, queues */

static void model_rates(struct top_model_rates *rates, const struct top_device *device,
			const struct top_model *before, const struct top_model *now, double seconds)
{
	static const struct top_model nothing;
	const struct top_model *from = before ? before : &nothing;
	double runs = difference(from->row.counts.runs, now->row.counts.runs);
	double cycles = difference(from->row.counts.cycles, now->row.counts.cycles);
	double clusters = now->row.clusters ? now->row.clusters : 1;
	double channels = clusters * ratio(device->dma_channels, device->clusters);
	double stall = difference(from->row.counts.stall_token_cycles,
				  now->row.counts.stall_token_cycles) +
		       difference(from->row.counts.stall_memory_cycles,
				  now->row.counts.stall_memory_cycles);
	double mac = difference(from->row.counts.mac_cycles, now->row.counts.mac_cycles);
	double dma = difference(from->row.counts.dma_cycles, now->row.counts.dma_cycles);
	double busy = mac + dma +
		      difference(from->row.counts.output_cycles, now->row.counts.output_cycles) +
		      difference(from->row.counts.vector_cycles, now->row.counts.vector_cycles);

	rates->runs = before ? ratio(runs, seconds) : NAN;
	rates->failed = before ? ratio(difference(from->row.counts.failed, now->row.counts.failed),
				       seconds) :
				 NAN;
	rates->use = NAN;
	rates->cycles = ratio(cycles, runs);
	rates->mac = share(mac, cycles * clusters);
	rates->dma = share(dma, cycles * channels);
	rates->stall = share(stall, stall + busy);
	make_quantiles(&rates->latency_ever, NULL, &now->row.counts.latency);
	make_quantiles(&rates->latency, before ? &before->row.counts.latency : NULL,
		       &now->row.counts.latency);
}

static void queue_rates(struct top_queue_rates *rates, const struct top_queue *before,
			const struct top_queue *now)
{
	const struct npurt_stats_queue *from = before ? &before->row : NULL, *to = &now->row;
	double gauge_seconds, seconds;

	*rates = (struct top_queue_rates){
		.submitted = NAN, .completed = NAN, .refused = NAN, .timed_out = NAN
	};
	make_quantiles(&rates->wait_ever, NULL, &to->counts.wait);
	make_quantiles(&rates->wait, from ? &from->counts.wait : NULL, &to->counts.wait);
	if (!from)
		return;
	/* Gauges are of the page's last beat, counts of now. */
	seconds = (double)(now->read_ns - before->read_ns) / 1e9;
	gauge_seconds = (double)(now->beat_ns - before->beat_ns) / 1e9;
	rates->submitted = ratio(difference(from->submitted, to->submitted), gauge_seconds);
	rates->completed = ratio(difference(from->completed, to->completed), gauge_seconds);
	rates->refused = ratio(difference(from->counts.refused, to->counts.refused), seconds);
	rates->timed_out = ratio(difference(from->counts.timed_out, to->counts.timed_out), seconds);
}

/* -------------------------------------------------------------------- processes */

static void process_rates(struct top_process_rates *rates, const struct top_device *device,
			  const struct top_process *before, const struct top_process *now,
			  double seconds)
{
	double cycles = seconds * (double)device->clock_hz, clusters = device->clusters;

	*rates = (struct top_process_rates){
		.use = NAN, .mac = NAN, .vector = NAN, .dma = NAN, .runs = NAN, .failed = NAN
	};
	rates->all_runs = now->ended_runs;
	rates->all_failed = now->ended_failed;
	if (!before || !now->has_engines || !before->has_engines)
		return;
	rates->mac = share(difference(before->mac_cycles, now->mac_cycles), cycles * clusters);
	rates->vector =
		share(difference(before->vector_cycles, now->vector_cycles), cycles * clusters);
	rates->dma = share(difference(before->dma_cycles, now->dma_cycles),
			   cycles * ((double)device->dma_channels + 1));
	rates->use = fmax(fmax(rates->mac, rates->vector), rates->dma);
}

static double sum(double to, double more)
{
	if (isnan(more))
		return to;
	return isnan(to) ? more : to + more;
}

/* What its models did is what the process did. */
static void add_model_to_process(struct top_rates *rates, size_t index, double *engines_use)
{
	const struct top_model *model = &rates->now->model[index];
	const struct top_model_rates *from = &rates->model[index];
	struct top_process_rates *to = &rates->process[model->process];

	to->runs = sum(to->runs, from->runs);
	to->failed = sum(to->failed, from->failed);
	to->all_runs += model->row.counts.runs;
	to->all_failed += model->row.counts.failed;
	*engines_use = sum(*engines_use, from->use);
}

static void add_model_to_device(struct top_rates *rates, double *stall, double *weight,
				size_t index)
{
	const struct top_model_rates *model = &rates->model[index];
	size_t device = rates->now->process[rates->now->model[index].process].device;

	rates->device[device].use = fmin(sum(rates->device[device].use, model->use), 1);
	if (isnan(model->stall) || !(model->use > 0))
		return;
	stall[device] += model->stall * model->use;
	weight[device] += model->use;
}

static void *new_rows(size_t count, size_t bytes)
{
	void *rows = calloc(count ? count : 1, bytes);

	if (!rows) {
		fputs("npu-top: out of memory\n", stderr);
		exit(1);
	}
	return rows;
}

static void make_models(struct top_rates *rates, const struct top_sample *before)
{
	const struct top_sample *now = rates->now;

	for (size_t i = 0; i < now->models; i++) {
		const struct top_model *model = &now->model[i];
		const struct top_process *process = &now->process[model->process];
		const struct top_model *from = model_before(before, process, model);
		size_t device = process->device;
		double seconds;
		double cycles =
			from ? difference(from->row.counts.cycles, model->row.counts.cycles) : 0;

		seconds = from ? (double)(model->read_ns - from->read_ns) / 1e9 : 0;
		model_rates(&rates->model[i], &now->device[device], from, model, seconds);
		if (!from)
			continue;
		/* As many of the device's clusters as the program takes. */
		cycles *= ratio(model->row.clusters, now->device[device].clusters);
		rates->model[i].use =
			cycles > 0 ? share(cycles / seconds,
					   pace(&now->device[device], &rates->device[device])) :
				     0;
	}
}

static void sum_up(struct top_rates *rates)
{
	const struct top_sample *now = rates->now;
	double *use = new_rows(now->processes, sizeof(*use));
	double *stall = new_rows(now->devices, sizeof(*stall));
	double *weight = new_rows(now->devices, sizeof(*weight));
	size_t i;

	for (i = 0; i < now->processes; i++)
		use[i] = NAN;
	for (i = 0; i < now->models; i++) {
		add_model_to_process(rates, i, &use[now->model[i].process]);
		add_model_to_device(rates, stall, weight, i);
	}
	for (i = 0; i < now->processes; i++) {
		if (isnan(rates->process[i].use))
			rates->process[i].use = use[i] > 1 ? 1 : use[i];
	}
	for (i = 0; i < now->devices; i++) {
		rates->device[i].stall = ratio(stall[i], weight[i]);
		rates->device[i].bound = find_bound(&rates->device[i]);
	}
	free(use);
	free(stall);
	free(weight);
}

void top_rates_make(struct top_rates *rates, const struct top_sample *before,
		    const struct top_sample *now)
{
	size_t i;

	rates->now = now;
	rates->seconds = before ? (double)(now->monotonic_ns - before->monotonic_ns) / 1e9 : 0;
	rates->device = new_rows(now->devices, sizeof(*rates->device));
	rates->process = new_rows(now->processes, sizeof(*rates->process));
	rates->queue = new_rows(now->queues, sizeof(*rates->queue));
	rates->model = new_rows(now->models, sizeof(*rates->model));
	for (i = 0; i < now->devices; i++)
		device_rates(&rates->device[i], device_before(before, &now->device[i]),
			     &now->device[i]);
	for (i = 0; i < now->processes; i++)
		process_rates(&rates->process[i], &now->device[now->process[i].device],
			      process_before(before, now, &now->process[i]), &now->process[i],
			      rates->seconds);
	for (i = 0; i < now->queues; i++)
		queue_rates(&rates->queue[i],
			    queue_before(before, &now->process[now->queue[i].process],
					 &now->queue[i]),
			    &now->queue[i]);
	make_models(rates, before);
	sum_up(rates);
}

void top_rates_free(struct top_rates *rates)
{
	free(rates->device);
	free(rates->process);
	free(rates->queue);
	free(rates->model);
	memset(rates, 0, sizeof(*rates));
}

const char *top_bound_name(enum top_bound bound)
{
	static const char *const names[] = { "-", "compute", "dma", "stalls", "host" };

	return names[bound];
}
