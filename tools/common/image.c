/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h wants stdio.h first. */
#include <jpeglib.h>

#include "file.h"

#define IMAGE_SIDE_MAX 16384u
#define IMAGE_PIXELS_MAX 100000000u
#define IMAGE_FILE_MAX (256u << 20)

static int check_size(uint32_t width, uint32_t height, char *error)
{
	if (width && height && width <= IMAGE_SIDE_MAX && height <= IMAGE_SIDE_MAX &&
	    (uint64_t)width * height <= IMAGE_PIXELS_MAX)
		return 0;
	snprintf(error, IMAGE_ERROR_BYTES,
		 "the image has %u x %u pixels; 1 to %u a side and %u in all are handled", width,
		 height, IMAGE_SIDE_MAX, IMAGE_PIXELS_MAX);
	return -1;
}

static int alloc_pixels(struct image *image, uint32_t width, uint32_t height, char *error)
{
	if (check_size(width, height, error))
		return -1;
	image->rgb = malloc((size_t)width * height * 3);
	if (!image->rgb) {
		snprintf(error, IMAGE_ERROR_BYTES, "no memory for an image of %u x %u", width, height);
		return -1;
	}
	image->width = width;
	image->height = height;
	return 0;
}

static int decode_png(const void *data, size_t size, struct image *image, char *error)
{
	png_color white = { 255, 255, 255 };
	png_image png;

	memset(&png, 0, sizeof(png));
	png.version = PNG_IMAGE_VERSION;
	if (!png_image_begin_read_from_memory(&png, data, size)) {
		snprintf(error, IMAGE_ERROR_BYTES, "the PNG is damaged: %s", png.message);
		return -1;
	}
	png.format = PNG_FORMAT_RGB;
	if (alloc_pixels(image, png.width, png.height, error)) {
		png_image_free(&png);
		return -1;
	}
	if (!png_image_finish_read(&png, &white, image->rgb, 0, NULL)) {
		snprintf(error, IMAGE_ERROR_BYTES, "the PNG is damaged: %s", png.message);
		image_free(image);
		return -1;
	}
	return 0;
}

/* libjpeg reports fatal errors by a call that must not return. */
struct jpeg_failure {
	struct jpeg_error_mgr manager;
	jmp_buf back;
	char text[JMSG_LENGTH_MAX];
};

static void jpeg_fail(j_common_ptr info)
{
	struct jpeg_failure *failure = (struct jpeg_failure *)info->err;

	info->err->format_message(info, failure->text);
	longjmp(failure->back, 1);
}

static void jpeg_quiet(j_common_ptr info)
{
	(void)info;
}

/* A progressive file may ask for far more scans than any encoder writes. */
#define JPEG_SCANS_MAX 200

static void jpeg_progress(j_common_ptr info)
{
	struct jpeg_failure *failure = (struct jpeg_failure *)info->err;

	if (!info->is_decompressor || ((j_decompress_ptr)info)->input_scan_number <= JPEG_SCANS_MAX)
		return;
	snprintf(failure->text, sizeof(failure->text), "it has more than %d scans", JPEG_SCANS_MAX);
	longjmp(failure->back, 1);
}

static int decode_jpeg(const void *data, size_t size, struct image *image, char *error)
{
	struct jpeg_progress_mgr progress = { .progress_monitor = jpeg_progress };
	struct jpeg_decompress_struct info;
	struct jpeg_failure failure;

	info.err = jpeg_std_error(&failure.manager);
	failure.manager.error_exit = jpeg_fail;
	failure.manager.output_message = jpeg_quiet;
	jpeg_create_decompress(&info);
	if (setjmp(failure.back)) {
		snprintf(error, IMAGE_ERROR_BYTES, "the JPEG is damaged: %s", failure.text);
		goto fail;
	}
	info.progress = &progress;
	jpeg_mem_src(&info, data, size);
	jpeg_read_header(&info, TRUE);
	if (check_size(info.image_width, info.image_height, error))
		goto fail;
	info.out_color_space = JCS_RGB;
	jpeg_start_decompress(&info);
	if (info.output_components != 3) {
		snprintf(error, IMAGE_ERROR_BYTES, "the JPEG's colours cannot be made RGB");
		goto fail;
	}
	if (alloc_pixels(image, info.output_width, info.output_height, error))
		goto fail;
	while (info.output_scanline < info.output_height) {
		JSAMPROW row = image->rgb + (size_t)info.output_scanline * image->width * 3;

		jpeg_read_scanlines(&info, &row, 1);
	}
	jpeg_finish_decompress(&info);
	jpeg_destroy_decompress(&info);
	return 0;
fail:
	jpeg_destroy_decompress(&info);
	image_free(image);
	return -1;
}

int image_decode(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_BYTES])
{
	static const uint8_t png[4] = { 0x89, 'P', 'N', 'G' }, jpeg[2] = { 0xff, 0xd8 };

	memset(image, 0, sizeof(*image));
	if (size > sizeof(png) && !memcmp(data, png, sizeof(png)))
		return decode_png(data, size, image, error);
	if (size > sizeof(jpeg) && !memcmp(data, jpeg, sizeof(jpeg)))
		return decode_jpeg(data, size, image, error);
	snprintf(error, IMAGE_ERROR_BYTES, "is neither a PNG nor a JPEG image");
	return -1;
}

int image_load(const char *path, struct image *image, char error[IMAGE_ERROR_BYTES])
{
	char reason[IMAGE_ERROR_BYTES];
	size_t size;
	void *data = file_read(path, IMAGE_FILE_MAX, &size, error, IMAGE_ERROR_BYTES);
	int result;

	memset(image, 0, sizeof(*image));
	if (!data)
		return -1;
	result = image_decode(data, size, image, reason);
	if (result)
		snprintf(error, IMAGE_ERROR_BYTES, "%.128s: %.350s", path, reason);
	free(data);
	return result;
}

void image_free(struct image *image)
{
	free(image->rgb);
	memset(image, 0, sizeof(*image));
}

static uint32_t clamp_index(long index, uint32_t size)
{
	if (index < 0)
		return 0;
	return index < (long)size ? (uint32_t)index : size - 1;
}

/* One output coordinate's two neighbours and the weight of the second. */
static void neighbours(uint32_t at, uint32_t from, uint32_t to, uint32_t *low, uint32_t *high,
		       float *weight)
{
	double position = (at + 0.5) * from / to - 0.5;
	long floor_of = (long)floor(position);

	*weight = (float)(position - (double)floor_of);
	*low = clamp_index(floor_of, from);
	*high = clamp_index(floor_of + 1, from);
}

int image_resize(const struct image *from, uint32_t width, uint32_t height, struct image *image,
		 char error[IMAGE_ERROR_BYTES])
{
	memset(image, 0, sizeof(*image));
	if (alloc_pixels(image, width, height, error))
		return -1;
	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *rows[2];
		uint32_t y0, y1;
		float fy;

		neighbours(y, from->height, height, &y0, &y1, &fy);
		rows[0] = from->rgb + (size_t)y0 * from->width * 3;
		rows[1] = from->rgb + (size_t)y1 * from->width * 3;
		for (uint32_t x = 0; x < width; x++) {
			uint32_t x0, x1;
			float fx;

			neighbours(x, from->width, width, &x0, &x1, &fx);
			for (uint32_t c = 0; c < 3; c++) {
				float top = rows[0][x0 * 3 + c] * (1 - fx) + rows[0][x1 * 3 + c] * fx;
				float low = rows[1][x0 * 3 + c] * (1 - fx) + rows[1][x1 * 3 + c] * fx;

				image->rgb[((size_t)y * width + x) * 3 + c] =
					(uint8_t)lrintf(top * (1 - fy) + low * fy);
			}
		}
	}
	return 0;
}
