/* SPDX-License-Identifier: MIT */
/* The device's files of hwmon. */
#ifndef NPU_HWMON_H
#define NPU_HWMON_H

#include "npu_test.h"

#define HWMON_PARENT "/sys/class/accel/accel0/device/hwmon"

/* Where one of the files is; false when there is no folder for them. */
static inline bool hwmon_path(const char *file, char *path, size_t room)
{
	DIR *folder = opendir(HWMON_PARENT);
	struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder))) {
		found = !strncmp(entry->d_name, "hwmon", 5);
		snprintf(path, room, HWMON_PARENT "/%s/%s", entry->d_name, file);
	}
	if (folder)
		closedir(folder);
	return found;
}

/* What a file says; nothing when it cannot be read. */
static inline void hwmon_read(const char *file, char *text, size_t room)
{
	char path[512];

	text[0] = 0;
	if (hwmon_path(file, path, sizeof(path)))
		read_line(path, text, room);
}

#endif /* NPU_HWMON_H */
