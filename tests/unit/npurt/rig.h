/* SPDX-License-Identifier: MIT */
/*
 * A device, a context and a hand-made model, for tests that run something.
 */
#ifndef NPURT_TEST_RIG_H
#define NPURT_TEST_RIG_H

#include <stdbool.h>
#include <string.h>

#include "npurt.h"
#include "npurt/tiny_model.h"

/* A call of the library's that has to succeed. */
#define ok(call)                                                       \
	do {                                                           \
		if ((call) != 0)                                       \
			fail_msg("%s: %s", #call, npurt_last_error()); \
	} while (0)

/* The sentence of the last call that failed has these words. */
#define assert_says(words)                                                               \
	do {                                                                             \
		if (!strstr(npurt_last_error(), (words)))                                \
			fail_msg("'%s' does not say '%s'", npurt_last_error(), (words)); \
	} while (0)

struct rig {
	struct npurt_device *device;
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_buffer *x, *y;
	struct npurt_binding bindings[2];
	uint32_t elements;
};

/** rig_open() - open $NPU_TEST_DEVICE, or sim: with little memory; fails the test otherwise */
struct npurt_device *rig_open(const char *keys);

/** rig_make() - all of it; @options of the context and of the model may be NULL */
void rig_make(struct rig *rig, const struct npurt_context_options *context,
	      const struct tiny_options *model);
void rig_free(struct rig *rig);

/** rig_fill() - x[i] = @start + i mod 16, y = garbage */
void rig_fill(struct rig *rig, struct npurt_buffer *x, struct npurt_buffer *y, int start);

/** rig_check() - y = 2 x + w */
void rig_check(struct rig *rig, struct npurt_buffer *y, int start);

/**
 * rig_note() - what a task took, for whoever compares devices
 *
 * Appends a line to the file $NPU_TEST_NOTES; does nothing without one.
 */
void rig_note(const char *test, struct npurt_future *future);

/** rig_is_sim() - the tests' device is the model in the process */
bool rig_is_sim(void);

/** rig_now() - CLOCK_MONOTONIC in nanoseconds */
int64_t rig_now(void);

/** rig_open_fds() - how many file descriptors this process has */
int rig_open_fds(void);

#endif /* NPURT_TEST_RIG_H */
