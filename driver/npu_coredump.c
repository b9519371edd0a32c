// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a device that failed leaves for those who look for the fault: its registers, read before it
 * was stopped, and everybody's rings and states, before they end. The form of it is uapi's
 * npu_coredump.h; Documentation/driver/coredump.rst says what is in it.
 *
 * Nobody waits for memory for its sake: without, there is no dump.
 */
#include <linux/devcoredump.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include <npu/npu_coredump.h>

#include "npu_context.h"

/* Of each queue: what was done last, and what was to come. */
#define NPU_CORE_PACKETS	64
#define NPU_CORE_PACKETS_BEFORE	16

/* Of the device's rings, and of each context as much as there is room for on average. */
#define NPU_CORE_ENTRIES	64
#define NPU_CORE_SEMAPHORES	64

static unsigned int npu_coredump_interval = 300;
module_param_named(coredump_interval, npu_coredump_interval, uint, 0644);
MODULE_PARM_DESC(coredump_interval,
		 "Seconds after a core dump in which a device makes no other (default 300)");

/* Those that a read does nothing to, the halves of a counter but for each other. */
static const struct {
	u16 first;
	u16 last;
} npu_core_ranges[] = {
	{ NPU_REG_ID, NPU_REG_HW_VERSION },
	{ NPU_REG_CLUSTERS, NPU_REG_CONFIG_NAME + 12 },
	{ NPU_REG_BOOT_ADDRESS_LO, NPU_REG_BOOT_SIZE },
	{ NPU_REG_BOOT_STATUS, NPU_REG_FW_STATE },
	{ NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ENABLE },
	{ NPU_REG_MAILBOX_TO_FW, NPU_REG_MAILBOX_TO_FW_SEND },
	{ NPU_REG_MAILBOX_TO_HOST, NPU_REG_MAILBOX_TO_HOST_SEND },
	{ NPU_REG_CONTEXT_TABLE_LO, NPU_REG_CONTEXT_TABLE_HI },
	{ NPU_REG_TLB_ADDRESS_LO, NPU_REG_TLB_BYTES_HI },
	{ NPU_REG_TLB_DONE, NPU_REG_TLB_DONE },
	{ NPU_REG_FAULT_BASE_LO, NPU_REG_FAULT_LOST },
	{ NPU_REG_EVENT_BASE_LO, NPU_REG_EVENT_CONSUMER },
	{ NPU_REG_TIME_LO, NPU_REG_TIME_HI },
	{ NPU_REG_COUNTER_TASKS_LO, NPU_REG_COUNTER_POINT_HI(3) },
	{ NPU_REG_ERROR_STATUS, NPU_REG_ERROR_ADDRESS },
	{ NPU_REG_CLUSTERS_ASLEEP, NPU_REG_CLOCK_POINT_HZ(3) },
};

#define NPU_CORE_REGISTERS	160

/**
 * struct npu_core - what is noted of a failure, until the dump is made
 * @wanted: there is one to be made
 * @made: jiffies when the last was wanted; 0: none was
 * @cause: as in the dump
 * @registers: as in the dump
 * @count: number of @registers
 * @ndev: whose
 * @work: makes the dump of a device that is not reset
 */
struct npu_core {
	bool wanted;
	u64 made;
	struct npu_coredump_cause cause;
	struct npu_coredump_register registers[NPU_CORE_REGISTERS];
	u32 count;
	struct npu_device *ndev;
	struct work_struct work;
};

static void npu_core_read(struct npu_device *ndev, bool answers)
{
	struct npu_core *core = ndev->core;
	u32 i, reg;

	core->count = 0;
	/* A counter's halves are latched for one reader. */
	guard(mutex)(&ndev->counter_lock);
	for (i = 0; i < ARRAY_SIZE(npu_core_ranges); i++) {
		for (reg = npu_core_ranges[i].first; reg <= npu_core_ranges[i].last; reg += 4) {
			struct npu_coredump_register *to = &core->registers[core->count];

			if (WARN_ON_ONCE(core->count == NPU_CORE_REGISTERS))
				return;
			to->offset = cpu_to_le32(reg);
			to->value = cpu_to_le32(answers ? npu_read(ndev, reg) : ~0u);
			core->count++;
		}
	}
}

static bool npu_core_is_due(const struct npu_core *core)
{
	u64 interval = (u64)READ_ONCE(npu_coredump_interval) * HZ;

	return !core->made || time_after_eq64(get_jiffies_64(), core->made + interval);
}

/**
 * npu_coredump_look() - the device has failed, and is about to be stopped
 * @ndev: the device
 * @answers: its registers can be read
 * @again: it is reset, and its dump made by the one who does so
 * @failure: why
 */
void npu_coredump_look(struct npu_device *ndev, bool answers, bool again,
		       enum npu_failure failure)
{
	struct npu_core *core = ndev->core;

	lockdep_assert_held(&ndev->stop_lock);
	/* Nobody could have used it yet, or nobody can any more. */
	if (!ndev->drm.registered || !npu_core_is_due(core))
		return;
	core->made = get_jiffies_64();
	core->wanted = true;
	core->cause = (struct npu_coredump_cause){
		.time_ns = cpu_to_le64(ktime_get_real_ns()),
		.uptime_ns = cpu_to_le64(ktime_get_boottime_ns()),
		.outcome = cpu_to_le32(again ? NPU_COREDUMP_RESET : NPU_COREDUMP_DEAD),
		.answers = cpu_to_le32(answers),
		.resets = cpu_to_le32(atomic_read(&ndev->resets)),
		.failure = cpu_to_le32(failure),
	};
	strscpy(core->cause.reason, npu_failure_text(failure), sizeof(core->cause.reason));
	npu_core_read(ndev, answers);
	if (!again)
		schedule_work(&core->work);
}

/**
 * npu_coredump_tell() - the registers that were noted for the last dump
 * @ndev: the device
 * @tell: is called with each
 * @to: handed on
 */
void npu_coredump_tell(struct npu_device *ndev, void (*tell)(void *to, u32 offset, u32 value),
		       void *to)
{
	const struct npu_core *core = ndev->core;
	u32 i, count;
	/* Whoever stops the device waits for nobody who needs memory. */
	struct npu_coredump_register *registers __free(kfree) =
		kmalloc(sizeof(core->registers), GFP_KERNEL);

	if (!registers)
		return;
	scoped_guard(mutex, &ndev->stop_lock) {
		count = core->count;
		memcpy(registers, core->registers, sizeof(core->registers));
	}
	for (i = 0; i < count; i++)
		tell(to, le32_to_cpu(registers[i].offset), le32_to_cpu(registers[i].value));
}

/* ----------------------------------------------------------------------------- writing it */

/**
 * struct npu_core_text - a dump that grows
 * @to: where it begins
 * @room: bytes there
 * @used: bytes written
 * @section: the last one, still open
 * @cut: something did not fit
 */
struct npu_core_text {
	void *to;
	size_t room;
	size_t used;
	struct npu_coredump_section *section;
	bool cut;
};

/* Zeroed; NULL when it does not fit. */
static void *npu_core_put(struct npu_core_text *text, size_t bytes)
{
	void *at = text->to + text->used;

	if (bytes > text->room - text->used) {
		text->cut = true;
		return NULL;
	}
	text->used += bytes;
	return at;
}

/* All that follows is of one kind. */
static bool npu_core_section(struct npu_core_text *text, enum npu_coredump_kind kind, u32 index,
			     size_t entry_bytes)
{
	text->used = ALIGN(text->used, NPU_COREDUMP_ALIGN);
	if (text->used > text->room)
		text->used = text->room;
	text->section = npu_core_put(text, sizeof(*text->section));
	if (!text->section)
		return false;
	text->section->kind = cpu_to_le32(kind);
	text->section->index = cpu_to_le32(index);
	text->section->entry_bytes = cpu_to_le32(entry_bytes);
	return true;
}

static void *npu_core_entry(struct npu_core_text *text)
{
	void *entry = NULL;

	if (text->section)
		entry = npu_core_put(text, le32_to_cpu(text->section->entry_bytes));
	if (entry)
		le32_add_cpu(&text->section->entries, 1);
	return entry;
}

static void npu_core_entries(struct npu_core_text *text, const void *from, size_t bytes, u32 count)
{
	void *entry;
	u32 i;

	for (i = 0; i < count; i++) {
		entry = npu_core_entry(text);
		if (!entry)
			return;
		memcpy(entry, from + i * bytes, bytes);
	}
}

static void npu_core_cause(struct npu_core_text *text, const struct npu_core *core)
{
	npu_core_section(text, NPU_COREDUMP_CAUSE, 0, sizeof(core->cause));
	npu_core_entries(text, &core->cause, sizeof(core->cause), 1);
	npu_core_section(text, NPU_COREDUMP_REGISTERS, 0, sizeof(core->registers[0]));
	npu_core_entries(text, core->registers, sizeof(core->registers[0]), core->count);
}

static void npu_core_system(struct npu_core_text *text, struct npu_device *ndev)
{
	const struct drm_driver *driver = ndev->drm.driver;
	struct npu_coredump_system *system;

	npu_core_section(text, NPU_COREDUMP_SYSTEM, 0, sizeof(*system));
	system = npu_core_entry(text);
	if (!system)
		return;
	strscpy(system->device, dev_name(ndev->drm.dev), sizeof(system->device));
	strscpy(system->kernel, init_utsname()->release, sizeof(system->kernel));
	memcpy(system->firmware, ndev->firmware_version,
	       min(sizeof(system->firmware), sizeof(ndev->firmware_version)));
	memcpy(system->config, ndev->caps.config_name, sizeof(system->config));
	system->driver = cpu_to_le32(driver->major << 16 | driver->minor);
	system->hardware = cpu_to_le32(ndev->caps.hw_version);
	system->firmware_abi = cpu_to_le32(ndev->firmware_abi);
	system->driver_abi = cpu_to_le32(NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR);
	system->page_bytes = cpu_to_le32(PAGE_SIZE);
}

static void npu_core_context(struct npu_core_text *text, struct npu_context *ctx)
{
	struct npu_coredump_context *to = npu_core_entry(text);

	if (!to)
		return;
	to->index = cpu_to_le32(ctx->index);
	to->id = cpu_to_le32(ctx->id);
	to->pid = cpu_to_le32(ctx->account->pid);
	to->uid = cpu_to_le32(ctx->account->quota.user->uid);
	memcpy(to->comm, ctx->account->comm,
	       strnlen(ctx->account->comm, sizeof(ctx->account->comm)));
	to->counters = *ctx->counters;
	spin_lock(&ctx->wait_lock);
	to->state = cpu_to_le32(npu_context_state(ctx));
	to->flags = cpu_to_le32(ctx->ends ? NPU_COREDUMP_CONTEXT_ENDING : 0);
	to->stop_error = cpu_to_le32(ctx->stop_error);
	to->stop_queue = cpu_to_le32(ctx->stop_queue);
	to->faults = cpu_to_le32(ctx->faults);
	if (ctx->faults)
		to->fault = ctx->fault[(ctx->faults - 1) % NPU_FAULTS_KEPT];
	spin_unlock(&ctx->wait_lock);
}

static void npu_core_semaphores(struct npu_core_text *text, struct npu_context *ctx)
{
	u32 sem;

	spin_lock(&ctx->wait_lock);
	for (sem = 0; sem < ctx->ndev->caps.semaphores && !text->cut; sem++) {
		u64 value = le64_to_cpu(READ_ONCE(ctx->values[sem]));
		u64 wanted = ctx->thresholds ? le64_to_cpu(ctx->thresholds[sem]) : 0;
		struct npu_coredump_semaphore *to;

		if (!value && !wanted)
			continue;
		to = npu_core_entry(text);
		if (!to)
			break;
		to->context = cpu_to_le32(ctx->index);
		to->sem = cpu_to_le32(sem);
		to->value = cpu_to_le64(value);
		to->wanted = cpu_to_le64(wanted > value ? wanted : 0);
	}
	spin_unlock(&ctx->wait_lock);
}

static void npu_core_contexts(struct npu_core_text *text, struct npu_device *ndev,
			      void (*put)(struct npu_core_text *text, struct npu_context *ctx))
{
	struct npu_context *ctx;
	u32 index = 0;

	while ((ctx = npu_context_next(ndev, &index))) {
		put(text, ctx);
		npu_context_put(ctx);
	}
}

/* What its program has written there is taken as it is, but for how much is read for its sake. */
static void npu_core_queue(struct npu_core_text *text, struct npu_queue *queue)
{
	struct npu_coredump_queue *to = npu_core_entry(text);
	const struct npu_queue_setup *setup = &queue->setup;
	u64 read, write;

	if (!to)
		return;
	to->queue = cpu_to_le32(queue->index);
	to->context = cpu_to_le32(queue->ctx->index);
	to->id = cpu_to_le32(queue->id);
	to->priority = cpu_to_le32(setup->priority);
	to->ring_log2 = cpu_to_le32(setup->ring_log2);
	to->error = cpu_to_le32(READ_ONCE(queue->error));
	to->ring = cpu_to_le64(setup->ring);
	to->place = cpu_to_le64(queue->place);
	if (!npu_bind_peek(&queue->ctx->vm, setup->ring, &to->control, sizeof(to->control))) {
		memset(&to->control, 0, sizeof(to->control));
		return;
	}
	to->flags = cpu_to_le32(NPU_COREDUMP_QUEUE_READ);
	read = le64_to_cpu(to->control.read_index);
	write = le64_to_cpu(to->control.write_index);
	read -= min3(read, (u64)NPU_CORE_PACKETS_BEFORE, BIT_ULL(setup->ring_log2) / 2);
	to->first = cpu_to_le64(read);
	to->packets = cpu_to_le32(min3(write - min(read, write), (u64)NPU_CORE_PACKETS,
				       BIT_ULL(setup->ring_log2)));
}

static void npu_core_packets(struct npu_core_text *text, struct npu_device *ndev,
			     const struct npu_coredump_queue *of)
{
	const struct npu_queue *queue = ndev->queues[le32_to_cpu(of->queue)];
	u64 mask = BIT_ULL(queue->setup.ring_log2) - 1;
	u64 index = le64_to_cpu(of->first);
	u32 left = le32_to_cpu(of->packets);
	void *packet;

	if (!left)
		return;
	npu_core_section(text, NPU_COREDUMP_PACKETS, queue->index, NPU_PACKET_BYTES);
	for (; left && (packet = npu_core_entry(text)); left--, index++) {
		u64 at = NPU_RING_PACKETS_OFFSET + (index & mask) * NPU_PACKET_BYTES;

		npu_bind_peek(&queue->ctx->vm, queue->setup.ring + at, packet, NPU_PACKET_BYTES);
	}
}

static void npu_core_queues(struct npu_core_text *text, struct npu_device *ndev)
{
	const struct npu_coredump_queue *queues;
	u32 i, count;

	lockdep_assert_held(&ndev->hw_lock);
	if (!npu_core_section(text, NPU_COREDUMP_QUEUES, 0, sizeof(*queues)))
		return;
	queues = text->to + text->used;
	for (i = 0; i < NPU_QUEUES_MAX; i++) {
		if (ndev->queues[i])
			npu_core_queue(text, ndev->queues[i]);
	}
	count = le32_to_cpu(text->section->entries);
	for (i = 0; i < count; i++)
		npu_core_packets(text, ndev, &queues[i]);
}

/* The last entries of one of the device's rings, those that nobody has taken yet included. */
static void npu_core_ring(struct npu_core_text *text, const struct npu_host_ring *ring,
			  unsigned int log2, size_t bytes)
{
	u32 end = ring->consumer, count, i;

	while (end - ring->consumer < BIT(log2) && npu_ring_entry(ring, log2, bytes, end))
		end++;
	count = min3(end, NPU_CORE_ENTRIES, (u32)BIT(log2));
	for (i = end - count; i != end; i++)
		npu_core_entries(text, ring->entries + (i & (BIT(log2) - 1)) * bytes, bytes, 1);
}

static void npu_core_rings(struct npu_core_text *text, struct npu_device *ndev)
{
	guard(mutex)(&ndev->drain_lock);
	npu_core_section(text, NPU_COREDUMP_FAULTS, 0, sizeof(struct npu_fault));
	npu_core_ring(text, &ndev->faults, NPU_FAULTS_LOG2, sizeof(struct npu_fault));
	npu_core_section(text, NPU_COREDUMP_EVENTS, 0, sizeof(struct npu_event));
	npu_core_ring(text, &ndev->events, NPU_EVENTS_LOG2, sizeof(struct npu_event));
}

static void npu_core_log(struct npu_core_text *text, struct npu_device *ndev)
{
	u32 bytes;
	void *to;

	if (!npu_core_section(text, NPU_COREDUMP_LOG, 0, 1))
		return;
	to = npu_core_put(text, NPU_LOG_KEPT);
	if (!to)
		return;
	bytes = npu_log_copy(ndev, to);
	text->section->entries = cpu_to_le32(bytes);
	text->used -= NPU_LOG_KEPT - bytes;
}

static void npu_core_write(struct npu_core_text *text, struct npu_device *ndev)
{
	struct npu_coredump_header *header = npu_core_put(text, sizeof(*header));

	memcpy(header->magic, NPU_COREDUMP_MAGIC, sizeof(header->magic));
	header->major = cpu_to_le16(NPU_COREDUMP_MAJOR);
	header->minor = cpu_to_le16(NPU_COREDUMP_MINOR);
	header->header_bytes = cpu_to_le32(sizeof(*header));
	/* What there may be much of comes last. */
	npu_core_cause(text, ndev->core);
	npu_core_system(text, ndev);
	npu_core_rings(text, ndev);
	npu_core_log(text, ndev);
	mutex_lock(&ndev->hw_lock);
	npu_core_section(text, NPU_COREDUMP_CONTEXTS, 0, sizeof(struct npu_coredump_context));
	npu_core_contexts(text, ndev, npu_core_context);
	npu_core_queues(text, ndev);
	npu_core_section(text, NPU_COREDUMP_SEMAPHORES, 0, sizeof(struct npu_coredump_semaphore));
	npu_core_contexts(text, ndev, npu_core_semaphores);
	mutex_unlock(&ndev->hw_lock);
	header->bytes = cpu_to_le64(text->used);
	header->flags = cpu_to_le32(text->cut ? NPU_COREDUMP_CUT : 0);
}

/* As much as there is of the moment; what comes in addition may be cut off. */
static size_t npu_core_room(struct npu_device *ndev)
{
	size_t bytes = PAGE_SIZE + NPU_LOG_KEPT + sizeof(struct npu_core) +
		       NPU_CORE_ENTRIES * (sizeof(struct npu_fault) + sizeof(struct npu_event));
	u32 i;

	spin_lock(&ndev->contexts_lock);
	for (i = 0; i < NPU_CONTEXTS_MAX; i++) {
		if (ndev->contexts[i])
			bytes += sizeof(struct npu_coredump_context) +
				 NPU_CORE_SEMAPHORES * sizeof(struct npu_coredump_semaphore);
	}
	for (i = 0; i < NPU_QUEUES_MAX; i++) {
		if (ndev->queues[i])
			bytes += sizeof(struct npu_coredump_queue) +
				 sizeof(struct npu_coredump_section) +
				 NPU_CORE_PACKETS * NPU_PACKET_BYTES;
	}
	spin_unlock(&ndev->contexts_lock);
	return min_t(size_t, PAGE_ALIGN(bytes), NPU_COREDUMP_BYTES_MAX);
}

/**
 * npu_coredump_make() - make the dump that npu_coredump_look() found to be due, if it did
 * @ndev: stopped; its contexts are still there. No lock is held
 */
void npu_coredump_make(struct npu_device *ndev)
{
	struct npu_core_text text = { .room = npu_core_room(ndev) };
	bool wanted;

	mutex_lock(&ndev->stop_lock);
	wanted = ndev->core->wanted;
	ndev->core->wanted = false;
	mutex_unlock(&ndev->stop_lock);
	if (!wanted)
		return;
	text.to = __vmalloc(text.room, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN | __GFP_ZERO);
	if (!text.to) {
		drm_warn(&ndev->drm, "no memory for a core dump (%zu bytes)\n", text.room);
		return;
	}
	npu_core_write(&text, ndev);
	drm_info(&ndev->drm,
		 "a core dump of %zu bytes is handed on; npu-ctl coredump explains what was kept\n",
		 text.used);
	/* Which frees it in the end: at once, where there is one of this device already. */
	dev_coredumpv(ndev->drm.dev, text.to, text.used, GFP_NOWAIT | __GFP_NOWARN);
}

static void npu_core_work(struct work_struct *work)
{
	struct npu_core *core = container_of(work, struct npu_core, work);

	/* What becomes of contexts is to be in it, and whoever found out may not be there yet. */
	npu_device_wake_all(core->ndev, -ENODEV);
	npu_coredump_make(core->ndev);
}

/**
 * npu_coredump_init() - the device has not failed yet
 * @ndev: the device
 *
 * Return: 0, -ENOMEM.
 */
int npu_coredump_init(struct npu_device *ndev)
{
	struct npu_core *core = drmm_kzalloc(&ndev->drm, sizeof(*core), GFP_KERNEL);

	if (!core)
		return -ENOMEM;
	core->ndev = ndev;
	INIT_WORK(&core->work, npu_core_work);
	ndev->core = core;
	return 0;
}

/**
 * npu_coredump_end() - no dump is made any more
 * @ndev: after npu_reset_end(), and what it was told of before is over
 */
void npu_coredump_end(struct npu_device *ndev)
{
	disable_work_sync(&ndev->core->work);
}
