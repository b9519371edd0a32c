// SPDX-License-Identifier: MIT
/*
 * Is a device well? It is asked to do what only a device that is well can do, and each answer is
 * shown. Nothing that others run on it is disturbed.
 */
#include <stdio.h>
#include <string.h>

#include "ctl.h"

enum verdict {
	WELL,
	UNKNOWN, /* this user may not ask */
	ILL,
};

struct check {
	const char *name, *good;
	int (*ask)(struct npurt_device *device);
	int error; /* negative errno */
	enum verdict verdict;
	char why[512];
};

static int ask_counters(struct npurt_device *device)
{
	struct npurt_device_counters counters = { .size = sizeof(counters) };

	return npurt_device_get_counters(device, &counters);
}

/* The firmware gives a context its queue. */
static int ask_firmware(struct npurt_device *device)
{
	struct npurt_context *context;
	int ret = npurt_context_create(device, NULL, &context);

	if (!ret)
		npurt_context_destroy(context);
	return ret;
}

static int ask_log(struct npurt_device *device)
{
	uint32_t position = 0;
	char text[256];
	int ret = npurt_device_firmware_log(device, &position, text, sizeof(text));

	return ret < 0 ? ret : 0;
}

static void run_check(struct check *check, struct npurt_device *device)
{
	check->error = check->ask(device);
	if (!check->error) {
		snprintf(check->why, sizeof(check->why), "%s", check->good);
		return;
	}
	snprintf(check->why, sizeof(check->why), "%s", npurt_last_error());
	/* All queues in use, or a log for root only: that is no illness. */
	check->verdict = check->error == -ENOSPC || check->error == -EACCES ||
					 check->error == -EPERM || check->error == -EOPNOTSUPP ?
				 UNKNOWN :
				 ILL;
}

static const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { "well", "unknown", "ill" };

	return names[verdict];
}

static void print_checks(const struct arguments *arguments, const struct check *checks,
			 size_t count, bool well)
{
	struct json_object *root, *list;

	if (!arguments->json) {
		for (size_t i = 0; i < count; i++)
			printf("%-16s%-8s %s\n", checks[i].name, verdict_name(checks[i].verdict),
			       checks[i].why);
		return;
	}
	root = json_object_new_object();
	list = json_object_new_array();
	for (size_t i = 0; i < count; i++) {
		struct json_object *check = json_object_new_object();

		json_object_object_add(check, "name", json_object_new_string(checks[i].name));
		json_object_object_add(check, "verdict",
				       json_object_new_string(verdict_name(checks[i].verdict)));
		json_object_object_add(check, "text", json_object_new_string(checks[i].why));
		json_object_array_add(list, check);
	}
	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	json_object_object_add(root, "well", json_object_new_boolean(well));
	json_object_object_add(root, "checks", list);
	ctl_print_json(root);
}

int ctl_health(const struct arguments *arguments, struct npurt_device *device)
{
	struct check checks[] = {
		{ .name = "counters", .good = "they can be read", .ask = ask_counters },
		{ .name = "firmware", .good = "it gave a context its queue", .ask = ask_firmware },
		{ .name = "firmware log", .good = "it can be read", .ask = ask_log },
	};
	size_t count = sizeof(checks) / sizeof(checks[0]);
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		run_check(&checks[i], device);
		if (checks[i].verdict == ILL && !error)
			error = checks[i].error;
	}
	print_checks(arguments, checks, count, !error);
	if (!error)
		return 0;
	fprintf(stderr, "npu-ctl: the device is not well: see above, and 'dmesg'\n");
	return device_status(error);
}
