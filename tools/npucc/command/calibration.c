// SPDX-License-Identifier: MIT
/* Samples for quantization after training: files, random numbers, and what is done with them. */
#include "calibration.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../quant/calibrate.h"
#include "../quant/quant.h"
#include "file.h"
#include "npy.h"
#include "npurt.h"

#define SAMPLES_MAX	1000
#define RANDOM_SAMPLES	4
#define FILE_BYTES_MAX	((size_t)1 << 30)
#define PATH_BYTES	4096

struct sample {
	void **inputs;		/* [graph->input_count], float */
};

struct samples {
	struct graph *graph;
	struct diag *diag;
	struct sample sample[SAMPLES_MAX];
	uint32_t count;
};

static void samples_free(struct samples *samples)
{
	for (uint32_t s = 0; s < samples->count; s++) {
		for (uint32_t i = 0; i < samples->graph->input_count; i++)
			free(samples->sample[s].inputs[i]);
		free(samples->sample[s].inputs);
	}
	free(samples);
}

static int no_memory(struct samples *samples)
{
	return diag_error(samples->diag, "not enough memory for samples to calibrate with");
}

/* Room for one more sample's inputs, which are counted from here on. */
static void **next_sample(struct samples *samples)
{
	void **inputs = samples->count < SAMPLES_MAX ?
				calloc(samples->graph->input_count + 1ull, sizeof(*inputs)) :
				NULL;

	if (inputs)
		samples->sample[samples->count++].inputs = inputs;
	return inputs;
}

/* ---------------------------------------------------------------------------- files */
static int take_file(struct samples *samples, const char *path, uint32_t index, void **input)
{
	const struct graph_value *value = samples->graph->inputs[index];
	int64_t count = graph_element_count(value), i;
	char error[TENSOR_ERROR_BYTES];
	struct tensor tensor;
	float *numbers;
	size_t size;
	void *bytes;
	int failed;

	bytes = file_read(path, FILE_BYTES_MAX, &size, error, sizeof(error));
	if (!bytes)
		return diag_error(samples->diag, "sample '%s': %s", path, error);
	failed = npy_parse(bytes, size, &tensor, error);
	free(bytes);
	if (failed)
		return diag_error(samples->diag, "sample '%s': %s; samples are .npy files", path,
				  error);
	numbers = (int64_t)tensor.elements == count ? malloc((size_t)count * sizeof(*numbers)) :
						      NULL;
	for (i = 0; numbers && i < count; i++)
		numbers[i] = (float)tensor_element(&tensor, (uint64_t)i);
	*input = numbers;
	failed = (int64_t)tensor.elements != count;
	tensor_free(&tensor);
	if (failed)
		return diag_error(samples->diag,
				  "sample '%s' does not have the %lld elements of input '%s'", path,
				  (long long)count, value->name);
	return numbers ? 0 : no_memory(samples);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int take_folder(struct samples *samples, const char *folder);

/* A file is a sample of a model with one input, a folder one of a model with more. */
static int take_entry(struct samples *samples, const char *path)
{
	struct stat status;
	void **inputs;

	if (stat(path, &status))
		return diag_error(samples->diag, "sample '%s' cannot be read: %s", path,
				  strerror(errno));
	if (S_ISDIR(status.st_mode))
		return take_folder(samples, path);
	if (samples->graph->input_count != 1)
		return diag_error(samples->diag,
				  "sample '%s' is one file, the model has %u inputs; make it a folder with a file for each, in their order",
				  path, samples->graph->input_count);
	inputs = next_sample(samples);
	if (!inputs)
		return no_memory(samples);
	return take_file(samples, path, 0, &inputs[0]);
}

static int join(struct samples *samples, char path[PATH_BYTES], const char *folder,
		const char *name)
{
	if (snprintf(path, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES)
		return 0;
	return diag_error(samples->diag, "the path of sample '%s' is too long", name);
}

/* Files of a sample's folder, sorted by name, are the inputs in the model's order. */
static int take_folder(struct samples *samples, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort), i, result = 0;
	void **inputs = NULL;
	char path[PATH_BYTES];

	if (count < 0)
		return diag_error(samples->diag, "sample '%s' cannot be read: %s", folder,
				  strerror(errno));
	if ((uint32_t)count != samples->graph->input_count)
		result = diag_error(samples->diag,
				    "sample '%s' has %d files, the model has %u inputs", folder,
				    count, samples->graph->input_count);
	else
		inputs = next_sample(samples);
	if (!result && !inputs)
		result = no_memory(samples);
	for (i = 0; i < count; i++) {
		if (!result)
			result = join(samples, path, folder, entries[i]->d_name);
		if (!result)
			result = take_file(samples, path, (uint32_t)i, &inputs[i]);
		free(entries[i]);
	}
	free(entries);
	return result;
}

static int load_samples(struct samples *samples, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort), i, result = 0;
	char path[PATH_BYTES];

	if (count < 0)
		return diag_error(samples->diag, "--calib '%s' cannot be read: %s", folder,
				  strerror(errno));
	if (!count || count > SAMPLES_MAX)
		result = diag_error(samples->diag,
				    "--calib '%s' holds %d samples; 1 to %d are needed", folder,
				    count, SAMPLES_MAX);
	for (i = 0; i < count; i++) {
		if (!result)
			result = join(samples, path, folder, entries[i]->d_name);
		if (!result)
			result = take_entry(samples, path);
		free(entries[i]);
	}
	free(entries);
	return result;
}

/* --------------------------------------------------------------------------- random */
static int random_samples(struct samples *samples)
{
	uint64_t state = 88172645463325252ull;

	for (uint32_t s = 0; s < RANDOM_SAMPLES; s++) {
		void **inputs = next_sample(samples);

		for (uint32_t i = 0; inputs && i < samples->graph->input_count; i++) {
			int64_t count = graph_element_count(samples->graph->inputs[i]), k;
			float *numbers = malloc((size_t)count * sizeof(*numbers) + 1);

			for (k = 0; numbers && k < count; k++) {
				state ^= state << 13;
				state ^= state >> 7;
				state ^= state << 17;
				numbers[k] = (float)(state >> 40) / (float)(1 << 23) - 1.0f;
			}
			inputs[i] = numbers;
			if (!numbers)
				return no_memory(samples);
		}
		if (!inputs)
			return no_memory(samples);
	}
	return 0;
}

/* ------------------------------------------------------------------------ calibrate */
static int run_samples(struct samples *samples, struct calibration *calibration)
{
	uint32_t s;

	for (s = 0; s < samples->count; s++)
		if (calibration_observe(calibration, (const void *const *)samples->sample[s].inputs,
					samples->diag))
			return -1;
	for (s = 0; s < samples->count; s++)
		if (calibration_refine(calibration, (const void *const *)samples->sample[s].inputs,
				       samples->diag))
			return -1;
	return 0;
}

static int calibrate(struct samples *samples, struct calibration *calibration, FILE *log)
{
	struct graph *graph = samples->graph;
	const void *const *last;
	uint32_t integers;

	if (!calibration)
		return no_memory(samples);
	if (run_samples(samples, calibration) ||
	    calibration_insert(graph, calibration, samples->diag))
		return -1;
	last = (const void *const *)samples->sample[samples->count - 1].inputs;
	if (log && calibration_compare(calibration, last, log, samples->diag))
		return -1;
	if (quant_graph(graph, &integers, samples->diag))
		return -1;
	if (log)
		fprintf(log,
			"quantized: %u of %u nodes compute on integers, ranges from %u samples\n",
			integers, graph->node_count, samples->count);
	return 0;
}

static int check_inputs(const struct graph *graph, struct diag *diag)
{
	const struct graph_node *node;
	uint32_t i;

	for (node = graph->first; node; node = node->next)
		if (node->op == GRAPH_OP_QUANTIZE || node->op == GRAPH_OP_DEQUANTIZE || node->quant)
			return diag_error(diag,
					  "node '%s': the model is quantized already; compile it without --calib, in its own integers",
					  node->name);
	for (i = 0; i < graph->input_count; i++)
		if (graph->inputs[i]->dtype != GRAPH_DTYPE_F32)
			return diag_error(diag,
					  "input '%s' is no float32 tensor, which --calib needs; compile without it",
					  graph->inputs[i]->name);
	return 0;
}

int command_calibrate(struct graph *graph, const char *folder, FILE *log, struct diag *diag)
{
	struct calibration *calibration = NULL;
	struct samples *samples;
	bool random = !strcmp(folder, "random");
	int result;

	if (check_inputs(graph, diag))
		return -1;
	samples = calloc(1, sizeof(*samples));
	if (!samples)
		return diag_error(diag, "not enough memory for samples to calibrate with");
	samples->graph = graph;
	samples->diag = diag;
	result = random ? random_samples(samples) : load_samples(samples, folder);
	if (!result) {
		if (random && log)
			fputs("calibrated on random numbers: good for cycles, not for accuracy\n",
			      log);
		calibration = calibration_new(graph);
		result = calibrate(samples, calibration, log);
	}
	calibration_free(calibration);
	samples_free(samples);
	return result;
}
