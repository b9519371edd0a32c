// SPDX-License-Identifier: MIT
/* Models and devices that come and go. */
#include "soak.h"

#include <string.h>

#include "npurt/tiny_model.h"

#define SMALL_DEVICE "sim:npu-v3?memory=64"

static struct npurt_model *load(struct npurt_context *context, const struct tiny_model *file)
{
	struct npurt_model *model = NULL;

	ok(npurt_model_load_memory(context, file->bytes, file->size, &model));
	return model;
}

static void run_once(struct npurt_context *context, struct npurt_model *model)
{
	struct npurt_binding bindings[2] = { { NULL, 0 }, { NULL, 0 } };
	int i;

	for (i = 0; i < 2; i++)
		ok(npurt_buffer_alloc(context, 128, 0, &bindings[i].buffer));
	/* Nobody waits for it: what it uses is let go of while it may be in flight. */
	ok(npurt_run_submit(model, bindings, 2, NULL, NULL));
	for (i = 0; i < 2; i++)
		npurt_buffer_free(bindings[i].buffer);
}

/* One in 100 also runs. With and without a pool. */
static bool load_again(uint64_t count, uint64_t pool_bytes)
{
	const struct npurt_context_options options = { .size = sizeof(options),
						       .pool_bytes = pool_bytes };
	const struct tiny_options tiny = { .scratch = 8192 };
	struct npurt_context *context;
	struct npurt_device *device;
	struct footprint before;
	struct tiny_model file;
	uint64_t i;
	bool grew;

	tiny_model_make(&file, &tiny);
	ok(npurt_open(SMALL_DEVICE, &device));
	ok(npurt_context_create(device, &options, &context));
	for (i = 0; i < count; i++) {
		struct npurt_model *model = load(context, &file);

		if (i % 100 == 0)
			run_once(context, model);
		npurt_model_unload(model);
		/* The first few make what stays. */
		if (i == count / 10)
			before = footprint_now();
	}
	grew = footprint_grew(pool_bytes ? "loads, with a pool" : "loads", &before);
	npurt_context_destroy(context);
	npurt_close(device);
	tiny_model_free(&file);
	return !grew;
}

bool soak_load(uint64_t count)
{
	return load_again(count / 2, 0) && load_again(count - count / 2, 4 << 20);
}

bool soak_open(uint64_t count)
{
	const struct tiny_options tiny = { 0 };
	struct footprint before;
	struct tiny_model file;
	uint64_t i;

	tiny_model_make(&file, &tiny);
	for (i = 0; i < count; i++) {
		struct npurt_context *context;
		struct npurt_device *device;
		struct npurt_model *model;

		ok(npurt_open(SMALL_DEVICE, &device));
		ok(npurt_context_create(device, NULL, &context));
		model = load(context, &file);
		run_once(context, model);
		npurt_model_unload(model);
		npurt_context_destroy(context);
		npurt_close(device);
		if (i == count / 10)
			before = footprint_now();
	}
	tiny_model_free(&file);
	return !footprint_grew("devices opened and closed", &before);
}
