// SPDX-License-Identifier: MIT
/*
 * Every call, with each allocation it makes failing in turn: it must succeed or say -ENOMEM, and
 * work when it is repeated. Needs a kernel with fault injection, and root. Argument: to bind the
 * driver as well, with every how manyth allocation failing, which is slow.
 */
#include "campaign_work.h"
#include "uring.h"

#define NTH_MAX 5000
#define DEBUGFS "/sys/kernel/debug/"

struct scene {
	struct worker worker;
	uint32_t handle;
	uint32_t ctx;
	uint32_t queue;
	int dmabuf;
	void *mapping;
	size_t mapped;
	int made;		/* a descriptor */
	struct uring ring;
};

struct call {
	const char *name;
	int (*prepare)(struct scene *scene);
	int (*run)(struct scene *scene);
	void (*clean)(struct scene *scene);	/* after a success */
};

static int fail_nth;

/* The @nth allocation from now on fails; returns whether it did when called with 0. */
static bool inject(unsigned int nth)
{
	char text[16] = "";
	bool done;

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0)
		return false;
	done = !strtoul(text, NULL, 10);
	snprintf(text, sizeof(text), "%u", nth);
	return pwrite(fail_nth, text, strlen(text), 0) >= 0 && done;
}

static int nothing(struct scene *scene)
{
	return 0;
}

static void leave(struct scene *scene)
{
}

static int run_open(struct scene *scene)
{
	scene->made = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	return scene->made < 0 ? -errno : 0;
}

static void close_made(struct scene *scene)
{
	close(scene->made);
}

static int run_param(struct scene *scene)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_GET_PARAM, &get);
}

static int run_gem_create(struct scene *scene)
{
	struct drm_npu_gem_create create = { .size = EXTRA_BYTES };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_NPU_GEM_CREATE, &create);

	scene->handle = create.handle;
	return ret;
}

static int run_gem_userptr(struct scene *scene)
{
	static unsigned char memory[4 * 4096] __attribute__((aligned(4096)));
	struct drm_npu_gem_userptr args = { .address = (uintptr_t)memory, .size = sizeof(memory) };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_NPU_GEM_USERPTR, &args);

	scene->handle = args.handle;
	return ret;
}

static void close_handle(struct scene *scene)
{
	npu_close_handle(scene->worker.fd, scene->handle);
}

static int run_gem_info(struct scene *scene)
{
	struct drm_npu_gem_info info = { .handle = scene->handle };

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_GEM_INFO, &info);
}

static int run_gem_map(struct scene *scene)
{
	scene->mapping = npu_map(scene->worker.fd, scene->handle, EXTRA_BYTES);
	scene->mapped = EXTRA_BYTES;
	return scene->mapping == MAP_FAILED ? -errno : 0;
}

static void clean_gem_map(struct scene *scene)
{
	munmap(scene->mapping, scene->mapped);
	close_handle(scene);
}

static int run_export(struct scene *scene)
{
	struct drm_prime_handle share = { .handle = scene->handle, .flags = O_CLOEXEC | O_RDWR };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &share);

	scene->made = share.fd;
	return ret;
}

static void clean_export(struct scene *scene)
{
	close_made(scene);
	close_handle(scene);
}

static int make_dmabuf(struct scene *scene)
{
	scene->dmabuf = npu_udmabuf(IMPORT_BYTES, NULL);
	return scene->dmabuf < 0 ? scene->dmabuf : 0;
}

static int run_import(struct scene *scene)
{
	struct drm_prime_handle taken = { .fd = scene->dmabuf };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken);

	scene->handle = taken.handle;
	return ret;
}

static void clean_import(struct scene *scene)
{
	close(scene->dmabuf);
	close_handle(scene);
}

static int prepare_import(struct scene *scene)
{
	return make_dmabuf(scene) ?: run_import(scene);
}

static int run_bind_import(struct scene *scene)
{
	return npu_bind(scene->worker.fd, scene->worker.lane.ctx, scene->handle, EXTRA_VA,
			IMPORT_BYTES);
}

static void clean_bind_import(struct scene *scene)
{
	npu_unbind(scene->worker.fd, scene->worker.lane.ctx, EXTRA_VA, IMPORT_BYTES);
	clean_import(scene);
}

static int run_context_create(struct scene *scene)
{
	struct drm_npu_ctx_create create = { 0 };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_NPU_CTX_CREATE, &create);

	scene->ctx = create.ctx;
	return ret;
}

static int run_context_destroy(struct scene *scene)
{
	return npu_context_destroy(scene->worker.fd, scene->ctx);
}

static void clean_context(struct scene *scene)
{
	run_context_destroy(scene);
}

static int run_status(struct scene *scene)
{
	struct drm_npu_ctx_status status = { .ctx = scene->worker.lane.ctx };

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_CTX_STATUS, &status);
}

static int run_events(struct scene *scene)
{
	struct drm_npu_ctx_events ask = {
		.ctx = scene->worker.lane.ctx,
		.kinds = DRM_NPU_EVENT_FAULT | DRM_NPU_EVENT_QUEUE_STOPPED | DRM_NPU_EVENT_DEAD,
	};

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_CTX_EVENTS, &ask);
}

static void clean_events(struct scene *scene)
{
	struct drm_npu_ctx_events ask = {
		.ctx = scene->worker.lane.ctx,
		.kinds = DRM_NPU_EVENT_FAULT | DRM_NPU_EVENT_QUEUE_STOPPED | DRM_NPU_EVENT_DEAD,
		.flags = DRM_NPU_CTX_EVENTS_CANCEL,
	};

	npu_call(scene->worker.fd, DRM_IOCTL_NPU_CTX_EVENTS, &ask);
}

static int run_bind(struct scene *scene)
{
	return npu_bind(scene->worker.fd, scene->worker.lane.ctx, scene->handle, EXTRA_VA,
			EXTRA_BYTES);
}

/* From the middle, so that what is left needs something new. */
static int run_unbind(struct scene *scene)
{
	return npu_unbind(scene->worker.fd, scene->worker.lane.ctx, EXTRA_VA + PAGE, 2 * PAGE);
}

static void clean_bind(struct scene *scene)
{
	npu_unbind(scene->worker.fd, scene->worker.lane.ctx, EXTRA_VA, EXTRA_BYTES);
	close_handle(scene);
}

static int prepare_unbind(struct scene *scene)
{
	return run_gem_create(scene) ?: run_bind(scene);
}

static int run_queue_create(struct scene *scene)
{
	struct drm_npu_queue_create create = {
		.ctx = scene->worker.lane.ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
	};
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create);

	scene->queue = create.queue;
	return ret;
}

static int run_queue_destroy(struct scene *scene)
{
	struct drm_npu_queue_destroy destroy = {
		.ctx = scene->worker.lane.ctx, .queue = scene->queue,
	};

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
}

static void clean_queue(struct scene *scene)
{
	run_queue_destroy(scene);
}

static int run_work(struct scene *scene)
{
	return work_run(&scene->worker);
}

static int run_sleep(struct scene *scene)
{
	return work_sleep(&scene->worker);
}

/* What io_uring had no memory for itself stays in its queue. */
static int uring_result(struct scene *scene)
{
	int ret = uring_enter(&scene->ring, 1);

	return ret == -EAGAIN ? -ENOMEM : ret ?: uring_next(&scene->ring).res;
}

static int run_uring_wait(struct scene *scene)
{
	int ret;

	if (!scene->ring.unsubmitted) {
		uring_wait(&scene->ring, scene->worker.fd, scene->worker.lane.ctx, 2, 1, 1000, 7);
		uring_push(&scene->ring);
	}
	ret = uring_result(scene);
	return ret == -ETIME ? 0 : ret ?: -EBADE;
}

static int run_uring_cancel(struct scene *scene)
{
	int ret;

	if (!scene->ring.unsubmitted) {
		uring_cancel(&scene->ring, scene->worker.fd, 8, 9);
		uring_push(&scene->ring);
	}
	ret = uring_result(scene);
	return ret == -ENOENT ? 0 : ret ?: -EBADE;
}

static int make_syncobj(struct scene *scene)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	int ret = npu_call(scene->worker.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	scene->handle = create.handle;
	return ret;
}

static void clean_syncobj(struct scene *scene)
{
	struct drm_syncobj_destroy destroy = { .handle = scene->handle };

	npu_call(scene->worker.fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
}

static int run_sem_to_syncobj(struct scene *scene)
{
	struct drm_npu_sem_to_syncobj args = {
		.ctx = scene->worker.lane.ctx, .sem = 5, .syncobj = scene->handle, .point = 1,
	};

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &args);
}

static int run_syncobj_to_sem(struct scene *scene)
{
	struct drm_npu_syncobj_to_sem args = {
		.ctx = scene->worker.lane.ctx, .queue = scene->worker.lane.queue,
		.syncobj = scene->handle, .sem = 6, .add = 1,
	};

	return npu_call(scene->worker.fd, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM, &args);
}

static int run_fdinfo(struct scene *scene)
{
	char text[4096];
	ssize_t said = npu_fdinfo(scene->worker.fd, text, sizeof(text));

	return said < 0 ? (int)said : 0;
}

static const struct call calls[] = {
	{ "open", nothing, run_open, close_made },
	{ "GET_PARAM", nothing, run_param, leave },
	{ "GEM_CREATE", nothing, run_gem_create, close_handle },
	{ "GEM_USERPTR", nothing, run_gem_userptr, close_handle },
	{ "GEM_INFO", run_gem_create, run_gem_info, close_handle },
	{ "mmap of a buffer", run_gem_create, run_gem_map, clean_gem_map },
	{ "PRIME_HANDLE_TO_FD", run_gem_create, run_export, clean_export },
	{ "PRIME_FD_TO_HANDLE", make_dmabuf, run_import, clean_import },
	{ "VM_BIND of an import", prepare_import, run_bind_import, clean_bind_import },
	{ "CTX_CREATE", nothing, run_context_create, clean_context },
	{ "CTX_DESTROY", run_context_create, run_context_destroy, leave },
	{ "CTX_STATUS", nothing, run_status, leave },
	{ "CTX_EVENTS", nothing, run_events, clean_events },
	{ "VM_BIND", run_gem_create, run_bind, clean_bind },
	{ "VM_BIND unmap", prepare_unbind, run_unbind, clean_bind },
	{ "QUEUE_CREATE", nothing, run_queue_create, clean_queue },
	{ "QUEUE_DESTROY", run_queue_create, run_queue_destroy, leave },
	{ "work and SEM_WAIT", nothing, run_work, leave },
	{ "SEM_WAIT", nothing, run_sleep, leave },
	{ "SEM_TO_SYNCOBJ", make_syncobj, run_sem_to_syncobj, clean_syncobj },
	{ "SYNCOBJ_TO_SEM", make_syncobj, run_syncobj_to_sem, clean_syncobj },
	{ "URING_OP_WAIT", nothing, run_uring_wait, leave },
	{ "URING_OP_CANCEL", nothing, run_uring_cancel, leave },
	{ "fdinfo", nothing, run_fdinfo, leave },
};

/* One call with the @nth allocation failing. *more: it made as many. Returns an errno not allowed. */
static int try_call(const struct call *call, struct scene *scene, unsigned int nth, bool *more)
{
	int ret = call->prepare(scene);

	if (ret)
		return ret;
	inject(nth);
	ret = call->run(scene);
	*more = inject(0);
	if (ret == -ENOMEM && *more)
		ret = call->run(scene);
	if (ret)
		return ret;
	call->clean(scene);
	return 0;
}

static bool test_call(const struct call *call, struct scene *scene)
{
	unsigned int nth = 0;
	bool more = true;
	int ret = 0;

	while (more && !ret && ++nth < NTH_MAX)
		ret = try_call(call, scene, nth, &more);
	return campaign_result(!ret && !more, "%s with each of %u allocations failing: %s",
			       call->name, nth - 1, ret ? strerror(-ret) : "well");
}

/* Whatever binding says, the next one must find everything as it should be. */
static bool test_probe(unsigned int stride)
{
	unsigned int nth = 1, tried = 0, failed = 0;
	char function[32];
	bool more = true;
	int ret = 0;

	if (!find_function(function, sizeof(function)))
		return campaign_result(false, "the driver has no device");
	for (; more && !ret && nth < NTH_MAX; nth += stride) {
		ret = driver_write("unbind", function);
		if (ret)
			break;
		inject(nth);
		ret = driver_write("bind", function);
		more = inject(0);
		tried += more;
		failed += more && ret;
		if (more && ret)
			ret = driver_write("bind", function);
	}
	return campaign_result(!ret && !more, "bind with %u allocations failing in turn, %u of them "
			       "for good: %s", tried, failed, ret ? strerror(-ret) : "well");
}

/* From where to where the code of one of the kernel's functions is. */
static bool find_code(const char *function, unsigned long *start, unsigned long *end)
{
	unsigned long address;
	char name[256];
	FILE *file;
	int pass;

	*start = 0;
	*end = ~0ul;
	for (pass = 0; pass < 2; pass++) {
		file = fopen("/proc/kallsyms", "r");
		if (!file)
			return false;
		while (fscanf(file, "%lx %*c %255s%*[^\n]", &address, name) == 2) {
			if (!pass && !strcmp(name, function))
				*start = address;
			if (pass && address > *start && address < *end)
				*end = address;
		}
		fclose(file);
	}
	return *start && *end != ~0ul;
}

static bool set_place(const char *place, const char *what, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", place, what);
	return !write_file(path, value);
}

/*
 * The kernel goes on when a file of /proc/irq/N cannot be made, and warns when it takes away what is
 * not there. No driver could do anything about that, so what is allocated in there does not fail.
 */
static bool spare_irq_files(const char *place)
{
	unsigned long start, end;
	char from[32], to[32];

	if (!find_code("register_irq_proc", &start, &end))
		return false;
	snprintf(from, sizeof(from), "%#lx", start);
	snprintf(to, sizeof(to), "%#lx", end);
	return set_place(place, "reject-start", from) && set_place(place, "reject-end", to);
}

/* Otherwise only allocations that may not sleep fail; and it says so every time. */
static bool set_up(void)
{
	static const char *const places[] = { "failslab", "fail_page_alloc" };
	bool good = true;

	for (int i = 0; i < 2; i++) {
		good &= set_place(places[i], "ignore-gfp-wait", "N");
		good &= set_place(places[i], "verbose", "0");
		good &= spare_irq_files(places[i]);
	}
	good &= set_place(places[1], "min-order", "0");
	good &= set_place(places[1], "ignore-gfp-highmem", "N");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return good && fail_nth >= 0;
}

int main(int argc, char **argv)
{
	struct scene scene = { .worker = { .dice = 1, .fd = npu_open_any() } };
	unsigned int stride = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	bool good = true;

	if (!set_up() || scene.worker.fd < 0 || work_open(&scene.worker) ||
	    uring_open(&scene.ring, 4, 0)) {
		campaign_result(false, "a kernel with fault injection, and the device");
		return 1;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		good &= test_call(&calls[i], &scene);
	uring_close(&scene.ring);
	npu_lane_unmap(&scene.worker.lane);
	close(scene.worker.fd);
	if (stride)
		good &= test_probe(stride);
	return device_is_idle() && good ? 0 : 1;
}
