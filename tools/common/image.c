/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h wants stdio.h first. */
#include <jpeglib.h>
#include <jerror.h>

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
		snprintf(error, IMAGE_ERROR_BYTES, "no memory for an image of %u x %u", width,
			 height);
		return -1;
	}
	image->width = width;
	image->height = height;
	return 0;
}

/* libpng reports fatal errors by a call that must not return. */
struct png_failure {
	jmp_buf back;
	char text[128];
};

static void png_fail(png_structp png, png_const_charp text)
{
	struct png_failure *failure = png_get_error_ptr(png);

	snprintf(failure->text, sizeof(failure->text), "%s", text);
	longjmp(failure->back, 1);
}

static void png_quiet(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

struct png_bytes {
	const uint8_t *at;
	size_t left;
};

static void png_take(png_structp png, png_bytep to, size_t size)
{
	struct png_bytes *bytes = png_get_io_ptr(png);

	if (size > bytes->left)
		png_error(png, "it ends too early");
	memcpy(to, bytes->at, size);
	bytes->at += size;
	bytes->left -= size;
}

/*
 * Samples as they stand in the file, scaled to 8 bits: networks are trained on what image libraries
 * give them, and those leave gamma and colour profiles alone.
 */
static void png_to_rgb(png_structp png, png_infop info)
{
	png_set_expand(png);
	png_set_scale_16(png);
	png_set_gray_to_rgb(png);
	png_set_interlace_handling(png);
	png_read_update_info(png, info);
}

/* In place: a pixel is never written before it was read. */
static void lay_over_white(uint8_t *pixels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint8_t *from = pixels + 4 * i;
		unsigned int alpha = from[3];

		for (unsigned int c = 0; c < 3; c++)
			pixels[3 * i + c] =
				(uint8_t)((from[c] * alpha + 255 * (255 - alpha) + 127) / 255);
	}
}

/* Kept by the caller of the function that is jumped back to: there it is as it was left. */
struct png_work {
	struct png_bytes bytes;
	struct png_failure failure;
	png_structp png;
	png_infop info;
	uint8_t *pixels;
	png_bytepp rows;
};

static int png_read(struct png_work *work, struct image *image, char *error)
{
	size_t width, height, row_bytes;

	png_read_info(work->png, work->info);
	width = png_get_image_width(work->png, work->info);
	height = png_get_image_height(work->png, work->info);
	if (check_size((uint32_t)width, (uint32_t)height, error))
		return -1;
	png_to_rgb(work->png, work->info);
	row_bytes = png_get_rowbytes(work->png, work->info);
	work->pixels = malloc(row_bytes * height);
	work->rows = malloc(height * sizeof(*work->rows));
	if (!work->pixels || !work->rows) {
		snprintf(error, IMAGE_ERROR_BYTES, "no memory for an image of %zu x %zu", width,
			 height);
		return -1;
	}
	for (size_t y = 0; y < height; y++)
		work->rows[y] = work->pixels + y * row_bytes;
	png_read_image(work->png, work->rows);
	png_read_end(work->png, NULL);
	if (png_get_channels(work->png, work->info) == 4)
		lay_over_white(work->pixels, width * height);
	*image = (struct image){
		.width = (uint32_t)width,
		.height = (uint32_t)height,
		.rgb = work->pixels,
	};
	work->pixels = NULL;
	return 0;
}

static int png_guarded_read(struct png_work *work, struct image *image, char *error)
{
	if (setjmp(work->failure.back)) {
		snprintf(error, IMAGE_ERROR_BYTES, "the PNG is damaged: %s", work->failure.text);
		return -1;
	}
	work->png =
		png_create_read_struct(PNG_LIBPNG_VER_STRING, &work->failure, png_fail, png_quiet);
	work->info = work->png ? png_create_info_struct(work->png) : NULL;
	if (!work->info) {
		snprintf(error, IMAGE_ERROR_BYTES, "no memory to decode a PNG");
		return -1;
	}
	png_set_read_fn(work->png, &work->bytes, png_take);
	png_set_user_limits(work->png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
	return png_read(work, image, error);
}

static int decode_png(const void *data, size_t size, struct image *image, char *error)
{
	struct png_work work = { .bytes = { .at = data, .left = size } };
	int result = png_guarded_read(&work, image, error);

	png_destroy_read_struct(&work.png, &work.info, NULL);
	free(work.rows);
	free(work.pixels);
	return result;
}

/* libjpeg reports fatal errors by a call that must not return. */
struct jpeg_failure {
	struct jpeg_error_mgr manager;
	jmp_buf back;
	char text[JMSG_LENGTH_MAX];
	bool damaged; /* text is about missing or wrong data, which libjpeg fills with grey */
};

static void jpeg_fail(j_common_ptr info)
{
	struct jpeg_failure *failure = (struct jpeg_failure *)info->err;

	info->err->format_message(info, failure->text);
	longjmp(failure->back, 1);
}

static void jpeg_note(j_common_ptr info, int level)
{
	struct jpeg_failure *failure = (struct jpeg_failure *)info->err;
	int code = info->err->msg_code;

	if (level >= 0 || failure->damaged)
		return;
	if (code != JWRN_HIT_MARKER && code != JWRN_HUFF_BAD_CODE && code != JWRN_JPEG_EOF &&
	    code != JWRN_MUST_RESYNC)
		return;
	failure->damaged = true;
	info->err->format_message(info, failure->text);
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

/* As for PNG, what a jump back needs belongs to the caller. */
struct jpeg_work {
	struct jpeg_decompress_struct info;
	struct jpeg_progress_mgr progress;
	struct jpeg_failure failure;
};

static int jpeg_read(struct jpeg_work *work, const void *data, size_t size, struct image *image,
		     char *error)
{
	struct jpeg_decompress_struct *info = &work->info;

	jpeg_create_decompress(info);
	info->progress = &work->progress;
	jpeg_mem_src(info, data, size);
	jpeg_read_header(info, TRUE);
	if (check_size(info->image_width, info->image_height, error))
		return -1;
	info->out_color_space = JCS_RGB;
	jpeg_start_decompress(info);
	if (info->output_components != 3) {
		snprintf(error, IMAGE_ERROR_BYTES, "the JPEG's colours cannot be made RGB");
		return -1;
	}
	if (alloc_pixels(image, info->output_width, info->output_height, error))
		return -1;
	while (info->output_scanline < info->output_height) {
		JSAMPROW row = image->rgb + (size_t)info->output_scanline * image->width * 3;

		jpeg_read_scanlines(info, &row, 1);
	}
	jpeg_finish_decompress(info);
	if (!work->failure.damaged)
		return 0;
	snprintf(error, IMAGE_ERROR_BYTES, "the JPEG is damaged: %s", work->failure.text);
	return -1;
}

static int jpeg_guarded_read(struct jpeg_work *work, const void *data, size_t size,
			     struct image *image, char *error)
{
	work->info.err = jpeg_std_error(&work->failure.manager);
	work->failure.manager.error_exit = jpeg_fail;
	work->failure.manager.emit_message = jpeg_note;
	if (setjmp(work->failure.back)) {
		snprintf(error, IMAGE_ERROR_BYTES, "the JPEG cannot be decoded: %s",
			 work->failure.text);
		return -1;
	}
	return jpeg_read(work, data, size, image, error);
}

static int decode_jpeg(const void *data, size_t size, struct image *image, char *error)
{
	struct jpeg_work work = { .progress = { .progress_monitor = jpeg_progress } };
	int result = jpeg_guarded_read(&work, data, size, image, error);

	jpeg_destroy_decompress(&work.info);
	if (result)
		image_free(image);
	return result;
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
				float top =
					rows[0][x0 * 3 + c] * (1 - fx) + rows[0][x1 * 3 + c] * fx;
				float low =
					rows[1][x0 * 3 + c] * (1 - fx) + rows[1][x1 * 3 + c] * fx;

				image->rgb[((size_t)y * width + x) * 3 + c] =
					(uint8_t)lrintf(top * (1 - fy) + low * fy);
			}
		}
	}
	return 0;
}
