/* SPDX-License-Identifier: MIT */
/*
 * Messages over a Unix stream socket, with file descriptors. Not thread safe.
 */
#ifndef NPU_DEVICE_CONNECTION_H
#define NPU_DEVICE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfio_user.h"

struct connection {
	int socket;	/* not blocking */
	int wakeup;	/* when it becomes readable, waiting is interrupted by a call of @wake */
	bool (*wake)(void *owner);	/* true: stop waiting */
	void *owner;
	int fds[VFIO_USER_FDS_MAX];	/* of the message last received, until taken */
	unsigned int fd_count;
	uint8_t in[VFIO_USER_MESSAGE_MAX];
	uint8_t out[VFIO_USER_MESSAGE_MAX];
};

enum connection_result {
	CONNECTION_OK,
	CONNECTION_CLOSED,	/* by the client, maybe in the middle of a message; or an error */
	CONNECTION_STOPPED,	/* @wake said so */
	CONNECTION_BROKEN,	/* not vfio-user: nobody knows where the next message begins */
};

/**
 * connection_listen() - a listening socket at @path
 *
 * A socket there that nobody listens to is replaced; only the user may connect to the new one.
 * Returns the descriptor, or -1 with a sentence in @error.
 */
int connection_listen(const char *path, char *error, size_t error_size);

/**
 * connection_receive() - one whole message into @in, its descriptors into @fds
 * @header:	of the message
 *
 * Descriptors of the message before that were not taken are closed first.
 */
enum connection_result connection_receive(struct connection *connection,
					  struct vfio_user_header *header);

/**
 * connection_send() - @size bytes of @out, with @fd unless that is -1
 *
 * Waits for a client that does not read.
 */
enum connection_result connection_send(struct connection *connection, size_t size, int fd);

/* connection_drop_fds() - close the descriptors that were not taken */
void connection_drop_fds(struct connection *connection);

#endif
