// SPDX-License-Identifier: MIT
/* A core dump as text, or as one JSON object; the sentences are the same. */
#include "dump_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "dump_say.h"
#include "drm/npu_accel.h"

static void print_version(FILE *to, uint32_t version)
{
	fprintf(to, "%u.%u", version >> 16, version & 0xffff);
}

static void print_system(FILE *to, const struct npu_coredump_system *system)
{
	char text[DUMP_TEXT_BYTES];

	dump_text(text, system->config, sizeof(system->config));
	fprintf(to, "  %s of version ", text);
	print_version(to, system->hardware);
	dump_text(text, system->firmware, sizeof(system->firmware));
	fprintf(to, "; firmware %s, interface ", text);
	print_version(to, system->firmware_abi);
	fputs("; driver ", to);
	print_version(to, system->driver);
	fputs(", made for interface ", to);
	print_version(to, system->driver_abi);
	dump_text(text, system->kernel, sizeof(system->kernel));
	fprintf(to, "; kernel %s\n", text);
}

static void print_contexts(FILE *to, const struct dump *dump, const struct dump_model *model)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_CONTEXTS, 0);
	struct npu_coredump_context context;

	fputs("\nWho was concerned\n", to);
	if (!section.entries)
		fputs("  Nobody: there was no context.\n", to);
	for (uint32_t i = 0; dump_entry(&section, i, &context, sizeof(context)); i++) {
		fputs("  ", to);
		dump_say_context(to, &context);
		fputs(".\n", to);
		if (!context.faults)
			continue;
		fputs("    Its last fault: ", to);
		dump_say_fault(to, &context.fault, model);
		fputs(".\n", to);
	}
}

static void print_packets(FILE *to, const struct dump *dump,
			  const struct npu_coredump_queue *queue)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_PACKETS, queue->queue);
	unsigned char packet[NPU_PACKET_BYTES];

	for (uint32_t i = 0; dump_entry(&section, i, packet, sizeof(packet)); i++) {
		fprintf(to, "    packet %" PRIu64 " (%s) ", (uint64_t)(queue->first + i),
			dump_packet_state(queue, i, packet));
		dump_say_packet(to, dump, queue, packet);
		fputc('\n', to);
	}
}

static void print_queues(FILE *to, const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_QUEUES, 0);
	struct npu_coredump_queue queue;

	fputs("\nWhat was to be done\n", to);
	if (!section.entries)
		fputs("  Nothing: there was no queue.\n", to);
	for (uint32_t i = 0; dump_entry(&section, i, &queue, sizeof(queue)); i++) {
		fputs("  ", to);
		dump_say_queue(to, &queue);
		fputs(".\n", to);
		print_packets(to, dump, &queue);
	}
}

static void print_semaphores(FILE *to, const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_SEMAPHORES, 0);
	struct npu_coredump_semaphore entry;

	if (section.entries)
		fputs("\nSemaphores\n", to);
	for (uint32_t i = 0; dump_entry(&section, i, &entry, sizeof(entry)); i++) {
		fprintf(to, "  %u of context %u: %" PRIu64, entry.sem, entry.context,
			(uint64_t)entry.value);
		if (entry.wanted)
			fprintf(to, "; somebody waited for %" PRIu64, (uint64_t)entry.wanted);
		fputc('\n', to);
	}
}

static void print_told(FILE *to, const struct dump *dump, const struct dump_model *model)
{
	struct dump_section faults = dump_find(dump, NPU_COREDUMP_FAULTS, 0);
	struct dump_section events = dump_find(dump, NPU_COREDUMP_EVENTS, 0);
	struct npu_fault fault;
	struct npu_event event;

	if (faults.entries)
		fputs("\nThe last faults, the oldest first\n", to);
	for (uint32_t i = 0; dump_entry(&faults, i, &fault, sizeof(fault)); i++) {
		fputs("  ", to);
		dump_say_fault(to, &fault, model);
		fputs(".\n", to);
	}
	if (events.entries)
		fputs("\nThe last events, the oldest first\n", to);
	for (uint32_t i = 0; dump_entry(&events, i, &event, sizeof(event)); i++) {
		fputs("  ", to);
		dump_say_event(to, &event);
		fputc('\n', to);
	}
}

/* Its own lines, and nothing that a terminal would obey. */
static void print_log(FILE *to, const struct dump *dump, const char *indent)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_LOG, 0);
	unsigned char c;
	bool begin = true;

	for (uint32_t i = 0; section.entry_bytes == 1 && dump_entry(&section, i, &c, 1); i++) {
		if (begin)
			fputs(indent, to);
		begin = c == '\n';
		fputc(c == '\n' || (c >= ' ' && c <= '~') ? c : '?', to);
	}
	if (!begin)
		fputc('\n', to);
}

static void print_registers(FILE *to, const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_REGISTERS, 0);
	struct npu_coredump_register reg;

	fputs("\nRegisters\n", to);
	for (uint32_t i = 0; dump_entry(&section, i, &reg, sizeof(reg)); i++) {
		const char *name = dump_register_name(reg.offset);

		fprintf(to, "  0x%04x 0x%08x%s%s\n", reg.offset, reg.value, name ? " " : "",
			name ? name : "");
	}
}

void dump_print_text(FILE *to, const struct dump *dump, const struct dump_model *model)
{
	fputs("What happened\n  ", to);
	dump_say_failure(to, dump);
	fputs(".\n  ", to);
	dump_say_signs(to, dump);
	fputs(".\n", to);
	print_system(to, &dump->system);
	if (dump->cut || dump->ends_early)
		fprintf(to, "  This dump is not complete: %s.\n",
			dump->ends_early ? "the file ends before it does" :
				       "there was more than the driver had room for");
	fputs("\nWhat to do\n  ", to);
	dump_say_advice(to, dump);
	fputs(".\n", to);
	print_contexts(to, dump, model);
	print_queues(to, dump);
	print_semaphores(to, dump);
	print_told(to, dump, model);
	fputs("\nThe firmware's log, as far as it was read\n", to);
	print_log(to, dump, "  ");
	print_registers(to, dump);
}

/* -------------------------------------------------------------------------------- JSON */

/* A sentence that is being made. */
struct sentence {
	char *text;
	size_t bytes;
	FILE *file;
};

static bool begin(struct sentence *sentence)
{
	sentence->file = open_memstream(&sentence->text, &sentence->bytes);
	return sentence->file != NULL;
}

static void end(struct sentence *sentence, struct json_object *to, const char *key)
{
	fclose(sentence->file);
	json_object_object_add(to, key, json_object_new_string(sentence->text));
	free(sentence->text);
}

static void add_number(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, json_object_new_uint64(value));
}

static void add_field(struct json_object *to, const char *key, const void *field, size_t bytes)
{
	char text[DUMP_TEXT_BYTES];

	dump_text(text, field, bytes);
	json_object_object_add(to, key, json_object_new_string(text));
}

static void add_version(struct json_object *to, const char *key, uint32_t version)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	json_object_object_add(to, key, json_object_new_string(text));
}

static struct json_object *json_contexts(const struct dump *dump, const struct dump_model *model)
{
	static const char *const states[] = { "alive", "queue stopped", "guilty", "innocent" };
	struct dump_section section = dump_find(dump, NPU_COREDUMP_CONTEXTS, 0);
	struct json_object *list = json_object_new_array();
	struct npu_coredump_context context;
	struct sentence sentence;

	for (uint32_t i = 0; dump_entry(&section, i, &context, sizeof(context)); i++) {
		struct json_object *entry = json_object_new_object();
		bool ending = context.flags & NPU_COREDUMP_CONTEXT_ENDING;

		add_number(entry, "context", context.index);
		add_number(entry, "number", context.id);
		add_number(entry, "pid", context.pid);
		add_number(entry, "uid", context.uid);
		add_field(entry, "comm", context.comm, sizeof(context.comm));
		json_object_object_add(entry, "state", json_object_new_string(
			ending && context.state == DRM_NPU_CTX_GUILTY ? "ending" :
			context.state < sizeof(states) / sizeof(states[0]) ?
			states[context.state] : "unknown"));
		add_number(entry, "faults", context.faults);
		add_number(entry, "tasks", context.counters.tasks);
		if (begin(&sentence)) {
			dump_say_context(sentence.file, &context);
			end(&sentence, entry, "text");
		}
		if (context.faults && begin(&sentence)) {
			dump_say_fault(sentence.file, &context.fault, model);
			end(&sentence, entry, "last_fault");
		}
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_packets(const struct dump *dump,
					const struct npu_coredump_queue *queue)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_PACKETS, queue->queue);
	struct json_object *list = json_object_new_array();
	unsigned char packet[NPU_PACKET_BYTES];
	struct sentence sentence;

	for (uint32_t i = 0; dump_entry(&section, i, packet, sizeof(packet)); i++) {
		struct json_object *entry = json_object_new_object();

		add_number(entry, "index", queue->first + i);
		json_object_object_add(entry, "state", json_object_new_string(
			dump_packet_state(queue, i, packet)));
		if (begin(&sentence)) {
			dump_say_packet(sentence.file, dump, queue, packet);
			end(&sentence, entry, "text");
		}
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_queues(const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_QUEUES, 0);
	struct json_object *list = json_object_new_array();
	struct npu_coredump_queue queue;
	struct sentence sentence;

	for (uint32_t i = 0; dump_entry(&section, i, &queue, sizeof(queue)); i++) {
		struct json_object *entry = json_object_new_object();

		add_number(entry, "queue", queue.queue);
		add_number(entry, "context", queue.context);
		add_number(entry, "number", queue.id);
		add_number(entry, "priority", queue.priority);
		add_number(entry, "error", queue.error);
		add_number(entry, "read_index", queue.control.read_index);
		add_number(entry, "write_index", queue.control.write_index);
		if (begin(&sentence)) {
			dump_say_queue(sentence.file, &queue);
			end(&sentence, entry, "text");
		}
		json_object_object_add(entry, "packets", json_packets(dump, &queue));
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_semaphores(const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_SEMAPHORES, 0);
	struct json_object *list = json_object_new_array();
	struct npu_coredump_semaphore semaphore;

	for (uint32_t i = 0; dump_entry(&section, i, &semaphore, sizeof(semaphore)); i++) {
		struct json_object *entry = json_object_new_object();

		add_number(entry, "context", semaphore.context);
		add_number(entry, "semaphore", semaphore.sem);
		add_number(entry, "value", semaphore.value);
		add_number(entry, "wanted", semaphore.wanted);
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_faults(const struct dump *dump, const struct dump_model *model)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_FAULTS, 0);
	struct json_object *list = json_object_new_array();
	struct npu_fault fault;
	struct sentence sentence;

	for (uint32_t i = 0; dump_entry(&section, i, &fault, sizeof(fault)); i++) {
		struct json_object *entry = json_object_new_object();

		add_number(entry, "context", fault.header >> 16 & 0xff);
		add_number(entry, "queue", fault.header >> 24);
		add_number(entry, "task", fault.task_id);
		add_number(entry, "error", fault.header >> 8 & 0xff);
		add_number(entry, "address", fault.address);
		if (begin(&sentence)) {
			dump_say_fault(sentence.file, &fault, model);
			end(&sentence, entry, "text");
		}
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_events(const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_EVENTS, 0);
	struct json_object *list = json_object_new_array();
	struct npu_event event;
	struct sentence sentence;

	for (uint32_t i = 0; dump_entry(&section, i, &event, sizeof(event)); i++) {
		struct json_object *entry = json_object_new_object();

		if (begin(&sentence)) {
			dump_say_event(sentence.file, &event);
			end(&sentence, entry, "text");
		}
		json_object_array_add(list, entry);
	}
	return list;
}

static struct json_object *json_registers(const struct dump *dump)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_REGISTERS, 0);
	struct json_object *list = json_object_new_array();
	struct npu_coredump_register reg;

	for (uint32_t i = 0; dump_entry(&section, i, &reg, sizeof(reg)); i++) {
		struct json_object *entry = json_object_new_object();
		const char *name = dump_register_name(reg.offset);

		add_number(entry, "offset", reg.offset);
		json_object_object_add(entry, "name", name ? json_object_new_string(name) : NULL);
		add_number(entry, "value", reg.value);
		json_object_array_add(list, entry);
	}
	return list;
}

static void json_cause(struct json_object *root, const struct dump *dump)
{
	const struct npu_coredump_system *system = &dump->system;
	const struct npu_coredump_cause *cause = &dump->cause;
	struct sentence sentence;

	add_field(root, "device", system->device, sizeof(system->device));
	add_field(root, "reason", cause->reason, sizeof(cause->reason));
	add_number(root, "time_ns", cause->time_ns);
	add_number(root, "uptime_ns", cause->uptime_ns);
	json_object_object_add(root, "outcome", json_object_new_string(
		cause->outcome == NPU_COREDUMP_DEAD ? "dead" : "reset"));
	json_object_object_add(root, "answered", json_object_new_boolean(cause->answers));
	add_number(root, "resets_before", cause->resets);
	json_object_object_add(root, "complete",
			       json_object_new_boolean(!dump->cut && !dump->ends_early));
	add_field(root, "config", system->config, sizeof(system->config));
	add_field(root, "firmware", system->firmware, sizeof(system->firmware));
	add_field(root, "kernel", system->kernel, sizeof(system->kernel));
	add_version(root, "hardware", system->hardware);
	add_version(root, "driver", system->driver);
	add_version(root, "firmware_abi", system->firmware_abi);
	add_version(root, "driver_abi", system->driver_abi);
	if (begin(&sentence)) {
		dump_say_failure(sentence.file, dump);
		end(&sentence, root, "text");
	}
	if (begin(&sentence)) {
		dump_say_signs(sentence.file, dump);
		end(&sentence, root, "signs");
	}
	if (begin(&sentence)) {
		dump_say_advice(sentence.file, dump);
		end(&sentence, root, "advice");
	}
}

struct json_object *dump_json(const struct dump *dump, const struct dump_model *model)
{
	struct json_object *root = json_object_new_object();
	struct sentence sentence;

	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	json_cause(root, dump);
	json_object_object_add(root, "contexts", json_contexts(dump, model));
	json_object_object_add(root, "queues", json_queues(dump));
	json_object_object_add(root, "semaphores", json_semaphores(dump));
	json_object_object_add(root, "faults", json_faults(dump, model));
	json_object_object_add(root, "events", json_events(dump));
	json_object_object_add(root, "registers", json_registers(dump));
	if (begin(&sentence)) {
		print_log(sentence.file, dump, "");
		end(&sentence, root, "firmware_log");
	}
	return root;
}
