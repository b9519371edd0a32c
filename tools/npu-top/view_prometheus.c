// SPDX-License-Identifier: MIT
/*
 * A sample in Prometheus's text format 0.0.4: counters since the beginning, and gauges. Rates and
 * quantiles are the server's work; it gets histograms. A metric's lines stand together, so each is
 * written for all rows at once.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "view.h"

/* Buckets that it is told of end where powers of four do: 16 us to 17 s. */
#define FIRST_POWER 14
#define LAST_POWER 34

struct out {
	FILE *file;
	const struct top_rates *rates;
	const struct top_wish *wish;
};

static void begin(const struct out *out, const char *name, const char *type, const char *help)
{
	fprintf(out->file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void label(FILE *file, const char *before, const char *name, const char *value)
{
	fprintf(file, "%s%s=\"", before, name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', file);
		fputc(*value, file);
	}
	fputc('"', file);
}

static void number_label(FILE *file, const char *before, const char *name, uint64_t value)
{
	fprintf(file, "%s%s=\"%" PRIu64 "\"", before, name, value);
}

/* ---------------------------------------------------------------------- devices */

static void device_labels(const struct out *out, const struct top_device *device)
{
	label(out->file, "{", "device", device->name);
	number_label(out->file, ",", "pid", (uint64_t)device->pid);
	number_label(out->file, ",", "page", device->page);
}

static void device_metric(const struct out *out, const char *name, const char *type,
			  const char *help, size_t offset)
{
	const struct top_sample *now = out->rates->now;

	begin(out, name, type, help);
	for (size_t i = 0; i < now->devices; i++) {
		const struct top_device *device = &now->device[i];

		if (!device->has_counters || !top_is_wanted_device(device, out->wish))
			continue;
		fputs(name, out->file);
		device_labels(out, device);
		fprintf(out->file, "} %" PRIu64 "\n",
			*(const uint64_t *)(const void *)((const char *)device + offset));
	}
}

static void device_info(const struct out *out)
{
	const struct top_sample *now = out->rates->now;
	size_t i;

	begin(out, "npu_device_info", "gauge", "What a device is; always 1.");
	for (i = 0; i < now->devices; i++) {
		const struct top_device *device = &now->device[i];

		if (!top_is_wanted_device(device, out->wish))
			continue;
		fputs("npu_device_info", out->file);
		device_labels(out, device);
		label(out->file, ",", "config", device->config);
		label(out->file, ",", "driver", device->driver);
		label(out->file, ",", "firmware", device->firmware);
		number_label(out->file, ",", "clusters", device->clusters);
		fputs("} 1\n", out->file);
	}
	begin(out, "npu_device_up", "gauge", "1 when a device is well.");
	for (i = 0; i < now->devices; i++) {
		const struct top_device *device = &now->device[i];

		if (!top_is_wanted_device(device, out->wish))
			continue;
		fputs("npu_device_up", out->file);
		device_labels(out, device);
		label(out->file, ",", "state", top_state_name(device->state));
		fprintf(out->file, "} %d\n", device->state == TOP_WELL);
	}
}

static void says_metric(const struct out *out, const char *name, const char *type,
			const char *help, size_t offset, double unit)
{
	const struct top_sample *now = out->rates->now;

	begin(out, name, type, help);
	for (size_t i = 0; i < now->devices; i++) {
		const struct top_device *device = &now->device[i];
		uint64_t number = *(const uint64_t *)(const void *)((const char *)device + offset);

		if (number == TOP_UNKNOWN || !top_is_wanted_device(device, out->wish))
			continue;
		fputs(name, out->file);
		device_labels(out, device);
		fprintf(out->file, "} %.15g\n", (double)number * unit);
	}
}

static void driver_says(const struct out *out)
{
	says_metric(out, "npu_busy_seconds_total", "counter",
		    "Time that a card was at work, of its busiest kind of engine.",
		    offsetof(struct top_device, driver_says.busy_ns), 1e-9);
	says_metric(out, "npu_current_clock_hertz", "gauge", "Clock of a card; 0 while it sleeps.",
		    offsetof(struct top_device, driver_says.clock_hz), 1);
	says_metric(out, "npu_memory_bytes", "gauge", "Memory that is held for a card.",
		    offsetof(struct top_device, driver_says.memory_bytes), 1);
	says_metric(out, "npu_resets_total", "counter", "How often a card was reset.",
		    offsetof(struct top_device, driver_says.resets), 1);
}

static void engines(const struct out *out)
{
	static const struct {
		const char *name;
		size_t offset;
	} list[] = {
		{ "mac", offsetof(struct top_device, mac_cycles) },
		{ "vector", offsetof(struct top_device, vector_cycles) },
		{ "dma", offsetof(struct top_device, dma_cycles) },
	};
	const struct top_sample *now = out->rates->now;

	begin(out, "npu_engine_busy_cycles_total", "counter",
	      "Cycles that engines were busy, summed over all of a kind.");
	for (size_t i = 0; i < now->devices; i++) {
		const struct top_device *device = &now->device[i];

		if (!device->has_counters || !top_is_wanted_device(device, out->wish))
			continue;
		for (size_t j = 0; j < sizeof(list) / sizeof(list[0]); j++) {
			fputs("npu_engine_busy_cycles_total", out->file);
			device_labels(out, device);
			label(out->file, ",", "engine", list[j].name);
			fprintf(out->file, "} %" PRIu64 "\n",
				*(const uint64_t *)(const void *)((const char *)device +
								  list[j].offset));
		}
	}
}

static void devices(const struct out *out)
{
	device_info(out);
	device_metric(out, "npu_clock_hertz", "gauge", "Clock of a device.",
		      offsetof(struct top_device, clock_hz));
	device_metric(out, "npu_time_cycles_total", "counter", "Device time, in cycles.",
		      offsetof(struct top_device, time_cycles));
	device_metric(out, "npu_tasks_total", "counter", "Tasks that a device has ended.",
		      offsetof(struct top_device, tasks));
	device_metric(out, "npu_dram_read_bytes_total", "counter", "Bytes read from DRAM.",
		      offsetof(struct top_device, dram_read_bytes));
	device_metric(out, "npu_dram_write_bytes_total", "counter", "Bytes written to DRAM.",
		      offsetof(struct top_device, dram_write_bytes));
	device_metric(out, "npu_tlb_misses_total", "counter", "Misses of the MMU's TLB.",
		      offsetof(struct top_device, tlb_misses));
	engines(out);
	driver_says(out);
}

/* ----------------------------------------------------------------------- queues */

static bool is_wanted(const struct out *out, size_t process)
{
	const struct top_sample *now = out->rates->now;

	return top_is_wanted_device(&now->device[now->process[process].device], out->wish);
}

static void process_labels(const struct out *out, size_t process)
{
	const struct top_sample *now = out->rates->now;

	label(out->file, "{", "device", now->device[now->process[process].device].name);
	number_label(out->file, ",", "pid", (uint64_t)now->process[process].pid);
	label(out->file, ",", "command", now->process[process].command);
}

static void queue_labels(const struct out *out, const struct top_queue *queue)
{
	process_labels(out, queue->process);
	number_label(out->file, ",", "page", queue->page);
	number_label(out->file, ",", "queue", queue->row.number);
	number_label(out->file, ",", "priority", queue->row.priority);
}

typedef uint64_t (*queue_value)(const struct npurt_stats_queue *row);

static uint64_t depth(const struct npurt_stats_queue *row)
{
	return row->depth;
}

static uint64_t capacity(const struct npurt_stats_queue *row)
{
	return row->capacity;
}

static uint64_t high_water(const struct npurt_stats_queue *row)
{
	return row->counts.high_water;
}

static uint64_t completed(const struct npurt_stats_queue *row)
{
	return row->completed;
}

static uint64_t refused(const struct npurt_stats_queue *row)
{
	return row->counts.refused + row->counts.timed_out;
}

static void queue_metric(const struct out *out, const char *name, const char *type,
			 const char *help, queue_value value)
{
	const struct top_sample *now = out->rates->now;

	begin(out, name, type, help);
	for (size_t i = 0; i < now->queues; i++) {
		if (!is_wanted(out, now->queue[i].process))
			continue;
		fputs(name, out->file);
		queue_labels(out, &now->queue[i]);
		fprintf(out->file, "} %" PRIu64 "\n", value(&now->queue[i].row));
	}
}

/* Everything but the labels that come first, which stand in @labels without the closing brace. */
static void histogram(const struct out *out, const char *name, const char *labels,
		      const struct npurt_stats_times *times)
{
	uint64_t sum = 0;
	unsigned int bucket = 0, power;

	for (power = FIRST_POWER; power <= LAST_POWER; power += 2) {
		for (; npurt_stats_bucket_start(bucket) < (uint64_t)1 << power; bucket++)
			sum += times->bucket[bucket];
		fprintf(out->file, "%s_bucket%s,le=\"%.9g\"} %" PRIu64 "\n", name, labels,
			(double)((uint64_t)1 << power) / 1e9, sum);
	}
	for (; bucket < NPURT_STATS_BUCKETS; bucket++)
		sum += times->bucket[bucket];
	fprintf(out->file, "%s_bucket%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, sum);
	fprintf(out->file, "%s_sum%s} %.9g\n", name, labels, (double)times->sum_ns / 1e9);
	fprintf(out->file, "%s_count%s} %" PRIu64 "\n", name, labels, sum);
}

/* Labels are written many times: once into memory. */
static char *labels_of(const struct out *out, void (*write)(const struct out *, const void *),
		       const void *row)
{
	struct out memory = *out;
	char *text = NULL;
	size_t bytes;

	memory.file = open_memstream(&text, &bytes);
	if (!memory.file)
		return NULL;
	write(&memory, row);
	fclose(memory.file);
	return text;
}

static void write_queue_labels(const struct out *out, const void *row)
{
	queue_labels(out, row);
}

static void queues(const struct out *out)
{
	const struct top_sample *now = out->rates->now;

	queue_metric(out, "npu_queue_depth", "gauge", "Tasks in flight.", depth);
	queue_metric(out, "npu_queue_capacity", "gauge", "Tasks in flight at most.", capacity);
	queue_metric(out, "npu_queue_high_water", "gauge", "Most tasks ever in flight.",
		     high_water);
	queue_metric(out, "npu_queue_completed_total", "counter", "Tasks that have ended.",
		     completed);
	queue_metric(out, "npu_queue_refused_total", "counter",
		     "Submissions to a full queue that were refused, or timed out.", refused);
	begin(out, "npu_queue_wait_seconds", "histogram",
	      "How long tasks were behind others of their queue.");
	for (size_t i = 0; i < now->queues; i++) {
		char *labels;

		if (!is_wanted(out, now->queue[i].process))
			continue;
		labels = labels_of(out, write_queue_labels, &now->queue[i]);
		if (labels)
			histogram(out, "npu_queue_wait_seconds", labels,
				  &now->queue[i].row.counts.wait);
		free(labels);
	}
}

/* ----------------------------------------------------------------------- models */

static void model_labels(const struct out *out, const struct top_model *model)
{
	process_labels(out, model->process);
	label(out->file, ",", "model", model->row.name);
	number_label(out->file, ",", "page", model->page);
	number_label(out->file, ",", "number", model->row.number);
}

static void write_model_labels(const struct out *out, const void *row)
{
	model_labels(out, row);
}

static void model_metric(const struct out *out, const char *name, const char *type,
			 const char *help, size_t offset)
{
	const struct top_sample *now = out->rates->now;

	begin(out, name, type, help);
	for (size_t i = 0; i < now->models; i++) {
		const struct top_model *model = &now->model[i];

		if (!is_wanted(out, model->process))
			continue;
		fputs(name, out->file);
		model_labels(out, model);
		fprintf(out->file, "} %" PRIu64 "\n",
			*(const uint64_t *)(const void *)((const char *)&model->row + offset));
	}
}

static void models(const struct out *out)
{
	const struct top_sample *now = out->rates->now;

	model_metric(out, "npu_model_runs_total", "counter", "Runs that have ended.",
		     offsetof(struct npurt_stats_model, counts.runs));
	model_metric(out, "npu_model_failed_total", "counter", "Runs that have failed.",
		     offsetof(struct npurt_stats_model, counts.failed));
	model_metric(out, "npu_model_cycles_total", "counter", "Device cycles of runs.",
		     offsetof(struct npurt_stats_model, counts.cycles));
	model_metric(out, "npu_model_memory_bytes", "gauge", "Device memory of a model.",
		     offsetof(struct npurt_stats_model, memory_bytes));
	begin(out, "npu_model_latency_seconds", "histogram",
	      "From submission of a run until the host saw its end.");
	for (size_t i = 0; i < now->models; i++) {
		char *labels;

		if (!is_wanted(out, now->model[i].process))
			continue;
		labels = labels_of(out, write_model_labels, &now->model[i]);
		if (labels)
			histogram(out, "npu_model_latency_seconds", labels,
				  &now->model[i].row.counts.latency);
		free(labels);
	}
}

static void processes(const struct out *out)
{
	const struct top_sample *now = out->rates->now;

	begin(out, "npu_process_memory_bytes", "gauge", "Device memory of a process.");
	for (size_t i = 0; i < now->processes; i++) {
		if (!is_wanted(out, i))
			continue;
		fputs("npu_process_memory_bytes", out->file);
		process_labels(out, i);
		number_label(out->file, ",", "page", now->device[now->process[i].device].page);
		fprintf(out->file, "} %" PRIu64 "\n", now->process[i].memory_bytes);
	}
}

void top_view_prometheus(FILE *file, const struct top_rates *rates, const struct top_wish *wish)
{
	const struct out out = { file, rates, wish };

	devices(&out);
	processes(&out);
	queues(&out);
	models(&out);
}
