/* SPDX-License-Identifier: MIT */
/* Syncobjs as programs use them, and two processes that take turns by them. */
#ifndef NPU_POINTS_H
#define NPU_POINTS_H

#include <sys/socket.h>
#include <sys/wait.h>

#include "npu_test.h"

/* Newer than some systems' libdrm. */
#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define DRM_IOCTL_SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

static inline uint32_t syncobj_create(int fd)
{
	struct drm_syncobj_create create = { 0 };

	return npu_call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create) ? 0 : create.handle;
}

/* Puts a sync_file's fence into a syncobj. */
static inline int syncobj_take(int fd, uint32_t handle, int sync_file)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = sync_file,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	return npu_call(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
}

static inline int64_t soon(void)
{
	return now_ns() + 20000 * MILLISECOND;
}

/* Until the point is there and signalled. */
static inline int point_wait(int fd, uint32_t handle, uint64_t point, int64_t deadline)
{
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.timeout_nsec = deadline,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return npu_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static inline int point_signal(int fd, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_array array = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	return npu_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &array);
}

static inline uint64_t point_now(int fd, uint32_t handle)
{
	uint64_t point = UINT64_MAX;
	struct drm_syncobj_timeline_array array = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	npu_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, &array);
	return point;
}

static inline int export_point(const struct npu_lane *lane, uint32_t sem, uint64_t value,
			       uint32_t handle, uint64_t point)
{
	struct drm_npu_sem_to_syncobj args = {
		.ctx = lane->ctx,
		.sem = sem,
		.value = value,
		.syncobj = handle,
		.point = point,
	};

	return npu_call(lane->fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &args);
}

static inline int import_point(const struct npu_lane *lane, uint32_t handle, uint64_t point,
			       uint32_t sem, uint64_t add)
{
	struct drm_npu_syncobj_to_sem args = {
		.ctx = lane->ctx,
		.queue = lane->queue,
		.syncobj = handle,
		.sem = sem,
		.point = point,
		.add = add,
	};

	return npu_call(lane->fd, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM, &args);
}

static inline int send_fd(int socket, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -errno;
}

static inline int receive_fd(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd = -1;

	if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Each waits for the other's point, then lets its own device work come to the next. */
static inline int take_turn(struct npu_lane *lane, const uint32_t mine_and_theirs[2], bool first,
			    uint64_t turn)
{
	uint64_t needed = first ? turn - 1 : turn;

	if (needed && point_wait(lane->fd, mine_and_theirs[1], needed, soon()))
		return 11;
	if (export_point(lane, 5, turn, mine_and_theirs[0], turn))
		return 12;
	npu_lane_signal(lane, 5, 1);
	return 0;
}

static inline int take_turns(int fd, const uint32_t mine_and_theirs[2], bool first, uint64_t rounds)
{
	struct npu_lane lane;
	int ret = 0;

	if (npu_lane_open(&lane, fd))
		return 10;
	for (uint64_t i = 1; !ret && i <= rounds; i++)
		ret = take_turn(&lane, mine_and_theirs, first, i);
	if (!ret && point_wait(fd, mine_and_theirs[1], rounds, soon()))
		ret = 13;
	/* They would keep the file, and with it the context. */
	npu_lane_unmap(&lane);
	return ret;
}

/* The two syncobjs come by file descriptors, theirs first. */
static inline int second_process(int socket, uint64_t rounds)
{
	uint32_t handles[2];
	int fd = npu_open();

	for (int i = 0; i < 2; i++) {
		struct drm_syncobj_handle handle = { .fd = receive_fd(socket) };

		if (npu_call(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &handle))
			return 20;
		close(handle.fd);
		handles[!i] = handle.handle;
	}
	return take_turns(fd, handles, false, rounds);
}

/* Two processes, each with a context of its own, hand over to each other. 0 when all went well. */
static inline int hand_over(int fd, uint64_t rounds)
{
	uint32_t handles[2] = { syncobj_create(fd), syncobj_create(fd) };
	int sockets[2], status = 0, ret;
	pid_t child;

	if (!handles[0] || !handles[1] || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 30;
	child = fork();
	if (child < 0)
		return 31;
	if (!child)
		_exit(second_process(sockets[1], rounds));
	for (int i = 0; i < 2; i++) {
		struct drm_syncobj_handle handle = { .handle = handles[i] };

		if (npu_call(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle) ||
		    send_fd(sockets[0], handle.fd))
			return 32;
		close(handle.fd);
	}
	ret = take_turns(fd, handles, true, rounds);
	if (waitpid(child, &status, 0) != child)
		return 33;
	close(sockets[0]);
	close(sockets[1]);
	if (!WIFEXITED(status))
		return 34;
	return ret ?: WEXITSTATUS(status);
}

#endif /* NPU_POINTS_H */
