// SPDX-License-Identifier: MIT
/*
 * errors MODEL.npu: what may go wrong, and what a program does about it.
 *
 * The model has one input and one output. cc errors.c $(pkg-config --cflags --libs npurt)
 */
#include <errno.h>
#include <npurt.h>
#include <stdio.h>

/* Every failure has an errno to act upon, and a sentence for people. */
static int report(const char *doing, int error)
{
	printf("%s (%d): %s\n", doing, error, npurt_last_error());
	return error;
}

static const char *advice(int error)
{
	switch (error) {
	case -ENOENT:
	case -EACCES:
	case -EPERM:
		return "somebody has to set this machine up";
	case -ENODEV:
		return "open the device again";
	case -EIO:
		return "make another context";
	case -ETIME:
		return "the model is too slow for its budget, or hangs";
	case -EAGAIN:
		return "later";
	default:
		return "the program or the model is wrong";
	}
}

/* A full queue: nothing has happened, so the same call may be made again. */
static int fill_queue(struct npurt_model *model, const struct npurt_binding *bindings)
{
	const struct npurt_run_options options = { .size = sizeof(options),
						   .policy = NPURT_POLICY_TRY };
	int ret;

	do {
		ret = npurt_run_submit(model, bindings, 2, &options, NULL);
	} while (!ret);
	report("submitting without a pause", ret);
	/* Tasks end in order: when this one has, so have all. */
	return ret == -EAGAIN ? npurt_run(model, bindings, 2, NULL) : ret;
}

static int work(struct npurt_context *context, struct npurt_model *model)
{
	struct npurt_tensor_info input = { .size = sizeof(input) };
	struct npurt_tensor_info output = { .size = sizeof(output) };
	const struct npurt_run_options hasty = { .size = sizeof(hasty), .budget_cycles = 1024 };
	struct npurt_binding bindings[2] = { { NULL, 0 }, { NULL, 0 } };
	int ret;

	if (npurt_model_get_input(model, 0, &input) ||
	    npurt_model_get_output(model, 0, &output) ||
	    npurt_buffer_alloc(context, input.device_bytes, 0, &bindings[0].buffer))
		return report("preparing", -1);
	ret = report("running without room for the output",
		     npurt_run(model, bindings, 2, NULL));
	printf("  %s\n", advice(ret));
	if (npurt_buffer_alloc(context, output.device_bytes, 0, &bindings[1].buffer))
		return report("preparing", -1);
	/* Budgets count in steps of 1024. The device ends what takes longer; the next run is well. */
	ret = report("running within 1024 cycles", npurt_run(model, bindings, 2, &hasty));
	printf("  %s\n", advice(ret));
	ret = fill_queue(model, bindings);
	printf("after all that: %s\n", ret ? advice(ret) : "well");
	npurt_buffer_free(bindings[0].buffer);
	npurt_buffer_free(bindings[1].buffer);
	return ret;
}

int main(int argc, char **argv)
{
	struct npurt_context_options options = { .size = sizeof(options), .queue_depth = 4 };
	struct npurt_device *device = NULL;
	struct npurt_context *context = NULL;
	struct npurt_model *model = NULL;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: errors MODEL.npu\n");
		return 2;
	}
	ret = npurt_open(NULL, &device);
	if (!ret)
		ret = npurt_context_create(device, &options, &context);
	if (!ret)
		ret = npurt_model_load(context, argv[1], &model);
	if (ret)
		printf("  %s\n", advice(report("opening", ret)));
	else
		ret = work(context, model);
	npurt_model_unload(model);
	npurt_context_destroy(context);
	npurt_close(device);
	return ret ? 1 : 0;
}
