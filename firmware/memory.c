// SPDX-License-Identifier: MIT
/*
 * The two functions the compiler may call on its own.
 */
#include "types.h"

void *memcpy(void *destination, const void *source, size_t size);
void *memset(void *destination, int value, size_t size);

/* `size` turns. */
void *memcpy(void *destination, const void *source, size_t size)
{
	const u8 *from = source;
	u8 *to = destination;

	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
	return destination;
}

/* `size` turns. */
void *memset(void *destination, int value, size_t size)
{
	u8 *to = destination;

	for (size_t i = 0; i < size; i++)
		to[i] = (u8)value;
	return destination;
}
