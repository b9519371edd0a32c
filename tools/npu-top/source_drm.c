// SPDX-License-Identifier: MIT
/*
 * Devices behind the kernel's driver: which there are (sysfs), what they have done (the device's
 * own counters, where this user may open it), and who has them open (/proc/PID/fdinfo).
 *
 * Looking through the descriptors of every process is what costs. Without a card nothing is looked
 * at; a process that had none open is looked at again only every few samples.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver_says.h"
#include "fdinfo.h"
#include "npurt.h"
#include "source.h"

#define CARDS_MAX 16
#define SECOND_LOOK 8
#define FDINFO_BYTES 4096
#define CLIENTS_MAX 256

struct card {
	char name[32]; /* "accel0" */
	char bus[32];
	bool there;
	char gone_since[16];
	struct npurt_device *device; /* NULL: not open */
};

/* A process as it was at the sample before. */
struct seen {
	pid_t pid;
	bool has_open;
};

struct top_drm {
	char root[256];
	struct card card[CARDS_MAX];
	size_t cards;
	struct seen *seen, *seeing;
	size_t seen_count, seeing_count, seeing_room;
	unsigned int turn;
	size_t unreadable; /* processes of others */
	/* Files that several descriptors, or processes, share are counted once a process. */
	uint64_t client[CLIENTS_MAX];
	size_t clients;
};

struct top_drm *top_drm_new(const char *root)
{
	struct top_drm *drm = calloc(1, sizeof(*drm));

	if (!drm) {
		fputs("npu-top: out of memory\n", stderr);
		exit(1);
	}
	snprintf(drm->root, sizeof(drm->root), "%s", root);
	return drm;
}

void top_drm_free(struct top_drm *drm)
{
	for (size_t i = 0; i < drm->cards; i++)
		npurt_close(drm->card[i].device);
	free(drm->seen);
	free(drm->seeing);
	free(drm);
}

/* ------------------------------------------------------------------------ cards */

/* The last part of where a link leads to. */
static bool link_name(const char *path, char *name, size_t bytes)
{
	char target[512];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *last;

	if (length < 0)
		return false;
	target[length] = 0;
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= bytes)
		return false;
	strcpy(name, last);
	return true;
}

/* The one in this place of the bus, or one that has had this name; else a new one. NULL: no room. */
static struct card *find_card(struct top_drm *drm, const char *name, const char *bus)
{
	size_t i;

	for (i = 0; i < drm->cards; i++) {
		if (!strcmp(drm->card[i].bus, bus))
			return &drm->card[i];
	}
	for (i = 0; i < drm->cards; i++) {
		if (!strcmp(drm->card[i].name, name))
			return &drm->card[i];
	}
	return drm->cards == CARDS_MAX ? NULL : &drm->card[drm->cards++];
}

static void see_card(struct top_drm *drm, const char *name)
{
	char path[512], driver[16], bus[sizeof(drm->card[0].bus)];
	struct card *card;

	snprintf(path, sizeof(path), "%s/sys/class/accel/%.31s/device/driver", drm->root, name);
	if (!link_name(path, driver, sizeof(driver)) || strcmp(driver, "npu"))
		return;
	snprintf(path, sizeof(path), "%s/sys/class/accel/%.31s/device", drm->root, name);
	if (!link_name(path, bus, sizeof(bus)))
		return;
	top_clean_text(bus, sizeof(bus));
	card = find_card(drm, name, bus);
	if (!card)
		return;
	/* One that comes back may have another number. */
	if (strcmp(card->name, name) || strcmp(card->bus, bus)) {
		npurt_close(card->device);
		memset(card, 0, sizeof(*card));
		snprintf(card->name, sizeof(card->name), "%s", name);
		memcpy(card->bus, bus, sizeof(card->bus));
	}
	card->there = true;
	*card->gone_since = 0;
}

static void see_cards(struct top_drm *drm)
{
	char path[512];
	struct dirent *entry;
	DIR *folder;

	for (size_t i = 0; i < drm->cards; i++)
		drm->card[i].there = false;
	snprintf(path, sizeof(path), "%s/sys/class/accel", drm->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (!strncmp(entry->d_name, "accel", 5) &&
		    strlen(entry->d_name) < sizeof(drm->card[0].name))
			see_card(drm, entry->d_name);
	}
	if (folder)
		closedir(folder);
}

static void set_trouble(struct top_device *device, int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		device->state = TOP_DENIED;
		break;
	case -ENOENT:
		device->state = TOP_GONE;
		break;
	default:
		device->state = TOP_WEDGED;
	}
	device->error = error;
	snprintf(device->trouble, sizeof(device->trouble), "%s", npurt_last_error());
}

static void take_info(struct top_device *device, struct npurt_device *from)
{
	struct npurt_device_info info = { .size = sizeof(info) };

	if (npurt_device_get_info(from, &info))
		return;
	memcpy(device->config, info.config, sizeof(device->config));
	memcpy(device->driver, info.driver, sizeof(device->driver));
	memcpy(device->firmware, info.firmware_version, sizeof(device->firmware));
	top_clean_text(device->config, sizeof(device->config));
	top_clean_text(device->driver, sizeof(device->driver));
	top_clean_text(device->firmware, sizeof(device->firmware));
	device->clusters = info.clusters;
	device->dma_channels = info.dma_channels;
	device->clock_hz = info.clock_hz;
}

static int take_counters(struct top_device *device, struct npurt_device *from, int64_t now)
{
	struct npurt_device_counters counters = { .size = sizeof(counters) };
	int ret = npurt_device_get_counters(from, &counters);

	if (ret)
		return ret;
	device->has_counters = true;
	device->counters_ns = now;
	device->time_cycles = counters.time_cycles;
	device->tasks = counters.tasks;
	device->mac_cycles = counters.mac_cycles;
	device->vector_cycles = counters.vector_cycles;
	device->dma_cycles = counters.dma_cycles;
	device->dram_read_bytes = counters.dram_read_bytes;
	device->dram_write_bytes = counters.dram_write_bytes;
	device->tlb_misses = counters.tlb_misses;
	return 0;
}

static void gone(struct card *card, struct top_device *device)
{
	struct tm now;
	time_t seconds = time(NULL);

	if (!*card->gone_since && localtime_r(&seconds, &now))
		strftime(card->gone_since, sizeof(card->gone_since), "%H:%M:%S", &now);
	device->state = TOP_GONE;
	device->error = -ENODEV;
	snprintf(device->trouble, sizeof(device->trouble),
		 "it has gone (noticed at %s): unplugged, or without its driver: put it in, or bind "
		 "its driver ('modprobe npu', then 'dmesg'); processes that use it get ENODEV",
		 card->gone_since);
}

/* What is open keeps its driver from being unloaded. */
static void let_go(struct card *card)
{
	npurt_close(card->device);
	card->device = NULL;
}

static int ask(struct card *card, struct top_device *device, int64_t now)
{
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/dev/accel/%s", card->name);
	if (!card->device) {
		ret = npurt_open(path, &card->device);
		if (ret)
			return ret;
	}
	take_info(device, card->device);
	return take_counters(device, card->device, now);
}

static void add_card(struct top_drm *drm, struct card *card, struct top_sample *sample)
{
	struct top_device *device = top_add_device(sample);
	int ret;

	snprintf(device->name, sizeof(device->name), "%s", card->name);
	memcpy(device->bus, card->bus, sizeof(device->bus));
	if (!card->there) {
		gone(card, device);
		let_go(card);
		return;
	}
	if (!top_driver_says_read(device, drm->root)) {
		let_go(card);
		return;
	}
	ret = ask(card, device, sample->monotonic_ns);
	/* It went while it was asked: the same matter as when it is not seen any more. */
	if (ret == -ENODEV)
		gone(card, device);
	else if (ret)
		set_trouble(device, ret);
	if (ret)
		let_go(card);
}

/* -------------------------------------------------------------------- processes */

static bool is_known_client(struct top_drm *drm, uint64_t client)
{
	for (size_t i = 0; i < drm->clients; i++) {
		if (drm->client[i] == client)
			return true;
	}
	if (drm->clients < CLIENTS_MAX)
		drm->client[drm->clients++] = client;
	return false;
}

static size_t device_on(const struct top_sample *sample, const char *bus)
{
	for (size_t i = 0; i < sample->devices; i++) {
		if (*bus && !strcmp(sample->device[i].bus, bus))
			return i;
	}
	return TOP_NO_ROW;
}

static void add_client(struct top_drm *drm, struct top_sample *sample, pid_t pid,
		       const struct top_fdinfo *info)
{
	size_t device = device_on(sample, info->bus), index;
	struct top_process *process;

	if (device == TOP_NO_ROW || is_known_client(drm, info->client))
		return;
	index = top_find_process(sample, device, pid);
	if (index == TOP_NO_ROW) {
		process = top_add_process(sample, device, pid);
		if (!top_name_process(process))
			snprintf(process->command, sizeof(process->command), "?");
	} else {
		process = &sample->process[index];
	}
	process->has_engines = true;
	process->mac_cycles += info->mac_cycles;
	process->vector_cycles += info->vector_cycles;
	process->dma_cycles += info->dma_cycles;
	process->memory_bytes += info->resident_bytes;
	process->tasks += info->tasks;
	process->contexts += info->contexts;
	process->queues += info->queues;
}

static void look_at_file(struct top_drm *drm, struct top_sample *sample, int proc, pid_t pid,
			 const char *number)
{
	char path[64], text[FDINFO_BYTES];
	struct top_fdinfo info;
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "%d/fdinfo/%.16s", (int)pid, number);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (bytes <= 0)
		return;
	text[bytes] = 0;
	top_fdinfo_parse(text, &info);
	if (info.is_npu)
		add_client(drm, sample, pid, &info);
}

/* Returns whether it has a card open. */
static bool look_at_process(struct top_drm *drm, struct top_sample *sample, int proc, pid_t pid)
{
	static const char node[] = "/dev/accel/accel";
	char path[32], target[64];
	struct dirent *entry;
	bool has_open = false;
	DIR *folder;
	int fd;

	snprintf(path, sizeof(path), "%d/fd", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		drm->unreadable += errno == EACCES || errno == EPERM;
		if (fd >= 0)
			close(fd);
		return false;
	}
	drm->clients = 0;
	while ((entry = readdir(folder))) {
		ssize_t length = readlinkat(fd, entry->d_name, target, sizeof(target));

		if (length < (ssize_t)strlen(node) || memcmp(target, node, strlen(node)))
			continue;
		has_open = true;
		look_at_file(drm, sample, proc, pid, entry->d_name);
	}
	closedir(folder);
	return has_open;
}

static const struct seen *seen_before(const struct top_drm *drm, pid_t pid)
{
	size_t low = 0, high = drm->seen_count;

	/* /proc lists processes in ascending order. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (drm->seen[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < drm->seen_count && drm->seen[low].pid == pid ? &drm->seen[low] : NULL;
}

static void remember(struct top_drm *drm, pid_t pid, bool has_open)
{
	if (drm->seeing_count == drm->seeing_room) {
		size_t room = drm->seeing_room ? drm->seeing_room * 2 : 256;
		struct seen *more = realloc(drm->seeing, room * sizeof(*more));

		if (!more)
			return;
		drm->seeing = more;
		drm->seeing_room = room;
	}
	drm->seeing[drm->seeing_count++] = (struct seen){ pid, has_open };
}

static void look_at_processes(struct top_drm *drm, struct top_sample *sample)
{
	char path[300];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc", drm->root);
	folder = opendir(path);
	if (!folder)
		return;
	drm->seeing_count = 0;
	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		const struct seen *before;
		bool has_open = false;

		if (pid <= 0 || pid == getpid())
			continue;
		before = seen_before(drm, pid);
		if (!before || before->has_open ||
		    ((unsigned int)pid + drm->turn) % SECOND_LOOK == 0)
			has_open = look_at_process(drm, sample, dirfd(folder), pid);
		remember(drm, pid, has_open);
	}
	closedir(folder);
	free(drm->seen);
	drm->seen = drm->seeing;
	drm->seen_count = drm->seeing_count;
	drm->seeing = NULL;
	drm->seeing_room = 0;
}

void top_drm_collect(struct top_drm *drm, struct top_sample *sample)
{
	see_cards(drm);
	for (size_t i = 0; i < drm->cards; i++)
		add_card(drm, &drm->card[i], sample);
	if (!drm->cards)
		return;
	drm->turn++;
	look_at_processes(drm, sample);
	if (drm->unreadable)
		top_add_note(sample,
			     "processes of other users are not seen: only root may look into them");
}
