// SPDX-License-Identifier: MIT
/* Models: loading, binding, and what they say about themselves. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_pgtable.h"
#include "objects.h"
#include "stats.h"

/* Memory for one part of the file, filled from it; nothing for a part that is empty. */
static int load_part(struct npurt_model *model, const struct npurt_source *source,
		     const struct npurt_image_part *part, unsigned int prot,
		     struct npurt_buffer **buffer)
{
	int ret;

	if (!part->bytes)
		return 0;
	ret = npurt_buffer_new(model->context, part->bytes, prot, buffer);
	if (ret || !source)
		return ret;
	return source->read(source, part->offset, (*buffer)->memory.host, (size_t)part->bytes);
}

static int bind_model(struct npurt_model *model, const struct npurt_source *source)
{
	const struct npurt_image *image = &model->image;
	int ret;

	ret = load_part(model, source, &image->text, NPU_PROT_READ | NPU_PROT_EXEC, &model->text);
	if (!ret)
		ret = load_part(model, source, &image->rodata, NPU_PROT_READ, &model->rodata);
	if (!ret)
		ret = load_part(model, NULL, &image->bss, NPU_PROT_READ | NPU_PROT_WRITE,
				&model->bss);
	if (!ret)
		ret = npurt_save_area_new(model);
	if (ret)
		return npurt_fail_after(ret, "loading model '%s': ", image->name);
	return 0;
}

static void model_free(struct npurt_model *model)
{
	npurt_stats_remove_model(model->context->device->stats, model->stats);
	npurt_buffer_put(model->text);
	npurt_buffer_put(model->rodata);
	npurt_buffer_put(model->bss);
	npurt_buffer_put(model->save);
	npurt_image_release(&model->image);
	free(model);
}

static void count_model(struct npurt_model *model)
{
	const struct npurt_image *image = &model->image;
	struct npurt_context *context = model->context;
	struct npurt_stats_model row = {
		.kind = NPURT_STATS_MODEL,
		.clusters = image->program.clusters,
		.memory_bytes = image->text.bytes + image->rodata.bytes + image->bss.bytes +
				(model->save ? model->save->bytes : 0),
	};

	snprintf(row.name, sizeof(row.name), "%s", image->name);
	model->stats = npurt_stats_add_model(context->device->stats, context->queue.stats, &row);
}

static int load(struct npurt_context *context, const struct npurt_source *source,
		struct npurt_model **result)
{
	const struct npurt_device_info *info = &context->device->info;
	const struct npurt_image_limits limits = {
		.config = info->config,
		.clusters = info->clusters,
		.dma_channels = info->clusters ? info->dma_channels / info->clusters : 0,
		.local_bytes = info->local_sram_bytes,
		.global_bytes = info->global_sram_bytes,
	};
	struct npurt_model *model = calloc(1, sizeof(*model));
	int ret;

	if (!model)
		return npurt_fail(-ENOMEM, "npurt: no memory for a model");
	model->references = 1;
	model->context = context;
	ret = npurt_image_read(&model->image, source, &limits);
	if (!ret)
		ret = bind_model(model, source);
	if (ret) {
		npurt_log_line(&context->device->log, NPURT_LOG_ERROR, "%s", npurt_last_error());
		model_free(model);
		return ret;
	}
	count_model(model);
	npurt_run_prepare(model);
	npurt_count_up(&context->handles);
	npurt_log_line(&context->device->log, NPURT_LOG_INFO,
		       "context %p: model '%s' loaded, %" PRIu64 " bytes of program, %" PRIu64
		       " of weights, %" PRIu64 " of scratch",
		       (void *)context, model->image.name, model->image.text.bytes,
		       model->image.rodata.bytes, model->image.bss.bytes);
	*result = model;
	return 0;
}

static int check_load(struct npurt_context *context, struct npurt_model **result)
{
	if (!context || !result)
		return npurt_fail(-EINVAL,
				  "npurt: loading a model wants a context and a place for the "
				  "model, one is NULL");
	return npurt_check_ours(context->device);
}

int npurt_model_load_memory(struct npurt_context *context, const void *data, size_t bytes,
			    struct npurt_model **result)
{
	struct npurt_source source;
	int ret;

	ret = check_load(context, result);
	if (ret)
		return ret;
	if (!data)
		return npurt_fail(-EINVAL, "npurt: npurt_model_load_memory() without data (NULL)");
	npurt_source_memory(&source, data, bytes);
	return load(context, &source, result);
}

int npurt_model_load_fd(struct npurt_context *context, int fd, struct npurt_model **result)
{
	struct npurt_source source;
	int ret;

	ret = check_load(context, result);
	if (!ret)
		ret = npurt_source_fd(&source, fd);
	if (ret)
		return ret;
	return load(context, &source, result);
}

int npurt_model_load(struct npurt_context *context, const char *path, struct npurt_model **result)
{
	int fd, ret;

	ret = check_load(context, result);
	if (ret)
		return ret;
	if (!path)
		return npurt_fail(-EINVAL, "npurt: npurt_model_load() without a path (NULL)");
	/* Not blocking: a pipe in a model's place must not hang us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return npurt_fail(-errno, "%s: cannot be opened: %s", path, strerror(errno));
	ret = npurt_model_load_fd(context, fd, result);
	close(fd);
	if (ret)
		return npurt_fail_after(ret, "%s: ", path);
	return 0;
}

static void release(struct npurt_leaver *leaver)
{
	model_free((struct npurt_model *)((char *)leaver - offsetof(struct npurt_model, leaver)));
}

void npurt_model_put(struct npurt_model *model)
{
	if (!npurt_count_down(&model->references))
		return;
	model->leaver.release = release;
	npurt_leave(&model->context->queue, &model->leaver);
}

void npurt_model_unload(struct npurt_model *model)
{
	struct npurt_context *context;

	if (!model || !npurt_is_ours(model->context->device))
		return;
	context = model->context;
	npurt_queue_catch_up(&context->queue);
	npurt_model_put(model);
	npurt_context_put(context);
}

/* -------------------------------------------------------------- information */

int npurt_model_get_info(const struct npurt_model *model, struct npurt_model_info *info)
{
	const struct npurt_image *image;
	struct npurt_model_info now;

	if (!model)
		return npurt_fail(-EINVAL, "npurt: npurt_model_get_info() without a model (NULL)");
	image = &model->image;
	now = (struct npurt_model_info){
		.size = sizeof(now),
		.name = image->name,
		.target = image->target,
		.inputs = image->inputs,
		.outputs = image->outputs,
		.layers = image->layer_count,
		.clusters = image->program.clusters,
		.precision = image->precision,
		.abi = image->abi,
		.macs = image->macs,
		.predicted_cycles = image->predicted_cycles,
		.roofline_cycles = image->roofline_cycles,
		.floor_cycles = image->floor_cycles,
		.program_bytes = image->text.bytes,
		.weight_bytes = image->rodata.bytes,
		.scratch_bytes = image->bss.bytes,
	};
	memcpy(now.build_id, image->build_id, sizeof(now.build_id));
	return npurt_give_sized(info, &now, sizeof(now));
}

static int give_tensor(const struct npurt_image_tensor *tensor, struct npurt_tensor_info *info)
{
	struct npurt_tensor_info now = {
		.size = sizeof(now),
		.name = tensor->name,
		.host_type = tensor->host_type,
		.device_type = tensor->device_type,
		.rank = tensor->rank,
		.scale = tensor->scale,
		.zero_point = tensor->zero_point,
		.elements = tensor->elements,
		.host_bytes = tensor->host_bytes,
		.device_bytes = tensor->device_bytes,
	};

	memcpy(now.dims, tensor->dims, sizeof(now.dims));
	return npurt_give_sized(info, &now, sizeof(now));
}

int npurt_model_get_input(const struct npurt_model *model, uint32_t index,
			  struct npurt_tensor_info *info)
{
	if (!model)
		return npurt_fail(-EINVAL, "npurt: npurt_model_get_input() without a model (NULL)");
	if (index >= model->image.inputs)
		return npurt_fail(-ENOENT, "model '%s': no input %u, it has %u", model->image.name,
				  index, model->image.inputs);
	return give_tensor(&model->image.tensors[index], info);
}

int npurt_model_get_output(const struct npurt_model *model, uint32_t index,
			   struct npurt_tensor_info *info)
{
	if (!model)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_model_get_output() without a model (NULL)");
	if (index >= model->image.outputs)
		return npurt_fail(-ENOENT, "model '%s': no output %u, it has %u", model->image.name,
				  index, model->image.outputs);
	return give_tensor(&model->image.tensors[model->image.inputs + index], info);
}

int npurt_model_get_layer(const struct npurt_model *model, uint32_t index,
			  struct npurt_layer_info *info)
{
	const struct npurt_image_layer *layer;
	struct npurt_layer_info now;

	if (!model)
		return npurt_fail(-EINVAL, "npurt: npurt_model_get_layer() without a model (NULL)");
	if (index >= model->image.layer_count)
		return npurt_fail(-ENOENT, "model '%s': no layer %u, it has %u", model->image.name,
				  index, model->image.layer_count);
	layer = &model->image.layers[index];
	now = (struct npurt_layer_info){
		.size = sizeof(now),
		.name = layer->name,
		.op = layer->op,
		.macs = layer->macs,
		.predicted_cycles = layer->predicted_cycles,
		.dram_bytes = layer->dram_bytes,
	};
	return npurt_give_sized(info, &now, sizeof(now));
}
