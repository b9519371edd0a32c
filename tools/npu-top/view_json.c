// SPDX-License-Identifier: MIT
/* A sample as one line of JSON. */
#include <json-c/json.h>
#include <math.h>

#include "event.h"
#include "view.h"

/* Texts have been cleaned where they came in: they are ASCII. */
static void add_text(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void add_count(struct json_object *to, const char *key, uint64_t count)
{
	json_object_object_add(to, key, json_object_new_uint64(count));
}

static void add_figure(struct json_object *to, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_object_object_add(to, key, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(to, key, json_object_new_double_s(value, text));
}

static void add_known(struct json_object *to, const char *key, uint64_t number)
{
	if (number == TOP_UNKNOWN)
		json_object_object_add(to, key, NULL);
	else
		add_count(to, key, number);
}

static void add_quantiles(struct json_object *to, const char *key,
			  const struct top_quantiles *quantiles)
{
	struct json_object *object = json_object_new_object();

	add_count(object, "count", quantiles->count);
	add_figure(object, "p50", quantiles->p50_ns);
	add_figure(object, "p99", quantiles->p99_ns);
	json_object_object_add(to, key, object);
}

/* What a driver has not said is null; a device that never failed has an empty last failure. */
static void add_driver_says(struct json_object *to, const struct top_driver_says *says,
			    const struct top_device_rates *figures)
{
	if (*says->state) {
		add_text(to, "driver_state", says->state);
		add_text(to, "last_failure", says->last_failure);
	} else {
		json_object_object_add(to, "driver_state", NULL);
		json_object_object_add(to, "last_failure", NULL);
	}
	add_known(to, "resets", says->resets);
	add_known(to, "current_clock_hz", says->clock_hz);
	add_known(to, "memory_bytes", says->memory_bytes);
	add_known(to, "busy_ns", says->busy_ns);
	add_figure(to, "busy_share", figures->busy);
}

static struct json_object *device(const struct top_rates *rates, size_t index)
{
	const struct top_device *now = &rates->now->device[index];
	const struct top_device_rates *figures = &rates->device[index];
	struct json_object *to = json_object_new_object();

	add_text(to, "name", now->name);
	add_text(to, "config", now->config);
	add_text(to, "bus", now->bus);
	add_count(to, "pid", (uint64_t)now->pid);
	add_count(to, "page", now->page);
	add_text(to, "state", top_state_name(now->state));
	add_text(to, "trouble", now->trouble);
	add_text(to, "driver", now->driver);
	add_text(to, "firmware", now->firmware);
	add_count(to, "clusters", now->clusters);
	add_count(to, "clock_hz", now->clock_hz);
	add_figure(to, "utilization", figures->use);
	add_figure(to, "mac_utilization", figures->mac);
	add_figure(to, "vector_utilization", figures->vector);
	add_figure(to, "dma_utilization", figures->dma);
	add_figure(to, "stall_share", figures->stall);
	add_figure(to, "tasks_per_second", figures->tasks);
	add_figure(to, "dram_read_bytes_per_second", figures->dram_read);
	add_figure(to, "dram_write_bytes_per_second", figures->dram_write);
	add_figure(to, "time_speed", figures->speed);
	add_text(to, "held_back_by", top_bound_name(figures->bound));
	add_driver_says(to, &now->driver_says, figures);
	if (!now->has_counters)
		return to;
	add_count(to, "time_cycles", now->time_cycles);
	add_count(to, "tasks", now->tasks);
	add_count(to, "mac_cycles", now->mac_cycles);
	add_count(to, "vector_cycles", now->vector_cycles);
	add_count(to, "dma_cycles", now->dma_cycles);
	add_count(to, "dram_read_bytes", now->dram_read_bytes);
	add_count(to, "dram_write_bytes", now->dram_write_bytes);
	add_count(to, "tlb_misses", now->tlb_misses);
	return to;
}

static void add_place(struct json_object *to, const struct top_sample *now, size_t process)
{
	add_count(to, "pid", (uint64_t)now->process[process].pid);
	add_text(to, "device", now->device[now->process[process].device].name);
}

static struct json_object *process(const struct top_rates *rates, size_t index)
{
	const struct top_process *now = &rates->now->process[index];
	const struct top_process_rates *figures = &rates->process[index];
	struct json_object *to = json_object_new_object();

	add_place(to, rates->now, index);
	add_text(to, "user", now->user);
	add_text(to, "command", now->command);
	add_figure(to, "utilization", figures->use);
	add_figure(to, "runs_per_second", figures->runs);
	add_figure(to, "failed_per_second", figures->failed);
	add_count(to, "runs", figures->all_runs);
	add_count(to, "failed", figures->all_failed);
	add_count(to, "memory_bytes", now->memory_bytes);
	add_count(to, "contexts", now->contexts);
	add_count(to, "queues", now->queues);
	add_count(to, "tasks", now->tasks);
	if (!now->has_engines)
		return to;
	add_figure(to, "mac_utilization", figures->mac);
	add_figure(to, "vector_utilization", figures->vector);
	add_figure(to, "dma_utilization", figures->dma);
	return to;
}

static struct json_object *queue(const struct top_rates *rates, size_t index)
{
	const struct npurt_stats_queue *now = &rates->now->queue[index].row;
	const struct top_queue_rates *figures = &rates->queue[index];
	struct json_object *to = json_object_new_object();

	add_place(to, rates->now, rates->now->queue[index].process);
	add_count(to, "page", rates->now->queue[index].page);
	add_count(to, "queue", now->number);
	add_count(to, "priority", now->priority);
	add_count(to, "depth", now->depth);
	add_count(to, "capacity", now->capacity);
	add_count(to, "high_water", now->counts.high_water);
	add_count(to, "waiting", now->waiting);
	json_object_object_add(to, "error", json_object_new_int(now->error));
	add_count(to, "oldest_ns", now->oldest_ns);
	add_count(to, "submitted", now->submitted);
	add_count(to, "completed", now->completed);
	add_count(to, "refused", now->counts.refused);
	add_count(to, "timed_out", now->counts.timed_out);
	add_count(to, "bytes_in_flight", now->bytes_in_flight);
	add_count(to, "bytes_capacity", now->bytes_capacity);
	add_count(to, "memory_bytes", now->memory_bytes);
	add_figure(to, "submitted_per_second", figures->submitted);
	add_figure(to, "completed_per_second", figures->completed);
	add_figure(to, "refused_per_second", figures->refused);
	add_figure(to, "timed_out_per_second", figures->timed_out);
	add_quantiles(to, "wait_ns", &figures->wait);
	add_quantiles(to, "wait_ever_ns", &figures->wait_ever);
	return to;
}

static struct json_object *model(const struct top_rates *rates, size_t index)
{
	const struct top_model *row = &rates->now->model[index];
	const struct npurt_stats_model *now = &row->row;
	const struct top_model_rates *figures = &rates->model[index];
	struct json_object *to = json_object_new_object();

	add_place(to, rates->now, row->process);
	add_text(to, "name", now->name);
	add_count(to, "read_ns", (uint64_t)row->read_ns);
	add_count(to, "read_begin_ns", (uint64_t)row->begin_ns);
	add_text(to, "kind", now->kind == NPURT_STATS_GRAPH ? "graph" : "model");
	add_count(to, "page", row->page);
	add_count(to, "number", now->number);
	add_count(to, "queue", now->queue);
	add_count(to, "clusters", now->clusters);
	add_count(to, "memory_bytes", now->memory_bytes);
	add_count(to, "runs", now->counts.runs);
	add_count(to, "failed", now->counts.failed);
	add_count(to, "out_of_budget", now->counts.out_of_budget);
	add_count(to, "cycles", now->counts.cycles);
	add_figure(to, "runs_per_second", figures->runs);
	add_figure(to, "failed_per_second", figures->failed);
	add_figure(to, "utilization", figures->use);
	add_figure(to, "cycles_per_run", figures->cycles);
	add_figure(to, "mac_share", figures->mac);
	add_figure(to, "dma_share", figures->dma);
	add_figure(to, "stall_share", figures->stall);
	add_quantiles(to, "latency_ns", &figures->latency);
	add_quantiles(to, "latency_ever_ns", &figures->latency_ever);
	return to;
}

static struct json_object *event(const struct top_event *now)
{
	struct json_object *to = json_object_new_object();

	add_count(to, "number", now->number);
	add_count(to, "time_ns", (uint64_t)now->realtime_ns);
	add_text(to, "kind", top_event_kind_name(now->kind));
	add_text(to, "device", now->device);
	add_text(to, "bus", now->bus);
	add_text(to, "what", now->what);
	json_object_object_add(to, "bad", json_object_new_boolean(now->is_bad));
	add_text(to, "text", now->text);
	return to;
}

static bool is_wanted(const struct top_rates *rates, const struct top_wish *wish, size_t process)
{
	const struct top_sample *now = rates->now;

	return top_is_wanted_device(&now->device[now->process[process].device], wish);
}

void top_view_json(FILE *file, const struct top_rates *rates, const struct top_wish *wish)
{
	const struct top_sample *now = rates->now;
	struct json_object *root = json_object_new_object();
	struct json_object *devices = json_object_new_array(), *queues = json_object_new_array();
	struct json_object *processes = json_object_new_array(), *models = json_object_new_array();
	struct json_object *notes = json_object_new_array(), *events = json_object_new_array();
	size_t i;

	for (i = 0; i < now->devices; i++) {
		if (top_is_wanted_device(&now->device[i], wish))
			json_object_array_add(devices, device(rates, i));
	}
	for (i = 0; i < now->processes; i++) {
		if (is_wanted(rates, wish, i))
			json_object_array_add(processes, process(rates, i));
	}
	for (i = 0; i < now->queues; i++) {
		if (is_wanted(rates, wish, now->queue[i].process))
			json_object_array_add(queues, queue(rates, i));
	}
	for (i = 0; i < now->models; i++) {
		if (is_wanted(rates, wish, now->model[i].process))
			json_object_array_add(models, model(rates, i));
	}
	for (i = 0; i < now->notes; i++)
		json_object_array_add(notes, json_object_new_string(now->note[i].text));
	for (i = 0; i < now->events; i++) {
		if (top_is_wanted_event(&now->event[i], now, wish))
			json_object_array_add(events, event(&now->event[i]));
	}
	json_object_object_add(root, "schema", json_object_new_int(TOP_SCHEMA));
	add_count(root, "time_ns", (uint64_t)now->realtime_ns);
	add_count(root, "monotonic_ns", (uint64_t)now->monotonic_ns);
	add_figure(root, "seconds", rates->seconds);
	json_object_object_add(root, "devices", devices);
	json_object_object_add(root, "processes", processes);
	json_object_object_add(root, "queues", queues);
	json_object_object_add(root, "models", models);
	json_object_object_add(root, "notes", notes);
	json_object_object_add(root, "events", events);
	add_text(root, "events_missing", now->events_missing);
	fprintf(file, "%s\n",
		json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}
