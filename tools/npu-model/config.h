/* SPDX-License-Identifier: MIT */
/*
 * A device configuration: every figure in which one device differs from another.
 *
 * Device manual: Documentation/hardware, "Configurations"; the figures of time are those of
 * Documentation/hardware/timing.rst. A configuration is data. Nothing in the model asks for a
 * configuration's name; all of it asks for figures.
 */
#ifndef NPU_MODEL_CONFIG_H
#define NPU_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_CONFIG_NAME_BYTES	16	/* NPU_REG_CONFIG_NAME */
#define NPU_CONFIG_CLUSTERS_MAX	8	/* NPU_PROGRAM_CLUSTERS_MAX */
#define NPU_BURST_BYTES		64	/* DRAM burst, every configuration */

struct npu_config {
	char name[NPU_CONFIG_NAME_BYTES];	/* base configuration, NUL padded */

	/* Shape of the device */
	uint32_t clusters;
	uint32_t dma_channels;		/* a cluster: 1 or 2 */
	uint32_t local_bytes;		/* a cluster */
	uint32_t global_bytes;
	uint32_t acc_bytes;		/* a cluster, both halves */
	uint32_t queues;
	uint32_t slots;
	uint32_t contexts;
	uint32_t semaphores;		/* a context */
	uint32_t clock_hz;

	/* MAC array. Depth is that of 8-bit operands in shape M; see npu_config_mac_depth(). */
	uint32_t mac_channels;		/* shapes M and V; S has half */
	uint32_t mac_depth;
	uint32_t mac_tail;		/* fill and drain */
	uint32_t weight_load_cycles;	/* a KiB of weights */

	/* Output stage: results a cycle of 1-byte elements (2 bytes: half, 4 bytes: a quarter) */
	uint32_t out_results;
	uint32_t out_overhead;		/* cycles a pass, for the channel parameters */

	/* Vector and layout unit */
	uint32_t vector_bytes;		/* streamed operand bytes a cycle */
	uint32_t vector_functions;	/* elements a cycle of exp and its like */
	uint32_t vector_scattered;	/* bytes an element counts whose neighbours are elsewhere */
	uint32_t vector_start;
	uint32_t vector_tail;
	uint32_t layout_bytes;		/* a cycle */
	uint32_t layout_start;
	uint32_t layout_tail;

	/* Shared bandwidth, bytes a cycle */
	uint32_t local_read_bytes;	/* a cluster */
	uint32_t local_write_bytes;	/* a cluster */
	uint32_t global_sram_bytes;	/* all channels, both directions */
	uint32_t global_port_bytes;	/* a cluster and direction */
	uint32_t dram_bytes;		/* all channels, both directions */

	/* DRAM, DMA, MMU */
	uint32_t dram_latency;		/* cycles */
	uint32_t dma_bytes;		/* a cycle a channel */
	uint32_t dma_layout_bytes;	/* the same in layout mode */
	uint32_t dma_descriptor;	/* cycles a descriptor */
	uint32_t tlb_entries;
	uint32_t walk_entries;		/* walk cache */

	/* Front end, command processor */
	uint32_t fetch_block_bytes;	/* of fetch_blocks in the instruction buffer */
	uint32_t fetch_blocks;
	uint32_t ldtd_cycles;		/* decode of LDTD; every other instruction takes 1 */
	uint32_t barrier_cycles;	/* from the last cluster's arrival */
	uint32_t dispatch_cycles;	/* task start to first decode */
	uint32_t scrub_local_bytes;	/* a cycle a cluster */
	uint32_t scrub_global_bytes;
	uint32_t scrub_acc_bytes;	/* a cycle a cluster */

	/* Heat; no part of the device either, but of what is around it */
	uint32_t ambient;		/* degrees Celsius */
	uint32_t heat_rise;		/* kelvin, of everything at work at once */
	uint32_t heat_cycles;		/* nominal cycles within which 63 % of it are there */

	/* How the model is to run; no part of the device */
	bool small_pages;		/* ?pages=4k: 4 KiB leaves only */
	bool plain;			/* ?vector=off: plain C instead of the host's vector instructions */
};

/**
 * npu_config_parse - read a configuration's name and its overrides
 * @text: "NAME" or "NAME?KEY=VALUE&KEY=VALUE", NAME one of npu_config_name()
 * @config: filled in; undefined after an error
 * @error: receives a sentence on failure, always NUL terminated
 * @error_bytes: size of @error, at least 1
 *
 * Every key may be given once. The keys are in Documentation/hardware, "Configurations".
 *
 * Return: 0, or -EINVAL with @error saying what is wrong and what would be right.
 * Thread safety: any thread, no shared state.
 */
int npu_config_parse(const char *text, struct npu_config *config, char *error,
		     size_t error_bytes);

/**
 * npu_config_name - names of the built-in configurations, the default first
 * @index: 0, 1, ...
 * Return: a static string, or NULL past the last.
 */
const char *npu_config_name(unsigned int index);

/**
 * npu_config_key - the keys of overrides, for help texts
 * @index: 0, 1, ...
 * @help: receives a static one-line explanation with the allowed values; may be NULL
 * Return: a static string, or NULL past the last.
 */
const char *npu_config_key(unsigned int index, const char **help);

/**
 * npu_config_mac_depth - depth lanes of shape M, which are also the positions of shape V
 * @config: configuration
 * @activation_dtype: enum npu_dtype of the activations
 * Return: lanes (shape S has half as many).
 */
uint32_t npu_config_mac_depth(const struct npu_config *config, unsigned int activation_dtype);

/**
 * npu_config_acc_positions - positions one accumulator half holds
 * @config: configuration
 * @sum_bytes: 4 or 8
 */
uint32_t npu_config_acc_positions(const struct npu_config *config, unsigned int sum_bytes);

/** npu_config_burst_cycles - cycles a 64-byte burst keeps the DRAM busy */
uint32_t npu_config_burst_cycles(const struct npu_config *config);

#endif /* NPU_MODEL_CONFIG_H */
