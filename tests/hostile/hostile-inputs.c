// SPDX-License-Identifier: MIT
/* Damaged .npy, .pb, .png and .jpg files as inputs of npu-run, read by its own loader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "input.h"

/* The seeds of every format have this shape, or are images scaled to it. */
static const struct npurt_tensor_info tensor_info = {
	.name = "x",
	.host_type = NPURT_HOST_FLOAT,
	.device_type = NPURT_DEVICE_FP16,
	.rank = 4,
	.dims = { 1, 3, 4, 5, 1, 1, 1, 1 },
	.scale = 1,
	.elements = 60,
	.host_bytes = 240,
	.device_bytes = 120,
};

static int read_input(const char *path, const uint8_t *data, size_t size, char *error,
		      size_t error_bytes)
{
	const struct options options = { .scale = { 1, 1, 1 } };
	char reason[TENSOR_ERROR_BYTES] = "";
	struct tensor tensor;
	double sum = 0;

	(void)data;
	(void)size;
	if (input_load(path, &tensor_info, &options, &tensor, reason)) {
		snprintf(error, error_bytes, "%s", reason);
		return -1;
	}
	/* Every element is there. */
	for (uint64_t i = 0; i < tensor.elements; i++)
		sum += tensor_element(&tensor, i);
	if (tensor.elements != tensor_info.elements || tensor.type != NPURT_HOST_FLOAT)
		printf("not ok - %g of another shape or type was taken\n", sum);
	tensor_free(&tensor);
	return 0;
}

/* A header of text is worth more than elements. */
static size_t first_bytes(const uint8_t *data, size_t size, struct hot_part *parts, size_t capacity)
{
	(void)data;
	(void)capacity;
	parts[0] = (struct hot_part){ 0, size < 140 ? size : 140 };
	return 1;
}

static size_t jpeg_header(const uint8_t *data, size_t size, struct hot_part *parts, size_t capacity)
{
	size_t at = 0;

	(void)capacity;
	/* Up to the start of the first scan; the tables before it are long. */
	while (at + 1 < size && !(data[at] == 0xff && data[at + 1] == 0xda))
		at++;
	parts[0] = (struct hot_part){ 0, at };
	return 1;
}

static const struct hostile_format formats[] = {
	{ .name = "npy", .hot_parts = first_bytes, .read = read_input },
	{ .name = "pb", .read = read_input },
	{ .name = "png", .repair = png_repair, .read = read_input },
	{ .name = "jpg", .hot_parts = jpeg_header, .read = read_input },
};

int main(int argc, char **argv)
{
	if (argc >= 5)
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
			if (!strcmp(argv[1], formats[i].name))
				return hostile_run(&formats[i], strtoul(argv[2], NULL, 10), argv[3],
						   argv + 4, argc - 4);
	fputs("usage: hostile-inputs npy|pb|png|jpg COUNT WORK.SUFFIX FILE...\n", stderr);
	return 2;
}
