// SPDX-License-Identifier: MIT
/* Interrupts to eventfds. See interrupts.h. */
#include "interrupts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_BYTES	16u
#define CONTROL		3
#define CONTROL_MASK	1u

static void close_all(struct interrupts *irqs, enum interrupt_kind kind)
{
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		if (irqs->fd[kind][i] >= 0)
			close(irqs->fd[kind][i]);
		irqs->fd[kind][i] = -1;
	}
}

static void reset(struct interrupts *irqs)
{
	irqs->state = (struct config_state){ .msi_messages = 1 };
	irqs->pending = 0;
	memset(irqs->table, 0, sizeof(irqs->table));
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		irqs->table[i].word[CONTROL] = CONTROL_MASK;
}

void interrupts_init(struct interrupts *irqs)
{
	memset(irqs, 0, sizeof(*irqs));
	memset(irqs->fd, 0xff, sizeof(irqs->fd));
	pthread_mutex_init(&irqs->lock, NULL);
	reset(irqs);
}

void interrupts_release(struct interrupts *irqs)
{
	close_all(irqs, INTERRUPT_MSI);
	close_all(irqs, INTERRUPT_MSIX);
	pthread_mutex_destroy(&irqs->lock);
}

void interrupts_reset(struct interrupts *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	reset(irqs);
	pthread_mutex_unlock(&irqs->lock);
}

void interrupts_drop(struct interrupts *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	reset(irqs);
	close_all(irqs, INTERRUPT_MSI);
	close_all(irqs, INTERRUPT_MSIX);
	pthread_mutex_unlock(&irqs->lock);
}

/* A full counter would block; then the client has interrupts enough to look at. */
static void signal_fd(struct interrupts *irqs, int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) &&
	    write(fd, &one, sizeof(one)) == sizeof(one))
		irqs->sent++;
}

static bool msix_open(const struct interrupts *irqs, unsigned int vector)
{
	const struct msix_entry *entry = &irqs->table[vector];

	return irqs->state.bus_master && !irqs->state.msix_masked &&
	       irqs->fd[INTERRUPT_MSIX][vector] >= 0 &&
	       !(entry->control_written && (entry->word[CONTROL] & CONTROL_MASK));
}

/* Send what was held back, as far as nothing is in its way any more. */
static void flush(struct interrupts *irqs)
{
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		if (!(irqs->pending & 1u << i) || !msix_open(irqs, i))
			continue;
		irqs->pending &= ~(1u << i);
		signal_fd(irqs, irqs->fd[INTERRUPT_MSIX][i]);
	}
}

void interrupts_configure(struct interrupts *irqs, const struct config_state *state)
{
	pthread_mutex_lock(&irqs->lock);
	irqs->state = *state;
	if (!state->msix_enabled)
		irqs->pending = 0;
	flush(irqs);
	pthread_mutex_unlock(&irqs->lock);
}

static bool in_range(uint32_t start, uint32_t count)
{
	return start <= NPU_IRQ_COUNT && count <= NPU_IRQ_COUNT - start;
}

/* Anything else could block the device that writes to it. */
static bool is_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, target, sizeof(target));
	return length == sizeof(wanted) - 1 && !memcmp(target, wanted, sizeof(wanted) - 1);
}

int interrupts_assign(struct interrupts *irqs, enum interrupt_kind kind, uint32_t start,
		      uint32_t count, const int *fds)
{
	if (!in_range(start, count))
		return EINVAL;
	for (uint32_t i = 0; fds && i < count; i++) {
		if (!is_eventfd(fds[i]))
			return EINVAL;
	}
	pthread_mutex_lock(&irqs->lock);
	for (uint32_t i = 0; i < count; i++) {
		int *fd = &irqs->fd[kind][start + i];

		if (*fd >= 0)
			close(*fd);
		*fd = fds ? fds[i] : -1;
	}
	flush(irqs);
	pthread_mutex_unlock(&irqs->lock);
	return 0;
}

void interrupts_disable(struct interrupts *irqs, enum interrupt_kind kind)
{
	pthread_mutex_lock(&irqs->lock);
	close_all(irqs, kind);
	if (kind == INTERRUPT_MSIX)
		irqs->pending = 0;
	pthread_mutex_unlock(&irqs->lock);
}

void interrupts_trigger(struct interrupts *irqs, enum interrupt_kind kind, uint32_t vector)
{
	pthread_mutex_lock(&irqs->lock);
	if (vector < NPU_IRQ_COUNT && irqs->fd[kind][vector] >= 0)
		signal_fd(irqs, irqs->fd[kind][vector]);
	pthread_mutex_unlock(&irqs->lock);
}

/* With fewer messages than causes, causes share one, as PCI has it: the low bits change. */
static void raise_msi(struct interrupts *irqs, uint32_t vectors)
{
	uint32_t messages = 0;

	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		if (vectors & 1u << i)
			messages |= 1u << i % irqs->state.msi_messages;
	}
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		if ((messages & 1u << i) && irqs->fd[INTERRUPT_MSI][i] >= 0)
			signal_fd(irqs, irqs->fd[INTERRUPT_MSI][i]);
	}
}

void interrupts_raise(struct interrupts *irqs, uint32_t vectors)
{
	pthread_mutex_lock(&irqs->lock);
	if (irqs->state.msix_enabled) {
		irqs->pending |= vectors & ((1u << NPU_IRQ_COUNT) - 1);
		flush(irqs);
	} else if (irqs->state.msi_enabled && irqs->state.bus_master) {
		raise_msi(irqs, vectors);
	}
	pthread_mutex_unlock(&irqs->lock);
}

uint64_t interrupts_sent(struct interrupts *irqs)
{
	uint64_t sent;

	pthread_mutex_lock(&irqs->lock);
	sent = irqs->sent;
	pthread_mutex_unlock(&irqs->lock);
	return sent;
}

uint32_t interrupts_bar_read(struct interrupts *irqs, uint32_t offset)
{
	uint32_t value = 0;

	pthread_mutex_lock(&irqs->lock);
	if (offset < NPU_IRQ_COUNT * ENTRY_BYTES)
		value = irqs->table[offset / ENTRY_BYTES].word[offset % ENTRY_BYTES / 4];
	else if (offset == CONFIG_MSIX_PBA)
		value = irqs->pending;
	pthread_mutex_unlock(&irqs->lock);
	return value;
}

void interrupts_bar_write(struct interrupts *irqs, uint32_t offset, uint32_t value)
{
	struct msix_entry *entry;
	unsigned int word = offset % ENTRY_BYTES / 4;

	if (offset >= NPU_IRQ_COUNT * ENTRY_BYTES)
		return;
	pthread_mutex_lock(&irqs->lock);
	entry = &irqs->table[offset / ENTRY_BYTES];
	if (word == CONTROL) {
		entry->word[CONTROL] = value & CONTROL_MASK;
		entry->control_written = true;
		flush(irqs);
	} else {
		entry->word[word] = word ? value : value & ~3u;
	}
	pthread_mutex_unlock(&irqs->lock);
}
