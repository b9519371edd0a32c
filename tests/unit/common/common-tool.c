/* SPDX-License-Identifier: MIT */
/*
 * The loaders of tools/common as a program, for tests that know the expected values from elsewhere.
 * Exit status 0, 1 with a sentence on stderr, 2 when called in another way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "image.h"
#include "npy.h"

static int fail(const char *error)
{
	fprintf(stderr, "%s\n", error);
	return 1;
}

/* Prints type and shape, writes the elements. */
static int read_npy(const char *from, const char *to)
{
	char error[TENSOR_ERROR_BYTES], shape[TENSOR_SHAPE_TEXT];
	struct tensor tensor;
	size_t size;
	void *data = file_read(from, 1 << 24, &size, error, sizeof(error));
	int status;

	if (!data)
		return fail(error);
	status = npy_parse(data, size, &tensor, error);
	free(data);
	if (status)
		return fail(error);
	printf("%s %s\n", tensor_type_name(tensor.type),
	       tensor_shape_text(tensor.rank, tensor.dims, shape));
	status = file_write(to, tensor.data, tensor.bytes, error, sizeof(error)) ? fail(error) : 0;
	tensor_free(&tensor);
	return status;
}

static int copy_npy(const char *from, const char *to)
{
	char error[TENSOR_ERROR_BYTES];
	struct tensor tensor;
	size_t size;
	void *data = file_read(from, 1 << 24, &size, error, sizeof(error));
	int status;

	if (!data)
		return fail(error);
	status = npy_parse(data, size, &tensor, error);
	free(data);
	if (status)
		return fail(error);
	status = npy_write(to, &tensor, error) ? fail(error) : 0;
	tensor_free(&tensor);
	return status;
}

/* Prints the size, writes the pixels; scaled when a size is given. */
static int read_image(const char *from, const char *to, const char *width, const char *height)
{
	char error[IMAGE_ERROR_BYTES];
	struct image image, scaled = { 0 };
	const struct image *result = &image;
	int status = 1;

	if (image_load(from, &image, error))
		return fail(error);
	if (width) {
		if (image_resize(&image, (uint32_t)atoi(width), (uint32_t)atoi(height), &scaled,
				 error)) {
			fail(error);
			goto out;
		}
		result = &scaled;
	}
	printf("%u %u\n", result->width, result->height);
	status = file_write(to, result->rgb, (size_t)result->width * result->height * 3, error,
			    sizeof(error)) ?
			 fail(error) :
			 0;
out:
	image_free(&scaled);
	image_free(&image);
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "read-npy"))
		return read_npy(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "copy-npy"))
		return copy_npy(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "image"))
		return read_image(argv[2], argv[3], NULL, NULL);
	if (argc == 6 && !strcmp(argv[1], "resize"))
		return read_image(argv[2], argv[3], argv[4], argv[5]);
	fputs("usage: common-tool read-npy|copy-npy|image FROM TO, resize FROM TO WIDTH HEIGHT\n",
	      stderr);
	return 2;
}
