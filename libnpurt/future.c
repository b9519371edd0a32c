// SPDX-License-Identifier: MIT
/* Runs and futures. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_pgtable.h"
#include "objects.h"

#define OFFSET_ALIGN 64

/* ------------------------------------------------------------ making a task */

static int read_options(const struct npurt_run_options *from, struct npurt_run_options *options)
{
	*options = (struct npurt_run_options){ .size = sizeof(*options) };
	if (from && from->size < sizeof(from->size))
		return npurt_fail(-EINVAL,
				  "npurt: run options of size %zu: set their member `size` to "
				  "their sizeof",
				  from->size);
	if (from)
		memcpy(options, from,
		       from->size < sizeof(*options) ? from->size : sizeof(*options));
	if (options->policy > NPURT_POLICY_TIMEOUT || options->flags & ~NPURT_RUN_PROFILE)
		return npurt_fail(
			-EINVAL,
			"npurt: run policy %u or flags 0x%x: this library knows policies 0 to "
			"%d and flags 0x%x",
			options->policy, options->flags, NPURT_POLICY_TIMEOUT, NPURT_RUN_PROFILE);
	if (options->budget_cycles > NPURT_BUDGET_MAX)
		return npurt_fail(-EINVAL,
				  "npurt: a budget of %" PRIu64 " cycles: at most %" PRIu64
				  " can be told to the device",
				  options->budget_cycles, (uint64_t)NPURT_BUDGET_MAX);
	if (!options->budget_cycles)
		options->budget_cycles = NPURT_BUDGET_DEFAULT;
	return 0;
}

static int check_binding(const struct npurt_model *model, uint32_t index,
			 const struct npurt_binding *binding)
{
	const struct npurt_image_tensor *tensor = &model->image.tensors[index];
	const char *side = index < model->image.inputs ? "input" : "output";
	const struct npurt_buffer *buffer = binding->buffer;

	if (!buffer)
		return npurt_fail(-EINVAL, "model '%s': no buffer for %s '%s' (NULL)",
				  model->image.name, side, tensor->name);
	if (buffer->context != model->context)
		return npurt_fail(-EINVAL,
				  "model '%s': the buffer for %s '%s' belongs to another context: "
				  "allocate it in the model's",
				  model->image.name, side, tensor->name);
	if (binding->offset % OFFSET_ALIGN || binding->offset > buffer->bytes ||
	    tensor->device_bytes > buffer->bytes - binding->offset)
		return npurt_fail(-EINVAL,
				  "model '%s': %s '%s' has %" PRIu64
				  " bytes, they do not fit at offset "
				  "%" PRIu64 " of a buffer of %" PRIu64 " (the offset must be a "
				  "multiple of %d)",
				  model->image.name, side, tensor->name, tensor->device_bytes,
				  binding->offset, buffer->bytes, OFFSET_ALIGN);
	if (index >= model->image.inputs && buffer->flags & NPURT_BUFFER_READ_ONLY)
		return npurt_fail(
			-EINVAL,
			"model '%s': output '%s' cannot go into a buffer that the device may "
			"only read",
			model->image.name, tensor->name);
	return 0;
}

static int check_run(const struct npurt_model *model, const struct npurt_binding *bindings,
		     size_t count)
{
	uint32_t i, expected;
	int ret = 0;

	if (!model)
		return npurt_fail(-EINVAL, "npurt: npurt_run_submit() without a model (NULL)");
	ret = npurt_check_ours(model->context->device);
	if (ret)
		return ret;
	expected = model->image.inputs + model->image.outputs;
	if (count != expected || !bindings)
		return npurt_fail(
			-EINVAL,
			"model '%s': %zu bindings, it wants %u: its %u inputs in order, then "
			"its %u outputs",
			model->image.name, bindings ? count : 0, expected, model->image.inputs,
			model->image.outputs);
	for (i = 0; i < expected && !ret; i++)
		ret = check_binding(model, i, &bindings[i]);
	return ret;
}

static void let_go(struct npurt_future *task)
{
	uint32_t i;

	for (i = 0; i < task->use_count; i++)
		npurt_buffer_put(task->uses[i].buffer);
	task->use_count = 0;
	npurt_buffer_put(task->profile);
	task->profile = NULL;
	if (task->model)
		npurt_model_put(task->model);
	task->model = NULL;
}

void npurt_future_put(struct npurt_future *task)
{
	if (!npurt_count_down(&task->references))
		return;
	let_go(task);
	free(task->error);
	free(task->times);
	free(task);
}

static int prepare_profile(struct npurt_future *task)
{
	const struct npurt_image *image = &task->model->image;
	uint64_t marks = image->marks ? image->marks : 1;
	int ret;

	task->layers = image->layer_count;
	task->times = calloc((size_t)task->layers + 1, sizeof(*task->times));
	if (!task->times)
		return npurt_fail(-ENOMEM, "npurt: no memory for the times of %u layers",
				  task->layers);
	ret = npurt_buffer_new(task->context,
			       marks * image->program.clusters * sizeof(struct npu_profile_mark),
			       NPU_PROT_READ | NPU_PROT_WRITE, &task->profile);
	return ret;
}

static int make_task(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
		     uint32_t flags, struct npurt_future **result)
{
	struct npurt_future *task;
	size_t i;
	int ret;

	task = calloc(1, sizeof(*task) + count * sizeof(task->uses[0]));
	if (!task)
		return npurt_fail(-ENOMEM, "npurt: no memory for a task");
	task->references = 1;
	task->context = model->context;
	task->model = model;
	task->clusters = model->image.program.clusters;
	npurt_count_up(&model->references);
	for (i = 0; i < count; i++) {
		task->uses[i] = bindings[i];
		npurt_count_up(&bindings[i].buffer->references);
	}
	task->use_count = (uint32_t)count;
	ret = flags & NPURT_RUN_PROFILE ? prepare_profile(task) : 0;
	if (ret) {
		npurt_future_put(task);
		return ret;
	}
	*result = task;
	return 0;
}

int npurt_run_submit(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
		     const struct npurt_run_options *from, struct npurt_future **result)
{
	struct npurt_run_options options;
	struct npurt_context *context;
	struct npurt_future *task = NULL;
	int ret;

	ret = check_run(model, bindings, count);
	if (!ret)
		ret = read_options(from, &options);
	if (!ret)
		ret = make_task(model, bindings, count, options.flags, &task);
	if (ret)
		return ret;
	context = model->context;
	ret = npurt_queue_submit(&context->queue, task, &options);
	if (ret || !result) {
		npurt_future_put(task);
		return ret;
	}
	npurt_count_up(&context->handles);
	*result = task;
	return 0;
}

int npurt_run(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
	      const struct npurt_run_options *options)
{
	struct npurt_future *task;
	int ret;

	ret = npurt_run_submit(model, bindings, count, options, &task);
	if (ret)
		return ret;
	ret = npurt_future_wait(task, NPURT_FOREVER);
	npurt_future_release(task);
	return ret;
}

/* --------------------------------------------------------------- completion */

static void take_record(struct npurt_future *task, const struct npu_record *from)
{
	struct npu_record *to = &task->record;

	to->task_id = le32toh(from->task_id);
	to->status = le16toh(__atomic_load_n(&from->status, __ATOMIC_ACQUIRE));
	to->error = le16toh(from->error);
	to->start = le64toh(from->start);
	to->end = le64toh(from->end);
	to->mac_cycles = le32toh(from->mac_cycles);
	to->out_cycles = le32toh(from->out_cycles);
	to->vector_cycles = le32toh(from->vector_cycles);
	to->dma_cycles = le32toh(from->dma_cycles);
	to->dram_read = le32toh(from->dram_read);
	to->dram_write = le32toh(from->dram_write);
	to->stall_token = le32toh(from->stall_token);
	to->stall_memory = le32toh(from->stall_memory);
	to->detail = le64toh(from->detail);
}

static void take_times(struct npurt_future *task)
{
	const struct npurt_image *image = &task->model->image;
	const struct npu_profile_mark *marks =
		(const struct npu_profile_mark *)(const void *)task->profile->memory.host;
	uint64_t latest = 0;
	uint32_t i, cluster;

	for (i = 0; i < task->layers; i++) {
		uint64_t first = (uint64_t)image->layers[i].mark * task->clusters;
		uint64_t end = 0;

		for (cluster = 0; cluster < task->clusters; cluster++) {
			uint64_t time = le64toh(marks[first + cluster].time);

			end = time > end ? time : end;
		}
		task->times[i].end = end ? end : latest;
		task->times[i].cycles =
			task->times[i].end > latest ? task->times[i].end - latest : 0;
		latest += task->times[i].cycles;
	}
}

static void describe(struct npurt_future *task, int lost, const char *reason)
{
	char text[NPURT_ERROR_BYTES];

	if (lost)
		snprintf(text, sizeof(text), "task %u of model '%s' on %s was lost: %s",
			 (uint32_t)(task->index + 1), task->model->image.name,
			 task->context->device->info.name, reason);
	else
		npurt_describe_failure(task, text, sizeof(text));
	task->error = strdup(text);
	npurt_log_line(&task->context->device->log, NPURT_LOG_ERROR, "context %p: %s",
		       (void *)task->context, text);
}

void npurt_future_finish(struct npurt_future *task, const struct npu_record *record, int lost,
			 const char *reason)
{
	take_record(task, record);
	task->complete_ns = npurt_now();
	task->has_record = task->record.status != NPU_STATUS_NONE;
	/* A task that has a record was not lost with its queue. */
	if (task->has_record) {
		lost = 0;
		task->result = npurt_error_of_status(task->record.status, task->record.error);
	} else {
		if (!lost) {
			lost = -EIO;
			reason = "the device completed it without a record";
		}
		task->result = lost;
	}
	if (task->result)
		describe(task, lost, reason);
	if (task->times)
		take_times(task);
	npurt_log_line(&task->context->device->log, NPURT_LOG_DEBUG,
		       "context %p: task %u of model '%s': status %u, %" PRIu64 " cycles",
		       (void *)task->context, (uint32_t)(task->index + 1), task->model->image.name,
		       task->record.status, (uint64_t)(task->record.end - task->record.start));
	let_go(task);
	__atomic_store_n(&task->complete, 1, __ATOMIC_RELEASE);
}

static bool is_complete(const struct npurt_future *task)
{
	return __atomic_load_n(&task->complete, __ATOMIC_ACQUIRE);
}

static int check_future(const struct npurt_future *task, const char *call)
{
	if (!task)
		return npurt_fail(-EINVAL, "npurt: %s() without a future (NULL)", call);
	return npurt_check_ours(task->context->device);
}

/* 0 once the task is complete, whatever its result; -ETIMEDOUT. */
static int wait_complete(struct npurt_future *task, int64_t timeout_ns)
{
	int64_t deadline = timeout_ns ? npurt_deadline(timeout_ns) : 0;

	while (!is_complete(task)) {
		int ret = npurt_queue_wait(&task->context->queue, task->index + 1, deadline);

		if (ret)
			return ret;
		npurt_queue_retire(&task->context->queue);
	}
	return 0;
}

int npurt_future_wait(struct npurt_future *task, int64_t timeout_ns)
{
	int ret;

	ret = check_future(task, "npurt_future_wait");
	if (ret)
		return ret;
	ret = wait_complete(task, timeout_ns);
	if (ret)
		return npurt_fail(ret, "npurt: task %u is not complete yet",
				  (uint32_t)(task->index + 1));
	if (task->result)
		return npurt_fail(task->result, "%s",
				  task->error ? task->error :
						"a task failed, and there was no memory "
						"to say how");
	return 0;
}

const char *npurt_future_error(struct npurt_future *task)
{
	if (check_future(task, "npurt_future_error") || wait_complete(task, 0))
		return "";
	return task->error ? task->error : "";
}

static int check_complete(struct npurt_future *task, const char *call)
{
	int ret = check_future(task, call);

	if (ret)
		return ret;
	if (wait_complete(task, 0))
		return npurt_fail(-EBUSY, "npurt: task %u is not complete yet: wait for it first",
				  (uint32_t)(task->index + 1));
	return 0;
}

int npurt_future_get_report(struct npurt_future *task, struct npurt_task_report *report)
{
	const struct npu_record *record;
	struct npurt_task_report now;
	int ret;

	ret = check_complete(task, "npurt_future_get_report");
	if (ret)
		return ret;
	if (!task->has_record)
		return npurt_fail(-EIO, "%s", task->error ? task->error : "the task was lost");
	record = &task->record;
	now = (struct npurt_task_report){
		.size = sizeof(now),
		.task_id = record->task_id,
		.status = record->status,
		.error = record->error,
		.clusters = task->clusters,
		.start = record->start,
		.end = record->end,
		.cycles = record->end - record->start,
		.mac_cycles = record->mac_cycles,
		.output_cycles = record->out_cycles,
		.vector_cycles = record->vector_cycles,
		.dma_cycles = record->dma_cycles,
		.dram_read_bytes = (uint64_t)record->dram_read * 64,
		.dram_write_bytes = (uint64_t)record->dram_write * 64,
		.stall_token_cycles = record->stall_token,
		.stall_memory_cycles = record->stall_memory,
		.detail = record->detail,
		.submit_ns = task->submit_ns,
		.complete_ns = task->complete_ns,
	};
	return npurt_give_sized(report, &now, sizeof(now));
}

int npurt_future_get_layer_times(struct npurt_future *task, struct npurt_layer_time *times,
				 size_t capacity)
{
	size_t count;
	int ret;

	ret = check_complete(task, "npurt_future_get_layer_times");
	if (ret)
		return ret;
	if (!task->times)
		return npurt_fail(
			-ENODATA,
			"npurt: task %u was not profiled: submit it with NPURT_RUN_PROFILE",
			(uint32_t)(task->index + 1));
	if (capacity && !times)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_future_get_layer_times() without room (NULL)");
	count = task->layers < capacity ? task->layers : capacity;
	if (count)
		memcpy(times, task->times, count * sizeof(*times));
	return (int)task->layers;
}

void npurt_future_release(struct npurt_future *task)
{
	struct npurt_context *context;

	if (!task || !npurt_is_ours(task->context->device))
		return;
	context = task->context;
	npurt_future_put(task);
	npurt_context_put(context);
}
