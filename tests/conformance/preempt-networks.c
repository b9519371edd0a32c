/* SPDX-License-Identifier: MIT */
/*
 * preempt-networks FIRMWARE WAY NETWORK.npu: a network leaves its clusters at all its points, by the
 * real firmware on the device model; its results are those of a run alone, and no way from one point
 * to the next takes more than WAY cycles.
 *
 * preempt-networks FIRMWARE WAY LOW.npu HIGH.npu ARRIVALS: and one of the highest priority comes now
 * and then to a device that this one, of the lowest, keeps busy: results with and without
 * preemption, how long the high one takes from its doorbell, what the low one gets done. Both print
 * TAP.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/firmware/random.h"
#include "machine.h"
#include "network.h"
#include "npu/npu_isa.h"

#define LIMIT		1000000000ull
#define TASK_MOST	100000000ull	/* cycles for a task, with all that comes between */
#define ADDED_MOST	15000		/* cycles that a load below may add */
#define ARRIVALS_MAX	1000
#define WAYS_MAX	10000
#define WAY_WANTED	5000		/* cycles from point to point that npucc is to keep to */

enum { LOW, HIGH, QUEUES };

struct way {
	uint64_t cycles;
	const char *from;	/* code of the first cluster where it began */
};

static int compare_ways(const void *one, const void *other)
{
	const struct way *a = one, *b = other;

	return a->cycles > b->cycles ? -1 : a->cycles < b->cycles;
}

static struct host *make_host(const char *firmware, struct network *networks)
{
	struct host *host = host_create("npu-v3", firmware);

	for (unsigned int i = 0; i < QUEUES; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, i == HIGH ? 15 : 0);
		network_place(host, &networks[i]);
	}
	host_idle(host, LIMIT);
	return host;
}

static void run_alone(const char *firmware, struct network *networks)
{
	struct host *host = make_host(firmware, networks);

	for (unsigned int i = 0; i < QUEUES; i++)
		network_run_alone(host, i, &networks[i]);
	host_destroy(host);
}

/* How often the first cluster's stream comes to a point when nothing stops it. */
static uint64_t count_points(const struct host *host, const struct network *network)
{
	const uint8_t *program = host->memory + network->program;
	uint32_t at = le32toh(network->image.program.entry[0]);
	uint64_t times[NPU_LOOP_NESTING + 1] = { 1 };
	unsigned int depth = 0;
	uint64_t count = 0;

	while (at + NPU_INSN_BYTES <= network->image.text.bytes) {
		struct npu_insn insn;

		memcpy(&insn, program + at, sizeof(insn));
		at += NPU_INSN_BYTES;
		if (insn.opcode == NPU_OP_END)
			return count;
		if (insn.opcode == NPU_OP_LDTD)
			at += NPU_TD_BYTES;
		if (insn.opcode == NPU_OP_POINT || insn.opcode == NPU_OP_BARRIER)
			count += insn.imm32 ? times[depth] : 0;
		if (insn.opcode == NPU_OP_LOOP && depth < NPU_LOOP_NESTING) {
			times[depth + 1] = times[depth] * le32toh(insn.imm32);
			depth++;
		}
		if (insn.opcode == NPU_OP_ENDLOOP && depth)
			depth--;
	}
	die("a stream without an end");
	return 0;
}

static void check_ways(const struct network *network, const struct way *ways, size_t count,
		       uint64_t points, uint64_t most)
{
	uint64_t predicted = network->image.point_cycles;
	size_t beyond = 0;

	while (beyond < count && ways[beyond].cycles > WAY_WANTED)
		beyond++;
	printf("# left at %zu of %" PRIu64 " points, predicted every %" PRIu64
	       " cycles at most; %zu ways of more than %u, the longest:", count, points, predicted,
	       beyond, WAY_WANTED);
	for (size_t i = 0; i < 5 && i < count; i++)
		printf(" %" PRIu64 " (%s)", ways[i].cycles, ways[i].from ? ways[i].from : "?");
	printf("; nine of ten at most %" PRIu64 "\n", ways[(count + 9) / 10].cycles);
	check(ways[0].cycles <= most, "no way is longer than it has to be");
	check(points && count == points, "left at every one of its points");
	check(ways[(count + 9) / 10].cycles <= predicted,
	      "nine of ten ways are within what was predicted for the longest one");
}

/*
 * The low network alone, asked to leave whenever it runs: it goes through all its points. The ways
 * between them are those from where it goes on to where the next save begins.
 */
static void run_through_points(const char *firmware, struct network *networks, uint64_t most)
{
	static struct way ways[WAYS_MAX];
	struct host *host = make_host(firmware, networks);
	const struct npu_slot *slot = &host->model->command.slot[0];
	struct network *network = &networks[LOW];
	uint64_t until = npu_model_time(host->model) + TASK_MOST, since = 0;
	size_t count = 0;
	bool running = false;

	network_submit(host, LOW, network, NPU_EXEC_PREEMPT);
	host_ring(host, LOW);
	while (!host_record(host, LOW, 0)->status && npu_model_time(host->model) < until) {
		bool runs = slot->phase == NPU_PHASE_TASK && !slot->task.returning;

		npu_model_run(host->model, 1);
		if (runs && !running) {
			since = npu_model_time(host->model);
			ways[count].from = npurt_image_symbol_at(
				&network->image,
				host->model->clusters[slot->task.cluster[0]].front.offset);
			npu_model_core_write(host->model,
					     NPU_REG_SLOT(slot->number) + NPU_SLOT_CONTROL,
					     NPU_SLOT_PREEMPT | NPU_SLOT_KEEP);
		}
		if (!runs && running && slot->phase == NPU_PHASE_SAVE_LATENCY &&
		    count + 1 < WAYS_MAX)
			ways[count++].cycles = npu_model_time(host->model) - since;
		running = runs;
	}
	check(network_take_outputs(host, LOW, network, 0),
	      "asked to leave all the time, its results are those of a run alone, bit by bit");
	qsort(ways, count, sizeof(*ways), compare_ways);
	check_ways(network, ways, count, count_points(host, network), most);
	host_destroy(host);
}

struct load {
	struct host *host;
	const struct network *network;
	uint32_t flags;
	uint64_t taken;		/* tasks whose outputs were looked at */
	bool right;
};

/* Keep the low queue's ring from running dry, look at what is done. */
static void keep_busy(struct load *load)
{
	struct host *host = load->host;

	if (!load->network)
		return;
	while (load->taken < host_control(host, LOW)->read_index &&
	       host_record(host, LOW, load->taken)->status)
		load->right &= network_take_outputs(host, LOW, load->network, load->taken++);
	/* No more than there are copies: what runs writes where nobody looks. */
	while (host->index[LOW] - load->taken < NETWORK_COPIES)
		network_submit(host, LOW, load->network, load->flags);
	host_ring(host, LOW);
}

struct figures {
	uint64_t median, ninety_nine, most;
	double low;		/* its work, to what it could have done in the time that was left */
	uint32_t preemptions;
	bool right;
};

static void pass(struct load *load, uint64_t until)
{
	struct npu_model *model = load->host->model;

	while (npu_model_time(model) < until) {
		keep_busy(load);
		if (npu_model_run(model, 1000) && npu_model_time(model) < until)
			npu_model_skip(model, until - npu_model_time(model));
	}
}

static struct figures measure(const char *firmware, struct network *networks, bool busy,
			      uint32_t flags, unsigned int arrivals)
{
	static uint64_t latency[ARRIVALS_MAX];
	struct host *host = make_host(firmware, networks);
	struct load load = { .host = host, .network = busy ? &networks[LOW] : NULL,
			     .flags = flags, .right = true };
	struct random random = { .state = 0x13579bd };
	struct figures figures = { 0 };
	uint64_t begin = npu_model_time(host->model), used = 0, work;

	pass(&load, begin + 100000);
	for (unsigned int i = 0; i < arrivals; i++) {
		const struct npu_record *record = host_record(host, HIGH, i);
		uint64_t rung;

		pass(&load, npu_model_time(host->model) + 20000 + random_below(&random, 100000));
		rung = npu_model_time(host->model);
		network_submit(host, HIGH, &networks[HIGH], flags);
		record = host_record(host, HIGH, i);
		host_ring(host, HIGH);
		while (!record->status) {
			if (npu_model_time(host->model) - rung > TASK_MOST)
				die("the high one does not end");
			keep_busy(&load);
			npu_model_run(host->model, 500);
		}
		latency[i] = record->end - rung;
		used += record->end - record->start;
		load.right &= network_take_outputs(host, HIGH, &networks[HIGH], i);
	}
	used = npu_model_time(host->model) - begin - used;
	work = npu_model_register_read(host->model, NPU_REG_COUNTER_MAC_LO) -
	       arrivals * networks[HIGH].mac_alone;
	figures.low = (double)work / (double)networks[LOW].mac_alone *
		      (double)networks[LOW].alone / (double)used;
	figures.preemptions = npu_model_register_read(host->model, NPU_REG_COUNTER_PREEMPTIONS_LO);
	figures.right = load.right;
	qsort(latency, arrivals, sizeof(*latency), network_compare);
	figures.median = latency[arrivals / 2];
	figures.ninety_nine = latency[arrivals * 99 / 100];
	figures.most = latency[arrivals - 1];
	printf("# median %" PRIu64 ", 99 %% %" PRIu64 ", most %" PRIu64
	       " cycles from doorbell to end; low one %.2f of what it could; %u preemptions\n",
	       figures.median, figures.ninety_nine, figures.most, figures.low, figures.preemptions);
	host_destroy(host);
	return figures;
}

static void run_both(const char *firmware, struct network *networks, unsigned int arrivals)
{
	struct figures alone, without, with;

	printf("# alone: high one %" PRIu64 " cycles, low one %" PRIu64 "\n", networks[HIGH].alone,
	       networks[LOW].alone);
	printf("# high one alone: ");
	alone = measure(firmware, networks, false, NPU_EXEC_PREEMPT, arrivals);
	printf("# under load, not preempted: ");
	without = measure(firmware, networks, true, 0, arrivals);
	printf("# under load, preempted: ");
	with = measure(firmware, networks, true, NPU_EXEC_PREEMPT, arrivals);
	check(alone.right && without.right, "results without preemption are those of a run alone");
	check(with.right, "results of preempted runs are the same, bit by bit");
	check(with.preemptions >= arrivals - arrivals / 10,
	      "nine of ten arrivals preempt the low one, or more");
	check(with.most <= alone.most + ADDED_MOST,
	      "all arrivals end within 15,000 cycles of the latest without a load");
	check(with.most < without.most, "and earlier than without preemption");
	check(with.low >= 0.8, "the low one does at least 0.8 of what it could in the time left");
}

int main(int count, char **words)
{
	static struct network networks[QUEUES];
	unsigned int arrivals = 0;

	if (count != 4 && count != 6) {
		fprintf(stderr, "usage: preempt-networks FIRMWARE WAY LOW.npu [HIGH.npu ARRIVALS]\n");
		return 2;
	}
	if (count == 6)
		arrivals = (unsigned int)strtoul(words[5], NULL, 10);
	if (count == 6 && (!arrivals || arrivals > ARRIVALS_MAX)) {
		fprintf(stderr, "preempt-networks: %s arrivals: give 1 to %u\n", words[5], ARRIVALS_MAX);
		return 2;
	}
	network_open(&networks[LOW], words[3]);
	network_open(&networks[HIGH], words[count == 6 ? 4 : 3]);
	run_alone(words[1], networks);
	run_through_points(words[1], networks, strtoull(words[2], NULL, 10));
	if (arrivals)
		run_both(words[1], networks, arrivals);
	return check_end();
}
