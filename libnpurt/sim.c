// SPDX-License-Identifier: MIT
/* Opening a `sim:` device: memory, firmware, what it is. */
#include "sim.h"
#include "thread.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "firmware.h"
#include "npu/npu_firmware.h"
#include "sim_options.h"

#define MEMORY_MIB_LITTLE 256u
#define FIRMWARE_BYTES_MAX (1u << 20)
#define BOOT_SECONDS 30
#define POLL_US 50

/* Before the device has been touched: a recording begins at power on. */
static int begin_arrivals(struct sim *sim, const struct sim_options *options)
{
	char error[NPURT_ERROR_BYTES / 2] = "";
	int ret = 0;

	if (*options->record)
		ret = npu_model_thread_record(sim->model, options->record, error, sizeof(error));
	else if (*options->replay)
		ret = npu_model_thread_replay(sim->model, options->replay, options->wait_s,
					      error, sizeof(error));
	if (ret)
		return npurt_fail(ret, "sim: %s", error);
	sim->records = *options->record;
	sim->replays = *options->replay;
	return 0;
}

/* Whether a replay was given up; then @sentence says why. */
static bool replay_lapsed(struct sim *sim, char sentence[NPURT_ERROR_BYTES])
{
	char what[NPURT_ERROR_BYTES / 2];

	if (!sim->replays || !npu_model_thread_replay_lapsed(sim->model, what, sizeof(what)))
		return false;
	snprintf(sentence, NPURT_ERROR_BYTES, "sim: this is not the run that was recorded: %s",
		 what);
	return true;
}

int sim_check_replay(struct sim *sim)
{
	char sentence[NPURT_ERROR_BYTES];

	return replay_lapsed(sim, sentence) ? npurt_fail(-EIO, "%s", sentence) : 0;
}

/* ----------------------------------------------------------------- firmware */

static int read_firmware_file(const char *path, unsigned char **image, size_t *bytes)
{
	unsigned char *data = NULL;
	struct stat stat;
	ssize_t got;
	int fd, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &stat)) {
		ret = npurt_fail(-errno, "sim: NPU_FIRMWARE=%s cannot be opened: %s", path,
				 strerror(errno));
		goto out;
	}
	if (!S_ISREG(stat.st_mode) || stat.st_size <= 0 || stat.st_size > FIRMWARE_BYTES_MAX) {
		ret = npurt_fail(-EINVAL, "sim: NPU_FIRMWARE=%s is not a file of 1 to %u bytes",
				 path, FIRMWARE_BYTES_MAX);
		goto out;
	}
	data = malloc((size_t)stat.st_size);
	if (!data) {
		ret = npurt_fail(-ENOMEM, "sim: no memory for the firmware");
		goto out;
	}
	got = pread(fd, data, (size_t)stat.st_size, 0);
	if (got != stat.st_size) {
		ret = npurt_fail(-EIO, "sim: NPU_FIRMWARE=%s cannot be read", path);
		goto out;
	}
	*image = data;
	*bytes = (size_t)got;
	data = NULL;
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return ret;
}

static const char *boot_refusal(uint32_t status)
{
	static const char *const reasons[] = {
		[NPU_BOOT_STATUS_RESET] = "the boot ROM did not answer",
		[NPU_BOOT_STATUS_UNREADABLE] = "it cannot read the image",
		[NPU_BOOT_STATUS_TRUNCATED] = "the image is shorter than a header",
		[NPU_BOOT_STATUS_BAD_MAGIC] = "it is not a firmware image",
		[NPU_BOOT_STATUS_BAD_HEADER_VERSION] = "the header's version is unknown",
		[NPU_BOOT_STATUS_BAD_HEADER_SIZE] = "the header's size is wrong",
		[NPU_BOOT_STATUS_BAD_HARDWARE] = "it was made for other hardware",
		[NPU_BOOT_STATUS_BAD_SIZE] = "the payload's size is not what follows the header",
		[NPU_BOOT_STATUS_BAD_LOAD] = "the payload does not fit where it wants to go",
		[NPU_BOOT_STATUS_BAD_ENTRY] = "the entry lies outside the payload",
		[NPU_BOOT_STATUS_BAD_VERSION] = "the version is not a text",
		[NPU_BOOT_STATUS_BAD_RESERVED] = "a reserved byte is set",
		[NPU_BOOT_STATUS_BAD_DIGEST] = "the SHA-256 differs: the image is damaged",
	};

	if (status >= sizeof(reasons) / sizeof(reasons[0]) || !reasons[status])
		return "for a reason this library does not know";
	return reasons[status];
}

/* Waits until a register is not @while_value any more, or the control core has stopped. */
static uint32_t poll_register(struct sim *sim, uint32_t offset, uint32_t while_value)
{
	int64_t deadline = npurt_now() + BOOT_SECONDS * NPURT_NS_PER_SECOND;
	uint32_t value = sim_read(sim, offset);

	while (value == while_value && npurt_now() < deadline && !sim_is_dead(sim)) {
		usleep(POLL_US);
		value = sim_read(sim, offset);
	}
	return value;
}

static int start_firmware(struct sim *sim, const char *origin, uint64_t dma, size_t bytes)
{
	uint32_t status, state;

	sim_write(sim, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)dma);
	sim_write(sim, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(dma >> 32));
	sim_write(sim, NPU_REG_BOOT_SIZE, (uint32_t)bytes);
	sim_write(sim, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	status = poll_register(sim, NPU_REG_BOOT_STATUS, NPU_BOOT_STATUS_RESET);
	/* A device whose firmware died is stopped at once, and knows of no start any more. */
	if (status != NPU_BOOT_STATUS_RUNNING && !sim_is_dead(sim))
		return npurt_fail(-EIO,
				  "sim: the device refuses the firmware (%s): %s (boot status %u)",
				  origin, boot_refusal(status), status);
	state = poll_register(sim, NPU_REG_FW_STATE, NPU_FW_STATE_RESET);
	if (state == NPU_FW_STATE_PANIC || sim_is_dead(sim))
		return npurt_fail(-EIO, "sim: the firmware (%s) died while starting", origin);
	if (state != NPU_FW_STATE_READY)
		return npurt_fail(-EIO, "sim: the firmware (%s) did not become ready within 30 s",
				  origin);
	return 0;
}

static int greet_firmware(struct sim *sim)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_HELLO) };
	int ret;

	message.argument[0] = htole32(NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR);
	ret = sim_message(sim, &message, "greeting the firmware");
	if (ret)
		return ret;
	sim->firmware_abi = le32toh(message.argument[0]);
	return 0;
}

static int ask_for_sleep(struct sim *sim)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_POWER) };

	if (!sim->sleep_us)
		return 0;
	message.argument[0] = htole32(sim->sleep_us);
	return sim_message(sim, &message, "asking for sleep");
}

static int ask_for_points(struct sim *sim)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_CLOCK) };

	if (!sim->slowest)
		return 0;
	message.argument[0] = htole32(sim->fastest);
	message.argument[1] = htole32(sim->slowest);
	return sim_message(sim, &message, "asking for points of the clock");
}

static const char *firmware_file(void)
{
	const char *path = secure_getenv("NPU_FIRMWARE");

	return path && *path ? path : NULL;
}

/* Into the device's memory, where it stays: it is needed again after each reset. */
static int load_firmware(struct sim *sim)
{
	const char *path = firmware_file();
	const unsigned char *image = npurt_firmware;
	size_t bytes = npurt_firmware_bytes;
	unsigned char *from_file = NULL;
	int ret = 0;

	if (path) {
		ret = read_firmware_file(path, &from_file, &bytes);
		if (ret)
			return ret;
		image = from_file;
	}
	sim->firmware_dma =
		sim_pages_alloc(sim, (bytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE, SIM_PAGE);
	if (sim->firmware_dma) {
		memcpy(sim_pointer(sim, sim->firmware_dma), image, bytes);
		sim->firmware_bytes = bytes;
	} else {
		ret = npurt_fail(-ENOMEM, "sim: no device memory for the firmware");
	}
	free(from_file);
	return ret;
}

static void note_version(struct sim *sim)
{
	const char *image = sim_pointer(sim, sim->firmware_dma);

	if (sim->firmware_bytes >= sizeof(struct npu_fw_header))
		memcpy(sim->firmware_version, image + offsetof(struct npu_fw_header, version),
		       sizeof(sim->firmware_version) - 1);
}

int sim_boot(struct sim *sim)
{
	const char *path = firmware_file();
	int ret = sim->firmware_dma ? 0 : load_firmware(sim);

	if (!ret)
		ret = start_firmware(sim, path ? path : "built in", sim->firmware_dma,
				     sim->firmware_bytes);
	if (ret)
		return ret;
	note_version(sim);
	ret = greet_firmware(sim);
	if (!ret)
		ret = ask_for_sleep(sim);
	return ret ? ret : ask_for_points(sim);
}

/* -------------------------------------------------------------- information */

static void sim_get_info(struct npurt_backend *backend, struct npurt_device_info *info)
{
	struct sim *sim = sim_of(backend);
	uint32_t word, i;

	for (i = 0; i < sizeof(info->config); i += 4) {
		word = htole32(sim_read(sim, NPU_REG_CONFIG_NAME + i));
		memcpy(info->config + i, &word, sizeof(word));
	}
	info->config[sizeof(info->config) - 1] = 0;
	snprintf(info->driver, sizeof(info->driver), "libnpurt sim %s", NPU_VERSION);
	memcpy(info->firmware_version, sim->firmware_version, sizeof(info->firmware_version));
	info->firmware_abi = sim->firmware_abi;
	info->hardware_version = sim_read(sim, NPU_REG_HW_VERSION);
	info->clusters = sim_read(sim, NPU_REG_CLUSTERS);
	info->mac_channels = sim_read(sim, NPU_REG_MAC_CHANNELS);
	info->mac_depth = sim_read(sim, NPU_REG_MAC_DEPTH);
	info->macs_per_cluster = info->mac_channels * info->mac_depth;
	info->local_sram_bytes = sim_read(sim, NPU_REG_LOCAL_BYTES);
	info->global_sram_bytes = sim_read(sim, NPU_REG_GLOBAL_BYTES);
	info->accumulator_bytes = sim_read(sim, NPU_REG_ACC_BYTES);
	info->dma_channels = sim_read(sim, NPU_REG_DMA_CHANNELS);
	info->dram_bytes_per_cycle = sim_read(sim, NPU_REG_DRAM_BYTES_PER_CYCLE);
	info->dram_latency_cycles = sim_read(sim, NPU_REG_DRAM_LATENCY);
	info->vector_bytes = sim_read(sim, NPU_REG_VECTOR_BYTES);
	info->output_results = sim_read(sim, NPU_REG_OUT_RESULTS);
	info->queues = sim->queues;
	info->slots = sim_read(sim, NPU_REG_SLOTS);
	info->contexts = sim->contexts;
	info->semaphores_per_context = sim->semaphores;
	info->clock_hz = sim_read(sim, NPU_REG_CLOCK_HZ);
}

static uint64_t read_counter(struct sim *sim, uint32_t low_offset)
{
	/* The low word first: reading it latches the high one. Nobody may come between. */
	uint64_t low = sim_read(sim, low_offset);

	return (uint64_t)sim_read(sim, low_offset + 4) << 32 | low;
}

static int sim_get_counters(struct npurt_backend *backend, struct npurt_device_counters *counters)
{
	struct sim *sim = sim_of(backend);

	pthread_mutex_lock(&sim->context_lock);
	counters->time_cycles = read_counter(sim, NPU_REG_TIME_LO);
	counters->tasks = read_counter(sim, NPU_REG_COUNTER_TASKS_LO);
	counters->mac_cycles = read_counter(sim, NPU_REG_COUNTER_MAC_LO);
	counters->vector_cycles = read_counter(sim, NPU_REG_COUNTER_VECTOR_LO);
	counters->dma_cycles = read_counter(sim, NPU_REG_COUNTER_DMA_LO);
	counters->dram_read_bytes = read_counter(sim, NPU_REG_COUNTER_DRAM_READ_LO);
	counters->dram_write_bytes = read_counter(sim, NPU_REG_COUNTER_DRAM_WRITE_LO);
	counters->tlb_misses = read_counter(sim, NPU_REG_COUNTER_TLB_MISS_LO);
	pthread_mutex_unlock(&sim->context_lock);
	return 0;
}

/* ----------------------------------------------------------- opening, closing */

static void sim_close(struct npurt_backend *backend)
{
	struct sim *sim = sim_of(backend);
	char sentence[NPURT_ERROR_BYTES];

	/* The model raises no interrupt after it is gone, and needs the memory until then. */
	if (sim->model)
		sim_write(sim, NPU_REG_IRQ_ENABLE, 0);
	sim_events_fini(sim);
	if (sim->records && npu_model_thread_record_end(sim->model))
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR,
			       "sim: the recording is not complete: its file could not be written");
	if (replay_lapsed(sim, sentence))
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR, "%s", sentence);
	npu_model_thread_destroy(sim->model);
	sim_memory_fini(sim);
	pthread_mutex_destroy(&sim->memory_lock);
	pthread_mutex_destroy(&sim->context_lock);
	pthread_mutex_destroy(&sim->tlb_lock);
	pthread_mutex_destroy(&sim->mailbox_lock);
	pthread_mutex_destroy(&sim->reply_lock);
	pthread_mutex_destroy(&sim->handle_lock);
	pthread_mutex_destroy(&sim->life_lock);
	pthread_mutex_destroy(&sim->event_lock);
	pthread_cond_destroy(&sim->reply_changed);
	free(sim);
}

static const struct npurt_backend_ops sim_ops = {
	.close = sim_close,
	.get_info = sim_get_info,
	.get_counters = sim_get_counters,
	.firmware_log = sim_firmware_log,
	.memory_alloc = sim_memory_alloc,
	.memory_alloc_shared = sim_memory_alloc_shared,
	.memory_export = sim_memory_export,
	.memory_import = sim_memory_import,
	.memory_wrap = sim_memory_wrap,
	.memory_free = sim_memory_free,
	.memory_clear = sim_memory_clear,
	.context_create = sim_context_create,
	.context_destroy = sim_context_destroy,
	.bind = sim_bind,
	.unbind = sim_unbind,
	.queue_create = sim_queue_create,
	.queue_destroy = sim_queue_destroy,
	.doorbell = sim_doorbell,
	.wait = sim_wait,
	.is_lost = sim_is_lost,
	.why_lost = sim_why_lost,
	.last_fault = sim_last_fault,
};

static struct sim *sim_new(const struct npurt_log *log)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->base.ops = &sim_ops;
	sim->base.log = log;
	pthread_mutex_init(&sim->memory_lock, NULL);
	pthread_mutex_init(&sim->context_lock, NULL);
	pthread_mutex_init(&sim->tlb_lock, NULL);
	pthread_mutex_init(&sim->mailbox_lock, NULL);
	pthread_mutex_init(&sim->reply_lock, NULL);
	pthread_mutex_init(&sim->handle_lock, NULL);
	pthread_mutex_init(&sim->life_lock, NULL);
	pthread_mutex_init(&sim->event_lock, NULL);
	npurt_cond_init(&sim->reply_changed);
	return sim;
}

static int make_model(struct sim *sim, const struct sim_options *options)
{
	static const struct npu_model_host_ops ops = {
		.translate = sim_translate,
		.irq = sim_irq,
	};
	char error[NPURT_ERROR_BYTES / 2] = "";

	sim->model = npu_model_thread_create(options->config, &ops, sim, options->spin_us, error,
					     sizeof(error));
	if (!sim->model)
		return npurt_fail(-EINVAL, "sim: no device of configuration '%s': %s",
				  options->config, error);
	sim->small_pages = options->small_pages;
	sim->patience = options->patience_s;
	sim->sleep_us = options->sleep_us;
	sim->fastest = options->fastest;
	sim->slowest = options->slowest;
	sim->contexts = sim_read(sim, NPU_REG_CONTEXTS);
	sim->queues = sim_read(sim, NPU_REG_QUEUES);
	sim->semaphores = sim_read(sim, NPU_REG_SEMAPHORES);
	if (sim->contexts > SIM_CONTEXTS_MAX)
		sim->contexts = SIM_CONTEXTS_MAX;
	if (sim->queues > SIM_QUEUES_MAX)
		sim->queues = SIM_QUEUES_MAX;
	return 0;
}

/*
 * The default is more than anybody needs, as unused pages cost nothing; where limits or strict
 * overcommitment forbid that much, less will do.
 */
static int make_memory(struct sim *sim, const struct sim_options *options)
{
	uint32_t mib = options->memory_mib;
	int ret = sim_memory_init(sim, (uint64_t)mib << 20);

	while (ret == -ENOMEM && !options->memory_named && mib / 2 >= MEMORY_MIB_LITTLE) {
		mib /= 2;
		ret = sim_memory_init(sim, (uint64_t)mib << 20);
	}
	return ret;
}

int npurt_sim_open(const char *config, const struct npurt_log *log, struct npurt_backend **backend)
{
	struct sim_options options;
	struct sim *sim;
	int ret;

	ret = sim_options_parse(config, &options);
	if (ret)
		return ret;
	sim = sim_new(log);
	if (!sim)
		return npurt_fail(-ENOMEM, "sim: no memory for a device");
	ret = make_memory(sim, &options);
	if (!ret)
		ret = make_model(sim, &options);
	if (!ret)
		ret = begin_arrivals(sim, &options);
	if (!ret)
		ret = sim_contexts_init(sim);
	if (!ret)
		ret = sim_events_init(sim);
	if (!ret)
		ret = sim_boot(sim);
	if (ret) {
		sim_close(&sim->base);
		return ret;
	}
	*backend = &sim->base;
	return 0;
}
