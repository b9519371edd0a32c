// SPDX-License-Identifier: MIT
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *device_name(void)
{
	const char *name = getenv("NPU_TEST_DEVICE");

	return name ? name : "sim:npu-v3?memory=256";
}

bool rig_is_sim(void)
{
	return !strncmp(device_name(), "sim:", 4);
}

struct npurt_device *rig_open(const char *keys)
{
	struct npurt_device *device = NULL;
	char text[128];

	snprintf(text, sizeof(text), "%s%s", device_name(), keys ? keys : "");
	ok(npurt_open(text, &device));
	return device;
}

void rig_make(struct rig *rig, const struct npurt_context_options *context,
	      const struct tiny_options *options)
{
	struct tiny_options defaults = { 0 };
	struct tiny_model file;

	memset(rig, 0, sizeof(*rig));
	rig->device = rig_open(NULL);
	ok(npurt_context_create(rig->device, context, &rig->context));
	if (!options)
		options = &defaults;
	rig->elements = options->elements ? options->elements : 64;
	tiny_model_make(&file, options);
	ok(npurt_model_load_memory(rig->context, file.bytes, file.size, &rig->model));
	tiny_model_free(&file);
	ok(npurt_buffer_alloc(rig->context, rig->elements * 2, NPURT_BUFFER_READ_ONLY, &rig->x));
	ok(npurt_buffer_alloc(rig->context, rig->elements * 2, 0, &rig->y));
	rig->bindings[0].buffer = rig->x;
	rig->bindings[1].buffer = rig->y;
}

void rig_free(struct rig *rig)
{
	npurt_buffer_free(rig->x);
	npurt_buffer_free(rig->y);
	npurt_model_unload(rig->model);
	npurt_context_destroy(rig->context);
	npurt_close(rig->device);
	memset(rig, 0, sizeof(*rig));
}

void rig_fill(struct rig *rig, struct npurt_buffer *x, struct npurt_buffer *y, int start)
{
	struct npurt_tensor_info info = { .size = sizeof(info) };
	float *values = malloc(rig->elements * sizeof(*values));
	uint32_t i;

	assert_non_null(values);
	ok(npurt_model_get_input(rig->model, 0, &info));
	for (i = 0; i < rig->elements; i++)
		values[i] = (float)(start + (int)(i % 16));
	ok(npurt_tensor_from_host(&info, values, rig->elements * sizeof(*values),
				  npurt_buffer_map(x), npurt_buffer_bytes(x)));
	memset(npurt_buffer_map(y), 0x5a, npurt_buffer_bytes(y));
	free(values);
}

void rig_check(struct rig *rig, struct npurt_buffer *y, int start)
{
	struct npurt_tensor_info info = { .size = sizeof(info) };
	float *values = malloc(rig->elements * sizeof(*values));
	uint32_t i;

	assert_non_null(values);
	ok(npurt_model_get_output(rig->model, 0, &info));
	ok(npurt_tensor_to_host(&info, npurt_buffer_map(y), npurt_buffer_bytes(y), values,
				rig->elements * sizeof(*values)));
	for (i = 0; i < rig->elements; i++) {
		float expected = 2.0f * (float)(start + (int)(i % 16)) + tiny_weight(i);

		if (values[i] != expected)
			fail_msg("y[%u] is %g, expected %g", i, (double)values[i],
				 (double)expected);
	}
	free(values);
}

void rig_note(const char *test, struct npurt_future *future)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	const char *path = getenv("NPU_TEST_NOTES");
	FILE *file;

	if (!path)
		return;
	ok(npurt_future_get_report(future, &report));
	file = fopen(path, "a");
	assert_non_null(file);
	fprintf(file,
		"%s: status %u cycles %llu mac %llu output %llu vector %llu dma %llu read %llu "
		"write %llu stalls %llu %llu\n",
		test, report.status, (unsigned long long)report.cycles,
		(unsigned long long)report.mac_cycles, (unsigned long long)report.output_cycles,
		(unsigned long long)report.vector_cycles, (unsigned long long)report.dma_cycles,
		(unsigned long long)report.dram_read_bytes,
		(unsigned long long)report.dram_write_bytes,
		(unsigned long long)report.stall_token_cycles,
		(unsigned long long)report.stall_memory_cycles);
	assert_int_equal(fclose(file), 0);
}

int64_t rig_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int rig_open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}
