// SPDX-License-Identifier: MIT
#include "../fuse/fuse.h"
#include "calibration.h"
#include "compile.h"

#include <errno.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void print_json(const struct compile_report *report, uint32_t merged, double seconds)
{
	struct json_object *object = json_object_new_object();
	double efficiency = report->dram_bytes ?
				    (double)report->least_dram_bytes / (double)report->dram_bytes :
				    1.0;

	json_object_object_add(object, "schema", json_object_new_int(1));
	json_object_object_add(object, "seconds", json_object_new_double(seconds));
	json_object_object_add(object, "cache", json_object_new_string("miss"));
	json_object_object_add(object, "merged_ops", json_object_new_int64(merged));
	json_object_object_add(object, "dram_efficiency", json_object_new_double(efficiency));
	/* A tile that does not fit is not chosen: nothing is ever spilled. */
	json_object_object_add(object, "spills", json_object_new_int(0));
	json_object_object_add(object, "sram_peak_bytes",
			       json_object_new_int64(report->sram_peak_bytes));
	json_object_object_add(object, "predicted_cycles",
			       json_object_new_int64((int64_t)report->predicted_cycles));
	json_object_object_add(object, "roofline_cycles",
			       json_object_new_int64((int64_t)report->roofline_cycles));
	json_object_object_add(object, "floor_cycles",
			       json_object_new_int64((int64_t)report->floor_cycles));
	json_object_object_add(object, "macs", json_object_new_int64((int64_t)report->macs));
	json_object_object_add(object, "layers", json_object_new_int64(report->layers));
	json_object_object_add(object, "dram_bytes",
			       json_object_new_int64((int64_t)report->dram_bytes));
	json_object_object_add(object, "scratch_bytes",
			       json_object_new_int64((int64_t)report->scratch_bytes));
	json_object_object_add(object, "text_bytes",
			       json_object_new_int64((int64_t)report->text_bytes));
	json_object_object_add(object, "rodata_bytes",
			       json_object_new_int64((int64_t)report->rodata_bytes));
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY));
	json_object_put(object);
}

/* Options whose work is not in this compiler: refused where results would differ. */
static int check_abilities(const struct options *options, struct diag *diag)
{
	bool int8 = !strcmp(options->precision, "int8");

	if (!strcmp(options->precision, "int16"))
		return diag_error(
			diag,
			"this compiler has no int16; compile with --precision int8 or fp16");
	if (int8 && !options->calibration)
		return diag_error(
			diag,
			"--precision int8 needs samples to quantize by; name a folder of them with --calib (models that are quantized already compile in their own integers)");
	if (options->calibration && !int8 && strcmp(options->precision, "auto"))
		return diag_error(
			diag,
			"--calib quantizes to int8, which --precision fp16 excludes; leave one of the two out");
	if (options->tune)
		diag_warning(diag, "--tune has no effect: the cost model alone chooses");
	return 0;
}

static FILE *open_log(const struct options *options, struct diag *diag)
{
	FILE *log;

	if (!options->log)
		return NULL;
	if (!strcmp(options->log, "-"))
		return stderr;
	log = fopen(options->log, "w");
	if (!log)
		diag_error(diag, "log '%s' cannot be written: %s", options->log, strerror(errno));
	return log;
}

static int compile(const struct options *options, struct compile_report *report, uint32_t *merged,
		   struct diag *diag)
{
	struct npucc_front_options front = {
		.shapes = options->shapes,
		.shape_count = options->shape_count,
		.fusion = (int)options->fusion,
		.fold_affine = true,
		/* Each sum of a quantized network is rounded by itself. */
		.disabled_passes = options->calibration ? (uint64_t)1 << FUSE_RESIDUAL |
							  (uint64_t)1 << FUSE_AFFINE :
							  0,
		.dump = options->dump ? stderr : NULL,
		.dump_stage = options->dump,
	};
	FILE *log = open_log(options, diag);
	struct npucc_model *model = NULL;
	struct program program = { 0 };
	int result = -1;

	if (options->log && !log)
		return -1;
	if (check_abilities(options, diag))
		goto out;
	model = npucc_front_load(options->model, &front, diag);
	if (!model)
		goto out;
	if (options->calibration &&
	    command_calibrate(npucc_model_graph(model), options->calibration, log, diag))
		goto out;
	if (options->calibration && options->dump && !strcmp(options->dump, "quant")) {
		fputs("# after calibration\n", stderr);
		graph_dump(npucc_model_graph(model), stderr);
	}
	*merged = npucc_model_merged(model);
	if (log)
		fprintf(log, "merged %u ops\n", *merged);
	result = compile_graph(npucc_model_graph(model), options, log, &program, report, diag);
	if (!result)
		result = elf_write(&program, options->output, diag);
	if (log && !result)
		fprintf(log, "%u layers, %u bytes of local SRAM at most, %llu bytes of scratch\n",
			report->layers, report->sram_peak_bytes,
			(unsigned long long)report->scratch_bytes);
out:
	free(program.rodata);
	npucc_model_free(model);
	if (log && log != stderr)
		fclose(log);
	return result;
}

int command_compile(const struct options *options)
{
	struct compile_report report = { 0 };
	struct timespec start;
	struct diag diag;
	uint32_t merged = 0;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &start);
	diag_init(&diag);
	result = compile(options, &report, &merged, &diag);
	diag_print(&diag, DIAG_WARNING, stderr);
	if (!result && options->json)
		print_json(&report, merged, seconds_since(&start));
	diag_free(&diag);
	return result ? 1 : 0;
}
