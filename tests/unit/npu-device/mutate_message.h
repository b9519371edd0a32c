/* SPDX-License-Identifier: MIT */
/* vfio-user messages, right ones and damaged ones: the same for the same dice. */
#ifndef TEST_MUTATE_MESSAGE_H
#define TEST_MUTATE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define MESSAGE_ROOM	512u

/* 0 .. @sides - 1; *dice is any number but 0 */
uint32_t message_roll(uint64_t *dice, uint32_t sides);

/* A message that is right, in MESSAGE_ROOM bytes at @bytes; returns its size. */
size_t message_make(uint64_t *dice, uint8_t *bytes);

/* Damages up to three places. */
void message_damage(uint64_t *dice, uint8_t *bytes, size_t size);

#endif
