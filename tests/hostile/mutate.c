// SPDX-License-Identifier: MIT
#include "mutate.h"

#include <string.h>

#define LONGEST_PIECE 64

void dice_start(struct dice *dice, uint64_t seed)
{
	/* Neighbouring seeds must not give neighbouring sequences. */
	dice->state = (seed + 1) * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 4; i++)
		dice_roll(dice, 2);
}

size_t dice_roll(struct dice *dice, size_t sides)
{
	dice->state ^= dice->state << 13;
	dice->state ^= dice->state >> 7;
	dice->state ^= dice->state << 17;
	return sides ? (size_t)((dice->state >> 11) % sides) : 0;
}

struct target {
	struct dice *dice;
	uint8_t *data;
	size_t size, capacity;
	size_t at; /* where the damage begins, below size */
};

static size_t piece(const struct target *target)
{
	size_t most = target->size - target->at;

	return 1 + dice_roll(target->dice, most < LONGEST_PIECE ? most : LONGEST_PIECE);
}

static void flip_bits(struct target *target)
{
	for (size_t i = 1 + dice_roll(target->dice, 4); i > 0; i--) {
		size_t near = target->at + dice_roll(target->dice, 8);

		if (near < target->size)
			target->data[near] ^= (uint8_t)(1u << dice_roll(target->dice, 8));
	}
}

static void random_bytes(struct target *target)
{
	for (size_t i = piece(target); i > 0; i--)
		target->data[target->at + i - 1] = (uint8_t)dice_roll(target->dice, 256);
}

/* Numbers at the borders of what code expects, in either byte order. */
static void border_number(struct target *target)
{
	static const uint64_t numbers[] = {
		0,
		1,
		2,
		7,
		8,
		0x7f,
		0x80,
		0xff,
		0x100,
		0xfff,
		0x1000,
		0x7fff,
		0x8000,
		0xffff,
		0x10000,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xffffffffffffffff,
		0xfffffffffffffff0,
		0xfffff000,
	};
	uint64_t number = numbers[dice_roll(target->dice, sizeof(numbers) / sizeof(numbers[0]))];
	size_t bytes = (size_t)1 << dice_roll(target->dice, 4);
	size_t big = dice_roll(target->dice, 2);

	/* Half of them where a field of this size may begin. */
	if (dice_roll(target->dice, 2))
		target->at -= target->at % bytes;
	for (size_t i = 0; i < bytes && target->at + i < target->size; i++)
		target->data[target->at + i] = (uint8_t)(number >> 8 * (big ? bytes - 1 - i : i));
}

static void cut_off(struct target *target)
{
	target->size = target->at;
}

static void remove_piece(struct target *target)
{
	size_t bytes = piece(target), end = target->at + bytes;

	memmove(target->data + target->at, target->data + end, target->size - end);
	target->size -= bytes;
}

static void insert_piece(struct target *target)
{
	size_t bytes = piece(target), from = dice_roll(target->dice, target->size - bytes + 1);
	uint8_t copy[LONGEST_PIECE];

	if (target->capacity - target->size < bytes)
		return;
	memcpy(copy, target->data + from, bytes);
	memmove(target->data + target->at + bytes, target->data + target->at,
		target->size - target->at);
	memcpy(target->data + target->at, copy, bytes);
	target->size += bytes;
}

static void copy_piece(struct target *target)
{
	size_t bytes = piece(target), from = dice_roll(target->dice, target->size - bytes + 1);

	memmove(target->data + target->at, target->data + from, bytes);
}

static void fill(struct target *target)
{
	/* Two rolls in one call would come in the compiler's order. */
	size_t bytes = piece(target);

	memset(target->data + target->at, dice_roll(target->dice, 2) ? 0xff : 0, bytes);
}

/* Texts: a digit becomes another character that texts have. */
static void change_text(struct target *target)
{
	static const char characters[] = "0123456789-+,.()'\" <>|fiubTF";
	size_t at = target->at;

	while (at < target->size && (target->data[at] < '0' || target->data[at] > '9'))
		at++;
	if (at == target->size)
		at = target->at;
	target->data[at] = (uint8_t)characters[dice_roll(target->dice, sizeof(characters) - 1)];
}

size_t mutate(struct dice *dice, uint8_t *data, size_t size, size_t capacity,
	      const struct hot_part *hot, size_t hot_count)
{
	static void (*const damages[])(struct target *) = {
		flip_bits,    random_bytes, border_number, border_number, cut_off,
		remove_piece, insert_piece, copy_piece,	   fill,	  change_text,
	};
	struct target target = { .dice = dice, .data = data, .size = size, .capacity = capacity };

	for (size_t i = 1 + dice_roll(dice, 4); i > 0 && target.size; i--) {
		const struct hot_part *part = &hot[dice_roll(dice, hot_count)];

		target.at = dice_roll(dice, target.size);
		if (hot_count && dice_roll(dice, 8))
			target.at = part->offset + dice_roll(dice, part->bytes);
		if (target.at < target.size)
			damages[dice_roll(dice, sizeof(damages) / sizeof(damages[0]))](&target);
	}
	return target.size;
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
	uint32_t sum = 0xffffffff;

	for (size_t i = 0; i < size; i++) {
		sum ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
	}
	return ~sum;
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void png_repair(uint8_t *data, size_t size)
{
	size_t at = 8;

	/* A chunk is its length, four letters, the contents, the sum over letters and contents. */
	while (at < size && size - at >= 12) {
		size_t bytes = big_endian(data + at);
		uint32_t sum;

		if (bytes > size - at - 12)
			return;
		sum = checksum(data + at + 4, bytes + 4);
		at += 8 + bytes;
		for (int i = 0; i < 4; i++)
			data[at++] = (uint8_t)(sum >> (24 - 8 * i));
	}
}
