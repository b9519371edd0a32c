// SPDX-License-Identifier: MIT
/* Devices, what one of them is, its firmware and its firmware's log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "ctl.h"
#include "npu/npu_binary.h"
#include "npu/npu_mailbox.h"

void ctl_print_json(struct json_object *root)
{
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}

int ctl_list(const struct arguments *arguments)
{
	struct npurt_device_entry *entries;
	struct json_object *root, *devices;
	size_t count;
	int status = ctl_devices(&entries, &count);

	if (status)
		return status;
	root = json_object_new_object();
	devices = json_object_new_array();
	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	for (size_t i = 0; i < count; i++) {
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
	ctl_print_json(root);
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
	ctl_print_json(root);
}

static void info_text(const struct npurt_device_info *info)
{
	printf("device          %s\n", info->name);
	printf("configuration   %s\n", info->config);
	printf("clusters        %u, %u int8 MACs a cycle each\n", info->clusters,
	       info->macs_per_cluster);
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

int ctl_log(struct npurt_device *device)
{
	uint32_t position = 0;
	char text[1024];
	int bytes;

	while ((bytes = npurt_device_firmware_log(device, &position, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)bytes, stdout);
	if (!bytes)
		return 0;
	fprintf(stderr, "npu-ctl: the firmware's log: %s\n", npurt_last_error());
	return device_status(bytes);
}

int ctl_info(const struct arguments *arguments, const struct npurt_device_info *info)
{
	if (arguments->json)
		info_json(info);
	else
		info_text(info);
	return 0;
}

static struct json_object *version_text(unsigned int major, unsigned int minor)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u", major, minor);
	return json_object_new_string(text);
}

int ctl_firmware(const struct arguments *arguments, const struct npurt_device_info *info)
{
	struct json_object *root;

	if (!arguments->json) {
		printf("version         %s\n", info->firmware_version);
		printf("ABI             %u.%u\n", info->firmware_abi >> 16,
		       info->firmware_abi & 0xffff);
		return 0;
	}
	root = json_object_new_object();
	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	json_object_object_add(root, "device", json_object_new_string(info->name));
	json_object_object_add(root, "version", json_object_new_string(info->firmware_version));
	json_object_object_add(root, "abi",
			       version_text(info->firmware_abi >> 16, info->firmware_abi & 0xffff));
	ctl_print_json(root);
	return 0;
}

/* ------------------------------------------------------------------------ versions */

/* Of two that must have the same major number; a greater minor one only knows more. */
struct pair {
	unsigned int ours_major, ours_minor, theirs_major, theirs_minor;
};

static bool fits(const struct pair *pair)
{
	return pair->ours_major == pair->theirs_major;
}

static void versions_json(const struct npurt_device_info *info, const struct utsname *system,
			  const struct pair *abi, bool good)
{
	struct json_object *root = json_object_new_object();

	json_object_object_add(root, "schema", json_object_new_int(SCHEMA));
	json_object_object_add(root, "device", json_object_new_string(info->name));
	json_object_object_add(root, "tools", json_object_new_string(NPU_VERSION));
	json_object_object_add(root, "library", json_object_new_string(npurt_version()));
	json_object_object_add(root, "driver", json_object_new_string(info->driver));
	json_object_object_add(root, "kernel", json_object_new_string(system->release));
	json_object_object_add(root, "firmware", json_object_new_string(info->firmware_version));
	json_object_object_add(root, "hardware",
			       version_text(info->hardware_version >> 16,
					    info->hardware_version & 0xffff));
	json_object_object_add(root, "firmware_abi",
			       version_text(abi->theirs_major, abi->theirs_minor));
	json_object_object_add(root, "library_firmware_abi",
			       version_text(abi->ours_major, abi->ours_minor));
	json_object_object_add(root, "model_abi",
			       version_text(NPU_BINARY_ABI_MAJOR, NPU_BINARY_ABI_MINOR));
	json_object_object_add(root, "fit", json_object_new_boolean(good));
	ctl_print_json(root);
}

int ctl_versions(const struct arguments *arguments, const struct npurt_device_info *info)
{
	const struct pair abi = {
		.ours_major = NPU_MAILBOX_ABI_MAJOR,
		.ours_minor = NPU_MAILBOX_ABI_MINOR,
		.theirs_major = info->firmware_abi >> 16,
		.theirs_minor = info->firmware_abi & 0xffff,
	};
	struct utsname system = { 0 };
	bool good = fits(&abi);

	uname(&system);
	if (arguments->json) {
		versions_json(info, &system, &abi, good);
		return good ? 0 : 1;
	}
	printf("tools           %s\n", NPU_VERSION);
	printf("library         %s\n", npurt_version());
	printf("driver          %s, kernel %s\n", info->driver, system.release);
	printf("hardware        %u.%u\n", info->hardware_version >> 16,
	       info->hardware_version & 0xffff);
	printf("firmware        %s\n", info->firmware_version);
	printf("firmware ABI    %u.%u, these tools are made for %u.%u: %s\n", abi.theirs_major,
	       abi.theirs_minor, abi.ours_major, abi.ours_minor,
	       good ? "they fit" : "they do not fit: install firmware and tools of one release");
	printf("models          ABI %u.%u, or an older minor version of it\n", NPU_BINARY_ABI_MAJOR,
	       NPU_BINARY_ABI_MINOR);
	return good ? 0 : 1;
}
