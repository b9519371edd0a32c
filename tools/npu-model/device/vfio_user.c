// SPDX-License-Identifier: MIT
/* vfio-user messages as bytes. See vfio_user.h. */
#include "vfio_user.h"

#include <errno.h>
#include <string.h>

#define MULTI_ENTRY_BYTES	24u
#define MULTI_DATA_BYTES	8u

/* No longer than QEMU's own, whose buffer the reply has to fit into. */
static const char capabilities[] =
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536,"
	"\"write_multiple\":true}}";

static uint16_t get16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void put16(uint8_t *bytes, uint16_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

static void put32(uint8_t *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

static void put64(uint8_t *bytes, uint64_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

int vfio_user_parse_header(const uint8_t *bytes, struct vfio_user_header *header)
{
	header->id = get16(bytes);
	header->command = get16(bytes + 2);
	header->size = get32(bytes + 4);
	header->flags = get32(bytes + 8);
	header->error = get32(bytes + 12);
	if (header->size < VFIO_USER_HEADER_BYTES || header->size > VFIO_USER_MESSAGE_MAX)
		return EINVAL;
	return 0;
}

struct command {
	uint16_t number;
	uint16_t bytes;		/* of payload, at least */
	uint16_t fds;		/* at most */
};

static const struct command commands[] = {
	{ VFIO_USER_VERSION, 4, 0 },
	{ VFIO_USER_DMA_MAP, 32, 1 },
	{ VFIO_USER_DMA_UNMAP, 24, 1 },
	{ VFIO_USER_DEVICE_GET_INFO, 16, 0 },
	{ VFIO_USER_DEVICE_GET_REGION_INFO, 32, 0 },
	{ VFIO_USER_DEVICE_GET_IRQ_INFO, 16, 0 },
	{ VFIO_USER_DEVICE_SET_IRQS, 20, VFIO_USER_FDS_MAX },
	{ VFIO_USER_REGION_READ, 16, 0 },
	{ VFIO_USER_REGION_WRITE, 16, 0 },
	{ VFIO_USER_DEVICE_RESET, 0, 0 },
	{ VFIO_USER_REGION_WRITE_MULTI, 8, 0 },
};

static const struct command *find_command(uint16_t number)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].number == number)
			return &commands[i];
	}
	return NULL;
}

static int parse_version(const uint8_t *payload, size_t size, struct vfio_user_request *request)
{
	request->version.major = get16(payload);
	request->version.minor = get16(payload + 2);
	/* What the client can do is of no interest; but text that does not end is no text. */
	if (size > 4 && payload[size - 1])
		return EINVAL;
	return 0;
}

static int parse_map(const uint8_t *payload, struct vfio_user_request *request)
{
	uint64_t end;

	request->map.flags = get32(payload + 4);
	request->map.offset = get64(payload + 8);
	request->map.address = get64(payload + 16);
	request->map.size = get64(payload + 24);
	if (request->map.flags & ~(VFIO_USER_MAP_READ | VFIO_USER_MAP_WRITE))
		return EINVAL;
	if (!request->map.size ||
	    __builtin_add_overflow(request->map.address, request->map.size - 1, &end) ||
	    __builtin_add_overflow(request->map.offset, request->map.size, &end))
		return EINVAL;
	return 0;
}

static int parse_unmap(const uint8_t *payload, struct vfio_user_request *request)
{
	uint64_t end;

	request->unmap.argsz = get32(payload);
	request->unmap.flags = get32(payload + 4);
	request->unmap.address = get64(payload + 8);
	request->unmap.size = get64(payload + 16);
	/* Dirty bitmaps are for migration, which is not offered. */
	if (request->unmap.flags & ~VFIO_USER_UNMAP_ALL)
		return EINVAL;
	if (request->unmap.flags & VFIO_USER_UNMAP_ALL)
		return request->unmap.address || request->unmap.size ? EINVAL : 0;
	if (!request->unmap.size ||
	    __builtin_add_overflow(request->unmap.address, request->unmap.size - 1, &end))
		return EINVAL;
	return 0;
}

/* Exactly one bit of @mask in @flags. */
static bool one_of(uint32_t flags, uint32_t mask)
{
	flags &= mask;
	return flags && !(flags & (flags - 1));
}

static int parse_irqs(const uint8_t *payload, size_t size, unsigned int fds,
		      struct vfio_user_request *request)
{
	const uint32_t data = VFIO_USER_SET_NONE | VFIO_USER_SET_BOOL | VFIO_USER_SET_EVENTFD;
	const uint32_t action = VFIO_USER_SET_MASK | VFIO_USER_SET_UNMASK | VFIO_USER_SET_TRIGGER;
	uint32_t end;

	request->irqs.flags = get32(payload + 4);
	request->irqs.index = get32(payload + 8);
	request->irqs.start = get32(payload + 12);
	request->irqs.count = get32(payload + 16);
	request->irqs.data = payload + 20;
	if ((request->irqs.flags & ~(data | action)) || !one_of(request->irqs.flags, data) ||
	    !one_of(request->irqs.flags, action))
		return EINVAL;
	if (__builtin_add_overflow(request->irqs.start, request->irqs.count, &end))
		return EINVAL;
	if ((request->irqs.flags & VFIO_USER_SET_BOOL) && request->irqs.count > size - 20)
		return EINVAL;
	/* All vectors of a message with a descriptor, or none. */
	if (request->irqs.flags & VFIO_USER_SET_EVENTFD)
		return fds && fds != request->irqs.count ? EINVAL : 0;
	return fds ? EINVAL : 0;
}

static int parse_access(const uint8_t *payload, size_t size, bool write,
			struct vfio_user_access *access)
{
	uint64_t end;

	access->offset = get64(payload);
	access->region = get32(payload + 8);
	access->count = get32(payload + 12);
	access->data = write ? payload + 16 : NULL;
	if (access->count > VFIO_USER_DATA_MAX ||
	    __builtin_add_overflow(access->offset, access->count, &end))
		return EINVAL;
	if (write && access->count != size - 16)
		return EINVAL;
	return 0;
}

static int parse_multi(const uint8_t *payload, size_t size, struct vfio_user_request *request)
{
	uint64_t count = get64(payload);

	if (count > VFIO_USER_MULTI_MAX || count * MULTI_ENTRY_BYTES > size - 8)
		return EINVAL;
	request->multi.count = (uint32_t)count;
	request->multi.entries = payload + 8;
	return 0;
}

int vfio_user_parse_request(const struct vfio_user_header *header, const uint8_t *payload,
			    unsigned int fds, struct vfio_user_request *request)
{
	const struct command *command = find_command(header->command);
	size_t size = header->size - VFIO_USER_HEADER_BYTES;

	memset(request, 0, sizeof(*request));
	request->header = *header;
	if ((header->flags & VFIO_USER_TYPE_MASK) != VFIO_USER_TYPE_COMMAND ||
	    (header->flags & ~(VFIO_USER_TYPE_MASK | VFIO_USER_NO_REPLY)))
		return EINVAL;
	if (!command)
		return ENOTSUP;
	if (size < command->bytes || fds > command->fds)
		return EINVAL;
	switch (header->command) {
	case VFIO_USER_VERSION:
		return parse_version(payload, size, request);
	case VFIO_USER_DMA_MAP:
		return parse_map(payload, request);
	case VFIO_USER_DMA_UNMAP:
		return parse_unmap(payload, request);
	case VFIO_USER_DEVICE_GET_INFO:
	case VFIO_USER_DEVICE_GET_REGION_INFO:
	case VFIO_USER_DEVICE_GET_IRQ_INFO:
		request->info.argsz = get32(payload);
		request->info.index = get32(payload + 8);
		return request->info.argsz < command->bytes ? EINVAL : 0;
	case VFIO_USER_DEVICE_SET_IRQS:
		return parse_irqs(payload, size, fds, request);
	case VFIO_USER_REGION_READ:
	case VFIO_USER_REGION_WRITE:
		return parse_access(payload, size, header->command == VFIO_USER_REGION_WRITE,
				    &request->access);
	case VFIO_USER_REGION_WRITE_MULTI:
		return parse_multi(payload, size, request);
	default:
		return 0;
	}
}

int vfio_user_multi_entry(const struct vfio_user_request *request, uint32_t index,
			  struct vfio_user_access *access)
{
	const uint8_t *entry = request->multi.entries + (size_t)index * MULTI_ENTRY_BYTES;
	uint64_t end;

	access->offset = get64(entry);
	access->region = get32(entry + 8);
	access->count = get32(entry + 12);
	access->data = entry + 16;
	if (access->count > MULTI_DATA_BYTES ||
	    __builtin_add_overflow(access->offset, access->count, &end))
		return EINVAL;
	return 0;
}

static size_t finish(uint8_t *out, const struct vfio_user_header *header, size_t payload,
		     int error)
{
	size_t size = VFIO_USER_HEADER_BYTES + payload;

	put16(out, header->id);
	put16(out + 2, header->command);
	put32(out + 4, (uint32_t)size);
	put32(out + 8, VFIO_USER_TYPE_REPLY | (error ? VFIO_USER_ERROR : 0));
	put32(out + 12, (uint32_t)error);
	return size;
}

size_t vfio_user_reply(uint8_t *out, const struct vfio_user_header *header, int error)
{
	return finish(out, header, 0, error);
}

size_t vfio_user_reply_version(uint8_t *out, const struct vfio_user_request *request)
{
	uint16_t minor = request->version.minor;
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put16(payload, VFIO_USER_MAJOR);
	put16(payload + 2, minor < VFIO_USER_MINOR ? minor : VFIO_USER_MINOR);
	memcpy(payload + 4, capabilities, sizeof(capabilities));
	return finish(out, &request->header, 4 + sizeof(capabilities), 0);
}

size_t vfio_user_reply_unmap(uint8_t *out, const struct vfio_user_request *request)
{
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put32(payload, request->unmap.argsz);
	put32(payload + 4, request->unmap.flags);
	put64(payload + 8, request->unmap.address);
	put64(payload + 16, request->unmap.size);
	return finish(out, &request->header, 24, 0);
}

size_t vfio_user_reply_device(uint8_t *out, const struct vfio_user_request *request,
			      uint32_t flags, uint32_t regions, uint32_t irqs)
{
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put32(payload, 16);
	put32(payload + 4, flags);
	put32(payload + 8, regions);
	put32(payload + 12, irqs);
	return finish(out, &request->header, 16, 0);
}

size_t vfio_user_reply_region(uint8_t *out, const struct vfio_user_request *request,
			      uint32_t flags, uint64_t size)
{
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put32(payload, 32);
	put32(payload + 4, flags);
	put32(payload + 8, request->info.index);
	put32(payload + 12, 0);
	put64(payload + 16, size);
	/* Where the region is in its file, for those who map it. */
	put64(payload + 24, 0);
	return finish(out, &request->header, 32, 0);
}

size_t vfio_user_reply_irq(uint8_t *out, const struct vfio_user_request *request, uint32_t flags,
			   uint32_t count)
{
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put32(payload, 16);
	put32(payload + 4, flags);
	put32(payload + 8, request->info.index);
	put32(payload + 12, count);
	return finish(out, &request->header, 16, 0);
}

uint8_t *vfio_user_read_data(uint8_t *out)
{
	return out + VFIO_USER_HEADER_BYTES + 16;
}

static size_t put_access(uint8_t *out, const struct vfio_user_request *request, uint32_t data)
{
	uint8_t *payload = out + VFIO_USER_HEADER_BYTES;

	put64(payload, request->access.offset);
	put32(payload + 8, request->access.region);
	put32(payload + 12, request->access.count);
	return finish(out, &request->header, 16 + data, 0);
}

size_t vfio_user_reply_read(uint8_t *out, const struct vfio_user_request *request)
{
	return put_access(out, request, request->access.count);
}

size_t vfio_user_reply_write(uint8_t *out, const struct vfio_user_request *request)
{
	return put_access(out, request, 0);
}
