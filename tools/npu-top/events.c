// SPDX-License-Identifier: MIT
/*
 * The sockets that events come from, both by libnl. libudev would do for uevents, too, but not for
 * devlink, and its users are meant to listen to udevd, which containers and small systems have none
 * of; what the kernel itself says is complete here. libnl's parser is not for uevents, which have no
 * header of netlink: messages are received by it as bytes, and event.c reads them.
 */
#include "events.h"

#include <linux/devlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event.h"

/* The kernel's own uevents; those of udevd are in another group. */
#define UEVENT_GROUP 1
/* As much as everybody may have; libnl's 32 KiB are full when a few devices come at once. */
#define BUFFER_BYTES 212992
/* At a time: whoever floods us does not keep us from showing samples. */
#define MESSAGES_AT_ONCE 256

enum source {
	UEVENTS,
	DEVLINK,
	SOURCES
};

struct top_events {
	struct nl_sock *socket[SOURCES]; /* NULL: it cannot be listened to */
	int family; /* of devlink */
	char missing[sizeof(((struct top_sample *)NULL)->events_missing)];
	struct top_event_ring ring;
};

static void add_missing(struct top_events *events, const char *what, const char *why)
{
	size_t length = strlen(events->missing);

	snprintf(events->missing + length, sizeof(events->missing) - length, "%s%s: %s",
		 length ? "; " : "", what, why);
}

/* ---------------------------------------------------------------------- opening */

static int join_uevents(struct top_events *events, struct nl_sock *socket)
{
	int ret = nl_connect(socket, NETLINK_KOBJECT_UEVENT);

	(void)events;
	return ret ? ret : nl_socket_add_membership(socket, UEVENT_GROUP);
}

static int join_devlink(struct top_events *events, struct nl_sock *socket)
{
	int ret = genl_connect(socket), group;

	if (ret)
		return ret;
	events->family = genl_ctrl_resolve(socket, DEVLINK_GENL_NAME);
	if (events->family < 0)
		return events->family;
	group = genl_ctrl_resolve_grp(socket, DEVLINK_GENL_NAME,
				      DEVLINK_GENL_MCGRP_CONFIG_NAME);
	return group < 0 ? group : nl_socket_add_membership(socket, group);
}

static const struct {
	const char *name;
	int (*join)(struct top_events *events, struct nl_sock *socket);
	const char *absent; /* why, when there is no such thing */
} sources[SOURCES] = {
	[UEVENTS] = { "no uevents", join_uevents, "this kernel tells nobody of them" },
	[DEVLINK] = { "no health reports", join_devlink,
		      "this kernel has no devlink (CONFIG_NET_DEVLINK)" },
};

static void open_source(struct top_events *events, enum source source)
{
	struct nl_sock *socket = nl_socket_alloc();
	int ret;

	if (!socket) {
		add_missing(events, sources[source].name, "out of memory");
		return;
	}
	/* Nobody asks for what comes: it has no numbers of ours. */
	nl_socket_disable_seq_check(socket);
	ret = sources[source].join(events, socket);
	if (!ret)
		ret = nl_socket_set_nonblocking(socket);
	if (ret) {
		add_missing(events, sources[source].name,
			    ret == -NLE_OBJ_NOTFOUND ? sources[source].absent : nl_geterror(ret));
		nl_socket_free(socket);
		return;
	}
	/* With less than that more may be lost, and is then said to be. */
	nl_socket_set_buffer_size(socket, BUFFER_BYTES, 0);
	events->socket[source] = socket;
}

struct top_events *top_events_new(void)
{
	struct top_events *events = calloc(1, sizeof(*events));

	if (!events) {
		fputs("npu-top: out of memory\n", stderr);
		exit(1);
	}
	for (enum source source = 0; source < SOURCES; source++)
		open_source(events, source);
	return events;
}

void top_events_free(struct top_events *events)
{
	if (!events)
		return;
	for (enum source source = 0; source < SOURCES; source++)
		nl_socket_free(events->socket[source]);
	free(events);
}

/* ---------------------------------------------------------------------- reading */

static void add_event(struct top_events *events, struct top_event *event)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	event->realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	top_event_add(&events->ring, event);
}

static void take_message(struct top_events *events, enum source source, const void *bytes,
			 size_t length, const struct top_sample *sample)
{
	struct top_event event;
	bool is_one = source == UEVENTS ?
			      top_event_read_uevent(bytes, length, &event) :
			      top_event_read_devlink(bytes, length, events->family, &event);

	if (is_one && top_event_place(&event, sample))
		add_event(events, &event);
}

/* One message, or that some were lost; false: there are no more. */
static bool read_message(struct top_events *events, enum source source,
			 const struct top_sample *sample)
{
	struct sockaddr_nl from = { 0 };
	unsigned char *bytes = NULL;
	int ret = nl_recv(events->socket[source], &from, &bytes, NULL);

	if (ret > 0) {
		/* Others than the kernel may write to the group, when they are root. */
		if (!from.nl_pid)
			take_message(events, source, bytes, (size_t)ret, sample);
		free(bytes);
		return true;
	}
	if (!ret || ret == -NLE_AGAIN || ret == -NLE_INTR)
		return false;
	/* What libnl makes of ENOBUFS. */
	if (ret == -NLE_NOMEM) {
		struct top_event event;

		top_event_make_lost(&event);
		add_event(events, &event);
		return true;
	}
	/* It would be ready to be read for ever. */
	add_missing(events, sources[source].name, nl_geterror(ret));
	nl_socket_free(events->socket[source]);
	events->socket[source] = NULL;
	return false;
}

void top_events_read(struct top_events *events, struct top_sample *sample)
{
	for (enum source source = 0; source < SOURCES; source++) {
		int left = MESSAGES_AT_ONCE;

		while (events->socket[source] && left-- && read_message(events, source, sample))
			;
	}
	sample->events = events->ring.count;
	memcpy(sample->event, events->ring.event, sizeof(sample->event));
	memcpy(sample->events_missing, events->missing, sizeof(sample->events_missing));
}

void top_events_wait(const struct top_events *events, int fd, double seconds)
{
	struct pollfd fds[SOURCES + 1];
	struct timespec wait = { .tv_sec = (time_t)seconds };
	nfds_t count = 0;

	wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
	if (fd >= 0)
		fds[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	for (enum source source = 0; source < SOURCES; source++) {
		if (events->socket[source])
			fds[count++] = (struct pollfd){
				.fd = nl_socket_get_fd(events->socket[source]),
				.events = POLLIN,
			};
	}
	ppoll(fds, count, &wait, NULL);
}
