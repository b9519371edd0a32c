/* SPDX-License-Identifier: MIT */
/* The core dump of accel0, where the kernel has one. */
#ifndef NPU_TEST_COREDUMP_H
#define NPU_TEST_COREDUMP_H

#include "npu/npu_coredump.h"
#include "npu_test.h"

#define DUMPS "/sys/class/devcoredump"
#define DUMP_INTERVAL "/sys/module/npu/parameters/coredump_interval"

struct coredump {
	char path[512];	/* empty: there is none */
	unsigned char *bytes;
	size_t size;
};

/* A copy of one of its entries; what is beyond it in the dump is newer than these tests. */
static inline bool dump_entry(const struct coredump *dump, uint32_t kind, uint32_t index,
			      uint32_t number, void *to, size_t bytes)
{
	struct npu_coredump_header header;
	struct npu_coredump_section section;
	size_t at, length;

	memcpy(&header, dump->bytes, sizeof(header));
	for (at = header.header_bytes; at + sizeof(section) <= dump->size;
	     at += (length + NPU_COREDUMP_ALIGN - 1) / NPU_COREDUMP_ALIGN * NPU_COREDUMP_ALIGN) {
		memcpy(&section, dump->bytes + at, sizeof(section));
		at += sizeof(section);
		length = (size_t)section.entry_bytes * section.entries;
		if (length > dump->size - at)
			return false;
		if (section.kind != kind || section.index != index || number >= section.entries)
			continue;
		if (section.entry_bytes < bytes)
			return false;
		memcpy(to, dump->bytes + at + (size_t)number * section.entry_bytes, bytes);
		return true;
	}
	return false;
}

/* Whether a dump's device is accel0. */
static inline bool dump_is_ours(const char *name)
{
	char path[512], of[PATH_MAX], ours[PATH_MAX];

	snprintf(path, sizeof(path), DUMPS "/%.64s/failing_device", name);
	return realpath(path, of) && realpath("/sys/class/accel/accel0/device", ours) &&
	       !strcmp(of, ours);
}

/* Whether there is one; @dump: where. */
static inline bool dump_find(struct coredump *dump)
{
	DIR *folder = opendir(DUMPS);
	struct dirent *entry;

	memset(dump, 0, sizeof(*dump));
	while (folder && !*dump->path && (entry = readdir(folder))) {
		if (!strncmp(entry->d_name, "devcd", 5) && dump_is_ours(entry->d_name))
			snprintf(dump->path, sizeof(dump->path), DUMPS "/%.64s/data",
				 entry->d_name);
	}
	if (folder)
		closedir(folder);
	return *dump->path;
}

/* Finds and reads it. 0 or a negative errno. */
static inline int dump_read(struct coredump *dump)
{
	ssize_t got = 0;
	int fd;

	if (!dump_find(dump))
		return -ENOENT;
	fd = open(dump->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dump->bytes = malloc(NPU_COREDUMP_BYTES_MAX + 1);
	do {
		dump->size += (size_t)got;
		got = read(fd, dump->bytes + dump->size, NPU_COREDUMP_BYTES_MAX + 1 - dump->size);
	} while (got > 0);
	close(fd);
	if (got < 0)
		return -EIO;
	return dump->size > NPU_COREDUMP_BYTES_MAX ? -EFBIG : 0;
}

/* One of this process's contexts, by its number. */
static inline bool dump_find_context(const struct coredump *dump, uint32_t id,
				     struct npu_coredump_context *context)
{
	uint32_t i;

	for (i = 0; dump_entry(dump, NPU_COREDUMP_CONTEXTS, 0, i, context, sizeof(*context)); i++) {
		if (context->id == id && context->pid == (uint32_t)getpid())
			return true;
	}
	return false;
}

/* The kernel forgets a dump that is written to, a little later. */
static inline void dump_discard(void)
{
	struct coredump dump;

	while (dump_find(&dump)) {
		write_file(dump.path, "1");
		usleep(10000);
	}
}

static inline int dump_set_interval(const char *seconds)
{
	return write_file(DUMP_INTERVAL, seconds);
}

#endif /* NPU_TEST_COREDUMP_H */
