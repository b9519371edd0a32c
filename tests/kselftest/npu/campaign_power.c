// SPDX-License-Identifier: MIT
/*
 * Doorbells against the device's falling asleep: threads with a queue each publish a packet, ring,
 * and wait for what it signals, at moments around the one at which the device goes to sleep. A
 * doorbell that gets lost is a wait that ends by its deadline. Arguments: doorbells, seed, and how
 * often at least the device must have slept.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "campaign.h"
#include "power.h"

#define THREADS 2
#define DELAY_MS 1
/* Resume and suspend of a PCI function take ten milliseconds each by themselves. */
#define PAUSE_US_MAX 30000

struct ringer {
	pthread_t thread;
	struct npu_lane lane;
	uint64_t dice;
	uint64_t doorbells;
	uint64_t lost;
	int error;
};

static void *ring(void *data)
{
	struct ringer *ringer = data;

	for (uint64_t i = 1; i <= ringer->doorbells && !ringer->error; i++) {
		int ret;

		npu_lane_signal(&ringer->lane, 1, 1);
		ret = npu_wait(ringer->lane.fd, ringer->lane.ctx, 1, i, now_ns() + 60 * SECOND);
		if (ret == -ETIME)
			ringer->lost++;
		if (ret)
			ringer->error = ret;
		usleep(roll(&ringer->dice, PAUSE_US_MAX));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t doorbells = argc > 1 ? strtoull(argv[1], NULL, 0) : 200;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t least = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	struct ringer ringers[THREADS] = { 0 };
	uint64_t suspends, refused, done = 0, lost = 0;
	int fd = npu_open_any(), error = 0;
	bool fine = true;

	if (fd < 0 || power_allow(DELAY_MS))
		return !campaign_result(false, "the device may sleep: %s", strerror(errno));
	suspends = power_count(fd, "suspends");
	refused = power_count(fd, "suspends_refused");
	for (int i = 0; i < THREADS; i++) {
		ringers[i].dice = seed + (uint64_t)i;
		ringers[i].doorbells = (doorbells + THREADS - 1) / THREADS;
		if (npu_lane_open(&ringers[i].lane, npu_open_any()))
			return !campaign_result(false, "a queue to ring: %s", strerror(errno));
		pthread_create(&ringers[i].thread, NULL, ring, &ringers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ringers[i].thread, NULL);
		lost += ringers[i].lost;
		done += ringers[i].lane.written;
		error = error ? error : ringers[i].error;
	}
	suspends = power_count(fd, "suspends") - suspends;
	refused = power_count(fd, "suspends_refused") - refused;
	fine = campaign_result(!lost && !error && done >= doorbells,
			       "%llu doorbells, %llu lost%s%s", (unsigned long long)done,
			       (unsigned long long)lost, error ? ", " : "",
			       error ? strerror(-error) : "");
	fine &= campaign_result(suspends >= least,
				"the device slept %llu times, and had work %llu times it was to",
				(unsigned long long)suspends, (unsigned long long)refused);
	power_allow(-1);
	return fine ? 0 : 1;
}
