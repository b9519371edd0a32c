/* SPDX-License-Identifier: MIT */
/* What follows `sim:` in the name of a device. */
#ifndef NPURT_SIM_OPTIONS_H
#define NPURT_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NAME_BYTES 512

/**
 * struct sim_options - the keys that are ours, and the rest
 * @config:	of the model: without those keys
 * @memory_mib:	device memory
 * @memory_named: the user said how much
 * @spin_us:	see npu_model_thread_create()
 * @sleep_us:	idle microseconds until clusters sleep, 0: never
 * @fastest:	point of the clock, of work
 * @slowest:	... of rest
 * @patience_s:	seconds that the device has for an answer
 * @wait_s:	seconds a replay waits for the program
 * @record:	file for what arrives, "" for none
 * @replay:	file of what arrives, "" for none
 * @small_pages: 4 KiB pages only
 */
struct sim_options {
	char config[SIM_NAME_BYTES];
	uint32_t memory_mib;
	bool memory_named;
	uint32_t spin_us;
	uint32_t sleep_us;
	uint32_t fastest, slowest;
	uint32_t patience_s;
	uint32_t wait_s;
	char record[SIM_NAME_BYTES];
	char replay[SIM_NAME_BYTES];
	bool small_pages;
};

/** sim_options_parse() - returns 0, or -EINVAL with a sentence */
int sim_options_parse(const char *text, struct sim_options *options);

#endif /* NPURT_SIM_OPTIONS_H */
