// SPDX-License-Identifier: MIT
#include "samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

void make_page(struct npurt_stats_page *page, uint64_t runs)
{
	struct stat stat_buffer;
	struct npurt_stats_model *model = &page->model[0];

	memset(page, 0, sizeof(*page));
	must(!stat("/proc/self/ns/pid", &stat_buffer), "/proc/self/ns/pid");
	page->magic = NPURT_STATS_MAGIC;
	page->version = NPURT_STATS_VERSION;
	page->bytes = sizeof(*page);
	page->flags = NPURT_STATS_HAS_COUNTERS;
	page->pid = (uint32_t)getpid();
	page->start_time = npurt_stats_start_time(0);
	page->pid_namespace = stat_buffer.st_ino;
	page->beat_ns = now();
	strcpy(page->device.name, "sim:npu-v3");
	strcpy(page->device.config, "npu-v3");
	page->device.clusters = 4;
	page->device.dma_channels = 8;
	page->device.clock_hz = 1000000000;
	page->device.time_cycles = runs * 1000;
	page->device.tasks = runs;
	page->device.mac_cycles = runs * 2000;
	page->queues_used = page->models_used = 1;
	page->queue[0] = (struct npurt_stats_queue){
		.number = 1, .priority = 5, .capacity = 64, .submitted = runs, .completed = runs,
	};
	model->number = 2;
	model->kind = NPURT_STATS_MODEL;
	model->queue = 1;
	model->clusters = 4;
	strcpy(model->name, "net");
	model->counts.runs = runs;
	model->counts.cycles = runs * 500;
	model->counts.latency.bucket[npurt_stats_bucket(1000000)] = runs;
}

void make_in(const char *folder, const char *format, ...)
{
	char words[512], command[1200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	snprintf(command, sizeof(command), "cd '%s' && %s", folder, words);
	must(!system(command), command);
}

void make_folder(char *path, size_t bytes)
{
	const char *place = getenv("TMPDIR");

	snprintf(path, bytes, "%s/npu-top-XXXXXX", place ? place : "/tmp");
	must(mkdtemp(path) != NULL, path);
}

void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	must(folder != NULL, path);
	while ((entry = readdir(folder))) {
		if (*entry->d_name != '.')
			must(!unlinkat(dirfd(folder), entry->d_name, 0), entry->d_name);
	}
	closedir(folder);
	must(!rmdir(path), path);
}

void write_page(const char *folder, const char *name, const struct npurt_stats_page *page,
		size_t bytes, unsigned int mode)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	must(fd >= 0, path);
	must(write(fd, page, bytes) == (ssize_t)bytes, path);
	must(!fchmod(fd, mode), path);
	close(fd);
}

void write_noise(void *memory, size_t bytes, uint32_t *seed)
{
	unsigned char *byte = memory;

	while (bytes--) {
		*seed = *seed * 1664525 + 1013904223;
		*byte++ = (unsigned char)(*seed >> 24);
	}
}
