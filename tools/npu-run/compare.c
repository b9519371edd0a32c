/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdio.h>

#include "input.h"

static double difference(double have, double want)
{
	if (have == want || (isnan(have) && isnan(want)))
		return 0;
	return isfinite(have) && isfinite(want) ? fabs(have - want) : INFINITY;
}

static void compare_tensors(const struct tensor *have, const struct tensor *want, double atol,
			    double rtol, struct comparison_result *result)
{
	for (uint64_t i = 0; i < have->elements; i++) {
		double reference = tensor_element(want, i);
		double error = difference(tensor_element(have, i), reference);

		if (error > result->max_abs_error)
			result->max_abs_error = error;
		result->different += !(error <= atol + rtol * fabs(reference)) && error != 0;
	}
	result->elements = have->elements;
	result->ok = result->different == 0;
}

static int compare_one(const struct session *session, const struct options *options,
		       const struct comparison *comparison, struct comparison_result *result)
{
	int index = session_find(session, true, comparison->reference.name);
	struct tensor have = { 0 }, want = { 0 };
	const struct npurt_tensor_info *info;
	char error[TENSOR_ERROR_BYTES];
	int status;

	if (index < 0)
		return -1;
	info = &session->tensors[session->info.inputs + (uint32_t)index];
	*result = (struct comparison_result) { .name = info->name };
	status = input_load(comparison->reference.file, info, options, &want, error);
	if (!status)
		status = session_output(session, (uint32_t)index, &have, error);
	if (status)
		fprintf(stderr, "npu-run: %s\n", error);
	else
		compare_tensors(&have, &want, comparison->atol, comparison->rtol, result);
	tensor_free(&have);
	tensor_free(&want);
	return status;
}

int compare_outputs(const struct session *session, const struct options *options,
		    struct comparison_result *results)
{
	for (uint32_t i = 0; i < options->comparison_count; i++)
		if (compare_one(session, options, &options->comparisons[i], &results[i]))
			return -1;
	return 0;
}
