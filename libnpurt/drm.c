// SPDX-License-Identifier: MIT
/* Opening a device behind the kernel driver, and what it is. */
#include "drm_backend.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#include "drm/npu_accel.h"
#include "npu/npu_regs.h"
#include "objects.h"

/* Packets and programs of another major number are other bytes. */
#define HARDWARE_MAJOR (NPU_HW_VERSION >> 16)

int drm_call(const struct drm *drm, unsigned long request, void *argument)
{
	return drmIoctl(drm->fd, request, argument) ? -errno : 0;
}

int drm_fail(const struct drm *drm, int error, const char *what)
{
	switch (error) {
	case -ENODEV:
		return npurt_fail(error,
				  "%s: %s: the device is gone, or its firmware died (the kernel's "
				  "log says why): close it and open it again",
				  drm->path, what);
	case -ENOMEM:
		return npurt_fail(error, "%s: %s: the kernel has no memory for it: free buffers",
				  drm->path, what);
	case -ENOSPC:
		return npurt_fail(error,
				  "%s: %s: all that the device has are in use, by all programs "
				  "together: destroy a context, or share one between models",
				  drm->path, what);
	case -EDQUOT:
		return npurt_fail(error,
				  "%s: %s: this user has as much as one may have: end other "
				  "programs of yours, or have the administrator raise it "
				  "(device/npu_limits in sysfs)",
				  drm->path, what);
	case -EIO:
		return npurt_fail(error, "%s: %s: the context is dead: destroy it and make another",
				  drm->path, what);
	default:
		return npurt_fail(error, "%s: %s: %s", drm->path, what, strerror(-error));
	}
}

/* -------------------------------------------------------------- information */

static int ask(const struct drm *drm, uint32_t param, uint32_t index, uint64_t *value)
{
	struct drm_npu_get_param get = { .param = param, .index = index };
	int ret = drm_call(drm, DRM_IOCTL_NPU_GET_PARAM, &get);

	if (!ret)
		*value = get.value;
	return ret;
}

/* For what every driver knows; it was asked for when the device was opened. */
static uint64_t value_of(const struct drm *drm, uint32_t param)
{
	uint64_t value = 0;

	ask(drm, param, 0, &value);
	return value;
}

/* A text that comes in pieces of 8 bytes. */
static void ask_text(const struct drm *drm, uint32_t param, char *text, size_t bytes)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < bytes / 8; i++) {
		value = 0;
		if (ask(drm, param, (uint32_t)i, &value))
			break;
		value = htole64(value);
		memcpy(text + 8 * i, &value, sizeof(value));
	}
	text[bytes - 1] = 0;
}

static void drm_get_info(struct npurt_backend *backend, struct npurt_device_info *info)
{
	static const struct {
		uint32_t param;
		size_t offset;
	} words[] = {
#define WORD(name, member) { DRM_NPU_PARAM_##name, offsetof(struct npurt_device_info, member) }
		WORD(FIRMWARE_ABI, firmware_abi),
		WORD(HW_VERSION, hardware_version),
		WORD(CLUSTERS, clusters),
		WORD(MAC_CHANNELS, mac_channels),
		WORD(MAC_DEPTH, mac_depth),
		WORD(LOCAL_BYTES, local_sram_bytes),
		WORD(GLOBAL_BYTES, global_sram_bytes),
		WORD(ACC_BYTES, accumulator_bytes),
		WORD(DMA_CHANNELS, dma_channels),
		WORD(DRAM_BYTES_PER_CYCLE, dram_bytes_per_cycle),
		WORD(DRAM_LATENCY, dram_latency_cycles),
		WORD(VECTOR_BYTES, vector_bytes),
		WORD(OUT_RESULTS, output_results),
		WORD(QUEUES, queues),
		WORD(SLOTS, slots),
		WORD(CONTEXTS, contexts),
		WORD(SEMAPHORES, semaphores_per_context),
#undef WORD
	};
	struct drm *drm = drm_of(backend);
	uint32_t word;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		word = (uint32_t)value_of(drm, words[i].param);
		memcpy((char *)info + words[i].offset, &word, sizeof(word));
	}
	info->macs_per_cluster = info->mac_channels * info->mac_depth;
	info->clock_hz = value_of(drm, DRM_NPU_PARAM_CLOCK_HZ);
	ask_text(drm, DRM_NPU_PARAM_CONFIG_NAME, info->config, sizeof(info->config));
	ask_text(drm, DRM_NPU_PARAM_FIRMWARE_VERSION, info->firmware_version,
		 sizeof(info->firmware_version));
	snprintf(info->driver, sizeof(info->driver), "npu.ko %d.%d, libnpurt %s",
		 drm->version_major, drm->version_minor, NPU_VERSION);
}

static int drm_get_counters(struct npurt_backend *backend, struct npurt_device_counters *counters)
{
	const struct {
		uint32_t param;
		uint64_t *value;
	} list[] = {
		{ DRM_NPU_PARAM_TIME, &counters->time_cycles },
		{ DRM_NPU_PARAM_COUNTER_TASKS, &counters->tasks },
		{ DRM_NPU_PARAM_COUNTER_MAC, &counters->mac_cycles },
		{ DRM_NPU_PARAM_COUNTER_VECTOR, &counters->vector_cycles },
		{ DRM_NPU_PARAM_COUNTER_DMA, &counters->dma_cycles },
		{ DRM_NPU_PARAM_COUNTER_DRAM_READ, &counters->dram_read_bytes },
		{ DRM_NPU_PARAM_COUNTER_DRAM_WRITE, &counters->dram_write_bytes },
		{ DRM_NPU_PARAM_COUNTER_TLB_MISS, &counters->tlb_misses },
	};
	const struct drm *drm = drm_of(backend);
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		int ret = ask(drm, list[i].param, 0, list[i].value);

		if (ret)
			return drm_fail(drm, ret, "reading its counters");
	}
	return 0;
}

/* The driver's folder in debugfs has the name that the bus gives the device. */
static int log_path(const struct drm *drm, char *path, size_t bytes)
{
	char link[64], target[256];
	struct stat stat;
	ssize_t length;

	if (fstat(drm->fd, &stat))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(stat.st_rdev),
		 minor(stat.st_rdev));
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = 0;
	snprintf(path, bytes, "/sys/kernel/debug/accel/%s/firmware_log",
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	return 0;
}

static int drm_firmware_log(struct npurt_backend *backend, uint32_t *position, char *text,
			    size_t bytes)
{
	const struct drm *drm = drm_of(backend);
	char path[320];
	ssize_t done;
	int fd, ret;

	ret = log_path(drm, path, sizeof(path));
	if (ret)
		return drm_fail(drm, ret, "finding the firmware's log");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		return npurt_fail(ret == -EACCES ? ret : -EOPNOTSUPP,
				  "%s: the firmware's log is in %s, which cannot be opened (%s): "
				  "run this as root, with debugfs mounted at /sys/kernel/debug",
				  drm->path, path, strerror(-ret));
	}
	done = lseek(fd, *position, SEEK_SET) < 0 ? -1 : read(fd, text, bytes);
	ret = done < 0 ? -errno : (int)done;
	if (done > 0)
		*position = (uint32_t)lseek(fd, 0, SEEK_CUR);
	close(fd);
	return ret < 0 ? drm_fail(drm, ret, "reading the firmware's log") : ret;
}

/* ----------------------------------------------------------- opening, closing */

static void drm_close(struct npurt_backend *backend)
{
	struct drm *drm = drm_of(backend);

	if (drm->fd >= 0)
		close(drm->fd);
	pthread_mutex_destroy(&drm->share_lock);
	free(drm);
}

static const struct npurt_backend_ops drm_ops = {
	.close = drm_close,
	.get_info = drm_get_info,
	.get_counters = drm_get_counters,
	.firmware_log = drm_firmware_log,
	.memory_alloc = drm_memory_alloc,
	.memory_alloc_shared = drm_memory_alloc_shared,
	.memory_export = drm_memory_export,
	.memory_import = drm_memory_import,
	.memory_wrap = drm_memory_wrap,
	.memory_free = drm_memory_free,
	.memory_clear = drm_memory_clear,
	.context_create = drm_context_create,
	.context_destroy = drm_context_destroy,
	.bind = drm_bind,
	.unbind = drm_unbind,
	.queue_create = drm_queue_create,
	.queue_destroy = drm_queue_destroy,
	.doorbell = drm_doorbell,
	.wait = drm_wait,
	.prepare_uring = drm_prepare_uring,
	.is_lost = drm_is_lost,
	.why_lost = drm_why_lost,
	.last_fault = drm_last_fault,
};

/* Whose device is it? */
static int check_driver(struct drm *drm)
{
	drmVersionPtr version = drmGetVersion(drm->fd);
	int ret = 0;

	if (!version)
		return npurt_fail(-ENODEV, "%s is no device of the kernel's DRM subsystem: an NPU "
					   "is wanted ('npu-ctl list' shows them)", drm->path);
	if (version->name_len != 3 || memcmp(version->name, "npu", 3))
		ret = npurt_fail(-ENODEV,
				 "%s belongs to the driver '%.*s', not to an NPU of this library "
				 "('npu-ctl list' shows those)",
				 drm->path, version->name_len, version->name);
	drm->version_major = version->version_major;
	drm->version_minor = version->version_minor;
	drmFreeVersion(version);
	return ret;
}

/* Whether the two understand each other is found by asking, key by key. */
static int check_version(struct drm *drm)
{
	static const uint32_t needed[] = {
		DRM_NPU_PARAM_HW_VERSION, DRM_NPU_PARAM_SEMAPHORES, DRM_NPU_PARAM_CONFIG_NAME,
		DRM_NPU_PARAM_PAGE_SIZE,  DRM_NPU_PARAM_VA_END,	    DRM_NPU_PARAM_TIME,
	};
	uint64_t value = 0;
	size_t i;
	int ret;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		ret = ask(drm, needed[i], 0, &value);
		if (ret == -ENODEV)
			return drm_fail(drm, ret, "asking what it is");
		if (ret)
			return npurt_fail(-EPROTO,
					  "%s: the kernel driver npu %d.%d does not answer what "
					  "libnpurt %s must know (parameter %u: %s): install the "
					  "driver and the library of one version",
					  drm->path, drm->version_major, drm->version_minor,
					  NPU_VERSION, needed[i], strerror(-ret));
	}
	value = value_of(drm, DRM_NPU_PARAM_HW_VERSION);
	if (value >> 16 != HARDWARE_MAJOR)
		return npurt_fail(-EPROTO,
				  "%s: the hardware's version is %u.%u, libnpurt %s drives %u.x: "
				  "install the library made for it",
				  drm->path, (unsigned int)(value >> 16),
				  (unsigned int)(value & 0xffff), NPU_VERSION, HARDWARE_MAJOR);
	value = value_of(drm, DRM_NPU_PARAM_PAGE_SIZE);
	if (!value || NPURT_PAGE % value)
		return npurt_fail(-EPROTO,
				  "%s: the device's pages have %u bytes, libnpurt %s needs %u or a "
				  "part of it",
				  drm->path, (unsigned int)value, NPU_VERSION, NPURT_PAGE);
	drm->uring = !ask(drm, DRM_NPU_PARAM_URING, 0, &value) && value;
	drm->userptr = !ask(drm, DRM_NPU_PARAM_USERPTR, 0, &value) && value;
	return 0;
}

static int parse_keys(struct drm *drm, const char *keys)
{
	if (!*keys || !strcmp(keys, "?"))
		return 0;
	if (strcmp(keys, "?pages=4k"))
		return npurt_fail(-EINVAL, "%s: '%.64s': the only key is ?pages=4k", drm->path,
				  keys);
	drm->small_pages = true;
	return 0;
}

int npurt_drm_open(const char *name, const struct npurt_log *log, struct npurt_backend **backend)
{
	size_t length = strcspn(name, "?");
	long number = drm_name(name, length);
	struct drm *drm;
	int ret;

	if (number < 0)
		return npurt_fail(-EINVAL,
				  "npurt: '%.64s' is no name of a device: accelN or "
				  "/dev/accel/accelN, N a number ('npu-ctl list' shows them)",
				  name);
	drm = calloc(1, sizeof(*drm));
	if (!drm)
		return npurt_fail(-ENOMEM, "npurt: no memory for a device");
	drm->base.ops = &drm_ops;
	drm->base.log = log;
	pthread_mutex_init(&drm->share_lock, NULL);
	snprintf(drm->path, sizeof(drm->path), "/dev/accel/accel%ld", number);
	drm->fd = open(drm->path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	ret = drm->fd < 0 ? drm_open_failed(drm->path, errno) : 0;
	if (!ret)
		ret = parse_keys(drm, name + length);
	if (!ret)
		ret = check_driver(drm);
	if (!ret)
		ret = check_version(drm);
	if (ret) {
		drm_close(&drm->base);
		return ret;
	}
	*backend = &drm->base;
	return 0;
}
