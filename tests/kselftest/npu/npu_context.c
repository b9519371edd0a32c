// SPDX-License-Identifier: MIT
/* Contexts: DRM_IOCTL_NPU_CTX_CREATE, CTX_DESTROY, CTX_STATUS, the semaphore area. */
#include <pthread.h>

#include "npu_test.h"

FIXTURE(context) {
	int fd;
};

FIXTURE_SETUP(context)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(context)
{
	close(self->fd);
}

TEST_F(context, create_and_destroy)
{
	int i;

	for (i = 0; i < 200; i++) {
		uint32_t ctx = npu_context(self->fd);

		ASSERT_NE(0, ctx);
		ASSERT_EQ(0, npu_context_destroy(self->fd, ctx));
		ASSERT_EQ(-ENOENT, npu_context_destroy(self->fd, ctx));
	}
}

TEST_F(context, what_create_tells)
{
	struct drm_npu_ctx_create create = { .flags = DRM_NPU_CTX_SMALL_PAGES };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_SEMAPHORES), create.semaphores);
	EXPECT_GE(create.status_offset, create.semaphores * 8);
	EXPECT_GE(create.semaphores_bytes, create.status_offset + 4);
}

TEST_F(context, unknown_flags)
{
	int bit;

	for (bit = 1; bit < 32; bit++) {
		struct drm_npu_ctx_create create = { .flags = 1u << bit };

		EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
		EXPECT_EQ(0, create.ctx);
	}
}

TEST_F(context, padding)
{
	struct drm_npu_ctx_create create = { .pad = 1 };
	struct drm_npu_ctx_destroy destroy = { .ctx = npu_context(self->fd), .pad = 1 };

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	create = (struct drm_npu_ctx_create){ .pad2 = 1 };
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_DESTROY, &destroy));
	EXPECT_EQ(0, npu_context_destroy(self->fd, destroy.ctx));
}

TEST_F(context, bad_pointers)
{
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, NULL));
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_CTX_DESTROY, NULL));
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, NULL));
}

TEST_F(context, destroy_what_is_not_there)
{
	EXPECT_EQ(-ENOENT, npu_context_destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, npu_context_destroy(self->fd, 1000));
	EXPECT_EQ(-ENOENT, npu_context_destroy(self->fd, UINT32_MAX));
}

TEST_F(context, of_another_file)
{
	uint32_t ctx = npu_context(self->fd);
	struct drm_npu_ctx_status status = { .ctx = ctx };
	int fd = npu_open();

	ASSERT_NE(0, ctx);
	EXPECT_EQ(-ENOENT, npu_context_destroy(fd, ctx));
	EXPECT_EQ(-ENOENT, npu_call(fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(0, npu_context_destroy(self->fd, ctx));
	close(fd);
}

/* Those of a file go with it. */
TEST_F(context, all_in_use)
{
	uint32_t contexts = npu_param(self->fd, DRM_NPU_PARAM_CONTEXTS);
	struct drm_npu_ctx_create create;
	uint32_t made = 0;
	int ret, round;

	for (round = 0; round < 2; round++) {
		for (made = 0; made <= contexts; made++) {
			memset(&create, 0, sizeof(create));
			ret = npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create);
			if (ret)
				break;
		}
		EXPECT_EQ(-ENOSPC, ret);
		EXPECT_EQ(contexts, made);
		close(self->fd);
		self->fd = npu_open();
		ASSERT_GE(self->fd, 0);
	}
}

#define RACERS 5

struct racer {
	int fd;
	bool guesses; /* destroys what others make, by number; else makes */
	bool *stop;
	unsigned int done, wrong;
	pthread_t thread;
};

static void *race(void *argument)
{
	struct racer *racer = argument;
	uint32_t guess = 0;

	while (!__atomic_load_n(racer->stop, __ATOMIC_ACQUIRE)) {
		uint32_t ctx = racer->guesses ? 1 + guess++ % 8 : npu_context(racer->fd);
		int ret = npu_context_destroy(racer->fd, ctx);

		if (!ret)
			__atomic_fetch_add(&racer->done, 1, __ATOMIC_RELAXED);
		racer->wrong += ret && ret != -ENOENT;
	}
	return NULL;
}

static bool has_guessed(const struct racer *racers)
{
	return __atomic_load_n(&racers[0].done, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&racers[1].done, __ATOMIC_RELAXED);
}

/* A number that is about to become a context's belongs to nobody else, and nothing is lost. */
TEST_F(context, destroyed_while_it_is_made)
{
	uint32_t contexts = npu_param(self->fd, DRM_NPU_PARAM_CONTEXTS), made = 0, i;
	struct racer racers[RACERS];
	bool stop = false;

	for (i = 0; i < RACERS; i++) {
		racers[i] = (struct racer){ .fd = self->fd, .guesses = i < 2, .stop = &stop };
		ASSERT_EQ(0, pthread_create(&racers[i].thread, NULL, race, &racers[i]));
	}
	/* On a busy machine it takes longer until a guess is right. */
	for (i = 0; i < 15 || (i < 300 && !has_guessed(racers)); i++)
		usleep(100000);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < RACERS; i++)
		pthread_join(racers[i].thread, NULL);
	for (i = 0; i < RACERS; i++)
		EXPECT_EQ(0, racers[i].wrong);
	EXPECT_LT(0, racers[0].done + racers[1].done);
	close(self->fd);
	self->fd = npu_open();
	while (npu_context(self->fd))
		made++;
	EXPECT_EQ(contexts, made);
}

TEST_F(context, semaphores_start_at_zero)
{
	struct drm_npu_ctx_create create = { 0 };
	const uint64_t *area;
	uint32_t i;

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	area = mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)create.semaphores_offset);
	ASSERT_NE(MAP_FAILED, (void *)area);
	for (i = 0; i < create.semaphores; i++)
		ASSERT_EQ(0, area[i]);
	EXPECT_EQ(0, *(const uint32_t *)((const char *)area + create.status_offset));
}

TEST_F(context, semaphores_are_read_only)
{
	struct drm_npu_ctx_create create = { 0 };
	void *area;

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, create.semaphores_bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED, self->fd, (off_t)create.semaphores_offset));
	area = mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)create.semaphores_offset);
	ASSERT_NE(MAP_FAILED, area);
	EXPECT_NE(0, mprotect(area, create.semaphores_bytes, PROT_READ | PROT_WRITE));
}

TEST_F(context, semaphores_outlive_everything)
{
	struct drm_npu_ctx_create create = { 0 };
	volatile const uint64_t *area;

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	area = mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)create.semaphores_offset);
	ASSERT_NE(MAP_FAILED, (void *)area);
	ASSERT_EQ(0, npu_context_destroy(self->fd, create.ctx));
	EXPECT_EQ(0, area[3]);
	/* An offset of what is gone maps nothing any more. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)create.semaphores_offset));
	close(self->fd);
	EXPECT_EQ(0, area[3]);
	self->fd = npu_open();
}

TEST_F(context, semaphores_of_another_file)
{
	struct drm_npu_ctx_create create = { 0 };
	int fd = npu_open();

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, fd,
				   (off_t)create.semaphores_offset));
	close(fd);
}

TEST_F(context, status_of_a_new_one)
{
	struct drm_npu_ctx_status status = { .ctx = npu_context(self->fd) };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_ALIVE, status.state);
	EXPECT_EQ(0, status.error);
	EXPECT_EQ(0, status.faults);
	EXPECT_EQ(0, status.fault_error);
	EXPECT_EQ(0, status.fault_address);
}

TEST_F(context, status_with_wrong_fields)
{
	uint32_t ctx = npu_context(self->fd);
	struct drm_npu_ctx_status status = { .ctx = ctx, .task_id = 1 };
	int bit;

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	for (bit = 1; bit < 32; bit++) {
		status = (struct drm_npu_ctx_status){ .ctx = ctx, .flags = 1u << bit };
		EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	}
	status = (struct drm_npu_ctx_status){ .ctx = ctx + 1 };
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
}

TEST_HARNESS_MAIN
