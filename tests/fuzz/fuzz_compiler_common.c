// SPDX-License-Identifier: MIT
#include "fuzz_compiler_common.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool fuzz_is_our_fault(const struct diag *diag)
{
	static const char *const own[] = { "internal error", "the fusion pass" };

	for (const struct diag_message *message = diag->first; message; message = message->next)
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			if (!strncmp(message->text, own[i], strlen(own[i])))
				return true;
	return !diag->errors;
}

void fuzz_spend_time(void)
{
	static double limit = -1;
	const char *text = getenv("FUZZ_CPU_SECONDS");
	struct timespec used;

	if (limit < 0)
		limit = text ? strtod(text, NULL) : 0;
	if (limit <= 0 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) ||
	    (double)used.tv_sec + 1e-9 * (double)used.tv_nsec < limit)
		return;
	fprintf(stderr, "processor time: %.1f s\n",
		(double)used.tv_sec + 1e-9 * (double)used.tv_nsec);
	/* libFuzzer prints its figures and ends well. */
	raise(SIGUSR1);
}
