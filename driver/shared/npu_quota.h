/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Who may have how much of a device: caps for all, for a user and for an open file.
 *
 * One source for the kernel driver and its tests. Nothing is allocated here, and the caller
 * serializes all calls on one struct npu_quota.
 */
#ifndef NPU_QUOTA_H
#define NPU_QUOTA_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

/**
 * enum npu_quota_kind - what is counted
 * @NPU_QUOTA_BYTES: of pinned memory, page tables included
 * @NPU_QUOTA_CONTEXTS: contexts
 * @NPU_QUOTA_QUEUES: queues
 * @NPU_QUOTA_MAPPINGS: ranges of addresses with something bound
 * @NPU_QUOTA_WAITS: waits that nobody sleeps in
 * @NPU_QUOTA_KINDS: how many these are
 */
enum npu_quota_kind {
	NPU_QUOTA_BYTES,
	NPU_QUOTA_CONTEXTS,
	NPU_QUOTA_QUEUES,
	NPU_QUOTA_MAPPINGS,
	NPU_QUOTA_WAITS,
	NPU_QUOTA_KINDS
};

/**
 * enum npu_quota_level - for whom a cap is
 * @NPU_QUOTA_DEVICE: all together
 * @NPU_QUOTA_USER: the files of a user together; those that are privileged may go beyond it
 * @NPU_QUOTA_FILE: each open file
 * @NPU_QUOTA_LEVELS: how many these are
 */
enum npu_quota_level {
	NPU_QUOTA_DEVICE,
	NPU_QUOTA_USER,
	NPU_QUOTA_FILE,
	NPU_QUOTA_LEVELS
};

/* A cap that nothing reaches. */
#define NPU_QUOTA_NO_CAP	(~(__u64)0)

/**
 * struct npu_quota_count - what somebody has
 * @used: amounts
 * @refused: how often more was refused, whatever the cap it met
 */
struct npu_quota_count {
	__u64 used[NPU_QUOTA_KINDS];
	__u64 refused[NPU_QUOTA_KINDS];
};

/**
 * struct npu_quota_user - a user with open files
 * @next: of all users
 * @uid: which
 * @files: how many files are open
 * @count: what they have together
 */
struct npu_quota_user {
	struct npu_quota_user *next;
	__u32 uid;
	__u32 files;
	struct npu_quota_count count;
};

/**
 * struct npu_quota_file - an open file
 * @user: whose
 * @privileged: may go beyond its user's cap
 * @count: what it has
 */
struct npu_quota_file {
	struct npu_quota_user *user;
	bool privileged;
	struct npu_quota_count count;
};

/**
 * struct npu_quota - a device
 * @caps: may be changed at any time; who has more already keeps it
 * @users: those with open files
 * @count: what all have together
 */
struct npu_quota {
	__u64 caps[NPU_QUOTA_LEVELS][NPU_QUOTA_KINDS];
	struct npu_quota_user *users;
	struct npu_quota_count count;
};

/**
 * npu_quota_init() - nobody has anything
 * @quota: to be initialized
 * @all: of each kind what all may have together; a user may have half of it. Mappings and waits
 *	 are for each file
 */
void npu_quota_init(struct npu_quota *quota, const __u64 all[NPU_QUOTA_KINDS]);

/**
 * npu_quota_open() - a file is opened
 * @quota: the device
 * @file: the file, zeroed but for @privileged
 * @fresh: zeroed but for @uid, in case that this user has no other file
 *
 * Return: whether @fresh was taken; it comes back from npu_quota_close().
 */
bool npu_quota_open(struct npu_quota *quota, struct npu_quota_file *file,
		    struct npu_quota_user *fresh);

/**
 * npu_quota_close() - a file is closed
 * @quota: the device
 * @file: has nothing any more
 *
 * Return: its user when that was his last file, to be freed; else NULL.
 */
struct npu_quota_user *npu_quota_close(struct npu_quota *quota, struct npu_quota_file *file);

/**
 * npu_quota_take() - somebody wants more
 * @quota: the device
 * @file: who
 * @kind: of what
 * @amount: how much
 *
 * Return: 0; -EDQUOT (file or user would have too much), -ENOSPC (all together would).
 */
int npu_quota_take(struct npu_quota *quota, struct npu_quota_file *file, enum npu_quota_kind kind,
		   __u64 amount);

/**
 * npu_quota_take_anyway() - somebody needs a little to be able to give back more
 * @quota: the device
 * @file: who
 * @kind: of what
 * @amount: how much; caps are not looked at
 */
void npu_quota_take_anyway(struct npu_quota *quota, struct npu_quota_file *file,
			   enum npu_quota_kind kind, __u64 amount);

/**
 * npu_quota_give() - somebody gives back
 * @quota: the device
 * @file: who
 * @kind: of what
 * @amount: how much of what was taken
 */
void npu_quota_give(struct npu_quota *quota, struct npu_quota_file *file, enum npu_quota_kind kind,
		    __u64 amount);

#endif /* NPU_QUOTA_H */
