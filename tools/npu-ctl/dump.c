// SPDX-License-Identifier: MIT
#include "dump.h"

#include <stdio.h>
#include <string.h>

#include "npu/npu_regs.h"

static int refuse(char error[DUMP_TEXT_BYTES], const char *why)
{
	snprintf(error, DUMP_TEXT_BYTES, "%s", why);
	return -1;
}

/* More than any device has: who looks at all of it does not take for ever. */
static uint32_t most_of(uint32_t kind)
{
	switch (kind) {
	case NPU_COREDUMP_QUEUES:
	case NPU_COREDUMP_PACKETS:
		return 64;
	case NPU_COREDUMP_CONTEXTS:
		return 256;
	case NPU_COREDUMP_LOG:
		return 1u << 20;
	default:
		return 16384;
	}
}

/* Adds the section at @at, as far as it is there. Returns where the next one is, 0: there is none. */
static size_t add_section(struct dump *dump, const unsigned char *bytes, size_t size, size_t at)
{
	struct npu_coredump_section head;
	struct dump_section *section = &dump->sections[dump->count];
	uint64_t length, next;

	/* Behind the last one there need be nothing to make it even. */
	if (at >= size)
		return 0;
	if (size - at < sizeof(head)) {
		dump->ends_early = true;
		return 0;
	}
	memcpy(&head, bytes + at, sizeof(head));
	at += sizeof(head);
	length = (uint64_t)head.entry_bytes * head.entries;
	*section = (struct dump_section){ head.kind, head.index, head.entry_bytes, head.entries,
					  bytes + at };
	if (length > size - at) {
		dump->ends_early = true;
		section->entries = (uint32_t)((size - at) / head.entry_bytes);
		next = 0;
	} else {
		next = (at + length + NPU_COREDUMP_ALIGN - 1) & ~(uint64_t)(NPU_COREDUMP_ALIGN - 1);
	}
	if (section->entries > most_of(head.kind)) {
		section->entries = most_of(head.kind);
		dump->cut = true;
	}
	dump->count++;
	return next;
}

static int check_header(struct dump *dump, const void *bytes, size_t size, char *error,
			struct npu_coredump_header *header)
{
	if (size < sizeof(*header))
		return refuse(error, "it is too short for a core dump of an NPU");
	memcpy(header, bytes, sizeof(*header));
	if (memcmp(header->magic, NPU_COREDUMP_MAGIC, sizeof(header->magic)))
		return refuse(error, "it is no core dump of an NPU");
	dump->major = header->major;
	dump->minor = header->minor;
	if (header->major != NPU_COREDUMP_MAJOR) {
		snprintf(error, DUMP_TEXT_BYTES,
			 "it is of version %u.%u, and this npu-ctl reads %u.*: use the npu-ctl that "
			 "came with the driver",
			 header->major, header->minor, NPU_COREDUMP_MAJOR);
		return -1;
	}
	if (header->header_bytes < sizeof(*header) || header->header_bytes > size)
		return refuse(error, "its header is damaged");
	return 0;
}

int dump_read(struct dump *dump, const void *bytes, size_t size, char error[DUMP_TEXT_BYTES])
{
	struct npu_coredump_header header;
	struct dump_section section;
	size_t at;

	memset(dump, 0, sizeof(*dump));
	if (check_header(dump, bytes, size, error, &header))
		return -1;
	dump->cut = header.flags & NPU_COREDUMP_CUT;
	dump->ends_early = header.bytes > size;
	/* What follows the dump is not part of it. */
	if (header.bytes < size)
		size = header.bytes;
	at = header.header_bytes;
	while (at && dump->count < DUMP_SECTIONS_MAX)
		at = add_section(dump, bytes, size, at);
	section = dump_find(dump, NPU_COREDUMP_CAUSE, 0);
	if (!dump_entry(&section, 0, &dump->cause, sizeof(dump->cause)))
		return refuse(error, "it does not say why it was made: it is damaged");
	section = dump_find(dump, NPU_COREDUMP_SYSTEM, 0);
	dump_entry(&section, 0, &dump->system, sizeof(dump->system));
	return 0;
}

struct dump_section dump_find(const struct dump *dump, enum npu_coredump_kind kind, uint32_t index)
{
	for (size_t i = 0; i < dump->count; i++) {
		if (dump->sections[i].kind == kind && dump->sections[i].index == index)
			return dump->sections[i];
	}
	return (struct dump_section){ .kind = kind };
}

bool dump_entry(const struct dump_section *section, uint32_t i, void *to, size_t known)
{
	size_t bytes = section->entry_bytes < known ? section->entry_bytes : known;

	memset(to, 0, known);
	if (i >= section->entries || !bytes)
		return false;
	memcpy(to, section->data + (size_t)i * section->entry_bytes, bytes);
	return true;
}

void dump_text(char to[DUMP_TEXT_BYTES], const void *field, size_t bytes)
{
	const unsigned char *from = field;
	size_t i;

	for (i = 0; i < bytes && i < DUMP_TEXT_BYTES - 1 && from[i]; i++)
		to[i] = from[i] < ' ' || from[i] > '~' ? '?' : (char)from[i];
	to[i] = 0;
}

bool dump_register(const struct dump *dump, uint32_t offset, uint32_t *value)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_REGISTERS, 0);
	struct npu_coredump_register reg;

	*value = 0;
	for (uint32_t i = 0; dump_entry(&section, i, &reg, sizeof(reg)); i++) {
		if (reg.offset == offset) {
			*value = reg.value;
			return true;
		}
	}
	return false;
}

struct npu_coredump_semaphore dump_semaphore(const struct dump *dump, uint32_t context,
					     uint32_t sem)
{
	struct dump_section section = dump_find(dump, NPU_COREDUMP_SEMAPHORES, 0);
	struct npu_coredump_semaphore entry;

	for (uint32_t i = 0; dump_entry(&section, i, &entry, sizeof(entry)); i++) {
		if (entry.context == context && entry.sem == sem)
			return entry;
	}
	return (struct npu_coredump_semaphore){ .context = context, .sem = sem };
}

const char *dump_register_name(uint32_t offset)
{
	static const struct {
		uint32_t offset;
		const char *name;
	} names[] = {
#define NAME(name) { NPU_REG_##name, #name }
		NAME(ID), NAME(HW_VERSION), NAME(CLUSTERS), NAME(MAC_CHANNELS), NAME(MAC_DEPTH),
		NAME(LOCAL_BYTES), NAME(GLOBAL_BYTES), NAME(ACC_BYTES), NAME(DMA_CHANNELS),
		NAME(DRAM_BYTES_PER_CYCLE), NAME(DRAM_LATENCY), NAME(CLOCK_HZ), NAME(QUEUES),
		NAME(SLOTS), NAME(CONTEXTS), NAME(SEMAPHORES), NAME(VECTOR_BYTES),
		NAME(OUT_RESULTS), NAME(BOOT_ADDRESS_LO), NAME(BOOT_ADDRESS_HI), NAME(BOOT_SIZE),
		NAME(BOOT_STATUS), NAME(FW_ALIVE), NAME(FW_STATE), NAME(IRQ_STATUS),
		NAME(IRQ_ENABLE), NAME(MAILBOX_TO_FW_SEND), NAME(MAILBOX_TO_HOST_SEND),
		NAME(CONTEXT_TABLE_LO), NAME(CONTEXT_TABLE_HI), NAME(TLB_ADDRESS_LO),
		NAME(TLB_ADDRESS_HI), NAME(TLB_BYTES_LO), NAME(TLB_BYTES_HI), NAME(TLB_DONE),
		NAME(FAULT_BASE_LO), NAME(FAULT_BASE_HI), NAME(FAULT_LOG2), NAME(FAULT_CONSUMER),
		NAME(FAULT_LOST), NAME(EVENT_BASE_LO), NAME(EVENT_BASE_HI), NAME(EVENT_LOG2),
		NAME(EVENT_CONSUMER), NAME(TIME_LO), NAME(TIME_HI), NAME(COUNTER_TASKS_LO),
		NAME(COUNTER_TASKS_HI), NAME(COUNTER_MAC_LO), NAME(COUNTER_MAC_HI),
		NAME(COUNTER_VECTOR_LO), NAME(COUNTER_VECTOR_HI), NAME(COUNTER_DMA_LO),
		NAME(COUNTER_DMA_HI), NAME(COUNTER_DRAM_READ_LO), NAME(COUNTER_DRAM_READ_HI),
		NAME(COUNTER_DRAM_WRITE_LO), NAME(COUNTER_DRAM_WRITE_HI), NAME(COUNTER_TLB_MISS_LO),
		NAME(COUNTER_TLB_MISS_HI), NAME(COUNTER_SCRUB_LO), NAME(COUNTER_SCRUB_HI),
		NAME(COUNTER_PREEMPTIONS_LO), NAME(COUNTER_PREEMPTIONS_HI),
		NAME(COUNTER_ECC_CORRECTED_LO), NAME(COUNTER_ECC_CORRECTED_HI),
		NAME(COUNTER_ECC_UNCORRECTED_LO), NAME(COUNTER_ECC_UNCORRECTED_HI),
		NAME(COUNTER_SLEEP_LO), NAME(COUNTER_SLEEP_HI), NAME(COUNTER_WAKES_LO),
		NAME(COUNTER_WAKES_HI), NAME(COUNTER_ENERGY_LO), NAME(COUNTER_ENERGY_HI),
		NAME(ERROR_STATUS), NAME(ERROR_CLUSTER),
		NAME(ERROR_ADDRESS), NAME(CLUSTERS_ASLEEP), NAME(CLOCK), NAME(CLOCK_POINTS),
		NAME(TEMPERATURE), NAME(HEAT_COOL), NAME(HEAT_HOT), NAME(HEAT_TRIP), NAME(POWER),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].offset == offset)
			return names[i].name;
	}
	return NULL;
}
