// SPDX-License-Identifier: MIT
#include "dump_say.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "drm/npu_accel.h"
#include "npu/npu_isa.h"
#include "npu/npu_mailbox.h"
#include "npu/npu_regs.h"
#include "words.h"

#define SECOND 1000000000u

/* ------------------------------------------------------------------------- the device */

void dump_say_failure(FILE *to, const struct dump *dump)
{
	const struct npu_coredump_cause *cause = &dump->cause;
	time_t seconds = (time_t)(cause->time_ns / SECOND);
	char device[DUMP_TEXT_BYTES], reason[DUMP_TEXT_BYTES], when[64] = "at an unknown time";
	struct tm parts;

	dump_text(device, dump->system.device, sizeof(dump->system.device));
	dump_text(reason, cause->reason, sizeof(cause->reason));
	if (gmtime_r(&seconds, &parts))
		strftime(when, sizeof(when), "on %F at %T UTC", &parts);
	fprintf(to, "The device %s failed %s, %" PRIu64 ".%03" PRIu64
		" s after its system had started: %s. ",
		*device ? device : "(unnamed)", when, (uint64_t)(cause->uptime_ns / SECOND),
		(uint64_t)(cause->uptime_ns % SECOND / 1000000), *reason ? reason : "nobody knows why");
	if (cause->outcome == NPU_COREDUMP_DEAD)
		fprintf(to, "It was given up");
	else
		fprintf(to, "It was stopped, to be started again");
	fprintf(to, "; it had been reset %u times before", cause->resets);
}

static const char *panic_name(uint32_t panic)
{
	switch (panic) {
	case NPU_PANIC_TRAP:
		return "an exception";
	case NPU_PANIC_STACK:
		return "its stack left its area";
	case NPU_PANIC_HARDWARE:
		return "capabilities nobody can work with";
	default:
		return "of a kind this npu-ctl does not know";
	}
}

/* The firmware's last message, over whatever stood there. */
static void say_panic(FILE *to, const struct dump *dump)
{
	const uint32_t arguments = NPU_REG_MAILBOX_TO_HOST + offsetof(struct npu_message, argument);
	uint32_t head, words[4];

	fprintf(to, "The firmware had given up");
	dump_register(dump, NPU_REG_MAILBOX_TO_HOST, &head);
	if ((head & 0xffff) == NPU_MESSAGE_PANIC) {
		for (uint32_t i = 0; i < 4; i++)
			dump_register(dump, arguments + 4 * i, &words[i]);
		fprintf(to, ": %s (panic %u, mcause 0x%x, mepc 0x%x, mtval 0x%x)",
			panic_name(words[0]), words[0], words[1], words[2], words[3]);
	}
}

static void say_lost_bits(FILE *to, const struct dump *dump)
{
	uint32_t cluster, address;

	dump_register(dump, NPU_REG_ERROR_CLUSTER, &cluster);
	dump_register(dump, NPU_REG_ERROR_ADDRESS, &address);
	fprintf(to, "Local SRAM had lost bits, the last in cluster %u at 0x%x", cluster, address);
}

void dump_say_signs(FILE *to, const struct dump *dump)
{
	uint32_t state, status, lost;
	const char *before = "";

	if (!dump->cause.answers) {
		fputs("It did not answer: its registers are told as all ones", to);
		return;
	}
	dump_register(dump, NPU_REG_FW_STATE, &state);
	dump_register(dump, NPU_REG_ERROR_STATUS, &status);
	dump_register(dump, NPU_REG_FAULT_LOST, &lost);
	if (state == NPU_FW_STATE_PANIC) {
		say_panic(to, dump);
		before = ". ";
	}
	if (status & NPU_ERROR_STATUS_TEMPERATURE) {
		fprintf(to, "%sIt had become too hot, and stood still", before);
		before = ". ";
	}
	if (status & NPU_ERROR_STATUS_UNCORRECTED) {
		fputs(before, to);
		say_lost_bits(to, dump);
		before = ". ";
	}
	if (lost)
		fprintf(to, "%s%u faults were not recorded, as their queue was full", before, lost);
	else if (!*before)
		fputs("The registers show nothing in particular", to);
}

/* ---------------------------------------------------------------------------- contexts */

static const char *say_state(const struct npu_coredump_context *context)
{
	switch (context->state) {
	case DRM_NPU_CTX_ALIVE:
	case DRM_NPU_CTX_QUEUE_STOPPED:
		return "was there";
	case DRM_NPU_CTX_GUILTY:
		return context->flags & NPU_COREDUMP_CONTEXT_ENDING ?
			       "was being ended by its program" :
			       "was found GUILTY: the device failed for its sake";
	case DRM_NPU_CTX_INNOCENT:
		return "lost its work, innocent";
	default:
		return "was in a state this npu-ctl does not know";
	}
}

void dump_say_context(FILE *to, const struct npu_coredump_context *context)
{
	char comm[DUMP_TEXT_BYTES];

	dump_text(comm, context->comm, sizeof(context->comm));
	fprintf(to, "Context %u of '%s' (process %u, user %u; number %u there) %s", context->index,
		comm, context->pid, context->uid, context->id, say_state(context));
	if (context->stop_error)
		fprintf(to, "; its queue %u had been stopped before: %s (error %u)",
			context->stop_queue, npurt_describe_error(context->stop_error),
			context->stop_error);
	fprintf(to, "; %" PRIu64 " of its tasks had ended, %u faulted",
		(uint64_t)context->counters.tasks, context->faults);
}

/* What a task that was ended by its budget did then. */
static void say_hang(FILE *to, const struct npu_fault *fault)
{
	fputs("was ended: its budget ran out while it ", to);
	if (fault->access == NPU_FAULT_TOKEN)
		fprintf(to, "waited for token %c%u",
			fault->address < NPU_TOKEN_LOCAL_COUNT ? 't' : 'g',
			(unsigned int)(fault->address % NPU_TOKEN_LOCAL_COUNT));
	else if (fault->access == NPU_FAULT_BARRIER)
		fputs("waited at a barrier", to);
	else
		fputs("was at work", to);
}

void dump_say_fault(FILE *to, const struct npu_fault *fault, const struct dump_model *model)
{
	uint32_t error = fault->header >> 8 & 0xff, offset = (uint32_t)fault->program_offset;
	const char *layer = model ? dump_model_layer(model, offset) : NULL;

	fprintf(to, "Task %u (0x%x) of context %u, queue %u, ", fault->task_id, fault->task_id,
		fault->header >> 16 & 0xff, fault->header >> 24);
	if (error == NPU_ERROR_BUDGET)
		say_hang(to, fault);
	else if (npurt_is_memory_error(error))
		fprintf(to, "failed %s %s 0x%" PRIx64 ": %s", npurt_access_name(fault->access),
			npurt_is_sram_error(error) ? "SRAM offset" : "address",
			(uint64_t)fault->address, npurt_describe_error(error));
	else
		fprintf(to, "failed: %s", npurt_describe_error(error));
	if (fault->cluster != 0xff)
		fprintf(to, ", in program offset 0x%x, cluster %u", offset, fault->cluster);
	else
		fputs(", in the command processor", to);
	if (layer)
		fprintf(to, ", which is layer '%s' of model '%s', if it was this model's task",
			layer, dump_model_name(model));
	fprintf(to, " (error %u)", error);
}

/* ------------------------------------------------------------------------------ queues */

void dump_say_queue(FILE *to, const struct npu_coredump_queue *queue)
{
	const struct npu_ring_control *ring = &queue->control;

	fprintf(to, "Queue %u of context %u (number %u there, priority %u", queue->queue,
		queue->context, queue->id, queue->priority);
	if (queue->ring_log2 <= NPU_RING_LOG2_MAX)
		fprintf(to, ", %u packets at 0x%" PRIx64, 1u << queue->ring_log2,
			(uint64_t)queue->ring);
	fputs(")", to);
	if (queue->error == UINT32_MAX)
		fputs(" was being destroyed", to);
	else if (queue->error)
		fprintf(to, " had been stopped: %s (error %u)", npurt_describe_error(queue->error),
			queue->error);
	if (!(queue->flags & NPU_COREDUMP_QUEUE_READ)) {
		fputs("; its ring could not be read", to);
		return;
	}
	if (ring->write_index < ring->read_index)
		fputs(": its program has overwritten its indices", to);
	else
		fprintf(to, ": %" PRIu64 " packets were done, %" PRIu64 " more written",
			(uint64_t)ring->read_index,
			(uint64_t)(ring->write_index - ring->read_index));
	if (ring->error)
		fprintf(to, "; the device stopped it at packet %" PRIu64 ": %s (error %u)",
			(uint64_t)ring->error_index, npurt_describe_error(ring->error),
			ring->error);
	else if (ring->sleeping)
		fputs("; the device slept on it", to);
}

const char *dump_packet_state(const struct npu_coredump_queue *queue, uint32_t i,
			      const void *packet)
{
	uint64_t index = queue->first + i;
	uint32_t header, phase, log2 = queue->ring_log2 <= NPU_RING_LOG2_MAX ? queue->ring_log2 : 0;

	memcpy(&header, packet, sizeof(header));
	if (index < queue->control.read_index)
		return "done";
	phase = header & NPU_PACKET_PHASE ? 1 : 0;
	if (!(header & NPU_PACKET_OPCODE_MASK) || phase == (index >> log2 & 1))
		return "not written";
	return index == queue->control.read_index ? "next" : "written";
}

/* A semaphore it needs; says so when it has not come that far. */
static void say_need(FILE *to, const struct dump *dump, const struct npu_coredump_queue *queue,
		     uint16_t sem, uint64_t value)
{
	uint64_t there;

	if (sem == NPU_SEM_NONE)
		return;
	there = dump_semaphore(dump, queue->context, sem).value;
	fprintf(to, there < value ? ", waits for semaphore %u: %" PRIu64 " of %" PRIu64 :
				    ", has semaphore %u at %" PRIu64 " of %" PRIu64,
		sem, there, value);
}

static void say_signal(FILE *to, uint16_t sem)
{
	if (sem != NPU_SEM_NONE)
		fprintf(to, ", signals semaphore %u", sem);
}

static void say_exec(FILE *to, const struct dump *dump, const struct npu_coredump_queue *queue,
		     const void *packet)
{
	struct npu_packet_exec exec;

	memcpy(&exec, packet, sizeof(exec));
	fprintf(to, "EXEC: task %u (0x%x), program at 0x%" PRIx64 ", %u arguments, budget %" PRIu64
		" cycles", exec.task_id, exec.task_id, (uint64_t)exec.program, exec.argument_count,
		(uint64_t)exec.budget * 1024);
	for (int i = 0; i < 2; i++)
		say_need(to, dump, queue, exec.wait_sem[i], exec.wait_value[i]);
	say_signal(to, exec.signal_sem);
}

static void say_wait(FILE *to, const struct dump *dump, const struct npu_coredump_queue *queue,
		     const void *packet)
{
	struct npu_packet_wait wait;

	memcpy(&wait, packet, sizeof(wait));
	fputs("WAIT", to);
	for (int i = 0; i < 6; i++)
		say_need(to, dump, queue, wait.sem[i], wait.value[i]);
}

static void say_copy(FILE *to, const void *packet)
{
	struct npu_packet_copy copy;

	memcpy(&copy, packet, sizeof(copy));
	fprintf(to, "COPY: task %u (0x%x), %u bytes from 0x%" PRIx64 " to 0x%" PRIx64, copy.task_id,
		copy.task_id, copy.bytes, (uint64_t)copy.source, (uint64_t)copy.destination);
	say_signal(to, copy.signal_sem);
}

static void say_graph(FILE *to, const void *packet)
{
	struct npu_packet_graph graph;

	memcpy(&graph, packet, sizeof(graph));
	fprintf(to, "GRAPH: task %u (0x%x), %u packets at 0x%" PRIx64 ", %u patches", graph.task_id,
		graph.task_id, graph.count, (uint64_t)graph.list, graph.patch_count);
}

void dump_say_packet(FILE *to, const struct dump *dump, const struct npu_coredump_queue *queue,
		     const void *packet)
{
	struct npu_packet_signal signal;
	struct npu_packet_timestamp stamp;
	uint32_t header;

	memcpy(&header, packet, sizeof(header));
	switch (header & NPU_PACKET_OPCODE_MASK) {
	case NPU_PACKET_INVALID:
		fputs("nothing", to);
		break;
	case NPU_PACKET_NOP:
		fputs("NOP", to);
		break;
	case NPU_PACKET_EXEC:
		say_exec(to, dump, queue, packet);
		break;
	case NPU_PACKET_WAIT:
		say_wait(to, dump, queue, packet);
		break;
	case NPU_PACKET_SIGNAL:
		memcpy(&signal, packet, sizeof(signal));
		fprintf(to, "SIGNAL: semaphore %u by %" PRIu64, signal.sem, (uint64_t)signal.add);
		break;
	case NPU_PACKET_BARRIER:
		fputs("BARRIER", to);
		break;
	case NPU_PACKET_COPY:
		say_copy(to, packet);
		break;
	case NPU_PACKET_TIMESTAMP:
		memcpy(&stamp, packet, sizeof(stamp));
		fprintf(to, "TIMESTAMP: to 0x%" PRIx64, (uint64_t)stamp.destination);
		break;
	case NPU_PACKET_GRAPH:
		say_graph(to, packet);
		break;
	default:
		fprintf(to, "no packet (opcode %u)", header & NPU_PACKET_OPCODE_MASK);
		break;
	}
}

void dump_say_event(FILE *to, const struct npu_event *event)
{
	uint32_t context = event->header >> 16;

	switch (event->header >> 8 & 0xff) {
	case NPU_EVENT_WATCH:
		fprintf(to, "semaphore %u of context %u reached %" PRIu64, event->sem, context,
			(uint64_t)event->value);
		break;
	case NPU_EVENT_QUEUE_ERROR:
		fprintf(to, "queue %u of context %u stopped: %s (error %" PRIu64 ")", event->sem,
			context, npurt_describe_error((uint32_t)event->value),
			(uint64_t)event->value);
		break;
	default:
		fprintf(to, "something of kind %u", event->header >> 8 & 0xff);
		break;
	}
}

/* ------------------------------------------------------------------------------ advice */

static const char *const advices[] = {
	[NPU_FAILURE_REQUEST] =
		"Nothing failed: root asked for this reset. If that was because the device did not get "
		"on, look below for the queue whose next packet waits, or runs",
	[NPU_FAILURE_BUS_RESET] =
		"Nothing failed: root, or a virtual machine, had the bus reset the device",
	[NPU_FAILURE_BUS_ERROR] =
		"The link to the card had errors: see 'dmesg' for AER, seat the card anew, or try "
		"another slot",
	[NPU_FAILURE_BUS_LOST] =
		"The card is gone, or its bus: see 'dmesg' for AER, seat it anew, switch its power off "
		"and on, then bind its driver again",
	[NPU_FAILURE_HEAT] =
		"Look after its cooling: the device stops itself before it is harmed. Programs with "
		"libnpurt go on by themselves",
	[NPU_FAILURE_PANIC] =
		"This is a fault of the firmware or of the control core: report it with this dump "
		"('npu-ctl coredump --output FILE') and the version of the firmware",
	[NPU_FAILURE_CORE] =
		"This is a fault of the firmware or of the control core: report it with this dump "
		"('npu-ctl coredump --output FILE') and the version of the firmware",
	[NPU_FAILURE_SILENCE] =
		"The firmware has fallen silent: report it with this dump ('npu-ctl coredump --output "
		"FILE'). If it comes again with the same program, that program's next packet, below, "
		"leads there",
	[NPU_FAILURE_INVALIDATION] =
		"An access of the guilty context's never ended, so that its memory could not be taken "
		"away: run its program alone; if only that one brings it about, report it with this dump, "
		"else the device is at fault",
	[NPU_FAILURE_CONTEXT_END] =
		"A task of the context that was being ended did not stop: report it with this dump",
	[NPU_FAILURE_QUEUE_END] =
		"A task of the guilty context's queue did not stop: report it with this dump",
	[NPU_FAILURE_NO_ANSWER] =
		"The card is gone, or its bus: see whether it is there ('lspci -d 1234:4e50'), seat it "
		"anew, switch its power off and on, then bind its driver again",
	[NPU_FAILURE_RESTART] =
		"Switch its power off and on, then bind its driver again; if it stays, the card, or the "
		"file of its firmware, is broken ('dmesg')",
	[NPU_FAILURE_RESUME] =
		"Have it not sleep for now ('echo on >power/control' in its folder of sysfs), and report "
		"it with this dump",
	[NPU_FAILURE_WAKE] =
		"The bus does not wake the card up: have it not sleep for now ('echo on >power/control' in "
		"its folder of sysfs), switch its power off and on, then bind its driver again",
	[NPU_FAILURE_PAGE_TABLES] =
		"This is a fault of the driver: report it with this dump",
};

void dump_say_advice(FILE *to, const struct dump *dump)
{
	uint32_t failure = dump->cause.failure;

	if (failure < sizeof(advices) / sizeof(advices[0]) && advices[failure])
		fputs(advices[failure], to);
	else
		fputs("This npu-ctl does not know that failure: use the one that came with the driver", to);
}
