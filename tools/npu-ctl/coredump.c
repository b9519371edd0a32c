// SPDX-License-Identifier: MIT
/* Finds the core dump of a card in /sys/class/devcoredump, or takes a file; explains it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "dump_print.h"
#include "file.h"

#define FOLDER "/sys/class/devcoredump"

/* Bytes of a file that may not know how many it has. NULL: errno says why. */
static void *read_all(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char *bytes = fd < 0 ? NULL : malloc(NPU_COREDUMP_BYTES_MAX + 1);
	size_t done = 0;
	ssize_t got = bytes ? 1 : -1;
	int error;

	while (got > 0 && done <= NPU_COREDUMP_BYTES_MAX) {
		got = read(fd, bytes + done, NPU_COREDUMP_BYTES_MAX + 1 - done);
		if (got > 0)
			done += (size_t)got;
		else if (got < 0 && errno == EINTR)
			got = 1;
	}
	error = done > NPU_COREDUMP_BYTES_MAX ? EFBIG : got < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	*size = done;
	if (!error)
		return bytes;
	free(bytes);
	errno = error;
	return NULL;
}

/* Whether a dump is of an NPU's, of the one that is meant if one is. */
static bool is_ours(const char *name, const char *device)
{
	char path[PATH_MAX], of[PATH_MAX], wanted[PATH_MAX];

	if (!device) {
		snprintf(path, sizeof(path), FOLDER "/%s/failing_device/driver", name);
		return realpath(path, of) && !strcmp(strrchr(of, '/'), "/npu");
	}
	snprintf(path, sizeof(path), FOLDER "/%s/failing_device", name);
	snprintf(wanted, sizeof(wanted), "/sys/class/accel/%.64s/device", device);
	return realpath(path, of) && realpath(wanted, path) && !strcmp(of, path);
}

/* The newest one: their numbers grow. */
static bool find(const char *device, char *path, size_t room)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	long newest = -1;

	while (folder && (entry = readdir(folder))) {
		long number = strncmp(entry->d_name, "devcd", 5) ? -1 :
								   strtol(entry->d_name + 5, NULL, 10);

		if (number <= newest || !is_ours(entry->d_name, device))
			continue;
		newest = number;
		snprintf(path, room, FOLDER "/%s/data", entry->d_name);
	}
	if (folder)
		closedir(folder);
	return newest >= 0;
}

/* accelN of --device; NULL: any. */
static const char *card(const struct arguments *arguments)
{
	const char *name = arguments->device;

	return name && !strncmp(name, "/dev/accel/", 11) ? name + 11 : name;
}

static int no_dump(const struct arguments *arguments)
{
	fprintf(stderr,
		"npu-ctl: coredump: the kernel has none of %s: one is made when a device fails, at "
		"most one in five minutes, and kept for five minutes ('dmesg' tells of it)\n",
		arguments->device ? arguments->device : "an NPU");
	return DEVICE_STATUS_NONE;
}

static int fail_to_read(const char *path, int error)
{
	const char *why = strerror(error);

	if (error == EACCES || error == EPERM)
		why = "core dumps are for root: run this as root";
	else if (error == EFBIG)
		why = "it is larger than any core dump of an NPU";
	fprintf(stderr, "npu-ctl: coredump: %s: %s\n", path, why);
	return error == ENOENT ? DEVICE_STATUS_FAILED : device_status(-error);
}

static int discard(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = fd < 0 || write(fd, "1", 1) != 1 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (!error)
		return 0;
	fprintf(stderr, "npu-ctl: coredump: %s cannot be discarded: %s\n", path, strerror(error));
	return device_status(-error);
}

static int explain(const struct arguments *arguments, const char *path, const void *bytes,
		   size_t size)
{
	struct dump *dump = malloc(sizeof(*dump));
	struct dump_model *model = NULL;
	char error[1024];
	int status = DEVICE_STATUS_FAILED;

	if (!dump || dump_read(dump, bytes, size, error)) {
		fprintf(stderr, "npu-ctl: coredump: %s: %s\n", path, dump ? error : "out of memory");
		goto free;
	}
	if (arguments->model) {
		model = dump_model_open(arguments->model, error, sizeof(error));
		if (!model) {
			fprintf(stderr, "npu-ctl: coredump: --model %s: %s\n", arguments->model,
				error);
			goto free;
		}
	}
	if (arguments->json)
		ctl_print_json(dump_json(dump, model));
	else
		dump_print_text(stdout, dump, model);
	status = 0;
free:
	dump_model_close(model);
	free(dump);
	return status;
}

static int keep(const struct arguments *arguments, const void *bytes, size_t size)
{
	char error[512];

	if (!file_write(arguments->output, bytes, size, error, sizeof(error)))
		return 0;
	fprintf(stderr, "npu-ctl: coredump: %s\n", error);
	return DEVICE_STATUS_FAILED;
}

int ctl_coredump(const struct arguments *arguments)
{
	const char *path = arguments->file;
	char found[PATH_MAX];
	size_t size;
	void *bytes;
	int status = 0;

	if (path && arguments->discard) {
		fputs("npu-ctl: coredump: --discard is of the kernel's own dump, not of a file\n",
		      stderr);
		return 2;
	}
	if (!path) {
		if (!find(card(arguments), found, sizeof(found)))
			return no_dump(arguments);
		path = found;
	}
	bytes = read_all(path, &size);
	if (!bytes)
		return fail_to_read(path, errno);
	/* What was asked to be kept is kept also when it cannot be explained. */
	if (arguments->output)
		status = keep(arguments, bytes, size);
	if (!status)
		status = explain(arguments, path, bytes, size);
	free(bytes);
	if (!status && arguments->discard)
		status = discard(path);
	return status;
}
