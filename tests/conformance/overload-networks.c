/* SPDX-License-Identifier: MIT */
/*
 * overload-networks FIRMWARE HIGH.npu NORMAL.npu LOW.npu short|long FRAMES: three networks of three
 * priorities on a device that has not time for all of them, by the real firmware, in device time.
 *
 * The high one has a frame every 2.5 times of what it takes, and has to be done with it when the
 * next one comes. The normal one comes at random, nine tenths of what the device could do, and is
 * refused while two of it are there. The low one would always have something to do: with short tasks,
 * of a slice at most, it has its turns, with long ones its share of the time. Prints TAP.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../unit/firmware/random.h"
#include "machine.h"
#include "network.h"

#define LIMIT		1000000000ull
#define SLICE		100000		/* cycles; firmware.rst, "Preemption" */
#define FRAMES_MAX	1000
#define TASKS_MAX	4000
#define STEP		1000

enum { HIGH, NORMAL, LOW, QUEUES };

static const unsigned int priorities[QUEUES] = { 15, 8, 0 };
static const char *const names[QUEUES] = { "high", "normal", "low" };

/* What one queue is offered, and what came of it. */
struct flow {
	struct network *network;
	uint64_t arrival[TASKS_MAX], latency[TASKS_MAX];
	unsigned int submitted, taken, refused;
	uint64_t ran;		/* cycles in which a task of it had clusters, as far as steps show */
	uint64_t next;		/* arrival; UINT64_MAX: none */
	bool right;
};

struct study {
	struct host *host;
	struct flow flow[QUEUES];
	struct random random;
	uint64_t period;
	unsigned int frames;
	bool overload;
};

static struct host *make_host(const char *firmware, struct network *networks)
{
	struct host *host = host_create("npu-v3", firmware);

	for (unsigned int i = 0; i < QUEUES; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, priorities[i]);
		network_place(host, &networks[i]);
	}
	host_idle(host, LIMIT);
	return host;
}

static void run_alone(const char *firmware, struct network *networks)
{
	struct host *host = make_host(firmware, networks);

	for (unsigned int i = 0; i < QUEUES; i++) {
		network_run_alone(host, i, &networks[i]);
		printf("# %s: %" PRIu64 " cycles alone\n", names[i], networks[i].alone);
	}
	host_destroy(host);
}

/* What is done. */
static void take(struct study *study, unsigned int queue)
{
	struct flow *flow = &study->flow[queue];

	while (flow->taken < flow->submitted &&
	       host_record(study->host, queue, flow->taken)->status) {
		flow->latency[flow->taken] = host_record(study->host, queue, flow->taken)->end -
					     flow->arrival[flow->taken];
		flow->right &= network_take_outputs(study->host, queue, flow->network, flow->taken);
		flow->taken++;
	}
}

/* One comes now: to a queue that has room for as many as have outputs of their own. */
static void arrive(struct study *study, unsigned int queue)
{
	struct flow *flow = &study->flow[queue];

	take(study, queue);
	if (flow->submitted - flow->taken == NETWORK_COPIES) {
		flow->refused++;
		return;
	}
	if (flow->submitted == TASKS_MAX)
		die("more tasks than there is room for");
	flow->arrival[flow->submitted++] = npu_model_time(study->host->model);
	network_submit(study->host, queue, flow->network, NPU_EXEC_PREEMPT);
	host_ring(study->host, queue);
}

static uint64_t interval(struct study *study, unsigned int queue)
{
	uint64_t mean = study->flow[NORMAL].network->alone * 10 / 9;

	if (queue == HIGH)
		return study->period;
	return mean / 2 + random_below(&study->random, (uint32_t)mean);
}

static void arrive_all(struct study *study)
{
	uint64_t now = npu_model_time(study->host->model);
	struct flow *low = &study->flow[LOW];

	for (unsigned int i = HIGH; i <= NORMAL; i++) {
		if (study->flow[i].next > now)
			continue;
		arrive(study, i);
		study->flow[i].next += interval(study, i);
	}
	take(study, LOW);
	while (study->overload && low->submitted - low->taken < NETWORK_COPIES)
		arrive(study, LOW);
}

static void count_running(struct study *study, uint64_t cycles)
{
	for (unsigned int i = 0; i < NPU_SLOTS_MAX; i++) {
		const struct npu_slot *slot = &study->host->model->command.slot[i];

		if (slot->phase == NPU_PHASE_TASK)
			study->flow[slot->queue].ran += cycles;
	}
}

/* Until the next one arrives, or as far as a step goes. */
static void go_on(struct study *study)
{
	struct npu_model *model = study->host->model;
	uint64_t until = npu_model_time(model) + STEP;

	for (unsigned int i = HIGH; i <= NORMAL; i++)
		until = study->flow[i].next < until ? study->flow[i].next : until;
	count_running(study, until - npu_model_time(model));
	if (npu_model_run(model, (unsigned int)(until - npu_model_time(model))) &&
	    npu_model_time(model) < until)
		npu_model_skip(model, until - npu_model_time(model));
}

/* Latencies are sorted afterwards. */
static void print(struct flow *flow, const char *name)
{
	unsigned int count = flow->taken;

	qsort(flow->latency, count, sizeof(*flow->latency), network_compare);
	printf("# %-6s %4u done, %4u refused, ran for %" PRIu64, name, count, flow->refused,
	       flow->ran);
	if (count)
		printf("; from arrival to end 50 %% %" PRIu64 ", 90 %% %" PRIu64 ", 99 %% %" PRIu64
		       ", most %" PRIu64, flow->latency[count / 2], flow->latency[count * 9 / 10],
		       flow->latency[count * 99 / 100], flow->latency[count - 1]);
	printf("\n");
}

static unsigned int missed(const struct study *study)
{
	const struct flow *high = &study->flow[HIGH];
	unsigned int count = high->refused + high->submitted - high->taken;

	for (unsigned int i = 0; i < high->taken; i++)
		count += high->latency[i] > study->period;
	return count;
}

/* Returns how many cycles it was. */
static uint64_t run(struct study *study, const char *firmware, struct network *networks)
{
	uint64_t begin, end;
	struct npu_model *model;

	study->host = make_host(firmware, networks);
	study->random = (struct random){ .state = 0x13579bd };
	model = study->host->model;
	begin = npu_model_time(model);
	end = begin + study->frames * study->period;
	for (unsigned int i = 0; i < QUEUES; i++)
		study->flow[i] = (struct flow){ .network = &networks[i], .right = true,
						.next = UINT64_MAX };
	study->flow[HIGH].next = begin;
	if (study->overload)
		study->flow[NORMAL].next = begin + study->period / 3;
	while (npu_model_time(model) < end) {
		arrive_all(study);
		go_on(study);
	}
	for (unsigned int i = 0; i < QUEUES; i++) {
		take(study, i);
		print(&study->flow[i], names[i]);
	}
	host_destroy(study->host);
	return end - begin;
}

/* Of @took cycles; what the gaps between the others leave counts, too. */
static void check_share(const struct study *study, uint64_t took)
{
	check(study->flow[LOW].ran >= took / 16 * 9 / 10, "the low one has its share");
}

/* It ages for 15 slices; then who comes later is behind it, and who came before has a turn. */
static void check_turns(const struct study *study, uint64_t took)
{
	uint64_t waits = 15 * SLICE + 2 * study->period;

	check(study->flow[LOW].taken >= took / waits, "the low one has its turns");
}

/* Returns false when the words are others. */
static bool parse(int count, char **words, struct study *study, bool *is_long)
{
	if (count != 7)
		return false;
	*is_long = !strcmp(words[5], "long");
	study->frames = (unsigned int)strtoul(words[6], NULL, 10);
	return (*is_long || !strcmp(words[5], "short")) && study->frames &&
	       study->frames <= FRAMES_MAX;
}

int main(int count, char **words)
{
	static struct network networks[QUEUES];
	static struct study study;
	uint64_t took, alone;
	bool is_long;

	if (!parse(count, words, &study, &is_long)) {
		fprintf(stderr,
			"usage: overload-networks FIRMWARE HIGH.npu NORMAL.npu LOW.npu short|long "
			"FRAMES\nFRAMES: 1 to %d\n", FRAMES_MAX);
		return 2;
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		network_open(&networks[i], words[2 + i]);
	run_alone(words[1], networks);
	study.period = networks[HIGH].alone * 5 / 2;
	printf("# a frame every %" PRIu64 " cycles, alone:\n", study.period);
	run(&study, words[1], networks);
	alone = study.flow[HIGH].latency[study.flow[HIGH].taken - 1];
	check(!missed(&study), "without the others no frame is missed");

	study.overload = true;
	printf("# and with the others:\n");
	took = run(&study, words[1], networks);
	check(study.flow[HIGH].right && study.flow[NORMAL].right && study.flow[LOW].right,
	      "results of all three are those of a run alone, bit by bit");
	check(!missed(&study), "under overload no frame of the high one is missed");
	check(study.flow[NORMAL].taken, "the normal one gets something done");
	check(study.flow[NORMAL].refused, "and it was offered more than that");
	check((networks[LOW].alone > SLICE) == is_long, "its tasks are as long as was said");
	if (is_long)
		check_share(&study, took);
	else
		check_turns(&study, took);
	printf("# the latest frame: %" PRIu64 " cycles alone, %" PRIu64 " under overload\n", alone,
	       study.flow[HIGH].latency[study.flow[HIGH].taken - 1]);
	return check_end();
}
