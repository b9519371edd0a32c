// SPDX-License-Identifier: MIT
#include "model_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npurt.h"

/* The loader has found the headers and the table of names inside the file. */
static int read_names(const struct npurt_source *source, const Elf64_Ehdr *header,
		      Elf64_Shdr *names)
{
	uint64_t index = le16toh(header->e_shstrndx);

	return source->read(source, le64toh(header->e_shoff) + index * sizeof(*names), names,
			    sizeof(*names));
}

static int read_name(const struct npurt_source *source, const Elf64_Shdr *names, uint32_t at,
		     char name[SECTION_NAME_BYTES])
{
	uint64_t bytes = le64toh(names->sh_size);
	size_t room = SECTION_NAME_BYTES - 1;
	int result;

	name[0] = 0;
	if (at >= bytes)
		return 0;
	if (room > bytes - at)
		room = (size_t)(bytes - at);
	result = source->read(source, le64toh(names->sh_offset) + at, name, room);
	name[room] = 0;
	for (size_t i = 0; name[i]; i++)
		if ((unsigned char)name[i] < 0x20 || (unsigned char)name[i] >= 0x7f)
			name[i] = '?';
	return result;
}

static int read_sections(struct model_file *model, const struct npurt_source *source)
{
	Elf64_Shdr raw, names;
	Elf64_Ehdr header;
	uint32_t count;
	int result;

	result = source->read(source, 0, &header, sizeof(header));
	if (!result)
		result = read_names(source, &header, &names);
	if (result)
		return result;
	count = le16toh(header.e_shnum);
	model->sections = calloc(count ? count : 1, sizeof(*model->sections));
	if (!model->sections)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !result; i++) {
		struct section *section = &model->sections[model->section_count];

		result = source->read(source, le64toh(header.e_shoff) + i * sizeof(raw), &raw,
				      sizeof(raw));
		if (result || le32toh(raw.sh_type) == SHT_NULL)
			continue;
		section->type = le32toh(raw.sh_type);
		section->flags = le64toh(raw.sh_flags);
		section->offset = le64toh(raw.sh_offset);
		section->bytes = le64toh(raw.sh_size);
		section->align = le64toh(raw.sh_addralign);
		result = read_name(source, &names, le32toh(raw.sh_name), section->name);
		model->section_count++;
	}
	return result;
}

static int read_program(struct model_file *model, const struct npurt_source *source)
{
	const struct npurt_image_part *text = &model->image.text;

	model->program_bytes = le32toh(model->image.program.bytes);
	model->program = malloc((size_t)model->program_bytes);
	if (!model->program)
		return -ENOMEM;
	return source->read(source, text->offset, model->program, (size_t)model->program_bytes);
}

static int compare_streams(const void *a, const void *b)
{
	const struct stream *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* What fills the space to the next stream is not shown: zeros behind an END. */
static void drop_padding(const struct model_file *model, struct stream *stream)
{
	static const uint8_t zeros[NPU_INSN_BYTES];
	const uint8_t *code = model->program + stream->offset;
	uint64_t bytes = stream->bytes - stream->bytes % NPU_INSN_BYTES;

	while (bytes && !memcmp(code + bytes - NPU_INSN_BYTES, zeros, NPU_INSN_BYTES))
		bytes -= NPU_INSN_BYTES;
	if (bytes && code[bytes - NPU_INSN_BYTES] == NPU_OP_END)
		stream->bytes = bytes;
}

/* The end of the last stream, which is at @last: behind it there may be the tables of points. */
static uint64_t code_end(const struct model_file *model, uint64_t last)
{
	const struct npurt_image *image = &model->image;

	for (size_t i = 0; i < image->symbol_count; i++)
		if (!strcmp(image->symbols[i].name, NPU_POINTS_SYMBOL) &&
		    image->symbols[i].offset > last && image->symbols[i].offset < model->program_bytes)
			return image->symbols[i].offset;
	return model->program_bytes;
}

/* Clusters that start at the same place share a stream. */
static void find_streams(struct model_file *model)
{
	const struct npu_program_header *header = &model->image.program;
	struct stream *streams = model->streams;
	uint32_t count = header->clusters, kept = 0;

	for (uint32_t i = 0; i < count; i++)
		streams[i] = (struct stream){
			.offset = le32toh(header->entry[i]),
			.clusters = 1u << i,
		};
	qsort(streams, count, sizeof(*streams), compare_streams);
	for (uint32_t i = 1; i < count; i++) {
		if (streams[i].offset == streams[kept].offset)
			streams[kept].clusters |= streams[i].clusters;
		else
			streams[++kept] = streams[i];
	}
	model->stream_count = kept + 1;
	for (uint32_t i = 0; i <= kept; i++) {
		streams[i].bytes = (i == kept ? code_end(model, streams[i].offset) :
					       streams[i + 1].offset) -
				   streams[i].offset;
		drop_padding(model, &streams[i]);
	}
}

int model_file_read(struct model_file *model, const char *path, const struct npurt_source *source,
		    char error[MODEL_ERROR_BYTES])
{
	int result;

	*model = (struct model_file){ .path = path };
	result = npurt_image_read(&model->image, source, NULL);
	if (!result)
		result = read_sections(model, source);
	if (!result)
		result = read_program(model, source);
	if (result == -ENOMEM) {
		snprintf(error, MODEL_ERROR_BYTES, "%.256s: no memory to read the model", path);
		return -1;
	}
	if (result) {
		snprintf(error, MODEL_ERROR_BYTES, "%.256s: %.700s", path, npurt_last_error());
		return -1;
	}
	find_streams(model);
	return 0;
}

int model_file_open(struct model_file *model, const char *path, char error[MODEL_ERROR_BYTES])
{
	struct npurt_source source;
	int result = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*model = (struct model_file){ .path = path };
	if (fd < 0) {
		snprintf(error, MODEL_ERROR_BYTES, "%.256s: cannot be opened: %s", path,
			 strerror(errno));
		return -1;
	}
	if (npurt_source_fd(&source, fd))
		snprintf(error, MODEL_ERROR_BYTES, "%.256s: is no regular file", path);
	else
		result = model_file_read(model, path, &source, error);
	close(fd);
	return result;
}

void model_file_release(struct model_file *model)
{
	npurt_image_release(&model->image);
	free(model->sections);
	free(model->program);
	memset(model, 0, sizeof(*model));
}
