/* SPDX-License-Identifier: MIT */
/* How the device sleeps: what sysfs and debugfs say of it, and how it is made to. Needs root. */
#ifndef NPU_POWER_H
#define NPU_POWER_H

#include "npu_test.h"

#define POWER_FOLDER "/sys/class/accel/accel0/device/power/"

/* The device may sleep after so many milliseconds without work; -1: it may not at all. */
static inline int power_allow(int milliseconds)
{
	char text[16];
	int ret;

	if (milliseconds < 0)
		return write_file(POWER_FOLDER "control", "on");
	snprintf(text, sizeof(text), "%d", milliseconds);
	ret = write_file(POWER_FOLDER "autosuspend_delay_ms", text);
	return ret ? ret : write_file(POWER_FOLDER "control", "auto");
}

static inline bool power_asleep(void)
{
	char text[32];

	read_line(POWER_FOLDER "runtime_status", text, sizeof(text));
	return !strcmp(text, "suspended");
}

/* Whether it sleeps before so much time is over. */
static inline bool power_wait_asleep(int64_t deadline)
{
	while (!power_asleep()) {
		if (now_ns() > deadline)
			return false;
		usleep(2000);
	}
	return true;
}

/* "suspends" or "suspends_refused", of the device's folder in debugfs. */
static inline uint64_t power_count(int fd, const char *what)
{
	char path[512], text[32];

	if (!npu_debugfs(what, path, sizeof(path)))
		return 0;
	read_line(path, text, sizeof(text));
	return strtoull(text, NULL, 0);
}

#endif /* NPU_POWER_H */
