/* SPDX-License-Identifier: MIT */
/*
 * libnpumodel: the device as a C library. Functional (bit exact) and cycle exact by
 * Documentation/hardware/timing.rst.
 *
 * A model is a passive object: registers and doorbells change its state, npu_model_run() lets
 * device time pass. It never reads a clock, and given the same calls and the same host memory it
 * does the same in the same cycles. npu_model_thread.h wraps a model into a thread of its own.
 *
 * Thread safety: none. One thread at a time for one model (who calls from several locks around
 * it); different models are independent. Host memory may be changed by other threads at any time:
 * the device reads and writes ring headers, indices, record status, events and semaphore values
 * with atomic acquire and release accesses, everything else plainly.
 *
 * Everything that comes in (registers, doorbells, host memory) is hostile: no value makes the model
 * crash, read outside what translate() handed out, or loop without end.
 */
#ifndef NPU_MODEL_H
#define NPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npu_model;

/**
 * struct npu_model_host_ops - what the device needs of its host
 * @translate:	returns a pointer to @size bytes of host memory at DMA address @address, to read or
 *		(@write) to write, or NULL when there is no such memory: a bus error. @size is at
 *		most 4096 and the range never crosses a multiple of 4096. The model keeps the
 *		pointer (also for the rest of the page) until npu_model_memory_changed(). A page's
 *		pointer must be as aligned as its DMA address.
 * @irq:	vectors NPU_IRQ_* (a mask, npu_regs.h) are raised now: an edge for each, as MSI-X
 *		wants. For wired interrupts see npu_model_irq_pending(). May be NULL.
 *
 * Both are called from inside the functions below, on the caller's thread, and must not call the
 * model.
 */
struct npu_model_host_ops {
	void *(*translate)(void *host, uint64_t address, uint64_t size, bool write);
	void (*irq)(void *host, uint32_t vectors);
};

/**
 * npu_model_create() - make a device, in reset, at time 0
 * @config:	configuration: "npu-v3", "lowpower-v3?clusters=2"; NULL or "": the default. Manual:
 *		Documentation/hardware/configurations.rst; with "fault=SCRIPT" among its keys
 *		(injected-faults.rst) the device does what the script says
 * @ops:	copied
 * @host:	passed to @ops
 * @error:	set to a sentence when NULL is returned; may be NULL
 * @error_size:	bytes at @error
 *
 * Returns the model, to be freed with npu_model_destroy(), or NULL.
 */
struct npu_model *npu_model_create(const char *config, const struct npu_model_host_ops *ops,
				   void *host, char *error, size_t error_size);

/**
 * npu_model_destroy() - free a model; NULL is allowed. Host memory is not touched.
 */
void npu_model_destroy(struct npu_model *model);

/**
 * npu_model_reset() - as at power on, but time and configuration stay
 *
 * What ran is gone without a record: host memory is not touched. Manual: registers.rst, "Reset".
 */
void npu_model_reset(struct npu_model *model);

/**
 * npu_model_power_cycle() - power off and on: a reset that a dead device obeys, too
 *
 * The script of faults (the key "fault" of the configuration) begins again.
 */
void npu_model_power_cycle(struct npu_model *model);

/**
 * npu_model_register_read() - the host reads 32 bits of BAR0
 * @offset:	byte offset; unknown, misaligned and core-only registers read 0
 *
 * Reading the low word of a 64-bit counter latches its high word.
 */
uint32_t npu_model_register_read(struct npu_model *model, uint32_t offset);

/**
 * npu_model_register_write() - the host writes 32 bits of BAR0
 * @offset:	byte offset; what is not a writable register is ignored
 *
 * May call the host's irq().
 */
void npu_model_register_write(struct npu_model *model, uint32_t offset, uint32_t value);

/**
 * npu_model_doorbell() - the host stores to a queue's doorbell page (BAR2)
 * @queue:	page number; a queue the device does not have is ignored
 * @offset:	offset in the page: NPU_DOORBELL_RING, NPU_DOORBELL_SIGNAL; others are ignored
 * @value:	the stored value
 * @size:	bytes of the store; NPU_DOORBELL_SIGNAL takes 8 only
 *
 * A load from a doorbell page answers 0 without effect; it needs no call.
 */
void npu_model_doorbell(struct npu_model *model, unsigned int queue, uint32_t offset,
			uint64_t value, unsigned int size);

/**
 * npu_model_record() - write what arrives from now on into a file
 * @path:	of the file, written anew
 * @error:	receives a sentence when that fails, if @size is not 0
 *
 * Arrivals are doorbells, signals of the host, which packets are there when the device looks, and
 * writes to registers that have an influence on device time. Manual: arrivals.rst. Returns 0 or a
 * negative errno.
 */
int npu_model_record(struct npu_model *model, const char *path, char *error, size_t size);

/**
 * npu_model_record_end() - the file is complete; returns 0, or -EIO when it could not be written
 */
int npu_model_record_end(struct npu_model *model);

/**
 * npu_model_replay() - have everything arrive as in a recording, from the same cycle on
 *
 * From now on the host's own doorbells do nothing; the recorded ones come in their cycles, and a
 * packet counts as there when it was. The host has to have written it by then. What the host writes
 * to registers is its own business. Returns as npu_model_record().
 */
int npu_model_replay(struct npu_model *model, const char *path, char *error, size_t size);

/**
 * npu_model_replay_patiently() - the same for a host that runs again as it did in the recording
 *
 * Time stands still until the host has written what the recording finds, and made the writes it
 * has: npu_model_run() returns false then. The recording has to have begun at power on, as the
 * replay does.
 */
int npu_model_replay_patiently(struct npu_model *model, const char *path, char *error, size_t size);

/**
 * npu_model_awaits_host() - whether time stands still in a patient replay
 * @text:	receives a sentence that says for what, if @size is not 0
 */
bool npu_model_awaits_host(const struct npu_model *model, char *text, size_t size);

/**
 * npu_model_write_may_come() - false while a host's write to a register has to wait for its turn
 *
 * Always true but in a patient replay. Who asks makes the write only when this is true.
 */
bool npu_model_write_may_come(const struct npu_model *model, uint32_t offset, uint32_t value);

/**
 * npu_model_replay_end() - go on without the rest of a replay
 */
void npu_model_replay_end(struct npu_model *model);

/**
 * npu_model_missing() - looks for packets of a replay that found none where the recording had one,
 * and recorded looks in vain whose cycle has passed without one
 *
 * Not 0: the host was late, or did something else than in the recording.
 */
uint64_t npu_model_missing(const struct npu_model *model);

/**
 * npu_model_run() - let device time pass until nothing is left to do
 * @max_cycles:	return after so many cycles at the latest; more than 2^32 count as 2^32
 *
 * Returns true when the device is idle: nothing in progress, the control core asleep or stopped.
 * Then time stands still until the next register write, doorbell or npu_model_skip(). Returns false
 * when @max_cycles ended it; call again to go on.
 */
bool npu_model_run(struct npu_model *model, uint64_t max_cycles);

/**
 * npu_model_time() - device cycles since npu_model_create()
 */
uint64_t npu_model_time(const struct npu_model *model);

/**
 * npu_model_timer() - cycles until the control core's timer would wake an idle device
 *
 * UINT64_MAX when it is not armed. An armed timer does not keep npu_model_run() from returning
 * idle; who wants it to fire lets idle time pass with npu_model_skip().
 */
uint64_t npu_model_timer(const struct npu_model *model);

/**
 * npu_model_skip() - let time pass on an idle device
 * @cycles:	at most npu_model_timer() of them are skipped; fewer when heat wakes the core
 *
 * Does nothing on a device that is not idle. Call npu_model_run() afterwards.
 */
void npu_model_skip(struct npu_model *model, uint64_t cycles);

/**
 * npu_model_irq_pending() - NPU_REG_IRQ_STATUS & NPU_REG_IRQ_ENABLE: the level of a wired interrupt
 */
uint32_t npu_model_irq_pending(const struct npu_model *model);

/**
 * npu_model_memory_changed() - forget every pointer translate() has returned
 *
 * To be called before host memory the model may have seen goes away or changes its address.
 * Does not replace TLB invalidation, which is the guest's to ask for.
 */
void npu_model_memory_changed(struct npu_model *model);

/**
 * npu_model_clock_hz() - cycles a second of the configuration, as NPU_REG_CLOCK_HZ
 */
uint32_t npu_model_clock_hz(const struct npu_model *model);

/**
 * npu_model_clock_now() - cycles a second at the clock's present point
 */
uint32_t npu_model_clock_now(const struct npu_model *model);

#endif /* NPU_MODEL_H */
