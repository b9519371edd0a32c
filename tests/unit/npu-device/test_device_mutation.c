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

#include "mutate_message.h"
#include "vfio_user.h"

static uint64_t dice = 0x9e3779b97f4a7c15ull;

/* Nobody needs the sum, but without it nothing would read the bytes. */
static unsigned long bytes_read;

static int inside(const uint8_t *payload, size_t size, const uint8_t *data, size_t bytes)
{
	return data >= payload && bytes <= size && (size_t)(data - payload) <= size - bytes;
}

/* What the parser let through; reads every byte it points to. */
static int check(const struct vfio_user_request *request, const uint8_t *payload, size_t size,
		 unsigned int fds)
{
	struct vfio_user_access access;

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
				bytes_read += access.data[j];
		}
		return 1;
	default:
		return 1;
	}
}

/* 1 accepted, 0 refused, -1 wrong. */
static int try(void)
{
	uint8_t bytes[MESSAGE_ROOM];
	size_t size = message_make(&dice, bytes);
	unsigned int fds = message_roll(&dice, 4) ? 0 : message_roll(&dice, 18);
	struct vfio_user_header header;
	struct vfio_user_request request;
	uint8_t *payload;
	size_t have;
	int result;

	message_damage(&dice, bytes, size);
	if (vfio_user_parse_header(bytes, &header))
		return header.size >= VFIO_USER_HEADER_BYTES &&
		       header.size <= VFIO_USER_MESSAGE_MAX ? -1 : 0;
	/* The length said is the length there is: the connection reads so many bytes. */
	size = header.size - VFIO_USER_HEADER_BYTES;
	payload = malloc(size ? size : 1);
	if (!payload)
		return -1;
	memset(payload, 0xa5, size);
	have = size < sizeof(bytes) - VFIO_USER_HEADER_BYTES ?
	       size : sizeof(bytes) - VFIO_USER_HEADER_BYTES;
	memcpy(payload, bytes + VFIO_USER_HEADER_BYTES, have);
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
	printf("%lu accepted, %lu refused, sum %lu\n", results[2], results[1], bytes_read);
	/* Both must be met often, or nothing was tried. */
	if (results[2] < count / 10 || results[1] < count / 10)
		results[0]++;
	printf("%lu passed, %lu failed\n", count - results[0], results[0]);
	return !count || results[0] ? 1 : 0;
}
