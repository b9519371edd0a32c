// SPDX-License-Identifier: MIT
/*
 * Function tables: 256 linear segments between two bounds, straight lines outside. Curves: the
 * same with parabolas.
 *
 * The lines outside are the function's own asymptotes. Functions made of straight
 * lines come out exact: their knees are put on the bounds. A jump or a single
 * knee is a table whose segments lie within 2.56e-28 of it, which no fp16 value
 * but the knee itself can hit.
 */
#include <endian.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "lower.h"

#define SEGMENTS 256
#define STEEP 1e30f /* inverse step of a table that is all knee */

struct line {
	double slope, offset;
};

struct shape {
	double (*function)(const struct graph_activation *activation, double x);
	struct line left, right;
	double low, high;
	bool search; /* low and high are scaled by 1..3 to find the least error */
	bool knee; /* straight lines on both sides of low, `at` there */
	double at;
};

/* --------------------------------------------------------------------- functions */
static double sigmoid(double x)
{
	return 1.0 / (1.0 + exp(-x));
}

static double evaluate(const struct graph_activation *activation, double x)
{
	double alpha = activation->alpha, beta = activation->beta;

	switch (activation->kind) {
	case GRAPH_ACTIVATION_CLIP:
		return fmin(fmax(x, alpha), beta);
	case GRAPH_ACTIVATION_ELU:
		return x < 0 ? alpha * expm1(x) : x;
	case GRAPH_ACTIVATION_SELU:
		return beta * (x > 0 ? x : alpha * expm1(x));
	case GRAPH_ACTIVATION_CELU:
		return fmax(0.0, x) + fmin(0.0, alpha * expm1(x / alpha));
	case GRAPH_ACTIVATION_SIGMOID:
		return sigmoid(x);
	case GRAPH_ACTIVATION_HARDSIGMOID:
		return fmin(fmax(alpha * x + beta, 0.0), 1.0);
	case GRAPH_ACTIVATION_HARDSWISH:
		return x * fmin(fmax(alpha * x + beta, 0.0), 1.0);
	case GRAPH_ACTIVATION_SILU:
		return x * sigmoid(alpha * x);
	case GRAPH_ACTIVATION_TANH:
		return tanh(x);
	case GRAPH_ACTIVATION_ERF:
		return erf(x);
	case GRAPH_ACTIVATION_GELU:
		return x / 2 * (1 + erf(x * M_SQRT1_2));
	case GRAPH_ACTIVATION_GELU_TANH:
		return x / 2 * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
	case GRAPH_ACTIVATION_MISH:
		return x * tanh(x > 30 ? x : log1p(exp(x)));
	case GRAPH_ACTIVATION_SOFTPLUS:
		return x > 30 ? x : log1p(exp(x));
	default:
		return 0.0;
	}
}

static struct shape knee(double low, struct line left, double at, struct line right)
{
	return (struct shape){ .left = left, .right = right, .low = low, .knee = true, .at = at };
}

static struct shape curve(double low, double high, struct line left, struct line right, bool search)
{
	return (struct shape){ .function = evaluate,
			       .left = left,
			       .right = right,
			       .low = low,
			       .high = high,
			       .search = search };
}

static struct shape clip_shape(double low, double high)
{
	const struct line identity = { 1, 0 };

	if (isinf(low) && isinf(high))
		return knee(FLT_MAX, identity, 0, identity);
	if (isinf(high))
		return knee(low, (struct line){ 0, low }, low, identity);
	if (isinf(low))
		return knee(high, identity, high, (struct line){ 0, high });
	return curve(low, high, (struct line){ 0, low }, (struct line){ 0, high }, false);
}

/* Returns false for a function that a table of equal segments cannot hold well. */
static bool shape_of(const struct graph_activation *activation, struct shape *shape)
{
	const struct line zero = { 0, 0 }, identity = { 1, 0 };
	double alpha = activation->alpha, beta = activation->beta;

	switch (activation->kind) {
	case GRAPH_ACTIVATION_RELU:
		*shape = knee(0, zero, 0, identity);
		return true;
	case GRAPH_ACTIVATION_CLIP:
		if (!(alpha < beta))
			return false;
		*shape = clip_shape(alpha, beta);
		return true;
	case GRAPH_ACTIVATION_LEAKYRELU:
		*shape = knee(0, (struct line){ alpha, 0 }, 0, identity);
		return true;
	case GRAPH_ACTIVATION_THRESHOLDED_RELU:
		*shape = knee(alpha, zero, 0, identity);
		return true;
	case GRAPH_ACTIVATION_ABS:
		*shape = knee(0, (struct line){ -1, 0 }, 0, identity);
		return true;
	case GRAPH_ACTIVATION_SIGN:
		*shape = knee(0, (struct line){ 0, -1 }, 0, (struct line){ 0, 1 });
		return true;
	case GRAPH_ACTIVATION_NEG:
		*shape = knee(FLT_MAX, (struct line){ -1, 0 }, 0, (struct line){ -1, 0 });
		return true;
	case GRAPH_ACTIVATION_LINEAR:
		*shape = knee(FLT_MAX, (struct line){ alpha, beta }, 0,
			      (struct line){ alpha, beta });
		return true;
	case GRAPH_ACTIVATION_ELU:
		*shape = curve(-4, 0, (struct line){ 0, -alpha }, identity, true);
		return true;
	case GRAPH_ACTIVATION_SELU:
		*shape = curve(-4, 0, (struct line){ 0, -alpha * beta }, (struct line){ beta, 0 },
			       true);
		return true;
	case GRAPH_ACTIVATION_CELU:
		if (!(alpha > 0))
			return false;
		*shape = curve(-4 * alpha, 0, (struct line){ 0, -alpha }, identity, true);
		return true;
	case GRAPH_ACTIVATION_SIGMOID:
		*shape = curve(-5, 5, zero, (struct line){ 0, 1 }, true);
		return true;
	case GRAPH_ACTIVATION_HARDSIGMOID:
	case GRAPH_ACTIVATION_HARDSWISH:
		if (!(alpha > 0))
			return false;
		*shape = curve(-beta / alpha, (1 - beta) / alpha, zero,
			       activation->kind == GRAPH_ACTIVATION_HARDSWISH ?
				       identity :
				       (struct line){ 0, 1 },
			       false);
		return true;
	case GRAPH_ACTIVATION_SILU:
		if (!(alpha > 0))
			return false;
		*shape = curve(-5 / alpha, 5 / alpha, zero, identity, true);
		return true;
	case GRAPH_ACTIVATION_TANH:
		*shape = curve(-2.5, 2.5, (struct line){ 0, -1 }, (struct line){ 0, 1 }, true);
		return true;
	case GRAPH_ACTIVATION_ERF:
		*shape = curve(-1.5, 1.5, (struct line){ 0, -1 }, (struct line){ 0, 1 }, true);
		return true;
	case GRAPH_ACTIVATION_GELU:
	case GRAPH_ACTIVATION_GELU_TANH:
		*shape = curve(-2.5, 2.5, zero, identity, true);
		return true;
	case GRAPH_ACTIVATION_MISH:
	case GRAPH_ACTIVATION_SOFTPLUS:
		*shape = curve(-5, 5, zero, identity, true);
		return true;
	default:
		return false;
	}
}

/* ---------------------------------------------------------------------- segments */
/* y = base + f * (delta + f * curve), 0 <= f < 1 */
struct parabola {
	double base, delta, curve;
};

/* Through three values at f = 0, 1/2 and 1. */
static struct parabola through(double from, double middle, double to)
{
	double curve = 2 * (from + to - 2 * middle);

	return (struct parabola){ .base = from, .delta = to - from - curve, .curve = curve };
}

/* Largest distance from the function in a segment. */
static double segment_error(const struct graph_activation *activation, const struct shape *shape,
			    double from, double step, bool curve)
{
	double middle = shape->function(activation, from + step / 2);
	struct parabola parabola = through(shape->function(activation, from), middle,
					   shape->function(activation, from + step));

	if (!curve)
		return fabs(parabola.curve / 4);
	return fabs(parabola.base + 0.25 * (parabola.delta + 0.25 * parabola.curve) -
		    shape->function(activation, from + step / 4));
}

/* Over all segments and beyond the bounds. */
static double table_error(const struct graph_activation *activation, const struct shape *shape,
			  double low, double high, bool curve)
{
	double step = (high - low) / SEGMENTS, worst = 0, x, left, right;
	int i;

	for (i = 0; i < SEGMENTS; i++)
		worst = fmax(worst, segment_error(activation, shape, low + i * step, step, curve));
	for (i = 0; i < 16; i++) {
		x = low - i * (high - low) / 16;
		left = fabs(shape->left.slope * x + shape->left.offset -
			    shape->function(activation, x));
		x = high + i * (high - low) / 16;
		right = fabs(shape->right.slope * x + shape->right.offset -
			     shape->function(activation, x));
		worst = fmax(worst, fmax(left, right));
	}
	return worst;
}

static void choose_bounds(const struct graph_activation *activation, struct shape *shape, bool curve)
{
	double best = INFINITY, scale, chosen = 1, error;

	for (scale = 1; scale <= 3; scale += 0.125) {
		error = table_error(activation, shape, shape->low * scale, shape->high * scale,
				    curve);
		if (error < best) {
			best = error;
			chosen = scale;
		}
	}
	shape->low *= chosen;
	shape->high *= chosen;
}

/* What stands behind the function in the graph is part of the table: scale f(x) + shift. */
static double behind(const struct graph_activation *activation, double y)
{
	return activation->affine ? (double)activation->scale * y + (double)activation->shift : y;
}

static struct line line_behind(const struct graph_activation *activation, struct line line)
{
	if (activation->affine)
		line.slope *= (double)activation->scale;
	line.offset = behind(activation, line.offset);
	return line;
}

static __le32 float_bits(double number)
{
	float single = (float)number;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	return htole32(bits);
}

static void fill_table(const struct graph_activation *activation, const struct shape *shape,
		       struct npu_table *table)
{
	/* The device rounds low and the step to fp32; segments are those it will see. */
	float low = (float)shape->low, inverse_step = STEEP;
	struct line left = line_behind(activation, shape->left);
	struct line right = line_behind(activation, shape->right);
	double from, to, middle, lift;
	int i;

	memset(table, 0, sizeof(*table));
	table->left_slope = float_bits(left.slope);
	table->left_offset = float_bits(left.offset);
	table->right_slope = float_bits(right.slope);
	table->right_offset = float_bits(right.offset);
	if (!shape->knee)
		inverse_step = (float)(SEGMENTS / (shape->high - shape->low));
	table->low = float_bits(low);
	table->inverse_step = float_bits(inverse_step);
	for (i = 0; i < SEGMENTS; i++) {
		if (shape->knee) {
			table->segment[i].base = float_bits(behind(activation, shape->at));
			continue;
		}
		from = behind(activation,
			      shape->function(activation, low + i / (double)inverse_step));
		to = behind(activation,
			    shape->function(activation, low + (i + 1) / (double)inverse_step));
		middle = behind(activation, shape->function(activation,
							    low + (i + 0.5) / (double)inverse_step));
		/*
		 * A chord lies on one side of a curve, and errors of one sign survive every mean
		 * that the network takes. Lowered by two thirds of its height over the middle (the
		 * mean over a parabola) it has no bias, and a smaller largest error.
		 */
		lift = ((from + to) / 2 - middle) * 2 / 3;
		table->segment[i].base = float_bits(from - lift);
		table->segment[i].delta = float_bits(to - from);
	}
}

static void fill_curve(const struct graph_activation *activation, const struct shape *shape,
		       struct npu_curve *curve)
{
	float low = (float)shape->low, inverse_step = STEEP;
	struct line left = line_behind(activation, shape->left);
	struct line right = line_behind(activation, shape->right);

	memset(curve, 0, sizeof(*curve));
	curve->left_slope = float_bits(left.slope);
	curve->left_offset = float_bits(left.offset);
	curve->right_slope = float_bits(right.slope);
	curve->right_offset = float_bits(right.offset);
	if (!shape->knee)
		inverse_step = (float)(SEGMENTS / (shape->high - shape->low));
	curve->low = float_bits(low);
	curve->inverse_step = float_bits(inverse_step);
	for (int i = 0; i < SEGMENTS; i++) {
		struct parabola parabola = { .base = behind(activation, shape->at) };
		double y[3];

		for (int half = 0; half < 3 && !shape->knee; half++)
			y[half] = behind(activation,
					 shape->function(activation, low + (i + half / 2.0) /
									   (double)inverse_step));
		if (!shape->knee)
			parabola = through(y[0], y[1], y[2]);
		curve->segment[i].base = float_bits(parabola.base);
		curve->segment[i].delta = float_bits(parabola.delta);
		curve->segment[i].curve = float_bits(parabola.curve);
	}
}

bool lower_table_supports(const struct graph_activation *activation)
{
	struct shape shape;

	return shape_of(activation, &shape);
}

static int find_shape(struct lower *lower, const struct graph_activation *activation, bool curve,
		      struct shape *shape)
{
	if (!shape_of(activation, shape))
		return diag_error(
			lower->diag,
			"function '%s' with alpha %g and beta %g has no table; it must stay a node of its own (--fusion 0)",
			graph_activation_name(activation->kind), (double)activation->alpha,
			(double)activation->beta);
	if (shape->search)
		choose_bounds(activation, shape, curve);
	return 0;
}

int lower_table(struct lower *lower, const struct graph_activation *activation, int64_t *offset)
{
	struct npu_table table;
	struct shape shape;

	if (find_shape(lower, activation, false, &shape))
		return -1;
	fill_table(activation, &shape, &table);
	*offset = lower_constant(lower, &table, sizeof(table), 64);
	return *offset < 0 ? -1 : 0;
}

int lower_curve(struct lower *lower, const struct graph_activation *activation, int64_t *offset)
{
	struct npu_curve curve;
	struct shape shape;

	if (find_shape(lower, activation, true, &shape))
		return -1;
	fill_curve(activation, &shape, &curve);
	*offset = lower_constant(lower, &curve, sizeof(curve), 64);
	return *offset < 0 ? -1 : 0;
}
