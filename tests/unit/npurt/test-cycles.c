// SPDX-License-Identifier: MIT
/* Cycles as nanoseconds, of devices that say anything of themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "npu_cycles.h"

__extension__ typedef unsigned __int128 wide;

/* With more bits than there can be. */
static uint64_t expected(uint64_t cycles, uint32_t hz)
{
	return (uint64_t)((wide)cycles * 1000000000 / hz);
}

static void test_whole_range(void **state)
{
	static const uint32_t clocks[] = { 1, 2, 3, 32768, 999999999, 1000000000, 1000000001,
					   1u << 31, UINT32_MAX };
	static const uint64_t most[] = { 0, 1, 999, 1u << 31, UINT32_MAX, 1ull << 40,
					 123456789012345678, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		for (size_t j = 0; j < sizeof(most) / sizeof(most[0]); j++)
			assert_int_equal(npu_cycles_to_ns(most[j], clocks[i]),
					 expected(most[j], clocks[i]));
	}
}

static void test_clock_that_stands(void **state)
{
	(void)state;
	assert_int_equal(npu_cycles_to_ns(0, 0), 0);
	assert_int_equal(npu_cycles_to_ns(UINT64_MAX, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_range),
		cmocka_unit_test(test_clock_that_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
