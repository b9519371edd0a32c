/* SPDX-License-Identifier: MIT */
/*
 * A small vfio-user client, in the place of QEMU: starts the server, talks to it, and can also talk
 * nonsense. Messages are written here from the protocol's description, not by the server's code.
 *
 * Not thread safe. Functions that return int return 0 or a positive errno: the server's own, or
 * EPROTO for a reply that does not fit, EPIPE when the server has hung up, ETIMEDOUT.
 */
#ifndef NPU_TESTS_VFIO_USER_CLIENT_H
#define NPU_TESTS_VFIO_USER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	VC_VERSION = 1,
	VC_DMA_MAP = 2,
	VC_DMA_UNMAP = 3,
	VC_GET_INFO = 4,
	VC_GET_REGION_INFO = 5,
	VC_GET_IRQ_INFO = 7,
	VC_SET_IRQS = 8,
	VC_REGION_READ = 9,
	VC_REGION_WRITE = 10,
	VC_RESET = 13,
	VC_WRITE_MULTI = 15,
};

#define VC_BAR0		0u
#define VC_BAR2		2u
#define VC_BAR4		4u
#define VC_CONFIG	7u
#define VC_MSI		1u
#define VC_MSIX		2u
#define VC_NO_REPLY	0x10u

struct vfio_server {
	pid_t pid;
	char directory[64];	/* made for the socket */
	char socket[96];
};

struct vfio_client {
	int socket;
	uint16_t id;
	int fd;		/* came with the last reply, or -1 */
};

/* Starts @program with the NULL-ended @options, and waits until it listens. False: no server. */
bool vfio_server_start(struct vfio_server *server, const char *program,
		       const char *const *options);

/* Ends it by SIGTERM. Returns its exit status, 128 + the signal that killed it, or -1. */
int vfio_server_stop(struct vfio_server *server);

/* Still there, not a zombie? */
bool vfio_server_alive(const struct vfio_server *server);

int vfio_client_connect(struct vfio_client *client, const struct vfio_server *server);
void vfio_client_close(struct vfio_client *client);

/* Bytes as they are, with descriptors; EPIPE when the server does not take them. */
int vfio_client_send(struct vfio_client *client, const void *bytes, size_t size, const int *fds,
		     unsigned int fd_count);

/* A message with a right header around @payload. */
int vfio_client_post(struct vfio_client *client, uint16_t command, uint32_t flags,
		     const void *payload, size_t size, const int *fds, unsigned int fd_count);

/* The reply to the last message; at most @room bytes of payload; *size is what came. */
int vfio_client_reply(struct vfio_client *client, uint16_t command, void *payload, size_t room,
		      size_t *size);

/* Both. @reply has @reply_size bytes, and so many must come. */
int vfio_client_call(struct vfio_client *client, uint16_t command, const void *payload, size_t size,
		     const int *fds, unsigned int fd_count, void *reply, size_t reply_size);

/* VERSION */
int vfio_client_negotiate(struct vfio_client *client);

int vfio_client_map(struct vfio_client *client, uint64_t address, uint64_t size, int fd,
		    uint64_t offset, uint32_t flags);
int vfio_client_unmap(struct vfio_client *client, uint64_t address, uint64_t size);

int vfio_client_read(struct vfio_client *client, uint32_t region, uint64_t offset, void *data,
		     uint32_t count);
int vfio_client_write(struct vfio_client *client, uint32_t region, uint64_t offset,
		      const void *data, uint32_t count);

/* Posted: no reply. */
int vfio_client_write_posted(struct vfio_client *client, uint32_t region, uint64_t offset,
			     const void *data, uint32_t count);

/* eventfds for vectors from @start; @fds NULL: take @count of them away. */
int vfio_client_eventfds(struct vfio_client *client, uint32_t index, uint32_t start,
			 uint32_t count, const int *fds);

/* size and flags of a region; client->fd is its file, if it has one */
int vfio_client_region(struct vfio_client *client, uint32_t index, uint64_t *size,
		       uint32_t *flags);

/* vectors of an interrupt kind */
int vfio_client_irq(struct vfio_client *client, uint32_t index, uint32_t *count);

int vfio_client_reset(struct vfio_client *client);

#endif
