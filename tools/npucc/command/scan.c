// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "../scan/scan.h"
#include "compile.h"

/*
 * What no row of the table can say (that no tiling fits local SRAM, that two shapes
 * share no strides) the back end says itself: it is run without writing a file, and the
 * node it stops at is refused with its sentence.
 */
static int try_backend(const struct options *options, struct graph *graph,
		       struct scan_report *report)
{
	struct compile_report compiled;
	struct program program;
	struct diag diag;
	uint32_t i;
	int result = 0;

	diag_init(&diag);
	if (compile_graph(graph, options, NULL, &program, &compiled, &diag) && compiled.refused) {
		const char *text = diag_first_error(&diag);
		const char *cut = text ? strrchr(text, ';') : NULL;

		/* The parts of a node that was taken apart carry its name. */
		for (i = 0; i < report->row_count; i++)
			if (!strcmp(report->rows[i].node->name, compiled.refused->name))
				break;
		if (text && i < report->row_count) {
			struct scan_row *row = &report->rows[i];

			report->counts[row->where]--;
			report->counts[SCAN_NONE]++;
			row->where = SCAN_NONE;
			row->reason = arena_string(graph->arena, text,
						   cut ? (size_t)(cut - text) : strlen(text));
			row->suggestion =
				cut ? arena_string(graph->arena, cut + 2, strlen(cut + 1) - 1) : "";
			if (!row->reason || !row->suggestion)
				result = -1;
		}
	}
	free(program.rodata);
	diag_free(&diag);
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
	if (!report.counts[SCAN_NONE] && try_backend(options, npucc_model_graph(model), &report)) {
		diag_error(diag, "not enough memory for the report");
		goto out;
	}
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
