// SPDX-License-Identifier: MIT
/* What messages of the kernel say. They are read as if anybody could have written them. */
#include "event.h"

#include <inttypes.h>
#include <linux/devlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <string.h>

/* devlink's own numbers of how a reporter is; its header for programs has no names for them. */
enum {
	REPORTER_HEALTHY = 0,
	REPORTER_ERROR = 1,
};

static void copy_text(char *to, size_t room, const char *from, size_t length)
{
	if (length >= room)
		length = room - 1;
	memcpy(to, from, length);
	to[length] = 0;
	top_clean_text(to, room);
}

/* --------------------------------------------------------------------- uevents */

/* A uevent's words "KEY=value", each with a zero behind it. NULL: it has no such key. */
static const char *find_value(const char *bytes, size_t length, const char *key, size_t *size)
{
	size_t key_length = strlen(key);

	while (length) {
		size_t word = strnlen(bytes, length);

		/* What a message that was cut off ends with is no word. */
		if (word == length)
			return NULL;
		if (word > key_length && !memcmp(bytes, key, key_length) &&
		    bytes[key_length] == '=') {
			*size = word - key_length - 1;
			return bytes + key_length + 1;
		}
		bytes += word + 1;
		length -= word + 1;
	}
	return NULL;
}

static bool has_value(const char *bytes, size_t length, const char *key, const char *value)
{
	size_t size;
	const char *found = find_value(bytes, length, key, &size);

	return found && size == strlen(value) && !memcmp(found, value, size);
}

static void tell_wedged(struct top_event *event)
{
	event->is_bad = strcmp(event->what, "none") != 0;
	if (!event->is_bad)
		snprintf(event->text, sizeof(event->text), "was reset, and works again");
	else if (!strcmp(event->what, "rebind"))
		snprintf(event->text, sizeof(event->text),
			 "is dead: unbind its driver and bind it, or switch its power off and on");
	else
		snprintf(event->text, sizeof(event->text), "does not work; what helps: %s",
			 event->what);
}

bool top_event_read_uevent(const void *bytes, size_t length, struct top_event *event)
{
	static const char folder[] = "accel/";
	const char *name, *how;
	size_t name_size, how_size;

	if (!has_value(bytes, length, "SUBSYSTEM", "accel"))
		return false;
	how = find_value(bytes, length, "WEDGED", &how_size);
	name = find_value(bytes, length, "DEVNAME", &name_size);
	if (!how || !how_size || !name || name_size < sizeof(folder) ||
	    memcmp(name, folder, sizeof(folder) - 1))
		return false;
	*event = (struct top_event){ .kind = TOP_EVENT_WEDGED };
	copy_text(event->device, sizeof(event->device), name + sizeof(folder) - 1,
		  name_size - (sizeof(folder) - 1));
	copy_text(event->what, sizeof(event->what), how, how_size);
	tell_wedged(event);
	return true;
}

/* --------------------------------------------------------------------- devlink */

#define ATTRIBUTES DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT

static const struct nla_policy policy[ATTRIBUTES + 1] = {
	[DEVLINK_ATTR_BUS_NAME] = { .type = NLA_STRING },
	[DEVLINK_ATTR_DEV_NAME] = { .type = NLA_STRING },
	[DEVLINK_ATTR_HEALTH_REPORTER] = { .type = NLA_NESTED },
	[DEVLINK_ATTR_HEALTH_REPORTER_NAME] = { .type = NLA_STRING },
	[DEVLINK_ATTR_HEALTH_REPORTER_STATE] = { .type = NLA_U8 },
	[DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT] = { .type = NLA_U64 },
	[DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT] = { .type = NLA_U64 },
};

static void copy_string(char *to, size_t room, const struct nlattr *attribute)
{
	const char *text = nla_data(attribute);

	copy_text(to, room, text, strnlen(text, (size_t)nla_len(attribute)));
}

static uint64_t count_of(struct nlattr *attribute)
{
	return attribute ? nla_get_u64(attribute) : 0;
}

static bool tell_health(struct top_event *event, struct nlattr **of)
{
	uint8_t state;

	if (!of[DEVLINK_ATTR_HEALTH_REPORTER_NAME] || !of[DEVLINK_ATTR_HEALTH_REPORTER_STATE])
		return false;
	copy_string(event->what, sizeof(event->what), of[DEVLINK_ATTR_HEALTH_REPORTER_NAME]);
	state = nla_get_u8(of[DEVLINK_ATTR_HEALTH_REPORTER_STATE]);
	event->is_bad = state != REPORTER_HEALTHY;
	if (state == REPORTER_HEALTHY)
		snprintf(event->text, sizeof(event->text),
			 "health reporter %s: healthy again (recovery %" PRIu64 ")", event->what,
			 count_of(of[DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT]));
	else if (state == REPORTER_ERROR)
		snprintf(event->text, sizeof(event->text),
			 "health reporter %s: error %" PRIu64, event->what,
			 count_of(of[DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT]));
	else
		snprintf(event->text, sizeof(event->text),
			 "health reporter %s: state %u, which npu-top does not know", event->what,
			 state);
	return true;
}

bool top_event_read_devlink(const void *bytes, size_t length, int family,
			    struct top_event *event)
{
	struct nlattr *all[ATTRIBUTES + 1], *of[ATTRIBUTES + 1];
	/* libnl reads alone, but does not say so in its types. */
	struct nlmsghdr *header = (struct nlmsghdr *)(uintptr_t)bytes;

	if (length > INT32_MAX || !nlmsg_ok(header, (int)length) || header->nlmsg_type != family ||
	    !genlmsg_valid_hdr(header, 0))
		return false;
	/* Each change of a reporter is told as if it was that of its recovery. */
	if (genlmsg_hdr(header)->cmd != DEVLINK_CMD_HEALTH_REPORTER_RECOVER ||
	    genlmsg_parse(header, 0, all, ATTRIBUTES, policy) ||
	    !all[DEVLINK_ATTR_DEV_NAME] || !all[DEVLINK_ATTR_HEALTH_REPORTER] ||
	    nla_parse_nested(of, ATTRIBUTES, all[DEVLINK_ATTR_HEALTH_REPORTER], policy))
		return false;
	*event = (struct top_event){ .kind = TOP_EVENT_HEALTH };
	copy_string(event->bus, sizeof(event->bus), all[DEVLINK_ATTR_DEV_NAME]);
	return tell_health(event, of);
}

/* ------------------------------------------------------------------- the last few */

void top_event_make_lost(struct top_event *event)
{
	*event = (struct top_event){ .kind = TOP_EVENT_LOST, .is_bad = true };
	snprintf(event->text, sizeof(event->text),
		 "events were lost: they came faster than npu-top read them");
}

bool top_event_place(struct top_event *event, const struct top_sample *sample)
{
	for (size_t i = 0; i < sample->devices; i++) {
		const struct top_device *device = &sample->device[i];
		bool is_it = event->kind == TOP_EVENT_WEDGED ?
				     !strcmp(event->device, device->name) :
				     !strcmp(event->bus, device->bus);

		/* Models in processes have no place on a bus, and no events. */
		if (!*device->bus || !is_it)
			continue;
		memcpy(event->device, device->name, sizeof(event->device));
		memcpy(event->bus, device->bus, sizeof(event->bus));
		return true;
	}
	return false;
}

void top_event_add(struct top_event_ring *ring, const struct top_event *event)
{
	struct top_event *last = ring->count ? &ring->event[ring->count - 1] : NULL;

	/* Else a flood leaves nothing to be seen but that there was one. */
	if (last && last->kind == TOP_EVENT_LOST && event->kind == TOP_EVENT_LOST) {
		last->realtime_ns = event->realtime_ns;
		return;
	}
	if (ring->count == TOP_EVENTS)
		memmove(&ring->event[0], &ring->event[1],
			--ring->count * sizeof(ring->event[0]));
	ring->event[ring->count] = *event;
	ring->event[ring->count++].number = ++ring->number;
}

const char *top_event_kind_name(enum top_event_kind kind)
{
	static const char *const names[] = {
		[TOP_EVENT_WEDGED] = "wedged",
		[TOP_EVENT_HEALTH] = "health",
		[TOP_EVENT_LOST] = "lost",
	};

	return names[kind];
}
