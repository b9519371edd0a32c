// SPDX-License-Identifier: MIT
/* Caps of a device, its users and their files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "npu_quota.h"

static const __u64 all[NPU_QUOTA_KINDS] = {
	[NPU_QUOTA_BYTES] = 1000, [NPU_QUOTA_CONTEXTS] = 8, [NPU_QUOTA_QUEUES] = 1,
	[NPU_QUOTA_MAPPINGS] = 5, [NPU_QUOTA_WAITS] = 3,
};

struct fixture {
	struct npu_quota quota;
	struct npu_quota_user users[3];
	struct npu_quota_file a1, a2, b1, root;
};

static void open_file(struct fixture *f, struct npu_quota_file *file, int user, __u32 uid,
		      bool fresh)
{
	f->users[user].uid = uid;
	assert_int_equal(npu_quota_open(&f->quota, file, &f->users[user]), fresh);
	assert_ptr_equal(file->user, &f->users[user]);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	npu_quota_init(&f->quota, all);
	f->root.privileged = true;
	open_file(f, &f->a1, 0, 1000, true);
	open_file(f, &f->b1, 1, 1001, true);
	open_file(f, &f->root, 2, 0, true);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static int take(struct fixture *f, struct npu_quota_file *file, enum npu_quota_kind kind,
		__u64 amount)
{
	return npu_quota_take(&f->quota, file, kind, amount);
}

static void test_caps(void **state)
{
	struct fixture *f = *state;
	__u64 (*caps)[NPU_QUOTA_KINDS] = f->quota.caps;

	assert_int_equal(caps[NPU_QUOTA_DEVICE][NPU_QUOTA_BYTES], 1000);
	assert_int_equal(caps[NPU_QUOTA_USER][NPU_QUOTA_BYTES], 500);
	assert_true(caps[NPU_QUOTA_FILE][NPU_QUOTA_BYTES] == NPU_QUOTA_NO_CAP);
	assert_int_equal(caps[NPU_QUOTA_USER][NPU_QUOTA_CONTEXTS], 4);
	/* Half of one would be none. */
	assert_int_equal(caps[NPU_QUOTA_USER][NPU_QUOTA_QUEUES], 1);
	assert_true(caps[NPU_QUOTA_DEVICE][NPU_QUOTA_WAITS] == NPU_QUOTA_NO_CAP);
	assert_true(caps[NPU_QUOTA_USER][NPU_QUOTA_MAPPINGS] == NPU_QUOTA_NO_CAP);
	assert_int_equal(caps[NPU_QUOTA_FILE][NPU_QUOTA_MAPPINGS], 5);
}

/* A user has half, by however many files; others have the rest. */
static void test_a_users_half(void **state)
{
	struct fixture *f = *state;

	assert_false(npu_quota_open(&f->quota, &f->a2, &(struct npu_quota_user){ .uid = 1000 }));
	assert_ptr_equal(f->a2.user, f->a1.user);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_CONTEXTS, 3), 0);
	assert_int_equal(take(f, &f->a2, NPU_QUOTA_CONTEXTS, 2), -EDQUOT);
	assert_int_equal(take(f, &f->a2, NPU_QUOTA_CONTEXTS, 1), 0);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_CONTEXTS, 1), -EDQUOT);
	assert_int_equal(take(f, &f->b1, NPU_QUOTA_CONTEXTS, 4), 0);
	npu_quota_give(&f->quota, &f->a2, NPU_QUOTA_CONTEXTS, 1);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_CONTEXTS, 1), 0);
	assert_int_equal(f->a1.count.used[NPU_QUOTA_CONTEXTS], 4);
	assert_int_equal(f->a1.count.refused[NPU_QUOTA_CONTEXTS], 1);
	assert_int_equal(f->a2.count.refused[NPU_QUOTA_CONTEXTS], 1);
	assert_int_equal(f->users[0].count.refused[NPU_QUOTA_CONTEXTS], 2);
	assert_int_equal(f->quota.count.used[NPU_QUOTA_CONTEXTS], 8);
}

/* Who is privileged has all that is left, and then the device has no more. */
static void test_privileged(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 700), 0);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 301), -ENOSPC);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 301), -ENOSPC);
	/* His own cap is looked at first: others need not go for him. */
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 501), -EDQUOT);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 300), 0);
	/* What is each file's own, is his as well. */
	assert_int_equal(take(f, &f->root, NPU_QUOTA_WAITS, 4), -EDQUOT);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_WAITS, 3), 0);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_WAITS, 3), 0);
	assert_int_equal(f->quota.count.refused[NPU_QUOTA_BYTES], 3);
}

/* Amounts that do not fit into anything, and a cap that comes to lie below what is used. */
static void test_extremes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 1000), 0);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, ~(__u64)0), -EDQUOT);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 0), 0);
	f->quota.caps[NPU_QUOTA_DEVICE][NPU_QUOTA_BYTES] = 10;
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 1), -ENOSPC);
	npu_quota_give(&f->quota, &f->root, NPU_QUOTA_BYTES, 991);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 2), -ENOSPC);
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, 1), 0);
	f->quota.caps[NPU_QUOTA_DEVICE][NPU_QUOTA_BYTES] = NPU_QUOTA_NO_CAP;
	assert_int_equal(take(f, &f->root, NPU_QUOTA_BYTES, ~(__u64)0), -EDQUOT);
	assert_int_equal(f->quota.count.used[NPU_QUOTA_BYTES], 10);
}

/* Beyond all caps, and then there is less than nothing left. */
static void test_anyway(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 500), 0);
	npu_quota_take_anyway(&f->quota, &f->a1, NPU_QUOTA_BYTES, 600);
	assert_int_equal(f->quota.count.used[NPU_QUOTA_BYTES], 1100);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 1), -EDQUOT);
	assert_int_equal(take(f, &f->b1, NPU_QUOTA_BYTES, 1), -ENOSPC);
	npu_quota_give(&f->quota, &f->a1, NPU_QUOTA_BYTES, 1100);
	assert_int_equal(take(f, &f->a1, NPU_QUOTA_BYTES, 500), 0);
}

static void test_users_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct npu_quota_user again = { .uid = 1001 };

	assert_false(npu_quota_open(&f->quota, &f->a2, &(struct npu_quota_user){ .uid = 1000 }));
	assert_ptr_equal(npu_quota_close(&f->quota, &f->b1), &f->users[1]);
	assert_null(npu_quota_close(&f->quota, &f->a1));
	assert_null(f->a1.user);
	assert_int_equal(f->users[0].files, 1);
	assert_true(npu_quota_open(&f->quota, &f->b1, &again));
	assert_ptr_equal(npu_quota_close(&f->quota, &f->a2), &f->users[0]);
	assert_ptr_equal(npu_quota_close(&f->quota, &f->root), &f->users[2]);
	assert_ptr_equal(npu_quota_close(&f->quota, &f->b1), &again);
	assert_null(f->quota.users);
}

#define FILES 12
#define USERS 4

/* Against sums that are made anew each time. */
static __u64 sum_of(const struct npu_quota_file *files, const struct npu_quota_user *user,
		    enum npu_quota_kind kind)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < FILES; i++) {
		if (!user || files[i].user == user)
			sum += files[i].count.used[kind];
	}
	return sum;
}

static int expected(const struct npu_quota *quota, const struct npu_quota_file *files,
		    const struct npu_quota_file *file, enum npu_quota_kind kind, __u64 amount)
{
	if (file->count.used[kind] + amount > quota->caps[NPU_QUOTA_FILE][kind])
		return -EDQUOT;
	if (!file->privileged &&
	    sum_of(files, file->user, kind) + amount > quota->caps[NPU_QUOTA_USER][kind])
		return -EDQUOT;
	if (sum_of(files, NULL, kind) + amount > quota->caps[NPU_QUOTA_DEVICE][kind])
		return -ENOSPC;
	return 0;
}

static void test_random(void **state)
{
	struct npu_quota quota;
	struct npu_quota_user users[USERS] = { 0 };
	struct npu_quota_file files[FILES] = { 0 };
	int outcomes[3] = { 0 };
	unsigned int seed = 1;
	int i, ret;

	(void)state;
	npu_quota_init(&quota, all);
	for (i = 0; i < FILES; i++) {
		users[i % USERS].uid = 100 + i % USERS;
		files[i].privileged = i % USERS == 0;
		npu_quota_open(&quota, &files[i], &users[i % USERS]);
	}
	for (i = 0; i < 100000; i++) {
		struct npu_quota_file *file = &files[rand_r(&seed) % FILES];
		enum npu_quota_kind kind = rand_r(&seed) % NPU_QUOTA_KINDS;
		__u64 amount = rand_r(&seed) % (all[kind] / 4 + 1);

		if (rand_r(&seed) % 5 < 2 && amount <= file->count.used[kind]) {
			npu_quota_give(&quota, file, kind, amount);
			continue;
		}
		ret = expected(&quota, files, file, kind, amount);
		outcomes[ret == -EDQUOT ? 1 : ret == -ENOSPC ? 2 : 0]++;
		assert_int_equal(npu_quota_take(&quota, file, kind, amount), ret);
		assert_int_equal(quota.count.used[kind], sum_of(files, NULL, kind));
		assert_int_equal(file->user->count.used[kind], sum_of(files, file->user, kind));
	}
	for (i = 0; i < 3; i++)
		assert_true(outcomes[i] > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_caps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_users_half, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_privileged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_extremes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_anyway, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_users_come_and_go, set_up, tear_down),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
