// SPDX-License-Identifier: MIT
/* Sleeping clusters. See power.h. */
#include "machine.h"

/* From asleep to awake, of the configuration's clock. */
#define WAKE_PER_SECOND		1000000

void npu_power_sleep(struct npu_model *model, uint32_t clusters)
{
	struct npu_power *power = &model->power;

	clusters &= ~power->asleep;
	for (unsigned int i = 0; i < model->config.slots; i++) {
		if (npu_slot_has_task(&model->command.slot[i]))
			clusters &= ~npu_task_clusters(&model->command.slot[i].task);
	}
	for (unsigned int i = 0; i < model->config.clusters; i++) {
		if (!(clusters >> i & 1))
			continue;
		power->asleep |= 1u << i;
		power->since[i] = model->now;
	}
}

uint64_t npu_power_wake(struct npu_model *model, const struct npu_task *task)
{
	struct npu_power *power = &model->power;
	uint32_t woken = power->asleep & npu_task_clusters(task);

	if (!woken)
		return 0;
	for (unsigned int i = 0; i < model->config.clusters; i++) {
		if (woken >> i & 1)
			power->slept += model->now - power->since[i];
	}
	power->asleep &= ~woken;
	power->wakes++;
	return model->config.clock_hz / WAKE_PER_SECOND;
}

uint64_t npu_power_slept(const struct npu_model *model)
{
	const struct npu_power *power = &model->power;
	uint64_t slept = power->slept;

	for (unsigned int i = 0; i < model->config.clusters; i++) {
		if (power->asleep >> i & 1)
			slept += model->now - power->since[i];
	}
	return slept;
}
