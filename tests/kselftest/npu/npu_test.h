/* SPDX-License-Identifier: MIT */
/*
 * What the tests of /dev/accel/accelN share. They call the kernel without a library between, and
 * expect what uapi/drm/npu_accel.h promises.
 */
#ifndef NPU_TEST_H
#define NPU_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "drm/npu_accel.h"
#include "npu/npu_packet.h"
#include "kselftest_harness.h"

/* Seconds: the harness's are made for machines, and a debug kernel in an emulator is none. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 180

#define PAGE ((uint64_t)4096)
#define MILLISECOND 1000000ll

/* Where no test binds anything by itself. */
#define RING_VA 0x10000000ull

static inline int npu_open(void)
{
	const char *path = getenv("NPU_TEST_DEVICE");

	return open(path ? path : "/dev/accel/accel0", O_RDWR | O_CLOEXEC);
}

/*
 * Each errno of each call of the driver's is told of when a process meets it first, as
 * tests/qemu/errnos wants to know: it compares them with what the header promises.
 */
static inline void npu_saw(unsigned long request, int error)
{
	static const char *const names[] = {
		"GET_PARAM", "GEM_CREATE", "GEM_INFO", "CTX_CREATE", "CTX_DESTROY", "CTX_STATUS",
		"VM_BIND", "QUEUE_CREATE", "QUEUE_DESTROY", "SEM_WAIT", "SEM_TO_SYNCOBJ",
		"SYNCOBJ_TO_SEM", "GEM_USERPTR", "CTX_EVENTS",
	};
	static bool seen[sizeof(names) / sizeof(names[0])][256];
	uint32_t which = _IOC_NR(request) - DRM_COMMAND_BASE;

	if (_IOC_TYPE(request) != DRM_IOCTL_BASE || which >= sizeof(names) / sizeof(names[0]) ||
	    error >= 256 || __atomic_exchange_n(&seen[which][error], true, __ATOMIC_RELAXED))
		return;
	if (getenv("NPU_TELL_ERRNOS"))
		dprintf(STDOUT_FILENO, "# saw %s %s\n", names[which], strerrorname_np(error));
}

/* 0 or a negative errno. */
static inline int npu_call(int fd, unsigned long request, void *argument)
{
	int error = ioctl(fd, request, argument) ? errno : 0;

	if (error)
		npu_saw(request, error);
	return -error;
}

static inline uint64_t npu_param(int fd, uint32_t param)
{
	struct drm_npu_get_param get = { .param = param };

	return npu_call(fd, DRM_IOCTL_NPU_GET_PARAM, &get) ? 0 : get.value;
}

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* A handle, 0 when there is none. */
static inline uint32_t npu_buffer(int fd, uint64_t bytes)
{
	struct drm_npu_gem_create create = { .size = bytes };

	return npu_call(fd, DRM_IOCTL_NPU_GEM_CREATE, &create) ? 0 : create.handle;
}

static inline int npu_close_handle(int fd, uint32_t handle)
{
	struct drm_gem_close gone = { .handle = handle };

	return npu_call(fd, DRM_IOCTL_GEM_CLOSE, &gone);
}

static inline void *npu_map(int fd, uint32_t handle, uint64_t bytes)
{
	struct drm_npu_gem_info info = { .handle = handle };

	if (npu_call(fd, DRM_IOCTL_NPU_GEM_INFO, &info))
		return MAP_FAILED;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.mmap_offset);
}

static inline uint32_t npu_context(int fd)
{
	struct drm_npu_ctx_create create = { 0 };

	return npu_call(fd, DRM_IOCTL_NPU_CTX_CREATE, &create) ? 0 : create.ctx;
}

static inline int npu_context_destroy(int fd, uint32_t ctx)
{
	struct drm_npu_ctx_destroy destroy = { .ctx = ctx };

	return npu_call(fd, DRM_IOCTL_NPU_CTX_DESTROY, &destroy);
}

static inline int npu_bind_ops(int fd, uint32_t ctx, struct drm_npu_bind_op *ops, uint32_t count)
{
	struct drm_npu_vm_bind bind = {
		.ctx = ctx,
		.ops = { .stride = sizeof(*ops), .count = count, .array = (uintptr_t)ops },
	};

	return npu_call(fd, DRM_IOCTL_NPU_VM_BIND, &bind);
}

static inline int npu_bind(int fd, uint32_t ctx, uint32_t handle, uint64_t va, uint64_t bytes)
{
	struct drm_npu_bind_op op = {
		.flags = DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE,
		.handle = handle,
		.va = va,
		.bytes = bytes,
	};

	return npu_bind_ops(fd, ctx, &op, 1);
}

static inline int npu_unbind(int fd, uint32_t ctx, uint64_t va, uint64_t bytes)
{
	struct drm_npu_bind_op op = { .type = DRM_NPU_BIND_UNMAP, .va = va, .bytes = bytes };

	return npu_bind_ops(fd, ctx, &op, 1);
}

static inline int npu_wait(int fd, uint32_t ctx, uint32_t sem, uint64_t value, int64_t deadline_ns)
{
	struct drm_npu_sem one = { .sem = sem, .value = value };
	struct drm_npu_sem_wait wait = {
		.ctx = ctx,
		.sems = { .stride = sizeof(one), .count = 1, .array = (uintptr_t)&one },
		.deadline_ns = deadline_ns,
	};

	return npu_call(fd, DRM_IOCTL_NPU_SEM_WAIT, &wait);
}

/* 0 or a negative errno. */
static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && write(fd, text, strlen(text)) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The first line of a file; nothing when it cannot be read. */
static inline void read_line(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, room - 1);

	text[bytes < 0 ? 0 : bytes] = 0;
	text[strcspn(text, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

/* The number in a file of the device's folder in sysfs; -1 when there is none. */
static inline long npu_sysfs_number(const char *name)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/class/accel/accel0/device/%s", name);
	read_line(path, text, sizeof(text));
	return *text ? atol(text) : -1;
}

/* Where a file of the device's folder in debugfs is; false when there is none. */
static inline bool npu_debugfs(const char *what, char *path, size_t room)
{
	DIR *folder = opendir("/sys/kernel/debug/accel");
	struct dirent *entry;
	bool found = false;

	/* One device is there: its folder has the number of its minor, or its name. */
	while (folder && !found && (entry = readdir(folder))) {
		snprintf(path, room, "/sys/kernel/debug/accel/%s/%s", entry->d_name, what);
		found = entry->d_name[0] != '.' && !access(path, R_OK);
	}
	if (folder)
		closedir(folder);
	return found;
}

/*
 * Name of a device that the driver has on a bus; names of its devices, and of nothing else, have the
 * mark.
 */
static inline bool find_on_bus(const char *bus, const char *mark, char *name, size_t room)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/sys/bus/%s/drivers/npu", bus);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		found = strstr(entry->d_name, mark) && strlen(entry->d_name) < room;
		if (found)
			strcpy(name, entry->d_name);
	}
	if (folder)
		closedir(folder);
	return found;
}

/* Name of the PCI function, or of the device on the chip, that the driver has; false: it has none. */
static inline bool find_function(char *name, size_t room)
{
	return find_on_bus("pci", ":", name, room) || find_on_bus("platform", "npu", name, room);
}

/* @file: "bind" or "unbind". 0 or a negative errno. */
static inline int driver_write(const char *file, const char *function)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/%s/drivers/npu/%s",
		 strchr(function, ':') ? "pci" : "platform", file);
	return write_file(path, function);
}

/*
 * Memory of somebody else's: a dma-buf's descriptor or a negative errno. @memory: where to tell the
 * program's own mapping of it, or NULL.
 */
static inline int npu_udmabuf(uint64_t bytes, unsigned char **memory)
{
	int memfd = memfd_create("npu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct udmabuf_create create = {
		.memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = bytes,
	};
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), dma_buf = -1;

	if (memfd >= 0 && maker >= 0 && !ftruncate(memfd, (off_t)bytes) &&
	    !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		dma_buf = ioctl(maker, UDMABUF_CREATE, &create);
	if (dma_buf < 0)
		dma_buf = -errno;
	if (memory)
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (maker >= 0)
		close(maker);
	if (memfd >= 0)
		close(memfd);
	return dma_buf;
}

/* What fdinfo says of an open file: number of its bytes, or a negative errno. */
static inline ssize_t npu_fdinfo(int file, char *text, size_t size)
{
	char path[64];
	ssize_t bytes;
	int fd;

	text[0] = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	bytes = read(fd, text, size - 1);
	if (bytes < 0)
		bytes = -errno;
	text[bytes < 0 ? 0 : bytes] = 0;
	close(fd);
	return bytes;
}

/* What a file holds, as text that is the same when it is the same. */
struct npu_footprint {
	char text[2048];
};

static inline void npu_footprint(int fd, struct npu_footprint *footprint)
{
	static const char *const keys[] = {
		"drm-total-", "drm-shared-", "drm-resident-", "drm-purgeable-", "drm-active-",
		"npu-contexts:", "npu-queues:",
	};
	char text[4096], *line, *rest = text;
	uint32_t handle;
	size_t used, i;

	/* The next handle there is tells of those that were forgotten. */
	handle = npu_buffer(fd, 1);
	npu_close_handle(fd, handle);
	used = (size_t)snprintf(footprint->text, sizeof(footprint->text), "handle %u, tasks %llu\n",
				handle,
				(unsigned long long)npu_param(fd, DRM_NPU_PARAM_COUNTER_TASKS));
	/* Nothing is not the same as nothing. */
	if (npu_fdinfo(fd, text, sizeof(text)) <= 0)
		used += (size_t)snprintf(footprint->text + used, sizeof(footprint->text) - used,
					 "no fdinfo at %lld\n", (long long)now_ns());
	while ((line = strsep(&rest, "\n"))) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (strncmp(line, keys[i], strlen(keys[i])))
				continue;
			used += (size_t)snprintf(footprint->text + used,
						 sizeof(footprint->text) - used, "%s\n", line);
		}
	}
}

/* A context with a queue, ready to take packets. */
struct npu_lane {
	int fd;
	struct drm_npu_ctx_create made;
	uint32_t ctx, queue, handle;
	unsigned char *ring;
	volatile uint32_t *doorbell;
	uint64_t written;
};

#define LANE_LOG2 4
#define LANE_BYTES PAGE

static inline int npu_lane_open(struct npu_lane *lane, int fd)
{
	struct drm_npu_queue_create create = { .ring = RING_VA, .ring_log2 = LANE_LOG2 };
	struct drm_npu_gem_create ring = { .size = LANE_BYTES };
	int ret;

	memset(lane, 0, sizeof(*lane));
	lane->fd = fd;
	ret = npu_call(fd, DRM_IOCTL_NPU_CTX_CREATE, &lane->made);
	if (ret)
		return ret;
	lane->ctx = lane->made.ctx;
	ret = npu_call(fd, DRM_IOCTL_NPU_GEM_CREATE, &ring);
	if (ret)
		return ret;
	lane->handle = ring.handle;
	lane->ring = npu_map(fd, lane->handle, LANE_BYTES);
	if (lane->ring == MAP_FAILED)
		return -errno;
	ret = npu_bind(fd, lane->ctx, lane->handle, RING_VA, LANE_BYTES);
	if (ret)
		return ret;
	create.ctx = lane->ctx;
	ret = npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create);
	if (ret)
		return ret;
	lane->queue = create.queue;
	lane->doorbell = mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_SHARED, fd,
			      (off_t)create.doorbell_offset);
	return lane->doorbell == MAP_FAILED ? -errno : 0;
}

/* A mapping holds its file. Also of a lane that could not be opened; twice does no harm. */
static inline void npu_lane_unmap(struct npu_lane *lane)
{
	if (lane->doorbell && lane->doorbell != MAP_FAILED)
		munmap((void *)lane->doorbell, (size_t)sysconf(_SC_PAGESIZE));
	if (lane->ring && lane->ring != MAP_FAILED)
		munmap(lane->ring, LANE_BYTES);
	lane->doorbell = NULL;
	lane->ring = NULL;
}

/* Writes a packet; the caller knows that there is room. */
static inline void npu_lane_put(struct npu_lane *lane, const void *packet)
{
	struct npu_ring_control *control = (void *)lane->ring;
	uint64_t index = lane->written++;
	unsigned char *slot = lane->ring + NPU_RING_PACKETS_OFFSET +
			      (index & ((1 << LANE_LOG2) - 1)) * NPU_PACKET_BYTES;
	uint32_t header;

	memcpy(&header, packet, sizeof(header));
	if (!(index >> LANE_LOG2 & 1))
		header |= NPU_PACKET_PHASE;
	__atomic_store_n(&control->write_index, lane->written, __ATOMIC_RELEASE);
	memcpy(slot + 4, (const char *)packet + 4, NPU_PACKET_BYTES - 4);
	__atomic_store_n((uint32_t *)(void *)slot, header, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*lane->doorbell = (uint32_t)lane->written;
}

static inline void npu_lane_signal(struct npu_lane *lane, uint16_t sem, uint64_t add)
{
	struct npu_packet_signal packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.sem = sem,
		.add = add,
	};

	npu_lane_put(lane, &packet);
}

#endif /* NPU_TEST_H */
