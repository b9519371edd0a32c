/* SPDX-License-Identifier: MIT */
/*
 * Interrupts: the device's vectors, as messages, to the client's eventfds. Also the MSI-X table and
 * pending bits in BAR4. Manual: Documentation/hardware/pcie.rst.
 *
 * Thread safety: every function but init and release may be called from any thread.
 */
#ifndef NPU_DEVICE_INTERRUPTS_H
#define NPU_DEVICE_INTERRUPTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config_space.h"
#include "npu/npu_regs.h"

enum interrupt_kind { INTERRUPT_MSI, INTERRUPT_MSIX, INTERRUPT_KINDS };

struct msix_entry {
	uint32_t word[4];	/* address low, high, data, control */
	/*
	 * A hypervisor keeps the table to itself and masks by taking the eventfd away; then the
	 * mask bit, which is set after reset, means nothing. It counts once it was written.
	 */
	bool control_written;
};

struct interrupts {
	pthread_mutex_t lock;
	int fd[INTERRUPT_KINDS][NPU_IRQ_COUNT];
	struct config_state state;
	struct msix_entry table[NPU_IRQ_COUNT];
	uint32_t pending;
	uint64_t sent;
};

void interrupts_init(struct interrupts *irqs);
void interrupts_release(struct interrupts *irqs);

/* interrupts_reset() - disabled, masked, nothing pending; the client's eventfds stay */
void interrupts_reset(struct interrupts *irqs);

/* interrupts_drop() - the client is gone: reset, without eventfds */
void interrupts_drop(struct interrupts *irqs);

/* interrupts_configure() - the configuration space says something else now */
void interrupts_configure(struct interrupts *irqs, const struct config_state *state);

/**
 * interrupts_assign() - eventfds for vectors @start to @start + @count - 1
 * @fds:	@count of them, which are taken over; NULL: takes those assigned away
 *
 * Returns 0, or EINVAL: no such vectors, or a descriptor that is no eventfd. Then nothing changes
 * and @fds stay the caller's.
 */
int interrupts_assign(struct interrupts *irqs, enum interrupt_kind kind, uint32_t start,
		      uint32_t count, const int *fds);

/* interrupts_disable() - takes all of @kind away, and what is pending */
void interrupts_disable(struct interrupts *irqs, enum interrupt_kind kind);

/* interrupts_trigger() - signal an eventfd on the client's wish, whatever is enabled */
void interrupts_trigger(struct interrupts *irqs, enum interrupt_kind kind, uint32_t vector);

/* interrupts_raise() - the device raises @vectors, a mask of NPU_IRQ_* */
void interrupts_raise(struct interrupts *irqs, uint32_t vectors);

/* interrupts_sent() - messages since init */
uint64_t interrupts_sent(struct interrupts *irqs);

/* BAR4, by aligned 32-bit words; other words read 0 and cannot be written. */
uint32_t interrupts_bar_read(struct interrupts *irqs, uint32_t offset);
void interrupts_bar_write(struct interrupts *irqs, uint32_t offset, uint32_t value);

#endif
