/* SPDX-License-Identifier: MIT */
/* The JSON object of npu-run; its keys are a contract and only grow. */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>

#include "report.h"

#define SCHEMA 1

static void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

/* JSON has no infinity; null says that the figure is none. */
static void add_double(struct json_object *object, const char *key, double value)
{
	json_object_object_add(object, key, isfinite(value) ? json_object_new_double(value) : NULL);
}

static struct json_object *latency_of(const struct measurement *m)
{
	struct json_object *latency = json_object_new_object();

	json_object_object_add(latency, "min", json_object_new_int64(m->latency_min));
	json_object_object_add(latency, "median", json_object_new_int64(m->latency_median));
	json_object_object_add(latency, "p99", json_object_new_int64(m->latency_p99));
	json_object_object_add(latency, "max", json_object_new_int64(m->latency_max));
	return latency;
}

static struct json_object *layers_of(const struct report *report)
{
	struct json_object *list = json_object_new_array();
	const struct session *session = report->session;

	for (uint32_t i = 0; i < session->info.layers; i++) {
		struct npurt_layer_info layer = { .size = sizeof(layer) };
		uint64_t cycles = report->measurement->layers[i].cycles;
		struct json_object *entry;

		if (npurt_model_get_layer(session->model, i, &layer))
			continue;
		entry = json_object_new_object();
		add_text(entry, "name", layer.name);
		add_text(entry, "op", layer.op);
		add_u64(entry, "cycles", cycles);
		add_u64(entry, "predicted_cycles", layer.predicted_cycles);
		add_u64(entry, "macs", layer.macs);
		add_double(entry, "mac_utilization", report_utilization(report, layer.macs, cycles));
		add_u64(entry, "dram_bytes", layer.dram_bytes);
		add_text(entry, "bound", report_bound(report, &layer, cycles));
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *comparisons_of(const struct report *report)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < report->options->comparison_count; i++) {
		const struct comparison_result *c = &report->comparisons[i];
		struct json_object *entry = json_object_new_object();

		add_text(entry, "name", c->name);
		add_double(entry, "max_abs_error", c->max_abs_error);
		add_u64(entry, "elements", c->elements);
		add_u64(entry, "different", c->different);
		json_object_object_add(entry, "ok", json_object_new_boolean(c->ok));
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *engines_of(const struct npurt_task_report *task)
{
	struct json_object *engines = json_object_new_object();

	add_u64(engines, "mac", task->mac_cycles);
	add_u64(engines, "output", task->output_cycles);
	add_u64(engines, "vector", task->vector_cycles);
	add_u64(engines, "dma", task->dma_cycles);
	add_u64(engines, "stall_token", task->stall_token_cycles);
	add_u64(engines, "stall_memory", task->stall_memory_cycles);
	return engines;
}

int report_json(const struct report *report)
{
	const struct measurement *m = report->measurement;
	const struct session *session = report->session;
	struct json_object *root = json_object_new_object();
	struct json_object *dram = json_object_new_object();

	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	add_text(root, "device", session->device_info.name);
	add_text(root, "model", session->info.name);
	add_text(root, "target", session->info.target);
	add_u64(root, "iterations", m->runs);
	add_u64(root, "cycles", m->cycles);
	add_u64(root, "cycles_first", m->cycles_first);
	add_u64(root, "cycles_warm", m->cycles_warm);
	add_u64(root, "predicted_cycles", session->info.predicted_cycles);
	add_u64(root, "roofline_cycles", session->info.roofline_cycles);
	add_u64(root, "floor_cycles", session->info.floor_cycles);
	json_object_object_add(root, "latency_ns", latency_of(m));
	add_u64(root, "macs", session->info.macs);
	add_double(root, "mac_utilization",
		   report_utilization(report, session->info.macs, m->cycles));
	add_u64(dram, "read", m->reports[0].dram_read_bytes);
	add_u64(dram, "write", m->reports[0].dram_write_bytes);
	json_object_object_add(root, "dram_bytes", dram);
	json_object_object_add(root, "engine_cycles", engines_of(&m->reports[0]));
	json_object_object_add(root, "layers", layers_of(report));
	json_object_object_add(root, "compare", comparisons_of(report));
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
	return 0;
}
