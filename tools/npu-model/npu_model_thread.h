/* SPDX-License-Identifier: MIT */
/*
 * A model on a thread of its own, for `sim:` and for servers.
 *
 * The thread runs the device while it has something to do. Idle, it spins for a while, then sleeps
 * until a doorbell or a register write. Idle device time follows the wall clock only as far as the
 * control core's timer needs it; while the device works, its time is its own.
 *
 * Thread safety: every function may be called from any thread at any time between create and
 * destroy. The host ops are called on the model's thread, or on the thread that is inside one of
 * these functions, always one at a time; they must not call these functions.
 */
#ifndef NPU_MODEL_THREAD_H
#define NPU_MODEL_THREAD_H

#include "npu_model.h"

struct npu_model_thread;

/* Idle spinning when the caller has no opinion, microseconds. */
#define NPU_MODEL_THREAD_SPIN_DEFAULT	50u

/**
 * npu_model_thread_create() - make a model and start its thread
 * @spin_us:	how long the thread spins on an idle device before it sleeps; 0: not at all. With
 *		one CPU it never spins.
 *
 * The other parameters and @error as npu_model_create(). All signals are blocked in the thread,
 * but for those of its own faults (SIGBUS and so on).
 * Returns NULL with a sentence in @error. To be freed with npu_model_thread_destroy().
 */
struct npu_model_thread *npu_model_thread_create(const char *config,
						 const struct npu_model_host_ops *ops, void *host,
						 unsigned int spin_us, char *error,
						 size_t error_size);

/**
 * npu_model_thread_destroy() - stop the thread, free the model; NULL is allowed
 *
 * Nobody may be inside another function of this file. The device stops where it is.
 */
void npu_model_thread_destroy(struct npu_model_thread *thread);

/**
 * npu_model_thread_register_read() - see npu_model_register_read(); waits for the model's lock
 */
uint32_t npu_model_thread_register_read(struct npu_model_thread *thread, uint32_t offset);

/**
 * npu_model_thread_register_write() - see npu_model_register_write(); waits for the model's lock
 */
void npu_model_thread_register_write(struct npu_model_thread *thread, uint32_t offset,
				     uint32_t value);

/**
 * npu_model_thread_irq_pending() - see npu_model_irq_pending(); waits for the model's lock
 *
 * For wired interrupts: to be asked in reply to irq() (later, on another thread) and after writes
 * to NPU_REG_IRQ_STATUS and NPU_REG_IRQ_ENABLE.
 */
uint32_t npu_model_thread_irq_pending(struct npu_model_thread *thread);

/**
 * npu_model_thread_doorbell() - see npu_model_doorbell()
 *
 * NPU_DOORBELL_RING never takes a lock and makes a system call only when the thread sleeps: what
 * the caller published before it is seen by the device. NPU_DOORBELL_SIGNAL waits for the lock.
 */
void npu_model_thread_doorbell(struct npu_model_thread *thread, unsigned int queue, uint32_t offset,
			       uint64_t value, unsigned int size);

/**
 * npu_model_thread_memory_changed() - see npu_model_memory_changed(); when it returns, the model
 * holds no pointer into memory that translate() no longer hands out
 */
void npu_model_thread_memory_changed(struct npu_model_thread *thread);

/**
 * npu_model_thread_reset() - see npu_model_reset()
 */
void npu_model_thread_reset(struct npu_model_thread *thread);

/**
 * npu_model_thread_power_cycle() - see npu_model_power_cycle()
 */
void npu_model_thread_power_cycle(struct npu_model_thread *thread);

/**
 * npu_model_thread_time() - device cycles as of the last time the thread looked up; no lock
 */
uint64_t npu_model_thread_time(const struct npu_model_thread *thread);

/**
 * npu_model_thread_record() - see npu_model_record(); before anything else is done with the device
 */
int npu_model_thread_record(struct npu_model_thread *thread, const char *path, char *error,
			    size_t size);

/**
 * npu_model_thread_record_end() - see npu_model_record_end()
 */
int npu_model_thread_record_end(struct npu_model_thread *thread);

/**
 * npu_model_thread_replay() - see npu_model_replay_patiently(); before anything else is done
 * @patience_s:	seconds to wait for the host; then the replay is given up
 *
 * npu_model_thread_register_write() waits for the write's turn.
 */
int npu_model_thread_replay(struct npu_model_thread *thread, const char *path,
			    unsigned int patience_s, char *error, size_t size);

/**
 * npu_model_thread_replay_lapsed() - whether a replay was given up
 * @text:	receives what the host did not do
 */
bool npu_model_thread_replay_lapsed(struct npu_model_thread *thread, char *text, size_t size);

#endif /* NPU_MODEL_THREAD_H */
