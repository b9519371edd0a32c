/* SPDX-License-Identifier: MIT */
/*
 * Damage to messages in protobuf's wire format that keeps them messages: a field somewhere in the tree is changed,
 * doubled, exchanged or left out, and the lengths of all that enclose it are right again.
 */
#ifndef TESTS_FUZZ_WIRE_MUTATE_H
#define TESTS_FUZZ_WIRE_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes @size bytes of a string or of packed numbers in place; returns the new size, at most @capacity. */
typedef size_t (*wire_mutate_bytes)(uint8_t *data, size_t size, size_t capacity);

/*
 * wire_mutate - a damaged copy of the message of @size bytes at @from in @to, which has room for @capacity.
 * Returns its size, or 0 when @from is no message, or the copy would not fit.
 */
size_t wire_mutate(const uint8_t *from, size_t size, uint8_t *to, size_t capacity, uint64_t seed,
		   wire_mutate_bytes mutate_bytes);

#endif
