// SPDX-License-Identifier: MIT
/*
 * Workers on a device whose tasks, interrupts or memory fail again and again, as npu-device --fault
 * makes them do: whose task fails is told so, of that task and of no other; every other task of his
 * and of everybody else's has the right result; nobody's context is lost.
 * usage: campaign_injected budget|ecc COUNT SECONDS: so many tasks fail, for this reason
 *        campaign_injected none TASKS SECONDS: so many tasks end, and none of them notices anything
 */
#include <pthread.h>
#include <stddef.h>

#include "campaign_program.h"

#define WORKERS 8
#define TASKS 8			/* at a time: of fewer faults than are kept of a context */
#define MOVED 64
#define LOCAL_BYTES 4096

/* A task's in DATA: what it is given, what it makes of it, and the addresses of both. */
struct place {
	_Alignas(MOVED) unsigned char from[MOVED];
	unsigned char to[MOVED];
	_Alignas(MOVED) uint64_t arguments[2];
};

static int64_t end_ns;
static uint32_t expected_error;		/* enum npu_error; 0: none */
static uint64_t wanted, failures, ended;

static bool goes_on(void)
{
	uint64_t so_far = __atomic_load_n(expected_error ? &failures : &ended, __ATOMIC_RELAXED);

	return so_far < wanted && now_ns() < end_ns;
}

/* From argument 0 into local SRAM, and on to argument 1. */
static void emit_moves(struct code *code)
{
	struct npu_td local = tensor(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, MOVED);
	struct npu_td from = tensor(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, MOVED);
	struct npu_td to = tensor(NPU_SPACE_DRAM, 1, 0, NPU_DTYPE_INT8, 1, 1, MOVED);

	code_move(code, local, from, 0, 1);
	code_move(code, to, local, 1, 2);
}

static void put_tasks(struct worker *worker, struct place *places, uint32_t first)
{
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0), .program = EXTRA_VA,
		.argument_count = 2, .budget = 20000, .signal_sem = NPU_SEM_NONE,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};

	for (uint32_t i = 0; i < TASKS; i++) {
		uint64_t va = DATA_VA + i * sizeof(struct place);

		for (uint32_t byte = 0; byte < MOVED; byte++)
			places[i].from[byte] = (unsigned char)roll(&worker->dice, 255);
		memset(places[i].to, 0xff, MOVED);
		places[i].arguments[0] = va + offsetof(struct place, from);
		places[i].arguments[1] = va + offsetof(struct place, to);
		exec.task_id = first + i;
		exec.arguments = va + offsetof(struct place, arguments);
		npu_lane_put(&worker->lane, &exec);
	}
	npu_lane_signal(&worker->lane, 2, 1);
}

/* Is it right, or told to have failed as it was to? Its faults are counted. */
static int check_task(struct worker *worker, const struct place *place, uint32_t task_id, uint32_t *faults)
{
	struct drm_npu_ctx_status status = {
		.ctx = worker->lane.ctx, .flags = DRM_NPU_CTX_STATUS_TASK, .task_id = task_id,
	};
	int ret = npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status);

	if (ret)
		return ret;
	if (status.fault_error) {
		*faults += 1;
		if (expected_error && status.fault_error == expected_error)
			return 0;
		printf("# task %u: error %u\n", task_id, status.fault_error);
		return -EBADE;
	}
	if (!memcmp(place->from, place->to, MOVED))
		return 0;
	printf("# task %u: a wrong result, and nobody says so\n", task_id);
	return -EILSEQ;
}

/* Nothing but the faults of these tasks, and the context lives. */
static int check_context(struct worker *worker, uint32_t before, uint32_t faults)
{
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };
	int ret = npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status);

	if (ret)
		return ret;
	if (status.state == DRM_NPU_CTX_ALIVE && status.faults == before + faults)
		return 0;
	printf("# state %u, %u faults, %u of tasks\n", status.state, status.faults - before, faults);
	return -EPROTO;
}

static int run_round(struct worker *worker, struct place *places, uint32_t *known)
{
	uint32_t first = (uint32_t)worker->signalled * TASKS + 1, faults = 0;
	int ret;

	put_tasks(worker, places, first);
	ret = npu_wait(worker->fd, worker->lane.ctx, 2, ++worker->signalled, end_ns + 60 * SECOND);
	for (uint32_t i = 0; !ret && i < TASKS; i++)
		ret = check_task(worker, &places[i], first + i, &faults);
	if (!ret)
		ret = check_context(worker, *known, faults);
	*known += faults;
	__atomic_fetch_add(&failures, faults, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended, TASKS, __ATOMIC_RELAXED);
	return ret;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct place *places;
	uint32_t known = 0;
	int ret;

	worker->fd = npu_open();
	ret = work_open(worker);
	if (!ret)
		ret = work_bind_code(worker, LOCAL_BYTES, emit_moves);
	if (ret)
		return (void *)(intptr_t)ret;
	places = npu_map(worker->fd, worker->data, DATA_BYTES);
	if (places == MAP_FAILED)
		return (void *)(intptr_t)-ENOMEM;
	do {
		ret = run_round(worker, places, &known);
	} while (!ret && goes_on());
	munmap(places, DATA_BYTES);
	npu_lane_unmap(&worker->lane);
	close(worker->fd);
	return (void *)(intptr_t)ret;
}

static bool read_arguments(char **argv)
{
	if (!strcmp(argv[1], "budget"))
		expected_error = NPU_ERROR_BUDGET;
	else if (!strcmp(argv[1], "ecc"))
		expected_error = NPU_ERROR_ECC;
	else if (strcmp(argv[1], "none"))
		return false;
	wanted = (uint64_t)atol(argv[2]);
	end_ns = now_ns() + atol(argv[3]) * SECOND;
	return true;
}

int main(int argc, char **argv)
{
	struct worker workers[WORKERS] = { 0 };
	pthread_t threads[WORKERS];
	bool fine = true;

	if (argc != 4 || !read_arguments(argv))
		return 2;
	for (uint32_t i = 0; i < WORKERS; i++) {
		workers[i].dice = i + 1;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			return 2;
	}
	for (uint32_t i = 0; i < WORKERS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		fine &= campaign_result(!result, "worker %u: %s", i,
					result ? strerror(-(int)(intptr_t)result) : "all as it should be");
	}
	fine &= campaign_result((expected_error ? failures : ended) >= wanted,
				"%llu tasks ended, %llu of them failed as they were to",
				(unsigned long long)ended, (unsigned long long)failures);
	fine &= campaign_result(!npu_sysfs_number("npu_resets"), "the device was not reset");
	return fine ? 0 : 1;
}
