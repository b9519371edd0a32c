// SPDX-License-Identifier: MIT
/*
 * What the wire costs, without QEMU: register reads, a doorbell until the signal it leads to is in
 * memory, and a register read while the longest copy is under way. Arguments: the server, the
 * firmware's image.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "guest.h"

#define ROUNDS	2000u
#define LARGE_BYTES	0x200000u
#define DATA_VA	0x20000000ull

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *what, double *us, unsigned int count)
{
	qsort(us, count, sizeof(*us), compare);
	printf("%s: median %.2f us, 99%% %.2f us, longest %.2f us\n", what, us[count / 2],
	       us[count * 99 / 100], us[count - 1]);
}

static void bench_reads(struct guest *guest, double *us)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double begin = now_us();

		guest_read(guest, NPU_REG_ID);
		us[i] = now_us() - begin;
	}
	report("register read", us, ROUNDS);
}

static void bench_doorbells(struct guest *guest, double *us, uint64_t *page, const char *what)
{
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.add = 1,
	};
	const uint64_t *semaphore = guest_pointer(guest, guest->semaphores);

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double begin;

		guest_push(guest, &signal);
		begin = now_us();
		if (page)
			__atomic_store_n(page, guest->write_index, __ATOMIC_SEQ_CST);
		else
			guest_doorbell(guest);
		while (__atomic_load_n(semaphore, __ATOMIC_ACQUIRE) != i + 1)
			;
		us[i] = now_us() - begin;
	}
	report(what, us, ROUNDS);
}

/* A whole gigabyte of addresses on the same large page. */
static void bench_long_copy(struct guest *guest, double *us)
{
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.source = DATA_VA,
		.destination = DATA_VA + (1ull << 30),
		.bytes = 1u << 30,
		.signal_sem = NPU_SEM_NONE,
	};
	struct npu_ring_control *ring = guest_pointer(guest, guest->ring);
	unsigned int count = 0;

	/* Pages are given out from the end of memory; its beginning is a large page. */
	for (uint64_t offset = 0; offset < 2ull << 30; offset += LARGE_BYTES)
		guest_map(guest, DATA_VA + offset, GUEST_HIGH, LARGE_BYTES / 4096,
			  NPU_PROT_READ | NPU_PROT_WRITE);
	guest_push(guest, &copy);
	guest_doorbell(guest);
	while (__atomic_load_n(&ring->read_index, __ATOMIC_ACQUIRE) != guest->write_index) {
		double begin = now_us();

		guest_read(guest, NPU_REG_ID);
		us[count] = now_us() - begin;
		count += count < ROUNDS - 1;
	}
	report("register read during a copy of 1 GiB", us, count + 1);
}

static void run(const char *program, const char *image, bool mapped)
{
	static const char *const options[] = { "--doorbells", "mapped", NULL };
	double *us = calloc(ROUNDS, sizeof(*us));
	struct guest guest;
	uint64_t *page = NULL;
	uint32_t flags;
	uint64_t size;

	assert_non_null(us);
	guest_start(&guest, program, mapped ? options : NULL);
	guest_boot(&guest, image);
	guest_open(&guest);
	if (mapped) {
		assert_int_equal(vfio_client_region(&guest.client, VC_BAR2, &size, &flags), 0);
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, guest.client.fd, 0);
		assert_ptr_not_equal(page, MAP_FAILED);
	} else {
		bench_reads(&guest, us);
	}
	bench_doorbells(&guest, us, page, mapped ? "mapped doorbell to write-back" :
						   "trapped doorbell to write-back");
	if (!mapped)
		bench_long_copy(&guest, us);
	guest_stop(&guest);
	free(us);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	run(argv[1], argv[2], false);
	run(argv[1], argv[2], true);
	return 0;
}
