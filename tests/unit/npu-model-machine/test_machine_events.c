// SPDX-License-Identifier: MIT
/* The event queue and shared bandwidth, each against the plain way of doing it. */
#include <stdlib.h>
#include <string.h>

#include "board.h"

static uint32_t random_state = 7;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(random_state >> 4) * limit >> 28);
}

#define EVENTS	200

/* Always the least time, then rank, then the one scheduled first. */
static void test_order(void **state)
{
	struct npu_event_queue queue = { 0 };
	struct npu_alarm events[EVENTS] = { 0 };
	uint64_t scheduled[EVENTS];
	uint64_t sequence = 0, now = 0;

	(void)state;
	for (unsigned int i = 0; i < EVENTS; i++)
		events[i].rank = below(5);
	for (unsigned int step = 0; step < 100000; step++) {
		unsigned int i = below(EVENTS);
		int least = -1;

		switch (below(4)) {
		case 0:
		case 1:
			npu_event_schedule(&queue, &events[i], now + below(50));
			scheduled[i] = sequence++;
			continue;
		case 2:
			if (below(4) == 0)
				npu_event_cancel(&queue, &events[i]);
			continue;
		}
		for (int k = 0; k < EVENTS; k++) {
			const struct npu_alarm *a = &events[k],
					       *b = least < 0 ? NULL : &events[least];

			if (!npu_event_pending(a))
				continue;
			if (!b || a->time < b->time ||
			    (a->time == b->time &&
			     (a->rank < b->rank || (a->rank == b->rank &&
						    scheduled[k] < scheduled[least]))))
				least = k;
		}
		assert_ptr_equal(npu_event_first(&queue), least < 0 ? NULL : &events[least]);
		if (least < 0)
			continue;
		assert_ptr_equal(npu_event_pop(&queue), &events[least]);
		assert_false(npu_event_pending(&events[least]));
		assert_true(events[least].time >= now);
		now = events[least].time;
	}
}

/* ------------------------------------------------------------------ bandwidth */

#define FLOWS	40

/* timing.rst to the letter: everything is brought up to date at every change. */
struct plain {
	bool running;
	uint64_t remaining, end;
	uint32_t rate;
};

static struct npu_flow flows[FLOWS];
static struct plain plain[FLOWS];
static uint64_t plain_time;

static uint64_t capacity_of(const struct npu_config *config, unsigned int resource)
{
	if (resource == NPU_RESOURCE_DRAM)
		return config->dram_bytes;
	if (resource == NPU_RESOURCE_GLOBAL)
		return config->global_sram_bytes;
	switch (resource % 4) {
	case NPU_RESOURCE_LOCAL_READ:
		return config->local_read_bytes;
	case NPU_RESOURCE_LOCAL_WRITE:
		return config->local_write_bytes;
	default:
		return config->global_port_bytes;
	}
}

static uint64_t demand_of(const struct npu_flow *flow, unsigned int resource)
{
	for (unsigned int i = 0; i < flow->demand_count; i++) {
		if (flow->demand[i].resource == resource)
			return flow->demand[i].bytes;
	}
	return 0;
}

static void plain_advance(uint64_t now)
{
	for (unsigned int i = 0; i < FLOWS; i++) {
		uint64_t done = plain[i].rate * (now - plain_time);

		if (plain[i].running)
			plain[i].remaining -= done < plain[i].remaining ? done : plain[i].remaining;
	}
	plain_time = now;
}

static void plain_rates(const struct npu_config *config)
{
	for (unsigned int i = 0; i < FLOWS; i++)
		plain[i].rate = 65536;
	for (unsigned int r = 0; r < NPU_RESOURCE_COUNT; r++) {
		uint64_t sum = 0;
		uint32_t rate;

		for (unsigned int i = 0; i < FLOWS; i++)
			sum += plain[i].running ? demand_of(&flows[i], r) : 0;
		if (sum <= capacity_of(config, r))
			continue;
		rate = (uint32_t)(65536 * capacity_of(config, r) / sum);
		for (unsigned int i = 0; i < FLOWS; i++) {
			if (demand_of(&flows[i], r) && rate < plain[i].rate)
				plain[i].rate = rate;
		}
	}
	for (unsigned int i = 0; i < FLOWS; i++) {
		if (plain[i].running)
			plain[i].end = plain_time + (plain[i].remaining + plain[i].rate - 1) /
						    plain[i].rate;
	}
}

static void start_flow(struct npu_bandwidth *bandwidth, struct npu_event_queue *queue,
		       const struct npu_config *config, unsigned int i, uint64_t now)
{
	uint64_t work = 1 + below(500);
	uint64_t used = 0;

	npu_flow_reset(&flows[i]);
	for (unsigned int k = 0; k < below(5); k++) {
		unsigned int resource = below(3) ? NPU_RESOURCE(below(2), below(4)) :
					NPU_RESOURCE_GLOBAL + below(2);

		if (used >> resource & 1)
			continue;
		used |= 1ull << resource;
		npu_flow_demand(&flows[i], resource, below(60000), work);
	}
	plain_advance(now);
	plain[i].running = true;
	plain[i].remaining = work << 16;
	plain_rates(config);
	npu_bandwidth_start(bandwidth, queue, &flows[i], now, work);
}

static void test_bandwidth(void **state)
{
	struct board *board = board_create(NULL);
	const struct npu_config *config = &board->model->config;
	struct npu_bandwidth bandwidth;
	struct npu_event_queue queue = { 0 };
	uint64_t now = 0;
	unsigned int slowed = 0;

	(void)state;
	npu_bandwidth_init(&bandwidth, config);
	for (unsigned int i = 0; i < FLOWS; i++) {
		flows[i].id = (uint8_t)(i + 3);
		flows[i].end.rank = i;
	}
	for (unsigned int step = 0; step < 30000; step++) {
		unsigned int i = below(FLOWS);
		const struct npu_alarm *first;

		if (!plain[i].running) {
			start_flow(&bandwidth, &queue, config, i, now);
		} else if (below(10) == 0) {
			plain_advance(now);
			plain[i].running = false;
			plain_rates(config);
			npu_bandwidth_stop(&bandwidth, &queue, &flows[i], now);
		}
		for (unsigned int k = 0; k < FLOWS; k++) {
			assert_int_equal(npu_event_pending(&flows[k].end), plain[k].running);
			if (!plain[k].running)
				continue;
			assert_int_equal(flows[k].end.time, plain[k].end);
			slowed += plain[k].rate < 65536;
		}
		/* Time passes, or the first one ends. */
		first = npu_event_first(&queue);
		if (!first)
			continue;
		if (below(2) && first->time > now) {
			now += below((uint32_t)(first->time - now));
			continue;
		}
		now = first->time;
		i = first->rank;
		npu_event_pop(&queue);
		plain_advance(now);
		assert_int_equal(plain[i].remaining, 0);
		plain[i].running = false;
		plain_rates(config);
		npu_bandwidth_stop(&bandwidth, &queue, &flows[i], now);
	}
	assert_true(slowed > 10000);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_bandwidth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
