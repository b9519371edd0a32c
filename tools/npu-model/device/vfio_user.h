/* SPDX-License-Identifier: MIT */
/*
 * vfio-user messages as bytes: parsing requests, writing replies. No input or output, no memory
 * of its own, no state: what comes in is looked at once, bounded, and copied out.
 *
 * Integers are in the order of the host's bytes, as client and server share a machine.
 * Thread safety: everything here may be called from any thread.
 */
#ifndef NPU_DEVICE_VFIO_USER_H
#define NPU_DEVICE_VFIO_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VFIO_USER_HEADER_BYTES		16u
/* Bytes of data in one region access; the configuration space is read in one piece. */
#define VFIO_USER_DATA_MAX		65536u
/* A whole message: header, the largest fixed part, data. */
#define VFIO_USER_MESSAGE_MAX		(VFIO_USER_HEADER_BYTES + 16u + VFIO_USER_DATA_MAX)
/* File descriptors with one message. */
#define VFIO_USER_FDS_MAX		16u
#define VFIO_USER_MULTI_MAX		200u

#define VFIO_USER_MAJOR			0u
#define VFIO_USER_MINOR			1u

enum vfio_user_command {
	VFIO_USER_VERSION = 1,
	VFIO_USER_DMA_MAP = 2,
	VFIO_USER_DMA_UNMAP = 3,
	VFIO_USER_DEVICE_GET_INFO = 4,
	VFIO_USER_DEVICE_GET_REGION_INFO = 5,
	VFIO_USER_DEVICE_GET_REGION_IO_FDS = 6,
	VFIO_USER_DEVICE_GET_IRQ_INFO = 7,
	VFIO_USER_DEVICE_SET_IRQS = 8,
	VFIO_USER_REGION_READ = 9,
	VFIO_USER_REGION_WRITE = 10,
	VFIO_USER_DEVICE_RESET = 13,
	VFIO_USER_REGION_WRITE_MULTI = 15,
};

/* Flags of the header */
#define VFIO_USER_TYPE_MASK		0x0fu
#define VFIO_USER_TYPE_COMMAND		0x00u
#define VFIO_USER_TYPE_REPLY		0x01u
#define VFIO_USER_NO_REPLY		0x10u
#define VFIO_USER_ERROR			0x20u

/* Flags of DMA_MAP and DMA_UNMAP */
#define VFIO_USER_MAP_READ		0x1u
#define VFIO_USER_MAP_WRITE		0x2u
#define VFIO_USER_UNMAP_DIRTY		0x1u
#define VFIO_USER_UNMAP_ALL		0x2u

/* Regions and interrupts, by the numbers of PCI devices */
#define VFIO_USER_REGION_BAR0		0u
#define VFIO_USER_REGION_BAR2		2u
#define VFIO_USER_REGION_BAR4		4u
#define VFIO_USER_REGION_CONFIG		7u
#define VFIO_USER_REGIONS		9u
#define VFIO_USER_IRQ_INTX		0u
#define VFIO_USER_IRQ_MSI		1u
#define VFIO_USER_IRQ_MSIX		2u
#define VFIO_USER_IRQS			5u

#define VFIO_USER_DEVICE_RESETS		0x1u
#define VFIO_USER_DEVICE_PCI		0x2u
#define VFIO_USER_REGION_READABLE	0x1u
#define VFIO_USER_REGION_WRITABLE	0x2u
#define VFIO_USER_REGION_MMAP		0x4u
#define VFIO_USER_IRQ_EVENTFD		0x1u
#define VFIO_USER_IRQ_NORESIZE		0x8u

/* Flags of SET_IRQS */
#define VFIO_USER_SET_NONE		0x01u
#define VFIO_USER_SET_BOOL		0x02u
#define VFIO_USER_SET_EVENTFD		0x04u
#define VFIO_USER_SET_MASK		0x08u
#define VFIO_USER_SET_UNMASK		0x10u
#define VFIO_USER_SET_TRIGGER		0x20u

struct vfio_user_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* of the whole message */
	uint32_t flags;
	uint32_t error;
};

struct vfio_user_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	const uint8_t *data;	/* of a write: count bytes in the request; of a read: NULL */
};

/* A request; which member holds is said by the command. Pointers are into the payload. */
struct vfio_user_request {
	struct vfio_user_header header;
	union {
		struct {
			uint16_t major, minor;
		} version;
		struct {
			uint32_t flags;
			uint64_t offset, address, size;
		} map;
		struct {
			uint32_t argsz, flags;
			uint64_t address, size;
		} unmap;
		struct {
			uint32_t argsz, index;	/* index: of a region or interrupt */
		} info;
		struct {
			uint32_t flags, index, start, count;
			const uint8_t *data;	/* of VFIO_USER_SET_BOOL: count bytes */
		} irqs;
		struct vfio_user_access access;
		struct {
			uint32_t count;
			const uint8_t *entries;
		} multi;
	};
};

/**
 * vfio_user_parse_header() - the first 16 bytes of a message
 * @bytes:	VFIO_USER_HEADER_BYTES of them
 * @header:	filled in, also on failure
 *
 * Returns 0, or EINVAL when the size is less than a header or more than VFIO_USER_MESSAGE_MAX: then
 * nobody knows where the next message begins, and the connection has to end.
 */
int vfio_user_parse_header(const uint8_t *bytes, struct vfio_user_header *header);

/**
 * vfio_user_parse_request() - the rest of a message
 * @header:	as parsed
 * @payload:	header->size - VFIO_USER_HEADER_BYTES bytes; @request points into it afterwards
 * @fds:	number of file descriptors that came with it
 * @request:	filled in on success
 *
 * Checks what can be told from the message alone: that it is a command of a kind the server serves,
 * long enough, that lengths and counts agree, that sums do not overflow, that no more descriptors
 * came than the command takes. Returns 0, or the errno to answer with: EINVAL, ENOTSUP (no such
 * command).
 */
int vfio_user_parse_request(const struct vfio_user_header *header, const uint8_t *payload,
			    unsigned int fds, struct vfio_user_request *request);

/**
 * vfio_user_multi_entry() - write number @index of a REGION_WRITE_MULTI
 * @index:	less than request->multi.count
 *
 * Returns 0, or EINVAL for more than 8 bytes.
 */
int vfio_user_multi_entry(const struct vfio_user_request *request, uint32_t index,
			  struct vfio_user_access *access);

/*
 * Writers: each puts a whole reply to @header at @out, which has room for VFIO_USER_MESSAGE_MAX
 * bytes, and returns its length.
 */

/* The header alone; @error is a positive errno, or 0. */
size_t vfio_user_reply(uint8_t *out, const struct vfio_user_header *header, int error);

/* Our version, not above the client's minor, and capabilities. */
size_t vfio_user_reply_version(uint8_t *out, const struct vfio_user_request *request);

/* The request's own 24 bytes. */
size_t vfio_user_reply_unmap(uint8_t *out, const struct vfio_user_request *request);

size_t vfio_user_reply_device(uint8_t *out, const struct vfio_user_request *request,
			      uint32_t flags, uint32_t regions, uint32_t irqs);
size_t vfio_user_reply_region(uint8_t *out, const struct vfio_user_request *request,
			      uint32_t flags, uint64_t size);
size_t vfio_user_reply_irq(uint8_t *out, const struct vfio_user_request *request, uint32_t flags,
			   uint32_t count);

/* Where the data of a reply to REGION_READ goes, and the reply around it (data included). */
uint8_t *vfio_user_read_data(uint8_t *out);
size_t vfio_user_reply_read(uint8_t *out, const struct vfio_user_request *request);
size_t vfio_user_reply_write(uint8_t *out, const struct vfio_user_request *request);

#endif
