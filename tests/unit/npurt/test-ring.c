// SPDX-License-Identifier: MIT
/* The ring's producers against a consumer that follows queues.rst and sleeps as the device does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

struct rig {
	void *memory;
	uint64_t retired;
	struct npurt_ring ring;
};

static void rig_init(struct rig *rig, unsigned int log2, uint64_t depth)
{
	size_t bytes = NPU_RING_PACKETS_OFFSET + ((size_t)NPU_PACKET_BYTES << log2);

	rig->memory = aligned_alloc(64, bytes);
	assert_non_null(rig->memory);
	memset(rig->memory, 0, bytes);
	rig->retired = 0;
	rig->ring = (struct npurt_ring){
		.control = rig->memory,
		.retired = &rig->retired,
		.depth = depth,
		.size = (uint64_t)1 << log2,
	};
}

static uint32_t header_of(const struct rig *rig, uint64_t slot)
{
	uint32_t header;

	memcpy(&header, (char *)rig->memory + 128 + slot * 64, 4);
	return header;
}

static void publish_nop(struct rig *rig, uint64_t index)
{
	unsigned char packet[64] = { NPU_PACKET_NOP };

	memset(packet + 4, (int)index, 60);
	npurt_ring_fill(&rig->ring, index, packet);
	npurt_ring_publish(&rig->ring, index, NPU_PACKET_NOP);
}

static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct npu_ring_control), 128);
	assert_int_equal(offsetof(struct npu_ring_control, write_index), 0);
	assert_int_equal(offsetof(struct npu_ring_control, read_index), 64);
	assert_int_equal(offsetof(struct npu_ring_control, sleeping), 8);
	assert_int_equal(sizeof(struct npu_packet_exec), 64);
	assert_int_equal(sizeof(struct npu_record), 64);
}

static void test_reserve(void **state)
{
	struct rig rig;
	uint64_t index = 77;

	(void)state;
	rig_init(&rig, 2, 4);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 5, &index), -E2BIG);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 3, &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 2, &index), -EAGAIN);
	assert_int_equal(index, 0);
	assert_int_equal(npurt_ring_written(&rig.ring), 3);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), 0);
	assert_int_equal(index, 3);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), -EAGAIN);
	/* The device has gone on, the library has not; then both. */
	rig.ring.control->read_index = 2;
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), -EAGAIN);
	rig.retired = 1;
	assert_int_equal(npurt_ring_reserve(&rig.ring, 2, &index), -EAGAIN);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), 0);
	assert_int_equal(index, 4);
	/* The library has gone on, the device has not. */
	rig.retired = 5;
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), 0);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), -EAGAIN);
	free(rig.memory);
	/* A bound below the ring's size. */
	rig_init(&rig, 4, 3);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 4, &index), -E2BIG);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 3, &index), 0);
	assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), -EAGAIN);
	free(rig.memory);
}

static void test_phase(void **state)
{
	struct rig rig;
	uint64_t index = 0, i;

	(void)state;
	rig_init(&rig, 2, 4);
	for (i = 0; i < 13; i++) {
		assert_int_equal(npurt_ring_reserve(&rig.ring, 1, &index), 0);
		publish_nop(&rig, index);
		/* queues.rst: ((i / size) & 1) ^ 1 */
		assert_int_equal(header_of(&rig, i % 4),
				 NPU_PACKET_NOP | ((i / 4 % 2) ? 0 : NPU_PACKET_PHASE));
		rig.ring.control->read_index = i + 1;
		rig.retired = i + 1;
	}
	/* Indices are 64 bit: nothing happens at 2^32. */
	rig.ring.control->write_index = 0xffffffffu;
	rig.ring.control->read_index = 0xffffffffu;
	rig.retired = 0xffffffffu;
	assert_int_equal(npurt_ring_reserve(&rig.ring, 4, &index), 0);
	assert_int_equal(index, 0xffffffffu);
	assert_int_equal(npurt_ring_written(&rig.ring), 0x100000003ull);
	free(rig.memory);
}

/* ------------------------------------------------- producers and a sleeping consumer */
#define PRODUCERS 4
#define PACKETS_EACH 20000
#define STRESS_LOG2 4

struct stress {
	struct rig rig;
	sem_t doorbell;
	uint64_t doorbells;
	uint64_t next_value[PRODUCERS]; /* consumer only */
	uint64_t sleeps; /* consumer only */
	uint64_t stored;
};

struct producer {
	struct stress *stress;
	unsigned int number;
};

static void *produce(void *argument)
{
	struct producer *producer = argument;
	struct stress *stress = producer->stress;
	uint64_t value = 0, seed = producer->number;

	while (value < PACKETS_EACH) {
		uint64_t n, i, index;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		n = 1 + (seed >> 40) % 3;
		if (n > PACKETS_EACH - value)
			n = PACKETS_EACH - value;
		while (npurt_ring_reserve(&stress->rig.ring, n, &index))
			sched_yield();
		for (i = n; i-- > 0;) {
			struct npu_packet_timestamp packet = {
				.header = htole32(NPU_PACKET_TIMESTAMP),
				.destination =
					htole64((uint64_t)producer->number << 32 | (value + i)),
			};

			memset(packet.reserved1, (int)(value + i), sizeof(packet.reserved1));
			npurt_ring_fill(&stress->rig.ring, index + i, &packet);
			npurt_ring_publish(&stress->rig.ring, index + i, packet.header);
		}
		value += n;
		if (npurt_ring_needs_doorbell(&stress->rig.ring)) {
			__atomic_fetch_add(&stress->doorbells, 1, __ATOMIC_RELAXED);
			sem_post(&stress->doorbell);
		}
	}
	return NULL;
}

static int packet_is_there(struct stress *stress, uint64_t index)
{
	uint32_t *header =
		(uint32_t *)((char *)stress->rig.memory + 128 + index % (1u << STRESS_LOG2) * 64);
	uint32_t phase = index / (1u << STRESS_LOG2) % 2 ? 0 : NPU_PACKET_PHASE;
	uint32_t value = __atomic_load_n(header, __ATOMIC_ACQUIRE);

	return (value & NPU_PACKET_OPCODE_MASK) && (value & NPU_PACKET_PHASE) == phase;
}

/* queues.rst: set the flag, look again, only then sleep; the flag is taken back on waking. */
static void consumer_sleep(struct stress *stress, uint64_t index)
{
	struct npu_ring_control *control = stress->rig.ring.control;

	__atomic_exchange_n(&control->sleeping, 1, __ATOMIC_SEQ_CST);
	if (!packet_is_there(stress, index)) {
		struct timespec limit;

		stress->sleeps++;
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += 30;
		/* A doorbell that was lost would leave us here for good. */
		assert_int_equal(sem_timedwait(&stress->doorbell, &limit), 0);
	}
	__atomic_exchange_n(&control->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void consume(struct stress *stress)
{
	uint64_t index;

	for (index = 0; index < (uint64_t)PRODUCERS * PACKETS_EACH; index++) {
		struct npu_packet_timestamp packet;
		uint64_t value;
		unsigned int number, i;

		while (!packet_is_there(stress, index))
			consumer_sleep(stress, index);
		memcpy(&packet, npurt_ring_packet(&stress->rig.ring, index), sizeof(packet));
		value = packet.destination & 0xffffffffu;
		number = (unsigned int)(packet.destination >> 32);
		assert_true(number < PRODUCERS);
		assert_int_equal(value, stress->next_value[number]++);
		for (i = 0; i < sizeof(packet.reserved1); i++)
			assert_int_equal(packet.reserved1[i], (unsigned char)value);
		__atomic_store_n(&stress->rig.retired, index + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&stress->rig.ring.control->read_index, index + 1,
				 __ATOMIC_RELEASE);
	}
}

static void test_stress(void **state)
{
	struct stress *stress = calloc(1, sizeof(*stress));
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS];
	unsigned int i;

	(void)state;
	rig_init(&stress->rig, STRESS_LOG2, 1u << STRESS_LOG2);
	assert_int_equal(sem_init(&stress->doorbell, 0, 0), 0);
	for (i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){ stress, i };
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	consume(stress);
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	/* The test means nothing unless the consumer slept and doorbells were saved. */
	assert_true(stress->sleeps > 0);
	assert_true(stress->doorbells > 0);
	assert_true(stress->doorbells < (uint64_t)PRODUCERS * PACKETS_EACH);
	sem_destroy(&stress->doorbell);
	free(stress->rig.memory);
	free(stress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_phase),
		cmocka_unit_test(test_stress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
