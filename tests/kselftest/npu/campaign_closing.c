// SPDX-License-Identifier: MIT
/*
 * Contexts end while they fault: packet after packet reaches where nothing is bound, the first
 * faults have come, and the file is closed, the context destroyed, or the process killed. Meanwhile
 * another program copies, and what it copies must be right. Argument: how many.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "campaign_work.h"

#define PACKETS 14
/* A copy that begins well, and faults where the buffer ends. */
#define LONG_BYTES (DATA_BYTES / 2)
#define BEYOND_VA (DATA_VA + DATA_BYTES)

enum way { CLOSE, DESTROY, KILL, WAYS };

/* What processes that may be killed have seen. */
struct counts {
	uint32_t faulted, midst;
};

static bool ended;

static uint32_t faults_of(const struct worker *worker)
{
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };

	return npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status) ? 0 : status.faults;
}

static void put_fault(struct worker *worker)
{
	bool at_once = roll(&worker->dice, 2), reads = roll(&worker->dice, 2);
	uint64_t wrong = at_once ? BEYOND_VA : BEYOND_VA - LONG_BYTES + PAGE;
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = (uint32_t)worker->lane.written,
		.destination = reads ? DATA_VA : wrong,
		.source = reads ? wrong : DATA_VA,
		.bytes = LONG_BYTES,
		.signal_sem = NPU_SEM_NONE,
	};

	npu_lane_put(&worker->lane, &copy);
}

/* Until a chosen number of faults has come. Returns 0 or a negative errno. */
static int fault_for_a_while(struct worker *worker, struct counts *counts)
{
	int64_t patience = now_ns() + 60 * SECOND;
	uint32_t enough = 1 + roll(&worker->dice, PACKETS / 2), faults;

	for (int i = 0; i < PACKETS; i++)
		put_fault(worker);
	do {
		faults = faults_of(worker);
	} while (faults < enough && now_ns() < patience);
	if (faults < enough)
		return -ETIME;
	__atomic_fetch_add(&counts->faulted, 1, __ATOMIC_RELAXED);
	if (faults < PACKETS)
		__atomic_fetch_add(&counts->midst, 1, __ATOMIC_RELAXED);
	return 0;
}

static int end_so(struct worker *worker, enum way way)
{
	if (way == KILL)
		raise(SIGKILL);
	if (way == DESTROY)
		return npu_context_destroy(worker->fd, worker->lane.ctx);
	return 0;
}

static int fault_and_end(uint64_t seed, struct counts *counts)
{
	struct worker worker = { .dice = seed, .fd = npu_open() };
	int ret = work_open(&worker);

	if (!ret)
		ret = fault_for_a_while(&worker, counts);
	if (!ret)
		ret = end_so(&worker, (enum way)roll(&worker.dice, WAYS));
	npu_lane_unmap(&worker.lane);
	close(worker.fd);
	if (ret)
		printf("# round %llu: %s\n", (unsigned long long)seed, strerror(-ret));
	return ret;
}

/* A process of its own, as a killed one cannot go on. */
static bool do_round(uint64_t seed, struct counts *counts)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child)
		exit(fault_and_end(seed, counts) ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status);
}

static void *copy_on(void *argument)
{
	struct worker *worker = argument;
	unsigned char *data = npu_map(worker->fd, worker->data, DATA_BYTES);
	uint64_t number;
	int ret = data == MAP_FAILED ? -errno : 0;

	for (number = 1; !ret && !__atomic_load_n(&ended, __ATOMIC_RELAXED); number++) {
		memset(data, (int)(number & 0x7f) + 1, LONG_BYTES);
		work_put_copy(&worker->lane, LONG_BYTES);
		npu_lane_signal(&worker->lane, 1, 1);
		ret = npu_wait(worker->fd, worker->lane.ctx, 1, number, now_ns() + 120 * SECOND);
		if (!ret && memcmp(data, data + LONG_BYTES, LONG_BYTES))
			ret = -EILSEQ;
	}
	worker->signalled = number;
	/* It would keep the file. */
	if (data != MAP_FAILED)
		munmap(data, DATA_BYTES);
	return (void *)(intptr_t)ret;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 20, good = 0;
	struct worker bystander = { .dice = 1, .fd = npu_open() };
	struct counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	void *result;
	bool fine;

	if (counts == MAP_FAILED || work_open(&bystander) ||
	    pthread_create(&thread, NULL, copy_on, &bystander))
		return !campaign_result(false, "a program that copies");
	for (uint64_t i = 0; i < rounds; i++)
		good += do_round(i + 1, counts);
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	pthread_join(thread, &result);
	fine = campaign_result(good == rounds && counts->faulted == rounds,
			       "%llu of %llu contexts faulted and ended",
			       (unsigned long long)good, (unsigned long long)rounds);
	fine &= campaign_result(counts->midst, "%u of them in the midst of it", counts->midst);
	fine &= campaign_result(!result, "a bystander's %llu copies were right: %s",
				(unsigned long long)bystander.signalled,
				strerror(-(int)(intptr_t)result));
	npu_lane_unmap(&bystander.lane);
	close(bystander.fd);
	fine &= device_is_idle();
	return fine ? 0 : 1;
}
