// SPDX-License-Identifier: MIT
/* Tokens: counters by which instructions wait for each other. See cluster.h. */
#include "cluster.h"
#include "machine.h"

static uint8_t *token_counter(struct npu_cluster *cluster, unsigned int id)
{
	if (id < NPU_TOKEN_LOCAL_COUNT)
		return &cluster->token[id];
	return &cluster->task->token[id - NPU_TOKEN_LOCAL_COUNT];
}

static void wait_for(struct npu_cluster *cluster, unsigned int id, unsigned int engine)
{
	if (id < NPU_TOKEN_LOCAL_COUNT) {
		cluster->token_waiters[id] |= (uint8_t)(1u << engine);
		return;
	}
	cluster->task->token_waiters[id - NPU_TOKEN_LOCAL_COUNT] |=
		1ull << (cluster->number * 8u + engine);
}

/* The same token twice takes two of it. */
static uint8_t need_of(const uint8_t wait[2])
{
	return wait[0] == wait[1] ? 2 : 1;
}

bool npu_tokens_missing(struct npu_cluster *cluster, const uint8_t wait[2], unsigned int *token)
{
	for (unsigned int i = 0; i < 2; i++) {
		*token = wait[i] & NPU_TOKEN_ID_MASK;
		if (wait[i] && *token_counter(cluster, *token) < need_of(wait))
			return true;
	}
	return false;
}

bool npu_tokens_take(struct npu_cluster *cluster, const uint8_t wait[2], unsigned int engine)
{
	bool complete = true;

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int id = wait[i] & NPU_TOKEN_ID_MASK;

		if (!wait[i] || *token_counter(cluster, id) >= need_of(wait))
			continue;
		wait_for(cluster, id, engine);
		complete = false;
	}
	if (!complete)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		if (wait[i])
			--*token_counter(cluster, wait[i] & NPU_TOKEN_ID_MASK);
	}
	return true;
}

static void wake(struct npu_model *model, struct npu_cluster *cluster, unsigned int engine)
{
	struct npu_alarm *step;

	if (engine == NPU_ENGINE_FRONT) {
		npu_front_end_wake(model, cluster);
		return;
	}
	step = &cluster->engine[engine].step;
	npu_event_schedule(&model->events, step, model->now);
}

static void wake_waiters(struct npu_model *model, struct npu_cluster *cluster, unsigned int id)
{
	uint64_t waiters;

	if (id < NPU_TOKEN_LOCAL_COUNT) {
		waiters = (uint64_t)cluster->token_waiters[id] << cluster->number * 8u;
		cluster->token_waiters[id] = 0;
	} else {
		uint64_t *shared = &cluster->task->token_waiters[id - NPU_TOKEN_LOCAL_COUNT];

		waiters = *shared;
		*shared = 0;
	}
	while (waiters) {
		unsigned int bit = (unsigned int)__builtin_ctzll(waiters);

		waiters &= waiters - 1;
		wake(model, &model->clusters[bit / 8], bit % 8);
	}
}

bool npu_tokens_release(struct npu_model *model, struct npu_cluster *cluster,
			const uint8_t release[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int id = release[i] & NPU_TOKEN_ID_MASK;
		uint8_t *counter;

		if (!release[i])
			continue;
		counter = token_counter(cluster, id);
		if (*counter == NPU_TOKEN_MAX)
			return false;
		++*counter;
		wake_waiters(model, cluster, id);
	}
	return true;
}
