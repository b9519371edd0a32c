// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Who may have how much of a device. See npu_quota.h. */
#include "npu_quota.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#include <stddef.h>
#endif

/* A part of a whole that is there is never nothing. */
static __u64 quota_half(__u64 whole)
{
	return whole > 1 ? whole / 2 : whole;
}

static bool quota_is_each_files(enum npu_quota_kind kind)
{
	return kind == NPU_QUOTA_MAPPINGS || kind == NPU_QUOTA_WAITS;
}

void npu_quota_init(struct npu_quota *quota, const __u64 all[NPU_QUOTA_KINDS])
{
	unsigned int kind;

	*quota = (struct npu_quota){ .users = NULL };
	for (kind = 0; kind < NPU_QUOTA_KINDS; kind++) {
		bool each = quota_is_each_files(kind);

		quota->caps[NPU_QUOTA_DEVICE][kind] = each ? NPU_QUOTA_NO_CAP : all[kind];
		quota->caps[NPU_QUOTA_USER][kind] = each ? NPU_QUOTA_NO_CAP : quota_half(all[kind]);
		quota->caps[NPU_QUOTA_FILE][kind] = each ? all[kind] : NPU_QUOTA_NO_CAP;
	}
}

bool npu_quota_open(struct npu_quota *quota, struct npu_quota_file *file,
		    struct npu_quota_user *fresh)
{
	struct npu_quota_user *user = quota->users;

	while (user && user->uid != fresh->uid)
		user = user->next;
	if (!user) {
		user = fresh;
		user->next = quota->users;
		quota->users = user;
	}
	user->files++;
	file->user = user;
	return user == fresh;
}

struct npu_quota_user *npu_quota_close(struct npu_quota *quota, struct npu_quota_file *file)
{
	struct npu_quota_user **at = &quota->users;
	struct npu_quota_user *user = file->user;

	file->user = NULL;
	if (--user->files)
		return NULL;
	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	return user;
}

/* A cap may have become smaller than what is used. */
static bool quota_fits(__u64 used, __u64 amount, __u64 cap)
{
	return used <= cap && amount <= cap - used;
}

static int quota_look(const struct npu_quota *quota, const struct npu_quota_file *file,
		      enum npu_quota_kind kind, __u64 amount)
{
	if (!quota_fits(file->count.used[kind], amount, quota->caps[NPU_QUOTA_FILE][kind]))
		return -EDQUOT;
	if (!file->privileged && !quota_fits(file->user->count.used[kind], amount,
					     quota->caps[NPU_QUOTA_USER][kind]))
		return -EDQUOT;
	if (!quota_fits(quota->count.used[kind], amount, quota->caps[NPU_QUOTA_DEVICE][kind]))
		return -ENOSPC;
	return 0;
}

int npu_quota_take(struct npu_quota *quota, struct npu_quota_file *file, enum npu_quota_kind kind,
		   __u64 amount)
{
	int ret = quota_look(quota, file, kind, amount);

	if (ret) {
		file->count.refused[kind]++;
		file->user->count.refused[kind]++;
		quota->count.refused[kind]++;
		return ret;
	}
	npu_quota_take_anyway(quota, file, kind, amount);
	return 0;
}

void npu_quota_take_anyway(struct npu_quota *quota, struct npu_quota_file *file,
			   enum npu_quota_kind kind, __u64 amount)
{
	file->count.used[kind] += amount;
	file->user->count.used[kind] += amount;
	quota->count.used[kind] += amount;
}

void npu_quota_give(struct npu_quota *quota, struct npu_quota_file *file, enum npu_quota_kind kind,
		    __u64 amount)
{
	file->count.used[kind] -= amount;
	file->user->count.used[kind] -= amount;
	quota->count.used[kind] -= amount;
}
