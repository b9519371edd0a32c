/* SPDX-License-Identifier: MIT */
/* Images: PNG and JPEG to 8-bit RGB. */
#ifndef NPU_COMMON_IMAGE_H
#define NPU_COMMON_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_ERROR_BYTES 512

struct image {
	uint32_t width, height;
	uint8_t *rgb; /* [height][width][3], owned */
};

/*
 * image_decode - decode the @size bytes of a PNG or JPEG file at @data (told apart by its first
 * bytes). Samples are taken as they stand in the file, scaled to 8 bits, without regard to gamma
 * and colour profiles; transparency is laid over white; CMYK is refused. At most 16384 x 16384 and
 * 100 million pixels. Returns 0, or -1 with a sentence in @error. image_free() frees it.
 */
int image_decode(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_BYTES]);

/* image_load - the same for a file; the sentence names it. */
int image_load(const char *path, struct image *image, char error[IMAGE_ERROR_BYTES]);

void image_free(struct image *image);

/*
 * image_resize - @from scaled to @width x @height, bilinear with half-pixel centres and edges
 * repeated (the rule of OpenCV's INTER_LINEAR). Returns 0, or -1 with a sentence.
 */
int image_resize(const struct image *from, uint32_t width, uint32_t height, struct image *image,
		 char error[IMAGE_ERROR_BYTES]);

#endif
