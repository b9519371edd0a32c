/* SPDX-License-Identifier: MIT */
/* What a batch tells its caller of the device that --device names. */
#ifndef TOP_VERDICT_H
#define TOP_VERDICT_H

#include "rows.h"

struct top_verdict {
	bool seen; /* in a sample so far */
	int status; /* by tools/common/device_status.h */
	char told[TOP_TROUBLE_BYTES]; /* last; "" when all was well */
};

/**
 * top_verdict_take() - look at a sample
 *
 * Says on standard error what is the matter, once for as long as it is the matter. Without --device
 * nothing is: whatever devices there are, they have been shown.
 */
void top_verdict_take(struct top_verdict *verdict, const struct top_sample *now,
		      const struct top_wish *wish);

/** top_explain_missing() - why a device is in no sample, as a sentence; the exit status */
int top_explain_missing(const char *device, char *text, size_t bytes);

#endif /* TOP_VERDICT_H */
