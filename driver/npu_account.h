/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_ACCOUNT_H__
#define __NPU_ACCOUNT_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/sched.h>

#include "npu_quota.h"

struct npu_device;
struct seq_file;

/**
 * struct npu_account - what an open file has
 * @ref: by the file, its contexts, and buffers that it pays for
 * @ndev: the device, which outlives it by those who have references
 * @link: in the device's list; under its quota_lock
 * @quota: under the same lock
 * @pid: of the process that opened it, for people
 * @comm: its name
 * @watching: semaphores that are waited for
 * @armed: how often a watch was armed
 * @events: how often one fired
 * @faults: how often an access failed
 */
struct npu_account {
	struct kref ref;
	struct npu_device *ndev;
	struct list_head link;
	struct npu_quota_file quota;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	atomic_t watching;
	atomic64_t armed;
	atomic64_t events;
	atomic64_t faults;
};

/**
 * struct npu_charge - bytes that are paid for once, however often they are held
 * @payer: who held them first, with a reference; under the device's quota_lock
 * @holds: how often; under the same lock
 */
struct npu_charge {
	struct npu_account *payer;
	unsigned long holds;
};

/* npu_account.c */
void npu_account_init(struct npu_device *ndev);
struct npu_account *npu_account_new(struct npu_device *ndev);
struct npu_account *npu_account_get(struct npu_account *account);
void npu_account_put(struct npu_account *account);
int npu_account_take(struct npu_account *account, enum npu_quota_kind kind, u64 amount);
void npu_account_take_anyway(struct npu_account *account, enum npu_quota_kind kind, u64 amount);
void npu_account_give(struct npu_account *account, enum npu_quota_kind kind, u64 amount);
int npu_charge_hold(struct npu_charge *charge, struct npu_account *account, u64 bytes);
void npu_charge_drop(struct npu_charge *charge, u64 bytes);
u64 npu_account_cap(struct npu_device *ndev, enum npu_quota_level level, enum npu_quota_kind kind);
void npu_account_show(struct npu_device *ndev, struct seq_file *to);

/* npu_limits.c */
extern const struct attribute_group npu_limits_group;

#endif /* __NPU_ACCOUNT_H__ */
