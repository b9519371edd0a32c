// SPDX-License-Identifier: MIT
/* The card behind vfio-user messages. See server.h. */
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus_guard.h"
#include "config_space.h"
#include "connection.h"
#include "dma_map.h"
#include "doorbells.h"
#include "interrupts.h"
#include "npu_model_thread.h"

struct counters {
	uint64_t messages, register_reads, register_writes, doorbells;
};

struct server {
	struct server_options options;
	struct npu_model_thread *model;
	struct doorbells *doorbells;	/* NULL: trapped */
	struct dma_map *dma;
	struct interrupts irqs;
	struct config_space config;
	struct connection connection;
	_Atomic bool bus_master;
	bool negotiated;
	bool told_missed;
	int listener, signals;
	struct counters counters;
};

static const char no_file[] =
	"npu-device: the guest's memory came without a file, so the device cannot reach it; "
	"give QEMU '-object memory-backend-memfd,id=m0,size=SIZE,share=on -machine "
	"memory-backend=m0'\n";

/* The model's host: any thread. */
static void *translate(void *host, uint64_t address, uint64_t size, bool write)
{
	struct server *server = host;

	if (!atomic_load(&server->bus_master))
		return NULL;
	return dma_map_translate(server->dma, address, size, write);
}

static void raise_irq(void *host, uint32_t vectors)
{
	struct server *server = host;

	interrupts_raise(&server->irqs, vectors);
}

static void configure(struct server *server)
{
	struct config_state state = config_space_state(&server->config);

	if (atomic_exchange(&server->bus_master, state.bus_master) && !state.bus_master)
		npu_model_thread_memory_changed(server->model);
	interrupts_configure(&server->irqs, &state);
}

/* When it returns, the device touches the client's memory no more and has no interrupt to send. */
static void reset(struct server *server)
{
	config_space_reset(&server->config);
	configure(server);
	npu_model_thread_reset(server->model);
	npu_model_thread_memory_changed(server->model);
	if (server->doorbells)
		doorbells_clear(server->doorbells);
	interrupts_reset(&server->irqs);
}

/* ------------------------------------------------------------------ regions */
static uint64_t region_bytes(const struct server *server, uint32_t region)
{
	switch (region) {
	case VFIO_USER_REGION_BAR0:
		return CONFIG_BAR0_BYTES;
	case VFIO_USER_REGION_BAR2:
		return CONFIG_BAR2_BYTES;
	case VFIO_USER_REGION_BAR4:
		return server->options.msi_only ? 0 : CONFIG_BAR4_BYTES;
	case VFIO_USER_REGION_CONFIG:
		return CONFIG_SPACE_BYTES;
	default:
		return 0;
	}
}

static int check_access(const struct server *server, const struct vfio_user_access *access)
{
	uint64_t size = region_bytes(server, access->region);

	if (access->offset > size || access->count > size - access->offset)
		return EINVAL;
	return 0;
}

static void put32(uint8_t *data, uint32_t value)
{
	for (unsigned int i = 0; i < 4; i++)
		data[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_value(const uint8_t *data, uint32_t count)
{
	uint64_t value = 0;

	while (count--)
		value = value << 8 | data[count];
	return value;
}

static bool is_word(const struct vfio_user_access *access)
{
	return access->count == 4 && access->offset % 4 == 0;
}

/* The pending bits and the table of MSI-X may be read in 64 bits, too. */
static void read_bar4(struct server *server, const struct vfio_user_access *access, uint8_t *data)
{
	uint32_t offset = (uint32_t)access->offset;

	if (access->offset % 4 || (access->count != 4 && access->count != 8))
		return;
	for (uint32_t i = 0; i < access->count; i += 4)
		put32(data + i, interrupts_bar_read(&server->irqs, offset + i));
}

static int read_region(struct server *server, const struct vfio_user_access *access, uint8_t *data)
{
	uint32_t offset = (uint32_t)access->offset;

	if (check_access(server, access))
		return EINVAL;
	memset(data, 0, access->count);
	switch (access->region) {
	case VFIO_USER_REGION_BAR0:
		server->counters.register_reads++;
		if (is_word(access))
			put32(data, npu_model_thread_register_read(server->model, offset));
		return 0;
	case VFIO_USER_REGION_BAR4:
		read_bar4(server, access, data);
		return 0;
	case VFIO_USER_REGION_CONFIG:
		config_space_read(&server->config, offset, access->count, data);
		return 0;
	default:
		/* Loads from doorbell pages answer 0. */
		return 0;
	}
}

static void write_doorbell(struct server *server, const struct vfio_user_access *access)
{
	uint32_t offset = (uint32_t)access->offset;

	server->counters.doorbells++;
	if (access->count != 1 && access->count != 2 && access->count != 4 && access->count != 8)
		return;
	npu_model_thread_doorbell(server->model, offset / NPU_DOORBELL_STRIDE,
				  offset % NPU_DOORBELL_STRIDE,
				  get_value(access->data, access->count), access->count);
}

static void write_bar4(struct server *server, const struct vfio_user_access *access)
{
	uint32_t offset = (uint32_t)access->offset;

	if (access->offset % 4 || (access->count != 4 && access->count != 8))
		return;
	for (uint32_t i = 0; i < access->count; i += 4)
		interrupts_bar_write(&server->irqs, offset + i,
				     (uint32_t)get_value(access->data + i, 4));
}

static void write_config(struct server *server, const struct vfio_user_access *access)
{
	unsigned int effects = config_space_write(&server->config, (size_t)access->offset,
						  access->count, access->data);

	if (effects & CONFIG_EFFECT_RESET)
		reset(server);
	else if (effects & CONFIG_EFFECT_STATE)
		configure(server);
}

static void write_register(struct server *server, const struct vfio_user_access *access)
{
	uint32_t offset = (uint32_t)access->offset;
	uint32_t value;

	server->counters.register_writes++;
	if (!is_word(access))
		return;
	value = (uint32_t)get_value(access->data, 4);
	if (offset == NPU_REG_TLB_INVALIDATE && server->options.stale_tlb) {
		/* An invalidation of nothing is counted all the same. */
		npu_model_thread_register_write(server->model, NPU_REG_TLB_BYTES_LO, 0);
		npu_model_thread_register_write(server->model, NPU_REG_TLB_BYTES_HI, 0);
		value |= 3;
	}
	npu_model_thread_register_write(server->model, offset, value);
}

static int write_region(struct server *server, const struct vfio_user_access *access)
{
	if (check_access(server, access))
		return EINVAL;
	switch (access->region) {
	case VFIO_USER_REGION_BAR0:
		write_register(server, access);
		return 0;
	case VFIO_USER_REGION_BAR2:
		write_doorbell(server, access);
		return 0;
	case VFIO_USER_REGION_BAR4:
		write_bar4(server, access);
		return 0;
	case VFIO_USER_REGION_CONFIG:
		write_config(server, access);
		return 0;
	default:
		return 0;
	}
}

static int write_multi(struct server *server, const struct vfio_user_request *request)
{
	int result = 0;

	/* Posted: one that is wrong is no reason to lose the others. */
	for (uint32_t i = 0; i < request->multi.count; i++) {
		struct vfio_user_access access;

		if (vfio_user_multi_entry(request, i, &access) || write_region(server, &access))
			result = EINVAL;
	}
	return result;
}

/* ------------------------------------------------------------------- memory */
static int map_memory(struct server *server, const struct vfio_user_request *request)
{
	int fd = server->connection.fd_count ? server->connection.fds[0] : -1;

	return dma_map_add(server->dma, request->map.address, request->map.size,
			   request->map.flags & VFIO_USER_MAP_READ,
			   request->map.flags & VFIO_USER_MAP_WRITE, fd, request->map.offset);
}

static int unmap_memory(struct server *server, const struct vfio_user_request *request)
{
	int result;

	if (request->unmap.flags & VFIO_USER_UNMAP_ALL) {
		result = dma_map_remove(server->dma, 0, UINT64_MAX);
		if (!result)
			result = dma_map_remove(server->dma, UINT64_MAX, 1);
	} else {
		result = dma_map_remove(server->dma, request->unmap.address, request->unmap.size);
	}
	npu_model_thread_memory_changed(server->model);
	return result;
}

/* A guest without reachable memory would only show by a firmware that cannot be read. */
static int check_memory(struct server *server)
{
	struct dma_map_stats stats = dma_map_stats(server->dma);

	if (stats.with_file || !stats.without_file)
		return 0;
	fputs(no_file, stderr);
	return EINVAL;
}

static void tell_missed(struct server *server)
{
	if (server->told_missed || !dma_map_stats(server->dma).missed)
		return;
	server->told_missed = true;
	fputs(no_file, stderr);
}

/* --------------------------------------------------------------- interrupts */
static bool irq_kind(const struct server *server, uint32_t index, enum interrupt_kind *kind)
{
	*kind = index == VFIO_USER_IRQ_MSI ? INTERRUPT_MSI : INTERRUPT_MSIX;
	return index == VFIO_USER_IRQ_MSI ||
	       (index == VFIO_USER_IRQ_MSIX && !server->options.msi_only);
}

static int set_irqs(struct server *server, const struct vfio_user_request *request)
{
	struct connection *connection = &server->connection;
	uint32_t start = request->irqs.start, count = request->irqs.count;
	enum interrupt_kind kind;
	int result;

	if (!irq_kind(server, request->irqs.index, &kind)) {
		/* There is none to take away either. */
		return request->irqs.index == VFIO_USER_IRQ_INTX && !count ? 0 : EINVAL;
	}
	if (!(request->irqs.flags & VFIO_USER_SET_TRIGGER) || start > NPU_IRQ_COUNT ||
	    count > NPU_IRQ_COUNT - start)
		return EINVAL;
	if (request->irqs.flags & VFIO_USER_SET_EVENTFD) {
		result = interrupts_assign(&server->irqs, kind, start, count,
					   connection->fd_count ? connection->fds : NULL);
		if (!result)
			connection->fd_count = 0;
		return result;
	}
	if (!count) {
		interrupts_disable(&server->irqs, kind);
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		if ((request->irqs.flags & VFIO_USER_SET_NONE) || request->irqs.data[i])
			interrupts_trigger(&server->irqs, kind, start + i);
	}
	return 0;
}

/* ------------------------------------------------------------------ replies */
static size_t answer_version(struct server *server, const struct vfio_user_request *request,
			     uint8_t *out)
{
	if (server->negotiated || request->version.major != VFIO_USER_MAJOR)
		return vfio_user_reply(out, &request->header, EINVAL);
	server->negotiated = true;
	return vfio_user_reply_version(out, request);
}

static size_t answer_device(struct server *server, const struct vfio_user_request *request,
			    uint8_t *out)
{
	int error = check_memory(server);

	if (error)
		return vfio_user_reply(out, &request->header, error);
	return vfio_user_reply_device(out, request, VFIO_USER_DEVICE_RESETS | VFIO_USER_DEVICE_PCI,
				      VFIO_USER_REGIONS, VFIO_USER_IRQS);
}

static size_t answer_region(struct server *server, const struct vfio_user_request *request,
			    uint8_t *out, int *fd)
{
	uint32_t index = request->info.index;
	uint64_t size = region_bytes(server, index);
	uint32_t flags = size ? VFIO_USER_REGION_READABLE | VFIO_USER_REGION_WRITABLE : 0;

	if (index >= VFIO_USER_REGIONS)
		return vfio_user_reply(out, &request->header, EINVAL);
	if (index == VFIO_USER_REGION_BAR2 && server->doorbells) {
		flags |= VFIO_USER_REGION_MMAP;
		*fd = doorbells_fd(server->doorbells);
	}
	return vfio_user_reply_region(out, request, flags, size);
}

static size_t answer_irq(struct server *server, const struct vfio_user_request *request,
			 uint8_t *out)
{
	enum interrupt_kind kind;

	if (irq_kind(server, request->info.index, &kind))
		return vfio_user_reply_irq(out, request,
					   VFIO_USER_IRQ_EVENTFD | VFIO_USER_IRQ_NORESIZE,
					   NPU_IRQ_COUNT);
	if (request->info.index <= VFIO_USER_IRQ_MSIX)
		return vfio_user_reply_irq(out, request, 0, 0);
	return vfio_user_reply(out, &request->header, EINVAL);
}

/* Serves a request that is well formed; the length of the reply is returned. */
static size_t answer(struct server *server, const struct vfio_user_request *request, uint8_t *out,
		     int *fd)
{
	const struct vfio_user_header *header = &request->header;
	int error;

	switch (header->command) {
	case VFIO_USER_VERSION:
		return answer_version(server, request, out);
	case VFIO_USER_DMA_MAP:
		return vfio_user_reply(out, header, map_memory(server, request));
	case VFIO_USER_DMA_UNMAP:
		error = unmap_memory(server, request);
		return error ? vfio_user_reply(out, header, error) :
			       vfio_user_reply_unmap(out, request);
	case VFIO_USER_DEVICE_GET_INFO:
		return answer_device(server, request, out);
	case VFIO_USER_DEVICE_GET_REGION_INFO:
		return answer_region(server, request, out, fd);
	case VFIO_USER_DEVICE_GET_IRQ_INFO:
		return answer_irq(server, request, out);
	case VFIO_USER_DEVICE_SET_IRQS:
		return vfio_user_reply(out, header, set_irqs(server, request));
	case VFIO_USER_REGION_READ:
		error = read_region(server, &request->access, vfio_user_read_data(out));
		return error ? vfio_user_reply(out, header, error) :
			       vfio_user_reply_read(out, request);
	case VFIO_USER_REGION_WRITE:
		error = write_region(server, &request->access);
		return error ? vfio_user_reply(out, header, error) :
			       vfio_user_reply_write(out, request);
	case VFIO_USER_DEVICE_RESET:
		reset(server);
		return vfio_user_reply(out, header, 0);
	case VFIO_USER_REGION_WRITE_MULTI:
		return vfio_user_reply(out, header, write_multi(server, request));
	default:
		return vfio_user_reply(out, header, ENOTSUP);
	}
}

static enum connection_result serve(struct server *server, const struct vfio_user_header *header)
{
	struct connection *connection = &server->connection;
	struct vfio_user_request request;
	size_t size;
	int fd = -1;
	int error;

	server->counters.messages++;
	error = vfio_user_parse_request(header, connection->in + VFIO_USER_HEADER_BYTES,
					connection->fd_count, &request);
	if (!error && !server->negotiated && header->command != VFIO_USER_VERSION)
		error = EINVAL;
	if (error)
		size = vfio_user_reply(connection->out, header, error);
	else
		size = answer(server, &request, connection->out, &fd);
	tell_missed(server);
	if (header->flags & VFIO_USER_NO_REPLY)
		return CONNECTION_OK;
	return connection_send(connection, size, fd);
}

/* -------------------------------------------------------------- connections */
static void print_counters(struct server *server)
{
	const struct counters *counters = &server->counters;

	fprintf(stderr,
		"npu-device: messages %" PRIu64 " register-reads %" PRIu64
		" register-writes %" PRIu64 " doorbells %" PRIu64 " interrupts %" PRIu64 "\n",
		counters->messages, counters->register_reads, counters->register_writes,
		counters->doorbells, interrupts_sent(&server->irqs));
}

/* A signal came; true when it says to stop. */
static bool take_signal(void *opaque)
{
	struct server *server = opaque;
	struct signalfd_siginfo info;

	if (read(server->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGUSR1) {
		print_counters(server);
		return false;
	}
	return true;
}

/* Until the client has gone, or the server is to stop. */
static enum connection_result converse(struct server *server)
{
	struct vfio_user_header header;
	enum connection_result result;

	do {
		result = connection_receive(&server->connection, &header);
		if (result == CONNECTION_OK)
			result = serve(server, &header);
	} while (result == CONNECTION_OK);
	if (result == CONNECTION_BROKEN)
		fputs("npu-device: the client's message is no vfio-user message; "
		      "it is disconnected\n", stderr);
	return result;
}

static void forget_client(struct server *server)
{
	reset(server);
	npu_model_thread_power_cycle(server->model);
	dma_map_clear(server->dma);
	interrupts_drop(&server->irqs);
	connection_drop_fds(&server->connection);
	close(server->connection.socket);
	server->connection.socket = -1;
	server->negotiated = false;
	server->told_missed = false;
}

int server_run(struct server *server)
{
	struct pollfd fds[2] = {
		{ .fd = server->listener, .events = POLLIN },
		{ .fd = server->signals, .events = POLLIN },
	};
	enum connection_result result = CONNECTION_CLOSED;

	while (result != CONNECTION_STOPPED) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			fprintf(stderr, "npu-device: cannot wait for clients: %s\n",
				strerror(errno));
			return -1;
		}
		if (fds[1].revents && take_signal(server))
			return 0;
		if (!fds[0].revents)
			continue;
		server->connection.socket = accept4(server->listener, NULL, NULL,
						    SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (server->connection.socket < 0)
			continue;
		result = converse(server);
		forget_client(server);
	}
	return 0;
}

/* More than the model takes, so that what is too long is refused there. */
#define CONFIG_BYTES	4096

static int block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The model takes the script as a key of its configuration. */
static struct npu_model_thread *create_model(struct server *server, char *error, size_t error_size)
{
	const struct npu_model_host_ops ops = { .translate = translate, .irq = raise_irq };
	const struct server_options *options = &server->options;
	const char *config = options->config ? options->config : "npu-v3";
	char whole[CONFIG_BYTES];

	snprintf(whole, sizeof(whole), "%s%s%s", config,
		 !options->fault ? "" : strchr(config, '?') ? "&fault=" : "?fault=",
		 options->fault ? options->fault : "");
	return npu_model_thread_create(whole, &ops, server, NPU_MODEL_THREAD_SPIN_DEFAULT, error,
				       error_size);
}

struct server *server_create(const struct server_options *options, char *error, size_t error_size)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server) {
		snprintf(error, error_size, "not enough memory");
		return NULL;
	}
	server->options = *options;
	server->listener = -1;
	server->connection.socket = -1;
	config_space_init(&server->config, options->msi_only);
	interrupts_init(&server->irqs);
	bus_guard_install();
	server->signals = block_signals();
	server->connection.wakeup = server->signals;
	server->connection.wake = take_signal;
	server->connection.owner = server;
	server->dma = dma_map_create();
	if (server->signals < 0 || !server->dma) {
		snprintf(error, error_size, "not enough memory or file descriptors");
		goto failed;
	}
	server->model = create_model(server, error, error_size);
	if (!server->model)
		goto failed;
	if (options->mapped_doorbells) {
		server->doorbells = doorbells_create(server->model, error, error_size);
		if (!server->doorbells)
			goto failed;
	}
	server->listener = connection_listen(options->socket, error, error_size);
	if (server->listener < 0)
		goto failed;
	return server;
failed:
	server_destroy(server);
	return NULL;
}

void server_destroy(struct server *server)
{
	if (!server)
		return;
	if (server->listener >= 0) {
		unlink(server->options.socket);
		close(server->listener);
	}
	doorbells_destroy(server->doorbells);
	npu_model_thread_destroy(server->model);
	dma_map_destroy(server->dma);
	interrupts_release(&server->irqs);
	if (server->signals >= 0)
		close(server->signals);
	free(server);
}
