/* SPDX-License-Identifier: MIT */
/* npu-run: runs a compiled model on a device. */
#include <stdio.h>

#include "file.h"
#include "npy.h"
#include "report.h"

static int write_outputs(const struct session *session, const struct options *options)
{
	for (uint32_t i = 0; i < options->output_count; i++) {
		int index = session_find(session, true, options->outputs[i].name);
		char error[TENSOR_ERROR_BYTES];
		struct tensor tensor;
		int failed;

		if (index < 0)
			return -1;
		failed = session_output(session, (uint32_t)index, &tensor, error);
		if (!failed) {
			failed = npy_write(options->outputs[i].file, &tensor, error);
			tensor_free(&tensor);
		}
		if (failed) {
			fprintf(stderr, "npu-run: %s\n", error);
			return -1;
		}
	}
	return 0;
}

static int report_all(const struct report *report)
{
	const struct options *options = report->options;

	if (options->report && report_html(report, options->report))
		return -1;
	if (options->trace && report_trace(report, options->trace))
		return -1;
	return options->json ? report_json(report) : report_text(report);
}

/* Returns the exit status. */
static int run(struct session *session, const struct options *options,
	       struct measurement *measurement)
{
	struct comparison_result comparisons[OPTIONS_FILES_MAX] = { 0 };
	const struct report report = {
		.session = session, .options = options, .measurement = measurement,
		.comparisons = comparisons,
	};

	if (measure_run(session, options, measurement) || write_outputs(session, options) ||
	    compare_outputs(session, options, comparisons) || report_all(&report))
		return 1;
	for (uint32_t i = 0; i < options->comparison_count; i++)
		if (!comparisons[i].ok)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct measurement measurement = { 0 };
	struct session session;
	struct options options;
	int status = options_parse(argc, argv, &options);

	if (status >= 0)
		return status;
	status = session_open(&session, &options);
	if (!status)
		status = run(&session, &options, &measurement);
	measure_free(&measurement);
	session_close(&session);
	return file_finish_stdout("npu-run") ? 1 : status;
}
