// SPDX-License-Identifier: MIT
/*
 * Publishing the statistics page.
 *
 * What tasks cost is counted where they end, straight into the page. The rest, gauges and the
 * device's counters, is looked up by a thread a few times a second from what is there anyway; it
 * disturbs a device only while that has something to do.
 */
#include "stats.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "thread.h"

/* Pages of one process; more devices than that are not shown. */
#define NAMES_MAX 64

struct npurt_stats {
	struct npurt_device *device;
	struct npurt_stats_page *page;
	char name[64]; /* for shm_unlink() */
	pid_t pid;
	pthread_t thread;
	uint32_t stop; /* a futex */
	pthread_mutex_t lock; /* of what follows, and of the page but for its counts */
	struct npurt_queue *queue[NPURT_STATS_QUEUES]; /* of the page's places */
	uint32_t numbers; /* given so far */
	uint64_t seen; /* activity() when the device's counters were read */
	struct npurt_stats *next;
};

/* What a process that exits without npurt_close() still has to remove. */
static struct npurt_stats *published;
static pthread_mutex_t published_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t published_once = PTHREAD_ONCE_INIT;
static pid_t publisher; /* the process that opened a device last */

/* ---------------------------------------------------------------- writing a page */

static void begin_change(struct npurt_stats *stats)
{
	pthread_mutex_lock(&stats->lock);
	__atomic_fetch_add(&stats->page->sequence, 1, __ATOMIC_SEQ_CST);
}

static void end_change(struct npurt_stats *stats)
{
	__atomic_fetch_add(&stats->page->sequence, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&stats->lock);
}

static void describe_device(struct npurt_stats_device *to, const struct npurt_device_info *info)
{
	memcpy(to->name, info->name, sizeof(to->name));
	memcpy(to->config, info->config, sizeof(to->config));
	memcpy(to->driver, info->driver, sizeof(to->driver));
	memcpy(to->firmware, info->firmware_version, sizeof(to->firmware));
	to->firmware_abi = info->firmware_abi;
	to->hardware_version = info->hardware_version;
	to->clusters = info->clusters;
	to->dma_channels = info->dma_channels;
	to->clock_hz = info->clock_hz;
}

/* What a device takes to answer nobody else waits for. */
static void look_at_counters(struct npurt_stats *stats)
{
	struct npurt_backend *backend = stats->device->backend;
	struct npurt_device_counters counters = { .size = sizeof(counters) };
	struct npurt_stats_device *to = &stats->page->device;

	if (backend->ops->get_counters(backend, &counters))
		return;
	begin_change(stats);
	to->time_cycles = counters.time_cycles;
	to->tasks = counters.tasks;
	to->mac_cycles = counters.mac_cycles;
	to->vector_cycles = counters.vector_cycles;
	to->dma_cycles = counters.dma_cycles;
	to->dram_read_bytes = counters.dram_read_bytes;
	to->dram_write_bytes = counters.dram_write_bytes;
	to->tlb_misses = counters.tlb_misses;
	end_change(stats);
}

/* ----------------------------------------------------------------------- queues */

/* When the oldest task in flight was submitted; 0: unknown. */
static int64_t oldest_submission(struct npurt_queue *queue, uint64_t completed)
{
	const struct npurt_slot *slot;
	const struct npurt_task *task;
	int64_t submitted = 0;
	uint64_t index;

	/* Who retires tasks must not wait for us; the next look will do. */
	if (pthread_mutex_trylock(&queue->retire_lock))
		return 0;
	index = queue->retired > completed ? queue->retired : completed;
	slot = &queue->slots[index & (queue->ring.size - 1)];
	if (__atomic_load_n(&slot->filled, __ATOMIC_ACQUIRE) == index + 1) {
		task = slot->task;
		submitted = task && task->timed ? task->submit_ns : 0;
	}
	pthread_mutex_unlock(&queue->retire_lock);
	return submitted;
}

static void look_at_queue(struct npurt_queue *queue, struct npurt_stats_queue *row, int64_t now)
{
	uint64_t completed = npurt_queue_progress(queue);
	uint64_t submitted = npurt_ring_written(&queue->ring);
	int64_t oldest;

	row->error = __atomic_load_n(&queue->stopped, __ATOMIC_ACQUIRE);
	if (row->error || completed > submitted)
		completed = submitted;
	row->submitted = submitted;
	row->completed = completed;
	row->depth = (uint32_t)(submitted - completed);
	row->waiting = __atomic_load_n(&queue->line.waiting, __ATOMIC_RELAXED);
	row->bytes_in_flight = __atomic_load_n(&queue->bytes, __ATOMIC_RELAXED);
	row->memory_bytes = __atomic_load_n(&queue->context->buffer_bytes, __ATOMIC_RELAXED);
	oldest = row->depth ? oldest_submission(queue, completed) : 0;
	row->oldest_ns = oldest && now > oldest ? (uint64_t)(now - oldest) : 0;
}

/* Changes whenever a task has been submitted or has ended. */
static uint64_t activity(const struct npurt_stats_page *page)
{
	uint64_t sum = 1;
	uint32_t i;

	for (i = 0; i < page->queues_used; i++) {
		if (page->queue[i].number)
			sum += page->queue[i].submitted + page->queue[i].completed +
			       page->queue[i].number;
	}
	return sum;
}

static bool is_busy(const struct npurt_stats_page *page)
{
	uint32_t i;

	for (i = 0; i < page->queues_used; i++) {
		if (page->queue[i].number && page->queue[i].depth && !page->queue[i].error)
			return true;
	}
	return false;
}

static void look(struct npurt_stats *stats)
{
	struct npurt_stats_page *page = stats->page;
	int64_t now = npurt_now();
	bool moved;
	uint64_t seen;
	uint32_t i;

	begin_change(stats);
	for (i = 0; i < page->queues_used; i++) {
		if (page->queue[i].number)
			look_at_queue(stats->queue[i], &page->queue[i], now);
	}
	seen = activity(page);
	moved = seen != stats->seen || is_busy(page);
	stats->seen = seen;
	page->beat_ns = now;
	page->beats++;
	end_change(stats);
	if (moved && page->flags & NPURT_STATS_HAS_COUNTERS)
		look_at_counters(stats);
}

static void *beat(void *opaque)
{
	struct npurt_stats *stats = opaque;

	while (!__atomic_load_n(&stats->stop, __ATOMIC_ACQUIRE)) {
		look(stats);
		npurt_futex_wait(&stats->stop, 0, npurt_now() + NPURT_STATS_BEAT_NS);
	}
	return NULL;
}

struct npurt_stats_queue *npurt_stats_add_queue(struct npurt_stats *stats,
						struct npurt_queue *queue, uint32_t priority)
{
	struct npurt_stats_queue *row = NULL;
	struct npurt_stats_page *page;
	uint32_t i;

	if (!stats)
		return NULL;
	page = stats->page;
	begin_change(stats);
	for (i = 0; i < NPURT_STATS_QUEUES && page->queue[i].number; i++)
		;
	if (i < NPURT_STATS_QUEUES) {
		row = &page->queue[i];
		*row = (struct npurt_stats_queue){
			.number = ++stats->numbers,
			.priority = priority,
			.capacity = (uint32_t)queue->ring.depth,
			.bytes_capacity = queue->bytes_max,
		};
		stats->queue[i] = queue;
		page->queues_used = i < page->queues_used ? page->queues_used : i + 1;
	} else {
		page->queues_left_out++;
	}
	end_change(stats);
	return row;
}

void npurt_stats_remove_queue(struct npurt_stats *stats, struct npurt_stats_queue *row)
{
	if (!row)
		return;
	begin_change(stats);
	row->number = 0;
	end_change(stats);
}

/* ----------------------------------------------------------------------- models */

struct npurt_stats_model *npurt_stats_add_model(struct npurt_stats *stats,
						const struct npurt_stats_queue *queue,
						const struct npurt_stats_model *from)
{
	struct npurt_stats_model *row = NULL;
	struct npurt_stats_page *page;
	uint32_t i;

	if (!stats)
		return NULL;
	page = stats->page;
	begin_change(stats);
	for (i = 0; i < NPURT_STATS_MODELS && page->model[i].number; i++)
		;
	if (i < NPURT_STATS_MODELS) {
		row = &page->model[i];
		*row = *from;
		row->number = ++stats->numbers;
		row->queue = queue ? queue->number : 0;
		page->models_used = i < page->models_used ? page->models_used : i + 1;
	} else {
		page->models_left_out++;
	}
	end_change(stats);
	return row;
}

void npurt_stats_remove_model(struct npurt_stats *stats, struct npurt_stats_model *row)
{
	if (!row)
		return;
	begin_change(stats);
	stats->page->ended_runs += row->counts.runs;
	stats->page->ended_failed += row->counts.failed;
	row->number = 0;
	end_change(stats);
}

/* ----------------------------------------------------------------------- the file */

static uint64_t pid_namespace(void)
{
	struct stat stat_buffer;

	return stat("/proc/self/ns/pid", &stat_buffer) ? 0 : stat_buffer.st_ino;
}

/* Was it left behind by a process of ours that is gone? */
static bool is_stale(const char *name)
{
	const size_t head_bytes = offsetof(struct npurt_stats_page, device);
	struct npurt_stats_page *head; /* the rest of a page is too large for a stack */
	struct stat stat_buffer;
	bool stale = false;
	int fd;

	fd = shm_open(name, O_RDONLY, 0);
	if (fd < 0)
		return false;
	head = malloc(sizeof(*head));
	if (head && !fstat(fd, &stat_buffer) && stat_buffer.st_uid == geteuid() &&
	    pread(fd, head, head_bytes, 0) == (ssize_t)head_bytes)
		stale = head->magic == NPURT_STATS_MAGIC &&
			head->pid_namespace == pid_namespace() && head->pid &&
			npurt_stats_start_time((pid_t)head->pid) != head->start_time;
	free(head);
	close(fd);
	return stale;
}

static void remove_stale(void)
{
	DIR *folder = opendir(NPURT_STATS_FOLDER);
	char name[sizeof(((struct dirent *)0)->d_name) + 1];
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, NPURT_STATS_PREFIX, strlen(NPURT_STATS_PREFIX)))
			continue;
		snprintf(name, sizeof(name), "/%s", entry->d_name);
		if (is_stale(name))
			shm_unlink(name);
	}
	if (folder)
		closedir(folder);
}

/* A file of its own, with all its memory: storing into it must not fail later. */
static int create_file(struct npurt_stats *stats)
{
	struct rlimit limit;
	int number, fd;

	/* Beyond it there would be a signal. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < sizeof(struct npurt_stats_page))
		return -EFBIG;
	for (number = 1; number <= NAMES_MAX; number++) {
		snprintf(stats->name, sizeof(stats->name), "/" NPURT_STATS_PREFIX "%d.%d",
			 (int)stats->pid, number);
		fd = shm_open(stats->name, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int map_page(struct npurt_stats *stats)
{
	int fd, ret;

	fd = create_file(stats);
	if (fd < 0)
		return fd;
	ret = -posix_fallocate(fd, 0, sizeof(struct npurt_stats_page));
	if (!ret) {
		stats->page = mmap(NULL, sizeof(*stats->page), PROT_READ | PROT_WRITE, MAP_SHARED,
				   fd, 0);
		ret = stats->page == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	if (!ret)
		return 0;
	stats->page = NULL;
	shm_unlink(stats->name);
	return ret;
}

static void fill_head(struct npurt_stats *stats)
{
	struct npurt_stats_page *page = stats->page;
	const struct npurt_device_info *info = &stats->device->info;

	page->version = NPURT_STATS_VERSION;
	page->bytes = sizeof(*page);
	page->pid = (uint32_t)stats->pid;
	page->start_time = npurt_stats_start_time(0);
	page->pid_namespace = pid_namespace();
	page->beat_ns = npurt_now();
	/* Behind the kernel's driver a look at the counters is reads of registers. */
	if (!strncmp(info->name, "sim:", 4))
		page->flags |= NPURT_STATS_HAS_COUNTERS;
	describe_device(&page->device, info);
	__atomic_store_n(&page->magic, NPURT_STATS_MAGIC, __ATOMIC_RELEASE);
}

static void before_fork(void)
{
	pthread_mutex_lock(&published_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&published_lock);
}

/* The files are the parent's. */
static void in_child(void)
{
	published = NULL;
	pthread_mutex_unlock(&published_lock);
}

/* A child must not be born with the lock held by a thread that it has not. */
static void look_after_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

static void publish(struct npurt_stats *stats)
{
	pthread_once(&published_once, look_after_forks);
	pthread_mutex_lock(&published_lock);
	stats->next = published;
	published = stats;
	__atomic_store_n(&publisher, stats->pid, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&published_lock);
}

static void withdraw(struct npurt_stats *stats)
{
	struct npurt_stats **link = &published;

	pthread_mutex_lock(&published_lock);
	while (*link && *link != stats)
		link = &(*link)->next;
	if (*link)
		*link = stats->next;
	pthread_mutex_unlock(&published_lock);
	shm_unlink(stats->name);
}

/* The process exits with devices open. */
__attribute__((destructor)) static void remove_files(void)
{
	struct npurt_stats *stats;

	/* Nor in a child by clone() or vfork(), of which nobody tells: its lock may be held for ever. */
	if (__atomic_load_n(&publisher, __ATOMIC_RELAXED) != getpid())
		return;
	/* Threads of the library may still be at work. */
	pthread_mutex_lock(&published_lock);
	for (stats = published; stats; stats = stats->next)
		shm_unlink(stats->name);
	pthread_mutex_unlock(&published_lock);
}

static bool is_wanted(void)
{
	const char *value = secure_getenv("NPURT_STATS");

	return !value || strcmp(value, "0") != 0;
}

struct npurt_stats *npurt_stats_open(struct npurt_device *device)
{
	struct npurt_stats *stats;
	int ret;

	if (!is_wanted())
		return NULL;
	stats = calloc(1, sizeof(*stats));
	if (!stats)
		return NULL;
	stats->device = device;
	stats->pid = getpid();
	remove_stale();
	ret = map_page(stats);
	if (ret)
		goto fail;
	fill_head(stats);
	pthread_mutex_init(&stats->lock, NULL);
	publish(stats);
	ret = npurt_thread_start(&stats->thread, beat, stats, "the statistics");
	if (!ret)
		return stats;
	withdraw(stats);
	pthread_mutex_destroy(&stats->lock);
	munmap(stats->page, sizeof(*stats->page));
fail:
	npurt_log_line(&device->log, NPURT_LOG_DEBUG, "%s: no statistics page: %s",
		       device->info.name, strerror(-ret));
	free(stats);
	return NULL;
}

void npurt_stats_close(struct npurt_stats *stats)
{
	if (!stats)
		return;
	__atomic_store_n(&stats->stop, 1, __ATOMIC_RELEASE);
	npurt_futex_wake(&stats->stop, 1);
	pthread_join(stats->thread, NULL);
	withdraw(stats);
	pthread_mutex_destroy(&stats->lock);
	munmap(stats->page, sizeof(*stats->page));
	free(stats);
}
