// SPDX-License-Identifier: MIT
/* Runs: what is checked, what is held, the packet, and what its record says. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_pgtable.h"
#include "run_packet.h"
#include "stats.h"

#define OFFSET_ALIGN 64

/* ---------------------------------------------------------------- what is asked */

int npurt_run_options_read(const struct npurt_run_options *from, struct npurt_run_options *options)
{
	int ret;

	ret = npurt_take_sized(options, sizeof(*options), from, "run options");
	if (ret)
		return ret;
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

/* npurt_run_check_one() holds; it has the sentences. */
static inline bool fits(const struct npurt_model *model, uint32_t index,
			const struct npurt_binding *binding)
{
	const struct npurt_buffer *buffer = binding->buffer;
	uint64_t bytes = model->image.tensors[index].device_bytes;

	return buffer && buffer->context == model->context && !(binding->offset % OFFSET_ALIGN) &&
	       binding->offset <= buffer->bytes && bytes <= buffer->bytes - binding->offset &&
	       (index < model->image.inputs || !(buffer->flags & NPURT_BUFFER_READ_ONLY));
}

int npurt_run_check_one(const struct npurt_model *model, uint32_t index,
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

/* Inline in every submission, and here for who is in less of a hurry. */
inline int npurt_run_check(const struct npurt_model *model, const struct npurt_binding *bindings,
			   size_t count, const char *call)
{
	uint32_t i, expected;
	int ret = 0;

	if (!model)
		return npurt_fail(-EINVAL, "npurt: %s() without a model (NULL)", call);
	ret = npurt_check_ours(model->context->device);
	if (ret)
		return ret;
	expected = model->uses;
	if (count != expected || !bindings)
		return npurt_fail(
			-EINVAL,
			"model '%s': %zu bindings, it wants %u: its %u inputs in order, then "
			"its %u outputs",
			model->image.name, bindings ? count : 0, expected, model->image.inputs,
			model->image.outputs);
	for (i = 0; i < expected; i++) {
		if (!fits(model, i, &bindings[i]))
			return npurt_run_check_one(model, i, &bindings[i]);
	}
	return 0;
}

/* ---------------------------------------------------------------- what is held */

void npurt_run_hold(struct npurt_run *run, struct npurt_model *model,
		    const struct npurt_binding *bindings, size_t count)
{
	size_t i;

	run->model = model;
	npurt_count_up(&model->references);
	for (i = 0; i < count; i++) {
		run->uses[i] = bindings[i];
		npurt_count_up(&bindings[i].buffer->references);
	}
	run->use_count = (uint32_t)count;
}

void npurt_run_let_go(struct npurt_run *run)
{
	uint32_t i;

	for (i = 0; i < run->use_count; i++)
		npurt_buffer_put(run->uses[i].buffer);
	run->use_count = 0;
	npurt_buffer_put(run->profile);
	run->profile = NULL;
	if (run->model)
		npurt_model_put(run->model);
	run->model = NULL;
}

static int prepare_profile(struct npurt_future *task)
{
	const struct npurt_image *image = &task->run.model->image;
	uint64_t marks = image->marks ? image->marks : 1;
	int ret;

	task->layers = image->layer_count;
	task->times = calloc((size_t)task->layers + 1, sizeof(*task->times));
	if (!task->times)
		return npurt_fail(-ENOMEM, "npurt: no memory for the times of %u layers",
				  task->layers);
	ret = npurt_buffer_new(task->context,
			       marks * image->program.clusters * sizeof(struct npu_profile_mark),
			       NPU_PROT_READ | NPU_PROT_WRITE, &task->run.profile);
	return ret;
}

/* ------------------------------------------------------------- what is told the device */

void npurt_run_prepare(struct npurt_model *model)
{
	const struct npurt_image *image = &model->image;
	uint32_t flags = model->save ? NPU_EXEC_PREEMPT : 0, i;

	model->uses = image->inputs + image->outputs;
	for (i = 0; model->context->queue.bytes_max && i < model->uses; i++)
		model->use_bytes += image->tensors[i].device_bytes;
	model->weights = htole64(model->rodata ? model->rodata->va : 0);
	model->scratch = htole64(model->bss ? model->bss->va : 0);
	model->packet = (struct npu_packet_exec){
		.header = htole32(NPU_PACKET_HEADER(NPU_PACKET_EXEC, flags, 0)),
		.program = htole64(model->text->va),
		.argument_count = (uint8_t)(model->save ? NPU_ARG_SAVE + 1 :
							  NPU_ARG_FIRST_IO + model->uses),
		.signal_sem = htole16(NPU_SEM_NONE),
		.wait_sem = { htole16(NPU_SEM_NONE), htole16(NPU_SEM_NONE) },
	};
}

static struct npurt_future *future_of(struct npurt_task *task)
{
	return (struct npurt_future *)((char *)task - offsetof(struct npurt_future, task));
}

/* The application may let go of it all as soon as the call has returned. */
static void mark_used(const struct npurt_run *run, uint64_t until)
{
	const struct npurt_binding *use = run->uses, *end = use + run->use_count;

	npurt_used_until(&run->model->leaver, until);
	for (; use < end; use++)
		npurt_used_until(&use->buffer->leaver, until);
}

static __le32 fill(struct npurt_queue *queue, struct npurt_task *task, uint64_t index)
{
	struct npurt_future *future = future_of(task);
	const struct npurt_run *run = &future->run;
	struct npu_packet_exec *packet = (void *)npurt_ring_packet(&queue->ring, index);
	__le64 *arguments = npurt_queue_arguments(queue, index);
	const struct npurt_run_place place = {
		.task_id = (uint32_t)(index + 1),
		.arguments = npurt_queue_address(queue, arguments),
		.record = npurt_queue_address(queue, npurt_queue_record(queue, index)),
	};
	__le32 header;

	npurt_run_arguments(run, arguments);
	mark_used(run, index + 1);
	future->queue_end = index + 1;
	future->submit_ns = task->submit_ns;
	/* Last, in one go: the device may be looking at it all the time. */
	header = npurt_run_packet(run, future->budget, &place, packet);
	packet->signal_sem = htole16(NPURT_PROGRESS_SEMAPHORE);
	return header;
}

/* ------------------------------------------------------------ what the device says */

void npurt_record_read(struct npu_record *to, const struct npu_record *from)
{
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
	const struct npurt_image *image = &task->run.model->image;
	const struct npu_profile_mark *marks =
		(const struct npu_profile_mark *)(const void *)task->run.profile->memory.host;
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

static void describe(struct npurt_future *future, int lost, const char *reason)
{
	char text[NPURT_ERROR_BYTES];

	if (lost)
		snprintf(text, sizeof(text), "task %u of model '%s' on %s was lost: %s",
			 (uint32_t)future->queue_end, future->run.model->image.name,
			 future->context->device->info.name, reason);
	else
		npurt_describe_failure(&future->run, &future->record, text, sizeof(text));
	future->error = strdup(text);
	npurt_log_line(&future->context->device->log, NPURT_LOG_ERROR, "context %p: %s",
		       (void *)future->context, text);
}

static void trace(struct npurt_future *future)
{
	npurt_trace_finished(future->context, &(struct npurt_trace_task){
		.flow = future->flow,
		.name = future->run.model->image.name,
		.result = future->result,
		.start_ns = future->task.submit_ns,
		.end_ns = future->complete_ns,
		.record = future->has_record ? &future->record : NULL,
	});
}

static void finish(struct npurt_queue *queue, struct npurt_task *task, int lost, const char *reason)
{
	struct npurt_future *future = future_of(task);

	npurt_queue_take_record(queue, task->index, &future->record);
	if (task->timed)
		future->complete_ns = npurt_now();
	future->has_record = future->record.status != NPU_STATUS_NONE;
	/* A task that has a record was not lost with its queue. */
	if (future->has_record) {
		lost = 0;
		future->result = npurt_error_of_status(future->record.status, future->record.error);
	} else {
		if (!lost) {
			lost = -EIO;
			reason = "the device completed it without a record";
		}
		future->result = lost;
	}
	if (future->result) {
		describe(future, lost, reason);
		npurt_queue_log_last(queue, task->index);
	}
	if (future->times)
		take_times(future);
	if (npurt_log_enabled(&queue->context->device->log, NPURT_LOG_DEBUG))
		npurt_log_line(&queue->context->device->log, NPURT_LOG_DEBUG,
			       "context %p: task %u of model '%s': status %u, %" PRIu64 " cycles",
			       (void *)future->context, (uint32_t)future->queue_end,
			       future->run.model->image.name, future->record.status,
			       (uint64_t)(future->record.end - future->record.start));
	npurt_stats_ran(future->run.model->stats, future);
	npurt_stats_waited(queue, future);
	if (npurt_trace_on(&future->context->device->trace))
		trace(future);
	NPURT_PROBE(complete, future->context, (uint32_t)future->queue_end);
	/* The device is done with it; the rest of the run is not the task's to let go of. */
	npurt_buffer_put(future->run.profile);
	future->run.profile = NULL;
	npurt_future_complete(future);
	npurt_future_put(future);
}

/* ----------------------------------------------------------------------- running */

static const struct npurt_task_ops run_ops = { .fill = fill, .finish = finish };
static const struct npurt_run_options default_options = {
	.size = sizeof(default_options),
	.budget_cycles = NPURT_BUDGET_DEFAULT,
};

static int make_run(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
		    const struct npurt_run_options *options, struct npurt_future **result)
{
	struct npurt_future *future = npurt_future_new(model->context, count);
	size_t i;
	int ret;

	if (!future)
		return -ENOMEM;
	future->on_queue = true;
	future->clusters = model->image.program.clusters;
	future->budget = options->budget_cycles;
	future->task.ops = &run_ops;
	future->task.packets = 1;
	future->task.bytes = model->use_bytes;
	future->flow = npurt_trace_flow(&model->context->device->trace);
	future->task.timed = future->flow != 0;
	future->task.submit_ns = 0;
	future->run.model = model;
	future->run.use_count = (uint32_t)count;
	for (i = 0; i < count; i++)
		future->uses[i] = bindings[i];
	ret = options->flags & NPURT_RUN_PROFILE ? prepare_profile(future) : 0;
	if (ret) {
		npurt_future_put(future);
		return ret;
	}
	*result = future;
	return 0;
}

static int submit(struct npurt_model *model, struct npurt_future *future,
		  const struct npurt_run_options *options)
{
	struct npurt_trace *trace = &model->context->device->trace;
	uint64_t flow = future->flow;
	int64_t start = flow ? npurt_now() : 0;
	int ret;

	ret = npurt_queue_submit(&model->context->queue, &future->task,
				 npurt_policy_deadline(options->policy, options->timeout_ns));
	if (start)
		npurt_trace_host(trace, "submit", model->image.name, start, ret ? 0 : flow, 's');
	NPURT_PROBE(submit, model->context, ret);
	return ret;
}

int npurt_run_submit(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
		     const struct npurt_run_options *from, struct npurt_future **result)
{
	const struct npurt_run_options *options = &default_options;
	struct npurt_run_options read;
	struct npurt_future *future = NULL;
	int ret;

	ret = npurt_run_check(model, bindings, count, "npurt_run_submit");
	if (!ret && from) {
		options = &read;
		ret = npurt_run_options_read(from, &read);
	}
	if (!ret)
		ret = make_run(model, bindings, count, options, &future);
	if (ret)
		return ret;
	/* The queue's, and the application's. */
	future->references = result ? 2 : 1;
	future->task.timed |= result != NULL;
	ret = submit(model, future, options);
	if (ret) {
		future->references = 1;
		npurt_future_put(future);
		return ret;
	}
	if (!result)
		return 0;
	npurt_count_up(&model->context->handles);
	*result = future;
	return 0;
}

int npurt_run(struct npurt_model *model, const struct npurt_binding *bindings, size_t count,
	      const struct npurt_run_options *options)
{
	struct npurt_future *future;
	int ret;

	ret = npurt_run_submit(model, bindings, count, options, &future);
	if (ret)
		return ret;
	ret = npurt_future_wait(future, NPURT_FOREVER);
	npurt_future_release(future);
	return ret;
}
