// SPDX-License-Identifier: MIT
/*
 * Calls and packets by the dice: several processes at once, each with a life of its own that ends
 * and begins again. Nothing they do may harm the kernel, which the guest's console tells; in the
 * end each call must have succeeded and each kind of packet been executed so often, as an attack
 * that is all refused at the door says little.
 *
 * Arguments: seconds, seed, times. It goes on for longer, where the machine is slow, until all of it
 * has come to pass so often.
 */
#include <sys/wait.h>

#include "fuzz_calls.h"
#include "fuzz_ring.h"

#define WORKERS 2
#define LIFE_STEPS 600
/* On top of twice the seconds. */
#define PATIENCE (200 * SECOND)

/* When workers end: at @end if each thing has been done @times, at @limit in any case. */
struct span {
	int64_t end, limit;
	uint64_t times;
};

static void ignore(int number)
{
}

/* No sleep of a length that the dice chose is longer than this. */
static void begin_ticks(void)
{
	const struct sigaction action = { .sa_handler = ignore };
	const struct itimerval ticks = { { 0, 20000 }, { 0, 20000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &ticks, NULL);
}

static int step(struct fuzz_world *world)
{
	uint32_t which = roll(&world->dice, 16);

	if (which < 9)
		return fuzz_ioctl_step(world);
	if (which < 13)
		return fuzz_ring_step(world);
	return which < 15 ? fuzz_uring_step(world) : fuzz_mmap_step(world);
}

/* Others may have all contexts for a moment, and that is no failure of the driver's. */
static bool may_begin_so(int ret)
{
	return ret == -ENOSPC || ret == -ENOMEM;
}

/* Who has closed his own buffers cannot go on; the device must be there in any case. */
static bool may_end_so(int ret)
{
	return ret != -ENODEV;
}

static bool is_enough(const struct fuzz_counts *counts, uint64_t times)
{
	for (uint32_t i = 0; i < FUZZ_CALLS; i++) {
		if (__atomic_load_n(&counts->good[i], __ATOMIC_RELAXED) < times)
			return false;
	}
	for (uint32_t i = 1; i < FUZZ_PACKETS; i++) {
		if (__atomic_load_n(&counts->executed[i], __ATOMIC_RELAXED) < times)
			return false;
	}
	return true;
}

static bool goes_on(const struct fuzz_counts *counts, const struct span *span)
{
	int64_t now = now_ns();

	return now < span->end || (now < span->limit && !is_enough(counts, span->times));
}

static int work(struct fuzz_counts *counts, uint64_t seed, const struct span *span)
{
	struct fuzz_world world = { .dice = seed * 0x9e3779b97f4a7c15ull + 1, .counts = counts };

	begin_ticks();
	while (goes_on(counts, span)) {
		int ret = fuzz_world_open(&world);
		bool fine = !ret || may_begin_so(ret);

		for (int i = 0; !ret && i < LIFE_STEPS && goes_on(counts, span); i++) {
			ret = step(&world);
			fine = may_end_so(ret);
			__atomic_fetch_add(&counts->steps, 1, __ATOMIC_RELAXED);
		}
		if (!fine) {
			printf("# seed %llu: a life ended with %s\n", (unsigned long long)seed,
			       strerror(-ret));
			return 1;
		}
		fuzz_world_close(&world);
	}
	return 0;
}

/* All workers end by themselves, and well. */
static bool wait_for_workers(const pid_t *workers, int64_t end)
{
	int good = 0, left = WORKERS, status;

	while (left && now_ns() < end) {
		pid_t gone = waitpid(-1, &status, WNOHANG);

		if (gone <= 0) {
			usleep(100000);
			continue;
		}
		left--;
		if (!status)
			good++;
		else
			printf("# a worker ended with status %#x\n", status);
	}
	for (int i = 0; left && i < WORKERS; i++)
		kill(workers[i], SIGKILL);
	return campaign_result(good == WORKERS, "%d of %d workers came to their end", good, WORKERS);
}

static void show_errors(const uint64_t *errors)
{
	for (int i = 0; i < FUZZ_ERRNOS; i++) {
		if (errors[i])
			printf(" %s %llu", i ? strerrorname_np(i) : "?",
			       (unsigned long long)errors[i]);
	}
}

static bool show_calls(const struct fuzz_counts *counts, uint64_t times)
{
	bool fine = true;

	for (uint32_t i = 0; i < FUZZ_CALLS; i++) {
		printf("# %-20s %8llu good;", fuzz_call_name(i),
		       (unsigned long long)counts->good[i]);
		show_errors(counts->errors[i]);
		putchar('\n');
		fine &= counts->good[i] >= times;
	}
	return campaign_result(fine, "each call has succeeded %llu times or more",
			       (unsigned long long)times);
}

static bool show_packets(const struct fuzz_counts *counts, uint64_t times)
{
	static const char *const names[FUZZ_PACKETS] = {
		"broken", "NOP", "EXEC", "WAIT", "SIGNAL", "BARRIER", "COPY", "TIMESTAMP", "GRAPH",
	};
	bool fine = true;

	for (uint32_t i = 0; i < FUZZ_PACKETS; i++) {
		printf("# %-20s %8llu written, %llu executed\n", names[i],
		       (unsigned long long)counts->written[i],
		       (unsigned long long)counts->executed[i]);
		fine &= !i || counts->executed[i] >= times;
	}
	printf("# %llu lives, %llu steps, %llu queues that had stopped or stood still\n",
	       (unsigned long long)counts->lives, (unsigned long long)counts->steps,
	       (unsigned long long)counts->stopped);
	return campaign_result(fine, "each kind of packet was executed %llu times or more",
			       (unsigned long long)times);
}

int main(int argc, char **argv)
{
	int64_t seconds = argc > 1 ? atoll(argv[1]) : 20;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t times = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	struct fuzz_counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct span span = {
		.end = now_ns() + seconds * SECOND,
		.limit = now_ns() + 2 * seconds * SECOND + PATIENCE,
		.times = times,
	};
	pid_t workers[WORKERS];
	bool fine;

	if (counts == MAP_FAILED)
		return !campaign_result(false, "memory to count in: %s", strerror(errno));
	printf("# seed %llu, %lld s\n", (unsigned long long)seed, (long long)seconds);
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		if (!workers[i])
			exit(work(counts, seed + (uint64_t)i, &span));
	}
	fine = wait_for_workers(workers, span.limit + 120 * SECOND);
	fine &= show_calls(counts, times);
	fine &= show_packets(counts, times);
	fine &= device_is_idle();
	return fine ? 0 : 1;
}
