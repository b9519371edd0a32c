// SPDX-License-Identifier: MIT
/* vfio-user messages, right ones and damaged ones. See mutate_message.h. */
#include "mutate_message.h"

#include <string.h>

#define HEADER	16u

uint32_t message_roll(uint64_t *dice, uint32_t sides)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return (uint32_t)((*dice >> 11) % sides);
}

static void put32(uint8_t *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

size_t message_make(uint64_t *dice, uint8_t *bytes)
{
	static const uint16_t sizes[][2] = {
		{ 1, 64 }, { 2, 32 }, { 3, 24 }, { 4, 16 }, { 5, 32 }, { 7, 16 }, { 8, 20 },
		{ 8, 24 }, { 9, 16 }, { 10, 24 }, { 13, 0 }, { 15, 8 + 24 * 8 },
	};
	unsigned int which = message_roll(dice, sizeof(sizes) / sizeof(sizes[0]));
	uint8_t *payload = bytes + HEADER;

	memset(bytes, 0, MESSAGE_ROOM);
	put32(bytes, (uint32_t)sizes[which][0] << 16 | message_roll(dice, 65536));
	put32(bytes + 4, HEADER + sizes[which][1]);
	switch (which) {
	case 1:
	case 2:
		put32(payload + 4, which == 1 ? 3 : 0);
		put32(payload + (which == 1 ? 24 : 16), 4096);
		break;
	case 3:
	case 4:
	case 5:
		put32(payload, sizes[which][1]);
		put32(payload + 8, message_roll(dice, 9));
		break;
	case 6:
	case 7:
		put32(payload + 4, which == 6 ? 0x24 : 0x22);
		put32(payload + 8, 2);
		put32(payload + 16, 4);
		break;
	case 8:
	case 9:
		put32(payload + 12, 8);
		break;
	case 11:
		payload[0] = 8;
		for (unsigned int i = 0; i < 8; i++)
			put32(payload + 8 + 24 * i + 12, 8);
		break;
	default:
		break;
	}
	return HEADER + sizes[which][1];
}

void message_damage(uint64_t *dice, uint8_t *bytes, size_t size)
{
	static const uint32_t borders[] = {
		0, 1, 7, 8, 9, 15, 16, 17, 200, 201, 4096, 65536, 65537, 0x7fffffff, 0x80000000,
		0xffffffff,
	};

	for (unsigned int i = message_roll(dice, 4); i > 0; i--) {
		size_t at = message_roll(dice, (uint32_t)size);

		if (message_roll(dice, 2))
			bytes[at] ^= (uint8_t)(1u << message_roll(dice, 8));
		else if (at / 4 * 4 + 4 <= size)
			put32(bytes + at / 4 * 4, borders[message_roll(dice, 16)]);
	}
}
