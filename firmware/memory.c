// SPDX-License-Identifier: MIT
/*
 * The two functions the compiler may call on its own. By words where that is possible: here it
 * always is, since only whole structures are copied and cleared.
 */
#include "types.h"

void *memcpy(void *destination, const void *source, size_t size);
void *memset(void *destination, int value, size_t size);

/* May alias anything, as the bytes it stands for. */
typedef u32 __attribute__((may_alias)) word;

static bool by_words(const void *first, const void *second, size_t size)
{
	return (((uintptr_t)first | (uintptr_t)second | size) & 3) == 0;
}

/* `size` turns. */
void *memcpy(void *destination, const void *source, size_t size)
{
	const u8 *from = source;
	u8 *to = destination;

	if (by_words(destination, source, size)) {
		for (size_t i = 0; i < size; i += 4)
			*(word *)(to + i) = *(const word *)(from + i);
		return destination;
	}
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
	return destination;
}

/* `size` turns. */
void *memset(void *destination, int value, size_t size)
{
	u8 *to = destination;

	if (by_words(destination, destination, size)) {
		for (size_t i = 0; i < size; i += 4)
			*(word *)(to + i) = (u8)value * 0x01010101u;
		return destination;
	}
	for (size_t i = 0; i < size; i++)
		to[i] = (u8)value;
	return destination;
}
