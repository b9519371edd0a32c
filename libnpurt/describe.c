// SPDX-License-Identifier: MIT
/* The device's words, as sentences. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "objects.h"

int npurt_error_of_status(uint32_t status, uint32_t error)
{
	switch (status) {
	case NPU_STATUS_DONE:
		return 0;
	case NPU_STATUS_FAULT:
		return error == NPU_ERROR_ECC ? -EIO : -EFAULT;
	case NPU_STATUS_BUDGET:
		return -ETIME;
	case NPU_STATUS_KILLED:
		return -ECANCELED;
	case NPU_STATUS_REJECTED:
		/* It never started: what it asked for was wrong, or its program was gone. */
		return error >= NPU_ERROR_MMU_UNMAPPED && error <= NPU_ERROR_BUS ? -EFAULT :
										   -EBADMSG;
	default:
		return -EIO;
	}
}

/* Text that grows; what does not fit is cut. */
struct text {
	char *at;
	size_t left;
};

static void add(struct text *text, const char *format, ...) NPURT_PRINTF(2, 3);

static void add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if ((size_t)length >= text->left)
		length = text->left ? (int)text->left - 1 : 0;
	text->at += length;
	text->left -= (size_t)length;
}

/* Says whose memory an address is in, or just behind. */
static bool add_if_near(struct text *text, const struct npurt_buffer *buffer, uint64_t address,
			const char *owner, const char *name)
{
	uint64_t end;

	if (!buffer)
		return false;
	end = buffer->va + buffer->memory.bytes;
	if (address < buffer->va || address >= end + NPURT_PAGE)
		return false;
	add(text, " (%s %s%s%s%s)", address < end ? "in" : "just behind", owner, name ? " '" : "",
	    name ? name : "", name ? "'" : "");
	return true;
}

static void add_neighbour(struct text *text, const struct npurt_run *run, uint64_t address)
{
	const struct npurt_image *image = &run->model->image;
	uint32_t i;

	for (i = 0; i < run->use_count; i++) {
		if (add_if_near(text, run->uses[i].buffer, address,
				i < image->inputs ? "the buffer of input" : "the buffer of output",
				image->tensors[i].name))
			return;
	}
	if (add_if_near(text, run->model->text, address, "the model's program", NULL) ||
	    add_if_near(text, run->model->rodata, address, "the model's weights", NULL))
		return;
	add_if_near(text, run->model->bss, address, "the model's scratch memory", NULL);
}

/* Where in the program, in the compiler's words. */
static void add_place(struct text *text, const struct npurt_run *run, uint64_t offset,
		      uint32_t cluster)
{
	const char *symbol = npurt_image_symbol_at(&run->model->image, offset);

	if (symbol)
		add(text, ", in layer '%s'", symbol);
	add(text, ", program offset 0x%" PRIx64, offset);
	if (cluster != 0xff)
		add(text, ", cluster %u", cluster);
}

static void add_fault(struct text *text, const struct npurt_run *run,
		      const struct npu_record *record)
{
	uint32_t cluster = (uint32_t)(record->detail >> 56);
	uint64_t detail = record->detail & (((uint64_t)1 << 56) - 1);
	struct npurt_backend_context *context = npurt_context_backend(run->model->context);
	struct npurt_fault fault;

	/* An instruction's error says where it is itself; a memory's says what was touched. */
	if (!npurt_is_memory_error(record->error)) {
		add(text, "%s", npurt_describe_error(record->error));
		add_place(text, run, detail, cluster);
		return;
	}
	if (context->backend->ops->last_fault(context, record->task_id, &fault)) {
		add(text, "%s 0x%" PRIx64 ": %s",
		    npurt_is_sram_error(record->error) ? "reaching for SRAM offset" :
						   "reaching for address",
		    detail, npurt_describe_error(record->error));
		add_neighbour(text, run, detail);
		return;
	}
	add(text, "%s %s 0x%" PRIx64, npurt_access_name(fault.access),
	    npurt_is_sram_error(fault.error) ? "SRAM offset" : "address", fault.address);
	if (!npurt_is_sram_error(fault.error))
		add_neighbour(text, run, fault.address);
	add(text, ": %s", npurt_describe_error(fault.error));
	add_place(text, run, (uint32_t)fault.program_offset, fault.cluster);
}

/* Where it stood, if the device has told. */
static void add_hang(struct text *text, const struct npurt_run *run,
		     const struct npu_record *record)
{
	struct npurt_backend_context *context = npurt_context_backend(run->model->context);
	struct npurt_fault fault;

	if (context->backend->ops->last_fault(context, record->task_id, &fault) ||
	    fault.error != NPU_ERROR_BUDGET)
		return;
	if (fault.access == NPU_FAULT_TOKEN)
		add(text, "; it waited for token %c%u",
		    fault.address < NPU_TOKEN_LOCAL_COUNT ? 't' : 'g',
		    (unsigned int)(fault.address % NPU_TOKEN_LOCAL_COUNT));
	else if (fault.access == NPU_FAULT_BARRIER)
		add(text, "; it waited at a barrier");
	else
		add(text, "; it was at work");
	add_place(text, run, (uint32_t)fault.program_offset, fault.cluster);
}

static const char *advice(uint32_t status, uint32_t error)
{
	if (status == NPU_STATUS_BUDGET)
		return "give the run more budget_cycles, or look for a model that waits for itself";
	if (status == NPU_STATUS_KILLED)
		return "its queue or context was destroyed while it ran";
	if (error == NPU_ERROR_ECC)
		return "the device's memory failed, not the model: run it again; if it comes back, "
		       "the device is worn out";
	if (error == NPU_ERROR_NO_RESOURCES)
		return "compile the model for this device";
	return "compile the model again with this version's compiler; if it stays, its program is "
	       "wrong: report it with the model";
}

void npurt_describe_failure(const struct npurt_run *run, const struct npu_record *record,
			    char *bytes, size_t room)
{
	struct text text = { bytes, room };

	add(&text, "task %u of model '%s' on %s ", record->task_id, run->model->image.name,
	    run->model->context->device->info.name);
	switch (record->status) {
	case NPU_STATUS_FAULT:
		add(&text, "failed: ");
		add_fault(&text, run, record);
		break;
	case NPU_STATUS_BUDGET:
		add(&text, "was ended: its budget ran out after %" PRIu64 " cycles",
		    (uint64_t)(record->end - record->start));
		add_hang(&text, run, record);
		break;
	case NPU_STATUS_KILLED:
		add(&text, "was killed after %" PRIu64 " cycles",
		    (uint64_t)(record->end - record->start));
		break;
	case NPU_STATUS_REJECTED:
		add(&text, "was refused before it started: %s",
		    npurt_describe_error(record->error));
		break;
	default:
		add(&text, "ended with a status this library does not know (%u)", record->status);
		break;
	}
	add(&text, " (error %u): %s", record->error, advice(record->status, record->error));
}
