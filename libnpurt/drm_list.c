// SPDX-License-Identifier: MIT
/* Which devices the kernel driver has, and why one cannot be opened. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drm_backend.h"

#define SYSFS_ACCEL "/sys/class/accel"
#define NUMBER_DIGITS 6
#define LISTED_MAX 256

long drm_name(const char *name, size_t length)
{
	static const char folder[] = "/dev/accel/";
	long number = 0;
	size_t i;

	if (length > strlen(folder) && !memcmp(name, folder, strlen(folder))) {
		name += strlen(folder);
		length -= strlen(folder);
	}
	if (length < 6 || length > 5 + NUMBER_DIGITS || memcmp(name, "accel", 5))
		return -1;
	/* accel01 would be another spelling of accel1. */
	if (name[5] == '0' && length > 6)
		return -1;
	for (i = 5; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		number = number * 10 + (name[i] - '0');
	}
	return number;
}

int drm_open_failed(const char *path, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return npurt_fail(-ENOENT,
				  "%s: there is no such device: is the driver loaded ('modprobe "
				  "npu', then 'dmesg') and the card there ('lspci')? "
				  "'npu-ctl list' shows what there is; in a container the node has "
				  "to be handed in (--device %s); sim: needs none",
				  path, path);
	case ENXIO:
	case ENODEV:
		return npurt_fail(-ENODEV,
				  "%s: the node is there but no device behind it: it has gone, or "
				  "its driver is unloaded ('modprobe npu', then 'dmesg')",
				  path);
	case EACCES:
		return npurt_fail(-EACCES,
				  "%s: this user may not open it: join the group that owns it "
				  "('ls -l %s'; mostly 'usermod -aG render USER', then log in "
				  "again)",
				  path, path);
	case EPERM:
		return npurt_fail(-EPERM,
				  "%s: the device rules of this container or service forbid it, "
				  "whatever the file's permissions are (device cgroup): start the "
				  "container with --device %s, or the service with "
				  "DeviceAllow=char-accel rw",
				  path, path);
	default:
		return npurt_fail(-error, "%s cannot be opened: %s", path, strerror(error));
	}
}

/* The last part of where a link in sysfs leads to. */
static int link_name(const char *path, char *name, size_t bytes)
{
	char target[512];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *last;

	if (length < 0)
		return -1;
	target[length] = 0;
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= bytes)
		return -1;
	strcpy(name, last);
	return 0;
}

static int describe(long number, struct npurt_device_entry *entry)
{
	char path[64], driver[16], bus[NPURT_NAME_BYTES];

	snprintf(path, sizeof(path), SYSFS_ACCEL "/accel%ld/device/driver", number);
	if (link_name(path, driver, sizeof(driver)) || strcmp(driver, "npu"))
		return -1;
	snprintf(path, sizeof(path), SYSFS_ACCEL "/accel%ld/device", number);
	if (link_name(path, bus, sizeof(bus)))
		return -1;
	snprintf(entry->name, sizeof(entry->name), "/dev/accel/accel%ld", number);
	snprintf(entry->description, sizeof(entry->description), "NPU %s, kernel driver npu", bus);
	return access(entry->name, F_OK);
}

static int ascending(const void *one, const void *other)
{
	long a = *(const long *)one, b = *(const long *)other;

	return a < b ? -1 : a > b;
}

size_t npurt_drm_list(struct npurt_device_entry *entries, size_t capacity)
{
	struct npurt_device_entry entry;
	long numbers[LISTED_MAX];
	size_t found = 0, count = 0, i;
	struct dirent *item;
	DIR *folder;

	folder = opendir(SYSFS_ACCEL);
	if (!folder)
		return 0;
	while (found < LISTED_MAX && (item = readdir(folder))) {
		long number = drm_name(item->d_name, strlen(item->d_name));

		if (number >= 0)
			numbers[found++] = number;
	}
	closedir(folder);
	qsort(numbers, found, sizeof(numbers[0]), ascending);
	for (i = 0; i < found; i++) {
		memset(&entry, 0, sizeof(entry));
		if (describe(numbers[i], &entry))
			continue;
		if (count < capacity)
			entries[count] = entry;
		count++;
	}
	return count;
}
