// SPDX-License-Identifier: MIT
/* Mapped files: the model and the external data beside it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx.h"

#define MAX_FILES 256

struct mapped_file {
	char *path; /* resolved; NULL for the model itself */
	uint8_t *data;
	size_t size;
};

struct onnx_files {
	char *folder; /* resolved folder of the model, without a slash at its end */
	struct mapped_file files[MAX_FILES];
	uint32_t count;
};

static int map_file(const char *path, const char *shown, struct diag *diag,
		    struct mapped_file *file)
{
	struct stat status;
	int result = -1;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return diag_error(diag, "cannot open '%s': %s", shown, strerror(errno));
	if (fstat(fd, &status)) {
		diag_error(diag, "cannot examine '%s': %s", shown, strerror(errno));
		goto out;
	}
	if (!S_ISREG(status.st_mode)) {
		diag_error(diag, "'%s' is not a regular file; give a file", shown);
		goto out;
	}
	file->size = (size_t)status.st_size;
	file->data = NULL;
	if (file->size) {
		void *data = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (data == MAP_FAILED) {
			diag_error(diag, "cannot map '%s' into memory: %s", shown, strerror(errno));
			goto out;
		}
		file->data = data;
	}
	result = 0;
out:
	close(fd);
	return result;
}

/* The folder the path names: a model that is a link is looked for where the link is. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder, *resolved;

	if (!slash)
		return realpath(".", NULL);
	folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!folder)
		return NULL;
	resolved = realpath(folder, NULL);
	free(folder);
	if (resolved && !strcmp(resolved, "/"))
		resolved[0] = 0;
	return resolved;
}

struct onnx_files *onnx_files_open(const char *path, struct diag *diag)
{
	struct onnx_files *files = calloc(1, sizeof(*files));

	if (!files) {
		diag_error(diag, "not enough memory to open '%s'", path);
		return NULL;
	}
	if (map_file(path, path, diag, &files->files[0]))
		goto fail;
	files->count = 1;
	if (!files->files[0].size) {
		diag_error(diag, "'%s' is empty; give an ONNX model", path);
		goto fail;
	}
	files->folder = folder_of(path);
	if (!files->folder) {
		diag_error(diag, "cannot resolve the path '%s': %s", path, strerror(errno));
		goto fail;
	}
	return files;
fail:
	onnx_files_close(files);
	return NULL;
}

void onnx_files_close(struct onnx_files *files)
{
	uint32_t i;

	if (!files)
		return;
	for (i = 0; i < files->count; i++) {
		if (files->files[i].data)
			munmap(files->files[i].data, files->files[i].size);
		free(files->files[i].path);
	}
	free(files->folder);
	free(files);
}

bool onnx_files_get(const struct onnx_files *files, uint32_t index, struct wire_bytes *bytes)
{
	if (index >= files->count)
		return false;
	bytes->data = files->files[index].data;
	bytes->size = files->files[index].size;
	return true;
}

/* Lexical check; what symbolic links do is checked on the resolved path. */
static const char *location_problem(const char *location, size_t size)
{
	const char *part = location;

	if (!size)
		return "is empty";
	if (strlen(location) != size)
		return "contains a NUL byte";
	if (size > 4096)
		return "is longer than 4096 bytes";
	if (location[0] == '/')
		return "is an absolute path";
	while (part) {
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return "leads out of the model's folder";
		part = strchr(part, '/');
		if (part)
			part++;
	}
	return NULL;
}

static struct mapped_file *find_file(struct onnx_files *files, const char *path)
{
	uint32_t i;

	for (i = 1; i < files->count; i++)
		if (!strcmp(files->files[i].path, path))
			return &files->files[i];
	return NULL;
}

static int open_external(struct onnx_files *files, char *location, const char *tensor_name,
			 struct diag *diag, struct mapped_file **found)
{
	size_t folder_length = strlen(files->folder);
	char *joined = NULL, *resolved = NULL;
	struct mapped_file *file;
	int result = -1;

	joined = malloc(folder_length + strlen(location) + 2);
	if (!joined) {
		diag_error(diag, "not enough memory to open external data '%s'", location);
		goto out;
	}
	strcpy(joined, files->folder);
	joined[folder_length] = '/';
	strcpy(joined + folder_length + 1, location);
	resolved = realpath(joined, NULL);
	if (!resolved) {
		diag_error(diag,
			   "external data '%s' of tensor '%s' cannot be found: %s; keep the "
			   "file beside the model",
			   location, tensor_name, strerror(errno));
		goto out;
	}
	if (strncmp(resolved, files->folder, folder_length) || resolved[folder_length] != '/') {
		diag_error(diag,
			   "external data '%s' of tensor '%s' is a link out of the model's "
			   "folder, which is refused; copy the file beside the model",
			   location, tensor_name);
		goto out;
	}
	file = find_file(files, resolved);
	if (!file) {
		if (files->count == MAX_FILES) {
			diag_error(diag,
				   "the model names more than %d external files; store its "
				   "tensors in fewer",
				   MAX_FILES - 1);
			goto out;
		}
		file = &files->files[files->count];
		if (map_file(resolved, location, diag, file))
			goto out;
		file->path = resolved;
		resolved = NULL;
		files->count++;
	}
	*found = file;
	result = 0;
out:
	free(joined);
	free(resolved);
	return result;
}

int onnx_files_external(struct onnx_files *files, struct wire_bytes location,
			const char *tensor_name, struct diag *diag, struct wire_bytes *bytes)
{
	struct mapped_file *file = NULL;
	const char *problem;
	char *text;
	int result;

	text = strndup(location.data ? (const char *)location.data : "", location.size);
	if (!text)
		return diag_error(diag, "not enough memory to open external data");
	/* strndup() stops at a NUL; the problem is told by the lengths differing. */
	problem = location_problem(text, location.size);
	if (problem) {
		result = diag_error(diag,
				    "external data '%s' of tensor '%s' %s, which is refused; "
				    "name a file inside the model's folder",
				    text, tensor_name, problem);
		goto out;
	}
	result = open_external(files, text, tensor_name, diag, &file);
	if (result)
		goto out;
	bytes->data = file->data;
	bytes->size = file->size;
out:
	free(text);
	return result;
}
