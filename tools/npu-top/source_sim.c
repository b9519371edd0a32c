// SPDX-License-Identifier: MIT
/* Statistics pages: `sim:` devices, and queues and models of every process with libnpurt. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page.h"
#include "source.h"

/*
 * Who is held up while it reads cannot tell of which moment the counts are. Reading takes far less;
 * after some tries it has to do.
 */
#define READ_NS 2000000
#define READ_TRIES 5

/* CLOCK_MONOTONIC; somewhere in between a page was read. */
struct moment {
	int64_t begin_ns, end_ns;
};

/* A process that lives has looked after its page within this. */
#define FROZEN_NS 3000000000ll

static uint64_t our_namespace(void)
{
	struct stat stat_buffer;

	return stat("/proc/self/ns/pid", &stat_buffer) ? 0 : stat_buffer.st_ino;
}

static bool is_in_our_namespace(const struct npurt_stats_page *page)
{
	return page->pid_namespace == our_namespace();
}

static bool is_process_of(uint32_t pid, uid_t owner)
{
	char path[32];
	struct stat stat_buffer;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &stat_buffer) && stat_buffer.st_uid == owner;
}

/* Pages of other process namespaces cannot be asked for; their beat has to do. */
static bool is_alive(const struct top_sample *sample, const struct npurt_stats_page *page,
		     uid_t owner)
{
	/* Root reads everybody's pages, and nobody's may name another user's process. */
	if (is_in_our_namespace(page))
		return is_process_of(page->pid, owner) &&
		       npurt_stats_start_time((pid_t)page->pid) == page->start_time;
	return page->beat_ns > sample->monotonic_ns - FROZEN_NS;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* Hardware is known from the kernel; a model is its process's own. */
static size_t find_device(const struct top_sample *sample, const struct npurt_stats_page *page)
{
	for (size_t i = 0; i < sample->devices; i++) {
		if (!sample->device[i].pid &&
		    !strcmp(last_part(sample->device[i].name), last_part(page->device.name)))
			return i;
	}
	return TOP_NO_ROW;
}

static void note_trouble(struct top_device *device, const struct npurt_stats_page *page,
			 int64_t now)
{
	uint32_t i;

	if (page->beat_ns < now - FROZEN_NS) {
		device->state = TOP_FROZEN;
		snprintf(device->trouble, sizeof(device->trouble),
			 "process %u has not looked after it for %.0f s: it is stopped, or gets no "
			 "processor time",
			 page->pid, (double)(now - page->beat_ns) / 1e9);
		return;
	}
	for (i = 0; i < page->queues_used; i++) {
		if (!page->queue[i].number || !page->queue[i].error ||
		    page->queue[i].error == -ECANCELED)
			continue;
		device->state = TOP_STOPPED;
		snprintf(device->trouble, sizeof(device->trouble),
			 "queue %u of process %u has stopped (%s): its process has the reason in "
			 "its log",
			 page->queue[i].number, page->pid,
			 page->queue[i].error < 0 && page->queue[i].error > -4096 ?
				 strerror(-page->queue[i].error) :
				 "for an unknown reason");
		return;
	}
}

static size_t add_device(struct top_sample *sample, const struct npurt_stats_page *page,
			 uid_t owner, uint32_t number)
{
	const struct npurt_stats_device *from = &page->device;
	struct top_device *device = top_add_device(sample);

	memcpy(device->name, from->name, sizeof(device->name));
	memcpy(device->config, from->config, sizeof(device->config));
	memcpy(device->driver, from->driver, sizeof(device->driver));
	memcpy(device->firmware, from->firmware, sizeof(device->firmware));
	device->pid = (pid_t)page->pid;
	device->uid = owner;
	device->start_time = page->start_time;
	device->page = number;
	device->clusters = from->clusters;
	device->dma_channels = from->dma_channels;
	device->clock_hz = from->clock_hz;
	device->has_counters = page->flags & NPURT_STATS_HAS_COUNTERS;
	device->counters_ns = page->beat_ns;
	device->time_cycles = from->time_cycles;
	device->tasks = from->tasks;
	device->mac_cycles = from->mac_cycles;
	device->vector_cycles = from->vector_cycles;
	device->dma_cycles = from->dma_cycles;
	device->dram_read_bytes = from->dram_read_bytes;
	device->dram_write_bytes = from->dram_write_bytes;
	device->tlb_misses = from->tlb_misses;
	note_trouble(device, page, sample->monotonic_ns);
	return sample->devices - 1;
}

static size_t add_process(struct top_sample *sample, const struct npurt_stats_page *page,
			  uid_t owner, size_t device)
{
	bool in_container = !is_in_our_namespace(page);
	size_t index = in_container ? TOP_NO_ROW :
				      top_find_process(sample, device, (pid_t)page->pid);
	struct top_process *process;

	if (index == TOP_NO_ROW) {
		process = top_add_process(sample, device, (pid_t)page->pid);
		index = sample->processes - 1;
		if (in_container)
			snprintf(process->command, sizeof(process->command), "(in a container)");
		else
			top_name_process(process);
		process->in_container = in_container;
		process->uid = owner;
		process->start_time = page->start_time;
	}
	process = &sample->process[index];
	process->has_page = true;
	process->ended_runs += page->ended_runs;
	process->ended_failed += page->ended_failed;
	process->left_out += (uint64_t)page->queues_left_out + page->models_left_out;
	return index;
}

static void add_queues(struct top_sample *sample, const struct npurt_stats_page *page,
		       uint32_t number, const struct moment *moment, size_t process)
{
	bool has_engines = sample->process[process].has_engines;
	uint32_t i;

	for (i = 0; i < page->queues_used; i++) {
		struct top_queue *queue;

		if (!page->queue[i].number)
			continue;
		queue = top_add_queue(sample);
		queue->process = process;
		queue->page = number;
		queue->read_ns = moment->end_ns;
		queue->beat_ns = page->beat_ns;
		queue->row = page->queue[i];
		/* The kernel has said it of a process that it knows. */
		if (has_engines)
			continue;
		sample->process[process].queues++;
		sample->process[process].contexts++;
		sample->process[process].tasks += queue->row.submitted;
		sample->process[process].memory_bytes += queue->row.memory_bytes;
	}
}

static void add_models(struct top_sample *sample, const struct npurt_stats_page *page,
		       uint32_t number, const struct moment *moment, size_t process, size_t first_queue)
{
	uint32_t i;
	size_t j;

	for (i = 0; i < page->models_used; i++) {
		struct top_model *model;

		if (!page->model[i].number)
			continue;
		model = top_add_model(sample);
		model->process = process;
		model->page = number;
		model->begin_ns = moment->begin_ns;
		model->read_ns = moment->end_ns;
		model->row = page->model[i];
		model->queue = TOP_NO_ROW;
		for (j = first_queue; j < sample->queues; j++) {
			if (sample->queue[j].row.number == model->row.queue)
				model->queue = j;
		}
	}
}

static void add_page(struct top_sample *sample, const struct npurt_stats_page *page, uid_t owner,
		     uint32_t number, const struct moment *moment)
{
	size_t device = find_device(sample, page), process, first_queue = sample->queues;

	if (device == TOP_NO_ROW)
		device = add_device(sample, page, owner, number);
	process = add_process(sample, page, owner, device);
	add_queues(sample, page, number, moment, process);
	add_models(sample, page, number, moment, process, first_queue);
	if (sample->process[process].left_out)
		top_add_note(sample,
			     "process %u has %" PRIu64
			     " queues and models more than its page has room for",
			     page->pid, sample->process[process].left_out);
}

/* "npurt-stats.PID.NUMBER" */
static uint32_t page_number(const char *name)
{
	const char *dot = strrchr(name, '.');

	return (uint32_t)strtoul(dot + 1, NULL, 10);
}

static enum top_page_verdict read_timed(int fd, struct npurt_stats_page *page, uid_t *owner,
					struct moment *moment)
{
	enum top_page_verdict verdict;
	int i = 0;

	do {
		memset(page, 0, sizeof(*page));
		moment->begin_ns = top_now();
		verdict = top_page_read(fd, page, owner);
		/* Not when the sample was begun: on a busy machine that may be long ago. */
		moment->end_ns = top_now();
	} while (moment->end_ns - moment->begin_ns > READ_NS && ++i < READ_TRIES);
	return verdict;
}

static void collect_one(int folder, const char *name, struct npurt_stats_page *page,
			struct top_sample *sample)
{
	static const char *const reasons[] = {
		[TOP_PAGE_UNSTEADY] = "its process stands still in the middle of a change",
		[TOP_PAGE_FOREIGN] = "it is not a file of this user that only this user may write",
		[TOP_PAGE_OTHER_VERSION] = "it is of another version of libnpurt",
		[TOP_PAGE_DAMAGED] = "it is damaged",
		[TOP_PAGE_UNREADABLE] = "it is too short",
	};
	enum top_page_verdict verdict;
	char shown[64];
	struct moment moment;
	uid_t owner;
	int fd;

	/* Not blocking: a pipe in its place must not hang us. */
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	verdict = read_timed(fd, page, &owner, &moment);
	close(fd);
	if (verdict == TOP_PAGE_GOOD && is_alive(sample, page, owner)) {
		add_page(sample, page, owner, page_number(name), &moment);
	} else if (verdict != TOP_PAGE_GOOD) {
		snprintf(shown, sizeof(shown), "%.63s", name);
		top_clean_text(shown, sizeof(shown));
		top_add_note(sample, "page %s left out: %s", shown, reasons[verdict]);
	}
}

void top_pages_collect(const char *path, struct top_sample *sample)
{
	struct npurt_stats_page *page = malloc(sizeof(*page));
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (page && folder && (entry = readdir(folder))) {
		if (!strncmp(entry->d_name, NPURT_STATS_PREFIX, strlen(NPURT_STATS_PREFIX)))
			collect_one(dirfd(folder), entry->d_name, page, sample);
	}
	if (folder)
		closedir(folder);
	free(page);
}
