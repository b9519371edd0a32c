// SPDX-License-Identifier: MIT
/*
 * Points of the clock: what the host may ask for, and what the firmware makes of heat. Manual:
 * firmware.rst, "Clock".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define LOOK		1000000		/* cycles between two looks at the temperature */
#define TURN		20000		/* enough for the firmware to do what it does */
#define CLOCK(work, rest) ((work) | (rest) << 8)

static const char *image_path;
static struct mock *mock;

static int boot(void **state)
{
	(void)state;
	mock = mock_create(&mock_large, image_path);
	mock->temperature = 25000;
	return 0;
}

static int halt(void **state)
{
	(void)state;
	mock_destroy(mock);
	mock = NULL;
	return 0;
}

static struct npu_message call(uint32_t fastest, uint32_t slowest, uint32_t status)
{
	struct npu_message message = { .kind = NPU_MESSAGE_CLOCK,
				       .argument = { fastest, slowest } };

	assert_int_equal(mock_call(mock, &message), status);
	for (unsigned int i = status ? 0 : 4; i < COUNT(message.argument); i++)
		assert_int_equal(message.argument[i], 0);
	return message;
}

static void check(uint32_t fastest, uint32_t slowest, uint32_t demand, uint32_t times)
{
	struct npu_message message = call(NPU_CLOCK_ASK, 0, NPU_ERROR_NONE);

	assert_int_equal(message.argument[0], fastest);
	assert_int_equal(message.argument[1], slowest);
	assert_int_equal(message.argument[2], demand);
	assert_int_equal(message.argument[3], times);
}

static void allow(uint32_t fastest, uint32_t slowest)
{
	struct npu_message message = call(fastest, slowest, NPU_ERROR_NONE);

	assert_int_equal(message.argument[0], fastest);
	assert_int_equal(message.argument[1], slowest);
}

static void get_hot(uint32_t temperature)
{
	mock->temperature = temperature;
	mock_interrupt(mock, NPU_CORE_IRQ_HEAT);
	mock_run(mock, TURN);
}

/* No alarm is set. */
static bool silent(void)
{
	mock_run(mock, TURN);
	return mock_quiet(mock);
}

/* The firmware looks once, or never. */
static void look(uint32_t temperature)
{
	mock->temperature = temperature;
	mock_run(mock, LOOK + TURN);
}

static void test_limits(void **state)
{
	(void)state;
	check(0, 0, 0, 0);
	/* Who does not ask has no clock that was touched. */
	assert_int_equal(mock->clock, 0);
	for (uint32_t fastest = 0; fastest < MOCK_POINTS; fastest++) {
		for (uint32_t slowest = fastest; slowest < MOCK_POINTS; slowest++) {
			allow(fastest, slowest);
			assert_int_equal(mock->clock, CLOCK(fastest, slowest));
			check(fastest, slowest, 0, 0);
			assert_int_equal(mock->clock, CLOCK(fastest, slowest));
		}
	}
	assert_true(silent());
}

/* Each with the code that says what was wrong, and without an effect. */
static void test_refused(void **state)
{
	static const struct {
		uint32_t fastest, slowest, status;
	} cases[] = {
		{ MOCK_POINTS, MOCK_POINTS, NPU_ERROR_NOT_FOUND },
		{ 0, MOCK_POINTS, NPU_ERROR_NOT_FOUND },
		{ MOCK_POINTS, 0, NPU_ERROR_NOT_FOUND },
		{ 0x100, 0x100, NPU_ERROR_NOT_FOUND },
		{ 0, ~0u, NPU_ERROR_NOT_FOUND },
		{ 1u << 31, 1u << 31, NPU_ERROR_NOT_FOUND },
		{ NPU_CLOCK_ASK - 1, NPU_CLOCK_ASK, NPU_ERROR_NOT_FOUND },
		{ 2, 1, NPU_ERROR_BAD_ARGUMENT },
		{ 3, 0, NPU_ERROR_BAD_ARGUMENT },
		{ NPU_CLOCK_ASK, 1, NPU_ERROR_BAD_ARGUMENT },
		{ NPU_CLOCK_ASK, NPU_CLOCK_ASK, NPU_ERROR_BAD_ARGUMENT },
	};

	(void)state;
	allow(1, 2);
	for (unsigned int i = 0; i < COUNT(cases); i++) {
		call(cases[i].fastest, cases[i].slowest, cases[i].status);
		assert_int_equal(mock->clock, CLOCK(1, 2));
		check(1, 2, 0, 0);
	}
}

static unsigned int lines_with(const char *text)
{
	static char log[20000];
	uint32_t start = 0, length = 0;
	unsigned int count = 0;

	for (;;) {
		struct npu_message message = { .kind = NPU_MESSAGE_LOG_READ,
					       .argument = { start } };

		assert_int_equal(mock_call(mock, &message), NPU_ERROR_NONE);
		start = message.argument[0];
		if (!message.argument[1])
			break;
		assert_true(length + message.argument[1] < sizeof(log));
		memcpy(log + length, &message.argument[2], message.argument[1]);
		length += message.argument[1];
	}
	log[length] = '\0';
	for (const char *at = log; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void test_hysteresis(void **state)
{
	(void)state;
	get_hot(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(1, 1));
	check(0, 0, 1, 1);
	/* Not before it is time. */
	mock_run(mock, LOOK / 2);
	assert_int_equal(mock->clock, CLOCK(1, 1));
	look(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	look(MOCK_HOT - 1);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	look(MOCK_HOT + 5000);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	/* There is no slower one. */
	look(MOCK_HOT + 5000);
	look(MOCK_HOT + 5000);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	for (unsigned int i = 0; i < 10; i++)
		look(MOCK_COOL + 1);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	look(MOCK_COOL);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	/* It is told once. */
	get_hot(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	look(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	check(0, 0, 3, 1);
	/* Below zero is cool. */
	look((uint32_t)-40000);
	look((uint32_t)-40000);
	assert_int_equal(mock->clock, CLOCK(1, 1));
	assert_false(silent());
	look((uint32_t)-40000);
	assert_int_equal(mock->clock, CLOCK(0, 0));
	assert_true(silent());
	check(0, 0, 0, 1);
	get_hot(MOCK_HOT);
	check(0, 0, 1, 2);
	look(MOCK_COOL);
	assert_int_equal(lines_with("warning: 95 C: heat slows the clock down, to point 1\n"), 2);
	assert_int_equal(lines_with("info: 0 C: heat slows the clock down no more\n"), 1);
	assert_int_equal(lines_with("info: 85 C: heat slows the clock down no more\n"), 1);
	assert_int_equal(lines_with(" C: "), 4);
}

/* Heat goes before the host, who may say what it wants meanwhile. */
static void test_both(void **state)
{
	(void)state;
	allow(1, 2);
	get_hot(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	look(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	allow(0, 0);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	check(0, 0, 3, 1);
	look(MOCK_COOL);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	allow(1, 3);
	assert_int_equal(mock->clock, CLOCK(2, 3));
	look(MOCK_COOL);
	/* What heat would demand now the host wants anyway. */
	assert_int_equal(mock->clock, CLOCK(1, 3));
	check(1, 3, 0, 1);
	assert_true(silent());
	/* It cannot become slower, but is looked after. */
	allow(3, 3);
	get_hot(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	check(3, 3, 3, 2);
	allow(0, 3);
	assert_int_equal(mock->clock, CLOCK(3, 3));
	for (unsigned int i = 0; i < MOCK_POINTS; i++)
		look(MOCK_COOL);
	assert_int_equal(mock->clock, CLOCK(0, 3));
	assert_true(silent());
}

/* Sleep and heat are looked after side by side. */
static void test_with_sleep(void **state)
{
	struct npu_message sleep = { .kind = NPU_MESSAGE_POWER, .argument = { 5000 } };

	(void)state;
	get_hot(MOCK_HOT);
	assert_int_equal(mock_call(mock, &sleep), NPU_ERROR_NONE);
	look(MOCK_HOT);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	assert_int_equal(mock->asleep, 0);
	for (unsigned int i = 0; i < 10; i++)
		look(MOCK_COOL + 1);
	assert_int_equal(mock->asleep, 0xf);
	assert_int_equal(mock->clock, CLOCK(2, 2));
	look(MOCK_COOL);
	look(MOCK_COOL);
	assert_int_equal(mock->clock, CLOCK(0, 0));
	assert_true(silent());
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limits, boot, halt),
		cmocka_unit_test_setup_teardown(test_refused, boot, halt),
		cmocka_unit_test_setup_teardown(test_hysteresis, boot, halt),
		cmocka_unit_test_setup_teardown(test_both, boot, halt),
		cmocka_unit_test_setup_teardown(test_with_sleep, boot, halt),
	};

	if (count != 2) {
		fprintf(stderr, "usage: %s IMAGE\n", arguments[0]);
		return 2;
	}
	image_path = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
