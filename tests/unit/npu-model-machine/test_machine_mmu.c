// SPDX-License-Identifier: MIT
/* Translation: every kind of fault, TLB and walk cache, invalidation, isolation. */
#include <string.h>

#include "board.h"
#include "tlb.h"

#define DATA		0x100000
#define PROGRAM		0x200000
#define RECORD		0x3000

/* A VA of its own root, so that tests may damage every level of its tables. */
#define VA		0x0800000000ull

enum { A = 1, B };

/* DMA from (or, @write, to) @argument; one page, whole. */
static struct program transfer(struct board *board, bool write)
{
	struct program program = program_begin(board, 0, PROGRAM, 1);
	struct npu_td td;

	td = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 256);
	program_descriptor(&program, A, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 256);
	program_descriptor(&program, B, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = write ? A : B,
				    .src[0] = write ? B : A));
	program_finish(&program);
	return program;
}

#define DMA_OFFSET	(64 + 2 * 48)	/* of the DMA instruction in the program */

static void expect_fault(struct board *board, const struct program *program, uint64_t address,
			 unsigned int access, uint32_t error, uint64_t where)
{
	const struct npu_record *record = board_execute(board, program, &address, 1);
	const struct npu_fault *fault;

	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->error, error);
	assert_int_equal(record->detail, where & ((1ull << 56) - 1));
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->header >> 8 & 0xff, error);
	assert_int_equal(fault->header >> 16 & 0xff, 0);	/* context */
	assert_int_equal(fault->header >> 24, 0);		/* queue */
	assert_int_equal(fault->task_id, 77);
	assert_int_equal(fault->address, where);
	assert_int_equal(fault->access, access);
	assert_int_equal(fault->cluster, 0);
	assert_int_equal((uint32_t)fault->program_offset, DMA_OFFSET);
	assert_int_equal(fault->program_offset >> 32 & 0xff, NPU_OP_DMA);
	assert_null(board_fault(board));
	assert_true(board->irqs & NPU_IRQ_FAULT);
}

static void expect_done(struct board *board, const struct program *program, uint64_t address)
{
	assert_int_equal(board_execute(board, program, &address, 1)->status, NPU_STATUS_DONE);
}

static void invalidate(struct board *board)
{
	npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, 1);
}

/* Leaf flags: what each of them allows to read and to write. */
static void test_flags(void **state)
{
	static const struct {
		uint64_t flags;
		uint32_t read, write;	/* enum npu_error */
	} cases[] = {
		{ PTE_ALL, 0, 0 },
		{ PTE_ALL & ~PTE_X, 0, 0 },
		{ PTE_ALL | 1u << 5, 0, 0 },	/* G is ignored */
		{ PTE_ALL | 3u << 8, 0, 0 },	/* bits for software */
		{ PTE_ALL & ~PTE_V, NPU_ERROR_MMU_UNMAPPED, NPU_ERROR_MMU_UNMAPPED },
		{ PTE_ALL & ~PTE_U, NPU_ERROR_MMU_PERMISSION, NPU_ERROR_MMU_PERMISSION },
		{ PTE_ALL & ~PTE_W, 0, NPU_ERROR_MMU_PERMISSION },
		{ PTE_ALL & ~PTE_R, NPU_ERROR_MMU_MALFORMED, NPU_ERROR_MMU_MALFORMED },
		{ PTE_ALL & ~(PTE_R | PTE_W), NPU_ERROR_MMU_PERMISSION, NPU_ERROR_MMU_PERMISSION },
		{ PTE_ALL & ~PTE_A, NPU_ERROR_MMU_ACCESSED_DIRTY, NPU_ERROR_MMU_ACCESSED_DIRTY },
		{ PTE_ALL & ~PTE_D, 0, NPU_ERROR_MMU_ACCESSED_DIRTY },
		{ PTE_ALL | 1ull << 54, NPU_ERROR_MMU_MALFORMED, NPU_ERROR_MMU_MALFORMED },
		{ PTE_ALL | 1ull << 63, NPU_ERROR_MMU_MALFORMED, NPU_ERROR_MMU_MALFORMED },
		/* a pointer where the last level is */
		{ PTE_V, NPU_ERROR_MMU_MALFORMED, NPU_ERROR_MMU_MALFORMED },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct board *board = board_create(NULL);
		uint64_t page = board_pages(board, 1);

		board_simple(board);
		board_map(board, 0, VA, page, 0, cases[i].flags);
		for (unsigned int write = 0; write < 2; write++) {
			struct program program = transfer(board, write);
			uint32_t error = write ? cases[i].write : cases[i].read;

			if (error)
				expect_fault(board, &program, VA, write, error, VA);
			else
				expect_done(board, &program, VA);
		}
		board_destroy(board);
	}
}

/* Tables: misaligned large leaves, upper levels, tables that are not there, odd addresses. */
static void test_tables(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t page = board_pages(board, 1);
	uint64_t *entry, good;

	(void)state;
	board_simple(board);
	program = transfer(board, false);
	expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_UNMAPPED, VA);
	board_map(board, 0, VA, page, 0, PTE_ALL);
	expect_done(board, &program, VA);
	expect_fault(board, &program, VA + 4096 - 128, 0, NPU_ERROR_MMU_UNMAPPED, VA + 4096);
	for (unsigned int level = 1; level < 3; level++) {
		entry = board_entry(board, 0, VA, level);
		good = *entry;
		*entry = (page >> 12 | 1) << 10 | PTE_ALL;	/* misaligned */
		invalidate(board);
		expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_MALFORMED, VA);
		*entry = good | PTE_A;				/* reserved in a pointer */
		invalidate(board);
		expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_MALFORMED, VA);
		*entry = 1ull << 53 | PTE_V;			/* a table nowhere */
		invalidate(board);
		expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_MALFORMED, VA);
		*entry = 0;
		invalidate(board);
		expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_UNMAPPED, VA);
		*entry = good;
		invalidate(board);
		expect_done(board, &program, VA);
	}
	/* Not canonical. */
	expect_fault(board, &program, 1ull << 38, 0, NPU_ERROR_VA_RANGE, 1ull << 38);
	expect_fault(board, &program, VA | 1ull << 40, 0, NPU_ERROR_VA_RANGE, VA | 1ull << 40);
	expect_fault(board, &program, 0xffffffc000000000ull, 0, NPU_ERROR_MMU_UNMAPPED,
		     0xffffffc000000000ull);
	/* A good mapping with nothing behind it. */
	board_map(board, 0, VA, 0x1000, 0, PTE_ALL);
	invalidate(board);
	expect_fault(board, &program, VA, 0, NPU_ERROR_BUS, VA);
	/* A table that loops back to itself is a chain of three reads like any other. */
	entry = board_entry(board, 0, VA, 2);
	*entry = board->root[0] >> 12 << 10 | PTE_V;
	invalidate(board);
	assert_int_equal(board_execute(board, &program, &(uint64_t){ VA }, 1)->status,
			 NPU_STATUS_FAULT);
	board_destroy(board);
}

/* Programs need R and X; their memory faults as a fetch. */
static void test_fetch(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	const struct npu_record *record;
	const struct npu_fault *fault;

	(void)state;
	board_simple(board);
	program = program_begin(board, 0, PROGRAM, 1);
	for (unsigned int i = 0; i < 400; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_TDSET, .dst = A));
	program_finish(&program);
	*board_entry(board, 0, board_va(board, PROGRAM), 0) &= ~(uint64_t)PTE_X;
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->status, NPU_STATUS_REJECTED);
	assert_int_equal(record->error, NPU_ERROR_MMU_PERMISSION);
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->access, NPU_ACCESS_FETCH);
	assert_int_equal(fault->cluster, 0xff);
	*board_entry(board, 0, board_va(board, PROGRAM), 0) |= PTE_X;
	/* The second page is fetched ahead, but it is the instruction there that faults. */
	*board_entry(board, 0, board_va(board, PROGRAM + 4096), 0) &= ~(uint64_t)PTE_X;
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->error, NPU_ERROR_MMU_PERMISSION);
	assert_int_equal(record->detail, board_va(board, PROGRAM + 4096));
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->access, NPU_ACCESS_FETCH);
	assert_int_equal((uint32_t)fault->program_offset, 4096);
	/* What is fetched ahead and never reached harms nobody. */
	program.header->entry[0] = program.size - 16;
	program.header->bytes = 12288;
	*board_entry(board, 0, board_va(board, PROGRAM + 4096), 0) |= PTE_X;
	*board_entry(board, 0, board_va(board, PROGRAM + 8192), 0) = 0;
	invalidate(board);
	assert_int_equal(board_execute(board, &program, NULL, 0)->status, NPU_STATUS_DONE);
	board_destroy(board);
}

/* Faults of SRAM bounds: the window as granted, local SRAM as declared. */
static void test_sram_bounds(void **state)
{
	static const struct {
		unsigned int space;
		uint64_t address;
		uint32_t error;
		uint64_t detail;
	} cases[] = {
		{ NPU_SPACE_GLOBAL, 4096 - 256, 0, 0 },
		{ NPU_SPACE_GLOBAL, 4096 - 255, NPU_ERROR_GLOBAL_RANGE, 4096 },
		{ NPU_SPACE_GLOBAL, 1ull << 39, NPU_ERROR_GLOBAL_RANGE, 1ull << 39 },
		{ NPU_SPACE_LOCAL, 8192 - 256, 0, 0 },
		{ NPU_SPACE_LOCAL, 8192 - 255, NPU_ERROR_LOCAL_RANGE, 8192 },
		{ NPU_SPACE_LOCAL, 1ull << 39, NPU_ERROR_LOCAL_RANGE, 1ull << 39 },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct board *board = board_create(NULL);
		struct program program;
		const struct npu_record *record;
		struct npu_td td;

		board_simple(board);
		board_grant(board, 0, 0xf, 8192, 1u << 20);
		program = program_begin(board, 0, PROGRAM, 1);
		program.header->local_bytes = 8192;
		program.header->global_bytes = 4096;
		td = dense(cases[i].space, 0, (int64_t)cases[i].address, NPU_DTYPE_INT8, 1, 1, 1,
			   256);
		program_descriptor(&program, A, &td);
		td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 256);
		program_descriptor(&program, B, &td);
		program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = A, .src[0] = B));
		program_finish(&program);
		record = board_execute(board, &program, NULL, 0);
		assert_int_equal(record->error, cases[i].error);
		assert_int_equal(record->status,
				 cases[i].error ? NPU_STATUS_FAULT : NPU_STATUS_DONE);
		if (cases[i].error) {
			assert_int_equal(record->detail, cases[i].detail);
			assert_int_equal((uint32_t)board_fault(board)->program_offset, DMA_OFFSET);
		}
		board_destroy(board);
	}
}

/* The ring's own memory, the record's, and what a queue's fault leaves alone. */
static void test_ring_faults(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_fault *fault;

	(void)state;
	board_add_context(board, 0);
	board_add_context(board, 1);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_add_queue(board, 1, 1, 0x1000, 4);
	board_attach(board, 0, 0);
	board_attach(board, 1, 1);
	board_run(board, 10000);
	*board_entry(board, 0, board_va(board, 0x1000), 0) = 0;
	npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, 2 | 0 << 8);
	assert_int_equal(npu_model_register_read(board->model, NPU_REG_TLB_DONE), 1);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_STATE) & 0xff, NPU_SLOT_STATE_STOPPED);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_QUEUE(0) + NPU_QUEUE_ERROR),
			 NPU_ERROR_RING);
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->access, NPU_ACCESS_RING);
	assert_int_equal(fault->header >> 8 & 0xff, NPU_ERROR_MMU_UNMAPPED);
	/* The other context's queue: a record that cannot be written stops it before the task. */
	program = program_begin(board, 1, PROGRAM, 1);
	program_finish(&program);
	exec = exec_packet(&program, 3, 0, 0, RECORD);
	exec.arguments = 0;
	board_grant(board, 1, 1, 0, 4u << 20);
	board_push(board, 1, &exec);
	board_ring_doorbell(board, 1);
	board_run(board, 10000);
	assert_int_equal(((struct npu_record *)board_at(board, 1, RECORD))->status,
			 NPU_STATUS_DONE);
	exec.record = VA;
	board_push(board, 1, &exec);
	board_ring_doorbell(board, 1);
	board_run(board, 10000);
	assert_int_equal(board_ring(board, 1)->error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(board_ring(board, 1)->error_index, 1);
	board_destroy(board);
}

/* A fault ends the whole task, all its clusters, and no other one. */
static void test_gang_fault(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;
	struct npu_td td;

	(void)state;
	board_simple(board);
	board_grant(board, 0, 3, 0, 4u << 20);
	board_add_context(board, 1);
	board_add_queue(board, 1, 1, 0x1000, 4);
	board_attach(board, 1, 1);
	board_run(board, 10000);
	board_grant(board, 1, 0xc, 0, 0);
	/* Context 1: a loop of 500 trips on its own cluster. */
	program = program_begin(board, 1, PROGRAM, 1);
	program.header->global_bytes = 0;
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 500));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_finish(&program);
	exec = exec_packet(&program, 4, 0, 0, RECORD);
	exec.arguments = 0;
	board_push(board, 1, &exec);
	board_ring_doorbell(board, 1);
	/* Context 0: cluster 1 faults while cluster 0 waits at the barrier. */
	program = program_begin(board, 0, PROGRAM, 2);
	program_emit(&program, INSN(.opcode = NPU_OP_BARRIER));
	program_finish(&program);
	program_stream(&program, 1);
	td = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 256);
	program_descriptor(&program, A, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 256);
	program_descriptor(&program, B, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	record = board_execute(board, &program, &(uint64_t){ VA }, 1);
	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->detail >> 56, 1);
	record = board_at(board, 1, RECORD);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->end - record->start, 60 + 1 + 500);
	/* The clusters are fit for the next task. */
	program = program_begin(board, 0, PROGRAM, 2);
	program_emit(&program, INSN(.opcode = NPU_OP_BARRIER));
	program_finish(&program);
	program_stream(&program, 1);
	program_emit(&program, INSN(.opcode = NPU_OP_BARRIER));
	program_finish(&program);
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->end - record->start, 64);
	board_destroy(board);
}

/* An unmapped page is gone once the invalidation is done: all, context, range. */
static void test_invalidation(void **state)
{
	(void)state;
	for (unsigned int kind = 1; kind <= 3; kind++) {
		struct board *board = board_create(NULL);
		struct program program;
		uint64_t page = board_pages(board, 1);

		board_simple(board);
		board_map(board, 0, VA, page, 0, PTE_ALL);
		program = transfer(board, false);
		expect_done(board, &program, VA);
		*board_entry(board, 0, VA, 0) = 0;
		npu_model_register_write(board->model, NPU_REG_TLB_ADDRESS_LO, (uint32_t)VA);
		npu_model_register_write(board->model, NPU_REG_TLB_ADDRESS_HI, VA >> 32);
		npu_model_register_write(board->model, NPU_REG_TLB_BYTES_LO, 1);
		npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, kind);
		expect_fault(board, &program, VA, 0, NPU_ERROR_MMU_UNMAPPED, VA);
		/* A new mapping needs none. */
		board_map(board, 0, VA, page, 0, PTE_ALL);
		expect_done(board, &program, VA);
		board_destroy(board);
	}
}

/* A range leaves its neighbours, other contexts and other sizes' neighbours in the TLB. */
static void test_range(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_mmu *mmu = &board->model->mmu;
	struct npu_tlb *tlb = &mmu->tlb;

	(void)state;
	npu_tlb_insert(tlb, 1, 0x10000, 0);
	npu_tlb_insert(tlb, 1, 0x11000, 0);
	npu_tlb_insert(tlb, 2, 0x10000, 0);
	npu_tlb_insert(tlb, 1, 0x400000, 1);
	npu_mmu_invalidate_range(mmu, 1, 0x10fff, 1);
	assert_false(npu_tlb_lookup(tlb, 1, 0x10000));
	assert_true(npu_tlb_lookup(tlb, 1, 0x11000));
	assert_true(npu_tlb_lookup(tlb, 2, 0x10000));
	npu_mmu_invalidate_range(mmu, 1, 0x5ff000, 0x1000);
	assert_false(npu_tlb_lookup(tlb, 1, 0x400000));
	npu_mmu_invalidate_range(mmu, 1, 0, UINT64_MAX);
	assert_false(npu_tlb_lookup(tlb, 1, 0x11000));
	assert_true(npu_tlb_lookup(tlb, 2, 0x10000));
	npu_mmu_invalidate_range(mmu, 2, 0x10000, 0);
	assert_true(npu_tlb_lookup(tlb, 2, 0x10000));
	board_destroy(board);
}

/* Least recently used, against a list kept the plain way. */
static void test_lru(void **state)
{
	struct board *board = board_create("npu-v3?tlb_entries=16");
	struct npu_tlb *tlb = &board->model->mmu.tlb;
	uint64_t list[16];	/* newest first */
	unsigned int count = 0;
	uint32_t random = 1;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		uint64_t page;
		unsigned int at = 0;
		bool known;

		random = random * 1664525 + 1013904223;
		page = random >> 16 & 31;
		while (at < count && list[at] != page)
			at++;
		known = at < count;
		assert_int_equal(npu_tlb_lookup(tlb, 3, page << 12), known);
		if (!known) {
			npu_tlb_insert(tlb, 3, page << 12, 0);
			count += count < 16;
			at = count - 1;
		}
		memmove(&list[1], &list[0], at * sizeof(list[0]));
		list[0] = page;
	}
	board_destroy(board);
}

/*
 * Misses of a stream: only the first page's walk is paid, the others enter; the counter of misses
 * tells. 300 pages do not fit into 256 entries: the first ones are gone.
 */
static void test_stream(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_td td;
	uint64_t argument;
	uint64_t before;

	(void)state;
	board_simple(board);
	program = program_begin(board, 0, PROGRAM, 1);
	td = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 300, 64);
	td.stride[2] = 4096;
	program_descriptor(&program, A, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 300, 64);
	program_descriptor(&program, B, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	argument = board_va(board, 0x400000);
	before = board->model->mmu.misses;
	/* Decoded 64; the region of 2 MiB is another one than the program's: two levels. */
	assert_int_equal(board_execute(board, &program, &argument, 1)->end -
			 ((struct npu_record *)board_at(board, 0, RECORD))->start,
			 89 + 120 + 244 + 300 * 2);
	assert_int_equal(board->model->mmu.misses - before, 301);
	assert_false(npu_tlb_lookup(&board->model->mmu.tlb, 0, argument));
	assert_true(npu_tlb_lookup(&board->model->mmu.tlb, 0, argument + 299 * 4096));
	board_destroy(board);
}

/* Host memory that moves: pointers are asked for again. */
static void test_memory_changed(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t page = board_pages(board, 1);

	(void)state;
	board_simple(board);
	board_map(board, 0, VA, page, 0, PTE_ALL);
	program = transfer(board, true);
	expect_done(board, &program, VA);
	board->hole = page;
	npu_model_memory_changed(board->model);
	expect_fault(board, &program, VA, 1, NPU_ERROR_BUS, VA);
	board->hole = 0;
	expect_done(board, &program, VA);
	board_destroy(board);
}

/* More faults than the queue holds are counted, and the driver is told again. */
static void test_fault_queue_full(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t argument = VA;
	unsigned int seen = 0;

	(void)state;
	board_simple(board);
	program = transfer(board, false);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(board_execute(board, &program, &argument, 1)->status,
				 NPU_STATUS_FAULT);
	assert_int_equal(board->irq_count[2], 1);
	assert_int_equal(npu_model_register_read(board->model, NPU_REG_FAULT_LOST), 8);
	while (board_fault(board))
		seen++;
	assert_int_equal(seen, 32);
	assert_int_equal(board->irq_count[2], 32);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_sram_bounds),
		cmocka_unit_test(test_ring_faults),
		cmocka_unit_test(test_gang_fault),
		cmocka_unit_test(test_invalidation),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_lru),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_memory_changed),
		cmocka_unit_test(test_fault_queue_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
