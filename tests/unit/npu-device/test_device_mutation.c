// SPDX-License-Identifier: MIT
/*
 * 10,000 damaged messages through the parser, each in memory that is as long as the message, so
 * that the sanitizer sees a step beyond it. What is accepted must be in the message. The number of
 * messages is the first argument.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfio_user.h"

#define LONGEST	512u

static uint64_t dice = 0x9e3779b97f4a7c15ull;

static uint32_t roll(uint32_t sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)((dice >> 11) % sides);
}

static void put32(uint8_t *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

/* A message that is right, of LONGEST bytes at most; returns its size. */
static size_t sound(uint8_t *bytes)
{
	static const uint16_t sizes[][2] = {
		{ 1, 64 }, { 2, 32 }, { 3, 24 }, { 4, 16 }, { 5, 32 }, { 7, 16 }, { 8, 20 },
		{ 8, 24 }, { 9, 16 }, { 10, 24 }, { 13, 0 }, { 15, 8 + 24 * 8 },
	};
	unsigned int which = roll(sizeof(sizes) / sizeof(sizes[0]));
	uint8_t *payload = bytes + VFIO_USER_HEADER_BYTES;

	memset(bytes, 0, LONGEST);
	put32(bytes, (uint32_t)sizes[which][0] << 16 | roll(65536));
	put32(bytes + 4, VFIO_USER_HEADER_BYTES + sizes[which][1]);
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
		put32(payload + 8, roll(9));
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
	return VFIO_USER_HEADER_BYTES + sizes[which][1];
}

static void damage(uint8_t *bytes, size_t size)
{
	static const uint32_t borders[] = {
		0, 1, 7, 8, 9, 15, 16, 17, 200, 201, 4096, 65536, 65537, 0x7fffffff, 0x80000000,
		0xffffffff,
	};

	for (unsigned int i = roll(4); i > 0; i--) {
		size_t at = roll((uint32_t)size);

		if (roll(2))
			bytes[at] ^= (uint8_t)(1u << roll(8));
		else if (at / 4 * 4 + 4 <= size)
			put32(bytes + at / 4 * 4, borders[roll(16)]);
	}
}

static int inside(const uint8_t *payload, size_t size, const uint8_t *data, size_t bytes)
{
	return data >= payload && bytes <= size && (size_t)(data - payload) <= size - bytes;
}

/* What the parser let through; reads every byte it points to. */
static int check(const struct vfio_user_request *request, const uint8_t *payload, size_t size,
		 unsigned int fds)
{
	struct vfio_user_access access;
	volatile uint8_t sink = 0;

	switch (request->header.command) {
	case VFIO_USER_DMA_MAP:
		return request->map.size && fds <= 1 &&
		       request->map.address + (request->map.size - 1) >= request->map.address;
	case VFIO_USER_DEVICE_SET_IRQS:
		if (request->irqs.flags & VFIO_USER_SET_BOOL)
			return inside(payload, size, request->irqs.data, request->irqs.count);
		return !fds || fds == request->irqs.count;
	case VFIO_USER_REGION_READ:
		return request->access.count <= VFIO_USER_DATA_MAX;
	case VFIO_USER_REGION_WRITE:
		return inside(payload, size, request->access.data, request->access.count);
	case VFIO_USER_REGION_WRITE_MULTI:
		for (uint32_t i = 0; i < request->multi.count; i++) {
			if (vfio_user_multi_entry(request, i, &access))
				continue;
			if (!inside(payload, size, access.data, access.count))
				return 0;
			for (uint32_t j = 0; j < access.count; j++)
				sink ^= access.data[j];
		}
		return 1;
	default:
		return 1;
	}
}

/* 1 accepted, 0 refused, -1 wrong. */
static int try(void)
{
	uint8_t bytes[LONGEST];
	size_t size = sound(bytes);
	unsigned int fds = roll(4) ? 0 : roll(18);
	struct vfio_user_header header;
	struct vfio_user_request request;
	uint8_t *payload;
	int result;

	damage(bytes, size);
	if (vfio_user_parse_header(bytes, &header))
		return header.size >= VFIO_USER_HEADER_BYTES &&
		       header.size <= VFIO_USER_MESSAGE_MAX ? -1 : 0;
	/* The length said is the length there is: the connection reads so many bytes. */
	size = header.size - VFIO_USER_HEADER_BYTES;
	payload = malloc(size ? size : 1);
	if (!payload)
		return -1;
	memset(payload, 0xa5, size);
	memcpy(payload, bytes + VFIO_USER_HEADER_BYTES,
	       size < LONGEST - VFIO_USER_HEADER_BYTES ? size : LONGEST - VFIO_USER_HEADER_BYTES);
	result = vfio_user_parse_request(&header, payload, fds, &request);
	if (!result)
		result = check(&request, payload, size, fds) ? 1 : -1;
	else
		result = result == EINVAL || result == ENOTSUP ? 0 : -1;
	free(payload);
	return result;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long results[3] = { 0 };

	for (unsigned long i = 0; i < count; i++)
		results[try() + 1]++;
	printf("%lu accepted, %lu refused\n", results[2], results[1]);
	/* Both must be met often, or nothing was tried. */
	if (results[2] < count / 10 || results[1] < count / 10)
		results[0]++;
	printf("%lu passed, %lu failed\n", count - results[0], results[0]);
	return !count || results[0] ? 1 : 0;
}
