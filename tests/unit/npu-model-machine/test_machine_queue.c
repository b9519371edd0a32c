// SPDX-License-Identifier: MIT
/* Rings, packets, semaphores, watches, slots: what queues.rst and command-processor.rst promise. */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define RECORD		0x3000

static struct npu_packet_signal signal_packet(unsigned int semaphore, uint64_t add)
{
	return (struct npu_packet_signal){
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.sem = (uint16_t)semaphore,
		.add = add,
	};
}

static struct npu_packet_wait wait_packet(unsigned int semaphore, uint64_t value)
{
	struct npu_packet_wait wait = { .header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0) };

	for (unsigned int i = 0; i < 6; i++)
		wait.sem[i] = NPU_SEM_NONE;
	wait.sem[3] = (uint16_t)semaphore;
	wait.value[3] = value;
	return wait;
}

static void push_nop(struct board *board, unsigned int queue)
{
	uint32_t nop[16] = { NPU_PACKET_NOP };

	board_push(board, queue, nop);
}

static uint32_t doorbells(struct board *board)
{
	uint32_t rung = npu_model_core_read(board->model, NPU_REG_CORE_DOORBELLS_LO);

	npu_model_core_write(board->model, NPU_REG_CORE_DOORBELLS_LO, rung);
	return rung;
}

static void arm(struct board *board, unsigned int context, unsigned int semaphore,
		uint64_t threshold)
{
	((uint64_t *)board_dma(board, BOARD_THRESHOLDS(context)))[semaphore] = threshold;
	npu_model_register_write(board->model, NPU_REG_WATCH_ARM, context << 16 | semaphore);
}

static struct program empty_program(struct board *board, unsigned int context)
{
	struct program program = program_begin(board, context, PROGRAM, 1);

	program_finish(&program);
	return program;
}

/* A program that waits for a token nobody releases. */
static struct program stuck_program(struct board *board)
{
	struct program program = program_begin(board, 0, PROGRAM + 0x10000, 1);

	program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .wait = { NPU_TOKEN(0) }));
	program_finish(&program);
	return program;
}

/* A ring of 4 through many wraps; the device takes what is published and no more. */
static void test_wrap(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_ring_control *ring;
	uint64_t sum = 0;

	(void)state;
	board_add_context(board, 0);
	board_add_queue(board, 0, 0, 0x1000, 2);
	board_attach(board, 0, 0);
	board_run(board, 10000);
	ring = board_ring(board, 0);
	assert_int_equal(ring->sleeping, 1);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_EMPTY);
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 1 + round % 4; i++) {
			struct npu_packet_signal signal = signal_packet(3, round + 1);

			board_push(board, 0, &signal);
			sum += round + 1;
		}
		board_ring_doorbell(board, 0);
		board_run(board, 10000);
		assert_int_equal(ring->read_index, board->write_index[0]);
		assert_int_equal(ring->sleeping, 1);
		assert_int_equal(board_semaphore(board, 0, 3), sum);
	}
	/* A doorbell with nothing behind it does nothing. */
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(ring->read_index, board->write_index[0]);
	assert_int_equal(ring->error, 0);
	board_destroy(board);
}

/* A reserved, unpublished slot holds up its own queue; those behind it are not overtaken. */
static void test_unpublished(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_ring_control *ring;
	struct npu_packet_signal signal = signal_packet(1, 1);
	uint32_t *header;

	(void)state;
	board_add_context(board, 0);
	board_add_queue(board, 0, 0, 0x1000, 3);
	board_attach(board, 0, 0);
	ring = board_ring(board, 0);
	board->write_index[0] = 1;
	board_push(board, 0, &signal);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(ring->read_index, 0);
	assert_int_equal(board_semaphore(board, 0, 1), 0);
	header = (uint32_t *)((uint8_t *)ring + NPU_RING_PACKETS_OFFSET);
	*header = NPU_PACKET_HEADER(NPU_PACKET_NOP, 0, 1);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(ring->read_index, 2);
	assert_int_equal(board_semaphore(board, 0, 1), 1);
	board_destroy(board);
}

/*
 * Cycles: the doorbell's look costs 122 (the page is known from the look at attach); SIGNAL 122
 * more; TIMESTAMP: fetch 122, write 122.
 */
static void test_packet_cycles(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_signal signal = signal_packet(0, 1);
	struct npu_packet_timestamp stamp = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_TIMESTAMP, 0, 0),
	};
	uint64_t begin;

	(void)state;
	board_simple(board);
	stamp.destination = board_va(board, 0x5000);
	begin = npu_model_time(board->model);
	board_push(board, 0, &signal);
	push_nop(board, 0);
	board_push(board, 0, &stamp);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(*(uint64_t *)board_at(board, 0, 0x5000) - begin, 5 * 122);
	board_destroy(board);
}

/* Two queues: one waits for the other; the host signals too. */
static void test_wait(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_wait wait = wait_packet(7, 3);
	struct npu_packet_signal signal = signal_packet(7, 2);
	struct npu_packet_signal after = signal_packet(8, 1);

	(void)state;
	board_add_context(board, 0);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_add_queue(board, 1, 0, 0x8000, 4);
	board_attach(board, 0, 0);
	board_attach(board, 1, 1);
	board_push(board, 0, &wait);
	board_push(board, 0, &after);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_WAITING);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_EVENT) & NPU_SLOT_EVENT_IDLE,
			 NPU_SLOT_EVENT_IDLE);
	board_push(board, 1, &signal);
	board_ring_doorbell(board, 1);
	board_run(board, 10000);
	assert_int_equal(board_semaphore(board, 0, 7), 2);
	assert_int_equal(board_semaphore(board, 0, 8), 0);
	npu_model_doorbell(board->model, 1, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	board_run(board, 10000);
	assert_int_equal(board_semaphore(board, 0, 7), 3);
	assert_int_equal(board_semaphore(board, 0, 8), 1);
	/* Four-byte stores to the signal register, and other contexts' queues, change nothing. */
	npu_model_doorbell(board->model, 1, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 4);
	npu_model_doorbell(board->model, 2, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	assert_int_equal(board_semaphore(board, 0, 7), 3);
	board_destroy(board);
}

/* EXEC waits, signals, writes its record; the values are those of the packet. */
static void test_exec(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = empty_program(board, 0);
	record = board_at(board, 0, RECORD);
	exec = exec_packet(&program, 0xabcd, 0, 0, RECORD);
	exec.arguments = 0;
	exec.wait_sem[1] = 4;
	exec.wait_value[1] = 1;
	exec.signal_sem = 5;
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_WAITING);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 4ull << 48 | 1, 8);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->task_id, 0xabcd);
	assert_int_equal(board_semaphore(board, 0, 5), 1);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	assert_int_equal(npu_model_register_read(board->model, NPU_REG_COUNTER_TASKS_LO), 1);
	board_destroy(board);
}

static void test_budget(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = stuck_program(board);
	record = board_at(board, 0, RECORD);
	exec = exec_packet(&program, 1, 0, 0, RECORD);
	exec.arguments = 0;
	exec.budget = 3;
	exec.signal_sem = 2;
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_BUDGET);
	assert_int_equal(record->error, NPU_ERROR_BUDGET);
	assert_int_equal(record->end - record->start, 3 * 1024);
	assert_int_equal(board_semaphore(board, 0, 2), 1);
	/* The queue goes on. */
	program = empty_program(board, 0);
	assert_int_equal(board_execute(board, &program, NULL, 0)->status, NPU_STATUS_DONE);
	board_destroy(board);
}

static void test_kill(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = stuck_program(board);
	record = board_at(board, 0, RECORD);
	exec = exec_packet(&program, 9, 0, 0, RECORD);
	exec.arguments = 0;
	board_push(board, 0, &exec);
	push_nop(board, 0);
	board_ring_doorbell(board, 0);
	assert_false(npu_model_run(board->model, 1000));
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_RUNNING);
	/* DETACH waits for the task, KILL does not. */
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_false(npu_model_run(board->model, 1000));
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_RUNNING);
	doorbells(board);
	board_control(board, 0, NPU_SLOT_KILL);
	board_run(board, 1000);
	assert_int_equal(record->status, NPU_STATUS_KILLED);
	assert_int_equal(record->error, NPU_ERROR_KILLED);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
	/* The NOP was left behind: the queue rings by itself, and goes on in another slot. */
	assert_int_equal(doorbells(board), 1);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	assert_int_equal(board_ring(board, 0)->sleeping, 1);
	board_attach(board, 3, 0);
	board_run(board, 1000);
	assert_int_equal(board_ring(board, 0)->read_index, 2);
	board_destroy(board);
}

/*
 * A queue that left its slot WAITING rings when the first semaphore it lacked is there, not before,
 * whatever else happens; and again for the next one.
 */
static void test_detach_waiting(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_wait wait = wait_packet(7, 1);

	(void)state;
	wait.sem[4] = 8;
	wait.value[4] = 1;
	board_add_context(board, 0);
	board_add_context(board, 1);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_add_queue(board, 1, 1, 0x1000, 4);
	board_attach(board, 0, 0);
	board_push(board, 0, &wait);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	board_control(board, 0, NPU_SLOT_DETACH);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(doorbells(board), 0);
	npu_model_doorbell(board->model, 1, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	assert_int_equal(doorbells(board), 0);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 6ull << 48 | 1, 8);
	board_ring_doorbell(board, 0);
	assert_int_equal(doorbells(board), 0);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	assert_int_equal(doorbells(board), 1);
	board_attach(board, 1, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 1), NPU_SLOT_STATE_WAITING);
	board_control(board, 1, NPU_SLOT_DETACH);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	assert_int_equal(doorbells(board), 0);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 8ull << 48 | 1, 8);
	assert_int_equal(doorbells(board), 1);
	board_attach(board, 1, 0);
	board_run(board, 10000);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	/* It leaves in the cycle in which its semaphore comes: that is not lost either. */
	wait.value[3] = 3;
	board_push(board, 0, &wait);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 1), NPU_SLOT_STATE_WAITING);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	board_control(board, 1, NPU_SLOT_DETACH);
	assert_int_equal(doorbells(board), 1);
	board_attach(board, 1, 0);
	board_run(board, 10000);
	assert_int_equal(board_ring(board, 0)->read_index, 2);
	/* Outside the slots a doorbell goes to the firmware. */
	board_control(board, 1, NPU_SLOT_DETACH);
	board_run(board, 10000);
	assert_int_equal(doorbells(board), 0);
	board_ring_doorbell(board, 0);
	assert_int_equal(doorbells(board), 1);
	board_destroy(board);
}

/* Grants: what is asked for, what is too little, taking back. */
static void test_grant(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_add_context(board, 0);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_attach(board, 0, 0);
	program = program_begin(board, 0, PROGRAM, 2);
	program.header->global_bytes = 8192;
	program_finish(&program);
	program_stream(&program, 1);
	program_finish(&program);
	record = board_at(board, 0, RECORD);
	exec = exec_packet(&program, 1, 0, 0, RECORD);
	exec.arguments = 0;
	board_push(board, 0, &exec);
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
	assert_true(board_slot(board, 0, NPU_SLOT_EVENT) & NPU_SLOT_EVENT_REQUEST);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_NEED_CLUSTERS), 2);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_NEED_GLOBAL), 8192);
	/* One cluster is too few, 4 KiB too little, a window outside is none. */
	board_grant(board, 0, 2, 0, 8192);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
	board_grant(board, 0, 6, 0, 4096);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
	board_grant(board, 0, 6, (4u << 20) - 4096, 8192);
	board_run(board, 10000);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	/* Clusters that another slot holds are left out. */
	board_add_queue(board, 1, 0, 0x8000, 4);
	board_attach(board, 1, 1);
	board_run(board, 10000);
	board_grant(board, 1, 2, 0, 0);
	board_grant(board, 0, 6, 4096, 8192);
	board_run(board, 10000);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 4);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
	/* Enough: both tasks run under it; then it is taken back. */
	board_grant(board, 0, 0xc, 4096, 8192);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(board_ring(board, 0)->read_index, 2);
	board_grant(board, 0, 0, 0, 0);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
	/* Rejected by firmware: record, signal, queue stopped. */
	board_control(board, 0, NPU_SLOT_REJECT | NPU_ERROR_NO_RESOURCES);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_REJECTED);
	assert_int_equal(record->error, NPU_ERROR_NO_RESOURCES);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
	assert_int_equal(board_ring(board, 0)->error, NPU_ERROR_NO_RESOURCES);
	assert_int_equal(board_ring(board, 0)->error_index, 2);
	board_destroy(board);
}

/* Programs the command processor refuses: the task is rejected, the queue goes on. */
static void test_bad_programs(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_program_header good;

	(void)state;
	board_simple(board);
	for (unsigned int i = 0; i < 12; i++) {
		struct program program = empty_program(board, 0);
		uint32_t error = NPU_ERROR_BAD_PROGRAM;
		const struct npu_record *record;

		good = *program.header;
		switch (i) {
		case 0: program.header->magic++; break;
		case 1: program.header->version = 2; break;
		case 2: program.header->clusters = 0; break;
		case 3: program.header->clusters = 9; break;
		case 4: program.header->dma_channels = 3; break;
		case 5: program.header->entry[0] = 72; break;
		case 6: program.header->entry[0] = program.header->bytes; break;
		case 7: program.header->entry[1] = 64; break;
		case 8: program.header->save_bytes = 64; break;
		case 9: program.header->entry[0] = 0; break;
		case 10:
			program.header->local_bytes = (512u << 10) + 1;
			error = NPU_ERROR_NO_RESOURCES;
			break;
		case 11:
			program.header->clusters = 5;
			for (unsigned int c = 0; c < 5; c++)
				program.header->entry[c] = 64;
			error = NPU_ERROR_NO_RESOURCES;
			break;
		}
		record = board_execute(board, &program, NULL, 0);
		assert_int_equal(record->status, NPU_STATUS_REJECTED);
		assert_int_equal(record->error, error);
		assert_int_equal(record->detail, i);	/* index of the packet */
		*program.header = good;
	}
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_EMPTY);
	board_destroy(board);
}

/* Every malformed packet stops its queue, says where and why, and no other queue. */
static void test_bad_packets(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 22; i++) {
		struct board *board = board_create(NULL);
		struct program program;
		union npu_packet packet = { 0 };
		uint32_t error = NPU_ERROR_BAD_PACKET;
		const struct npu_event *event;

		board_simple(board);
		board_add_queue(board, 1, 0, 0x8000, 4);
		board_attach(board, 1, 1);
		program = empty_program(board, 0);
		packet.exec = exec_packet(&program, 1, 0, 0, RECORD);
		packet.exec.arguments = 0;
		if (i >= 12) {
			memset(&packet, 0, sizeof(packet));
			packet.header = i < 14 ? NPU_PACKET_COPY : i < 16 ? NPU_PACKET_SIGNAL :
					i < 18 ? NPU_PACKET_GRAPH : i < 20 ? NPU_PACKET_NOP :
					i == 20 ? NPU_PACKET_TIMESTAMP : NPU_PACKET_WAIT;
		}
		switch (i) {
		case 0: packet.header = NPU_PACKET_INVALID; break;
		case 1: packet.header = 9; break;
		case 2: packet.header |= 1u << 9; break;
		case 3: packet.header |= 4u << NPU_PACKET_FLAGS_SHIFT; break;
		case 4: packet.exec.budget = 0; break;
		case 5: packet.exec.argument_count = 33; break;
		case 6: packet.exec.program += 16; break;
		case 7: packet.exec.record += 8; break;
		case 8: packet.exec.reserved1 = 1; break;
		case 9: packet.exec.signal_sem = 256; error = NPU_ERROR_BAD_SEMAPHORE; break;
		case 10: packet.exec.wait_sem[0] = 256; error = NPU_ERROR_BAD_SEMAPHORE; break;
		case 11: packet.exec.arguments = 8; break;
		case 12: break;	/* COPY of 0 bytes */
		case 13: packet.copy.bytes = (1u << 31) + 1; break;
		case 14: break;	/* SIGNAL of 0 */
		case 15: packet.signal.add = 1; packet.signal.sem = 300;
			 error = NPU_ERROR_BAD_SEMAPHORE; break;
		case 16: break;	/* GRAPH of 0 packets */
		case 17: packet.graph.count = 1; packet.graph.patch_count = 8; break;
		case 18: packet.words[4] = 1; break;
		case 19: packet.header |= 1u << NPU_PACKET_FLAGS_SHIFT; break;
		case 20: packet.timestamp.destination = 4; break;
		case 21: packet.wait.sem[5] = 256; error = NPU_ERROR_BAD_SEMAPHORE; break;
		}
		push_nop(board, 0);
		board_push(board, 0, &packet);
		push_nop(board, 0);
		board_ring_doorbell(board, 0);
		board_run(board, 10000);
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
		assert_int_equal(board_ring(board, 0)->error, error);
		assert_int_equal(board_ring(board, 0)->error_index, 1);
		assert_int_equal(board_ring(board, 0)->read_index, 1);
		event = board_event(board);
		assert_non_null(event);
		assert_int_equal(event->header >> 8 & 0xff, NPU_EVENT_QUEUE_ERROR);
		assert_int_equal(event->sem, 0);
		assert_int_equal(event->value, error);
		/* Its doorbell is dead, the neighbour's is not. */
		board_ring_doorbell(board, 0);
		push_nop(board, 1);
		board_ring_doorbell(board, 1);
		board_run(board, 10000);
		assert_int_equal(board_ring(board, 0)->read_index, 1);
		assert_int_equal(board_ring(board, 1)->read_index, 1);
		board_control(board, 0, NPU_SLOT_DETACH);
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
		assert_int_equal(npu_model_core_read(board->model,
						     NPU_REG_QUEUE(0) + NPU_QUEUE_ERROR), error);
		board_destroy(board);
	}
}

/* A driver that gave a ring where no memory is does not hang the device by its consumer index. */
static void test_error_without_event_memory(void **state)
{
	const struct npu_packet_signal bad = { .header = NPU_PACKET_SIGNAL };
	struct board *board = board_create(NULL);

	(void)state;
	board_simple(board);
	npu_model_register_write(board->model, NPU_REG_EVENT_BASE_LO, 0xfffff000);
	npu_model_register_write(board->model, NPU_REG_EVENT_BASE_HI, 0xffff);
	board_push(board, 0, &bad);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
	npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, 0);
	assert_int_equal(board->irqs & NPU_IRQ_EVENT, 0);
	/* The doorbell page of a stopped queue does nothing any more. */
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 7ull << 48 | 1, 8);
	assert_int_equal(board_semaphore(board, 0, 7), 0);
	board_destroy(board);
}

static void test_watch(void **state)
{
	struct board *board = board_create(NULL);
	const struct npu_event *event;

	(void)state;
	board_simple(board);
	/* Not met: nothing. One short: nothing. Met: one event, one interrupt, disarmed. */
	arm(board, 0, 20, 3);
	assert_int_equal(board->irqs, 0);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 2, 8);
	assert_null(board_event(board));
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 5, 8);
	assert_int_equal(board->irqs, NPU_IRQ_EVENT);
	assert_int_equal(board->irq_count[1], 1);
	event = board_event(board);
	assert_non_null(event);
	assert_int_equal(event->header >> 8 & 0xff, NPU_EVENT_WATCH);
	assert_int_equal(event->header >> 16, 0);
	assert_int_equal(event->sem, 20);
	assert_int_equal(event->value, 7);
	npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, board->events_read);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 5, 8);
	assert_null(board_event(board));
	assert_int_equal(board->irq_count[1], 1);
	/* Arming one that is met already fires at once. */
	arm(board, 0, 20, 12);
	assert_int_equal(board->irq_count[1], 2);
	event = board_event(board);
	assert_non_null(event);
	assert_int_equal(event->value, 12);
	npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, board->events_read);
	/* More events than the driver has seen when it posts its index: told again. */
	arm(board, 0, 21, 0);
	arm(board, 0, 22, 0);
	assert_int_equal(board->irq_count[1], 3);
	assert_non_null(board_event(board));
	npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, board->events_read);
	assert_int_equal(board->irq_count[1], 4);
	assert_non_null(board_event(board));
	npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, board->events_read);
	assert_int_equal(board->irq_count[1], 4);
	board_destroy(board);
}

/* More watches than the event ring has room: none is lost. */
static void test_event_ring_full(void **state)
{
	struct board *board = board_create(NULL);
	unsigned int seen = 0;
	const struct npu_event *event;

	(void)state;
	board_simple(board);
	for (unsigned int i = 0; i < 200; i++)
		arm(board, 0, i, 0);
	assert_int_equal(board->irq_count[1], 1);
	while ((event = board_event(board))) {
		assert_int_equal(event->sem, seen);
		seen++;
		if (seen % 16 == 0)
			npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER,
						 board->events_read);
	}
	assert_int_equal(seen, 200);
	board_destroy(board);
}

/* A context that comes back (resume) has the values of its area; a new one zeroes. */
static void test_restore(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board_simple(board);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 7, 8);
	board_update_context(board, 0, true);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 1, 8);
	assert_int_equal(board_semaphore(board, 0, 20), 8);
	board_update_context(board, 0, false);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 1, 8);
	assert_int_equal(board_semaphore(board, 0, 20), 8);
	board_update_context(board, 0, true);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 20ull << 48 | 1, 8);
	assert_int_equal(board_semaphore(board, 0, 20), 9);
	board_destroy(board);
}

/*
 * COPY of 10000 bytes from 8 into a burst to a burst's start: 157 + 157 bursts, 628 cycles; 24 +
 * 240 and two walks of three levels before it.
 */
static void test_copy(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 5,
		.bytes = 10000,
		.signal_sem = 1,
	};
	const struct npu_record *record;
	uint8_t *source, *target;

	(void)state;
	board_simple(board);
	source = board_at(board, 0, 0x100008);
	target = board_at(board, 0, 0x200000);
	for (unsigned int i = 0; i < 10001; i++)
		source[i] = (uint8_t)(i * 7);
	copy.source = board_va(board, 0x100008);
	copy.destination = board_va(board, 0x200000);
	copy.record = board_va(board, RECORD);
	record = board_at(board, 0, RECORD);
	board_push(board, 0, &copy);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_memory_equal(source, target, 10000);
	assert_int_equal(target[10000], 0);
	assert_int_equal(record->dram_read, 157);
	assert_int_equal(record->dram_write, 157);
	assert_int_equal(record->end - record->start, 24 + 240 + 6 * 122 + 2 * 314);
	assert_int_equal(board_semaphore(board, 0, 1), 1);
	board_destroy(board);
}

/* Two queues copy at once: one after the other, in order of arrival. */
static void test_copy_turns(void **state)
{
	struct board *board = board_create(NULL);
	const struct npu_record *first, *second;

	(void)state;
	board_simple(board);
	board_add_queue(board, 1, 0, 0x8000, 4);
	board_attach(board, 1, 1);
	board_run(board, 10000);
	for (unsigned int queue = 0; queue < 2; queue++) {
		struct npu_packet_copy copy = {
			.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
			.bytes = 64,
			.signal_sem = NPU_SEM_NONE,
			.source = board_va(board, 0x100000),
			.destination = board_va(board, 0x110000 + queue * 64),
			.record = board_va(board, RECORD + queue * 64),
		};

		board_push(board, queue, &copy);
		board_ring_doorbell(board, queue);
	}
	board_run(board, 10000);
	first = board_at(board, 0, RECORD);
	second = board_at(board, 0, RECORD + 64);
	assert_int_equal(first->status, NPU_STATUS_DONE);
	assert_int_equal(second->status, NPU_STATUS_DONE);
	assert_int_equal(second->start, first->end);
	board_destroy(board);
}

/* A list with relative thresholds, patched, replayed three times. */
static void test_graph(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	union npu_packet *list;
	struct npu_graph_patch *patches;
	struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0),
		.task_id = 42,
		.count = 4,
		.patch_count = 2,
	};
	const struct npu_record *inner, *outer;

	(void)state;
	board_simple(board);
	program = empty_program(board, 0);
	list = board_at(board, 0, 0x20000);
	patches = board_at(board, 0, 0x21000);
	list[0].signal = signal_packet(9, 2);
	list[1].wait = wait_packet(9, 2);	/* 2 more than when the GRAPH began */
	list[2].exec = exec_packet(&program, 7, 0, 0, 0x30000);
	list[2].exec.arguments = 0;
	list[3].signal = signal_packet(10, 1);
	patches[0] = (struct npu_graph_patch){ .packet = 2, .offset = 24 };
	patches[1] = (struct npu_graph_patch){ .packet = 3, .offset = 8 };
	graph.list = board_va(board, 0x20000);
	graph.patches = board_va(board, 0x21000);
	graph.record = board_va(board, 0x22000);
	outer = board_at(board, 0, 0x22000);
	for (unsigned int i = 0; i < 3; i++) {
		patches[0].value = board_va(board, RECORD + i * 64);
		patches[1].value = 5 + i;
		memset(board_at(board, 0, 0x22000), 0, sizeof(*outer));
		board_push(board, 0, &graph);
		board_ring_doorbell(board, 0);
		board_run(board, 100000);
		inner = board_at(board, 0, RECORD + i * 64);
		assert_int_equal(inner->status, NPU_STATUS_DONE);
		assert_int_equal(inner->task_id, 7);
		assert_int_equal(outer->status, NPU_STATUS_DONE);
		assert_int_equal(outer->task_id, 42);
		assert_true(outer->start < inner->start && outer->end > inner->end);
		assert_int_equal(outer->dram_read, inner->dram_read);
		assert_int_equal(board_ring(board, 0)->read_index, i + 1);
		assert_int_equal(board_semaphore(board, 0, 9), 2 * (i + 1));
	}
	assert_int_equal(board_semaphore(board, 0, 10), 5 + 6 + 7);
	/* No GRAPH inside a GRAPH; the ring's packet is the one in error. */
	list[1].graph = graph;
	board_push(board, 0, &graph);
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
	assert_int_equal(board_ring(board, 0)->error, NPU_ERROR_BAD_PACKET);
	assert_int_equal(board_ring(board, 0)->error_index, 3);
	board_destroy(board);
}

/*
 * A GRAPH ends with a task: both records are due in the cycle in which the next packet, which has
 * none, has arrived. Its place in the ring is counted behind theirs.
 */
static void test_graph_before_next(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .count = 1,
	};
	struct program program;
	union npu_packet *list;

	(void)state;
	board_simple(board);
	program = empty_program(board, 0);
	list = board_at(board, 0, 0x20000);
	list->exec = exec_packet(&program, 7, 0, 0, RECORD);
	graph.list = board_va(board, 0x20000);
	graph.record = board_va(board, 0x22000);
	for (unsigned int i = 0; i < 3; i++) {
		board_push(board, 0, &graph);
		push_nop(board, 0);
	}
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
	assert_int_equal(board_ring(board, 0)->read_index, 6);
	board_destroy(board);
}

/* A graph that waits gives up its slot and goes on where it was in another one. */
static void test_graph_detached(void **state)
{
	struct board *board = board_create(NULL);
	union npu_packet *list;
	struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .count = 3,
	};

	(void)state;
	board_simple(board);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 9ull << 48 | 10, 8);
	list = board_at(board, 0, 0x20000);
	list[0].signal = signal_packet(10, 1);
	list[1].wait = wait_packet(9, 1);
	list[2].signal = signal_packet(11, 1);
	graph.list = board_va(board, 0x20000);
	board_push(board, 0, &graph);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_WAITING);
	board_control(board, 0, NPU_SLOT_DETACH);
	board_attach(board, 2, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 2), NPU_SLOT_STATE_WAITING);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 9ull << 48 | 1, 8);
	board_run(board, 10000);
	assert_int_equal(board_semaphore(board, 0, 10), 1);
	assert_int_equal(board_semaphore(board, 0, 11), 1);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_unpublished),
		cmocka_unit_test(test_packet_cycles),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_detach_waiting),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_bad_programs),
		cmocka_unit_test(test_bad_packets),
		cmocka_unit_test(test_error_without_event_memory),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_event_ring_full),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_turns),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_graph_before_next),
		cmocka_unit_test(test_graph_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
