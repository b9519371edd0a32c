/* SPDX-License-Identifier: MIT */
/*
 * Random calls: every ioctl with arguments that are good, most of them, and then changed, some of
 * them; and what else can be done with the file.
 */
#ifndef NPU_FUZZ_CALLS_H
#define NPU_FUZZ_CALLS_H

#include "fuzz_world.h"

union fuzz_arguments {
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
	struct drm_gem_close gem_close;
	struct drm_prime_handle prime;
	struct drm_version version;
	unsigned char bytes[256];
};

/* What arguments point to. */
union fuzz_array {
	struct drm_npu_bind_op ops[4];
	struct drm_npu_sem sems[8];
	unsigned char bytes[512];
};

/**
 * struct fuzz_call - an ioctl
 * @name: as in the header
 * @request: its number
 * @fill: arguments of which most are good
 * @done: it has succeeded: what is there now that was not
 */
struct fuzz_call {
	const char *name;
	unsigned long request;
	void (*fill)(struct fuzz_world *world, union fuzz_arguments *args, union fuzz_array *array);
	void (*done)(struct fuzz_world *world, const union fuzz_arguments *args);
};

/* ------------------------------------------------------------------------ the driver's own */

static void fill_get_param(struct fuzz_world *world, union fuzz_arguments *args,
			   union fuzz_array *array)
{
	static const uint8_t texts[] = { DRM_NPU_PARAM_CONFIG_NAME, DRM_NPU_PARAM_FIRMWARE_VERSION };

	args->get_param.param = chance(world, 4) ? 64 + roll(&world->dice, 8) :
						  roll(&world->dice, DRM_NPU_PARAM_LARGE_PAGE + 1);
	if (chance(world, 4)) {
		args->get_param.param = texts[roll(&world->dice, 2)];
		args->get_param.index = roll(&world->dice, 2);
	}
}

static void fill_gem_create(struct fuzz_world *world, union fuzz_arguments *args,
			    union fuzz_array *array)
{
	args->gem_create.size = 1 + roll(&world->dice, 1 << 16);
	args->gem_create.flags = chance(world, 4) ? DRM_NPU_GEM_WRITE_COMBINE : 0;
}

static void done_gem_create(struct fuzz_world *world, const union fuzz_arguments *args)
{
	world->handles[roll(&world->dice, FUZZ_HANDLES)] = args->gem_create.handle;
}

/* Memory that nothing else is in, as the device may come to write it. */
static unsigned char fuzz_memory[16 * 4096] __attribute__((aligned(4096)));

static void fill_gem_userptr(struct fuzz_world *world, union fuzz_arguments *args,
			     union fuzz_array *array)
{
	uint32_t first = roll(&world->dice, 16);

	args->gem_userptr.address = (uintptr_t)fuzz_memory + first * PAGE;
	args->gem_userptr.size = (1 + roll(&world->dice, 16 - first)) * PAGE;
	args->gem_userptr.flags = chance(world, 4) ? DRM_NPU_USERPTR_READ_ONLY : 0;
}

static void done_gem_userptr(struct fuzz_world *world, const union fuzz_arguments *args)
{
	world->handles[roll(&world->dice, FUZZ_HANDLES)] = args->gem_userptr.handle;
}

static void fill_gem_info(struct fuzz_world *world, union fuzz_arguments *args,
			  union fuzz_array *array)
{
	args->gem_info.handle = any_handle(world);
}

static void fill_ctx_create(struct fuzz_world *world, union fuzz_arguments *args,
			    union fuzz_array *array)
{
	args->ctx_create.flags = chance(world, 4) ? DRM_NPU_CTX_SMALL_PAGES : 0;
}

/* Contexts are few: most of what is made so goes at once. */
static void done_ctx_create(struct fuzz_world *world, const union fuzz_arguments *args)
{
	if (!chance(world, 8))
		npu_context_destroy(world->fd, args->ctx_create.ctx);
}

static void fill_ctx_destroy(struct fuzz_world *world, union fuzz_arguments *args,
			     union fuzz_array *array)
{
	/* One that nothing is missed of. */
	args->ctx_destroy.ctx = chance(world, 8) ? any_lane(world)->lane.ctx :
						   npu_context(world->fd);
}

static void fill_ctx_status(struct fuzz_world *world, union fuzz_arguments *args,
			    union fuzz_array *array)
{
	args->ctx_status.ctx = any_lane(world)->lane.ctx;
	if (chance(world, 2)) {
		args->ctx_status.flags = DRM_NPU_CTX_STATUS_TASK;
		args->ctx_status.task_id = roll(&world->dice, 8);
	}
}

static void fill_vm_bind(struct fuzz_world *world, union fuzz_arguments *args,
			 union fuzz_array *array)
{
	uint32_t count = 1 + roll(&world->dice, 4);

	args->vm_bind.ctx = any_lane(world)->lane.ctx;
	args->vm_bind.ops = (struct drm_npu_array){
		.stride = sizeof(array->ops[0]), .count = count, .array = (uintptr_t)array,
	};
	for (uint32_t i = 0; i < count; i++) {
		struct drm_npu_bind_op *op = &array->ops[i];

		/* Few places, so that they meet. */
		op->va = FUZZ_LOOSE_VA + PAGE * roll(&world->dice, 64);
		op->bytes = PAGE * (1 + roll(&world->dice, 8));
		op->type = roll(&world->dice, 2) ? DRM_NPU_BIND_MAP : DRM_NPU_BIND_UNMAP;
		if (op->type == DRM_NPU_BIND_UNMAP)
			continue;
		op->flags = DRM_NPU_BIND_READ | roll(&world->dice, 8);
		op->handle = chance(world, 2) ? world->memory : any_handle(world);
		op->offset = chance(world, 2) ? 0 : PAGE * roll(&world->dice, 8);
	}
}

static void fill_queue_create(struct fuzz_world *world, union fuzz_arguments *args,
			      union fuzz_array *array)
{
	args->queue_create.ctx = any_lane(world)->lane.ctx;
	args->queue_create.priority = roll(&world->dice, 16);
	/* Anybody's memory will do, also one that others write packets to. */
	args->queue_create.ring = chance(world, 2) ? RING_VA : FUZZ_DATA_VA + FUZZ_LOOSE;
	args->queue_create.ring_log2 = 2 + roll(&world->dice, 4);
}

static void done_queue_create(struct fuzz_world *world, const union fuzz_arguments *args)
{
	struct drm_npu_queue_destroy destroy = {
		.ctx = args->queue_create.ctx, .queue = args->queue_create.queue,
	};

	if (!chance(world, 8))
		npu_call(world->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
}

static void fill_queue_destroy(struct fuzz_world *world, union fuzz_arguments *args,
			       union fuzz_array *array)
{
	struct fuzz_lane *lane = any_lane(world);
	struct drm_npu_queue_create create = {
		.ctx = lane->lane.ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
	};

	args->queue_destroy.ctx = lane->lane.ctx;
	args->queue_destroy.queue = lane->lane.queue;
	if (!chance(world, 8) && !npu_call(world->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create))
		args->queue_destroy.queue = create.queue;
}

static void fill_sem_wait(struct fuzz_world *world, union fuzz_arguments *args,
			  union fuzz_array *array)
{
	uint32_t count = 1 + roll(&world->dice, 8);

	args->sem_wait.ctx = any_lane(world)->lane.ctx;
	args->sem_wait.flags = roll(&world->dice, 2) ? DRM_NPU_SEM_WAIT_ALL : 0;
	args->sem_wait.sems = (struct drm_npu_array){
		.stride = sizeof(array->sems[0]), .count = count, .array = (uintptr_t)array,
	};
	for (uint32_t i = 0; i < count; i++) {
		array->sems[i].sem = roll(&world->dice, 8);
		array->sems[i].value = chance(world, 3) ? roll(&world->dice, 6) : 0;
	}
	args->sem_wait.deadline_ns = now_ns() + roll(&world->dice, 2 * MILLISECOND);
}

static void fill_sem_to_syncobj(struct fuzz_world *world, union fuzz_arguments *args,
				union fuzz_array *array)
{
	args->sem_to_syncobj.ctx = any_lane(world)->lane.ctx;
	args->sem_to_syncobj.sem = roll(&world->dice, 8);
	args->sem_to_syncobj.value = roll(&world->dice, 64);
	args->sem_to_syncobj.syncobj = world->syncobjs[roll(&world->dice, FUZZ_SYNCOBJS)];
	args->sem_to_syncobj.point = roll(&world->dice, 64);
}

/* A point that is there, of which one can be sure with the first syncobj only. */
static void fill_syncobj_to_sem(struct fuzz_world *world, union fuzz_arguments *args,
				union fuzz_array *array)
{
	uint32_t which = chance(world, 4) ? roll(&world->dice, FUZZ_SYNCOBJS) : 0;
	struct fuzz_lane *lane = any_lane(world);

	args->syncobj_to_sem.ctx = lane->lane.ctx;
	args->syncobj_to_sem.queue = lane->lane.queue;
	args->syncobj_to_sem.syncobj = world->syncobjs[which];
	args->syncobj_to_sem.sem = roll(&world->dice, 8);
	args->syncobj_to_sem.point = which ? roll(&world->dice, 64) : 0;
	args->syncobj_to_sem.add = 1 + roll(&world->dice, 3);
}

/* Those that have come are read, or there would soon be no room for more. */
static void fill_ctx_events(struct fuzz_world *world, union fuzz_arguments *args,
			    union fuzz_array *array)
{
	struct pollfd come = { .fd = world->fd, .events = POLLIN };

	if (poll(&come, 1, 0) == 1 && read(world->fd, array, sizeof(*array)) < 0)
		return;
	args->ctx_events.ctx = any_lane(world)->lane.ctx;
	args->ctx_events.kinds = 1 + roll(&world->dice, 7);
	args->ctx_events.flags = chance(world, 3) ? DRM_NPU_CTX_EVENTS_CANCEL : 0;
	if (args->ctx_events.kinds & DRM_NPU_EVENT_FAULT && !args->ctx_events.flags)
		args->ctx_events.faults = roll(&world->dice, 4);
}

/* ------------------------------------------------------------------------------- DRM's own */

static void fill_gem_close(struct fuzz_world *world, union fuzz_arguments *args,
			   union fuzz_array *array)
{
	uint32_t *handle = &world->handles[roll(&world->dice, FUZZ_HANDLES)];

	args->gem_close.handle = *handle ? *handle : npu_buffer(world->fd, PAGE);
	*handle = 0;
}

static void fill_export(struct fuzz_world *world, union fuzz_arguments *args,
			union fuzz_array *array)
{
	args->prime.handle = any_handle(world);
	args->prime.flags = O_CLOEXEC | (chance(world, 2) ? O_RDWR : 0);
}

static void done_export(struct fuzz_world *world, const union fuzz_arguments *args)
{
	if (args->prime.fd < 3)
		return;
	if (chance(world, 4)) {
		if (world->dma_buf >= 0)
			close(world->dma_buf);
		world->dma_buf = args->prime.fd;
	} else {
		close(args->prime.fd);
	}
}

static void fill_import(struct fuzz_world *world, union fuzz_arguments *args,
			union fuzz_array *array)
{
	args->prime.fd = world->dma_buf;
}

static void done_import(struct fuzz_world *world, const union fuzz_arguments *args)
{
	world->handles[roll(&world->dice, FUZZ_HANDLES)] = args->prime.handle;
}

static void fill_version(struct fuzz_world *world, union fuzz_arguments *args,
			 union fuzz_array *array)
{
	args->version.name = (char *)array;
	args->version.name_len = roll(&world->dice, 16);
}

#define CALL(name, fill, done) { #name, DRM_IOCTL_NPU_##name, fill, done }

static const struct fuzz_call fuzz_calls[] = {
	CALL(GET_PARAM, fill_get_param, NULL),
	CALL(GEM_CREATE, fill_gem_create, done_gem_create),
	CALL(GEM_INFO, fill_gem_info, NULL),
	CALL(CTX_CREATE, fill_ctx_create, done_ctx_create),
	CALL(CTX_DESTROY, fill_ctx_destroy, NULL),
	CALL(CTX_STATUS, fill_ctx_status, NULL),
	CALL(VM_BIND, fill_vm_bind, NULL),
	CALL(QUEUE_CREATE, fill_queue_create, done_queue_create),
	CALL(QUEUE_DESTROY, fill_queue_destroy, NULL),
	CALL(SEM_WAIT, fill_sem_wait, NULL),
	CALL(SEM_TO_SYNCOBJ, fill_sem_to_syncobj, NULL),
	CALL(SYNCOBJ_TO_SEM, fill_syncobj_to_sem, NULL),
	CALL(GEM_USERPTR, fill_gem_userptr, done_gem_userptr),
	CALL(CTX_EVENTS, fill_ctx_events, NULL),
	{ "GEM_CLOSE", DRM_IOCTL_GEM_CLOSE, fill_gem_close, NULL },
	{ "PRIME_HANDLE_TO_FD", DRM_IOCTL_PRIME_HANDLE_TO_FD, fill_export, done_export },
	{ "PRIME_FD_TO_HANDLE", DRM_IOCTL_PRIME_FD_TO_HANDLE, fill_import, done_import },
	{ "VERSION", DRM_IOCTL_VERSION, fill_version, NULL },
};

#define FUZZ_IOCTLS (sizeof(fuzz_calls) / sizeof(fuzz_calls[0]))

/* Counted behind the ioctls, under these names. */
enum { FUZZ_URING_WAIT = FUZZ_IOCTLS, FUZZ_URING_CANCEL, FUZZ_MMAP, FUZZ_CALLS };

static inline const char *fuzz_call_name(uint32_t call)
{
	static const char *const others[] = { "io_uring's WAIT", "io_uring's CANCEL", "mmap()" };

	return call < FUZZ_IOCTLS ? fuzz_calls[call].name : others[call - FUZZ_IOCTLS];
}

/* 0 or more is good, else it is a negative errno. */
static inline void fuzz_count(struct fuzz_world *world, uint32_t call, int result)
{
	uint64_t *counter = &world->counts->good[call];

	if (result < 0)
		counter = &world->counts->errors[call][-result < FUZZ_ERRNOS ? -result : 0];
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* The device must not write the program itself. */
static inline void fuzz_tame_userptr(struct drm_npu_gem_userptr *args)
{
	uint64_t begin = (uintptr_t)fuzz_memory;

	if (args->address < begin || args->size > sizeof(fuzz_memory) ||
	    args->address - begin > sizeof(fuzz_memory) - args->size)
		args->flags |= DRM_NPU_USERPTR_READ_ONLY;
}

/* Whole memory of the machine is not what is to be found out. */
static inline void fuzz_tame(const struct fuzz_call *call, union fuzz_arguments *args)
{
	if (call->request == DRM_IOCTL_NPU_GEM_USERPTR)
		fuzz_tame_userptr(&args->gem_userptr);
	if (call->request == DRM_IOCTL_NPU_GEM_CREATE && args->gem_create.size >> 40 == 0)
		args->gem_create.size %= 1 << 22;
}

/* Another size, another direction, another number. */
static inline unsigned long fuzz_request(struct fuzz_world *world, unsigned long request)
{
	switch (roll(&world->dice, 3)) {
	case 0:
		return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request),
			    roll(&world->dice, 256));
	case 1:
		return _IOC(roll(&world->dice, 4), _IOC_TYPE(request), _IOC_NR(request),
			    _IOC_SIZE(request));
	default:
		return _IOC(_IOC_DIR(request), _IOC_TYPE(request), DRM_COMMAND_BASE +
			    roll(&world->dice, 0x60), roll(&world->dice, 256));
	}
}

static inline int fuzz_ioctl_step(struct fuzz_world *world)
{
	uint32_t number = roll(&world->dice, FUZZ_IOCTLS);
	const struct fuzz_call *call = &fuzz_calls[number];
	union fuzz_arguments args = { 0 };
	union fuzz_array array = { 0 };
	unsigned long request = call->request;
	int ret;

	call->fill(world, &args, &array);
	if (chance(world, 3))
		mutate(world, &args, _IOC_SIZE(request));
	if (chance(world, 6))
		mutate(world, &array, sizeof(array.ops));
	fuzz_tame(call, &args);
	if (chance(world, 24))
		request = fuzz_request(world, request);
	ret = npu_call(world->fd, request, chance(world, 64) ? (void *)(uintptr_t)edge(world) : &args);
	if (request != call->request)
		return 0;
	fuzz_count(world, number, ret);
	if (!ret && call->done)
		call->done(world, &args);
	return 0;
}

/* ---------------------------------------------------------------------- io_uring and mmap() */

static inline void fuzz_take(struct fuzz_world *world)
{
	struct uring_result result;

	while (uring_take(&world->ring, &result))
		fuzz_count(world, result.user_data & 1 ? FUZZ_URING_CANCEL : FUZZ_URING_WAIT,
			   result.res);
}

/* Waits have even user data, cancellations odd. */
static inline int fuzz_uring_step(struct fuzz_world *world)
{
	uint64_t user_data = 2 * roll(&world->dice, 4);
	struct io_uring_sqe *sqe;

	if (!world->has_ring)
		return 0;
	fuzz_take(world);
	/* There is to be something to be cancelled. */
	if (chance(world, 3)) {
		uring_wait(&world->ring, world->fd, any_lane(world)->lane.ctx, 7, 1, URING_NEVER,
			   user_data);
		uring_push(&world->ring);
		sqe = uring_cancel(&world->ring, world->fd, user_data, 1);
	} else {
		sqe = uring_wait(&world->ring, world->fd, any_lane(world)->lane.ctx,
				 roll(&world->dice, 6), roll(&world->dice, 8),
				 chance(world, 16) ? URING_NEVER : roll(&world->dice, 3000),
				 user_data);
	}
	if (chance(world, 8))
		mutate(world, (char *)sqe + offsetof(struct io_uring_sqe, cmd), 16);
	uring_push(&world->ring);
	uring_enter(&world->ring, 0);
	/* Who always finds its answers never sees them pile up. */
	if (chance(world, 4))
		usleep(500);
	fuzz_take(world);
	return 0;
}

static inline off_t any_offset(struct fuzz_world *world)
{
	struct drm_npu_gem_info info = { .handle = any_handle(world) };

	switch (roll(&world->dice, 4)) {
	case 0:
		return (off_t)edge(world);
	case 1:
		return (off_t)any_lane(world)->lane.made.semaphores_offset;
	case 2:
		return (off_t)(1ull << 30 | (uint64_t)roll(&world->dice, 64) << 20);
	default:
		npu_call(world->fd, DRM_IOCTL_NPU_GEM_INFO, &info);
		return (off_t)info.mmap_offset;
	}
}

static inline int fuzz_mmap_step(struct fuzz_world *world)
{
	static const int protections[] = { PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE, PROT_NONE,
					   PROT_READ | PROT_EXEC };
	size_t bytes = PAGE * (1 + roll(&world->dice, 4));
	int protection = protections[roll(&world->dice, 5)];
	int flags = chance(world, 8) ? MAP_PRIVATE : MAP_SHARED;
	void *at = mmap(NULL, bytes, protection, flags, world->fd, any_offset(world));

	fuzz_count(world, FUZZ_MMAP, at == MAP_FAILED ? -errno : 0);
	if (at == MAP_FAILED)
		return 0;
	if (chance(world, 4))
		mprotect(at, bytes, protections[roll(&world->dice, 5)]);
	if (chance(world, 4))
		madvise(at, bytes, (int)roll(&world->dice, 26));
	if (bytes > PAGE && chance(world, 4))
		munmap((char *)at + PAGE, PAGE);
	munmap(at, bytes);
	return 0;
}

#endif /* NPU_FUZZ_CALLS_H */
