// SPDX-License-Identifier: GPL-2.0-only
/* Who has how much of the device, and who was refused more. The rules are npu_quota.c's. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "npu_account.h"
#include "npu_context.h"

/* Of each open file. */
#define NPU_WAITS_OF_FILE	4096
#define NPU_MAPPINGS_OF_FILE	1024

/**
 * npu_account_init() - nobody has anything
 * @ndev: its capabilities are known
 */
void npu_account_init(struct npu_device *ndev)
{
	const u64 all[NPU_QUOTA_KINDS] = {
		[NPU_QUOTA_BYTES] = (u64)totalram_pages() << PAGE_SHIFT >> 1,
		[NPU_QUOTA_CONTEXTS] = ndev->caps.contexts,
		[NPU_QUOTA_QUEUES] = ndev->caps.queues,
		[NPU_QUOTA_MAPPINGS] = NPU_MAPPINGS_OF_FILE,
		[NPU_QUOTA_WAITS] = NPU_WAITS_OF_FILE,
	};

	npu_quota_init(&ndev->quota, all);
}

/**
 * npu_account_new() - a file is opened
 * @ndev: the device
 *
 * Whoever opens it counts, also when others get to use it: his user, and whether he has
 * CAP_SYS_RESOURCE.
 *
 * Return: the account, NULL when there is no memory.
 */
struct npu_account *npu_account_new(struct npu_device *ndev)
{
	struct npu_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	struct npu_quota_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	bool taken;

	if (!account || !user) {
		kfree(user);
		kfree(account);
		return NULL;
	}
	kref_init(&account->ref);
	account->ndev = ndev;
	account->pid = task_tgid_nr(current);
	get_task_comm(account->comm, current);
	account->quota.privileged = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	user->uid = from_kuid(&init_user_ns, current_uid());
	spin_lock(&ndev->quota_lock);
	taken = npu_quota_open(&ndev->quota, &account->quota, user);
	list_add_tail(&account->link, &ndev->accounts);
	spin_unlock(&ndev->quota_lock);
	if (!taken)
		kfree(user);
	return account;
}

static void npu_account_free(struct kref *ref)
{
	struct npu_account *account = container_of(ref, struct npu_account, ref);
	struct npu_device *ndev = account->ndev;
	struct npu_quota_user *user;
	unsigned int kind;

	for (kind = 0; kind < NPU_QUOTA_KINDS; kind++)
		WARN_ON_ONCE(account->quota.count.used[kind]);
	spin_lock(&ndev->quota_lock);
	list_del(&account->link);
	user = npu_quota_close(&ndev->quota, &account->quota);
	spin_unlock(&ndev->quota_lock);
	kfree(user);
	kfree(account);
}

/**
 * npu_account_get() - one more has something on it
 * @account: the account
 *
 * Return: the same.
 */
struct npu_account *npu_account_get(struct npu_account *account)
{
	kref_get(&account->ref);
	return account;
}

/**
 * npu_account_put() - somebody has nothing on it any more
 * @account: the account
 */
void npu_account_put(struct npu_account *account)
{
	kref_put(&account->ref, npu_account_free);
}

/**
 * npu_account_take() - somebody wants more
 * @account: who
 * @kind: of what
 * @amount: how much
 *
 * Return: 0; -EDQUOT (he or his user would have too much), -ENOSPC (all together would).
 */
int npu_account_take(struct npu_account *account, enum npu_quota_kind kind, u64 amount)
{
	struct npu_device *ndev = account->ndev;
	int ret;

	spin_lock(&ndev->quota_lock);
	ret = npu_quota_take(&ndev->quota, &account->quota, kind, amount);
	spin_unlock(&ndev->quota_lock);
	return ret;
}

/**
 * npu_account_take_anyway() - somebody needs a little to be able to give back more
 * @account: who
 * @kind: of what
 * @amount: how much; caps are not looked at
 */
void npu_account_take_anyway(struct npu_account *account, enum npu_quota_kind kind, u64 amount)
{
	struct npu_device *ndev = account->ndev;

	spin_lock(&ndev->quota_lock);
	npu_quota_take_anyway(&ndev->quota, &account->quota, kind, amount);
	spin_unlock(&ndev->quota_lock);
}

/**
 * npu_account_give() - somebody gives back what he took
 * @account: who
 * @kind: of what
 * @amount: how much
 */
void npu_account_give(struct npu_account *account, enum npu_quota_kind kind, u64 amount)
{
	struct npu_device *ndev = account->ndev;

	spin_lock(&ndev->quota_lock);
	npu_quota_give(&ndev->quota, &account->quota, kind, amount);
	spin_unlock(&ndev->quota_lock);
}

/**
 * npu_charge_hold() - bytes are held once more
 * @charge: how often they are
 * @account: who pays when nobody else holds them
 * @bytes: the same each time
 *
 * Return: as npu_account_take().
 */
int npu_charge_hold(struct npu_charge *charge, struct npu_account *account, u64 bytes)
{
	struct npu_device *ndev = account->ndev;
	int ret = 0;

	spin_lock(&ndev->quota_lock);
	if (!charge->holds)
		ret = npu_quota_take(&ndev->quota, &account->quota, NPU_QUOTA_BYTES, bytes);
	if (!ret && !charge->holds++)
		charge->payer = npu_account_get(account);
	spin_unlock(&ndev->quota_lock);
	return ret;
}

/**
 * npu_charge_drop() - bytes are held once less
 * @charge: how often they are
 * @bytes: as when they were held
 */
void npu_charge_drop(struct npu_charge *charge, u64 bytes)
{
	struct npu_account *payer = charge->payer;
	struct npu_device *ndev = payer->ndev;
	bool last;

	spin_lock(&ndev->quota_lock);
	last = !--charge->holds;
	if (last) {
		npu_quota_give(&ndev->quota, &payer->quota, NPU_QUOTA_BYTES, bytes);
		charge->payer = NULL;
	}
	spin_unlock(&ndev->quota_lock);
	if (last)
		npu_account_put(payer);
}

/**
 * npu_account_cap() - how much somebody may have
 * @ndev: the device
 * @level: who
 * @kind: of what
 *
 * Return: the cap of this moment.
 */
u64 npu_account_cap(struct npu_device *ndev, enum npu_quota_level level, enum npu_quota_kind kind)
{
	u64 cap;

	spin_lock(&ndev->quota_lock);
	cap = ndev->quota.caps[level][kind];
	spin_unlock(&ndev->quota_lock);
	return cap;
}

static void npu_count_show(struct seq_file *to, const struct npu_quota_count *count)
{
	static const char *const names[NPU_QUOTA_KINDS] = {
		[NPU_QUOTA_BYTES] = "bytes", [NPU_QUOTA_CONTEXTS] = "contexts",
		[NPU_QUOTA_QUEUES] = "queues", [NPU_QUOTA_MAPPINGS] = "mappings",
		[NPU_QUOTA_WAITS] = "waits",
	};
	unsigned int kind;

	for (kind = 0; kind < NPU_QUOTA_KINDS; kind++)
		seq_printf(to, " %s=%llu refused-%s=%llu", names[kind], count->used[kind],
			   names[kind], count->refused[kind]);
}

/**
 * npu_account_show() - who has what, a line for the device, each user and each file
 * @ndev: the device
 * @to: where to
 */
void npu_account_show(struct npu_device *ndev, struct seq_file *to)
{
	const struct npu_account *account;
	const struct npu_quota_user *user;

	spin_lock(&ndev->quota_lock);
	seq_puts(to, "device");
	npu_count_show(to, &ndev->quota.count);
	for (user = ndev->quota.users; user; user = user->next) {
		seq_printf(to, "\nuser uid=%u files=%u", user->uid, user->files);
		npu_count_show(to, &user->count);
	}
	list_for_each_entry(account, &ndev->accounts, link) {
		seq_printf(to, "\nfile pid=%d uid=%u privileged=%d", account->pid,
			   account->quota.user->uid, account->quota.privileged);
		npu_count_show(to, &account->quota.count);
		/* A program names itself: nothing that could be taken for a line of ours. */
		seq_printf(to, " watching=%d armed=%lld events=%lld faults=%lld comm=%*pE",
			   atomic_read(&account->watching), atomic64_read(&account->armed),
			   atomic64_read(&account->events), atomic64_read(&account->faults),
			   (int)strnlen(account->comm, sizeof(account->comm)), account->comm);
	}
	seq_putc(to, '\n');
	spin_unlock(&ndev->quota_lock);
}
