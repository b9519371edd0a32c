// SPDX-License-Identifier: MIT
/* Any bytes as a model file. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npurt_source source;
	struct npurt_image image;

	npurt_source_memory(&source, data, size);
	if (!npurt_image_read(&image, &source, NULL))
		npurt_image_symbol_at(&image, size);
	else if (!*npurt_last_error())
		abort();
	npurt_image_release(&image);
	return 0;
}
