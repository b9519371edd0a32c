/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_DEVICE_H__
#define __NPU_DEVICE_H__

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>

#include <npu/npu_coredump.h>
#include <npu/npu_firmware.h>
#include <npu/npu_mailbox.h>
#include <npu/npu_packet.h>
#include <npu/npu_regs.h>

#include "npu_quota.h"

struct attribute_group;
struct drm_file;
struct npu_account;
struct npu_context;
struct npu_core;
struct npu_devlink;
struct npu_queue;
struct pci_dev;

/*
 * Offsets for mmap() below those of buffers: kind, then number, then offset in the object. 1 MiB
 * each is more than any object needs, on every page size.
 */
#define NPU_MMAP_KIND_SHIFT	30
#define NPU_MMAP_DOORBELL	1
#define NPU_MMAP_SEMAPHORES	2
#define NPU_MMAP_NUMBER_SHIFT	20
#define NPU_MMAP_NUMBERS	(1u << (NPU_MMAP_KIND_SHIFT - NPU_MMAP_NUMBER_SHIFT))

#define NPU_REGISTERS_BYTES	0x10000
#define NPU_DMA_BITS		56

/* Of GET_PARAM, the time included. */
#define NPU_COUNTERS		8

/* Of the firmware's log. */
#define NPU_LOG_KEPT		4096
/* ... in one message */
#define NPU_LOG_TEXT_MAX	(sizeof_field(struct npu_message, argument) - 2 * sizeof(__le32))

#define NPU_EVENTS_LOG2		8
/* A few tasks of each queue that a user may have fault before anybody looks, and none is lost. */
#define NPU_FAULTS_LOG2		11

/* What the firmware can be made to serve, whatever a device says of itself. */
#define NPU_QUEUES_MAX		64
#define NPU_CONTEXTS_MAX	256
#define NPU_SEMAPHORES_MAX	4096

/**
 * struct npu_caps - identity registers that do not change, read once
 * @hw_version: NPU_REG_HW_VERSION, and so on
 */
struct npu_caps {
	u32 hw_version;
	u32 clusters;
	u32 mac_channels;
	u32 mac_depth;
	u32 local_bytes;
	u32 global_bytes;
	u32 acc_bytes;
	u32 dma_channels;
	u32 dram_bytes_per_cycle;
	u32 dram_latency;
	u32 clock_hz;
	u32 queues;
	u32 slots;
	u32 contexts;
	u32 semaphores;
	u32 vector_bytes;
	u32 out_results;
	__le32 config_name[4];
};

/**
 * struct npu_host_ring - a ring the device fills and the driver drains
 * @entries: 2^n entries
 * @dma: their address for the device
 * @consumer: next entry to look at
 */
struct npu_host_ring {
	void *entries;
	dma_addr_t dma;
	u32 consumer;
};

/**
 * struct npu_log - what the firmware has logged, as far as it was read
 * @lock: everything here
 * @at: number of the next byte, counted since the firmware started
 * @kept: number of bytes put into @text since then
 * @text: the last of them, byte n at n modulo its size
 * @work: reads on
 */
struct npu_log {
	struct mutex lock; /* everything here */
	u32 at;
	u32 kept;
	char text[NPU_LOG_KEPT];
	struct delayed_work work;
};

/**
 * struct npu_vector - an interrupt
 * @ndev: whose
 * @causes: NPU_IRQ_* it stands for
 * @irq: the kernel's number of it
 */
struct npu_vector {
	struct npu_device *ndev;
	u32 causes;
	int irq;
};

/**
 * struct npu_usage - what tasks have cost, cycles summed over the engines of a kind
 * @mac: MAC arrays
 * @vector: vector units
 * @dma: DMA channels
 * @tasks: number of tasks that ended
 */
struct npu_usage {
	u64 mac;
	u64 vector;
	u64 dma;
	u64 tasks;
};

/**
 * struct npu_device - one NPU
 *
 * Locks, outer first: @hw_lock; a context's vm.lock or @log's; @tlb_lock or @mailbox_lock;
 * @take_lock; @drain_lock, @doorbell_lock or @stop_lock; @counter_lock inside the last; spinlocks:
 * @contexts_lock, @quota_lock, @reply_lock or a context's wait_lock, none inside another.
 * DRM's event_lock is taken inside wait_lock. mmap_lock is taken around @doorbell_lock only, and
 * inside none.
 */
struct npu_device {
	/** @drm: the DRM device, which everything here lives as long as */
	struct drm_device drm;
	/** @regs: registers; usable inside drm_dev_enter() and until npu_device_stop() */
	void __iomem *regs;
	/** @doorbells: where they are for the processor */
	phys_addr_t doorbells;
	/** @doorbell_regs: the same, mapped; usable as @regs is */
	void __iomem *doorbell_regs;
	/** @caps: what the device is */
	struct npu_caps caps;
	/** @firmware_version: from the image's header, not ended when it fills the field */
	u8 firmware_version[NPU_FW_VERSION_SIZE];
	/** @firmware_abi: from its answer to HELLO */
	u32 firmware_abi;
	/** @large_page: bytes of those that buffers may have, or 0 */
	unsigned long large_page;
	/** @image: the firmware, from which the device starts again; @image_bytes of it */
	void *image;
	/** @image_dma: its address for the device */
	dma_addr_t image_dma;
	/** @image_bytes: of @image */
	size_t image_bytes;

	/** @dead: nothing is asked of the device any more; changes under @stop_lock */
	bool dead;
	/** @recoverable: a reset may help; under @stop_lock */
	bool recoverable;
	/** @resetting: it is dead, but about to be started again */
	bool resetting;
	/** @reset_held: not before its bus is done; under @stop_lock */
	bool reset_held;
	/** @reset_work: starts it again */
	struct work_struct reset_work;
	/** @reset_task: who does so */
	struct task_struct *reset_task;
	/** @reset_done: when @resetting is over */
	wait_queue_head_t reset_done;
	/** @failure: why it was dead last */
	enum npu_failure failure;
	/** @reset_starts: how often this reset has tried to start it; under @stop_lock */
	u32 reset_starts;
	/** @resets: how often it was started again */
	atomic_t resets;
	/** @core: for a core dump; under @stop_lock */
	struct npu_core *core;
	/** @log: the firmware's */
	struct npu_log log;
	/** @devlink: its instance of devlink, or NULL */
	struct npu_devlink *devlink;
	/** @hwmon: its device of hwmon, or NULL */
	struct device *hwmon;
	/** @tripped: it became too hot, and nobody has read so */
	bool tripped;
	/** @stop_lock: stopping happens once, and others wait for it; @dead and what follows */
	struct mutex stop_lock;
	/** @stopped: the device does no DMA any more */
	bool stopped;

	/** @hw_lock: contexts and queues coming and going */
	struct mutex hw_lock;
	/** @context_table: what CONTEXT_UPDATE reads */
	struct npu_context_entry *context_table;
	/** @context_table_dma: its address for the device */
	dma_addr_t context_table_dma;
	/** @quota_lock: @quota and @accounts */
	spinlock_t quota_lock;
	/** @quota: who may have how much */
	struct npu_quota quota;
	/** @accounts: struct npu_account, all of them */
	struct list_head accounts;

	/** @contexts_lock: what is in @contexts and @queues, for those without @hw_lock */
	spinlock_t contexts_lock;
	/** @contexts: by hardware number */
	struct npu_context *contexts[NPU_CONTEXTS_MAX];
	/** @queues: by hardware number */
	struct npu_queue *queues[NPU_QUEUES_MAX];
	/** @ended: what contexts have cost that have no number any more; under @contexts_lock */
	struct npu_usage ended;

	/** @doorbell_lock: whether a doorbell may be mapped, and its mappings */
	struct mutex doorbell_lock;
	/** @doorbells_closed: the device sleeps, or is about to; under @doorbell_lock */
	bool doorbells_closed;
	/** @tlb_lock: one invalidation at a time */
	struct mutex tlb_lock;
	/** @counter_lock: the two halves of a counter, @counters_before */
	struct mutex counter_lock;
	/** @counters_before: what counters were when the device was suspended last */
	u64 counters_before[NPU_COUNTERS];
	/** @asleep: it was halted, and forgot all; under @hw_lock */
	bool asleep;
	/** @suspends: how often it was suspended; under @hw_lock, as the next */
	u64 suspends;
	/** @suspends_refused: how often it was not, as it had work */
	u64 suspends_refused;

	/** @mailbox_lock: one message at a time */
	struct mutex mailbox_lock;
	/** @mailbox_reply: @reply is there, or the device is dead */
	struct completion mailbox_reply;
	/** @reply_lock: @reply and @sequence */
	spinlock_t reply_lock;
	/** @reply: last answer */
	struct npu_message reply;
	/** @sequence: of the message that is waited for, 0: none */
	u16 sequence;
	/** @last_sequence: that was used */
	u16 last_sequence;
	/** @given_up: the last message had no answer in time; under @mailbox_lock */
	bool given_up;

	/** @take_lock: one reader of the mailbox at a time */
	struct mutex take_lock;

	/** @drain_lock: @events and @faults */
	struct mutex drain_lock;
	/** @events: watches that fired, queues that stopped */
	struct npu_host_ring events;
	/** @faults: accesses that failed */
	struct npu_host_ring faults;
	/** @seen: jiffies when a sleeper last looked whether the device is there */
	unsigned long seen;
	/** @looks: how often that was */
	atomic_t looks;
	/** @lost_interrupts: sleepers that found their value without having been woken */
	atomic_t lost_interrupts;
	/** @backstop: looks after those who wait without sleeping */
	struct delayed_work backstop;
	/** @ask: asks the firmware whether it works */
	struct work_struct ask;
	/** @asked: when it was to last, in jiffies */
	unsigned long asked;
	/** @bridge: works @points and @signals off */
	struct work_struct bridge;
	/** @points: struct npu_sync_point that are due */
	struct llist_head points;
	/** @signals: struct npu_sync_signal that are due */
	struct llist_head signals;

	/** @vectors: interrupts, the first with all causes when there is only one */
	struct npu_vector vectors[NPU_IRQ_COUNT];
};

/**
 * enum npu_reset_step - what happens to a device that failed
 * @NPU_RESET_BEGIN: it has been stopped, and is to be started again
 * @NPU_RESET_START: its contexts have ended, and it is started
 * @NPU_RESET_WORKS: it works again
 * @NPU_RESET_DEAD: it has been stopped for good
 */
enum npu_reset_step {
	NPU_RESET_BEGIN,
	NPU_RESET_START,
	NPU_RESET_WORKS,
	NPU_RESET_DEAD,
};

/**
 * struct npu_file - an open file
 * @ndev: the device
 * @contexts: struct npu_context by number, each with a reference
 * @ending: contexts that are in @contexts no more, but not ended yet; under its lock
 * @ended: what those that have ended cost; under the same lock
 * @account: what it has, with a reference
 */
struct npu_file {
	struct npu_device *ndev;
	struct xarray contexts;
	struct list_head ending;
	struct npu_usage ended;
	struct npu_account *account;
};

static inline struct npu_device *to_npu_device(struct drm_device *drm)
{
	return container_of(drm, struct npu_device, drm);
}

static inline u32 npu_read(struct npu_device *ndev, u32 reg)
{
	return readl(ndev->regs + reg);
}

static inline void npu_write(struct npu_device *ndev, u32 reg, u32 value)
{
	writel(value, ndev->regs + reg);
}

static inline void npu_write64(struct npu_device *ndev, u32 reg_lo, u64 value)
{
	npu_write(ndev, reg_lo, lower_32_bits(value));
	npu_write(ndev, reg_lo + 4, upper_32_bits(value));
}

static inline bool npu_device_is_dead(struct npu_device *ndev)
{
	return READ_ONCE(ndev->dead);
}

/* Dead, and no reset is under way; one that was over meanwhile has made it work. */
static inline bool npu_device_is_gone(struct npu_device *ndev)
{
	bool resetting;

	if (!npu_device_is_dead(ndev))
		return false;
	smp_rmb(); /* pairs with the barrier of npu_reset_begin() */
	resetting = READ_ONCE(ndev->resetting);
	smp_rmb(); /* a reset that is over has made it work before it said so */
	return !resetting && npu_device_is_dead(ndev);
}

/* What callers are told who meet it dead: there is a next time, or none. */
static inline int npu_dead_error(struct npu_device *ndev)
{
	return npu_device_is_gone(ndev) ? -ENODEV : -EIO;
}

/* npu_drv.c */
extern const struct attribute_group *npu_device_groups[];
struct npu_device *npu_device_alloc(struct device *parent);
int npu_device_identify(struct npu_device *ndev, u64 doorbell_bytes);
int npu_device_prepare(struct npu_device *ndev);
int npu_device_init(struct npu_device *ndev);
int npu_device_enter(struct npu_device *ndev, int *idx);
int npu_device_enter_awake(struct npu_device *ndev, int *idx);
void npu_device_exit(struct npu_device *ndev, int idx);
void npu_device_halt(struct npu_device *ndev);
int npu_device_start(struct npu_device *ndev);
void npu_device_stop_locked(struct npu_device *ndev);
void npu_device_stop(struct npu_device *ndev);
void npu_device_wake_all(struct npu_device *ndev, int error);
void npu_device_shutdown(struct npu_device *ndev);
void npu_device_remove(struct npu_device *ndev);

/* npu_failure.c */
const char *npu_failure_text(enum npu_failure failure);

/* npu_reset.c */
void npu_reset_hold(struct npu_device *ndev, enum npu_failure failure);
void npu_reset_release(struct npu_device *ndev);
void npu_reset_never(struct npu_device *ndev);
extern const struct attribute_group npu_reset_group;
extern const struct attribute_group npu_info_group;
u32 npu_info_clock_hz(struct npu_device *ndev);
void npu_reset_init(struct npu_device *ndev);
bool npu_reset_wait(struct npu_device *ndev);
bool npu_reset_end(struct npu_device *ndev);
void npu_reset_cancel(struct npu_device *ndev);
void npu_device_die(struct npu_device *ndev, enum npu_failure failure);
int npu_reset_by_request(struct npu_device *ndev);

/* npu_pci.c */
int npu_pci_register(void);
void npu_pci_unregister(void);
void npu_pci_allow_dma(struct npu_device *ndev, bool allowed);

/* npu_platform.c */
int npu_platform_register(void);
void npu_platform_unregister(void);

/* npu_firmware.c */
int npu_firmware_load(struct npu_device *ndev);
int npu_firmware_start(struct npu_device *ndev);

/* npu_power.c */
extern const struct dev_pm_ops npu_pm_ops;
void npu_power_begin(struct npu_device *ndev);
void npu_power_end(struct npu_device *ndev);

/* npu_mailbox.c */
int npu_mailbox_init(struct npu_device *ndev);
int npu_mailbox_hello(struct npu_device *ndev);
int npu_mailbox_send(struct npu_device *ndev, struct npu_message *message);
int npu_mailbox_ask(struct npu_device *ndev, struct npu_message *message, unsigned long timeout);
void npu_mailbox_irq(struct npu_device *ndev);
void npu_mailbox_cancel(struct npu_device *ndev);

/* npu_irq.c */
int npu_irq_init(struct npu_device *ndev);
int npu_irq_request(struct npu_device *ndev, u32 number, int irq, u32 causes);
void npu_irq_enable(struct npu_device *ndev);
void npu_irq_drain(struct npu_device *ndev);
void npu_irq_drain_awake(struct npu_device *ndev);
const void *npu_ring_entry(const struct npu_host_ring *ring, unsigned int log2, size_t bytes,
			   u32 at);
void npu_irq_wait(struct npu_device *ndev);

/* npu_param.c */
void npu_param_read_caps(struct npu_device *ndev);
void npu_param_keep_counters(struct npu_device *ndev);
int npu_param_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_debugfs.c */
void npu_debugfs_init(struct npu_device *ndev);

/* npu_hwmon.c */
#if IS_ENABLED(CONFIG_HWMON)
void npu_hwmon_init(struct npu_device *ndev);
void npu_hwmon_look(struct npu_device *ndev);
#else
static inline void npu_hwmon_init(struct npu_device *ndev) { }
static inline void npu_hwmon_look(struct npu_device *ndev) { }
#endif

/* npu_coredump.c */
int npu_coredump_init(struct npu_device *ndev);
void npu_coredump_look(struct npu_device *ndev, bool answers, bool again,
		       enum npu_failure failure);
void npu_coredump_make(struct npu_device *ndev);
void npu_coredump_tell(struct npu_device *ndev, void (*tell)(void *to, u32 offset, u32 value),
		       void *to);
void npu_coredump_end(struct npu_device *ndev);

/* npu_log.c */
void npu_log_init(struct npu_device *ndev);
void npu_log_ask(struct npu_message *message, u32 at);
int npu_log_answer(const struct npu_message *message, u32 *at);
void npu_log_restart(struct npu_device *ndev);
void npu_log_follow(struct npu_device *ndev);
void npu_log_follow_soon(struct npu_device *ndev);
u32 npu_log_copy(struct npu_device *ndev, char *to);
void npu_log_end(struct npu_device *ndev);

/* npu_devlink.c */
#if IS_ENABLED(CONFIG_NET_DEVLINK)
void npu_devlink_init(struct npu_device *ndev);
void npu_devlink_failed(struct npu_device *ndev, enum npu_failure failure);
void npu_devlink_ecc(struct npu_device *ndev);
void npu_devlink_end(struct npu_device *ndev);
#else
static inline void npu_devlink_init(struct npu_device *ndev) { }
static inline void npu_devlink_failed(struct npu_device *ndev, enum npu_failure failure) { }
static inline void npu_devlink_ecc(struct npu_device *ndev) { }
static inline void npu_devlink_end(struct npu_device *ndev) { }
#endif

/* npu_fdinfo.c */
void npu_fdinfo_show(struct drm_printer *p, struct drm_file *file);

#endif /* __NPU_DEVICE_H__ */
