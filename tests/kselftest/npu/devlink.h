/* SPDX-License-Identifier: MIT */
/* devlink's instance of accel0's device, asked by generic netlink without a library between. */
#ifndef NPU_TEST_DEVLINK_H
#define NPU_TEST_DEVLINK_H

#include <limits.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "npu_test.h"

#define DEVLINK_ROOM 65536

struct devlink_request {
	struct nlmsghdr head;
	struct genlmsghdr family;
	unsigned char attributes[512];
};

struct devlink {
	int fd;
	uint16_t family;
	char bus[64], name[64];
	size_t bytes;
	unsigned char answer[DEVLINK_ROOM];	/* all messages of the last one, one after the other */
};

static inline void devlink_begin(struct devlink_request *request, uint16_t type, uint8_t command,
				 uint16_t flags)
{
	memset(request, 0, sizeof(*request));
	request->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	request->head.nlmsg_type = type;
	request->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	request->family.cmd = command;
	request->family.version = 1;
}

static inline void devlink_put(struct devlink_request *request, uint16_t type, const void *value,
			       size_t bytes)
{
	struct nlattr *attribute = (void *)((char *)request + request->head.nlmsg_len);

	attribute->nla_type = type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + bytes);
	memcpy((char *)attribute + NLA_HDRLEN, value, bytes);
	request->head.nlmsg_len += NLA_ALIGN(attribute->nla_len);
}

static inline void devlink_put_text(struct devlink_request *request, uint16_t type,
				    const char *text)
{
	devlink_put(request, type, text, strlen(text) + 1);
}

/* 0 or the negative errno of the acknowledgement; what is asked for as a dump has an end instead. */
static inline int devlink_send(struct devlink *link, struct devlink_request *request)
{
	const uint16_t last = request->head.nlmsg_flags & NLM_F_DUMP ? NLMSG_DONE : NLMSG_ERROR;

	link->bytes = 0;
	if (send(link->fd, request, request->head.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		struct nlmsghdr *message = (void *)(link->answer + link->bytes);
		ssize_t got = recv(link->fd, message, DEVLINK_ROOM - link->bytes, 0);
		int left = (int)got;

		if (got <= 0)
			return -EIO;
		for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
			if (message->nlmsg_type == last || message->nlmsg_type == NLMSG_ERROR)
				return *(int *)NLMSG_DATA(message);
		}
		link->bytes += (size_t)got;
	}
}

/* An attribute of the answer's first message, or of one of its nests; NULL. */
static inline const void *devlink_find(const struct devlink *link, size_t at, size_t end,
				       uint16_t type, uint16_t nest)
{
	const struct nlattr *attribute;
	const void *found = NULL;

	for (; !found && at + NLA_HDRLEN <= end; at += NLA_ALIGN(attribute->nla_len)) {
		attribute = (const void *)(link->answer + at);
		if (attribute->nla_len < NLA_HDRLEN)
			return NULL;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return link->answer + at + NLA_HDRLEN;
		if ((attribute->nla_type & NLA_TYPE_MASK) == nest)
			found = devlink_find(link, at + NLA_HDRLEN, at + attribute->nla_len, type,
					     0);
	}
	return found;
}

static inline const void *devlink_attribute(const struct devlink *link, uint16_t type, uint16_t nest)
{
	return devlink_find(link, NLMSG_LENGTH(GENL_HDRLEN), link->bytes, type, nest);
}

/* Whether the answer has this text, as a string of its own. */
static inline bool devlink_says(const struct devlink *link, const char *text)
{
	return memmem(link->answer, link->bytes, text, strlen(text) + 1);
}

/* 0 or a negative errno. */
static inline int devlink_open(struct devlink *link)
{
	struct devlink_request request;
	const uint16_t *family;
	char path[PATH_MAX];
	int ret;

	memset(link, 0, sizeof(*link));
	link->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (link->fd < 0 || !realpath("/sys/class/accel/accel0/device", path))
		return -errno;
	snprintf(link->name, sizeof(link->name), "%.60s", strrchr(path, '/') + 1);
	if (!realpath("/sys/class/accel/accel0/device/subsystem", path))
		return -errno;
	snprintf(link->bus, sizeof(link->bus), "%.60s", strrchr(path, '/') + 1);
	devlink_begin(&request, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	devlink_put_text(&request, CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
	ret = devlink_send(link, &request);
	if (ret)
		return ret;
	family = devlink_attribute(link, CTRL_ATTR_FAMILY_ID, 0);
	link->family = family ? *family : 0;
	return family ? 0 : -ENOENT;
}

/* What is asked of this device, or of a health reporter of its. */
static inline void devlink_device(struct devlink *link, struct devlink_request *request,
				  uint8_t command, const char *reporter, uint16_t flags)
{
	devlink_begin(request, link->family, command, flags);
	devlink_put_text(request, DEVLINK_ATTR_BUS_NAME, link->bus);
	devlink_put_text(request, DEVLINK_ATTR_DEV_NAME, link->name);
	if (reporter)
		devlink_put_text(request, DEVLINK_ATTR_HEALTH_REPORTER_NAME, reporter);
}

static inline int devlink_ask(struct devlink *link, uint8_t command, const char *reporter,
			      uint16_t flags)
{
	struct devlink_request request;

	devlink_device(link, &request, command, reporter, flags);
	return devlink_send(link, &request);
}

/* How often a reporter was told of something, and whether that is over; 0 or a negative errno. */
static inline int devlink_health(struct devlink *link, const char *reporter, uint64_t *reports,
				 bool *healthy)
{
	int ret = devlink_ask(link, DEVLINK_CMD_HEALTH_REPORTER_GET, reporter, 0);
	const uint8_t *state;
	const void *count;

	if (ret)
		return ret;
	state = devlink_attribute(link, DEVLINK_ATTR_HEALTH_REPORTER_STATE,
				  DEVLINK_ATTR_HEALTH_REPORTER);
	count = devlink_attribute(link, DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT,
				  DEVLINK_ATTR_HEALTH_REPORTER);
	if (!state || !count)
		return -ENODATA;
	/* The kernel's headers for programs have no name for it. */
	*healthy = *state == 0;
	memcpy(reports, count, sizeof(*reports));
	return 0;
}

/* Reports come from a worker, and it is over a moment after they are counted. */
static inline bool devlink_wait(struct devlink *link, const char *reporter, uint64_t wanted,
				bool expected)
{
	int64_t end = now_ns() + 60000 * MILLISECOND;
	uint64_t reports = ~wanted;
	bool healthy = !expected;

	while (!devlink_health(link, reporter, &reports, &healthy) &&
	       (reports != wanted || healthy != expected) && now_ns() < end)
		usleep(10000);
	return reports == wanted && healthy == expected;
}

#endif /* NPU_TEST_DEVLINK_H */
