/* SPDX-License-Identifier: MIT */
/*
 * The control core in the device: its time, its bus, its interrupts, boot.
 */
#ifndef NPU_MODEL_CONTROL_CORE_H
#define NPU_MODEL_CONTROL_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "rv32.h"

struct npu_model;

struct npu_control_core {
	struct rv32 *core;
	struct rv32_bus bus;
	uint8_t *tcm;
	struct npu_alarm timer;
	uint64_t run_until;		/* 0: not inside rv32_run() */
	uint64_t offset;		/* device time - core->cycle */
	bool died;			/* the host was told */
	bool lost;			/* injected: the next instruction is nowhere */
};

/** npu_core_init() - allocate; 0 or -ENOMEM */
int npu_core_init(struct npu_model *model);

/** npu_core_release() - free */
void npu_core_release(struct npu_model *model);

/** npu_core_reset() - hold the core in reset */
void npu_core_reset(struct npu_model *model);

/** npu_core_boot() - NPU_BOOT_START: fetch the image, check it, start it; sets BOOT_STATUS */
void npu_core_boot(struct npu_model *model);

/** npu_core_halt() - NPU_REG_CORE_PANIC */
void npu_core_halt(struct npu_model *model);

/** npu_core_update() - interrupt lines may have changed: causes, timer */
void npu_core_update(struct npu_model *model);

/** npu_core_turn() - the firmware says that it is alive: an opportunity for it not to be */
void npu_core_turn(struct npu_model *model);

/** npu_core_running() - it executes, or would at once */
bool npu_core_running(const struct npu_model *model);

/** npu_core_time() - cycle at which its next instruction begins; UINT64_MAX when it sleeps */
uint64_t npu_core_time(const struct npu_model *model);

/** npu_core_run() - execute instructions that begin before @until; sets model->now on the way */
void npu_core_run(struct npu_model *model, uint64_t until);

/** npu_core_timer() - cycles until the timer, UINT64_MAX when not armed */
uint64_t npu_core_timer(const struct npu_model *model);

#endif /* NPU_MODEL_CONTROL_CORE_H */
