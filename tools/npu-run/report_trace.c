/* SPDX-License-Identifier: MIT */
/* Trace of the first run's layers, and of all runs, on the device's clock (Chrome's trace event format). */
#include <json-c/json.h>
#include <stdio.h>

#include "report.h"

enum track { TRACK_RUNS = 1, TRACK_LAYERS = 2 };

static void add_span(struct json_object *list, const char *name, enum track track, double start_us,
		     double duration_us)
{
	struct json_object *event = json_object_new_object();

	json_object_object_add(event, "name", json_object_new_string(name));
	json_object_object_add(event, "ph", json_object_new_string("X"));
	json_object_object_add(event, "pid", json_object_new_int(1));
	json_object_object_add(event, "tid", json_object_new_int(track));
	json_object_object_add(event, "ts", json_object_new_double(start_us));
	json_object_object_add(event, "dur", json_object_new_double(duration_us));
	json_object_array_add(list, event);
}

static void name_track(struct json_object *list, enum track track, const char *name)
{
	struct json_object *event = json_object_new_object(), *args = json_object_new_object();

	json_object_object_add(event, "name", json_object_new_string("thread_name"));
	json_object_object_add(event, "ph", json_object_new_string("M"));
	json_object_object_add(event, "pid", json_object_new_int(1));
	json_object_object_add(event, "tid", json_object_new_int(track));
	json_object_object_add(args, "name", json_object_new_string(name));
	json_object_object_add(event, "args", args);
	json_object_array_add(list, event);
}

int report_trace(const struct report *report, const char *path)
{
	const struct measurement *m = report->measurement;
	double us = 1e6 / (double)report->session->device_info.clock_hz;
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();
	uint64_t base = m->reports[0].start, start = 0;
	int failed;

	name_track(list, TRACK_RUNS, "device: runs");
	name_track(list, TRACK_LAYERS, "device: layers of the first run");
	for (uint32_t i = 0; i < m->runs; i++)
		add_span(list, report->session->info.name, TRACK_RUNS,
			 (double)(m->reports[i].start - base) * us, (double)m->reports[i].cycles * us);
	for (uint32_t i = 0; i < report->session->info.layers; i++) {
		struct npurt_layer_info layer = { .size = sizeof(layer) };

		if (npurt_model_get_layer(report->session->model, i, &layer))
			continue;
		add_span(list, layer.name, TRACK_LAYERS, (double)start * us,
			 (double)m->layers[i].cycles * us);
		start += m->layers[i].cycles;
	}
	json_object_object_add(root, "displayTimeUnit", json_object_new_string("ns"));
	json_object_object_add(root, "traceEvents", list);
	failed = json_object_to_file_ext(path, root, JSON_C_TO_STRING_PLAIN);
	if (failed)
		fprintf(stderr, "npu-run: %s: the trace could not be written: %s\n", path,
			json_util_get_last_err());
	json_object_put(root);
	return failed ? -1 : 0;
}
