// SPDX-License-Identifier: MIT
/* Semaphores and watches. See semaphore.h. */
#include "semaphore.h"

#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"
#include "registers.h"

void npu_semaphores_init(struct npu_semaphores *semaphores)
{
	memset(semaphores, 0, sizeof(*semaphores));
}

static bool exists(const struct npu_model *model, unsigned int context, unsigned int semaphore)
{
	return context < model->config.contexts && semaphore < model->config.semaphores &&
	       model->semaphores.context[context].valid;
}

uint64_t npu_semaphore_value(const struct npu_model *model, unsigned int context,
			     unsigned int semaphore)
{
	if (!exists(model, context, semaphore))
		return 0;
	return model->semaphores.context[context].value[semaphore];
}

static void load_values(struct npu_model *model, struct npu_semaphore_context *state)
{
	for (unsigned int i = 0; i < model->config.semaphores; i++) {
		const void *from = npu_host_pointer(model, state->area + i * 8ull, false);

		state->value[i] = from ? npu_load64(from, __ATOMIC_ACQUIRE) : 0;
	}
}

void npu_semaphore_context_update(struct npu_model *model, unsigned int context, bool valid,
				  uint64_t area, uint64_t thresholds)
{
	struct npu_semaphore_context *state = &model->semaphores.context[context];
	bool was_valid = state->valid;

	if (!valid || !was_valid) {
		memset(state, 0, sizeof(*state));
		model->semaphores.fired_contexts &= ~(1ull << context);
	}
	state->valid = valid;
	if (!valid)
		return;
	state->area = area & ~NPU_PAGE_MASK;
	state->thresholds = thresholds & ~NPU_PAGE_MASK;
	if (!was_valid)
		load_values(model, state);
}

static void write_back(struct npu_model *model, const struct npu_semaphore_context *state,
		       unsigned int semaphore)
{
	void *to = npu_host_pointer(model, state->area + semaphore * 8ull, true);

	if (to)
		npu_store64(to, state->value[semaphore], __ATOMIC_RELEASE);
}

/* Write the event of a watch that has fired; without room it stays in `fired`. */
static void write_event(struct npu_model *model, unsigned int context, unsigned int semaphore)
{
	struct npu_semaphore_context *state = &model->semaphores.context[context];
	uint64_t bit = 1ull << semaphore % 64;

	if (npu_registers_event(model, NPU_EVENT_WATCH, context, semaphore,
				state->value[semaphore])) {
		state->fired[semaphore / 64] &= ~bit;
		return;
	}
	state->fired[semaphore / 64] |= bit;
	model->semaphores.fired_contexts |= 1ull << context;
}

static void check_watch(struct npu_model *model, unsigned int context, unsigned int semaphore)
{
	struct npu_semaphore_context *state = &model->semaphores.context[context];
	uint64_t bit = 1ull << semaphore % 64;

	if (!(state->armed[semaphore / 64] & bit))
		return;
	if (state->value[semaphore] < state->threshold[semaphore])
		return;
	state->armed[semaphore / 64] &= ~bit;
	write_event(model, context, semaphore);
}

void npu_semaphore_add(struct npu_model *model, unsigned int context, unsigned int semaphore,
		       uint64_t amount)
{
	struct npu_semaphore_context *state;

	if (!exists(model, context, semaphore) || !amount)
		return;
	state = &model->semaphores.context[context];
	if (__builtin_add_overflow(state->value[semaphore], amount, &state->value[semaphore]))
		state->value[semaphore] = UINT64_MAX;
	write_back(model, state, semaphore);
	check_watch(model, context, semaphore);
	npu_command_semaphore_changed(model, context);
}

void npu_semaphore_arm(struct npu_model *model, unsigned int context, unsigned int semaphore)
{
	struct npu_semaphore_context *state;
	const void *from;

	if (!exists(model, context, semaphore))
		return;
	state = &model->semaphores.context[context];
	from = npu_host_pointer(model, state->thresholds + semaphore * 8ull, false);
	if (!from)
		return;
	state->threshold[semaphore] = npu_load64(from, __ATOMIC_ACQUIRE);
	state->armed[semaphore / 64] |= 1ull << semaphore % 64;
	check_watch(model, context, semaphore);
}

static void retry_context(struct npu_model *model, unsigned int context)
{
	struct npu_semaphore_context *state = &model->semaphores.context[context];

	for (unsigned int word = 0; word < NPU_SEMAPHORES_MAX / 64; word++) {
		while (state->fired[word]) {
			unsigned int bit = (unsigned int)__builtin_ctzll(state->fired[word]);

			if (npu_host_ring_full(&model->registers.events))
				return;
			write_event(model, context, word * 64 + bit);
			/* No memory behind the ring: nobody will ever see this event. */
			state->fired[word] &= ~(1ull << bit);
		}
	}
	model->semaphores.fired_contexts &= ~(1ull << context);
}

void npu_semaphore_retry_events(struct npu_model *model)
{
	uint64_t contexts = model->semaphores.fired_contexts;

	while (contexts && !npu_host_ring_full(&model->registers.events)) {
		retry_context(model, (unsigned int)__builtin_ctzll(contexts));
		contexts &= contexts - 1;
	}
}
