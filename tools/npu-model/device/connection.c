// SPDX-License-Identifier: MIT
/* Messages over a Unix stream socket. See connection.h. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Nobody listens there any more? */
static bool is_stale(const struct sockaddr_un *address)
{
	struct stat status;
	bool stale;
	int fd;

	if (lstat(address->sun_path, &status) || !S_ISSOCK(status.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
		errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int result = bind(fd, (const struct sockaddr *)address, sizeof(*address));
	int saved = errno;

	umask(before);
	errno = saved;
	return result;
}

int connection_listen(const char *path, char *error, size_t error_size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (!*path || strlen(path) >= sizeof(address.sun_path)) {
		snprintf(error, error_size,
			 "the socket's path is empty or longer than %zu characters: '%s'",
			 sizeof(address.sun_path) - 1, path);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		snprintf(error, error_size, "no socket: %s", strerror(errno));
		return -1;
	}
	if (bind_private(fd, &address) &&
	    (errno != EADDRINUSE || !is_stale(&address) || unlink(path) ||
	     bind_private(fd, &address))) {
		snprintf(error, error_size, "cannot make the socket %s: %s%s", path,
			 strerror(errno),
			 errno == EADDRINUSE ? " by another program, or it is no socket" : "");
		close(fd);
		return -1;
	}
	if (listen(fd, 1)) {
		snprintf(error, error_size, "cannot listen at %s: %s", path, strerror(errno));
		close(fd);
		unlink(path);
		return -1;
	}
	return fd;
}

void connection_drop_fds(struct connection *connection)
{
	for (unsigned int i = 0; i < connection->fd_count; i++)
		close(connection->fds[i]);
	connection->fd_count = 0;
}

/* Until the socket is ready for @events. */
static enum connection_result wait_for(struct connection *connection, short events)
{
	struct pollfd fds[2] = {
		{ .fd = connection->socket, .events = events },
		{ .fd = connection->wakeup, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0) {
			if (errno != EINTR)
				return CONNECTION_CLOSED;
			continue;
		}
		if (fds[1].revents && connection->wake(connection->owner))
			return CONNECTION_STOPPED;
		if (fds[0].revents)
			return CONNECTION_OK;
	}
}

/* Takes over the descriptors of one control message; false when they are too many. */
static bool take_fds(struct connection *connection, struct cmsghdr *control)
{
	size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool fits = true;

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
		if (connection->fd_count < VFIO_USER_FDS_MAX) {
			connection->fds[connection->fd_count++] = fd;
		} else {
			close(fd);
			fits = false;
		}
	}
	return fits;
}

/* Up to @size bytes to @data; *got is at least 1 when it is well. */
static enum connection_result receive_some(struct connection *connection, void *data, size_t size,
					   size_t *got)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE((VFIO_USER_FDS_MAX + 1) * sizeof(int))];
	} control;
	struct iovec piece = { .iov_base = data, .iov_len = size };
	struct msghdr message;
	bool fits = true;
	ssize_t result;

	for (;;) {
		message = (struct msghdr){
			.msg_iov = &piece,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes),
		};
		result = recvmsg(connection->socket, &message, MSG_CMSG_CLOEXEC);
		if (result >= 0)
			break;
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			enum connection_result ready = wait_for(connection, POLLIN);

			if (ready != CONNECTION_OK)
				return ready;
		} else if (errno != EINTR) {
			return CONNECTION_CLOSED;
		}
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fits &= take_fds(connection, c);
	}
	if (!result)
		return CONNECTION_CLOSED;
	*got = (size_t)result;
	return fits && !(message.msg_flags & MSG_CTRUNC) ? CONNECTION_OK : CONNECTION_BROKEN;
}

enum connection_result connection_receive(struct connection *connection,
					  struct vfio_user_header *header)
{
	size_t want = VFIO_USER_HEADER_BYTES;
	size_t have = 0, got;

	connection_drop_fds(connection);
	for (;;) {
		enum connection_result result;

		if (have >= VFIO_USER_HEADER_BYTES) {
			if (vfio_user_parse_header(connection->in, header))
				return CONNECTION_BROKEN;
			want = header->size;
		}
		if (have == want)
			return CONNECTION_OK;
		result = receive_some(connection, connection->in + have, want - have, &got);
		if (result != CONNECTION_OK)
			return result;
		have += got;
	}
}

enum connection_result connection_send(struct connection *connection, size_t size, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	enum connection_result ready;
	size_t sent = 0;

	while (sent < size) {
		struct iovec piece = {
			.iov_base = connection->out + sent,
			.iov_len = size - sent,
		};
		struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
		ssize_t result;

		/* The descriptor goes with the first byte. */
		if (fd >= 0 && !sent) {
			message.msg_control = control.bytes;
			message.msg_controllen = sizeof(control.bytes);
			control.align.cmsg_level = SOL_SOCKET;
			control.align.cmsg_type = SCM_RIGHTS;
			control.align.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
		}
		result = sendmsg(connection->socket, &message, MSG_NOSIGNAL);
		if (result >= 0) {
			sent += (size_t)result;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return CONNECTION_CLOSED;
		ready = wait_for(connection, POLLOUT);
		if (ready != CONNECTION_OK)
			return ready;
	}
	return CONNECTION_OK;
}
