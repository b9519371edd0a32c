// SPDX-License-Identifier: MIT
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../fold/interpreter.h"

#define BINS	2048
#define STEPS	255		/* between the least and the greatest integer */
#define SHRINKS	64		/* ranges that are tried */

/* What was seen of a value. */
struct seen {
	float low, high;
	uint64_t *bins;		/* [BINS] between low and high, or NULL */
	float *numbers;		/* of the sample refined last, or NULL */
};

struct calibration {
	struct graph *graph;
	uint32_t count;		/* values that existed before anything was inserted */
	struct seen *seen;	/* by value id */
};

struct calibration *calibration_new(struct graph *graph)
{
	struct calibration *calibration = calloc(1, sizeof(*calibration));

	if (!calibration)
		return NULL;
	calibration->graph = graph;
	calibration->count = graph->value_count;
	calibration->seen = calloc(graph->value_count + 1ull, sizeof(*calibration->seen));
	if (!calibration->seen) {
		free(calibration);
		return NULL;
	}
	for (uint32_t i = 0; i < graph->value_count; i++) {
		calibration->seen[i].low = INFINITY;
		calibration->seen[i].high = -INFINITY;
	}
	return calibration;
}

void calibration_free(struct calibration *calibration)
{
	if (!calibration)
		return;
	for (uint32_t i = 0; i < calibration->count; i++) {
		free(calibration->seen[i].bins);
		free(calibration->seen[i].numbers);
	}
	free(calibration->seen);
	free(calibration);
}

static int no_memory(struct diag *diag)
{
	return diag_error(diag, "not enough memory to run the model on samples");
}

static bool is_watched(const struct calibration *calibration, const struct graph_value *value)
{
	return value->id < calibration->count && value->dtype == GRAPH_DTYPE_F32 &&
	       !graph_is_constant(value) && (value->producer || value->is_input);
}

/* -------------------------------------------------------------------------- running */
typedef int (*visit_value)(struct calibration *calibration, const struct graph_value *value,
			   const float *numbers, void *context);

static int run(struct calibration *calibration, const void *const *inputs, visit_value visit,
	       void *context, struct diag *diag)
{
	struct graph *graph = calibration->graph;
	struct interpreter *interpreter = interpreter_new(graph);
	int result = -1;
	uint32_t i;

	if (!interpreter)
		return no_memory(diag);
	for (i = 0; i < graph->input_count; i++)
		if (interpreter_input(interpreter, i, inputs[i])) {
			no_memory(diag);
			goto out;
		}
	if (interpreter_run(interpreter, diag))
		goto out;
	for (i = 0; i < calibration->count; i++) {
		const struct graph_value *value = graph->values[i];
		const float *numbers = interpreter_value(interpreter, value);

		if (!is_watched(calibration, value) || !numbers)
			continue;
		if (visit(calibration, value, numbers, context)) {
			no_memory(diag);
			goto out;
		}
	}
	result = 0;
out:
	interpreter_free(interpreter);
	return result;
}

static int observe(struct calibration *calibration, const struct graph_value *value,
		   const float *numbers, void *context)
{
	struct seen *seen = &calibration->seen[value->id];
	int64_t count = graph_element_count(value), i;

	(void)context;
	for (i = 0; i < count; i++) {
		if (!isfinite(numbers[i]))
			continue;
		seen->low = fminf(seen->low, numbers[i]);
		seen->high = fmaxf(seen->high, numbers[i]);
	}
	return 0;
}

int calibration_observe(struct calibration *calibration, const void *const *inputs,
			struct diag *diag)
{
	return run(calibration, inputs, observe, NULL, diag);
}

static int refine(struct calibration *calibration, const struct graph_value *value,
		  const float *numbers, void *context)
{
	struct seen *seen = &calibration->seen[value->id];
	int64_t count = graph_element_count(value), i;
	float width = (seen->high - seen->low) / BINS;

	(void)context;
	if (!seen->bins)
		seen->bins = calloc(BINS, sizeof(*seen->bins));
	if (!seen->numbers)
		seen->numbers = malloc((size_t)count * sizeof(*seen->numbers) + 1);
	if (!seen->bins || !seen->numbers)
		return -1;
	memcpy(seen->numbers, numbers, (size_t)count * sizeof(*numbers));
	for (i = 0; i < count && width > 0; i++) {
		int bin = isfinite(numbers[i]) ? (int)((numbers[i] - seen->low) / width) : -1;

		/* A sample that was not observed may lie outside. */
		if (bin >= 0)
			seen->bins[bin < BINS ? bin : BINS - 1]++;
	}
	return 0;
}

int calibration_refine(struct calibration *calibration, const void *const *inputs,
		       struct diag *diag)
{
	return run(calibration, inputs, refine, NULL, diag);
}

/* --------------------------------------------------------------------------- ranges */
/* Sum of squared errors when [low, high] is what the integers hold. */
static double cost_of(const struct seen *seen, double low, double high)
{
	double width = ((double)seen->high - (double)seen->low) / BINS;
	double step = (high - low) / STEPS, cost = 0;

	for (int i = 0; i < BINS; i++) {
		double x = (double)seen->low + (i + 0.5) * width;
		double beyond = x < low ? low - x : x > high ? x - high : 0;

		if (seen->bins[i])
			cost += (double)seen->bins[i] * (beyond * beyond + step * step / 12);
	}
	return cost;
}

bool calibration_range(const struct calibration *calibration, const struct graph_value *value,
		       float *low, float *high)
{
	const struct seen *seen;
	double best = INFINITY;

	if (!is_watched(calibration, value))
		return false;
	seen = &calibration->seen[value->id];
	if (!(seen->low <= seen->high))
		return false;
	/* Zero is exact in every range: pads and rectifiers make it. */
	*low = fminf(seen->low, 0);
	*high = fmaxf(seen->high, 0);
	for (int i = SHRINKS; i > SHRINKS / 4 && seen->bins; i--) {
		double part = (double)i / SHRINKS;
		double a = part * fmin((double)seen->low, 0);
		double b = part * fmax((double)seen->high, 0);
		double cost = cost_of(seen, a, b);

		if (cost < best) {
			best = cost;
			*low = (float)a;
			*high = (float)b;
		}
	}
	return true;
}

/* --------------------------------------------------------------------------- report */
static int compare(struct calibration *calibration, const struct graph_value *value,
		   const float *numbers, void *context)
{
	const struct seen *seen = &calibration->seen[value->id];
	int64_t count = graph_element_count(value), i;
	double signal = 0, noise = 0, most = 0;
	FILE *out = context;

	if (!seen->numbers || !value->producer)
		return 0;
	for (i = 0; i < count; i++) {
		double want = (double)seen->numbers[i], error = (double)numbers[i] - want;

		signal += want * want;
		noise += error * error;
		most = fmax(most, fabs(error));
	}
	fprintf(out,
		"quantized: %s (%s): %.1f dB, largest error %.3g of numbers from %.3g to %.3g\n",
		value->producer->name, value->producer->op_type,
		noise > 0 ? 10 * log10(signal / noise) : INFINITY, most, (double)seen->low,
		(double)seen->high);
	return 0;
}

int calibration_compare(struct calibration *calibration, const void *const *inputs, FILE *out,
			struct diag *diag)
{
	return run(calibration, inputs, compare, out, diag);
}
