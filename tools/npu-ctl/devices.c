// SPDX-License-Identifier: MIT
/* Which devices there are. */
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"

static int fail(struct npurt_device_entry *entries, const char *why)
{
	fprintf(stderr, "npu-ctl: no list of devices: %s\n", why);
	free(entries);
	return DEVICE_STATUS_FAILED;
}

int ctl_devices(struct npurt_device_entry **entries, size_t *count)
{
	struct npurt_device_entry *list = NULL, *more;
	size_t room = 0;
	int found;

	/* A card may appear between two looks: until all of them have had room. */
	while ((found = npurt_list(list, sizeof(*list), room)) > 0 && (size_t)found > room) {
		room = (size_t)found;
		more = realloc(list, room * sizeof(*list));
		if (!more)
			return fail(list, "out of memory");
		list = more;
	}
	if (found < 0)
		return fail(list, npurt_last_error());
	*entries = list;
	*count = (size_t)found;
	return 0;
}
