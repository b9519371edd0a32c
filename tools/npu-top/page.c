// SPDX-License-Identifier: MIT
/*
 * Reading a statistics page. It is read, not mapped: its file may be cut short at any time, and
 * what has been checked must not change.
 */
#include "page.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its writer needs microseconds. */
#define TRIES 8

static bool read_at(int fd, void *to, size_t bytes, size_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_sequence(int fd, uint32_t *sequence)
{
	return read_at(fd, sequence, sizeof(*sequence),
		       offsetof(struct npurt_stats_page, sequence));
}

/* Rows that have been used; what is not read stays zero. */
static bool read_rows(int fd, struct npurt_stats_page *page)
{
	size_t queues = page->queues_used, models = page->models_used;

	if (queues > NPURT_STATS_QUEUES || models > NPURT_STATS_MODELS)
		return true;
	return read_at(fd, page->queue, queues * sizeof(page->queue[0]),
		       offsetof(struct npurt_stats_page, queue)) &&
	       read_at(fd, page->model, models * sizeof(page->model[0]),
		       offsetof(struct npurt_stats_page, model));
}

static bool is_ours(int fd, uid_t *owner)
{
	struct stat stat_buffer;

	if (fstat(fd, &stat_buffer) || !S_ISREG(stat_buffer.st_mode))
		return false;
	*owner = stat_buffer.st_uid;
	/* Root looks at everybody's. */
	return (stat_buffer.st_uid == geteuid() || !geteuid()) && !(stat_buffer.st_mode & 077);
}

enum top_page_verdict top_page_check(struct npurt_stats_page *page)
{
	struct npurt_stats_device *device = &page->device;
	uint32_t i;

	if (page->magic != NPURT_STATS_MAGIC)
		return TOP_PAGE_DAMAGED;
	if (page->version != NPURT_STATS_VERSION)
		return TOP_PAGE_OTHER_VERSION;
	if (page->bytes != sizeof(*page) || page->queues_used > NPURT_STATS_QUEUES ||
	    page->models_used > NPURT_STATS_MODELS || !page->pid || page->pid > INT32_MAX ||
	    page->beat_ns < 0)
		return TOP_PAGE_DAMAGED;
	top_clean_text(device->name, sizeof(device->name));
	top_clean_text(device->config, sizeof(device->config));
	top_clean_text(device->driver, sizeof(device->driver));
	top_clean_text(device->firmware, sizeof(device->firmware));
	for (i = 0; i < page->models_used; i++)
		top_clean_text(page->model[i].name, sizeof(page->model[i].name));
	return TOP_PAGE_GOOD;
}

enum top_page_verdict top_page_read(int fd, struct npurt_stats_page *page, uid_t *owner)
{
	uint32_t before, after;
	int i;

	if (!is_ours(fd, owner))
		return TOP_PAGE_FOREIGN;
	for (i = 0; i < TRIES; i++) {
		if (!read_sequence(fd, &before) ||
		    !read_at(fd, page, offsetof(struct npurt_stats_page, queue), 0) ||
		    !read_rows(fd, page) || !read_sequence(fd, &after))
			return TOP_PAGE_UNREADABLE;
		if (before == after && !(before & 1))
			return top_page_check(page);
		usleep(100);
	}
	return TOP_PAGE_UNSTEADY;
}
