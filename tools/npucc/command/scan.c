// SPDX-License-Identifier: MIT
#include "../scan/scan.h"
#include "compile.h"

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
