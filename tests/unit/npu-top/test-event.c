// SPDX-License-Identifier: MIT
/* What messages of the kernel say of cards: recorded ones, damaged ones, and others' ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/devlink.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "events.h"
#include "samples.h"
#include "table.h"
#include "view.h"

#define FAMILY 23

/* As the kernel sends it for a card that was reset. */
static const char wedged[] = "change@/devices/pci0000:00/0000:00:04.0/accel/accel0\0"
			     "ACTION=change\0"
			     "DEVPATH=/devices/pci0000:00/0000:00:04.0/accel/accel0\0"
			     "SUBSYSTEM=accel\0WEDGED=none\0MAJOR=261\0MINOR=0\0"
			     "DEVNAME=accel/accel0\0DEVTYPE=accel_minor\0SEQNUM=1234";

/* In memory of just this size: whoever reads further is found out. */
static bool read_uevent(const void *bytes, size_t length, struct top_event *event)
{
	void *copy = malloc(length + !length);
	bool is_one;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	is_one = top_event_read_uevent(copy, length, event);
	free(copy);
	return is_one;
}

static bool read_devlink(const void *bytes, size_t length, struct top_event *event)
{
	void *copy = malloc(length + !length);
	bool is_one;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	is_one = top_event_read_devlink(copy, length, FAMILY, event);
	free(copy);
	return is_one;
}

/* ---------------------------------------------------------------------- uevents */

static void test_uevent(void **state)
{
	struct top_event event;

	(void)state;
	assert_true(read_uevent(wedged, sizeof(wedged), &event));
	assert_int_equal(event.kind, TOP_EVENT_WEDGED);
	assert_string_equal(event.device, "accel0");
	assert_string_equal(event.what, "none");
	assert_false(event.is_bad);
	assert_string_equal(event.text, "was reset, and works again");
}

/* Says this of how, in a card's uevent. */
static struct top_event read_how(const char *how)
{
	char bytes[512] = "SUBSYSTEM=accel";
	size_t length = strlen(bytes) + 1;
	struct top_event event;

	length += (size_t)snprintf(bytes + length, 300, "WEDGED=%s", how) + 1;
	length += (size_t)snprintf(bytes + length, 100, "DEVNAME=accel/accel1") + 1;
	assert_true(read_uevent(bytes, length, &event));
	return event;
}

static void test_ways(void **state)
{
	char most[256];

	(void)state;
	assert_true(read_how("rebind").is_bad);
	assert_non_null(strstr(read_how("rebind").text, "unbind its driver and bind it"));
	assert_true(read_how("bus-reset,unknown").is_bad);
	assert_non_null(strstr(read_how("bus-reset,unknown").text, "bus-reset,unknown"));
	assert_string_equal(read_how("\033[2J\n").what, "?[2J?");
	memset(most, 'x', sizeof(most) - 1);
	most[sizeof(most) - 1] = 0;
	assert_int_equal(strlen(read_how(most).what), sizeof(read_how(most).what) - 1);
}

#define NOT_ONE(words) assert_false(read_uevent(words, sizeof(words), &event))

static void test_other_uevents(void **state)
{
	struct top_event event;

	(void)state;
	NOT_ONE("");
	NOT_ONE("\0\0\0");
	NOT_ONE("SUBSYSTEM=accel");
	NOT_ONE("SUBSYSTEM=drm\0WEDGED=none\0DEVNAME=accel/accel0");
	NOT_ONE("SUBSYSTEM=accel\0DEVNAME=accel/accel0\0ACTION=add");
	NOT_ONE("SUBSYSTEM=accel\0WEDGED=\0DEVNAME=accel/accel0");
	NOT_ONE("SUBSYSTEM=accel\0WEDGED\0DEVNAME=accel/accel0");
	NOT_ONE("SUBSYSTEM=accel\0XWEDGED=none\0DEVNAME=accel/accel0");
	NOT_ONE("SUBSYSTEM=accel\0WEDGED=none\0DEVNAME=dri/card0");
	NOT_ONE("SUBSYSTEM=accel\0WEDGED=none\0DEVNAME=accel/");
	NOT_ONE("SUBSYSTEM=accelerator\0WEDGED=none\0DEVNAME=accel/accel0");
	NOT_ONE("WEDGED=none\0DEVNAME=accel/accel0");
}

/* Whatever is cut off, the name is whole or there is no event. */
static void test_short_uevents(void **state)
{
	const size_t whole = sizeof(wedged) - strlen("DEVTYPE=accel_minor") - 1 -
			     strlen("SEQNUM=1234") - 1;
	struct top_event event;

	(void)state;
	for (size_t length = 0; length <= sizeof(wedged); length++)
		assert_int_equal(read_uevent(wedged, length, &event), length >= whole);
}

/* ---------------------------------------------------------------------- devlink */

struct report {
	int family;
	uint8_t cmd;
	const char *place, *reporter;
	int state; /* -1: none */
};

static const struct report good = { FAMILY, DEVLINK_CMD_HEALTH_REPORTER_RECOVER, "0000:00:04.0",
				    "firmware", 1 };

/* In the order of the kernel's devlink_nl_health_reporter_fill(). */
static struct nl_msg *make_report(const struct report *report)
{
	struct nl_msg *message = nlmsg_alloc();
	struct nlattr *nest;

	assert_non_null(message);
	assert_non_null(genlmsg_put(message, 0, 0, report->family, 0, 0, report->cmd, 1));
	nla_put_string(message, DEVLINK_ATTR_BUS_NAME, "pci");
	if (report->place)
		nla_put_string(message, DEVLINK_ATTR_DEV_NAME, report->place);
	nest = nla_nest_start(message, DEVLINK_ATTR_HEALTH_REPORTER);
	if (report->reporter)
		nla_put_string(message, DEVLINK_ATTR_HEALTH_REPORTER_NAME, report->reporter);
	if (report->state >= 0)
		nla_put_u8(message, DEVLINK_ATTR_HEALTH_REPORTER_STATE, (uint8_t)report->state);
	nla_put_u64(message, DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT, 7);
	nla_put_u64(message, DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT, 6);
	nla_nest_end(message, nest);
	return message;
}

static bool read_report(struct report report, struct top_event *event)
{
	struct nl_msg *message = make_report(&report);
	const struct nlmsghdr *header = nlmsg_hdr(message);
	bool is_one = read_devlink(header, header->nlmsg_len, event);

	nlmsg_free(message);
	return is_one;
}

static void test_devlink(void **state)
{
	struct report report = good;
	struct top_event event;

	(void)state;
	assert_true(read_report(report, &event));
	assert_int_equal(event.kind, TOP_EVENT_HEALTH);
	assert_string_equal(event.bus, "0000:00:04.0");
	assert_string_equal(event.what, "firmware");
	assert_true(event.is_bad);
	assert_string_equal(event.text, "health reporter firmware: error 7");
	report.state = 0;
	assert_true(read_report(report, &event));
	assert_false(event.is_bad);
	assert_string_equal(event.text, "health reporter firmware: healthy again (recovery 6)");
	report.state = 9;
	assert_true(read_report(report, &event));
	assert_true(event.is_bad);
	assert_non_null(strstr(event.text, "state 9"));
	report.reporter = "a name much longer than any reporter of any driver has ever had\n";
	assert_true(read_report(report, &event));
	assert_int_equal(strlen(event.what), sizeof(event.what) - 1);
}

static void test_other_messages(void **state)
{
	struct report report = good;
	struct top_event event;

	(void)state;
	report.family++;
	assert_false(read_report(report, &event));
	report = good;
	report.cmd = DEVLINK_CMD_NEW;
	assert_false(read_report(report, &event));
	report = good;
	report.place = NULL;
	assert_false(read_report(report, &event));
	report = good;
	report.reporter = NULL;
	assert_false(read_report(report, &event));
	report = good;
	report.state = -1;
	assert_false(read_report(report, &event));
}

static void test_short_messages(void **state)
{
	struct nl_msg *message = make_report(&good);
	struct nlmsghdr *header = nlmsg_hdr(message);
	const uint32_t whole = header->nlmsg_len;
	struct top_event event;

	(void)state;
	/* Cut off; and as if it had been made so short. */
	for (uint32_t length = 0; length < whole; length++)
		assert_false(read_devlink(header, length, &event));
	for (uint32_t length = 0; length < whole; length++) {
		header->nlmsg_len = length;
		read_devlink(header, length, &event);
		read_devlink(header, whole, &event);
	}
	nlmsg_free(message);
}

/* ------------------------------------------------------------------------ noise */

static void damage(void *bytes, size_t length, uint32_t *seed)
{
	size_t at;

	for (int i = 0; i < 6; i++) {
		write_noise(&at, sizeof(at), seed);
		write_noise((char *)bytes + at % length, 1, seed);
	}
}

static bool is_clean(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	for (size_t i = 0; i < length; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return length < room;
}

static void check_event(const struct top_event *event)
{
	assert_true(is_clean(event->device, sizeof(event->device)));
	assert_true(is_clean(event->bus, sizeof(event->bus)));
	assert_true(is_clean(event->what, sizeof(event->what)));
	assert_true(is_clean(event->text, sizeof(event->text)));
}

static void test_noise(void **state)
{
	struct nl_msg *message = make_report(&good);
	const struct nlmsghdr *header = nlmsg_hdr(message);
	uint32_t length = header->nlmsg_len, seed = 11, uevents = 0, reports = 0;
	char uevent[sizeof(wedged)], *report = malloc(length);
	struct top_event event;

	(void)state;
	assert_non_null(report);
	for (int i = 0; i < 50000; i++) {
		memcpy(uevent, wedged, sizeof(wedged));
		damage(uevent, sizeof(uevent), &seed);
		if (read_uevent(uevent, sizeof(uevent), &event)) {
			check_event(&event);
			uevents++;
		}
		memcpy(report, header, length);
		damage(report, length, &seed);
		if (read_devlink(report, length, &event)) {
			check_event(&event);
			reports++;
		}
	}
	/* Else all of them were refused at the first glance. */
	assert_true(uevents > 100 && reports > 100);
	free(report);
	nlmsg_free(message);
}

/* --------------------------------------------------------------- what is made of them */

static struct top_sample *make_sample(void)
{
	struct top_sample *sample = top_sample_new();
	struct top_device *device = top_add_device(sample);

	strcpy(device->name, "sim:npu-v3");
	device = top_add_device(sample);
	strcpy(device->name, "accel0");
	strcpy(device->bus, "0000:00:04.0");
	return sample;
}

static void test_place(void **state)
{
	struct top_sample *sample = make_sample();
	struct report report = good;
	struct top_event event;

	(void)state;
	assert_true(read_uevent(wedged, sizeof(wedged), &event));
	assert_true(top_event_place(&event, sample));
	assert_string_equal(event.bus, "0000:00:04.0");
	assert_true(read_report(report, &event));
	assert_true(top_event_place(&event, sample));
	assert_string_equal(event.device, "accel0");
	/* A network card's, and one that has no name: a model has no place. */
	report.place = "0000:00:05.0";
	assert_true(read_report(report, &event));
	assert_false(top_event_place(&event, sample));
	report.place = "";
	assert_true(read_report(report, &event));
	assert_false(top_event_place(&event, sample));
	top_sample_free(sample);
}

static void test_ring(void **state)
{
	struct top_event_ring ring = { 0 };
	struct top_event event;

	(void)state;
	assert_true(read_uevent(wedged, sizeof(wedged), &event));
	for (int64_t i = 1; i <= TOP_EVENTS + 3; i++) {
		event.realtime_ns = i;
		top_event_add(&ring, &event);
	}
	assert_int_equal(ring.count, TOP_EVENTS);
	for (size_t i = 0; i < TOP_EVENTS; i++) {
		assert_int_equal(ring.event[i].number, i + 4);
		assert_int_equal(ring.event[i].realtime_ns, i + 4);
	}
	/* A flood is one event, of the last time. */
	top_event_make_lost(&event);
	for (int64_t i = 100; i < 200; i++) {
		event.realtime_ns = i;
		top_event_add(&ring, &event);
	}
	assert_int_equal(ring.number, TOP_EVENTS + 4);
	assert_int_equal(ring.event[TOP_EVENTS - 1].realtime_ns, 199);
	assert_int_equal(ring.event[TOP_EVENTS - 2].kind, TOP_EVENT_WEDGED);
}

/* ---------------------------------------------------------------------- views */

static void give_events(struct top_sample *sample)
{
	struct top_event_ring ring = { 0 };
	struct top_event event;

	assert_true(read_uevent(wedged, sizeof(wedged), &event));
	assert_true(top_event_place(&event, sample));
	event.realtime_ns = 5000000007;
	top_event_add(&ring, &event);
	assert_true(read_report(good, &event));
	assert_true(top_event_place(&event, sample));
	top_event_add(&ring, &event);
	top_event_make_lost(&event);
	top_event_add(&ring, &event);
	sample->events = ring.count;
	memcpy(sample->event, ring.event, sizeof(sample->event));
}

static size_t lines_of(const struct top_sample *sample, const struct top_wish *wish, size_t width)
{
	struct top_rates rates;
	struct top_rows rows;
	struct top_table table;
	size_t lines;

	top_rates_make(&rates, NULL, sample);
	top_rows_make(&rows, &rates, wish);
	top_table_make(&table, &rates, &rows, wish, 1, width);
	assert_int_equal(table.first_event, table.first_row + rows.count);
	lines = table.count - table.first_event;
	for (size_t i = table.first_event; i < table.count; i++) {
		assert_true(strlen(table.line[i].text) <= width);
		if (width >= 80)
			assert_ptr_equal(strstr(table.line[i].text, "Event "), table.line[i].text);
	}
	top_table_free(&table);
	top_rows_free(&rows);
	top_rates_free(&rates);
	return lines;
}

static void test_lines(void **state)
{
	struct top_sample *sample = make_sample();
	struct top_wish wish = { 0 };

	(void)state;
	assert_int_equal(lines_of(sample, &wish, 80), 0);
	give_events(sample);
	for (size_t width = 5; width < 200; width++)
		assert_int_equal(lines_of(sample, &wish, width), 3);
	wish.device = "accel0";
	assert_int_equal(lines_of(sample, &wish, 80), 3);
	/* What is lost may have been anybody's. */
	wish.device = "accel1";
	assert_int_equal(lines_of(sample, &wish, 80), 1);
	wish.hide_events = true;
	assert_int_equal(lines_of(sample, &wish, 80), 0);
	top_sample_free(sample);
}

static char *written(const struct top_sample *sample, bool json, uint64_t *last)
{
	const struct top_wish wish = { 0 };
	struct top_rates rates;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	top_rates_make(&rates, NULL, sample);
	if (json)
		top_view_json(file, &rates, &wish);
	else
		top_view_csv(file, &rates, &wish, false, last);
	fclose(file);
	top_rates_free(&rates);
	return text;
}

static void test_views(void **state)
{
	struct top_sample *sample = make_sample();
	uint64_t last = 0;
	char *text;

	(void)state;
	text = written(sample, true, NULL);
	assert_non_null(strstr(text, "\"events\":[],\"events_missing\":\"\""));
	free(text);
	give_events(sample);
	text = written(sample, true, NULL);
	assert_non_null(strstr(text, "\"events\":[{\"number\":1,\"time_ns\":5000000007,"
				     "\"kind\":\"wedged\",\"device\":\"accel0\","
				     "\"bus\":\"0000:00:04.0\",\"what\":\"none\",\"bad\":false,"
				     "\"text\":\"was reset, and works again\"},{\"number\":2,"));
	free(text);
	text = written(sample, false, &last);
	assert_non_null(strstr(text, "\n5000000007,\"event\",\"accel0\",,,"
				     "\"was reset, and works again\",\"wedged\",1,"));
	assert_non_null(strstr(text, "\"lost\",3,"));
	assert_int_equal(last, 3);
	free(text);
	/* Each is written once. */
	text = written(sample, false, &last);
	assert_null(strstr(text, "\"event\""));
	free(text);
	top_sample_free(sample);
}

/* The system's own sockets: each is listened to, or is said why not. */
static void test_sockets(void **state)
{
	struct top_events *events = top_events_new();
	struct top_sample *sample = top_sample_new();

	(void)state;
	top_events_wait(events, -1, 0.01);
	top_events_read(events, sample);
	print_message("events: %s\n", *sample->events_missing ? sample->events_missing : "all");
	assert_true(strlen(sample->events_missing) < sizeof(sample->events_missing));
	assert_int_equal(sample->events, 0);
	top_sample_free(sample);
	top_events_free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uevent),	     cmocka_unit_test(test_ways),
		cmocka_unit_test(test_other_uevents), cmocka_unit_test(test_short_uevents),
		cmocka_unit_test(test_devlink),	     cmocka_unit_test(test_other_messages),
		cmocka_unit_test(test_short_messages), cmocka_unit_test(test_noise),
		cmocka_unit_test(test_place),	     cmocka_unit_test(test_ring),
		cmocka_unit_test(test_lines),	     cmocka_unit_test(test_views),
		cmocka_unit_test(test_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
