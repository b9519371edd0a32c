// SPDX-License-Identifier: MIT
/*
 * Programs are killed in the middle of anything; the device must be idle afterwards, and nothing of
 * them left. Arguments: how many are killed; a number for the dice.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "campaign_work.h"

#define PROCESSES 2

static void *live(void *argument)
{
	struct worker worker = { .dice = (uintptr_t)argument };
	int ret;

	for (;;) {
		worker.fd = npu_open_any();
		ret = worker.fd < 0 ? -errno : work_life(&worker, roll(&worker.dice, 12));
		if (!ret)
			continue;
		printf("# a program's %s: %s\n", worker.step, strerror(-ret));
		fflush(stdout);
		_exit(1);
	}
}

static pid_t start(uint64_t *dice)
{
	uint64_t first = (uint64_t)roll(dice, UINT32_MAX) << 20 | 1;
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	if (pthread_create(&thread, NULL, live, (void *)(uintptr_t)(first ^ 0x5555550)))
		_exit(2);
	live((void *)(uintptr_t)first);
	_exit(3);
}

/* Killed, and gone within a time in which no wait of the driver's ends by itself. */
static bool finish(pid_t pid)
{
	int64_t deadline = now_ns() + 60 * SECOND;
	int status = 0;
	pid_t done;

	kill(pid, SIGKILL);
	while (!(done = waitpid(pid, &status, WNOHANG)) && now_ns() < deadline)
		usleep(500);
	if (!done)
		printf("# process %d does not go\n", pid);
	return done == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int main(int argc, char **argv)
{
	unsigned long kills = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	uint64_t dice = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 2654435761u + 1;
	unsigned long killed = 0, good = 0;
	bool fine;

	while (killed < kills) {
		pid_t pids[PROCESSES];

		for (int i = 0; i < PROCESSES; i++)
			pids[i] = start(&dice);
		for (int i = 0; i < PROCESSES; i++) {
			/* Often soon, when things are being made. */
			usleep(roll(&dice, roll(&dice, 2) ? 20000 : 200000));
			good += finish(pids[i]);
			killed++;
		}
	}
	fine = campaign_result(good == killed, "%lu of %lu killed programs were well and are gone",
			       good, killed);
	return device_is_idle() && fine ? 0 : 1;
}
