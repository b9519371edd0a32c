// SPDX-License-Identifier: MIT
#include "dump_model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"

struct dump_model {
	struct npurt_image image;
};

struct dump_model *dump_model_open(const char *path, char *error, size_t room)
{
	struct dump_model *model = calloc(1, sizeof(*model));
	struct npurt_source source;
	int fd, ret;

	/* What is no regular file must not make us wait before that is seen. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!model || fd < 0) {
		snprintf(error, room, "%s", strerror(model ? errno : ENOMEM));
		free(model);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	ret = npurt_source_fd(&source, fd);
	if (ret)
		snprintf(error, room, "it is no regular file");
	else
		ret = npurt_image_read(&model->image, &source, NULL);
	if (ret && ret != -EINVAL)
		snprintf(error, room, "%s", npurt_last_error());
	close(fd);
	if (!ret)
		return model;
	dump_model_close(model);
	return NULL;
}

void dump_model_close(struct dump_model *model)
{
	if (!model)
		return;
	npurt_image_release(&model->image);
	free(model);
}

const char *dump_model_name(const struct dump_model *model)
{
	return model->image.name;
}

const char *dump_model_layer(const struct dump_model *model, uint64_t offset)
{
	/* A hostile dump may tell any. */
	if (offset >= model->image.program.bytes)
		return NULL;
	return npurt_image_symbol_at(&model->image, offset);
}
