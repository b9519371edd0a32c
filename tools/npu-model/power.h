/* SPDX-License-Identifier: MIT */
/*
 * Clusters that sleep until a task is to start on them. Manual: command-processor.rst, "Sleep".
 */
#ifndef NPU_MODEL_POWER_H
#define NPU_MODEL_POWER_H

#include <stdint.h>

#include "config.h"

struct npu_model;
struct npu_task;

/**
 * struct npu_power - who sleeps
 * @asleep:	mask of clusters
 * @since:	of each of them: when it fell asleep
 * @slept:	cycles of sleep that are over, all clusters
 * @wakes:	how often tasks had to wait until clusters were awake
 */
struct npu_power {
	uint32_t asleep;
	uint64_t since[NPU_CONFIG_CLUSTERS_MAX];
	uint64_t slept, wakes;
};

/** npu_power_sleep() - NPU_REG_CORE_SLEEP: clusters fall asleep, those that have a task do not */
void npu_power_sleep(struct npu_model *model, uint32_t clusters);

/** npu_power_wake() - a task is to start: the cycles until all its clusters are awake, or 0 */
uint64_t npu_power_wake(struct npu_model *model, const struct npu_task *task);

/** npu_power_slept() - NPU_REG_COUNTER_SLEEP */
uint64_t npu_power_slept(const struct npu_model *model);

#endif /* NPU_MODEL_POWER_H */
