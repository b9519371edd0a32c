/* SPDX-License-Identifier: MIT */
/* What the compiler's fuzzers have in common. */
#ifndef TESTS_FUZZ_COMPILER_COMMON_H
#define TESTS_FUZZ_COMPILER_COMMON_H

#include <stdbool.h>

#include "support/diag.h"

/* fuzz_is_our_fault - a refusal without a word why, or a pass that broke its graph. */
bool fuzz_is_our_fault(const struct diag *diag);

/*
 * fuzz_spend_time - called behind every execution: with FUZZ_CPU_SECONDS in the environment the run ends
 * when it has used so much processor time, which other programs on the machine do not shorten.
 */
void fuzz_spend_time(void);

#endif
