// SPDX-License-Identifier: MIT
/* Parsing what follows `sim:`. */
#include "sim_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "npu_model_thread.h"

#define MEMORY_MIB_DEFAULT 16384u
#define MEMORY_MIB_MIN 16u
#define MEMORY_MIB_MAX (1u << 20)
#define SPIN_US_MAX 1000000u
#define SLEEP_US_MAX 1000000u
#define POINT_MAX 3u
#define POINT_NONE UINT32_MAX
#define PATIENCE_S_DEFAULT 30u
/* What the device has for an answer a replay waits out, or it would end before the answer does. */
#define WAIT_S_BEYOND_PATIENCE 10u
#define SECONDS_MAX 3600u

static const struct {
	const char *key;
	uint32_t low, high;
	size_t where;
} numbers[] = {
	{ "memory", MEMORY_MIB_MIN, MEMORY_MIB_MAX, offsetof(struct sim_options, memory_mib) },
	{ "spin", 0, SPIN_US_MAX, offsetof(struct sim_options, spin_us) },
	{ "sleep", 0, SLEEP_US_MAX, offsetof(struct sim_options, sleep_us) },
	{ "fastest", 0, POINT_MAX, offsetof(struct sim_options, fastest) },
	{ "slowest", 0, POINT_MAX, offsetof(struct sim_options, slowest) },
	{ "patience", 1, SECONDS_MAX, offsetof(struct sim_options, patience_s) },
	{ "wait", 1, SECONDS_MAX, offsetof(struct sim_options, wait_s) },
};

static int parse_number(const char *key, const char *value, uint32_t low, uint32_t high,
			uint32_t *number)
{
	unsigned long long parsed;
	char *end;

	errno = 0;
	parsed = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || parsed < low || parsed > high)
		return npurt_fail(-EINVAL, "sim: %s=%s: expected a number from %u to %u", key,
				  value, low, high);
	*number = (uint32_t)parsed;
	return 0;
}

static int take_path(char path[SIM_NAME_BYTES], const char *value)
{
	if (!*value)
		return npurt_fail(-EINVAL, "sim: record= and replay= need the name of a file");
	strcpy(path, value);
	return 0;
}

/* The value of KEY=VALUE when that is the key, else NULL. */
static const char *value_of(const char *pair, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(pair, key, length) && pair[length] == '=' ? pair + length + 1 : NULL;
}

static void pass_on(struct sim_options *options, const char *pair)
{
	size_t used = strlen(options->config);

	snprintf(options->config + used, sizeof(options->config) - used, "%c%s",
		 strchr(options->config, '?') ? '&' : '?', pair);
}

/* Takes one KEY=VALUE; what is not ours is the model's. */
static int parse_key(struct sim_options *options, const char *pair)
{
	const char *value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		value = value_of(pair, numbers[i].key);
		if (value)
			return parse_number(numbers[i].key, value, numbers[i].low, numbers[i].high,
					    (uint32_t *)(void *)((char *)options +
								 numbers[i].where));
	}
	value = value_of(pair, "record");
	if (value)
		return take_path(options->record, value);
	value = value_of(pair, "replay");
	if (value)
		return take_path(options->replay, value);
	if (!strcmp(pair, "pages=4k"))
		options->small_pages = true;
	pass_on(options, pair);
	return 0;
}

int sim_options_parse(const char *text, struct sim_options *options)
{
	char copy[SIM_NAME_BYTES];
	char *keys, *pair, *rest;
	int ret = 0;

	*options = (struct sim_options){
		.spin_us = NPU_MODEL_THREAD_SPIN_DEFAULT,
		.slowest = POINT_NONE,
		.patience_s = PATIENCE_S_DEFAULT,
	};
	if (strlen(text) >= sizeof(copy))
		return npurt_fail(-EINVAL, "sim: the device's name is longer than %zu characters",
				  sizeof(copy) - 1);
	strcpy(copy, text);
	keys = strchr(copy, '?');
	if (keys)
		*keys++ = 0;
	strcpy(options->config, *copy ? copy : "npu-v3");
	for (pair = keys ? strtok_r(keys, "&", &rest) : NULL; pair && !ret;
	     pair = strtok_r(NULL, "&", &rest))
		ret = parse_key(options, pair);
	if (!ret && *options->record && *options->replay)
		ret = npurt_fail(-EINVAL, "sim: record and replay exclude each other");
	if (options->slowest == POINT_NONE)
		options->slowest = options->fastest;
	if (!ret && options->slowest < options->fastest)
		ret = npurt_fail(-EINVAL,
				 "sim: slowest=%u is faster than fastest=%u; slower points have higher numbers",
				 options->slowest, options->fastest);
	if (!options->wait_s)
		options->wait_s = options->patience_s + WAIT_S_BEYOND_PATIENCE;
	options->memory_named = options->memory_mib;
	if (!options->memory_named)
		options->memory_mib = MEMORY_MIB_DEFAULT;
	return ret;
}
