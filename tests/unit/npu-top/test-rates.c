// SPDX-License-Identifier: MIT
/* Figures a second, quantiles, and which rows are the same in two samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "rates.h"
#include "rows.h"
#include "samples.h"

#define NS 1000000000ll

static struct top_sample *sample_at(int64_t seconds)
{
	struct top_sample *sample = top_sample_new();
	struct top_device *device = top_add_device(sample);
	struct top_process *process = top_add_process(sample, 0, 100);

	sample->monotonic_ns = seconds * NS;
	strcpy(device->name, "sim:npu-v3");
	device->pid = 100;
	device->page = 1;
	device->clusters = 4;
	device->dma_channels = 7;
	device->clock_hz = 1000000;
	device->has_counters = true;
	device->counters_ns = sample->monotonic_ns;
	process->start_time = 5;
	process->has_page = true;
	strcpy(process->command, "load");
	return sample;
}

static struct top_model *add_model(struct top_sample *sample, uint32_t number, uint64_t runs)
{
	struct top_model *model = top_add_model(sample);

	model->row.number = number;
	model->row.clusters = 2;
	model->queue = TOP_NO_ROW;
	model->read_ns = sample->monotonic_ns;
	model->row.counts.runs = runs;
	model->row.counts.cycles = runs * 1000;
	return model;
}

static struct top_rates rates;

static void compare(struct top_sample *before, struct top_sample *now)
{
	top_rates_make(&rates, before, now);
}

static void done(struct top_sample *before, struct top_sample *now)
{
	top_rates_free(&rates);
	top_sample_free(before);
	top_sample_free(now);
}

static void expect(double value, double wanted)
{
	if (fabs(value - wanted) > fabs(wanted) * 1e-9)
		fail_msg("%g is not %g", value, wanted);
}

static void test_device(void **state)
{
	struct top_sample *before = sample_at(10), *now = sample_at(12);

	(void)state;
	now->device[0].time_cycles = 1000;
	now->device[0].mac_cycles = 2000; /* of 4 clusters */
	now->device[0].vector_cycles = 400;
	now->device[0].dma_cycles = 800; /* of 7 channels and the command processor's */
	now->device[0].tasks = 50;
	now->device[0].dram_read_bytes = 4096;
	compare(before, now);
	expect(rates.device[0].mac, 0.5);
	expect(rates.device[0].vector, 0.1);
	expect(rates.device[0].dma, 0.1);
	expect(rates.device[0].tasks, 25);
	expect(rates.device[0].dram_read, 2048);
	expect(rates.device[0].speed, 0.0005);
	done(before, now);
}

/* Time that stands still is no use of anything, and no division by it. */
static void test_resting_device(void **state)
{
	struct top_sample *before = sample_at(10), *now = sample_at(12);

	(void)state;
	compare(before, now);
	expect(rates.device[0].mac, 0);
	expect(rates.device[0].tasks, 0);
	assert_int_equal(rates.device[0].bound, TOP_BOUND_NONE);
	done(before, now);
}

static void test_first_sample(void **state)
{
	struct top_sample *now = sample_at(12);

	(void)state;
	add_model(now, 1, 10);
	now->model[0].row.counts.latency.bucket[npurt_stats_bucket(5000)] = 10;
	compare(NULL, now);
	assert_true(isnan(rates.device[0].mac));
	assert_true(isnan(rates.model[0].runs));
	/* What has ever been is known. */
	assert_int_equal(rates.model[0].latency.count, 10);
	expect(rates.model[0].cycles, 1000);
	done(NULL, now);
}

static void test_models(void **state)
{
	struct top_sample *before = sample_at(10), *now = sample_at(12);

	(void)state;
	now->device[0].time_cycles = 200000;
	add_model(before, 1, 10);
	add_model(before, 2, 90);
	/* Number 2 is gone; 3 is new, in its place. */
	add_model(now, 3, 4);
	add_model(now, 1, 110);
	compare(before, now);
	assert_true(isnan(rates.model[0].runs));
	expect(rates.model[1].runs, 50);
	/* 50,000 cycles a second on 2 of 4 clusters, and 100,000 pass. */
	expect(rates.model[1].use, 0.25);
	expect(rates.process[0].use, 0.25);
	expect(rates.process[0].runs, 50);
	assert_int_equal(rates.process[0].all_runs, 114);
	done(before, now);
}

/* Of the clusters that the program takes, and of their channels: a cluster may have several. */
static void test_engines_of_a_model(void **state)
{
	struct top_sample *before = sample_at(10), *now = sample_at(12);
	struct top_model *model;

	(void)state;
	before->device[0].dma_channels = now->device[0].dma_channels = 8;
	add_model(before, 1, 0);
	model = add_model(now, 1, 10); /* 10,000 cycles on 2 of 4 clusters */
	model->row.counts.mac_cycles = 5000;
	model->row.counts.output_cycles = 1000;
	model->row.counts.vector_cycles = 2000;
	model->row.counts.dma_cycles = 30000; /* of 4 channels */
	model->row.counts.stall_token_cycles = 7000;
	model->row.counts.stall_memory_cycles = 5000;
	compare(before, now);
	expect(rates.model[0].mac, 0.25);
	expect(rates.model[0].dma, 0.75);
	expect(rates.model[0].stall, 12.0 / 50);
	top_rates_free(&rates);
	/* Never more than all. */
	model->row.counts.mac_cycles = model->row.counts.dma_cycles = 1000000;
	compare(before, now);
	expect(rates.model[0].mac, 1);
	expect(rates.model[0].dma, 1);
	top_rates_free(&rates);
	/* A device that does not say what it has. */
	now->device[0].clusters = 0;
	compare(before, now);
	assert_true(isnan(rates.model[0].dma));
	done(before, now);
}

/* Another process with the same number, and another page of the same process. */
static void test_not_the_same(void **state)
{
	struct top_sample *before = sample_at(10), *now = sample_at(12);

	(void)state;
	add_model(before, 1, 10);
	add_model(now, 1, 20);
	now->process[0].start_time++;
	compare(before, now);
	assert_true(isnan(rates.model[0].runs));
	top_rates_free(&rates);
	now->process[0].start_time--;
	/* Another user may publish any number and start time. */
	now->process[0].uid = 77;
	now->device[0].uid = 77;
	compare(before, now);
	assert_true(isnan(rates.model[0].runs));
	assert_true(isnan(rates.device[0].tasks));
	top_rates_free(&rates);
	now->process[0].uid = now->device[0].uid = 0;
	now->model[0].page = 2;
	compare(before, now);
	assert_true(isnan(rates.model[0].runs));
	done(before, now);
}

static void test_backwards(void **state)
{
	struct top_sample *before = sample_at(12), *now = sample_at(10);

	(void)state;
	before->device[0].tasks = 10;
	before->device[0].time_cycles = 1000;
	add_model(before, 1, 10);
	add_model(now, 1, 5);
	compare(before, now);
	assert_false(rates.model[0].runs > 0);
	assert_false(rates.device[0].mac > 0);
	done(before, now);
}

static void test_quantiles(void **state)
{
	static struct npurt_stats_times before, now;
	uint64_t count;

	(void)state;
	for (uint64_t value = 1; value <= 100000; value++)
		now.bucket[npurt_stats_bucket(value * 100)]++;
	/* Known to a sixteenth, half of it either way, and better where values are spread. */
	assert_true(fabs(top_quantile(NULL, &now, 0.5, &count) / 5e6 - 1) < 0.01);
	assert_true(fabs(top_quantile(NULL, &now, 0.99, NULL) / 9.9e6 - 1) < 0.01);
	assert_int_equal(count, 100000);
	before = now;
	assert_true(isnan(top_quantile(&before, &now, 0.5, &count)));
	assert_int_equal(count, 0);
	now.bucket[npurt_stats_bucket(777)]++;
	assert_true(fabs(top_quantile(&before, &now, 0.99, NULL) / 777 - 1) < 0.04);
	/* Backwards is nothing. */
	before.bucket[20] = UINT64_MAX;
	top_quantile(&before, &now, 0.5, &count);
	assert_int_equal(count, 1);
}

static void test_short_times(void **state)
{
	static struct npurt_stats_times now;

	(void)state;
	now.bucket[0] = 10;
	expect(top_quantile(NULL, &now, 0.99, NULL), 0);
}

/* ------------------------------------------------------------------------- rows */

static struct top_sample *three_models(void)
{
	struct top_sample *now = sample_at(12);
	struct top_process *other = top_add_process(now, 0, 50);

	strcpy(other->command, "idle");
	strcpy(add_model(now, 1, 5)->row.name, "beta");
	strcpy(add_model(now, 2, 5)->row.name, "alpha");
	strcpy(add_model(now, 3, 5)->row.name, "gamma");
	now->model[0].row.memory_bytes = 1;
	now->model[1].row.memory_bytes = 3;
	now->model[2].row.memory_bytes = 2;
	return now;
}

static void expect_order(const struct top_sample *now, const struct top_wish *wish,
			 const char *order)
{
	struct top_rows rows;
	char found[16] = "";

	compare(NULL, (struct top_sample *)(uintptr_t)now);
	top_rows_make(&rows, &rates, wish);
	for (size_t i = 0; i < rows.count; i++) {
		size_t model = rows.row[i].model;

		found[i] = model == TOP_NO_ROW ? now->process[rows.row[i].process].command[0] :
						 now->model[model].row.name[0];
	}
	assert_string_equal(found, order);
	top_rows_free(&rows);
	top_rates_free(&rates);
}

static void test_rows(void **state)
{
	struct top_sample *now = three_models();
	struct top_wish wish = { .sort = TOP_SORT_MEMORY };

	(void)state;
	expect_order(now, &wish, "agbi");
	wish.reverse = true;
	expect_order(now, &wish, "ibga");
	wish = (struct top_wish){ .sort = TOP_SORT_NAME };
	expect_order(now, &wish, "abgi");
	wish = (struct top_wish){ .sort = TOP_SORT_PID };
	expect_order(now, &wish, "ibag");
	wish = (struct top_wish){ .sort = TOP_SORT_MEMORY, .tree = true };
	expect_order(now, &wish, "ilagb");
	wish = (struct top_wish){ .filter = "alp" };
	expect_order(now, &wish, "a");
	wish = (struct top_wish){ .filter = "alp", .tree = true };
	expect_order(now, &wish, "la");
	wish = (struct top_wish){ .filter = "50" };
	expect_order(now, &wish, "i");
	wish = (struct top_wish){ .filter = "nobody" };
	expect_order(now, &wish, "");
	wish = (struct top_wish){ .device = "sim:" };
	expect_order(now, &wish, "ibag");
	wish = (struct top_wish){ .device = "/dev/accel/accel0" };
	expect_order(now, &wish, "");
	wish = (struct top_wish){ .hide_idle = true };
	expect_order(now, &wish, "");
	top_sample_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device),	      cmocka_unit_test(test_resting_device),
		cmocka_unit_test(test_first_sample),  cmocka_unit_test(test_models),
		cmocka_unit_test(test_engines_of_a_model),
		cmocka_unit_test(test_not_the_same),  cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_quantiles),     cmocka_unit_test(test_short_times),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
