// SPDX-License-Identifier: MIT
/* Tracepoints: what is traced, line by line, as Documentation/driver/tracepoints.rst promises. */
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "npu_points.h"
#include "power.h"
#include "uring.h"

#define TRACING "/sys/kernel/tracing"
/* Of its own, so that what else is traced does not get in. */
#define INSTANCE TRACING "/instances/npu_test"

#define SEM 1
#define TRACE_BYTES (1 << 20)

static const struct {
	const char *name;
	const char *fields; /* each behind a blank */
} events[] = {
	{ "npu_bind", " accel context type flags va bytes result" },
	{ "npu_context_create", " accel context id" },
	{ "npu_context_destroy", " accel context" },
	{ "npu_context_fail", " accel context state error" },
	{ "npu_doorbell_fault", " accel queue wakes" },
	{ "npu_doorbell_signal", " accel queue sem add" },
	{ "npu_drain", " accel events faults" },
	{ "npu_fault", " accel context queue task error access cluster address" },
	{ "npu_irq", " accel causes" },
	{ "npu_queue_create", " accel context queue id priority ring_log2 ring first" },
	{ "npu_queue_destroy", " accel context queue" },
	{ "npu_queue_stop", " accel context queue error" },
	{ "npu_reset", " accel step why" },
	{ "npu_resume", " accel result" },
	{ "npu_suspend", " accel system result" },
	{ "npu_wait_begin", " accel context kind count all sem value" },
	{ "npu_wait_end", " accel context kind sem value result" },
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

FIXTURE(trace) {
	int fd;
	struct npu_lane lane;
	char *text;
};

static int trace_switch(const char *value)
{
	return write_file(INSTANCE "/events/npu/enable", value);
}

/* All that was traced so far. */
static const char *trace_read(char *text)
{
	int fd = open(INSTANCE "/trace", O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, text + bytes, TRACE_BYTES - 1 - bytes)) > 0)
		bytes += (size_t)got;
	text[bytes] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

/*
 * What follows the name of an event in the first line of it that has the words, up to where the
 * text ends; NULL: there is none.
 */
static const char *trace_find(const char *text, const char *event, const char *words)
{
	char mark[64];

	snprintf(mark, sizeof(mark), ": %s: ", event);
	while ((text = strstr(text, mark))) {
		const char *end = strchrnul(text, '\n');
		const char *found = strstr(text, words);

		text += strlen(mark);
		if (found && found < end)
			return text;
	}
	return NULL;
}

/* Of what has happened: it may take a while to be told. An empty text when nothing comes. */
static const char *trace_await(char *text, const char *event, const char *words)
{
	int64_t end = soon();
	const char *line;

	do {
		line = trace_find(trace_read(text), event, words);
		if (line)
			return line;
		usleep(10000);
	} while (now_ns() < end);
	printf("# nothing of %s with '%s' in\n%s\n", event, words, text);
	return "";
}

/* The number behind a word in a line. */
static long long trace_number(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at && at < strchrnul(line, '\n') ? strtoll(at + strlen(word), NULL, 0) : -1;
}

FIXTURE_SETUP(trace)
{
	if (access(TRACING "/instances", F_OK))
		ASSERT_EQ(0, mount("tracefs", TRACING, "tracefs", 0, NULL));
	rmdir(INSTANCE);
	ASSERT_EQ(0, mkdir(INSTANCE, 0700));
	ASSERT_EQ(0, trace_switch("1"));
	self->text = malloc(TRACE_BYTES);
	ASSERT_NE(NULL, self->text);
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(trace)
{
	power_allow(-1);
	close(self->fd);
	free(self->text);
	EXPECT_EQ(0, trace_switch("0"));
	EXPECT_EQ(0, rmdir(INSTANCE));
}

static bool has_fields(const char *event, const char *fields)
{
	char path[128], text[4096], *format = text, *line, told[512] = "";
	int fd;
	ssize_t bytes;

	snprintf(path, sizeof(path), TRACING "/events/npu/%s/format", event);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[bytes < 0 ? 0 : bytes] = 0;
	if (fd >= 0)
		close(fd);
	while ((line = strsep(&format, "\n"))) {
		char *end = strchr(line, ';');

		if (strncmp(line, "\tfield:", 7) || !end)
			continue;
		*end = 0;
		line = strrchr(line, ' ') + 1;
		if (!strncmp(line, "common_", 7))
			continue;
		strcat(told, " ");
		strcat(told, line);
	}
	/* Of a text the format tells where it is kept. */
	for (line = told; (line = strpbrk(line, "[]")); )
		memmove(line, line + 1, strlen(line));
	if (strcmp(told, fields))
		printf("# %s has%s, not%s\n", event, told, fields);
	return !strcmp(told, fields);
}

TEST_F(trace, events_and_fields_are_those_that_are_documented)
{
	DIR *folder = opendir(TRACING "/events/npu");
	unsigned int i, count = 0;
	struct dirent *entry;

	for (i = 0; i < EVENTS; i++)
		EXPECT_TRUE(has_fields(events[i].name, events[i].fields));
	ASSERT_NE(NULL, folder);
	while ((entry = readdir(folder)))
		count += !strncmp(entry->d_name, "npu_", 4);
	closedir(folder);
	EXPECT_EQ(EVENTS, count);
}

TEST_F(trace, life_of_a_queue)
{
	struct drm_npu_queue_destroy destroy = { self->lane.ctx, self->lane.queue };
	char words[64];
	const char *line;
	long long context, queue;

	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, 0x30000000, PAGE));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));

	snprintf(words, sizeof(words), " id=%u", self->lane.ctx);
	line = trace_await(self->text, "npu_context_create", words);
	context = trace_number(line, " context=");
	ASSERT_GE(context, 0);
	line = trace_await(self->text, "npu_queue_create",
			   " priority=0 ring_log2=4 ring=0x10000000 first=0");
	EXPECT_EQ(context, trace_number(line, " context="));
	EXPECT_EQ(self->lane.queue, trace_number(line, " id="));
	queue = trace_number(line, " queue=");
	line = trace_await(self->text, "npu_bind",
			   " type=map flags=0x3 va=0x10000000 bytes=0x1000 result=0");
	EXPECT_EQ(context, trace_number(line, " context="));
	line = trace_await(self->text, "npu_bind",
			   " type=unmap flags=0x0 va=0x30000000 bytes=0x1000 result=0");
	EXPECT_EQ(context, trace_number(line, " context="));
	snprintf(words, sizeof(words), " queue=%lld wakes=0", queue);
	EXPECT_STRNE("", trace_await(self->text, "npu_doorbell_fault", words));
	snprintf(words, sizeof(words), " context=%lld queue=%lld", context, queue);
	EXPECT_STRNE("", trace_await(self->text, "npu_queue_destroy", words));
	snprintf(words, sizeof(words), " context=%lld", context);
	EXPECT_STRNE("", trace_await(self->text, "npu_context_destroy", words));
}

static void *signal_later(void *lane)
{
	usleep(200000);
	npu_lane_signal(lane, SEM, 1);
	return NULL;
}

/* Who sleeps is woken by an interrupt, and all of that is told. */
TEST_F(trace, sleep)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, signal_later, &self->lane));
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_begin",
				     " kind=sleep count=1 all=0 sem=1 value=1"));
	EXPECT_STRNE("", trace_await(self->text, "npu_irq", "event"));
	EXPECT_STRNE("", trace_await(self->text, "npu_drain", " events=1 faults=0"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_end",
				     " kind=sleep sem=1 value=1 result=0"));
}

TEST_F(trace, sleep_until_it_is_too_late)
{
	ASSERT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 2, 7, now_ns() + 1000 * MILLISECOND));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_begin",
				     " kind=sleep count=1 all=0 sem=2"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_end",
				     " kind=sleep sem=2 value=7 result=-62"));
}

TEST_F(trace, waits_of_rings_and_points)
{
	uint32_t timeline = syncobj_create(self->fd);
	struct uring ring;

	ASSERT_EQ(0, uring_open(&ring, 8, 0));
	uring_wait(&ring, self->fd, self->lane.ctx, SEM, 1, URING_NEVER, 1);
	uring_push(&ring);
	uring_wait(&ring, self->fd, self->lane.ctx, 2, 1, 1000, 2);
	uring_push(&ring);
	ASSERT_EQ(0, uring_enter(&ring, 1));
	EXPECT_EQ(-ETIME, uring_next(&ring).res);
	ASSERT_EQ(0, export_point(&self->lane, SEM, 1, timeline, 1));
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(0, uring_next(&ring).res);
	EXPECT_EQ(0, point_wait(self->fd, timeline, 1, soon()));
	uring_close(&ring);
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_begin",
				     " kind=uring count=1 all=0 sem=1 value=1"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_end",
				     " kind=uring sem=1 value=1 result=0"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_end",
				     " kind=uring sem=2 value=1 result=-62"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_begin",
				     " kind=syncobj count=1 all=0 sem=1 value=1"));
	EXPECT_STRNE("", trace_await(self->text, "npu_wait_end",
				     " kind=syncobj sem=1 value=1 result=0"));
}

TEST_F(trace, signal_by_the_kernel)
{
	uint32_t timeline = syncobj_create(self->fd);

	ASSERT_EQ(0, point_signal(self->fd, timeline, 1));
	ASSERT_EQ(0, import_point(&self->lane, timeline, 1, 3, 5));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 5, soon()));
	EXPECT_STRNE("", trace_await(self->text, "npu_doorbell_signal", " sem=3 add=5"));
}

TEST_F(trace, fault)
{
	const struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0), .task_id = 0x77,
		.destination = 0x50000000, .source = RING_VA, .bytes = 64, .signal_sem = SEM,
	};
	char words[128];

	npu_lane_put(&self->lane, &copy);
	snprintf(words, sizeof(words),
		 " task=0x77 error=%d access=%d cluster=255 address=0x50000000",
		 NPU_ERROR_MMU_UNMAPPED, NPU_FAULT_WRITE);
	EXPECT_STRNE("", trace_await(self->text, "npu_fault", words));
	EXPECT_STRNE("", trace_await(self->text, "npu_drain", " faults=1"));
}

TEST_F(trace, queue_stops)
{
	const struct npu_packet_signal bad = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = SEM,
	};
	char words[64];

	npu_lane_put(&self->lane, &bad);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, SEM, 9, soon()));
	snprintf(words, sizeof(words), " error=%d", NPU_ERROR_BAD_PACKET);
	EXPECT_STRNE("", trace_await(self->text, "npu_queue_stop", words));
}

TEST_F(trace, reset)
{
	static const char why[] = " why=\"somebody asked for a reset\"";
	static const char *const steps[] = { "begin", "start", "works" };
	char words[64];
	int i;

	ASSERT_EQ(0, write_file("/sys/class/accel/accel0/device/npu_reset", "1"));
	for (i = 0; i < 3; i++) {
		snprintf(words, sizeof(words), " step=%s%s", steps[i], why);
		EXPECT_STRNE("", trace_await(self->text, "npu_reset", words));
	}
	EXPECT_STRNE("", trace_await(self->text, "npu_context_fail", " state=innocent error=-5"));
}

TEST_F(trace, device_sleeps)
{
	/* Its page is there when the device falls asleep. */
	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_STRNE("", trace_await(self->text, "npu_suspend", " system=0 result=0"));
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 2, soon()));
	EXPECT_STRNE("", trace_await(self->text, "npu_doorbell_fault", " wakes=1"));
	EXPECT_STRNE("", trace_await(self->text, "npu_resume", " result=0"));
}

/* Nothing is told when nobody asks, and no address of the kernel's is told at all. */
TEST_F(trace, neither_more_nor_else)
{
	const char *text;
	int fd;

	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
	ASSERT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 2, 7, now_ns() + MILLISECOND));
	trace_await(self->text, "npu_wait_end", "result=-62");
	for (text = self->text; (text = strstr(text, "ffff")); text++)
		EXPECT_LT(strspn(text, "0123456789abcdef"), 16);
	ASSERT_EQ(0, trace_switch("0"));
	/* To be opened so empties it. */
	fd = open(INSTANCE "/trace", O_WRONLY | O_TRUNC);
	ASSERT_GE(fd, 0);
	close(fd);
	ASSERT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 2, 7, now_ns() + MILLISECOND));
	EXPECT_EQ(NULL, strstr(trace_read(self->text), ": npu_"));
}

TEST_HARNESS_MAIN
