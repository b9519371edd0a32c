/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Registers. Authority: Documentation/hardware/registers.rst.
 *
 * BAR0 (host) and the control core's MMIO window (0x40000000) show the same block;
 * offsets from 0x8000 up answer only to the control core (the host reads 0, its
 * writes are ignored). 32-bit accesses, aligned; anything else reads 0 / is ignored.
 * A 64-bit counter is read low word first: that latches the high word.
 */
#ifndef NPU_REGS_H
#define NPU_REGS_H

/* Identity and capabilities (read only) */
#define NPU_REG_ID			0x0000	/* NPU_ID_VALUE */
#define NPU_ID_VALUE			0x3355504eu	/* "NPU3" */
#define NPU_REG_HW_VERSION		0x0004	/* major << 16 | minor */
#define NPU_HW_VERSION			0x00030004u
#define NPU_REG_CLUSTERS		0x0010
#define NPU_REG_MAC_CHANNELS		0x0014	/* output channels of shape M: 32, 16 */
#define NPU_REG_MAC_DEPTH		0x0018	/* int8 depth of shape M: 32, 16 */
#define NPU_REG_LOCAL_BYTES		0x001c	/* a cluster */
#define NPU_REG_GLOBAL_BYTES		0x0020
#define NPU_REG_ACC_BYTES		0x0024	/* a cluster, both halves */
#define NPU_REG_DMA_CHANNELS		0x0028	/* in all */
#define NPU_REG_DRAM_BYTES_PER_CYCLE	0x002c
#define NPU_REG_DRAM_LATENCY		0x0030
#define NPU_REG_CLOCK_HZ		0x0034
#define NPU_REG_QUEUES			0x0038
#define NPU_REG_SLOTS			0x003c
#define NPU_REG_CONTEXTS		0x0040
#define NPU_REG_SEMAPHORES		0x0044	/* a context */
#define NPU_REG_VECTOR_BYTES		0x0048
#define NPU_REG_OUT_RESULTS		0x004c	/* int8 results a cycle */
#define NPU_REG_CONFIG_NAME		0x0050	/* 16 bytes, NUL padded: "npu-v3" */

/* Boot (host) */
#define NPU_REG_BOOT_ADDRESS_LO		0x0100	/* DMA address of the firmware image */
#define NPU_REG_BOOT_ADDRESS_HI		0x0104
#define NPU_REG_BOOT_SIZE		0x0108
#define NPU_REG_BOOT_CONTROL		0x010c	/* write 1: check and start; write 2: stop the core and reset the device */
#define NPU_BOOT_START			1u
#define NPU_BOOT_RESET			2u
#define NPU_REG_BOOT_STATUS		0x0110	/* enum npu_boot_status in npu_firmware.h; 0 reset, 1 running */
#define NPU_REG_FW_ALIVE		0x0114	/* firmware counts up; write: control core only */
#define NPU_REG_FW_STATE		0x0118	/* firmware: NPU_FW_* */
#define NPU_FW_STATE_RESET		0u
#define NPU_FW_STATE_READY		1u
#define NPU_FW_STATE_PANIC		2u

/* Interrupts to the host: one vector for each bit (MSI-X), or shared */
#define NPU_REG_IRQ_STATUS		0x0200	/* write 1 to clear */
#define NPU_REG_IRQ_ENABLE		0x0204
#define NPU_IRQ_MAILBOX			(1u << 0)	/* firmware wrote a reply or a message */
#define NPU_IRQ_EVENT			(1u << 1)	/* event ring is not empty */
#define NPU_IRQ_FAULT			(1u << 2)	/* fault queue is not empty */
#define NPU_IRQ_FATAL			(1u << 3)	/* the control core died, watchdog */
#define NPU_IRQ_COUNT			4

/* Mailbox: 16 words each way; NPU_REG_MAILBOX_SEND rings the other side */
#define NPU_REG_MAILBOX_TO_FW		0x0300	/* 64 bytes, struct npu_message */
#define NPU_REG_MAILBOX_TO_FW_SEND	0x0340	/* host writes 1: pending; firmware writes 0 once read */
#define NPU_REG_MAILBOX_TO_HOST		0x0380	/* 64 bytes */
#define NPU_REG_MAILBOX_TO_HOST_SEND	0x03c0	/* firmware writes 1: pending + interrupt; host writes 0 once read */

/* Context table, MMU, fault queue (host) */
#define NPU_REG_CONTEXT_TABLE_LO	0x0400	/* DMA address of struct npu_context_entry[contexts], 4 KiB aligned */
#define NPU_REG_CONTEXT_TABLE_HI	0x0404
#define NPU_REG_CONTEXT_UPDATE		0x0408	/* write a context number: (re)read its entry, reset its semaphores if newly valid */
#define NPU_REG_TLB_ADDRESS_LO		0x0410	/* range invalidation: first VA */
#define NPU_REG_TLB_ADDRESS_HI		0x0414
#define NPU_REG_TLB_BYTES_LO		0x0418
#define NPU_REG_TLB_BYTES_HI		0x041c
#define NPU_REG_TLB_INVALIDATE		0x0420	/* [1:0] 1 all, 2 context, 3 range; [15:8] context */
#define NPU_REG_TLB_DONE		0x0424	/* number of completed invalidations, 32 bit, wraps */
#define NPU_REG_FAULT_BASE_LO		0x0430	/* DMA address of struct npu_fault[2^n] */
#define NPU_REG_FAULT_BASE_HI		0x0434
#define NPU_REG_FAULT_LOG2		0x0438
#define NPU_REG_FAULT_CONSUMER		0x043c	/* driver's index (32 bit, wraps) */
#define NPU_REG_FAULT_LOST		0x0440	/* faults not recorded, queue full */

/* Watches (host) */
#define NPU_REG_EVENT_BASE_LO		0x0500	/* DMA address of struct npu_event[2^n] */
#define NPU_REG_EVENT_BASE_HI		0x0504
#define NPU_REG_EVENT_LOG2		0x0508
#define NPU_REG_EVENT_CONSUMER		0x050c
#define NPU_REG_WATCH_ARM		0x0510	/* context << 16 | semaphore */

/* Time and counters (read only, 64 bit, tear free) */
#define NPU_REG_TIME_LO			0x0600	/* device cycles */
#define NPU_REG_TIME_HI			0x0604
#define NPU_REG_COUNTER_TASKS_LO	0x0610
#define NPU_REG_COUNTER_TASKS_HI	0x0614
#define NPU_REG_COUNTER_MAC_LO		0x0618	/* busy cycles, all clusters */
#define NPU_REG_COUNTER_MAC_HI		0x061c
#define NPU_REG_COUNTER_VECTOR_LO	0x0620
#define NPU_REG_COUNTER_VECTOR_HI	0x0624
#define NPU_REG_COUNTER_DMA_LO		0x0628
#define NPU_REG_COUNTER_DMA_HI		0x062c
#define NPU_REG_COUNTER_DRAM_READ_LO	0x0630	/* bytes */
#define NPU_REG_COUNTER_DRAM_READ_HI	0x0634
#define NPU_REG_COUNTER_DRAM_WRITE_LO	0x0638
#define NPU_REG_COUNTER_DRAM_WRITE_HI	0x063c
#define NPU_REG_COUNTER_TLB_MISS_LO	0x0640
#define NPU_REG_COUNTER_TLB_MISS_HI	0x0644
#define NPU_REG_COUNTER_SCRUB_LO	0x0648	/* cycles tasks waited for memories to be scrubbed */
#define NPU_REG_COUNTER_SCRUB_HI	0x064c
#define NPU_REG_COUNTER_PREEMPTIONS_LO	0x0650	/* tasks taken off their clusters at a point */
#define NPU_REG_COUNTER_PREEMPTIONS_HI	0x0654
#define NPU_REG_COUNTER_ECC_CORRECTED_LO 0x0658	/* bit errors of SRAM that were corrected */
#define NPU_REG_COUNTER_ECC_CORRECTED_HI 0x065c
#define NPU_REG_COUNTER_ECC_UNCORRECTED_LO 0x0660	/* ... and those that could not be */
#define NPU_REG_COUNTER_ECC_UNCORRECTED_HI 0x0664
#define NPU_REG_COUNTER_SLEEP_LO	0x0668	/* cycles clusters were asleep, summed */
#define NPU_REG_COUNTER_SLEEP_HI	0x066c
#define NPU_REG_COUNTER_WAKES_LO	0x0670	/* tasks that waited for clusters to wake */
#define NPU_REG_COUNTER_WAKES_HI	0x0674
#define NPU_REG_COUNTER_ENERGY_LO	0x0678	/* microjoules */
#define NPU_REG_COUNTER_ENERGY_HI	0x067c
#define NPU_REG_COUNTER_POINT_LO(p)	(0x0680 + (p) * 8)	/* cycles at a point of the clock */
#define NPU_REG_COUNTER_POINT_HI(p)	(0x0684 + (p) * 8)

/* Errors of the device itself (host) */
#define NPU_REG_ERROR_STATUS		0x0700	/* NPU_ERROR_STATUS_*; write 1 to clear */
#define NPU_ERROR_STATUS_CORRECTED	(1u << 0)
#define NPU_ERROR_STATUS_UNCORRECTED	(1u << 1)
#define NPU_ERROR_STATUS_TEMPERATURE	(1u << 2)	/* tripped: nothing runs until reset */
#define NPU_REG_ERROR_CLUSTER		0x0704	/* of the last memory error */
#define NPU_REG_ERROR_ADDRESS		0x0708	/* ... offset in the local SRAM there */

/* Power (read only) */
#define NPU_REG_CLUSTERS_ASLEEP		0x0720	/* mask */
#define NPU_REG_CLOCK			0x0724	/* points: [7:0] work, [15:8] rest, [23:16] in force */
#define NPU_CLOCK_REST_SHIFT		8
#define NPU_CLOCK_NOW_SHIFT		16
#define NPU_REG_CLOCK_POINTS		0x0728	/* how many; the first is the nominal one */
#define NPU_REG_TEMPERATURE		0x072c	/* of the last sample; this and the next three: signed,
						 * thousandths of a degree Celsius */
#define NPU_REG_HEAT_COOL		0x0730	/* so low: not hot any more */
#define NPU_REG_HEAT_HOT		0x0734	/* so high: NPU_CORE_IRQ_HEAT */
#define NPU_REG_HEAT_TRIP		0x0738	/* so high: NPU_ERROR_STATUS_TEMPERATURE */
#define NPU_REG_POWER			0x073c	/* milliwatts, mean of the last 64 samples */
#define NPU_REG_CLOCK_POINT_HZ(p)	(0x0740 + (p) * 4)

/* ------------------------------------------------------- control core only */
#define NPU_REG_CORE_ONLY		0x8000

/*
 * Causes of the core's external interrupt: pending and enabled raises mip.MEIP. A bit is
 * latched whenever its cause happens (again) and stays until it is cleared, whatever the
 * state behind it is by then: firmware clears first and looks afterwards.
 */
#define NPU_REG_CORE_IRQ_PENDING	0x8000	/* write 1 to clear */
#define NPU_REG_CORE_IRQ_ENABLE		0x8004
#define NPU_CORE_IRQ_DOORBELL		(1u << 0)	/* a bit of CORE_DOORBELLS was set */
#define NPU_CORE_IRQ_MAILBOX		(1u << 1)	/* the host sent a message, or took one: cleared TO_HOST_SEND */
#define NPU_CORE_IRQ_SLOT		(1u << 2)	/* a bit of some SLOT_EVENT was set */
#define NPU_CORE_IRQ_WATCHDOG		(1u << 3)	/* a task ran out of its budget: CORE_WATCHDOG */
#define NPU_CORE_IRQ_HEAT		(1u << 4)	/* TEMPERATURE has reached HEAT_HOT, for the first time
						 * since reset or since it was at HEAT_COOL */
#define NPU_REG_CORE_TIME_LO		0x8010	/* device cycles, as NPU_REG_TIME */
#define NPU_REG_CORE_TIME_HI		0x8014
#define NPU_REG_CORE_TIMECMP_LO		0x8018	/* machine timer: mip.MTIP while time >= compare */
#define NPU_REG_CORE_TIMECMP_HI		0x801c
/*
 * Valid queues rung without a slot, one bit each; write 1 to clear. The device also rings a
 * queue that left its slot (DETACH) with work it knows of, so that none is forgotten: at once
 * when a packet, or a doorbell since the last look at the ring, was left behind; when the slot
 * was WAITING, when the first semaphore the packet lacked reaches its value, and not before.
 */
#define NPU_REG_CORE_DOORBELLS_LO	0x8020
#define NPU_REG_CORE_DOORBELLS_HI	0x8024
#define NPU_REG_CORE_LOG		0x8030	/* write: TCM address of the firmware's log ring (for debuggers) */
#define NPU_REG_CORE_WATCHDOG		0x8038	/* the last task that ran out of its budget: [7:0] queue,
						 * [15:8] context */
#define NPU_REG_CORE_WATCHDOG_TASK	0x803c	/* ... and its task_id */
#define NPU_REG_CORE_STUCK		0x8040	/* mask of clusters that do not stop when told to
						 * (WATCHDOG tells); write: reset them */
#define NPU_REG_CORE_PANIC		0x8034	/* write: code; stops the core, raises NPU_IRQ_FATAL */
#define NPU_REG_CORE_NEXT		0x8044	/* NPU_NEXT_*; in [7:0] the queue for the
						 * next slot that DETACH or KILL frees */
#define NPU_NEXT_VALID			(1u << 8)	/* cleared when the queue has got its slot */
#define NPU_NEXT_GRANT			(1u << 9)	/* it takes over the slot's grant */
#define NPU_REG_CORE_SLEEP		0x8048	/* write: mask of clusters that are to sleep,
						 * as far as no task has them; a task that
						 * is to start wakes its own */
#define NPU_REG_CORE_CLOCK		0x804c	/* points: [7:0] while a task runs, [15:8] while none does */

/* Queues: written by firmware while the queue is in no slot */
#define NPU_REG_QUEUE(q)		(0x9000 + (q) * 0x20)
#define NPU_QUEUE_RING_LO		0x00	/* VA of struct npu_ring_control */
#define NPU_QUEUE_RING_HI		0x04
#define NPU_QUEUE_CONFIG		0x08	/* [7:0] context, [15:8] log2 packets, [31] valid */
#define NPU_QUEUE_CONFIG_VALID		(1u << 31)
#define NPU_QUEUE_READ_LO		0x0c	/* read index, kept by hardware while in a slot */
#define NPU_QUEUE_READ_HI		0x10
#define NPU_QUEUE_ERROR			0x14	/* enum npu_error that stopped it */
#define NPU_QUEUE_PROGRESS		0x18	/* read only: what ends when the queue is configured anew */
#define NPU_QUEUE_PROGRESS_GRAPH	(1u << 0)	/* a GRAPH that has begun */
#define NPU_QUEUE_PROGRESS_TASK		(1u << 1)	/* a task that was preempted */

/* Slots: where the command processor works on a queue */
#define NPU_REG_SLOT(s)			(0xa000 + (s) * 0x20)
#define NPU_SLOT_CONTROL		0x00	/* write NPU_SLOT_ATTACH | queue, NPU_SLOT_DETACH, NPU_SLOT_KILL,
						 * NPU_SLOT_REJECT | enum npu_error */
#define NPU_SLOT_ATTACH			(1u << 8)
#define NPU_SLOT_DETACH			(1u << 9)	/* after the running task, if any; a packet in REQUEST or
						 * WAITING stays in the ring */
#define NPU_SLOT_KILL			(1u << 10)	/* end the task that runs, or waits in REQUEST after it was
						 * preempted, with NPU_STATUS_KILLED; then detach */
#define NPU_SLOT_REJECT			(1u << 11)	/* in REQUEST only: the task never starts. Its record gets
						 * NPU_STATUS_REJECTED and the error in [7:0], which also
						 * stops the queue */
#define NPU_SLOT_PREEMPT		(1u << 12)	/* take the running task off its clusters at its next
						 * point; then the slot is in REQUEST, without a grant */
#define NPU_SLOT_KEEP			(1u << 13)	/* with PREEMPT: its window stays reserved for the task, so
						 * it can leave at a point that needs it, too */
#define NPU_SLOT_STATE			0x04	/* NPU_SLOT_STATE_* in [7:0], queue in [15:8], KEPT */
#define NPU_SLOT_STATE_KEPT		(1u << 16)	/* REQUEST of a task that was preempted and needs the window
						 * it had */
#define NPU_SLOT_STATE_FREE		0u
#define NPU_SLOT_STATE_EMPTY		1u	/* no valid packet */
#define NPU_SLOT_STATE_WAITING		2u	/* on semaphores */
#define NPU_SLOT_STATE_REQUEST		3u	/* wants clusters and a window: SLOT_NEED */
#define NPU_SLOT_STATE_RUNNING		4u
#define NPU_SLOT_STATE_STOPPED		5u	/* queue error: QUEUE_ERROR; left by DETACH */
#define NPU_SLOT_STATE_FETCH		6u	/* looks at the ring: after ATTACH, a doorbell, a packet's end */
#define NPU_SLOT_EVENT			0x08	/* NPU_SLOT_EVENT_*; write 1 to clear */
#define NPU_SLOT_EVENT_REQUEST		(1u << 0)	/* entered REQUEST */
#define NPU_SLOT_EVENT_IDLE		(1u << 1)	/* entered EMPTY or WAITING (EMPTY: the ring was looked at) */
#define NPU_SLOT_EVENT_DONE		(1u << 2)	/* a task ended */
#define NPU_SLOT_EVENT_STOPPED		(1u << 3)
#define NPU_SLOT_EVENT_DETACHED		(1u << 4)	/* entered FREE, after DETACH or KILL */
#define NPU_SLOT_EVENT_SWITCHED		(1u << 5)	/* ... did not, but has the queue of CORE_NEXT now */
#define NPU_SLOT_NEED_CLUSTERS		0x0c
#define NPU_SLOT_NEED_GLOBAL		0x10	/* bytes */
#define NPU_SLOT_GRANT_WINDOW		0x14	/* base of the window in global SRAM, 64-byte aligned */
#define NPU_SLOT_GRANT_WINDOW_BYTES	0x18
#define NPU_SLOT_GRANT			0x1c	/* cluster mask; writing it makes the grant valid: tasks that fit
						 * start without asking again, until firmware writes 0 (taken
						 * back at the end of the running task) or the slot is free.
						 * Reads as the mask in force: not 0 until it is taken back.
						 * While a task runs, clusters that are not in the mask written
						 * and that it does not use leave the grant.
						 * In REQUEST a new grant replaces the one in force */

/* How a slot's last task or COPY left it; 0: none has since reset */
#define NPU_REG_SLOT_LEFT(s)		(0xa800 + (s) * 4)	/* NPU_SLOT_LEFT_* in [7:0] */
#define NPU_SLOT_LEFT_ENDED		1u	/* a task with END */
#define NPU_SLOT_LEFT_PREEMPTED		2u	/* saved at the point in [31:8] */
#define NPU_SLOT_LEFT_KILLED		3u
#define NPU_SLOT_LEFT_FAILED		4u	/* by a fault or its budget; REJECTED */
/* Number of the point's instruction in stream 0: its offset in the program / NPU_INSN_BYTES */
#define NPU_SLOT_LEFT_POINT_SHIFT	8

/* Doorbells: BAR2, one page (stride 64 KiB) a queue */
#define NPU_DOORBELL_STRIDE		0x10000
#define NPU_DOORBELL_RING		0x0	/* store: look at the ring (the value is a hint: write index) */
#define NPU_DOORBELL_SIGNAL		0x8	/* 64-bit store: semaphore << 48 | amount: host signal, own context */

#endif /* NPU_REGS_H */
