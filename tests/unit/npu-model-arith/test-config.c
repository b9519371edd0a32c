// SPDX-License-Identifier: MIT
/* Configurations: figures, overrides, refusals. */
#include "fixture.h"

#include <string.h>

static void built_in(void **state)
{
	struct npu_config config;
	char error[200];

	(void)state;
	assert_string_equal(npu_config_name(0), "npu-v3");
	assert_string_equal(npu_config_name(1), "lowpower-v3");
	assert_null(npu_config_name(2));
	assert_int_equal(npu_config_parse("npu-v3", &config, error, sizeof(error)), 0);
	assert_int_equal(config.clusters * config.dma_channels, 8);
	assert_int_equal(npu_config_mac_depth(&config, NPU_DTYPE_UINT8), 32);
	assert_int_equal(npu_config_mac_depth(&config, NPU_DTYPE_INT16), 16);
	assert_int_equal(npu_config_mac_depth(&config, NPU_DTYPE_FP16), 8);
	assert_int_equal(npu_config_acc_positions(&config, 4), 256);
	assert_int_equal(npu_config_acc_positions(&config, 8), 128);
	assert_int_equal(npu_config_burst_cycles(&config), 2);
	assert_int_equal(npu_config_parse("lowpower-v3", &config, error, sizeof(error)), 0);
	assert_string_equal(config.name, "lowpower-v3");
	assert_int_equal(npu_config_acc_positions(&config, 4), 128);
	assert_int_equal(npu_config_burst_cycles(&config), 8);
	assert_int_equal(config.clock_hz, 400000000);
}

static void overrides(void **state)
{
	struct npu_config config;
	char error[200];
	const char *help;
	unsigned int i;

	(void)state;
	assert_int_equal(npu_config_parse("npu-v3?clusters=2&local_kib=1024&pages=4k&vector=off"
					  "&clock_mhz=500", &config, error, sizeof(error)), 0);
	assert_int_equal(config.clusters, 2);
	assert_int_equal(config.local_bytes, 1 << 20);
	assert_int_equal(config.clock_hz, 500000000);
	assert_true(config.small_pages && config.plain);
	assert_int_equal(config.global_bytes, 4 << 20);
	assert_int_equal(npu_config_parse("npu-v3?pages=any&vector=on", &config, error,
					  sizeof(error)), 0);
	assert_false(config.small_pages || config.plain);
	assert_int_equal(config.ambient, 25);
	assert_int_equal(npu_config_parse("lowpower-v3?ambient=0&heat_rise=500&heat_kcycles=300",
					  &config, error, sizeof(error)), 0);
	assert_int_equal(config.ambient, 0);
	assert_int_equal(config.heat_rise, 500);
	assert_int_equal(config.heat_cycles, 300000);
	for (i = 0; npu_config_key(i, &help); i++)
		assert_true(strlen(help) > 5);
	assert_true(i > 25);
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "configuration: '' is none; configurations are npu-v3 and lowpower-v3" },
		{ "npu-v4", "configuration: 'npu-v4' is none; configurations are npu-v3 and lowpower-v3" },
		{ "npu-v3?clusters", "configuration: key 'clusters' has no '=VALUE'" },
		{ "npu-v3?clusters=9", "configuration: value '9' of 'clusters' is refused; it is: clusters, 1..8" },
		{ "npu-v3?clusters=", "configuration: value '' of 'clusters' is refused; it is: clusters, 1..8" },
		{ "npu-v3?clusters=-1", "configuration: value '-1' of 'clusters' is refused; it is: clusters, 1..8" },
		{ "npu-v3?clusters=2&clusters=2", "configuration: key 'clusters' is given twice" },
		{ "npu-v3?mac_depth=24", "configuration: value '24' of 'mac_depth' is refused; it is: 8-bit depth of MAC shape M, a power of two, 8..64" },
		{ "npu-v3?local_kib=99999999999", "configuration: value '99999999999' of 'local_kib' is refused; it is: KiB of local SRAM a cluster, 16..16384" },
		{ "npu-v3?ambient=126", "configuration: value '126' of 'ambient' is refused; it is: degrees Celsius of the air, 0..125" },
		{ "npu-v3?heat_kcycles=299", "configuration: value '299' of 'heat_kcycles' is refused; it is: thousand cycles of heating up, 300..1000000" },
		{ "npu-v3?pages=2m", "configuration: value '2m' of 'pages' is refused; it is: leaf sizes of page tables: any or 4k" },
		{ "lowpower-v3?slots=16&queues=2", "configuration: 16 slots for 2 queues; give at most as many slots as queues" },
	};
	struct npu_config config;
	char error[256], tiny[8];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(npu_config_parse(cases[i].text, &config, error, sizeof(error)),
				 -22);
		assert_string_equal(error, cases[i].error);
	}
	assert_int_equal(npu_config_parse("npu-v3?&clusters=2", &config, error, sizeof(error)), -22);
	assert_int_equal(npu_config_parse("npu-v3?bogus=1", &config, error, sizeof(error)), -22);
	assert_non_null(strstr(error, "'bogus' is no key"));
	assert_int_equal(npu_config_parse("npu-v4", &config, tiny, sizeof(tiny)), -22);
	assert_string_equal(tiny, "configu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in),
		cmocka_unit_test(overrides),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
