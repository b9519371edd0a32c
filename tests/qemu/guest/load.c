// SPDX-License-Identifier: MIT
/* Keeps the device $NPU_TEST_DEVICE busy until it is killed: for looking at it from outside. */
#include "rig.h"

int main(void)
{
	struct tiny_options tiny = { .kind = TINY_SLOW, .trips = 20000, .elements = 4096 };
	struct rig rig;

	rig_make(&rig, NULL, &tiny);
	rig_fill(&rig, rig.x, rig.y, 0);
	while (!npurt_run(rig.model, rig.bindings, 2, NULL))
		;
	return 1;
}
