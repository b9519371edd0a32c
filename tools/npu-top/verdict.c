// SPDX-License-Identifier: MIT
#include "verdict.h"

#include <stdio.h>
#include <string.h>

#include "device_status.h"
#include "npurt.h"

int top_explain_missing(const char *device, char *text, size_t bytes)
{
	struct npurt_device *opened;
	int ret;

	if (!strncmp(device, "sim:", 4)) {
		snprintf(
			text, bytes,
			"no process of this user has such a device open: it is a part of the process "
			"that opens it: start one ('npu-run --device sim: MODEL INPUT'), without "
			"NPURT_STATS=0; root sees those of all users");
		return DEVICE_STATUS_NONE;
	}
	/* Why it is not there the library knows, and says as it does to npu-ctl and npu-run. */
	ret = npurt_open(device, &opened);
	if (ret) {
		snprintf(text, bytes, "%s", npurt_last_error());
		return device_status(ret);
	}
	npurt_close(opened);
	snprintf(text, bytes,
		 "it can be opened, but /sys/class/accel does not tell of it: is sysfs mounted "
		 "('mount -t sysfs sysfs /sys')?");
	return DEVICE_STATUS_NONE;
}

/* The first wanted card that is not well; only cards have an error. */
static const struct top_device *find_ill(const struct top_sample *now, const struct top_wish *wish,
					 bool *seen)
{
	const struct top_device *ill = NULL;

	for (size_t i = 0; i < now->devices; i++) {
		if (!top_is_wanted_device(&now->device[i], wish))
			continue;
		*seen = true;
		if (now->device[i].error && !ill)
			ill = &now->device[i];
	}
	return ill;
}

void top_verdict_take(struct top_verdict *verdict, const struct top_sample *now,
		      const struct top_wish *wish)
{
	char missing[TOP_TROUBLE_BYTES] = "";
	const char *sentence = missing;
	const struct top_device *ill;
	int status = 0;

	if (!wish->device)
		return;
	ill = find_ill(now, wish, &verdict->seen);
	if (ill) {
		status = device_status(ill->error);
		sentence = ill->trouble;
	} else if (!verdict->seen) {
		status = top_explain_missing(wish->device, missing, sizeof(missing));
	}
	/* One matter may follow another with the same status: a driver that goes is dead before. */
	if (*sentence && strcmp(sentence, verdict->told))
		fprintf(stderr, "npu-top: %s: %s\n", wish->device, sentence);
	snprintf(verdict->told, sizeof(verdict->told), "%s", sentence);
	verdict->status = status;
}
