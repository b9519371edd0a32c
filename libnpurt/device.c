// SPDX-License-Identifier: MIT
/* Finding and opening devices. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "objects.h"
#include "stats.h"
#include "workers.h"

static const struct npurt_device_entry known_devices[] = {
	{ "sim:npu-v3", "device model in this process, configuration npu-v3" },
	{ "sim:lowpower-v3", "device model in this process, configuration lowpower-v3" },
};

#define KNOWN_DEVICES (sizeof(known_devices) / sizeof(known_devices[0]))

int npurt_fail_not_ours(void)
{
	return npurt_fail(
		-EOWNERDEAD,
		"npurt: the device was opened by the parent of this process: open it again "
		"in the child");
}

int npurt_take_sized(void *to, size_t to_bytes, const void *from, const char *what)
{
	size_t bytes = to_bytes;

	memset(to, 0, to_bytes);
	if (from)
		memcpy(&bytes, from, sizeof(bytes));
	if (bytes < sizeof(bytes))
		return npurt_fail(-EINVAL,
				  "npurt: %s of size %zu: set their member `size` to their sizeof",
				  what, bytes);
	if (from)
		memcpy(to, from, bytes < to_bytes ? bytes : to_bytes);
	memcpy(to, &to_bytes, sizeof(to_bytes));
	return 0;
}

int npurt_give_sized(void *to, const void *from, size_t from_bytes)
{
	size_t bytes;

	if (!to)
		return npurt_fail(-EINVAL, "npurt: no structure to fill in (NULL)");
	memcpy(&bytes, to, sizeof(bytes));
	if (bytes < sizeof(bytes))
		return npurt_fail(
			-EINVAL,
			"npurt: the structure's size is %zu: set its member `size` to the "
			"structure's sizeof",
			bytes);
	/* What this version does not know reads as zero. */
	if (bytes > from_bytes)
		memset((char *)to + from_bytes, 0, bytes - from_bytes);
	else
		from_bytes = bytes;
	memcpy((char *)to + sizeof(bytes), (const char *)from + sizeof(bytes),
	       from_bytes - sizeof(bytes));
	return 0;
}

int npurt_list(struct npurt_device_entry *entries, size_t entry_bytes, size_t capacity)
{
	size_t i, cards;

	if (capacity && (!entries || entry_bytes != sizeof(*entries)))
		return npurt_fail(-EINVAL, "npurt: npurt_list() wants entries of %zu bytes",
				  sizeof(*entries));
	cards = npurt_drm_list(entries, capacity);
	for (i = 0; i < KNOWN_DEVICES && cards + i < capacity; i++)
		entries[cards + i] = known_devices[i];
	return (int)(cards + KNOWN_DEVICES);
}

/* A page that a forked child finds zeroed. */
static uint32_t *make_mark(void)
{
	uint32_t *mark =
		mmap(NULL, NPURT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mark == MAP_FAILED)
		return NULL;
	madvise(mark, NPURT_PAGE, MADV_WIPEONFORK);
	*mark = 1;
	return mark;
}

static int open_backend(struct npurt_device *device, const char *name)
{
	if (!strncmp(name, "sim:", 4))
		return npurt_sim_open(name + 4, &device->log, &device->backend);
	if (!strncmp(name, "/dev/accel/", 11) || !strncmp(name, "accel", 5))
		return npurt_drm_open(name, &device->log, &device->backend);
	return npurt_fail(
		-EINVAL,
		"npurt: '%s' names no device: use accelN or /dev/accel/accelN, sim:, sim:npu-v3, "
		"sim:lowpower-v3, or one of these with keys, as in sim:npu-v3?clusters=2",
		name);
}

int npurt_device_start_workers(struct npurt_device *device)
{
	int ret = 0;

	pthread_mutex_lock(&device->start_lock);
	if (!device->workers)
		ret = npurt_workers_new(0, &device->workers);
	pthread_mutex_unlock(&device->start_lock);
	return ret;
}

static void device_free(struct npurt_device *device)
{
	npurt_workers_free(device->workers);
	npurt_stats_close(device->stats);
	if (device->backend)
		device->backend->ops->close(device->backend);
	if (device->ours)
		munmap((void *)(uintptr_t)device->ours, NPURT_PAGE);
	npurt_trace_close(&device->trace);
	npurt_log_close(&device->log);
	pthread_mutex_destroy(&device->start_lock);
	free(device);
}

static void take_info(struct npurt_device *device, const char *name)
{
	struct npurt_device_info *info = &device->info;
	const char *keys = strchr(name, '?');

	info->size = sizeof(*info);
	device->backend->ops->get_info(device->backend, info);
	if (!strncmp(name, "sim:", 4)) {
		snprintf(info->name, sizeof(info->name), "sim:%s%s", info->config,
			 keys ? keys : "");
		return;
	}
	if (!strncmp(name, "/dev/accel/", 11))
		name += 11;
	snprintf(info->name, sizeof(info->name), "/dev/accel/%.48s", name);
}

int npurt_open(const char *name, struct npurt_device **result)
{
	struct npurt_device_entry first;
	struct npurt_device *device;
	int ret;

	if (!result)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_open() has nowhere to put the device (NULL)");
	if (!name || !*name)
		name = secure_getenv("NPU_DEVICE");
	if (!name || !*name) {
		npurt_list(&first, sizeof(first), 1);
		name = first.name;
	}
	device = calloc(1, sizeof(*device));
	if (!device)
		return npurt_fail(-ENOMEM, "npurt: no memory for a device");
	device->handles = 1;
	pthread_mutex_init(&device->start_lock, NULL);
	npurt_log_open(&device->log);
	npurt_trace_open(&device->trace);
	device->ours = make_mark();
	if (!device->ours) {
		ret = npurt_fail(-ENOMEM, "npurt: no memory for a device");
		goto fail;
	}
	ret = open_backend(device, name);
	if (ret)
		goto fail;
	take_info(device, name);
	device->stats = npurt_stats_open(device);
	npurt_log_line(&device->log, NPURT_LOG_INFO, "%s opened, firmware %s", device->info.name,
		       device->info.firmware_version);
	*result = device;
	return 0;

fail:
	npurt_log_line(&device->log, NPURT_LOG_ERROR, "%s", npurt_last_error());
	device_free(device);
	return ret;
}

void npurt_device_put(struct npurt_device *device)
{
	if (!npurt_count_down(&device->handles))
		return;
	npurt_log_line(&device->log, NPURT_LOG_INFO, "%s closed", device->info.name);
	device_free(device);
}

void npurt_close(struct npurt_device *device)
{
	if (!device || !npurt_is_ours(device))
		return;
	npurt_trace_flush(&device->trace);
	npurt_device_put(device);
}

int npurt_device_get_info(struct npurt_device *device, struct npurt_device_info *info)
{
	int ret;

	if (!device)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_device_get_info() without a device (NULL)");
	ret = npurt_check_ours(device);
	if (ret)
		return ret;
	return npurt_give_sized(info, &device->info, sizeof(device->info));
}

int npurt_device_get_counters(struct npurt_device *device, struct npurt_device_counters *counters)
{
	struct npurt_device_counters now = { .size = sizeof(now) };
	int ret;

	if (!device)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_device_get_counters() without a device (NULL)");
	ret = npurt_check_ours(device);
	if (ret)
		return ret;
	ret = device->backend->ops->get_counters(device->backend, &now);
	if (ret)
		return ret;
	return npurt_give_sized(counters, &now, sizeof(now));
}

int npurt_device_firmware_log(struct npurt_device *device, uint32_t *position, char *text,
			      size_t bytes)
{
	int ret;

	if (!device || !position || !text || bytes < 64)
		return npurt_fail(
			-EINVAL,
			"npurt: npurt_device_firmware_log() wants a device, a position, and "
			"room for at least 64 bytes");
	ret = npurt_check_ours(device);
	if (ret)
		return ret;
	if (bytes > INT32_MAX)
		bytes = INT32_MAX;
	return device->backend->ops->firmware_log(device->backend, position, text, bytes);
}
