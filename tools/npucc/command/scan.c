// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "../scan/scan.h"
#include "compile.h"

/* The row of the node that one of the back end was made of. */
static struct scan_row *row_of(struct scan_report *report, uint32_t origin)
{
	for (uint32_t i = 0; i < report->row_count; i++)
		if (report->rows[i].node->id == origin)
			return &report->rows[i];
	return NULL;
}

/* "why; what to do", as the back end says it, into the row. 0, or -1 without memory. */
static int refuse_row(struct scan_report *report, struct scan_row *row, struct arena *arena,
		      const char *text)
{
	const char *cut = strrchr(text, ';');

	report->counts[row->where]--;
	report->counts[SCAN_NONE]++;
	row->where = SCAN_NONE;
	row->reason = arena_string(arena, text, cut ? (size_t)(cut - text) : strlen(text));
	row->suggestion = cut ? arena_string(arena, cut + 2, strlen(cut + 1) - 1) : "";
	return row->reason && row->suggestion ? 0 : -1;
}

static void add_cycles(struct scan_report *report, const struct program *program)
{
	for (uint32_t i = 0; i < program->layer_count; i++) {
		struct scan_row *row = row_of(report, program->layers[i].origin);

		if (row)
			row->cycles += program->layers[i].predicted_cycles;
	}
}

/*
 * What no row of the table can say (that no tiling fits local SRAM, that two shapes
 * share no strides) the back end says itself: it is run without writing a file, and the
 * node it stops at is refused with its sentence. What it predicts is the cost of each row.
 */
static int try_backend(const struct options *options, struct graph *graph,
		       struct scan_report *report, struct diag *diag)
{
	struct compile_report compiled;
	struct program program;
	struct scan_row *row = NULL;
	struct diag problems;
	const char *text;
	int result = 0;

	diag_init(&problems);
	if (!compile_graph(graph, options, NULL, &program, &compiled, &problems)) {
		add_cycles(report, &program);
	} else {
		text = diag_first_error(&problems);
		if (compiled.refused)
			row = row_of(report, compiled.refused->origin);
		if (!row || !text)
			result = diag_error(diag, "%s", text ? text : "the model cannot be compiled");
		else if (refuse_row(report, row, graph->arena, text))
			result = diag_error(diag, "not enough memory for the report");
	}
	free(program.rodata);
	diag_free(&problems);
	return result;
}

static int scan(const struct options *options, struct diag *diag)
{
	struct npucc_front_options front = {
		.shapes = options->shapes,
		.shape_count = options->shape_count,
		.fusion = (int)options->fusion,
		.fold_affine = true,
		.keep_going = true,
		.dump = options->dump ? stderr : NULL,
		.dump_stage = options->dump,
	};
	struct npucc_model *model = npucc_front_load(options->model, &front, diag);
	struct scan_report report;
	int status = 1;

	if (!model)
		return 1;
	if (npucc_scan(npucc_model_graph(model), &report, diag))
		goto out;
	if (!report.counts[SCAN_NONE] &&
	    try_backend(options, npucc_model_graph(model), &report, diag))
		goto out;
	if (options->json)
		scan_print_json(&report, stdout);
	else
		scan_print(&report, stdout);
	status = report.counts[SCAN_NONE] ? 1 : 0;
out:
	npucc_model_free(model);
	return status;
}

int command_scan(const struct options *options)
{
	struct diag diag;
	int status;

	diag_init(&diag);
	status = scan(options, &diag);
	diag_print(&diag, DIAG_WARNING, stderr);
	diag_free(&diag);
	return status;
}
