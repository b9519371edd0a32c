// SPDX-License-Identifier: MIT
/*
 * usage: soak queue|load|open COUNT [...]
 *
 * queue: COUNT tasks of four threads through a queue of depth 64, on a null device
 * load:  COUNT times a model is loaded and unloaded, on sim:
 * open:  COUNT times a device is opened, used and closed, on sim:
 */
#include "soak.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Arenas of threads, stacks that glibc keeps, pages that processors keep. */
#define RESIDENT_SLACK (4u << 20)
#define MAPPED_SLACK (16u << 20)

void must(int ret, const char *call)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "soak: %s: %s\n", call, npurt_last_error());
	exit(1);
}

int64_t soak_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static uint32_t count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	uint32_t count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

struct footprint footprint_now(void)
{
	struct footprint now = { .descriptors = count_descriptors() };
	uint64_t mapped = 0, resident = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *file;

	malloc_trim(0);
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &mapped, &resident) != 2) {
		fprintf(stderr, "soak: /proc/self/statm cannot be read\n");
		exit(1);
	}
	fclose(file);
	now.mapped_bytes = mapped * page;
	now.resident_bytes = resident * page;
	return now;
}

/* Sanitizers keep what is freed for a while; that it is freed is theirs to see. */
static bool memory_counts(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return false;
#endif
#endif
	return true;
}

bool footprint_grew(const char *what, const struct footprint *before)
{
	struct footprint now = footprint_now();

	printf("# %s: resident %" PRIu64 " -> %" PRIu64 " KiB, mapped %" PRIu64 " -> %" PRIu64
	       " KiB, descriptors %u -> %u\n",
	       what, before->resident_bytes >> 10, now.resident_bytes >> 10,
	       before->mapped_bytes >> 10, now.mapped_bytes >> 10, before->descriptors,
	       now.descriptors);
	if (now.descriptors > before->descriptors)
		return true;
	return memory_counts() &&
	       (now.resident_bytes > before->resident_bytes + RESIDENT_SLACK ||
		now.mapped_bytes > before->mapped_bytes + MAPPED_SLACK);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(uint64_t count);
	} parts[] = { { "queue", soak_queue }, { "load", soak_load }, { "open", soak_open } };
	size_t i;
	int word, passed = 0, failed = 0;

	for (word = 1; word + 1 < argc; word += 2) {
		uint64_t count = strtoull(argv[word + 1], NULL, 0);
		bool held = false;

		/* Parts compare what is there with what was there after the first tenth. */
		if (count < 20) {
			fprintf(stderr, "soak: %s %s: at least 20 of it\n", argv[word], argv[word + 1]);
			return 2;
		}
		for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			if (!strcmp(argv[word], parts[i].name))
				held = parts[i].run(count);
		}
		printf("%s %d %s %s\n", held ? "ok" : "not ok", passed + failed + 1, argv[word],
		       argv[word + 1]);
		fflush(stdout);
		passed += held;
		failed += !held;
	}
	printf("1..%d\n", passed + failed);
	return failed || !passed;
}
