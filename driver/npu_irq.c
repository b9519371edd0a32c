// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts, and the rings behind them. Authority: Documentation/hardware/registers.rst and
 * queues.rst.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/sched.h>

#include "npu_context.h"
#include "npu_trace.h"

/* Entries in a row before others get the processor. */
#define NPU_DRAIN_BATCH		64

/* The entry at the consumer's index, if the device has written it. */
/**
 * npu_ring_entry() - an entry of one of the device's rings
 * @ring: the ring; its drain_lock is held
 * @log2: binary logarithm of its entries
 * @bytes: of an entry
 * @at: its number, not before the next to be taken
 *
 * Return: the entry, NULL when the device has not written it yet.
 */
const void *npu_ring_entry(const struct npu_host_ring *ring, unsigned int log2, size_t bytes,
			   u32 at)
{
	const void *entry = ring->entries + (at & (BIT(log2) - 1)) * bytes;
	u32 phase = !((at >> log2) & 1);

	if ((le32_to_cpu(READ_ONCE(*(const __le32 *)entry)) & 1) != phase)
		return NULL;
	/* The header is the last the device writes of an entry. */
	dma_rmb();
	return entry;
}

static const void *npu_ring_next(struct npu_host_ring *ring, unsigned int log2, size_t bytes)
{
	const void *entry = npu_ring_entry(ring, log2, bytes, ring->consumer);

	if (entry)
		ring->consumer++;
	return entry;
}

static void npu_event(struct npu_device *ndev, const struct npu_event *event)
{
	u32 header = le32_to_cpu(event->header);
	struct npu_context *ctx;

	switch ((header >> 8) & 0xff) {
	case NPU_EVENT_WATCH:
		ctx = npu_context_get_by_index(ndev, header >> 16);
		if (!ctx)
			return;
		npu_semaphore_fired(ctx, le32_to_cpu(event->sem));
		npu_context_put(ctx);
		break;
	case NPU_EVENT_QUEUE_ERROR:
		npu_queue_stopped(ndev, header >> 16, le32_to_cpu(event->sem),
				  le64_to_cpu(event->value));
		break;
	default:
		break;
	}
}

/* Returns how many there were. */
static u32 npu_drain_events(struct npu_device *ndev)
{
	u32 before = ndev->events.consumer;
	const struct npu_event *event;

	lockdep_assert_held(&ndev->drain_lock);
	while ((event = npu_ring_next(&ndev->events, NPU_EVENTS_LOG2, sizeof(*event)))) {
		npu_event(ndev, event);
		if ((ndev->events.consumer - before) % NPU_DRAIN_BATCH == 0)
			cond_resched();
	}
	if (ndev->events.consumer != before)
		npu_write(ndev, NPU_REG_EVENT_CONSUMER, ndev->events.consumer);
	return ndev->events.consumer - before;
}

/* Returns how many there were. */
static u32 npu_drain_faults(struct npu_device *ndev)
{
	u32 before = ndev->faults.consumer;
	const struct npu_fault *fault;
	struct npu_context *ctx;

	lockdep_assert_held(&ndev->drain_lock);
	while ((fault = npu_ring_next(&ndev->faults, NPU_FAULTS_LOG2, sizeof(*fault)))) {
		ctx = npu_context_get_by_index(ndev, (le32_to_cpu(fault->header) >> 16) & 0xff);
		if (ctx) {
			npu_context_fault(ctx, fault);
			npu_context_put(ctx);
		}
		if ((ndev->faults.consumer - before) % NPU_DRAIN_BATCH == 0)
			cond_resched();
	}
	if (ndev->faults.consumer != before)
		npu_write(ndev, NPU_REG_FAULT_CONSUMER, ndev->faults.consumer);
	return ndev->faults.consumer - before;
}

/**
 * npu_irq_drain() - take what the device has written into its rings until now
 * @ndev: the caller is inside npu_device_enter()
 *
 * For those who know that something is there which an interrupt has yet to tell.
 */
void npu_irq_drain(struct npu_device *ndev)
{
	u32 events, faults;

	mutex_lock(&ndev->drain_lock);
	faults = npu_drain_faults(ndev);
	events = npu_drain_events(ndev);
	mutex_unlock(&ndev->drain_lock);
	if (events || faults)
		trace_npu_drain(ndev, events, faults);
}

/**
 * npu_irq_drain_awake() - the same, for those who are not inside
 * @ndev: the device; one that sleeps has nothing left there
 */
void npu_irq_drain_awake(struct npu_device *ndev)
{
	int idx;

	if (npu_device_enter_awake(ndev, &idx))
		return;
	npu_irq_drain(ndev);
	npu_device_exit(ndev, idx);
}

static enum npu_failure npu_irq_why(struct npu_device *ndev)
{
	if (npu_read(ndev, NPU_REG_ERROR_STATUS) & NPU_ERROR_STATUS_TEMPERATURE)
		return NPU_FAILURE_HEAT;
	return NPU_FAILURE_CORE;
}

static void npu_irq_handle(struct npu_device *ndev, u32 causes)
{
	trace_npu_irq(ndev, causes);
	/* Cleared first: what comes from here on raises it again. */
	npu_write(ndev, NPU_REG_IRQ_STATUS, causes);
	if (causes & (NPU_IRQ_EVENT | NPU_IRQ_FAULT))
		npu_irq_drain(ndev);
	/* Of a core that died, the last message says why. */
	if (causes & (NPU_IRQ_MAILBOX | NPU_IRQ_FATAL))
		npu_mailbox_irq(ndev);
	if (causes & NPU_IRQ_FATAL)
		npu_device_die(ndev, npu_irq_why(ndev));
}

static irqreturn_t npu_irq_thread(int irq, void *data)
{
	struct npu_vector *vector = data;
	struct npu_device *ndev = vector->ndev;
	u32 causes = vector->causes;

	if (npu_device_is_dead(ndev))
		return IRQ_HANDLED;
	if (!is_power_of_2(causes)) {
		u32 status = npu_read(ndev, NPU_REG_IRQ_STATUS);

		if (status == ~0u)
			return IRQ_NONE;
		causes &= status;
	}
	npu_irq_handle(ndev, causes);
	return IRQ_HANDLED;
}

/**
 * npu_irq_request() - have an interrupt
 * @ndev: after npu_irq_init()
 * @number: which of the device's, from 0 on
 * @irq: the kernel's number of it
 * @causes: NPU_IRQ_* that it tells of
 *
 * Return: 0 or a negative errno.
 */
int npu_irq_request(struct npu_device *ndev, u32 number, int irq, u32 causes)
{
	struct npu_vector *vector = &ndev->vectors[number];
	struct device *dev = ndev->drm.dev;
	int ret;

	vector->ndev = ndev;
	vector->causes = causes;
	vector->irq = irq;
	ret = devm_request_threaded_irq(dev, irq, NULL, npu_irq_thread, IRQF_ONESHOT, "npu",
					vector);
	if (ret)
		return dev_err_probe(dev, ret, "interrupt %u cannot be used\n", number);
	return 0;
}

static int npu_ring_alloc(struct npu_device *ndev, struct npu_host_ring *ring, size_t bytes)
{
	ring->entries = dmam_alloc_coherent(ndev->drm.dev, bytes, &ring->dma, GFP_KERNEL);
	return ring->entries ? 0 : -ENOMEM;
}

/**
 * npu_irq_init() - memory for what interrupts tell
 * @ndev: before its interrupts are requested
 *
 * Return: 0, -ENOMEM.
 */
int npu_irq_init(struct npu_device *ndev)
{
	return npu_ring_alloc(ndev, &ndev->events, sizeof(struct npu_event) << NPU_EVENTS_LOG2) ?:
	       npu_ring_alloc(ndev, &ndev->faults, sizeof(struct npu_fault) << NPU_FAULTS_LOG2);
}

static void npu_ring_reset(struct npu_host_ring *ring, size_t bytes)
{
	memset(ring->entries, 0, bytes);
	ring->consumer = 0;
}

/**
 * npu_irq_wait() - what was told until now is dealt with when this returns
 * @ndev: the device
 */
void npu_irq_wait(struct npu_device *ndev)
{
	u32 i;

	for (i = 0; i < NPU_IRQ_COUNT; i++) {
		if (ndev->vectors[i].irq)
			synchronize_irq(ndev->vectors[i].irq);
	}
}

/**
 * npu_irq_enable() - let the device interrupt
 * @ndev: interrupts are requested; the device was reset
 */
void npu_irq_enable(struct npu_device *ndev)
{
	mutex_lock(&ndev->drain_lock);
	npu_ring_reset(&ndev->events, sizeof(struct npu_event) << NPU_EVENTS_LOG2);
	npu_ring_reset(&ndev->faults, sizeof(struct npu_fault) << NPU_FAULTS_LOG2);
	mutex_unlock(&ndev->drain_lock);
	npu_write64(ndev, NPU_REG_EVENT_BASE_LO, ndev->events.dma);
	npu_write(ndev, NPU_REG_EVENT_LOG2, NPU_EVENTS_LOG2);
	npu_write64(ndev, NPU_REG_FAULT_BASE_LO, ndev->faults.dma);
	npu_write(ndev, NPU_REG_FAULT_LOG2, NPU_FAULTS_LOG2);
	npu_write(ndev, NPU_REG_IRQ_ENABLE, BIT(NPU_IRQ_COUNT) - 1);
}
