// SPDX-License-Identifier: MIT
#include "network.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/firmware/random.h"
#include "error.h"
#include "npu/npu_isa.h"

#define LIMIT 1000000000ull

static unsigned int checks, failures;

void check(bool good, const char *what)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++checks, what);
	failures += !good;
	fflush(stdout);
}

int check_end(void)
{
	printf("1..%u\n", checks);
	return failures > 0;
}

void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, npurt_last_error());
	exit(2);
}

void network_open(struct network *network, const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || npurt_source_fd(&network->source, fd) ||
	    npurt_image_read(&network->image, &network->source, NULL))
		die(path);
	if (network->image.outputs != 1)
		die("networks here have one output");
}

static uint64_t load_part(struct host *host, struct network *network,
			  const struct npurt_image_part *part, bool filled)
{
	uint64_t address = host_alloc(host, part->bytes);

	if (filled && part->bytes &&
	    network->source.read(&network->source, part->offset, host->memory + address,
				 (size_t)part->bytes))
		die("reading a network");
	return address;
}

/* fp16 or bytes that any type can be: small numbers of both signs. */
static void fill_input(uint8_t *to, uint64_t bytes)
{
	struct random random = { .state = 0x2468ace };

	for (uint64_t i = 0; i + 1 < bytes; i += 2) {
		uint32_t value = random_next(&random);

		to[i] = (uint8_t)value;
		to[i + 1] = (uint8_t)(0x30 + (value >> 8) % 12 + (value >> 16 & 1) * 0x80);
	}
}

void network_place(struct host *host, struct network *network)
{
	const struct npurt_image *image = &network->image;
	uint64_t shared[NPU_ARG_COUNT] = { 0 };
	uint64_t save = (uint64_t)image->program.save_bytes * image->program.clusters;

	network->program = load_part(host, network, &image->text, true);
	shared[NPU_ARG_WEIGHTS] = load_part(host, network, &image->rodata, true);
	shared[NPU_ARG_SCRATCH] = load_part(host, network, &image->bss, false);
	shared[NPU_ARG_SAVE] = host_alloc(host, save);
	for (uint32_t i = 0; i < image->inputs; i++) {
		shared[NPU_ARG_FIRST_IO + i] = host_alloc(host, image->tensors[i].device_bytes);
		fill_input(host->memory + shared[NPU_ARG_FIRST_IO + i],
			   image->tensors[i].device_bytes);
	}
	network->output_bytes = image->tensors[image->inputs].device_bytes;
	for (unsigned int copy = 0; copy < NETWORK_COPIES; copy++) {
		network->outputs[copy] = host_alloc(host, network->output_bytes);
		shared[NPU_ARG_FIRST_IO + image->inputs] = network->outputs[copy];
		network->arguments[copy] = host_alloc(host, sizeof(shared));
		memcpy(host->memory + network->arguments[copy], shared, sizeof(shared));
	}
}

void network_submit(struct host *host, unsigned int queue, const struct network *network,
		    uint32_t flags)
{
	host_exec_task(host, queue, network->program,
		       network->arguments[host->index[queue] % NETWORK_COPIES], flags);
}

void network_run_alone(struct host *host, unsigned int queue, struct network *network)
{
	const struct npu_record *record = host_record(host, queue, 0);

	network_submit(host, queue, network, 0);
	host_ring(host, queue);
	host_idle(host, LIMIT);
	if (record->status != NPU_STATUS_DONE)
		die("a run alone failed");
	network->alone = record->end - record->start;
	network->mac_alone = record->mac_cycles;
	network->expected = malloc((size_t)network->output_bytes);
	memcpy(network->expected, host->memory + network->outputs[0],
	       (size_t)network->output_bytes);
}

bool network_take_outputs(struct host *host, unsigned int queue, const struct network *network,
			  uint64_t index)
{
	uint8_t *have = host->memory + network->outputs[index % NETWORK_COPIES];
	bool right = host_record(host, queue, index)->status == NPU_STATUS_DONE &&
		     !memcmp(have, network->expected, (size_t)network->output_bytes);

	for (uint64_t i = 0; i < network->output_bytes; i++)
		have[i] = (uint8_t)~network->expected[i];
	return right;
}

int network_compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}
