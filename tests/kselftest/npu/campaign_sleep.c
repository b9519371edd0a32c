// SPDX-License-Identifier: MIT
/*
 * The whole system sleeps, again and again, in the middle of work: a queue that is never empty, a
 * graph that is replayed, programs that wait by call and by io_uring, and a packet that waits. All
 * go on afterwards, and in the end all that waits is woken.
 *
 * Arguments: what to write to /sys/power/mem_sleep ("deep", "s2idle"), or "hibernation"; how often;
 * and what to ask of the machine before, so that it wakes this system up ("wakeup", "knock").
 */
#include <pthread.h>
#include <stdatomic.h>

#include "campaign_work.h"
#include "uring.h"

#define BUSY_SEM 1
#define GRAPH_SEM 2
#define LAST_SEM 3
#define URING_SEM 4

struct scene {
	struct worker worker;		/* whose queue is never empty */
	struct npu_lane graphs;		/* in a context of its own */
	struct npu_lane packets;	/* waits for LAST_SEM, in the first one's context */
	struct uring ring;
	atomic_bool end;
	atomic_ulong copies, replays;
	atomic_int error, waiting;
};

static void note(struct scene *scene, int error)
{
	if (error)
		atomic_store(&scene->error, error);
}

static void *keep_busy(void *data)
{
	struct scene *scene = data;
	struct npu_lane *lane = &scene->worker.lane;
	uint64_t signalled = 0;

	while (!atomic_load(&scene->end) && !atomic_load(&scene->error)) {
		for (int i = 0; i < 4; i++)
			work_put_copy(lane, DATA_BYTES / 2);
		npu_lane_signal(lane, BUSY_SEM, 1);
		note(scene, npu_wait(lane->fd, lane->ctx, BUSY_SEM, ++signalled,
				     now_ns() + 120 * SECOND));
		atomic_fetch_add(&scene->copies, 1);
	}
	return NULL;
}

/* Its packets are in the ring's own buffer, behind the ring. */
static void *replay(void *data)
{
	struct scene *scene = data;
	struct npu_lane *lane = &scene->graphs;
	struct npu_packet_signal *list = (void *)(lane->ring + 2048);
	const struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .list = RING_VA + 2048,
		.count = 16,
	};
	uint64_t signalled = 0;

	for (int i = 0; i < 16; i++)
		list[i] = (struct npu_packet_signal){
			.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = GRAPH_SEM,
			.add = 1,
		};
	while (!atomic_load(&scene->end) && !atomic_load(&scene->error)) {
		npu_lane_put(lane, &graph);
		signalled += 16;
		note(scene, npu_wait(lane->fd, lane->ctx, GRAPH_SEM, signalled,
				     now_ns() + 120 * SECOND));
		atomic_fetch_add(&scene->replays, 1);
	}
	return NULL;
}

static void *wait_for_the_end(void *data)
{
	struct scene *scene = data;
	struct npu_lane *lane = &scene->worker.lane;

	atomic_fetch_add(&scene->waiting, 1);
	note(scene, npu_wait(lane->fd, lane->ctx, LAST_SEM, 1, INT64_MAX));
	atomic_fetch_sub(&scene->waiting, 1);
	return NULL;
}

static int add_queue(struct scene *scene)
{
	struct npu_lane *lane = &scene->packets;
	struct drm_npu_queue_create create = {
		.ctx = scene->worker.lane.ctx, .ring = RING_VA + (1 << 20), .ring_log2 = LANE_LOG2,
	};
	struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { LAST_SEM, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE,
			 NPU_SEM_NONE },
		.value = { 1 },
	};
	int ret;

	lane->fd = scene->worker.fd;
	lane->ctx = create.ctx;
	lane->handle = npu_buffer(lane->fd, LANE_BYTES);
	ret = npu_bind(lane->fd, lane->ctx, lane->handle, create.ring, LANE_BYTES);
	if (!ret)
		ret = npu_call(lane->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create);
	if (ret)
		return ret;
	lane->ring = npu_map(lane->fd, lane->handle, LANE_BYTES);
	lane->doorbell = mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_SHARED, lane->fd,
			      (off_t)create.doorbell_offset);
	npu_lane_put(lane, &wait);
	npu_lane_signal(lane, URING_SEM, 1);
	return 0;
}

static int set_up(struct scene *scene)
{
	int ret;

	scene->worker = (struct worker){ .dice = 1, .fd = npu_open_any() };
	ret = work_open(&scene->worker);
	if (!ret)
		ret = npu_lane_open(&scene->graphs, npu_open_any());
	if (!ret)
		ret = add_queue(scene);
	if (!ret)
		ret = uring_open(&scene->ring, 4, 0);
	if (ret)
		return ret;
	uring_wait(&scene->ring, scene->worker.fd, scene->worker.lane.ctx, URING_SEM, 1,
		   URING_NEVER, 7);
	uring_push(&scene->ring);
	return uring_enter(&scene->ring, 0);
}

/*
 * Where the chip set has its power management: q35's BIOS does not say it again after a sleep in S3,
 * and then the machine neither sleeps nor ends any more. Nothing is done on other machines.
 */
#define CHIP_SET "/sys/bus/pci/devices/0000:00:1f.0/config"
#define CHIP_SET_POWER 0x40

static void tell_chip_set(unsigned char *power, bool again)
{
	int fd = open(CHIP_SET, O_RDWR | O_CLOEXEC);
	ssize_t bytes;

	if (fd < 0)
		return;
	if (again)
		bytes = pwrite(fd, power, 8, CHIP_SET_POWER);
	else
		bytes = pread(fd, power, 8, CHIP_SET_POWER);
	if (bytes != 8)
		printf("# the chip set's registers cannot be reached: %s\n", strerror(errno));
	close(fd);
}

/* How to sleep. Returns 0 or a negative errno. */
static int fall_asleep(const char *how, const char *request)
{
	unsigned char power[8];
	int ret;

	if (!strcmp(how, "hibernation")) {
		/* All that devices take part in; the image is not written. */
		ret = write_file("/sys/power/pm_test", "devices");
		return ret ? ret : write_file("/sys/power/state", "disk");
	}
	ret = write_file("/sys/power/mem_sleep", how);
	if (ret)
		return ret;
	printf("npu-host: %s\n", request);
	fflush(stdout);
	tell_chip_set(power, false);
	ret = write_file("/sys/power/state", "mem");
	tell_chip_set(power, true);
	if (!strcmp(request, "knock")) {
		printf("npu-host: awake\n");
		fflush(stdout);
	}
	return ret;
}

/* Both that work have done something since. */
static bool goes_on(struct scene *scene)
{
	unsigned long copies = atomic_load(&scene->copies), replays = atomic_load(&scene->replays);
	int64_t end = now_ns() + 120 * SECOND;

	while (now_ns() < end && !atomic_load(&scene->error)) {
		if (atomic_load(&scene->copies) > copies + 1 &&
		    atomic_load(&scene->replays) > replays + 1)
			return true;
		usleep(10000);
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct scene scene;
	const char *how = argc > 1 ? argv[1] : "deep";
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	const char *request = argc > 3 ? argv[3] : "wakeup";
	struct uring_result result;
	pthread_t threads[3];
	int ret = set_up(&scene), round;
	bool fine;

	if (ret)
		return !campaign_result(false, "work to be interrupted: %s", strerror(-ret));
	pthread_create(&threads[0], NULL, keep_busy, &scene);
	pthread_create(&threads[1], NULL, replay, &scene);
	pthread_create(&threads[2], NULL, wait_for_the_end, &scene);
	fine = goes_on(&scene);
	for (round = 0; fine && round < rounds; round++) {
		ret = fall_asleep(how, request);
		fine = !ret && goes_on(&scene);
	}
	fine = campaign_result(fine, "%s: %d times asleep, and all went on%s%s", how, round,
			       ret ? ": " : "", ret ? strerror(-ret) : "");
	fine &= campaign_result(!uring_take(&scene.ring, &result) &&
				atomic_load(&scene.waiting) == 1 && !atomic_load(&scene.error),
				"who waits waits still");
	npu_lane_signal(&scene.worker.lane, LAST_SEM, 1);
	atomic_store(&scene.end, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	result = uring_next(&scene.ring);
	fine &= campaign_result(!atomic_load(&scene.error) && result.user_data == 7 && !result.res,
				"all complete: %lu rounds of copies, %lu replays, error %d, io_uring %d",
				atomic_load(&scene.copies), atomic_load(&scene.replays),
				atomic_load(&scene.error), result.res);
	return fine ? 0 : 1;
}
