// SPDX-License-Identifier: MIT
/*
 * The driver is unbound and bound again under programs that use the device. Every one of them must
 * see -ENODEV, and nothing else, and work again with what it opens then. Arguments: rounds; a number
 * for the dice.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "campaign_work.h"

#define CLIENTS 3
#define PATIENCE (300 * SECOND)

/* What a client tells. */
struct client {
	uint32_t lives;		/* that ended well, since it saw the device go last */
	uint32_t gone;		/* how often it has seen that */
	int error;		/* another error, and where */
	char step[16];
};

static struct client *clients;

static void fail(struct client *client, const char *step, int ret)
{
	snprintf(client->step, sizeof(client->step), "%s", step);
	__atomic_store_n(&client->error, ret, __ATOMIC_RELEASE);
	_exit(1);
}

/* A life, watched by a file that stays open over it: that sees the device go, if it does. */
static void live_once(struct client *client, struct worker *worker, int *keeper)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };
	int life, ret;

	worker->fd = npu_open_any();
	life = worker->fd < 0 ? -ENODEV : work_life(worker, 3);
	ret = npu_call(*keeper, DRM_IOCTL_NPU_GET_PARAM, &get);
	if (life && life != -ENODEV)
		fail(client, worker->step, life);
	/* Only from a device that is gone. */
	if (ret != (life ? -ENODEV : 0) && ret != -ENODEV)
		fail(client, worker->step ?: "open", ret ?: life);
	if (!ret) {
		__atomic_add_fetch(&client->lives, 1, __ATOMIC_RELEASE);
		return;
	}
	close(*keeper);
	*keeper = -1;
	__atomic_store_n(&client->lives, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&client->gone, 1, __ATOMIC_RELEASE);
}

static void live(struct client *client, uint64_t dice)
{
	struct worker worker = { .dice = dice };
	int keeper = -1;

	for (;;) {
		if (keeper < 0)
			keeper = npu_open_any();
		if (keeper >= 0)
			live_once(client, &worker, &keeper);
		else
			usleep(20000);
	}
}

/* Until all have got to where they should be: work again, or have seen that the device went. */
static bool all_are(bool gone, uint32_t than)
{
	int64_t deadline = now_ns() + PATIENCE;

	for (int i = 0; i < CLIENTS; i++) {
		uint32_t *counter = gone ? &clients[i].gone : &clients[i].lives;

		while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) <= than) {
			if (clients[i].error) {
				printf("# client %d: %s in %s\n", i, strerror(-clients[i].error),
				       clients[i].step);
				return false;
			}
			if (now_ns() > deadline) {
				printf("# client %d %s\n", i, gone ? "does not see that the device is "
				       "gone" : "does not work");
				return false;
			}
			usleep(1000);
		}
	}
	return true;
}

static bool one_round(const char *function, uint32_t round, uint64_t *dice)
{
	int ret;

	if (!all_are(false, 0))
		return false;
	usleep(roll(dice, 30000));
	ret = driver_write("unbind", function);
	if (ret) {
		printf("# unbind: %s\n", strerror(-ret));
		return false;
	}
	/* Sometimes while the old device is still open. */
	if (roll(dice, 2) && !all_are(true, round))
		return false;
	ret = driver_write("bind", function);
	if (ret) {
		printf("# bind: %s\n", strerror(-ret));
		return false;
	}
	return all_are(true, round);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 5;
	uint64_t dice = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 2654435761u + 1;
	char function[32];
	pid_t pids[CLIENTS];
	uint32_t round = 0;
	bool fine;

	clients = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (clients == MAP_FAILED || !find_function(function, sizeof(function))) {
		campaign_result(false, "the driver has no device");
		return 1;
	}
	for (int i = 0; i < CLIENTS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			live(&clients[i], (uint64_t)roll(&dice, UINT32_MAX) * 2 + 1 + (uint64_t)i);
		}
	}
	while (round < rounds && one_round(function, round, &dice))
		round++;
	fine = campaign_result(round == rounds, "unbound and bound %u of %u times", round, rounds);
	fine &= campaign_result(all_are(false, 0), "all programs work again");
	for (int i = 0; i < CLIENTS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return device_is_idle() && fine ? 0 : 1;
}
