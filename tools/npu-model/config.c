// SPDX-License-Identifier: MIT
/* Device configurations and their overrides. See config.h. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npu/npu_isa.h"

#define KIB	1024u
#define KILO	1000u
#define MHZ	1000000u

static const struct npu_config configs[] = {
	{
		.name = "npu-v3",
		.clusters = 4,
		.dma_channels = 2,
		.local_bytes = 512 * KIB,
		.global_bytes = 4096 * KIB,
		.acc_bytes = 64 * KIB,
		.queues = 64,
		.slots = 8,
		.contexts = 64,
		.semaphores = 256,
		.clock_hz = 1000 * MHZ,
		.mac_channels = 32,
		.mac_depth = 32,
		.mac_tail = 32,
		.weight_load_cycles = 8,
		.out_results = 64,
		.out_overhead = 8,
		.vector_bytes = 64,
		.vector_functions = 32,
		.vector_scattered = 16,
		.vector_start = 4,
		.vector_tail = 4,
		.layout_bytes = 32,
		.layout_start = 4,
		.layout_tail = 4,
		.local_read_bytes = 256,
		.local_write_bytes = 128,
		.global_sram_bytes = 256,
		.global_port_bytes = 64,
		.dram_bytes = 32,
		.dram_latency = 120,
		.dma_bytes = 64,
		.dma_layout_bytes = 32,
		.dma_descriptor = 24,
		.tlb_entries = 256,
		.walk_entries = 32,
		.fetch_block_bytes = 1 * KIB,
		.fetch_blocks = 4,
		.ldtd_cycles = 2,
		.barrier_cycles = 4,
		.dispatch_cycles = 60,
		.scrub_local_bytes = 128,
		.scrub_global_bytes = 256,
		.scrub_acc_bytes = 256,
		.ambient = 25,
		.heat_rise = 60,
		.heat_cycles = 20000 * KILO,
	},
	{
		.name = "lowpower-v3",
		.clusters = 1,
		.dma_channels = 2,
		.local_bytes = 256 * KIB,
		.global_bytes = 512 * KIB,
		.acc_bytes = 16 * KIB,
		.queues = 16,
		.slots = 2,
		.contexts = 64,
		.semaphores = 64,
		.clock_hz = 400 * MHZ,
		.mac_channels = 16,
		.mac_depth = 16,
		.mac_tail = 32,
		.weight_load_cycles = 16,
		.out_results = 16,
		.out_overhead = 8,
		.vector_bytes = 16,
		.vector_functions = 8,
		.vector_scattered = 16,
		.vector_start = 4,
		.vector_tail = 4,
		.layout_bytes = 16,
		.layout_start = 4,
		.layout_tail = 4,
		.local_read_bytes = 64,
		.local_write_bytes = 32,
		.global_sram_bytes = 64,
		.global_port_bytes = 16,
		.dram_bytes = 8,
		.dram_latency = 120,
		.dma_bytes = 16,
		.dma_layout_bytes = 8,
		.dma_descriptor = 24,
		.tlb_entries = 256,
		.walk_entries = 32,
		.fetch_block_bytes = 1 * KIB,
		.fetch_blocks = 4,
		.ldtd_cycles = 2,
		.barrier_cycles = 4,
		.dispatch_cycles = 60,
		.scrub_local_bytes = 128,
		.scrub_global_bytes = 256,
		.scrub_acc_bytes = 128,
		.ambient = 25,
		.heat_rise = 60,
		.heat_cycles = 20000 * KILO,
	},
};

#define CONFIG_COUNT	(sizeof(configs) / sizeof(configs[0]))

/* An override: a number within bounds, stored in units, at a member of struct npu_config. */
struct config_key {
	const char *name;
	const char *help;
	size_t member;
	uint32_t low, high, unit;
	bool power_of_two;
};

#define NUMBER(key, field, low, high, unit, power, text) \
	{ key, text, offsetof(struct npu_config, field), low, high, unit, power }

static const struct config_key keys[] = {
	NUMBER("clusters", clusters, 1, NPU_CONFIG_CLUSTERS_MAX, 1, false, "clusters, 1..8"),
	NUMBER("dma_channels", dma_channels, 1, 2, 1, false, "DMA channels a cluster, 1 or 2"),
	NUMBER("local_kib", local_bytes, 16, 16384, KIB, false,
	       "KiB of local SRAM a cluster, 16..16384"),
	NUMBER("global_kib", global_bytes, 16, 262144, KIB, false,
	       "KiB of global SRAM, 16..262144"),
	NUMBER("acc_kib", acc_bytes, 8, 1024, KIB, true,
	       "KiB of accumulators a cluster, a power of two, 8..1024"),
	NUMBER("mac_channels", mac_channels, 8, 64, 1, true,
	       "output channels of MAC shape M, a power of two, 8..64"),
	NUMBER("mac_depth", mac_depth, 8, 64, 1, true,
	       "8-bit depth of MAC shape M, a power of two, 8..64"),
	NUMBER("weight_load", weight_load_cycles, 1, 1024, 1, false,
	       "cycles to load a KiB of weights, 1..1024"),
	NUMBER("out_results", out_results, 4, 256, 1, true,
	       "8-bit results a cycle of the output stage, a power of two, 4..256"),
	NUMBER("vector_bytes", vector_bytes, 4, 1024, 1, true,
	       "operand bytes a cycle of the vector unit, a power of two, 4..1024"),
	NUMBER("vector_functions", vector_functions, 1, 256, 1, true,
	       "elements a cycle of exp and its like, a power of two, 1..256"),
	NUMBER("layout_bytes", layout_bytes, 1, 1024, 1, true,
	       "bytes a cycle of the layout unit, a power of two, 1..1024"),
	NUMBER("local_read", local_read_bytes, 1, 4096, 1, false,
	       "bytes a cycle read from a local SRAM, 1..4096"),
	NUMBER("local_write", local_write_bytes, 1, 4096, 1, false,
	       "bytes a cycle written to a local SRAM, 1..4096"),
	NUMBER("global_bytes", global_sram_bytes, 1, 4096, 1, false,
	       "bytes a cycle of global SRAM in all, 1..4096"),
	NUMBER("port_bytes", global_port_bytes, 1, 4096, 1, false,
	       "bytes a cycle between global SRAM and a cluster, 1..4096"),
	NUMBER("dram_bytes", dram_bytes, 1, 64, 1, true,
	       "bytes a cycle of DRAM, a power of two, 1..64"),
	NUMBER("dram_latency", dram_latency, 1, 100000, 1, false,
	       "cycles of DRAM latency, 1..100000"),
	NUMBER("dma_bytes", dma_bytes, 1, 1024, 1, true,
	       "bytes a cycle of a DMA channel, a power of two, 1..1024"),
	NUMBER("dma_layout_bytes", dma_layout_bytes, 1, 1024, 1, true,
	       "the same in layout mode, a power of two, 1..1024"),
	NUMBER("tlb_entries", tlb_entries, 1, 4096, 1, false, "TLB entries, 1..4096"),
	NUMBER("walk_entries", walk_entries, 1, 4096, 1, false, "walk cache entries, 1..4096"),
	NUMBER("clock_mhz", clock_hz, 1, 4000, MHZ, false, "clock in MHz, 1..4000"),
	NUMBER("queues", queues, 1, 64, 1, false, "hardware queues, 1..64"),
	NUMBER("slots", slots, 1, 16, 1, false, "command processor slots, 1..16"),
	NUMBER("contexts", contexts, 1, 64, 1, false, "contexts, 1..64"),
	NUMBER("semaphores", semaphores, 1, 512, 1, false, "semaphores a context, 1..512"),
	NUMBER("ambient", ambient, 0, 125, 1, false, "degrees Celsius of the air, 0..125"),
	NUMBER("heat_rise", heat_rise, 1, 500, 1, false,
	       "kelvin over the air at full load, 1..500"),
	NUMBER("heat_kcycles", heat_cycles, 300, 1000000, KILO, false,
	       "thousand cycles of heating up, 300..1000000"),
};

#define KEY_COUNT	(sizeof(keys) / sizeof(keys[0]))

/* An override whose values are words: the first means false, the second true. */
struct config_switch {
	const char *name;
	const char *help;
	const char *word[2];
	size_t member;
};

static const struct config_switch switches[] = {
	{ "pages", "leaf sizes of page tables: any or 4k", { "any", "4k" },
	  offsetof(struct npu_config, small_pages) },
	{ "vector", "host vector instructions: on or off", { "on", "off" },
	  offsetof(struct npu_config, plain) },
};

#define SWITCH_COUNT	(sizeof(switches) / sizeof(switches[0]))

static int refuse(char *error, size_t bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, size_t bytes, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, bytes, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static bool same(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

/* What a message quotes of a hostile string. */
static int shown(size_t length)
{
	return length > 40 ? 40 : (int)length;
}

/* Digits only: no sign, no space, no prefix. */
static bool read_number(const char *text, size_t length, uint32_t *value)
{
	uint64_t sum = 0;
	size_t i;

	if (!length)
		return false;
	for (i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		sum = sum * 10 + (uint64_t)(text[i] - '0');
		if (sum > UINT32_MAX)
			return false;
	}
	*value = (uint32_t)sum;
	return true;
}

static int set_number(const struct config_key *key, const char *value, size_t length,
		      struct npu_config *config, char *error, size_t error_bytes)
{
	uint32_t number;

	if (!read_number(value, length, &number) || number < key->low || number > key->high ||
	    (key->power_of_two && (number & (number - 1))))
		return refuse(error, error_bytes,
			      "configuration: value '%.*s' of '%s' is refused; it is: %s",
			      shown(length), value, key->name, key->help);
	number *= key->unit;
	memcpy((char *)config + key->member, &number, sizeof(number));
	return 0;
}

static int set_switch(const struct config_switch *key, const char *value, size_t length,
		      struct npu_config *config, char *error, size_t error_bytes)
{
	bool on = same(value, length, key->word[1]);

	if (!on && !same(value, length, key->word[0]))
		return refuse(error, error_bytes,
			      "configuration: value '%.*s' of '%s' is refused; it is: %s",
			      shown(length), value, key->name, key->help);
	memcpy((char *)config + key->member, &on, sizeof(on));
	return 0;
}

static int set_override(const char *text, size_t length, uint64_t *seen,
			struct npu_config *config, char *error, size_t error_bytes)
{
	const char *equals = memchr(text, '=', length);
	size_t key_length = equals ? (size_t)(equals - text) : length;
	const char *value = equals ? equals + 1 : text + length;
	size_t value_length = equals ? length - key_length - 1 : 0;
	size_t i;

	for (i = 0; i < KEY_COUNT + SWITCH_COUNT; i++)
		if (same(text, key_length, npu_config_key((unsigned int)i, NULL)))
			break;
	if (i == KEY_COUNT + SWITCH_COUNT)
		return refuse(error, error_bytes,
			      "configuration: '%.*s' is no key; keys are clusters, local_kib, global_kib, dram_bytes, pages, vector and those of the device manual's 'Configurations'",
			      shown(key_length), text);
	if (!equals)
		return refuse(error, error_bytes, "configuration: key '%.*s' has no '=VALUE'",
			      shown(key_length), text);
	if (*seen & (1ull << i))
		return refuse(error, error_bytes, "configuration: key '%.*s' is given twice",
			      shown(key_length), text);
	*seen |= 1ull << i;
	if (i < KEY_COUNT)
		return set_number(&keys[i], value, value_length, config, error, error_bytes);
	return set_switch(&switches[i - KEY_COUNT], value, value_length, config, error,
			  error_bytes);
}

static const struct npu_config *find_config(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < CONFIG_COUNT; i++)
		if (same(name, length, configs[i].name))
			return &configs[i];
	return NULL;
}

/* Figures that bound each other. */
static int check_together(const struct npu_config *config, char *error, size_t error_bytes)
{
	if (npu_config_acc_positions(config, 8) < 1)
		return refuse(error, error_bytes,
			      "configuration: %u bytes of accumulators hold no position of %u channels with 64-bit sums; give more acc_kib",
			      config->acc_bytes, config->mac_channels);
	if (config->slots > config->queues)
		return refuse(error, error_bytes,
			      "configuration: %u slots for %u queues; give at most as many slots as queues",
			      config->slots, config->queues);
	return 0;
}

int npu_config_parse(const char *text, struct npu_config *config, char *error,
		     size_t error_bytes)
{
	size_t name_length = strcspn(text, "?");
	const struct npu_config *base = find_config(text, name_length);
	uint64_t seen = 0;
	int result;

	error[0] = '\0';
	if (!base)
		return refuse(error, error_bytes,
			      "configuration: '%.*s' is none; configurations are npu-v3 and lowpower-v3",
			      shown(name_length), text);
	*config = *base;
	text += name_length;
	while (*text) {
		size_t length = strcspn(++text, "&");

		result = set_override(text, length, &seen, config, error, error_bytes);
		if (result)
			return result;
		text += length;
	}
	return check_together(config, error, error_bytes);
}

const char *npu_config_name(unsigned int index)
{
	return index < CONFIG_COUNT ? configs[index].name : NULL;
}

const char *npu_config_key(unsigned int index, const char **help)
{
	const char *name, *text;

	if (index < KEY_COUNT) {
		name = keys[index].name;
		text = keys[index].help;
	} else if (index < KEY_COUNT + SWITCH_COUNT) {
		name = switches[index - KEY_COUNT].name;
		text = switches[index - KEY_COUNT].help;
	} else {
		return NULL;
	}
	if (help)
		*help = text;
	return name;
}

uint32_t npu_config_mac_depth(const struct npu_config *config, unsigned int activation_dtype)
{
	switch (activation_dtype) {
	case NPU_DTYPE_INT16:
		return config->mac_depth / 2;
	case NPU_DTYPE_FP16:
	case NPU_DTYPE_FP32:
		return config->mac_depth / 4;
	default:
		return config->mac_depth;
	}
}

uint32_t npu_config_acc_positions(const struct npu_config *config, unsigned int sum_bytes)
{
	return config->acc_bytes / 2 / (config->mac_channels * sum_bytes);
}

uint32_t npu_config_burst_cycles(const struct npu_config *config)
{
	return (NPU_BURST_BYTES + config->dram_bytes - 1) / config->dram_bytes;
}
