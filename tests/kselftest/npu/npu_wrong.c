// SPDX-License-Identifier: MIT
/*
 * Every ioctl with one thing wrong: the errno its structure promises, and nothing left behind. What
 * is wrong in a field is a line of the table; operations and rings have more in npu_bind.c and
 * npu_queue.c.
 */
#include <stddef.h>

#include "npu_test.h"

#define BYTES (2 * PAGE)
#define VA 0x40000000ull
#define READ_ONLY_VA 0x50000000ull
#define OP_VA 0x60000000ull
#define WRITE_VA 0x70000000ull

/* Values that are known when the test runs only. */
enum stand_in {
	GOOD,
	OTHERS_CONTEXT,
	DESTROYED_CONTEXT,
	OTHERS_HANDLE,
	CLOSED_HANDLE,
	OTHERS_QUEUE,
	SECOND_CONTEXTS_QUEUE,
	NO_MEMORY,
	STAND_INS,
};

enum call {
	GET_PARAM,
	GEM_CREATE,
	GEM_INFO,
	CTX_CREATE,
	CTX_DESTROY,
	CTX_STATUS,
	VM_BIND,
	QUEUE_CREATE,
	QUEUE_DESTROY,
	SEM_WAIT,
	SEM_TO_SYNCOBJ,
	SYNCOBJ_TO_SEM,
	GEM_USERPTR,
	CTX_EVENTS,
};

union arguments {
	struct drm_npu_get_param get_param;
	struct drm_npu_gem_create gem_create;
	struct drm_npu_gem_info gem_info;
	struct drm_npu_ctx_create ctx_create;
	struct drm_npu_ctx_destroy ctx_destroy;
	struct drm_npu_ctx_status ctx_status;
	struct drm_npu_vm_bind vm_bind;
	struct drm_npu_queue_create queue_create;
	struct drm_npu_queue_destroy queue_destroy;
	struct drm_npu_sem_wait sem_wait;
	struct drm_npu_sem_to_syncobj sem_to_syncobj;
	struct drm_npu_syncobj_to_sem syncobj_to_sem;
	struct drm_npu_gem_userptr gem_userptr;
	struct drm_npu_ctx_events ctx_events;
	unsigned char bytes[256];
};

union element {
	struct drm_npu_bind_op op;
	struct drm_npu_sem sem;
	unsigned char bytes[64];
};

static const unsigned long requests[] = {
	[GET_PARAM] = DRM_IOCTL_NPU_GET_PARAM,
	[GEM_CREATE] = DRM_IOCTL_NPU_GEM_CREATE,
	[GEM_INFO] = DRM_IOCTL_NPU_GEM_INFO,
	[CTX_CREATE] = DRM_IOCTL_NPU_CTX_CREATE,
	[CTX_DESTROY] = DRM_IOCTL_NPU_CTX_DESTROY,
	[CTX_STATUS] = DRM_IOCTL_NPU_CTX_STATUS,
	[VM_BIND] = DRM_IOCTL_NPU_VM_BIND,
	[QUEUE_CREATE] = DRM_IOCTL_NPU_QUEUE_CREATE,
	[QUEUE_DESTROY] = DRM_IOCTL_NPU_QUEUE_DESTROY,
	[SEM_WAIT] = DRM_IOCTL_NPU_SEM_WAIT,
	[SEM_TO_SYNCOBJ] = DRM_IOCTL_NPU_SEM_TO_SYNCOBJ,
	[SYNCOBJ_TO_SEM] = DRM_IOCTL_NPU_SYNCOBJ_TO_SEM,
	[GEM_USERPTR] = DRM_IOCTL_NPU_GEM_USERPTR,
	[CTX_EVENTS] = DRM_IOCTL_NPU_CTX_EVENTS,
};

/* Bytes of each structure as it was first published: what the oldest program hands in. */
static const size_t first_bytes[] = {
	[GET_PARAM] = 16, [GEM_CREATE] = 16, [GEM_INFO] = 24, [CTX_CREATE] = 40, [CTX_DESTROY] = 8,
	[CTX_STATUS] = 56, [VM_BIND] = 24, [QUEUE_CREATE] = 48, [QUEUE_DESTROY] = 8, [SEM_WAIT] = 40,
	[SEM_TO_SYNCOBJ] = 32, [SYNCOBJ_TO_SEM] = 40, [GEM_USERPTR] = 24,
	[CTX_EVENTS] = 24,
};

/* What a buffer can be made of; there is nothing in the next page. */
static unsigned char *own_memory;

/* A file with one of everything, beside another that has more. */
struct world {
	int fd, other;
	struct npu_lane lane;
	uint32_t handle;
	uint32_t syncobj; /* its fence is there, and signalled */
	uint64_t stand_in[STAND_INS];
	unsigned char *page; /* with nothing behind it */
};

static bool world_bind(const struct world *world, uint64_t va, uint32_t flags)
{
	struct drm_npu_bind_op op = {
		.flags = flags, .handle = world->handle, .va = va, .bytes = PAGE,
	};

	return !npu_bind_ops(world->fd, world->lane.ctx, &op, 1);
}

/* A context's second queue; its first has a number that any context's first has. */
static uint32_t second_queue(const struct npu_lane *lane)
{
	struct drm_npu_queue_create create = {
		.ctx = lane->ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
	};

	return npu_call(lane->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create) ? 0 : create.queue;
}

static uint32_t signalled_syncobj(int fd)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	return npu_call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create) ? 0 : create.handle;
}

static bool world_others(struct world *world)
{
	struct npu_lane lane, second;
	int i;

	/* Numbers that this file has not given out itself. */
	for (i = 0; i < 8; i++) {
		world->stand_in[OTHERS_HANDLE] = npu_buffer(world->other, PAGE);
		if (npu_context(world->other) == 0)
			return false;
	}
	if (npu_lane_open(&lane, world->other) || npu_lane_open(&second, world->fd))
		return false;
	world->stand_in[OTHERS_CONTEXT] = lane.ctx;
	world->stand_in[OTHERS_QUEUE] = second_queue(&lane);
	world->stand_in[SECOND_CONTEXTS_QUEUE] = second_queue(&second);
	return world->stand_in[OTHERS_QUEUE] && world->stand_in[SECOND_CONTEXTS_QUEUE];
}

static bool world_open(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->fd = npu_open();
	world->other = npu_open();
	if (world->fd < 0 || world->other < 0 || npu_lane_open(&world->lane, world->fd))
		return false;
	world->handle = npu_buffer(world->fd, BYTES);
	world->syncobj = signalled_syncobj(world->fd);
	world->stand_in[CLOSED_HANDLE] = npu_buffer(world->fd, PAGE);
	world->stand_in[DESTROYED_CONTEXT] = npu_context(world->fd);
	world->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	if (world->page == MAP_FAILED || mprotect(world->page + PAGE, PAGE, PROT_NONE))
		return false;
	world->stand_in[NO_MEMORY] = (uintptr_t)world->page + PAGE;
	own_memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own_memory == MAP_FAILED || mprotect(own_memory + PAGE, PAGE, PROT_NONE))
		return false;
	return world_others(world) &&
	       !npu_close_handle(world->fd, (uint32_t)world->stand_in[CLOSED_HANDLE]) &&
	       !npu_context_destroy(world->fd, (uint32_t)world->stand_in[DESTROYED_CONTEXT]) &&
	       world_bind(world, READ_ONLY_VA, DRM_NPU_BIND_READ) &&
	       world_bind(world, WRITE_VA, DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE) &&
	       world_bind(world, WRITE_VA + PAGE, DRM_NPU_BIND_READ);
}

static void world_close(struct world *world)
{
	close(world->fd);
	close(world->other);
}

/* Arguments that are right. */
static void fill(const struct world *world, enum call call, union arguments *args,
		 union element *element)
{
	struct drm_npu_array array = { .count = 1, .array = (uintptr_t)element };

	memset(args, 0, sizeof(*args));
	memset(element, 0, sizeof(*element));
	switch (call) {
	case GET_PARAM:
		args->get_param.param = DRM_NPU_PARAM_CLUSTERS;
		break;
	case GEM_CREATE:
		args->gem_create.size = PAGE;
		break;
	case GEM_INFO:
		args->gem_info.handle = world->handle;
		break;
	case CTX_CREATE:
		break;
	case CTX_DESTROY:
		args->ctx_destroy.ctx = world->lane.ctx;
		break;
	case CTX_STATUS:
		args->ctx_status.ctx = world->lane.ctx;
		break;
	case VM_BIND:
		array.stride = sizeof(element->op);
		args->vm_bind = (struct drm_npu_vm_bind){ .ctx = world->lane.ctx, .ops = array };
		element->op = (struct drm_npu_bind_op){
			.flags = DRM_NPU_BIND_READ, .handle = world->handle,
			.va = OP_VA, .bytes = BYTES,
		};
		break;
	case QUEUE_CREATE:
		args->queue_create = (struct drm_npu_queue_create){
			.ctx = world->lane.ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
		};
		break;
	case QUEUE_DESTROY:
		args->queue_destroy = (struct drm_npu_queue_destroy){
			.ctx = world->lane.ctx, .queue = world->lane.queue,
		};
		break;
	case SEM_WAIT:
		array.stride = sizeof(element->sem);
		args->sem_wait = (struct drm_npu_sem_wait){ .ctx = world->lane.ctx, .sems = array };
		break;
	case SEM_TO_SYNCOBJ:
		args->sem_to_syncobj = (struct drm_npu_sem_to_syncobj){
			.ctx = world->lane.ctx, .sem = 2, .syncobj = world->syncobj,
		};
		break;
	case SYNCOBJ_TO_SEM:
		args->syncobj_to_sem = (struct drm_npu_syncobj_to_sem){
			.ctx = world->lane.ctx, .queue = world->lane.queue,
			.syncobj = world->syncobj, .sem = 9, .add = 1,
		};
		break;
	case GEM_USERPTR:
		args->gem_userptr.address = (uintptr_t)own_memory;
		args->gem_userptr.size = PAGE;
		break;
	case CTX_EVENTS:
		args->ctx_events.ctx = world->lane.ctx;
		args->ctx_events.kinds = DRM_NPU_EVENT_DEAD;
		break;
	}
}

/* ----------------------------------------------------------------- one field */

FIXTURE(field) {
	struct world world;
};

FIXTURE_VARIANT(field) {
	enum call call;
	bool in_element;
	size_t offset;
	size_t bytes;
	uint64_t value;
	enum stand_in stand_in; /* instead of value */
	int error;
};

#define FIELD(name, of, type, member, ...) \
	FIXTURE_VARIANT_ADD(field, name) { \
		.call = of, .offset = offsetof(type, member), \
		.bytes = sizeof(((type *)0)->member), __VA_ARGS__ \
	}
#define PUT(number, expected) .value = (number), .error = (expected)
#define PUT_STAND_IN(name, expected) .stand_in = (name), .error = (expected)

FIELD(param_gap, GET_PARAM, struct drm_npu_get_param, param, PUT(63, -EINVAL));
FIELD(param_unknown, GET_PARAM, struct drm_npu_get_param, param, PUT(9999, -EINVAL));
FIELD(param_largest, GET_PARAM, struct drm_npu_get_param, param, PUT(UINT32_MAX, -EINVAL));
FIELD(param_index, GET_PARAM, struct drm_npu_get_param, index, PUT(1, -EINVAL));
FIELD(param_index_largest, GET_PARAM, struct drm_npu_get_param, index, PUT(UINT32_MAX, -EINVAL));

FIELD(gem_no_size, GEM_CREATE, struct drm_npu_gem_create, size, PUT(0, -EINVAL));
FIELD(gem_size_beyond, GEM_CREATE, struct drm_npu_gem_create, size, PUT((1ull << 38) + 1, -E2BIG));
FIELD(gem_size_negative, GEM_CREATE, struct drm_npu_gem_create, size, PUT(1ull << 63, -E2BIG));
FIELD(gem_size_wraps, GEM_CREATE, struct drm_npu_gem_create, size, PUT(UINT64_MAX, -E2BIG));
FIELD(gem_flag, GEM_CREATE, struct drm_npu_gem_create, flags, PUT(2, -EINVAL));
FIELD(gem_flag_last, GEM_CREATE, struct drm_npu_gem_create, flags, PUT(1u << 31, -EINVAL));
FIELD(gem_flags_all, GEM_CREATE, struct drm_npu_gem_create, flags, PUT(UINT32_MAX, -EINVAL));

FIELD(info_no_handle, GEM_INFO, struct drm_npu_gem_info, handle, PUT(0, -ENOENT));
FIELD(info_unknown, GEM_INFO, struct drm_npu_gem_info, handle, PUT(5000, -ENOENT));
FIELD(info_largest, GEM_INFO, struct drm_npu_gem_info, handle, PUT(UINT32_MAX, -ENOENT));
FIELD(info_closed, GEM_INFO, struct drm_npu_gem_info, handle, PUT_STAND_IN(CLOSED_HANDLE, -ENOENT));
FIELD(info_others, GEM_INFO, struct drm_npu_gem_info, handle, PUT_STAND_IN(OTHERS_HANDLE, -ENOENT));

FIELD(userptr_odd, GEM_USERPTR, struct drm_npu_gem_userptr, address, PUT(2048, -EINVAL));
FIELD(userptr_nowhere, GEM_USERPTR, struct drm_npu_gem_userptr, address, PUT(0, -EFAULT));
FIELD(userptr_unmapped, GEM_USERPTR, struct drm_npu_gem_userptr, address,
      PUT_STAND_IN(NO_MEMORY, -EFAULT));
FIELD(userptr_of_the_kernel, GEM_USERPTR, struct drm_npu_gem_userptr, address,
      PUT(~(PAGE - 1), -EFAULT));
FIELD(userptr_no_size, GEM_USERPTR, struct drm_npu_gem_userptr, size, PUT(0, -EINVAL));
FIELD(userptr_odd_size, GEM_USERPTR, struct drm_npu_gem_userptr, size, PUT(PAGE + 1, -EINVAL));
FIELD(userptr_half_unmapped, GEM_USERPTR, struct drm_npu_gem_userptr, size,
      PUT(2 * PAGE, -EFAULT));
FIELD(userptr_size_beyond, GEM_USERPTR, struct drm_npu_gem_userptr, size,
      PUT((1ull << 38) + PAGE, -E2BIG));
FIELD(userptr_size_wraps, GEM_USERPTR, struct drm_npu_gem_userptr, size, PUT(~(PAGE - 1), -E2BIG));
FIELD(userptr_flag, GEM_USERPTR, struct drm_npu_gem_userptr, flags, PUT(2, -EINVAL));
FIELD(userptr_flag_last, GEM_USERPTR, struct drm_npu_gem_userptr, flags, PUT(1u << 31, -EINVAL));

FIELD(create_flag, CTX_CREATE, struct drm_npu_ctx_create, flags, PUT(2, -EINVAL));
FIELD(create_flag_last, CTX_CREATE, struct drm_npu_ctx_create, flags, PUT(1u << 31, -EINVAL));
FIELD(create_flags_all, CTX_CREATE, struct drm_npu_ctx_create, flags, PUT(UINT32_MAX, -EINVAL));
FIELD(create_pad, CTX_CREATE, struct drm_npu_ctx_create, pad, PUT(1, -EINVAL));
FIELD(create_pad_last, CTX_CREATE, struct drm_npu_ctx_create, pad, PUT(1u << 31, -EINVAL));

/* The same of every structure that names a context. */
#define CONTEXT(prefix, of, type) \
	FIELD(prefix ## _no_context, of, type, ctx, PUT(0, -ENOENT)); \
	FIELD(prefix ## _unknown_context, of, type, ctx, PUT(900, -ENOENT)); \
	FIELD(prefix ## _largest_context, of, type, ctx, PUT(UINT32_MAX, -ENOENT)); \
	FIELD(prefix ## _others_context, of, type, ctx, PUT_STAND_IN(OTHERS_CONTEXT, -ENOENT)); \
	FIELD(prefix ## _destroyed_context, of, type, ctx, PUT_STAND_IN(DESTROYED_CONTEXT, -ENOENT))
CONTEXT(destroy, CTX_DESTROY, struct drm_npu_ctx_destroy);
CONTEXT(status, CTX_STATUS, struct drm_npu_ctx_status);
CONTEXT(events, CTX_EVENTS, struct drm_npu_ctx_events);
CONTEXT(bind, VM_BIND, struct drm_npu_vm_bind);
CONTEXT(queue, QUEUE_CREATE, struct drm_npu_queue_create);
CONTEXT(queue_destroy, QUEUE_DESTROY, struct drm_npu_queue_destroy);
CONTEXT(wait, SEM_WAIT, struct drm_npu_sem_wait);
CONTEXT(point, SEM_TO_SYNCOBJ, struct drm_npu_sem_to_syncobj);
CONTEXT(fence, SYNCOBJ_TO_SEM, struct drm_npu_syncobj_to_sem);

/* The same of every array. */
#define ARRAY(prefix, of, type, array_of, most) \
	FIELD(prefix ## _no_stride, of, type, array_of.stride, PUT(0, -EINVAL)); \
	FIELD(prefix ## _small_stride, of, type, array_of.stride, PUT(8, -EINVAL)); \
	FIELD(prefix ## _stride_beyond, of, type, array_of.stride, PUT(PAGE + 8, -E2BIG)); \
	FIELD(prefix ## _largest_stride, of, type, array_of.stride, PUT(UINT32_MAX, -E2BIG)); \
	FIELD(prefix ## _no_count, of, type, array_of.count, PUT(0, -EINVAL)); \
	FIELD(prefix ## _count_beyond, of, type, array_of.count, PUT((most) + 1, -E2BIG)); \
	FIELD(prefix ## _largest_count, of, type, array_of.count, PUT(UINT32_MAX, -E2BIG)); \
	FIELD(prefix ## _no_array, of, type, array_of.array, PUT(0, -EFAULT)); \
	FIELD(prefix ## _array_unmapped, of, type, array_of.array, \
	      PUT_STAND_IN(NO_MEMORY, -EFAULT)); \
	FIELD(prefix ## _array_of_the_kernel, of, type, array_of.array, \
	      PUT(~(PAGE - 1), -EFAULT)); \
	FIELD(prefix ## _array_nowhere, of, type, array_of.array, PUT(1ull << 63, -EFAULT))
ARRAY(bind, VM_BIND, struct drm_npu_vm_bind, ops, 256);
ARRAY(wait, SEM_WAIT, struct drm_npu_sem_wait, sems, 64);

#define OP(name, member, ...) \
	FIELD(op_ ## name, VM_BIND, struct drm_npu_bind_op, member, .in_element = true, __VA_ARGS__)
OP(type, type, PUT(2, -EINVAL));
OP(no_flags, flags, PUT(0, -EINVAL));
OP(flag, flags, PUT(DRM_NPU_BIND_READ | 8, -EINVAL));
OP(no_handle, handle, PUT(0, -ENOENT));
OP(closed_handle, handle, PUT_STAND_IN(CLOSED_HANDLE, -ENOENT));
OP(others_handle, handle, PUT_STAND_IN(OTHERS_HANDLE, -ENOENT));
OP(pad, pad, PUT(1, -EINVAL));
OP(pad_last, pad, PUT(1u << 31, -EINVAL));
OP(odd_offset, offset, PUT(2048, -EINVAL));
OP(offset_beyond, offset, PUT(PAGE, -EINVAL));
OP(odd_va, va, PUT(OP_VA + 2048, -EINVAL));
OP(va_beyond, va, PUT(1ull << 38, -EINVAL));
OP(va_taken, va, PUT(READ_ONLY_VA, -EEXIST));
OP(va_end_taken, va, PUT(READ_ONLY_VA - PAGE, -EEXIST));
OP(no_bytes, bytes, PUT(0, -EINVAL));
OP(odd_bytes, bytes, PUT(PAGE + 1, -EINVAL));
OP(bytes_beyond, bytes, PUT(BYTES + PAGE, -EINVAL));

#define QUEUE(name, member, ...) \
	FIELD(queue_ ## name, QUEUE_CREATE, struct drm_npu_queue_create, member, __VA_ARGS__)
QUEUE(priority, priority, PUT(16, -EINVAL));
QUEUE(largest_priority, priority, PUT(UINT32_MAX, -EINVAL));
QUEUE(odd_ring, ring, PUT(RING_VA + 32, -EINVAL));
QUEUE(no_ring, ring, PUT(0, -EINVAL));
QUEUE(ring_unbound, ring, PUT(VA, -EINVAL));
QUEUE(ring_half_unbound, ring, PUT(RING_VA + PAGE - 64, -EINVAL));
QUEUE(ring_beyond, ring, PUT(1ull << 38, -EINVAL));
QUEUE(ring_wraps, ring, PUT(~63ull, -EINVAL));
QUEUE(ring_read_only, ring, PUT(READ_ONLY_VA, -EINVAL));
QUEUE(ring_half_read_only, ring, PUT(WRITE_VA + PAGE - 64, -EINVAL));
QUEUE(no_log2, ring_log2, PUT(0, -EINVAL));
QUEUE(small_log2, ring_log2, PUT(1, -EINVAL));
QUEUE(large_log2, ring_log2, PUT(17, -EINVAL));
QUEUE(log2_of_64, ring_log2, PUT(64, -EINVAL));
QUEUE(largest_log2, ring_log2, PUT(UINT32_MAX, -EINVAL));
QUEUE(flag, flags, PUT(1, -EINVAL));
QUEUE(flag_last, flags, PUT(1u << 31, -EINVAL));
QUEUE(pad, pad, PUT(1, -EINVAL));
QUEUE(pad2, pad2, PUT(1u << 31, -EINVAL));

#define QUEUE_END(name, ...) \
	FIELD(queue_destroy_ ## name, QUEUE_DESTROY, struct drm_npu_queue_destroy, queue, \
	      __VA_ARGS__)
QUEUE_END(no_queue, PUT(0, -ENOENT));
QUEUE_END(unknown, PUT(900, -ENOENT));
QUEUE_END(largest, PUT(UINT32_MAX, -ENOENT));
QUEUE_END(others, PUT_STAND_IN(OTHERS_QUEUE, -ENOENT));
QUEUE_END(second_contexts, PUT_STAND_IN(SECOND_CONTEXTS_QUEUE, -ENOENT));

FIELD(destroy_pad, CTX_DESTROY, struct drm_npu_ctx_destroy, pad, PUT(1, -EINVAL));
FIELD(destroy_pad_last, CTX_DESTROY, struct drm_npu_ctx_destroy, pad, PUT(1u << 31, -EINVAL));
FIELD(status_flag, CTX_STATUS, struct drm_npu_ctx_status, flags, PUT(2, -EINVAL));
FIELD(status_flag_last, CTX_STATUS, struct drm_npu_ctx_status, flags, PUT(1u << 31, -EINVAL));
FIELD(status_task, CTX_STATUS, struct drm_npu_ctx_status, task_id, PUT(1, -EINVAL));

FIELD(events_none, CTX_EVENTS, struct drm_npu_ctx_events, kinds, PUT(0, -EINVAL));
FIELD(events_kind, CTX_EVENTS, struct drm_npu_ctx_events, kinds, PUT(8, -EINVAL));
FIELD(events_kinds_all, CTX_EVENTS, struct drm_npu_ctx_events, kinds, PUT(UINT32_MAX, -EINVAL));
FIELD(events_flag, CTX_EVENTS, struct drm_npu_ctx_events, flags, PUT(2, -EINVAL));
FIELD(events_flag_last, CTX_EVENTS, struct drm_npu_ctx_events, flags, PUT(1u << 31, -EINVAL));
FIELD(events_faults, CTX_EVENTS, struct drm_npu_ctx_events, faults, PUT(1, -EINVAL));

#define WAIT(name, member, ...) \
	FIELD(wait_ ## name, SEM_WAIT, struct drm_npu_sem_wait, member, __VA_ARGS__)
WAIT(flag, flags, PUT(2, -EINVAL));
WAIT(flag_last, flags, PUT(1u << 31, -EINVAL));
WAIT(negative_deadline, deadline_ns, PUT((uint64_t)-1, -EINVAL));
WAIT(least_deadline, deadline_ns, PUT(1ull << 63, -EINVAL));
WAIT(pad, pad, PUT(1, -EINVAL));

#define SEM(name, member, ...) \
	FIELD(sem_ ## name, SEM_WAIT, struct drm_npu_sem, member, .in_element = true, __VA_ARGS__)
SEM(beyond, sem, PUT(256, -EINVAL));
SEM(largest, sem, PUT(UINT32_MAX, -EINVAL));
SEM(pad, pad, PUT(1, -EINVAL));
SEM(not_met, value, PUT(1, -ETIME));

#define POINT(name, member, ...) \
	FIELD(point_ ## name, SEM_TO_SYNCOBJ, struct drm_npu_sem_to_syncobj, member, __VA_ARGS__)
POINT(sem_beyond, sem, PUT(256, -EINVAL));
POINT(largest_sem, sem, PUT(UINT32_MAX, -EINVAL));
POINT(no_syncobj, syncobj, PUT(0, -ENOENT));
POINT(unknown_syncobj, syncobj, PUT(900, -ENOENT));
POINT(largest_syncobj, syncobj, PUT(UINT32_MAX, -ENOENT));
POINT(flag, flags, PUT(1, -EINVAL));
POINT(flag_last, flags, PUT(1u << 31, -EINVAL));

#define FENCE(name, member, ...) \
	FIELD(fence_ ## name, SYNCOBJ_TO_SEM, struct drm_npu_syncobj_to_sem, member, __VA_ARGS__)
FENCE(no_queue, queue, PUT(0, -ENOENT));
FENCE(unknown_queue, queue, PUT(900, -ENOENT));
FENCE(others_queue, queue, PUT_STAND_IN(OTHERS_QUEUE, -ENOENT));
FENCE(second_contexts_queue, queue, PUT_STAND_IN(SECOND_CONTEXTS_QUEUE, -ENOENT));
FENCE(no_syncobj, syncobj, PUT(0, -ENOENT));
FENCE(unknown_syncobj, syncobj, PUT(900, -ENOENT));
FENCE(largest_syncobj, syncobj, PUT(UINT32_MAX, -ENOENT));
FENCE(sem_beyond, sem, PUT(256, -EINVAL));
FENCE(largest_sem, sem, PUT(UINT32_MAX, -EINVAL));
FENCE(no_such_point, point, PUT(1, -EINVAL));
FENCE(nothing_to_add, add, PUT(0, -EINVAL));
FENCE(too_much_to_add, add, PUT(1ull << 48, -EINVAL));
FENCE(flag, flags, PUT(1, -EINVAL));
FENCE(pad, pad, PUT(1, -EINVAL));

FIXTURE_SETUP(field)
{
	ASSERT_TRUE(world_open(&self->world));
}

FIXTURE_TEARDOWN(field)
{
	world_close(&self->world);
}

TEST_F(field, is_refused)
{
	struct world *world = &self->world;
	uint64_t value = variant->stand_in ? world->stand_in[variant->stand_in] : variant->value;
	struct npu_footprint before, after;
	union arguments args;
	union element element;

	npu_footprint(world->fd, &before);
	fill(world, variant->call, &args, &element);
	/* Little endian, as all machines this runs on. */
	memcpy((variant->in_element ? element.bytes : args.bytes) + variant->offset, &value,
	       variant->bytes);
	EXPECT_EQ(variant->error, npu_call(world->fd, requests[variant->call], &args));
	npu_footprint(world->fd, &after);
	EXPECT_STREQ(before.text, after.text);
	/* Nothing else was wrong, and nothing has changed that would matter. */
	fill(world, variant->call, &args, &element);
	EXPECT_EQ(0, npu_call(world->fd, requests[variant->call], &args));
}

/* ------------------------------------------------------- the structure itself */

FIXTURE(structure) {
	struct world world;
	struct npu_footprint before, after;
	union arguments args;
	union element element;
};

FIXTURE_VARIANT(structure) {
	enum call call;
};

#define STRUCTURE(name) FIXTURE_VARIANT_ADD(structure, name) { .call = name }
STRUCTURE(GET_PARAM);
STRUCTURE(GEM_CREATE);
STRUCTURE(GEM_INFO);
STRUCTURE(CTX_CREATE);
STRUCTURE(CTX_DESTROY);
STRUCTURE(CTX_STATUS);
STRUCTURE(VM_BIND);
STRUCTURE(QUEUE_CREATE);
STRUCTURE(QUEUE_DESTROY);
STRUCTURE(SEM_WAIT);
STRUCTURE(SEM_TO_SYNCOBJ);
STRUCTURE(SYNCOBJ_TO_SEM);
STRUCTURE(GEM_USERPTR);
STRUCTURE(CTX_EVENTS);

FIXTURE_SETUP(structure)
{
	ASSERT_TRUE(world_open(&self->world));
	fill(&self->world, variant->call, &self->args, &self->element);
	npu_footprint(self->world.fd, &self->before);
}

FIXTURE_TEARDOWN(structure)
{
	world_close(&self->world);
}

static unsigned long with_size(unsigned long request, size_t bytes)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), bytes);
}

TEST_F(structure, at_no_address)
{
	unsigned long request = requests[variant->call];
	size_t bytes = _IOC_SIZE(request);
	unsigned char *end = self->world.page + PAGE;

	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, NULL));
	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, end));
	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, (void *)~0xfffull));
	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, (void *)(1ull << 63)));
	/* All but its last bytes. */
	memcpy(end - bytes + 4, &self->args, bytes - 4);
	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, end - bytes + 4));
	npu_footprint(self->world.fd, &self->after);
	EXPECT_STREQ(self->before.text, self->after.text);
	/* To the last byte of the page. */
	memcpy(end - bytes, &self->args, bytes);
	EXPECT_EQ(0, npu_call(self->world.fd, request, end - bytes));
}

/* The answer could not be written: nothing is done for it. */
TEST_F(structure, read_only)
{
	unsigned long request = requests[variant->call];

	memcpy(self->world.page, &self->args, sizeof(self->args));
	ASSERT_EQ(0, mprotect(self->world.page, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, npu_call(self->world.fd, request, self->world.page));
	npu_footprint(self->world.fd, &self->after);
	EXPECT_STREQ(self->before.text, self->after.text);
	EXPECT_EQ(0, npu_call(self->world.fd, request, &self->args));
}

TEST_F(structure, too_short)
{
	unsigned long request = requests[variant->call];
	size_t bytes;

	for (bytes = 0; bytes < first_bytes[variant->call]; bytes++)
		EXPECT_EQ(-EINVAL, npu_call(self->world.fd, with_size(request, bytes),
					    &self->args));
	npu_footprint(self->world.fd, &self->after);
	EXPECT_STREQ(self->before.text, self->after.text);
}

TEST_F(structure, of_the_first_program)
{
	EXPECT_EQ(0, npu_call(self->world.fd,
			      with_size(requests[variant->call], first_bytes[variant->call]),
			      &self->args));
}

TEST_F(structure, longer)
{
	unsigned long request = requests[variant->call];
	size_t bytes = _IOC_SIZE(request);
	unsigned long longer = with_size(request, bytes + 24);

	self->args.bytes[bytes] = 1;
	EXPECT_EQ(-E2BIG, npu_call(self->world.fd, longer, &self->args));
	self->args.bytes[bytes] = 0;
	self->args.bytes[bytes + 23] = 0x80;
	EXPECT_EQ(-E2BIG, npu_call(self->world.fd, longer, &self->args));
	npu_footprint(self->world.fd, &self->after);
	EXPECT_STREQ(self->before.text, self->after.text);
	self->args.bytes[bytes + 23] = 0;
	EXPECT_EQ(0, npu_call(self->world.fd, longer, &self->args));
}

TEST_F(structure, other_direction)
{
	static const unsigned int directions[] = { _IOC_NONE, _IOC_READ, _IOC_WRITE };
	unsigned long request = requests[variant->call];
	unsigned int i;

	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EINVAL, npu_call(self->world.fd,
					    _IOC(directions[i], _IOC_TYPE(request),
						 _IOC_NR(request), _IOC_SIZE(request)),
					    &self->args));
	npu_footprint(self->world.fd, &self->after);
	EXPECT_STREQ(self->before.text, self->after.text);
}

/* What is out only is not looked at. */
TEST_F(structure, again_with_its_own_answer)
{
	unsigned long request = requests[variant->call];

	ASSERT_EQ(0, npu_call(self->world.fd, request, &self->args));
	switch (variant->call) {
	case CTX_DESTROY:
	case QUEUE_DESTROY:
		EXPECT_EQ(-ENOENT, npu_call(self->world.fd, request, &self->args));
		break;
	case VM_BIND:
	case CTX_EVENTS:
		EXPECT_EQ(-EEXIST, npu_call(self->world.fd, request, &self->args));
		break;
	default:
		EXPECT_EQ(0, npu_call(self->world.fd, request, &self->args));
		break;
	}
}

/* A number without a call. */
TEST(no_such_call)
{
	union arguments args = { 0 };
	int fd = npu_open();
	unsigned int nr;

	for (nr = DRM_COMMAND_BASE + 0x30; nr < DRM_COMMAND_END; nr++)
		EXPECT_EQ(-EINVAL, npu_call(fd, _IOWR(DRM_IOCTL_BASE, nr, union arguments),
					    &args));
	close(fd);
}

/* --------------------------------------------------------- elements of arrays */

FIXTURE(elements) {
	struct world world;
	union arguments args;
	union element element;
};

FIXTURE_VARIANT(elements) {
	enum call call;
	size_t array; /* where in the structure it is described */
};

#define ELEMENTS(of, type, member) \
	FIXTURE_VARIANT_ADD(elements, of) { .call = of, .array = offsetof(type, member) }
ELEMENTS(VM_BIND, struct drm_npu_vm_bind, ops);
ELEMENTS(SEM_WAIT, struct drm_npu_sem_wait, sems);

FIXTURE_SETUP(elements)
{
	ASSERT_TRUE(world_open(&self->world));
	fill(&self->world, variant->call, &self->args, &self->element);
}

FIXTURE_TEARDOWN(elements)
{
	world_close(&self->world);
}

/* Those of a later version are taken as long as they ask for nothing new. */
TEST_F(elements, wider)
{
	unsigned long request = requests[variant->call];
	struct drm_npu_array *array = (void *)(self->args.bytes + variant->array);
	struct npu_footprint before, after;

	npu_footprint(self->world.fd, &before);
	self->element.bytes[array->stride + 7] = 1;
	array->stride += 8;
	EXPECT_EQ(-E2BIG, npu_call(self->world.fd, request, &self->args));
	npu_footprint(self->world.fd, &after);
	EXPECT_STREQ(before.text, after.text);
	self->element.bytes[array->stride - 1] = 0;
	EXPECT_EQ(0, npu_call(self->world.fd, request, &self->args));
}

TEST_HARNESS_MAIN
