/* SPDX-License-Identifier: MIT */
/*
 * The .rodata image of a model under construction: weights, parameters, tables.
 * Equal content of equal alignment is stored once. Not thread safe.
 */
#ifndef NPUCC_LOWER_RODATA_H
#define NPUCC_LOWER_RODATA_H

#include <stddef.h>
#include <stdint.h>

struct rodata;

/* rodata_new, rodata_free - NULL when out of memory; rodata_free(NULL) is fine. */
struct rodata *rodata_new(void);
void rodata_free(struct rodata *rodata);

/*
 * rodata_add - append @size bytes aligned to @align (a power of two), or find them.
 * Returns their offset, or -1 when memory ran out or the image would pass 1 TiB.
 */
int64_t rodata_add(struct rodata *rodata, const void *bytes, size_t size, uint32_t align);

/* rodata_take - the image, now the caller's to free(); @rodata is empty after. */
void *rodata_take(struct rodata *rodata, size_t *size);

#endif
