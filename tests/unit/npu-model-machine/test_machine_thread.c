// SPDX-License-Identifier: MIT
/*
 * The model on its own thread, with the real firmware (its image is the first argument): many
 * producers on one ring, doorbells left out while the device is awake, sleeping and waking.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../support/scratch_file.h"
#include "board.h"
#include "npu/npu_firmware.h"
#include "npu/npu_mailbox.h"
#include "npu_model_thread.h"

static const char *image_path;

#define SECONDS_MAX	120

struct machine {
	struct board *board;		/* its memory; its own model is not used */
	struct npu_model_thread *thread;
};

static void deadline_check(time_t begin, const char *what)
{
	if (time(NULL) - begin > SECONDS_MAX)
		fail_msg("no %s after %d s", what, SECONDS_MAX);
}

static void write_register(struct machine *machine, uint32_t offset, uint32_t value)
{
	npu_model_thread_register_write(machine->thread, offset, value);
}

static uint32_t read_register(struct machine *machine, uint32_t offset)
{
	return npu_model_thread_register_read(machine->thread, offset);
}

static void wait_register(struct machine *machine, uint32_t offset, uint32_t value)
{
	time_t begin = time(NULL);

	while (read_register(machine, offset) != value) {
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		deadline_check(begin, "register value");
	}
}

static void exchange(struct machine *machine, uint16_t kind, const uint32_t *arguments,
		     unsigned int count)
{
	struct npu_message message = { .kind = kind, .sequence = 1 };
	uint32_t words[16];

	memcpy(message.argument, arguments, count * sizeof(*arguments));
	memcpy(words, &message, sizeof(words));
	for (unsigned int i = 0; i < 16; i++)
		write_register(machine, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	write_register(machine, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	wait_register(machine, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	assert_int_equal(read_register(machine, NPU_REG_MAILBOX_TO_HOST + 4), NPU_ERROR_NONE);
	write_register(machine, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
}

static void create_queue(struct machine *machine, unsigned int queue, uint64_t offset,
			 unsigned int log2)
{
	uint64_t va = board_va(machine->board, offset);
	uint32_t arguments[6] = { queue, 0, (uint32_t)va, (uint32_t)(va >> 32), log2, 4 };

	machine->board->ring[queue] = offset;
	machine->board->ring_log2[queue] = log2;
	exchange(machine, NPU_MESSAGE_QUEUE_CREATE, arguments, 6);
}

static void boot(struct machine *machine)
{
	uint64_t address = board_pages(machine->board, 80);
	FILE *file = fopen(image_path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(board_dma(machine->board, address), 1, 80 * 4096, file);
	fclose(file);
	write_register(machine, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	write_register(machine, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	write_register(machine, NPU_REG_BOOT_SIZE, (uint32_t)size);
	write_register(machine, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(machine, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
	wait_register(machine, NPU_REG_FW_STATE, NPU_FW_STATE_READY);
}

static struct machine start(unsigned int spin_us)
{
	struct machine machine = { .board = board_create(NULL) };
	uint32_t context = 0;
	char error[256];

	machine.thread = npu_model_thread_create(NULL, &board_host_ops, machine.board, spin_us,
						 error, sizeof(error));
	assert_non_null(machine.thread);
	board_add_context(machine.board, 0);
	write_register(&machine, NPU_REG_CONTEXT_TABLE_LO, (uint32_t)BOARD_CONTEXT_TABLE);
	write_register(&machine, NPU_REG_CONTEXT_TABLE_HI, BOARD_CONTEXT_TABLE >> 32);
	write_register(&machine, NPU_REG_CONTEXT_UPDATE, 0);
	boot(&machine);
	exchange(&machine, NPU_MESSAGE_CONTEXT_CREATE, &context, 1);
	return machine;
}

static void finish(struct machine *machine)
{
	npu_model_thread_destroy(machine->thread);
	board_destroy(machine->board);
}

/* The producers' side of the ring protocol: queues.rst. */
static bool reserve(struct npu_ring_control *ring, unsigned int log2, uint64_t *index)
{
	__le64 write = __atomic_load_n(&ring->write_index, __ATOMIC_RELAXED);

	do {
		uint64_t read = __atomic_load_n(&ring->read_index, __ATOMIC_ACQUIRE);

		if (write - read >= 1ull << log2)
			return false;
	} while (!__atomic_compare_exchange_n(&ring->write_index, &write, write + 1, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*index = write;
	return true;
}

static void publish(struct machine *machine, unsigned int queue, uint64_t index, const void *packet)
{
	struct board *board = machine->board;
	unsigned int log2 = board->ring_log2[queue];
	struct npu_ring_control *ring = board_at(board, 0, board->ring[queue]);
	uint8_t *slot = (uint8_t *)ring + NPU_RING_PACKETS_OFFSET +
			(index & ((1ull << log2) - 1)) * NPU_PACKET_BYTES;
	uint32_t header;

	memcpy(&header, packet, sizeof(header));
	header |= index >> log2 & 1 ? 0 : NPU_PACKET_PHASE;
	memcpy(slot + 4, (const uint8_t *)packet + 4, NPU_PACKET_BYTES - 4);
	/* In place of a release and a full fence, which the thread sanitizer does not know. */
	__atomic_store_n((uint32_t *)slot, header, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ring->sleeping, __ATOMIC_SEQ_CST))
		npu_model_thread_doorbell(machine->thread, queue, NPU_DOORBELL_RING, index, 8);
}

static void submit(struct machine *machine, unsigned int queue, const void *packet)
{
	struct npu_ring_control *ring = board_at(machine->board, 0, machine->board->ring[queue]);
	time_t begin = time(NULL);
	uint64_t index;

	while (!reserve(ring, machine->board->ring_log2[queue], &index)) {
		sched_yield();
		deadline_check(begin, "space in the ring");
	}
	publish(machine, queue, index, packet);
}

static uint64_t semaphore(struct machine *machine, unsigned int number)
{
	const uint64_t *area = board_dma(machine->board, BOARD_AREA(0));

	return __atomic_load_n(&area[number], __ATOMIC_ACQUIRE);
}

static void wait_semaphore(struct machine *machine, unsigned int number, uint64_t value)
{
	time_t begin = time(NULL);

	while (semaphore(machine, number) < value) {
		sched_yield();
		deadline_check(begin, "semaphore value");
	}
}

#define PRODUCERS	3
#define PACKETS		2000

struct producer {
	struct machine *machine;
	unsigned int number;
	struct program program;
};

static void *produce(void *opaque)
{
	struct producer *producer = opaque;

	for (unsigned int i = 0; i < PACKETS; i++) {
		struct npu_packet_signal signal = {
			.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
			.sem = (uint16_t)producer->number,
			.add = 1,
		};
		uint64_t record = 0x80000 + (producer->number * PACKETS + i) * 64ull;
		struct npu_packet_exec exec = exec_packet(&producer->program, i, 0, 0, record);

		exec.arguments = 0;
		exec.signal_sem = (uint16_t)producer->number;
		submit(producer->machine, producer->number % 2,
		       i % 8 ? (void *)&signal : (void *)&exec);
	}
	return NULL;
}

/* What other threads of a process do meanwhile. */
static void *disturb(void *opaque)
{
	struct machine *machine = opaque;

	for (unsigned int i = 0; i < 200; i++) {
		npu_model_thread_memory_changed(machine->thread);
		assert_int_equal(read_register(machine, NPU_REG_ID), NPU_ID_VALUE);
		npu_model_thread_time(machine->thread);
		npu_model_thread_doorbell(machine->thread, 0, NPU_DOORBELL_SIGNAL, 50ull << 48 | 1,
					  8);
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
	return NULL;
}

static void stress(unsigned int spin_us)
{
	struct machine machine = start(spin_us);
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS + 1];
	struct program program = program_begin(machine.board, 0, 0x200000, 1);

	program.header->local_bytes = 4096;
	program.header->global_bytes = 0;
	program_finish(&program);
	create_queue(&machine, 0, 0x10000, 5);
	create_queue(&machine, 1, 0x20000, 3);
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){ &machine, i, program };
		pthread_create(&threads[i], NULL, produce, &producers[i]);
	}
	pthread_create(&threads[PRODUCERS], NULL, disturb, &machine);
	for (unsigned int i = 0; i <= PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < PRODUCERS; i++)
		wait_semaphore(&machine, i, PACKETS);
	wait_semaphore(&machine, 50, 200);
	for (unsigned int i = 0; i < PRODUCERS * PACKETS; i += 8) {
		const struct npu_record *record = board_at(machine.board, 0, 0x80000 + i * 64ull);

		assert_int_equal(__atomic_load_n(&record->status, __ATOMIC_ACQUIRE),
				 NPU_STATUS_DONE);
		assert_int_equal(record->task_id, i % PACKETS);
		assert_int_equal(record->end - record->start, 60);
	}
	for (unsigned int i = 0; i < PRODUCERS; i++)
		assert_int_equal(semaphore(&machine, i), PACKETS);
	finish(&machine);
}

static void test_stress_spinning(void **state)
{
	(void)state;
	stress(50);
}

static void test_stress_sleeping(void **state)
{
	(void)state;
	stress(0);
}

/* One packet at a time with pauses: the thread sleeps in between, and wakes up each time. */
static void test_wake(void **state)
{
	struct machine machine = start(0);
	struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = 1, .add = 1,
	};

	(void)state;
	create_queue(&machine, 0, 0x10000, 2);
	for (unsigned int i = 0; i < 50; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		submit(&machine, 0, &signal);
		wait_semaphore(&machine, 1, i + 1);
	}
	/* The mailbox's interrupt was never cleared. */
	write_register(&machine, NPU_REG_IRQ_ENABLE, NPU_IRQ_MAILBOX);
	assert_int_equal(npu_model_thread_irq_pending(machine.thread), NPU_IRQ_MAILBOX);
	write_register(&machine, NPU_REG_IRQ_STATUS, NPU_IRQ_MAILBOX);
	assert_int_equal(npu_model_thread_irq_pending(machine.thread), 0);
	npu_model_thread_reset(machine.thread);
	assert_int_equal(read_register(&machine, NPU_REG_FW_STATE), NPU_FW_STATE_RESET);
	finish(&machine);
}

/* The model's clock, which goes wherever a test wants it. */
static _Atomic time_t jumped;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = __real_clock_gettime(clock, now);

	now->tv_sec += jumped;
	return result;
}

static void let_it_wait(time_t seconds)
{
	const struct timespec notice = { .tv_nsec = 50000000 };

	nanosleep(&notice, NULL);
	jumped += seconds;
	nanosleep(&notice, NULL);
}

/* In a replay the host has its time for each thing that is waited for, also in one cycle. */
static void test_patience(void **state)
{
	struct machine machine = { .board = board_create(NULL) };
	char path[] = "/tmp/test-thread-XXXXXX";
	char error[256];
	FILE *file;

	(void)state;
	assert_true(scratch_file(path));
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("npu-arrivals 1\n", file);
	for (unsigned int i = 0; i < 2; i++)
		fprintf(file, "0 write 0x%x 0x0\n", NPU_REG_CONTEXT_UPDATE);
	assert_int_equal(fclose(file), 0);

	machine.thread = npu_model_thread_create(NULL, &board_host_ops, machine.board, 0, error,
						 sizeof(error));
	assert_non_null(machine.thread);
	if (npu_model_thread_replay(machine.thread, path, 10, error, sizeof(error)))
		fail_msg("%s", error);
	for (unsigned int i = 0; i < 2; i++) {
		let_it_wait(6);
		write_register(&machine, NPU_REG_CONTEXT_UPDATE, 0);
	}
	assert_false(npu_model_thread_replay_lapsed(machine.thread, error, sizeof(error)));

	if (npu_model_thread_replay(machine.thread, path, 10, error, sizeof(error)))
		fail_msg("%s", error);
	let_it_wait(11);
	assert_true(npu_model_thread_replay_lapsed(machine.thread, error, sizeof(error)));
	assert_non_null(strstr(error, "has not been made within 10 s"));
	unlink(path);
	finish(&machine);
}

static void test_bad_config(void **state)
{
	char error[64] = "";

	(void)state;
	assert_null(
		npu_model_thread_create("npu-v9", &board_host_ops, NULL, 0, error, sizeof(error)));
	assert_true(strlen(error) > 10);
	npu_model_thread_destroy(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_config),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_stress_spinning),
		cmocka_unit_test(test_stress_sleeping),
	};

	if (argc != 2)
		return 1;
	image_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
