// SPDX-License-Identifier: MIT
#include "hash.h"

uint64_t hash_bytes(const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	uint64_t hash = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < size; i++)
		hash = (hash ^ from[i]) * 0x100000001b3u;
	return hash;
}
