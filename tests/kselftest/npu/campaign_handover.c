// SPDX-License-Identifier: MIT
/*
 * Two processes take turns by syncobjs, each turn the end of work on the device; a turn that is lost
 * is one that does not come within 20 s. Argument: how often.
 */
#include "campaign.h"
#include "npu_points.h"

int main(int argc, char **argv)
{
	unsigned long long rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	int fd = npu_open_any(), ret;
	bool good;

	ret = fd < 0 ? -errno : hand_over(fd, (rounds + 1) / 2);
	good = campaign_result(!ret, "%llu turns handed over (step %d)", rounds, ret);
	close(fd);
	return device_is_idle() && good ? 0 : 1;
}
