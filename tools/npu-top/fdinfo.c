// SPDX-License-Identifier: MIT
/* The text of /proc/PID/fdinfo/FD. */
#include "fdinfo.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *text, uint64_t *number, const char **unit)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (errno)
		return false;
	while (*end == ' ')
		end++;
	*unit = end;
	return true;
}

/* Of bytes, KiB and MiB; false when it does not fit. */
static bool scale(uint64_t *number, const char *unit)
{
	unsigned int shift = 0;

	if (!strcmp(unit, "KiB"))
		shift = 10;
	else if (!strcmp(unit, "MiB"))
		shift = 20;
	else if (*unit)
		return false;
	if (*number > UINT64_MAX >> shift)
		return false;
	*number <<= shift;
	return true;
}

static void parse_value(struct top_fdinfo *info, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t offset;
		bool is_bytes;
	} numbers[] = {
		{ "drm-client-id", offsetof(struct top_fdinfo, client), false },
		{ "drm-cycles-mac", offsetof(struct top_fdinfo, mac_cycles), false },
		{ "drm-cycles-vector", offsetof(struct top_fdinfo, vector_cycles), false },
		{ "drm-cycles-dma", offsetof(struct top_fdinfo, dma_cycles), false },
		{ "drm-resident-memory", offsetof(struct top_fdinfo, resident_bytes), true },
		{ "npu-tasks", offsetof(struct top_fdinfo, tasks), false },
		{ "npu-contexts", offsetof(struct top_fdinfo, contexts), false },
		{ "npu-queues", offsetof(struct top_fdinfo, queues), false },
	};
	const char *unit;
	uint64_t number;

	if (!strcmp(key, "drm-driver"))
		info->is_npu = !strcmp(value, "npu");
	else if (!strcmp(key, "drm-pdev"))
		snprintf(info->bus, sizeof(info->bus), "%s", value);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(key, numbers[i].key) || !parse_number(value, &number, &unit))
			continue;
		if (numbers[i].is_bytes ? scale(&number, unit) : !*unit)
			memcpy((char *)info + numbers[i].offset, &number, sizeof(number));
	}
}

void top_fdinfo_parse(char *text, struct top_fdinfo *info)
{
	char *line, *rest = NULL;

	memset(info, 0, sizeof(*info));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		*value++ = 0;
		value += strspn(value, " \t");
		value[strcspn(value, "\r")] = 0;
		parse_value(info, line, value);
	}
}
