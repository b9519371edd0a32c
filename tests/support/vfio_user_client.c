// SPDX-License-Identifier: MIT
/* A small vfio-user client. See vfio_user_client.h. */
#include "vfio_user_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX	30
#define HEADER		16u

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static void run_server(const struct vfio_server *server, const char *program,
		       const char *const *options)
{
	const char *arguments[16] = { program, "--socket", server->socket };

	for (unsigned int i = 0; i < 12 && options && options[i]; i++)
		arguments[3 + i] = options[i];
	/* It must not outlive a test that dies. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(program, (char *const *)arguments);
	_exit(127);
}

bool vfio_server_start(struct vfio_server *server, const char *program,
		       const char *const *options)
{
	time_t begin = time(NULL);

	memset(server, 0, sizeof(*server));
	snprintf(server->directory, sizeof(server->directory), "/tmp/npu-device-XXXXXX");
	if (!mkdtemp(server->directory))
		return false;
	snprintf(server->socket, sizeof(server->socket), "%s/s", server->directory);
	fflush(NULL);
	server->pid = fork();
	if (!server->pid)
		run_server(server, program, options);
	while (server->pid > 0 && vfio_server_alive(server) && time(NULL) - begin < SECONDS_MAX) {
		struct vfio_client client;

		if (!vfio_client_connect(&client, server)) {
			vfio_client_close(&client);
			return true;
		}
		nap();
	}
	vfio_server_stop(server);
	return false;
}

bool vfio_server_alive(const struct vfio_server *server)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)server->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

int vfio_server_stop(struct vfio_server *server)
{
	time_t begin = time(NULL);
	int status = 0;
	pid_t done;

	if (server->pid <= 0)
		return -1;
	kill(server->pid, SIGTERM);
	while (!(done = waitpid(server->pid, &status, WNOHANG))) {
		if (time(NULL) - begin > SECONDS_MAX)
			kill(server->pid, SIGKILL);
		nap();
	}
	server->pid = 0;
	unlink(server->socket);
	rmdir(server->directory);
	if (done < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int vfio_client_connect(struct vfio_client *client, const struct vfio_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memset(client, 0, sizeof(*client));
	client->fd = -1;
	client->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->socket < 0)
		return errno;
	memcpy(address.sun_path, server->socket, strlen(server->socket) + 1);
	if (connect(client->socket, (struct sockaddr *)&address, sizeof(address))) {
		int error = errno;

		vfio_client_close(client);
		return error;
	}
	return 0;
}

void vfio_client_close(struct vfio_client *client)
{
	if (client->socket >= 0)
		close(client->socket);
	if (client->fd >= 0)
		close(client->fd);
	client->socket = -1;
	client->fd = -1;
}

int vfio_client_send(struct vfio_client *client, const void *bytes, size_t size, const int *fds,
		     unsigned int fd_count)
{
	struct iovec piece = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} control;

	if (fd_count) {
		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, fd_count * sizeof(int));
	}
	while (piece.iov_len) {
		ssize_t sent = sendmsg(client->socket, &message, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == ECONNRESET ? EPIPE : errno;
		piece.iov_base = (char *)piece.iov_base + sent;
		piece.iov_len -= (size_t)sent;
		message.msg_control = NULL;
		message.msg_controllen = 0;
	}
	return 0;
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

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

int vfio_client_post(struct vfio_client *client, uint16_t command, uint32_t flags,
		     const void *payload, size_t size, const int *fds, unsigned int fd_count)
{
	uint8_t *message = calloc(1, HEADER + size);
	int result;

	if (!message)
		return ENOMEM;
	put16(message, ++client->id);
	put16(message + 2, command);
	put32(message + 4, (uint32_t)(HEADER + size));
	put32(message + 8, flags);
	if (size)
		memcpy(message + HEADER, payload, size);
	result = vfio_client_send(client, message, HEADER + size, fds, fd_count);
	free(message);
	return result;
}

static void take_fd(struct vfio_client *client, struct msghdr *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);

	if (!control || control->cmsg_type != SCM_RIGHTS)
		return;
	if (client->fd >= 0)
		close(client->fd);
	memcpy(&client->fd, CMSG_DATA(control), sizeof(int));
}

static int receive(struct vfio_client *client, void *bytes, size_t size)
{
	size_t have = 0;

	while (have < size) {
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec piece = { .iov_base = (char *)bytes + have, .iov_len = size - have };
		struct msghdr message = {
			.msg_iov = &piece,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes),
		};
		struct pollfd ready = { .fd = client->socket, .events = POLLIN };
		ssize_t got;

		if (poll(&ready, 1, SECONDS_MAX * 1000) != 1)
			return ETIMEDOUT;
		got = recvmsg(client->socket, &message, MSG_CMSG_CLOEXEC);
		if (got <= 0)
			return EPIPE;
		take_fd(client, &message);
		have += (size_t)got;
	}
	return 0;
}

int vfio_client_reply(struct vfio_client *client, uint16_t command, void *payload, size_t room,
		      size_t *size)
{
	uint8_t header[HEADER];
	uint16_t id, got;
	int result = receive(client, header, sizeof(header));

	*size = 0;
	if (result)
		return result;
	memcpy(&id, header, sizeof(id));
	memcpy(&got, header + 2, sizeof(got));
	if (id != client->id || got != command || !(get32(header + 8) & 1) ||
	    get32(header + 4) < HEADER || get32(header + 4) - HEADER > room)
		return EPROTO;
	*size = get32(header + 4) - HEADER;
	result = receive(client, payload, *size);
	if (result)
		return result;
	if (!(get32(header + 8) & 0x20))
		return 0;
	/* An error is a number, and the header alone. */
	return *size || !get32(header + 12) ? EPROTO : (int)get32(header + 12);
}

int vfio_client_call(struct vfio_client *client, uint16_t command, const void *payload, size_t size,
		     const int *fds, unsigned int fd_count, void *reply, size_t reply_size)
{
	size_t got;
	int result = vfio_client_post(client, command, 0, payload, size, fds, fd_count);

	if (!result)
		result = vfio_client_reply(client, command, reply, reply_size, &got);
	if (!result && got != reply_size)
		result = EPROTO;
	return result;
}

int vfio_client_negotiate(struct vfio_client *client)
{
	static const char text[] = "{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":"
				   "1048576,\"migration\":{\"pgsize\":4096}}}";
	uint8_t payload[4 + sizeof(text)] = { 0 };
	char reply[512];
	size_t size;
	int result;

	memcpy(payload + 4, text, sizeof(text));
	result = vfio_client_post(client, VC_VERSION, 0, payload, sizeof(payload), NULL, 0);
	if (!result)
		result = vfio_client_reply(client, VC_VERSION, reply, sizeof(reply), &size);
	if (result)
		return result;
	/* No longer than the request, and text that ends. */
	if (size < 6 || size > sizeof(payload) || reply[size - 1] || reply[0] || reply[1] ||
	    !strstr(reply + 4, "capabilities"))
		return EPROTO;
	return 0;
}

int vfio_client_map(struct vfio_client *client, uint64_t address, uint64_t size, int fd,
		    uint64_t offset, uint32_t flags)
{
	uint8_t payload[32];

	put32(payload, sizeof(payload));
	put32(payload + 4, flags);
	put64(payload + 8, offset);
	put64(payload + 16, address);
	put64(payload + 24, size);
	return vfio_client_call(client, VC_DMA_MAP, payload, sizeof(payload), &fd, fd >= 0, NULL,
				0);
}

int vfio_client_unmap(struct vfio_client *client, uint64_t address, uint64_t size)
{
	uint8_t payload[24], reply[24];
	int result;

	put32(payload, sizeof(payload));
	put32(payload + 4, 0);
	put64(payload + 8, address);
	put64(payload + 16, size);
	result = vfio_client_call(client, VC_DMA_UNMAP, payload, sizeof(payload), NULL, 0, reply,
				  sizeof(reply));
	return !result && memcmp(payload, reply, sizeof(reply)) ? EPROTO : result;
}

int vfio_client_read(struct vfio_client *client, uint32_t region, uint64_t offset, void *data,
		     uint32_t count)
{
	uint8_t payload[16];
	uint8_t *reply = malloc(sizeof(payload) + count);
	int result = ENOMEM;

	if (!reply)
		return result;
	put64(payload, offset);
	put32(payload + 8, region);
	put32(payload + 12, count);
	result = vfio_client_call(client, VC_REGION_READ, payload, sizeof(payload), NULL, 0, reply,
				  sizeof(payload) + count);
	if (!result && memcmp(payload, reply, sizeof(payload)))
		result = EPROTO;
	if (!result)
		memcpy(data, reply + sizeof(payload), count);
	free(reply);
	return result;
}

static int post_write(struct vfio_client *client, uint32_t flags, uint32_t region, uint64_t offset,
		      const void *data, uint32_t count)
{
	uint8_t *payload = malloc(16 + (size_t)count);
	int result;

	if (!payload)
		return ENOMEM;
	put64(payload, offset);
	put32(payload + 8, region);
	put32(payload + 12, count);
	memcpy(payload + 16, data, count);
	result = vfio_client_post(client, VC_REGION_WRITE, flags, payload, 16 + count, NULL, 0);
	free(payload);
	return result;
}

int vfio_client_write(struct vfio_client *client, uint32_t region, uint64_t offset,
		      const void *data, uint32_t count)
{
	uint8_t reply[16];
	size_t size;
	int result = post_write(client, 0, region, offset, data, count);

	if (!result)
		result = vfio_client_reply(client, VC_REGION_WRITE, reply, sizeof(reply), &size);
	return !result && size != sizeof(reply) ? EPROTO : result;
}

int vfio_client_write_posted(struct vfio_client *client, uint32_t region, uint64_t offset,
			     const void *data, uint32_t count)
{
	return post_write(client, VC_NO_REPLY, region, offset, data, count);
}

int vfio_client_eventfds(struct vfio_client *client, uint32_t index, uint32_t start,
			 uint32_t count, const int *fds)
{
	uint8_t payload[20];

	put32(payload, sizeof(payload));
	put32(payload + 4, 0x24);
	put32(payload + 8, index);
	put32(payload + 12, start);
	put32(payload + 16, count);
	return vfio_client_call(client, VC_SET_IRQS, payload, sizeof(payload), fds,
				fds ? count : 0, NULL, 0);
}

int vfio_client_region(struct vfio_client *client, uint32_t index, uint64_t *size, uint32_t *flags)
{
	uint8_t payload[32] = { 0 }, reply[32];
	int result;

	put32(payload, 64);	/* QEMU asks with room for more */
	put32(payload + 8, index);
	result = vfio_client_call(client, VC_GET_REGION_INFO, payload, sizeof(payload), NULL, 0,
				  reply, sizeof(reply));
	if (result)
		return result;
	*flags = get32(reply + 4);
	memcpy(size, reply + 16, sizeof(*size));
	return get32(reply) == 32 && get32(reply + 8) == index ? 0 : EPROTO;
}

int vfio_client_irq(struct vfio_client *client, uint32_t index, uint32_t *count)
{
	uint8_t payload[16] = { 0 }, reply[16];
	int result;

	put32(payload, sizeof(payload));
	put32(payload + 8, index);
	result = vfio_client_call(client, VC_GET_IRQ_INFO, payload, sizeof(payload), NULL, 0,
				  reply, sizeof(reply));
	*count = result ? 0 : get32(reply + 12);
	return result;
}

int vfio_client_reset(struct vfio_client *client)
{
	return vfio_client_call(client, VC_RESET, NULL, 0, NULL, 0, NULL, 0);
}
