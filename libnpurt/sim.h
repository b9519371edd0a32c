/* SPDX-License-Identifier: MIT */
/*
 * The `sim:` back end: what a kernel does for a device, over the device model in this process.
 *
 * Threads: applications' threads inside a call; the model's own thread, which calls translate() and
 * irq(); one interrupt thread, which acknowledges interrupts, reads the mailbox and re-arms
 * watches. Locks, outer first: @context_lock, a context's @bind_lock, @mailbox_lock, @handle_lock, @life_lock;
 * the model's lock; @memory_lock, @event_lock, which are taken inside irq() and so never held around
 * a call of the model.
 */
#ifndef NPURT_SIM_H
#define NPURT_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "npu/npu_mailbox.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"
#include "npu_model_thread.h"
#include "npu_pgtable.h"
#include "npu_watch.h"
#include "range.h"

struct sim_wrapped;

#define SIM_PAGE 4096u
#define SIM_CONTEXTS_MAX 256u
#define SIM_QUEUES_MAX 64u
#define SIM_EVENTS_LOG2 8
#define SIM_FAULTS_LOG2 8
#define SIM_FAULTS_KEPT 16u

/* No part of the device's memory has a small address, so that a pointer cut to 32 bits shows. */
#define SIM_MEMORY_BASE ((uint64_t)1 << 32)

struct sim_context;

/* Somebody who sleeps in sim_wait(). On the sleeper's stack, linked under @event_lock. */
struct sim_waiter {
	struct npu_watch_waiter node; /* first, so that it stands for all of it */
	struct sim_waiter *next, **link; /* of its context */
	uint32_t woken; /* a futex */
};

/* A semaphore's waiters; under @event_lock. */
struct sim_watch {
	struct npu_watch waiters;
	bool rearm; /* the interrupt thread shall arm it */
};

/* A ring the device fills and we drain: events, faults. */
struct sim_host_ring {
	unsigned char *entries;
	uint64_t dma;
	uint32_t consumer;
};

struct sim {
	struct npurt_backend base;
	struct npu_model_thread *model;
	bool small_pages;
	bool records, replays; /* what arrives */
	uint32_t contexts, queues, semaphores;
	uint64_t firmware_dma; /* its image, for every reset; 0 before the first start */
	size_t firmware_bytes;
	char firmware_version[32];
	uint32_t patience; /* seconds that the device has for an answer */
	uint32_t sleep_us; /* idle microseconds until its clusters sleep, 0: never */
	uint32_t fastest, slowest; /* points of the clock; 0: nothing is asked for */
	uint32_t firmware_abi;

	/* Physical memory */
	unsigned char *memory;
	uint64_t memory_bytes;
	struct npurt_range free_memory;
	struct sim_wrapped *wrapped; /* the application's; written under memory_lock */
	pthread_mutex_t memory_lock;

	/* Contexts and queues */
	pthread_mutex_t context_lock;
	struct npu_context_entry *context_table;
	uint64_t context_table_dma;
	struct sim_context *context[SIM_CONTEXTS_MAX];
	struct sim_queue *queue[SIM_QUEUES_MAX];
	pthread_mutex_t tlb_lock;

	/* Mailbox: one message at a time */
	pthread_mutex_t mailbox_lock;
	uint16_t sequence;
	pthread_mutex_t reply_lock;
	pthread_cond_t reply_changed;
	bool reply_there;
	struct npu_message reply;
	uint16_t expected; /* sequence of the message that is waiting for its reply; 0: none */
	uint16_t ping; /* sequence of a ping without a reply; 0: none */
	int64_t ping_ns; /* when it, or the last one, was sent */

	/* Interrupts, events, faults, sleepers */
	pthread_t interrupt_thread;
	bool interrupt_thread_runs;
	uint32_t interrupts; /* a futex: NPU_IRQ_* to be looked at */
	uint32_t stop;
	pthread_mutex_t handle_lock; /* held by that thread while it talks to the device */
	pthread_mutex_t event_lock;
	struct sim_host_ring events, faults;

	/* Death and reset: sim_reset.c */
	pthread_mutex_t life_lock;
	uint32_t dead; /* it was stopped: it works again after a reset */
	uint32_t gone; /* it does not */
	uint32_t generation; /* resets so far */
	char why[80]; /* it was stopped the last time; under life_lock */
};

struct sim_context {
	struct npurt_backend_context base;
	struct sim *sim;
	uint32_t index;
	uint32_t lost; /* the device has been stopped since it was made */
	char why_lost[80]; /* set before */
	uint32_t stopped; /* atomic: a queue of it has stopped with this enum npu_error */
	unsigned int map_flags;
	uint64_t semaphores_dma, thresholds_dma;
	uint64_t *thresholds;
	pthread_mutex_t bind_lock;
	struct npu_pgtable tables;
	/* Sleepers: all of them, and by semaphore; under @event_lock */
	struct sim_waiter *waiters;
	struct sim_watch *watches;
	bool rearm; /* one of @watches has it set */
	/* The newest faults; under @event_lock */
	struct npu_fault fault[SIM_FAULTS_KEPT];
	uint32_t fault_count;
};

struct sim_queue {
	struct npurt_backend_queue base;
	struct sim *sim;
	uint32_t index;
};

static inline struct sim *sim_of(struct npurt_backend *backend)
{
	return (struct sim *)backend;
}

static inline struct sim_context *sim_context_of(struct npurt_backend_context *context)
{
	return (struct sim_context *)context;
}

static inline uint32_t sim_read(struct sim *sim, uint32_t offset)
{
	return npu_model_thread_register_read(sim->model, offset);
}

static inline void sim_write(struct sim *sim, uint32_t offset, uint32_t value)
{
	npu_model_thread_register_write(sim->model, offset, value);
}

static inline bool sim_is_dead(struct sim *sim)
{
	return __atomic_load_n(&sim->dead, __ATOMIC_ACQUIRE) != 0;
}

/* To be read before what may turn out to be a sign of death is asked for. */
static inline uint32_t sim_generation(struct sim *sim)
{
	return __atomic_load_n(&sim->generation, __ATOMIC_ACQUIRE);
}

static inline bool sim_context_is_lost(struct sim_context *context)
{
	return __atomic_load_n(&context->lost, __ATOMIC_ACQUIRE) != 0;
}

/* ----------------------------------------------------------------------- sim.c */

/** sim_boot() - start the firmware of a device that has been reset, and greet it */
int sim_boot(struct sim *sim);

/** sim_check_replay() - -EIO when a replay was given up, as the program does something else */
int sim_check_replay(struct sim *sim);

/* ---------------------------------------------------------------- sim_memory.c */

/**
 * sim_memory_init() - reserve the physical memory
 */
int sim_memory_init(struct sim *sim, uint64_t bytes);
void sim_memory_fini(struct sim *sim);

/**
 * sim_pages_alloc() - zeroed, contiguous pages
 * @align: a power of two
 *
 * Returns their address for the device, 0 when there are none.
 */
uint64_t sim_pages_alloc(struct sim *sim, uint64_t bytes, uint64_t align);
void sim_pages_free(struct sim *sim, uint64_t dma, uint64_t bytes);

/** sim_pages_give() - pages that are zero, and that the model knows nothing of, are free */
void sim_pages_give(struct sim *sim, uint64_t dma, uint64_t bytes);

/**
 * sim_memory_take() - zeroed pages for a buffer, aligned for the largest of the MMU's that fit
 *
 * Return: 0; -ENOMEM with a sentence.
 */
int sim_memory_take(struct sim *sim, uint64_t bytes, uint64_t *dma);

static inline void *sim_pointer(struct sim *sim, uint64_t dma)
{
	return sim->memory + (dma - SIM_MEMORY_BASE);
}

/** sim_translate() - the model's view of the memory */
void *sim_translate(void *host, uint64_t address, uint64_t size, bool write);

int sim_memory_alloc(struct npurt_backend *backend, uint64_t bytes, struct npurt_memory *memory);
void sim_memory_free(struct npurt_backend *backend, const struct npurt_memory *memory);
void sim_memory_clear(struct npurt_backend *backend, const struct npurt_memory *memory);

/* ----------------------------------------------------------------- sim_share.c */

int sim_memory_alloc_shared(struct npurt_backend *backend, uint64_t bytes,
			    struct npurt_memory *memory);
int sim_memory_export(struct npurt_backend *backend, const struct npurt_memory *memory, int *file);
int sim_memory_import(struct npurt_backend *backend, int file, bool writable,
		      struct npurt_memory *memory);

/** sim_share_end() - shared memory is the device's own again, and nobody's */
void sim_share_end(struct sim *sim, const struct npurt_memory *memory);

/* ------------------------------------------------------------------ sim_wrap.c */

int sim_memory_wrap(struct npurt_backend *backend, void *host, uint64_t bytes, bool writable,
		    struct npurt_memory *memory);

/** sim_wrap_end() - the application's memory is no part of the device's any more */
void sim_wrap_end(struct sim *sim, const struct npurt_memory *memory);

/** sim_wrap_translate() - as sim_translate(), of an address in the device's memory, when there is any */
void *sim_wrap_translate(struct sim *sim, uint64_t address, uint64_t size, bool write);

/* --------------------------------------------------------------- sim_mailbox.c */

/**
 * sim_message() - send a message to the firmware and wait for the reply
 * @message: kind and arguments; replaced by the reply
 * @what: what is being done, for the sentence
 *
 * Returns 0, -EIO (refused, or no answer), -ENODEV (dead).
 */
int sim_message(struct sim *sim, struct npu_message *message, const char *what);

/** sim_mailbox_interrupt() - the firmware wrote something; interrupt thread only */
void sim_mailbox_interrupt(struct sim *sim);

/**
 * sim_ping() - ask the firmware whether it is there, unless that has been asked lately
 *
 * Does not wait. Return: true when an answer is overdue.
 */
bool sim_ping(struct sim *sim);

/** sim_mailbox_reset() - nobody answers what the firmware was asked before a reset */
void sim_mailbox_reset(struct sim *sim);

int sim_firmware_log(struct npurt_backend *backend, uint32_t *position, char *text, size_t bytes);

/* ---------------------------------------------------------------- sim_events.c */

int sim_events_init(struct sim *sim);
void sim_events_fini(struct sim *sim);

/** sim_irq() - from inside the model: must not call it */
void sim_irq(void *host, uint32_t vectors);

/** sim_context_stopped() - a queue of a context stopped: its sleepers must look */
void sim_context_stopped(struct sim *sim, uint32_t context, uint32_t error);

/** sim_lose_contexts() - all that there are, for sim->why; wakes who sleeps in them; under life_lock and event_lock */
void sim_lose_contexts(struct sim *sim);

/** sim_events_reset() - rings and interrupts of a device that has been reset */
void sim_events_reset(struct sim *sim);

/** sim_look() - have the interrupt thread look at everything, whatever it has been told */
void sim_look(struct sim *sim);

int sim_wait(struct npurt_backend_context *context, const struct npurt_wait *wait);
int sim_last_fault(struct npurt_backend_context *context, uint32_t task_id,
		   struct npurt_fault *fault);

/* ----------------------------------------------------------------- sim_reset.c */

/**
 * sim_died() - the device cannot be worked with any more: stop it, and tell everybody
 * @generation: when the sign of it was seen; nothing happens if there was a reset since
 * @why: for sentences: "its firmware died"
 *
 * When it returns, the device does not touch any memory.
 */
void sim_died(struct sim *sim, uint32_t generation, const char *why);

/**
 * sim_check_life() - is it still there? For somebody who has waited for long
 *
 * While arrivals are recorded or replayed the firmware is not asked.
 */
void sim_check_life(struct sim *sim);

/** sim_revive() - reset the device if it was stopped; under context_lock; -ENODEV: in vain */
int sim_revive(struct sim *sim);

/** sim_fail_lost() - the sentence for a call about a context that is lost; -EIO, or -ENODEV when gone */
int sim_fail_lost(struct sim_context *context);

bool sim_is_lost(struct npurt_backend_context *context);
void sim_why_lost(struct npurt_backend_context *context, char *text, size_t bytes);

/* --------------------------------------------------------------- sim_context.c */

int sim_contexts_init(struct sim *sim);

/** sim_contexts_reset() - the device has forgotten them */
void sim_contexts_reset(struct sim *sim);
int sim_context_create(struct npurt_backend *backend, uint32_t flags,
		       struct npurt_backend_context **context);
void sim_context_destroy(struct npurt_backend_context *context);
int sim_bind(struct npurt_backend_context *context, uint64_t va, const struct npurt_memory *memory,
	     unsigned int prot);
void sim_unbind(struct npurt_backend_context *context, uint64_t va, uint64_t bytes);
int sim_queue_create(struct npurt_backend_context *context, uint64_t ring_va, unsigned int log2,
		     uint32_t priority, uint64_t first, struct npurt_backend_queue **queue);
void sim_queue_destroy(struct npurt_backend_queue *queue);
void sim_doorbell(struct npurt_backend_queue *queue, uint64_t index);

#endif /* NPURT_SIM_H */
