/* SPDX-License-Identifier: MIT */
/* npu-ctl's commands. Each returns the exit status, after a message when it is not 0. */
#ifndef CTL_H
#define CTL_H

#include <json-c/json.h>
#include <stdbool.h>

#include "device_status.h"
#include "npurt.h"

#define SCHEMA 1

struct arguments {
	const char *command, *device;
	bool json;
	/* of coredump */
	const char *file, *model, *output;
	bool discard;
};

/* devices.c */

/**
 * ctl_devices() - which devices there are
 * @entries: to be freed; NULL when there are none
 */
int ctl_devices(struct npurt_device_entry **entries, size_t *count);

/* show.c */
void ctl_print_json(struct json_object *root);
int ctl_list(const struct arguments *arguments);
int ctl_info(const struct arguments *arguments, const struct npurt_device_info *info);
int ctl_firmware(const struct arguments *arguments, const struct npurt_device_info *info);
int ctl_versions(const struct arguments *arguments, const struct npurt_device_info *info);
int ctl_log(struct npurt_device *device);

/* health.c */
int ctl_health(const struct arguments *arguments, struct npurt_device *device);

/* reset.c */
int ctl_reset(const struct arguments *arguments);

/** ctl_errors() - how often a card has failed, why the last time, and whether it works */
int ctl_errors(const struct arguments *arguments);

/* cdi.c */
int ctl_cdi(void);

/** ctl_make_cdi() - the specification for a list of devices; NULL when none of them is a card */
struct json_object *ctl_make_cdi(const struct npurt_device_entry *entries, size_t count);

/* coredump.c */

/** ctl_coredump() - explains what a card that failed has left */
int ctl_coredump(const struct arguments *arguments);

#endif /* CTL_H */
