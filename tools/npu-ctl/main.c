/* SPDX-License-Identifier: MIT */
/* npu-ctl: what devices there are and what they are. */
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "npurt.h"

#define SCHEMA 1

static const char usage[] =
	"usage: npu-ctl list [--json]\n"
	"       npu-ctl info [--device DEV] [--json]\n"
	"       npu-ctl log [--device DEV]\n"
	"Shows the devices, what one of them is, and its firmware's log.\n"
	"\n"
	"  --device DEV   sim:, sim:lowpower-v3, accelN, /dev/accel/accelN (default: the first one)\n"
	"  --help, --version\n";

struct arguments {
	const char *command, *device;
	bool json;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' }, { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	    { "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			arguments->device = optarg;
			break;
		case 'j':
			arguments->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'v':
			puts("npu-ctl " NPU_VERSION);
			return 0;
		default:
			fputs("npu-ctl: see 'npu-ctl --help'\n", stderr);
			return 2;
		}
	}
	if (argc - optind != 1) {
		fputs("npu-ctl: one command is wanted: list, info or log; see 'npu-ctl --help'\n", stderr);
		return 2;
	}
	arguments->command = argv[optind];
	return -1;
}

static void print_json(struct json_object *root)
{
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}

static int list(const struct arguments *arguments)
{
	int count = npurt_list(NULL, sizeof(struct npurt_device_entry), 0);
	struct npurt_device_entry *entries = calloc(count > 0 ? (size_t)count : 1, sizeof(*entries));
	struct json_object *root, *devices;

	if (count < 0 || !entries) {
		fprintf(stderr, "npu-ctl: no list of devices: %s\n", npurt_last_error());
		free(entries);
		return 1;
	}
	count = npurt_list(entries, sizeof(*entries), (size_t)count);
	root = json_object_new_object();
	devices = json_object_new_array();
	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	for (int i = 0; i < count; i++) {
		struct json_object *entry = json_object_new_object();

		json_object_object_add(entry, "name", json_object_new_string(entries[i].name));
		json_object_object_add(entry, "description",
				       json_object_new_string(entries[i].description));
		json_object_array_add(devices, entry);
		if (!arguments->json)
			printf("%-20s %s\n", entries[i].name, entries[i].description);
	}
	json_object_object_add(root, "devices", devices);
	free(entries);
	if (!arguments->json) {
		json_object_put(root);
		return 0;
	}
	print_json(root);
	return 0;
}

static void info_json(const struct npurt_device_info *info)
{
	struct json_object *root = json_object_new_object(), *firmware = json_object_new_object();
	char abi[32];

	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	json_object_object_add(root, "device", json_object_new_string(info->name));
	json_object_object_add(root, "config", json_object_new_string(info->config));
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "clusters", info->clusters },
		{ "macs_per_cluster", info->macs_per_cluster },
		{ "local_sram_bytes", info->local_sram_bytes },
		{ "global_sram_bytes", info->global_sram_bytes },
		{ "accumulator_bytes", info->accumulator_bytes },
		{ "dma_channels", info->dma_channels },
		{ "dram_bytes_per_cycle", info->dram_bytes_per_cycle },
		{ "dram_latency_cycles", info->dram_latency_cycles },
		{ "clock_hz", info->clock_hz },
		{ "queues", info->queues },
		{ "slots", info->slots },
		{ "contexts", info->contexts },
		{ "semaphores_per_context", info->semaphores_per_context },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_object_add(root, numbers[i].key,
				       json_object_new_uint64(numbers[i].value));
	snprintf(abi, sizeof(abi), "%u.%u", info->firmware_abi >> 16, info->firmware_abi & 0xffff);
	json_object_object_add(firmware, "version", json_object_new_string(info->firmware_version));
	json_object_object_add(firmware, "abi", json_object_new_string(abi));
	json_object_object_add(root, "firmware", firmware);
	json_object_object_add(root, "driver", json_object_new_string(info->driver));
	/* The kernel's interface; the in-process back end has none. */
	json_object_object_add(root, "uapi", NULL);
	print_json(root);
}

static void info_text(const struct npurt_device_info *info)
{
	printf("device          %s\n", info->name);
	printf("configuration   %s\n", info->config);
	printf("clusters        %u, %u int8 MACs a cycle each\n", info->clusters, info->macs_per_cluster);
	printf("SRAM            %u KiB a cluster, %u KiB global, %u KiB accumulators a cluster\n",
	       info->local_sram_bytes >> 10, info->global_sram_bytes >> 10,
	       info->accumulator_bytes >> 10);
	printf("DMA             %u channels; DRAM %u bytes a cycle, latency %u cycles\n",
	       info->dma_channels, info->dram_bytes_per_cycle, info->dram_latency_cycles);
	printf("clock           %.0f MHz\n", (double)info->clock_hz / 1e6);
	printf("queues          %u, %u slots, %u contexts, %u semaphores a context\n", info->queues,
	       info->slots, info->contexts, info->semaphores_per_context);
	printf("firmware        %s, ABI %u.%u\n", info->firmware_version, info->firmware_abi >> 16,
	       info->firmware_abi & 0xffff);
	printf("driver          %s\n", info->driver);
}

static int firmware_log(struct npurt_device *device)
{
	uint32_t position = 0;
	char text[1024];
	int bytes;

	while ((bytes = npurt_device_firmware_log(device, &position, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)bytes, stdout);
	if (!bytes)
		return 0;
	fprintf(stderr, "npu-ctl: the firmware's log: %s\n", npurt_last_error());
	return 1;
}

static int with_device(const struct arguments *arguments)
{
	struct npurt_device_info info = { .size = sizeof(info) };
	struct npurt_device *device;
	int status = 0;

	if (npurt_open(arguments->device, &device)) {
		fprintf(stderr, "npu-ctl: %s: %s\n",
			arguments->device ? arguments->device : "no device", npurt_last_error());
		return 1;
	}
	if (!strcmp(arguments->command, "log")) {
		status = firmware_log(device);
	} else if (npurt_device_get_info(device, &info)) {
		fprintf(stderr, "npu-ctl: the device does not say what it is: %s\n",
			npurt_last_error());
		status = 1;
	} else if (arguments->json) {
		info_json(&info);
	} else {
		info_text(&info);
	}
	npurt_close(device);
	return status;
}

static int run(const struct arguments *arguments)
{
	if (!strcmp(arguments->command, "list"))
		return list(arguments);
	if (!strcmp(arguments->command, "info") || !strcmp(arguments->command, "log"))
		return with_device(arguments);
	fprintf(stderr, "npu-ctl: '%s' is no command; list, info and log are\n", arguments->command);
	return 2;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	int status = parse(argc, argv, &arguments);

	if (status < 0)
		status = run(&arguments);
	return file_finish_stdout("npu-ctl") ? 1 : status;
}
