// SPDX-License-Identifier: MIT
/*
 * The driver's files of a card. There is one of hwmon that is left alone, temp1_emergency_alarm:
 * reading takes the alarm away from whoever waits for it, and last_failure tells of heat too.
 */
#include "driver_says.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "card_files.h"
#include "device_status.h"

#define NS_PER_US 1000
#define HZ_PER_MHZ 1000000

static void read_text(const char *root, const char *card, const char *file, char *text,
		      size_t bytes)
{
	char line[CARD_LINE_BYTES];

	if (card_file_line(root, card, file, line, sizeof(line)))
		return;
	snprintf(text, bytes, "%.*s", (int)bytes - 1, line);
	top_clean_text(text, bytes);
}

static uint64_t read_number(const char *root, const char *card, const char *file, uint64_t unit)
{
	uint64_t number;

	if (card_file_number(root, card, file, &number) || number > TOP_UNKNOWN / unit)
		return TOP_UNKNOWN;
	return number * unit;
}

static const char *why(const struct top_driver_says *says)
{
	return *says->last_failure ? says->last_failure : "its driver does not say why";
}

bool top_driver_says_read(struct top_device *device, const char *root)
{
	struct top_driver_says *says = &device->driver_says;

	says->clock_hz = read_number(root, device->name, "npu_current_frequency_mhz", HZ_PER_MHZ);
	says->busy_ns = read_number(root, device->name, "npu_busy_time_us", NS_PER_US);
	says->read_ns = top_now();
	says->memory_bytes = read_number(root, device->name, "npu_memory_bytes", 1);
	says->resets = read_number(root, device->name, "npu_resets", 1);
	read_text(root, device->name, "npu_firmware_version", device->firmware,
		  sizeof(device->firmware));
	read_text(root, device->name, "npu_reset_reason", says->last_failure,
		  sizeof(says->last_failure));
	/* Last, so that a reset that begins meanwhile is seen. */
	read_text(root, device->name, "npu_state", says->state, sizeof(says->state));
	if (!strcmp(says->state, "resetting")) {
		device->state = TOP_RESETTING;
		snprintf(
			device->trouble, sizeof(device->trouble),
			"it is being reset (%s): calls wait until it works again, its contexts have "
			"ended: programs make new ones",
			why(says));
		return false;
	}
	if (!strcmp(says->state, "dead")) {
		device->state = TOP_DEAD;
		device->error = -ENODEV;
		snprintf(device->trouble, sizeof(device->trouble),
			 "it is dead (%s): " DEVICE_DEAD_REMEDY "; 'dmesg' tells more", why(says));
		return false;
	}
	return true;
}
