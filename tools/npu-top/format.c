// SPDX-License-Identifier: MIT
/* Figures for people. */
#include "format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Three digits that count, and a unit. */
static struct top_figure three_digits(double value, const char *unit)
{
	struct top_figure figure;
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(figure.text, sizeof(figure.text), "%.*f%s", decimals, value, unit);
	return figure;
}

static struct top_figure unknown(void)
{
	return (struct top_figure){ "-" };
}

struct top_figure top_time(double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	if (isnan(ns))
		return unknown();
	while (unit < 3 && ns >= 999.5) {
		ns /= 1000;
		unit++;
	}
	if (ns > 99999)
		ns = 99999;
	return three_digits(ns, units[unit]);
}

struct top_figure top_bytes(double bytes)
{
	static const char *const units[] = { "B", "K", "M", "G", "T", "P", "E" };
	size_t unit = 0;

	if (isnan(bytes))
		return unknown();
	while (unit < 6 && bytes >= 999.5) {
		bytes /= 1024;
		unit++;
	}
	if (!unit) {
		struct top_figure figure;

		snprintf(figure.text, sizeof(figure.text), "%.0fB", bytes);
		return figure;
	}
	return three_digits(bytes, units[unit]);
}

struct top_figure top_count(double count)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	struct top_figure figure;
	size_t unit = 0;

	if (isnan(count))
		return unknown();
	if (count == floor(count) && count < 10000) {
		snprintf(figure.text, sizeof(figure.text), "%.0f", count);
		return figure;
	}
	while (unit < 6 && count >= (unit ? 999.5 : 9999.5)) {
		count /= 1000;
		unit++;
	}
	return three_digits(count, units[unit]);
}

struct top_figure top_percent(double share)
{
	struct top_figure figure;

	if (isnan(share))
		return unknown();
	snprintf(figure.text, sizeof(figure.text), "%.1f%%", (share > 99 ? 99 : share) * 100);
	return figure;
}
