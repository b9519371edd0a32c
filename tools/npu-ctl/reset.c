// SPDX-License-Identifier: MIT
/*
 * Resets of a device, by the driver's files in sysfs (Documentation/driver/sysfs-driver-npu): to ask
 * for one, and what there has been.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "card_files.h"
#include "ctl.h"

#define PATH_BYTES 128
#define ACCEL "/sys/class/accel"

/* accelN of the device that is meant; its exit status when there is none. */
static int find(const struct arguments *arguments, char *card, size_t bytes)
{
	const char *name = arguments->device ? arguments->device : getenv("NPU_DEVICE");
	struct npurt_device_entry *entries = NULL;
	size_t count = 0;
	int status = 0;

	if (!name) {
		status = ctl_devices(&entries, &count);
		if (status)
			return status;
		name = count ? entries[0].name : "sim:";
	}
	if (!strncmp(name, "/dev/accel/", 11))
		name += 11;
	if (strncmp(name, "accel", 5) || strchr(name, '/')) {
		fprintf(stderr,
			"npu-ctl: %s: not a card (accelN, /dev/accel/accelN): a sim: device is its "
			"process's own, and is reset there when it fails\n", name);
		status = DEVICE_STATUS_FAILED;
	} else {
		snprintf(card, bytes, "%.*s", (int)strcspn(name, "?"), name);
	}
	free(entries);
	return status;
}

static int fail(const char *card, int error)
{
	char path[PATH_BYTES];

	switch (error) {
	case ENOENT:
		snprintf(path, sizeof(path), ACCEL "/%s", card);
		if (access(path, F_OK)) {
			fprintf(stderr, "npu-ctl: %s: there is no such card ('npu-ctl list')\n", card);
			return DEVICE_STATUS_NONE;
		}
		fprintf(stderr, "npu-ctl: %s: its driver offers no reset: load this version's npu.ko\n",
			card);
		return DEVICE_STATUS_FAILED;
	case EACCES:
	case EPERM:
		fprintf(stderr, "npu-ctl: %s: a reset is for root: run this as root\n", card);
		return DEVICE_STATUS_DENIED;
	default:
		fprintf(stderr, "npu-ctl: %s: %s\n", card, strerror(error));
		return device_status(-error);
	}
}

static int read_line(const char *card, const char *file, char *text)
{
	return card_file_line("", card, file, text, CARD_LINE_BYTES);
}

static int print_state(const struct arguments *arguments, const char *card)
{
	char state[CARD_LINE_BYTES], resets[CARD_LINE_BYTES], reason[CARD_LINE_BYTES];
	struct json_object *root;
	int ret;

	ret = read_line(card, "npu_state", state);
	if (!ret)
		ret = read_line(card, "npu_resets", resets);
	if (!ret)
		ret = read_line(card, "npu_reset_reason", reason);
	if (ret)
		return fail(card, -ret);
	if (!arguments->json) {
		printf("%-16s%s\n%-16s%s\n%-16s%s\n", "state", state, "resets", resets,
		       "last failure", *reason ? reason : "none");
	} else {
		root = json_object_new_object();
		json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
		json_object_object_add(root, "device", json_object_new_string(card));
		json_object_object_add(root, "state", json_object_new_string(state));
		json_object_object_add(root, "resets",
				       json_object_new_int64(strtoll(resets, NULL, 10)));
		json_object_object_add(root, "last_failure", json_object_new_string(reason));
		ctl_print_json(root);
	}
	if (strcmp(state, "dead"))
		return 0;
	fprintf(stderr, "npu-ctl: %s: it is dead: " DEVICE_DEAD_REMEDY "\n", card);
	return DEVICE_STATUS_GONE;
}

int ctl_errors(const struct arguments *arguments)
{
	char card[64];
	int status = find(arguments, card, sizeof(card));

	return status ? status : print_state(arguments, card);
}

int ctl_reset(const struct arguments *arguments)
{
	char card[64];
	int status = find(arguments, card, sizeof(card)), fd, error = 0;

	if (status)
		return status;
	fd = card_file_open("", card, "npu_reset", O_WRONLY);
	if (fd < 0)
		return fail(card, -fd);
	/* It returns when the device works again. */
	if (write(fd, "1", 1) != 1)
		error = errno;
	close(fd);
	if (!error)
		return print_state(arguments, card);
	if (error != ENODEV)
		return fail(card, error);
	print_state(arguments, card);
	return DEVICE_STATUS_GONE;
}
