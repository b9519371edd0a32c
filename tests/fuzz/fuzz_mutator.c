// SPDX-License-Identifier: MIT
/* libFuzzer's mutator for models: one in eight times its own, else damage that keeps the message whole. */
#include <stdlib.h>
#include <string.h>

#include "wire_mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed)
{
	uint8_t *copy = seed % 8 ? malloc(capacity) : NULL;
	size_t changed = 0;

	if (copy)
		changed = wire_mutate(data, size, copy, capacity, seed, LLVMFuzzerMutate);
	if (changed)
		memcpy(data, copy, changed);
	else
		changed = LLVMFuzzerMutate(data, size, capacity);
	free(copy);
	return changed;
}
