// SPDX-License-Identifier: MIT
/*
 * server MODEL.npu SOCKET [poll]: runs a model for whoever connects to a Unix socket.
 *
 * A client sends the elements of the model's input and gets those of its output, as often as it
 * likes. One thread serves all clients: it waits for their bytes and for their tasks in one loop, by
 * io_uring, or by poll() where that is refused or `poll` is said.
 * cc server.c -o server $(pkg-config --cflags --libs npurt)
 */
#include <errno.h>
#include <npurt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AGAIN_NS 1000000

struct server {
	struct npurt_loop *loop;
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_tensor_info input, output;
	int listener, signals;
	int stop;
};

struct client {
	struct server *server;
	int fd;
	struct npurt_binding binding[2];
	struct npurt_future *future;
	unsigned char *in, *out; /* the host's elements */
	size_t have; /* bytes of them */
};

static void on_bytes(void *data, int result);
static void on_end(void *data, int result);

static void complain(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, npurt_last_error());
}

static void hang_up(struct client *client)
{
	close(client->fd);
	npurt_future_release(client->future);
	npurt_buffer_free(client->binding[0].buffer);
	npurt_buffer_free(client->binding[1].buffer);
	free(client->in);
	free(client->out);
	free(client);
}

static void wait_for_bytes(struct client *client)
{
	client->have = 0;
	if (npurt_loop_add_fd(client->server->loop, client->fd, POLLIN, on_bytes, client))
		hang_up(client);
}

/* Here nothing may wait: a queue that is full is tried again later. */
static void submit(void *data, int result)
{
	const struct npurt_run_options options = { .size = sizeof(options),
						   .policy = NPURT_POLICY_TRY };
	struct client *client = data;
	struct npurt_loop *loop = client->server->loop;

	if (!result)
		result = npurt_run_submit(client->server->model, client->binding, 2, &options,
					  &client->future);
	if (!result)
		result = npurt_loop_add_future(loop, client->future, NPURT_FOREVER, on_end, client);
	else if (result == -EAGAIN)
		result = npurt_loop_add_timer(loop, AGAIN_NS, submit, client);
	if (result)
		hang_up(client);
}

static void on_bytes(void *data, int result)
{
	struct client *client = data;
	const struct npurt_tensor_info *input = &client->server->input;
	struct npurt_buffer *buffer = client->binding[0].buffer;
	ssize_t n = 0;

	if (result > 0)
		n = read(client->fd, client->in + client->have, input->host_bytes - client->have);
	if (n <= 0) {
		hang_up(client);
		return;
	}
	client->have += (size_t)n;
	if (client->have < input->host_bytes) {
		if (npurt_loop_add_fd(client->server->loop, client->fd, POLLIN, on_bytes, client))
			hang_up(client);
		return;
	}
	submit(client,
	       npurt_tensor_from_host(input, client->in, client->have, npurt_buffer_map(buffer),
				      npurt_buffer_bytes(buffer)));
}

static void on_end(void *data, int result)
{
	struct client *client = data;
	const struct npurt_tensor_info *output = &client->server->output;
	struct npurt_buffer *buffer = client->binding[1].buffer;

	if (!result)
		result = npurt_future_wait(client->future, 0);
	if (!result)
		result = npurt_tensor_to_host(output, npurt_buffer_map(buffer),
					      npurt_buffer_bytes(buffer), client->out,
					      output->host_bytes);
	if (result && result != -ECANCELED)
		complain("a client's task");
	/* Who does not read what it asked for is hung up on. */
	if (result || send(client->fd, client->out, output->host_bytes,
			   MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)output->host_bytes) {
		hang_up(client);
		return;
	}
	npurt_future_release(client->future);
	client->future = NULL;
	wait_for_bytes(client);
}

static struct client *make_client(struct server *server, int fd)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client) {
		close(fd);
		return NULL;
	}
	client->server = server;
	client->fd = fd;
	client->in = malloc(server->input.host_bytes);
	client->out = malloc(server->output.host_bytes);
	if (client->in && client->out &&
	    !npurt_buffer_alloc(server->context, server->input.device_bytes, 0,
				&client->binding[0].buffer) &&
	    !npurt_buffer_alloc(server->context, server->output.device_bytes, 0,
				&client->binding[1].buffer))
		return client;
	complain("a client");
	hang_up(client);
	return NULL;
}

static void on_connection(void *data, int result)
{
	struct server *server = data;
	struct client *client = NULL;
	int fd;

	if (result < 0)
		return;
	fd = accept(server->listener, NULL, NULL);
	if (fd >= 0)
		client = make_client(server, fd);
	if (client)
		wait_for_bytes(client);
	if (npurt_loop_add_fd(server->loop, server->listener, POLLIN, on_connection, server)) {
		complain("connections");
		server->stop = 1;
	}
}

static void on_signal(void *data, int result)
{
	struct server *server = data;

	(void)result;
	server->stop = 1;
}

static int open_model(struct server *server, struct npurt_device *device, const char *path)
{
	struct npurt_model_info model = { .size = sizeof(model) };

	server->input.size = sizeof(server->input);
	server->output.size = sizeof(server->output);
	if (npurt_context_create(device, NULL, &server->context) ||
	    npurt_model_load(server->context, path, &server->model) ||
	    npurt_model_get_info(server->model, &model) ||
	    npurt_model_get_input(server->model, 0, &server->input) ||
	    npurt_model_get_output(server->model, 0, &server->output)) {
		complain(path);
		return 1;
	}
	if (model.inputs != 1 || model.outputs != 1) {
		fprintf(stderr, "server: %s has not one input and one output\n", path);
		return 1;
	}
	return 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64))
		return -1;
	return fd;
}

static int open_loop(struct server *server, int by_poll)
{
	const struct npurt_loop_options options = { .size = sizeof(options),
						    .kind = by_poll ? NPURT_LOOP_POLL : 0 };

	if (npurt_loop_create(&options, &server->loop) ||
	    npurt_loop_add_fd(server->loop, server->listener, POLLIN, on_connection, server) ||
	    npurt_loop_add_fd(server->loop, server->signals, POLLIN, on_signal, server)) {
		complain("a loop");
		return 1;
	}
	printf("serving by %s\n",
	       npurt_loop_get_kind(server->loop) == NPURT_LOOP_URING ? "io_uring" : "poll");
	fflush(stdout);
	return 0;
}

static int serve(struct server *server, const char *path, int by_poll)
{
	sigset_t ends;
	int status;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	server->signals = signalfd(-1, &ends, SFD_CLOEXEC);
	server->listener = listen_at(path);
	if (server->signals < 0 || server->listener < 0) {
		perror(path);
		return 1;
	}
	status = open_loop(server, by_poll);
	while (!status && !server->stop)
		status = npurt_loop_run(server->loop, NPURT_FOREVER) < 0;
	/* Clients that are left are hung up on by their callbacks. */
	npurt_loop_destroy(server->loop);
	unlink(path);
	close(server->listener);
	close(server->signals);
	return status;
}

int main(int argc, char **argv)
{
	struct server server = { 0 };
	struct npurt_device *device;
	int status;

	if (argc != 3 && (argc != 4 || strcmp(argv[3], "poll") != 0)) {
		fprintf(stderr, "usage: server MODEL.npu SOCKET [poll]\n");
		return 2;
	}
	if (npurt_open(NULL, &device)) {
		complain("no device");
		return 1;
	}
	status = open_model(&server, device, argv[1]) || serve(&server, argv[2], argc == 4);
	npurt_model_unload(server.model);
	npurt_context_destroy(server.context);
	npurt_close(device);
	return status;
}
