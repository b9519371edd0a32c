// SPDX-License-Identifier: MIT
/* Messages to the firmware of a `sim:` device, and those from it. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "sim.h"
#include "thread.h"

#define REPLY_SECONDS 30
#define MESSAGE_WORDS (sizeof(struct npu_message) / sizeof(uint32_t))
#define LOG_TEXT_MAX (12 * sizeof(uint32_t)) /* arguments 2 to 13 */

static const char *error_name(uint32_t error)
{
	switch (error) {
	case NPU_ERROR_UNKNOWN_MESSAGE:
		return "it does not know the message";
	case NPU_ERROR_BAD_ARGUMENT:
		return "an argument is out of range";
	case NPU_ERROR_NOT_FOUND:
		return "there is no such context or queue";
	case NPU_ERROR_EXISTS:
		return "it exists already";
	case NPU_ERROR_BUSY:
		return "it is busy";
	case NPU_ERROR_VERSION:
		return "it speaks another version of the mailbox";
	default:
		return "for a reason this library does not know";
	}
}

static bool wait_for_reply(struct sim *sim, struct npu_message *reply)
{
	int64_t deadline = npurt_deadline(REPLY_SECONDS * NPURT_NS_PER_SECOND);
	bool there;
	int ret = 0;

	pthread_mutex_lock(&sim->reply_lock);
	while (!sim->reply_there && !sim_is_dead(sim) && !ret)
		ret = npurt_cond_wait(&sim->reply_changed, &sim->reply_lock, deadline);
	there = sim->reply_there;
	if (there)
		*reply = sim->reply;
	sim->reply_there = false;
	pthread_mutex_unlock(&sim->reply_lock);
	return there;
}

static void send_words(struct sim *sim, const struct npu_message *message)
{
	uint32_t words[MESSAGE_WORDS];
	size_t i;

	memcpy(words, message, sizeof(words));
	for (i = 0; i < MESSAGE_WORDS; i++)
		sim_write(sim, NPU_REG_MAILBOX_TO_FW + (uint32_t)i * 4, le32toh(words[i]));
	sim_write(sim, NPU_REG_MAILBOX_TO_FW_SEND, 1);
}

int sim_message(struct sim *sim, struct npu_message *message, const char *what)
{
	struct npu_message reply;
	uint32_t status;
	int ret = 0;

	pthread_mutex_lock(&sim->mailbox_lock);
	if (sim_is_dead(sim)) {
		ret = npurt_fail(-ENODEV, "sim: %s: the device is dead", what);
		goto out;
	}
	/* 0 is the firmware's own. */
	if (!++sim->sequence)
		sim->sequence = 1;
	message->sequence = htole16(sim->sequence);
	send_words(sim, message);
	if (!wait_for_reply(sim, &reply)) {
		ret = npurt_fail(sim_is_dead(sim) ? -ENODEV : -EIO, "sim: %s: the firmware %s",
				 what, sim_is_dead(sim) ? "died" : "did not answer within 30 s");
		goto out;
	}
	status = le32toh(reply.status);
	if (reply.sequence != message->sequence || reply.kind != message->kind)
		ret = npurt_fail(-EIO, "sim: %s: the firmware answered another message", what);
	else if (status)
		ret = npurt_fail(status == NPU_ERROR_VERSION ? -EPROTO : -EIO,
				 "sim: %s: the firmware refuses: %s (code %u)", what,
				 error_name(status), status);
	*message = reply;
out:
	pthread_mutex_unlock(&sim->mailbox_lock);
	return ret;
}

static void take_event(struct sim *sim, const struct npu_message *message)
{
	uint32_t context = le32toh(message->argument[1]);
	uint32_t error = le32toh(message->argument[2]);

	switch (le16toh(message->kind)) {
	case NPU_MESSAGE_ERROR_EVENT:
		npurt_log_line(sim->base.log, NPURT_LOG_WARNING,
			       "sim: firmware reports queue %u of context %u stopped, code %u",
			       le32toh(message->argument[0]), context, error);
		sim_context_stopped(sim, context, error);
		break;
	case NPU_MESSAGE_PANIC:
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR,
			       "sim: firmware died: reason %u, mcause 0x%x, mepc 0x%x, mtval 0x%x",
			       le32toh(message->argument[0]), context, error,
			       le32toh(message->argument[3]));
		sim_died(sim, le32toh(message->argument[0]));
		break;
	default:
		npurt_log_line(sim->base.log, NPURT_LOG_WARNING,
			       "sim: firmware sends a message of unknown kind %u",
			       le16toh(message->kind));
		break;
	}
}

void sim_mailbox_interrupt(struct sim *sim)
{
	uint32_t words[MESSAGE_WORDS];
	struct npu_message message;
	size_t i;

	while (sim_read(sim, NPU_REG_MAILBOX_TO_HOST_SEND) & 1) {
		for (i = 0; i < MESSAGE_WORDS; i++)
			words[i] =
				htole32(sim_read(sim, NPU_REG_MAILBOX_TO_HOST + (uint32_t)i * 4));
		memcpy(&message, words, sizeof(message));
		sim_write(sim, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
		if (!message.sequence) {
			take_event(sim, &message);
			continue;
		}
		pthread_mutex_lock(&sim->reply_lock);
		sim->reply = message;
		sim->reply_there = true;
		pthread_cond_signal(&sim->reply_changed);
		pthread_mutex_unlock(&sim->reply_lock);
	}
}

int sim_firmware_log(struct npurt_backend *backend, uint32_t *position, char *text, size_t bytes)
{
	struct sim *sim = sim_of(backend);
	size_t done = 0;

	while (bytes - done >= LOG_TEXT_MAX) {
		struct npu_message message = { .kind = htole16(NPU_MESSAGE_LOG_READ) };
		uint32_t count;
		int ret;

		message.argument[0] = htole32(*position);
		ret = sim_message(sim, &message, "reading the firmware's log");
		if (ret)
			return ret;
		count = le32toh(message.argument[1]);
		if (!count)
			break;
		if (count > LOG_TEXT_MAX)
			return npurt_fail(-EIO,
					  "sim: reading the firmware's log: %u bytes in one "
					  "message, there is room for %zu",
					  count, LOG_TEXT_MAX);
		memcpy(text + done, &message.argument[2], count);
		done += count;
		*position = le32toh(message.argument[0]);
	}
	return (int)done;
}
