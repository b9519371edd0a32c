// SPDX-License-Identifier: MIT
/* What driver or device do not make possible yet: what would, and what helps until then. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"

static const struct {
	const char *command, *sentence;
} missing[] = {
	{ "coredump", "the driver writes no core dump yet (it needs dev_coredumpv()). Until then: "
		      "the sentence of the failed run names task, model, layer and address, and "
		      "NPURT_LOG=error:FILE keeps it" },
};

int ctl_missing(const char *command)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		if (strcmp(command, missing[i].command))
			continue;
		fprintf(stderr, "npu-ctl: %s: not offered yet: %s\n", command, missing[i].sentence);
		return 1;
	}
	return -1;
}
