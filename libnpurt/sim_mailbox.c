// SPDX-License-Identifier: MIT
/* Messages to the firmware of a `sim:` device, and those from it. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "sim.h"
#include "thread.h"

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

/* Is the device that was asked still the one that could answer? */
static bool is_there(struct sim *sim, uint32_t generation)
{
	return !sim_is_dead(sim) && sim_generation(sim) == generation;
}

/* Sleeps until something comes; looks by itself once a second. Under reply_lock. */
static void wait_a_while(struct sim *sim)
{
	int64_t until = npurt_deadline(NPURT_NS_PER_SECOND);

	npurt_cond_wait(&sim->reply_changed, &sim->reply_lock, until);
	/* The interrupt that tells of it can be lost. */
	if (npurt_now() >= until)
		sim_look(sim);
}

static bool wait_for_reply(struct sim *sim, uint32_t generation, struct npu_message *reply)
{
	int64_t deadline = npurt_deadline(sim->patience * NPURT_NS_PER_SECOND);
	bool there;

	pthread_mutex_lock(&sim->reply_lock);
	while (!sim->reply_there && is_there(sim, generation) && npurt_now() < deadline)
		wait_a_while(sim);
	there = sim->reply_there;
	if (there)
		*reply = sim->reply;
	sim->reply_there = false;
	sim->expected = 0;
	pthread_mutex_unlock(&sim->reply_lock);
	return there;
}

/* 0 is the firmware's own. Under mailbox_lock. */
static uint16_t next_sequence(struct sim *sim)
{
	if (!++sim->sequence)
		sim->sequence = 1;
	return sim->sequence;
}

/* Has the mailbox to itself: a ping may be on its way. Under mailbox_lock. */
static void wait_for_mailbox(struct sim *sim, uint32_t generation, uint16_t sequence)
{
	int64_t deadline = npurt_deadline(sim->patience * NPURT_NS_PER_SECOND);

	pthread_mutex_lock(&sim->reply_lock);
	while (sim->ping && is_there(sim, generation) && npurt_now() < deadline)
		wait_a_while(sim);
	sim->expected = sequence;
	pthread_mutex_unlock(&sim->reply_lock);
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

bool sim_ping(struct sim *sim)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_PING) };
	int64_t now = npurt_now();
	bool overdue = false;

	/* Whoever waits for an answer has a bound of his own. */
	if (pthread_mutex_trylock(&sim->mailbox_lock))
		return false;
	pthread_mutex_lock(&sim->reply_lock);
	if (sim->ping) {
		overdue = now - sim->ping_ns > sim->patience * NPURT_NS_PER_SECOND;
	} else if (!sim_is_dead(sim) && now - sim->ping_ns > NPURT_NS_PER_SECOND) {
		sim->ping = next_sequence(sim);
		sim->ping_ns = now;
		message.sequence = htole16(sim->ping);
	}
	pthread_mutex_unlock(&sim->reply_lock);
	if (message.sequence)
		send_words(sim, &message);
	pthread_mutex_unlock(&sim->mailbox_lock);
	return overdue;
}

void sim_mailbox_reset(struct sim *sim)
{
	pthread_mutex_lock(&sim->reply_lock);
	sim->ping = 0;
	sim->reply_there = false;
	pthread_cond_broadcast(&sim->reply_changed);
	pthread_mutex_unlock(&sim->reply_lock);
}

static int fail_unanswered(struct sim *sim, uint32_t generation, const char *what)
{
	bool alive = is_there(sim, generation);

	sim_died(sim, generation, "its firmware does not answer");
	if (!alive)
		return npurt_fail(-ENODEV, "sim: %s: the device was stopped meanwhile", what);
	return npurt_fail(-ENODEV, "sim: %s: the firmware did not answer within %u s", what,
			  sim->patience);
}

int sim_message(struct sim *sim, struct npu_message *message, const char *what)
{
	uint32_t generation, status;
	struct npu_message reply;
	int ret = 0;

	pthread_mutex_lock(&sim->mailbox_lock);
	generation = sim_generation(sim);
	message->sequence = htole16(next_sequence(sim));
	wait_for_mailbox(sim, generation, le16toh(message->sequence));
	if (is_there(sim, generation))
		send_words(sim, message);
	if (!wait_for_reply(sim, generation, &reply)) {
		ret = fail_unanswered(sim, generation, what);
		goto out;
	}
	status = le32toh(reply.status);
	if (reply.kind != message->kind)
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
		sim_died(sim, sim_generation(sim), "its firmware died");
		break;
	default:
		npurt_log_line(sim->base.log, NPURT_LOG_WARNING,
			       "sim: firmware sends a message of unknown kind %u",
			       le16toh(message->kind));
		break;
	}
}

/* One that came too late is nobody's. */
static void take_reply(struct sim *sim, const struct npu_message *message)
{
	uint16_t sequence = le16toh(message->sequence);

	pthread_mutex_lock(&sim->reply_lock);
	if (sequence == sim->ping) {
		sim->ping = 0;
	} else if (sequence == sim->expected) {
		sim->reply = *message;
		sim->reply_there = true;
	}
	pthread_cond_broadcast(&sim->reply_changed);
	pthread_mutex_unlock(&sim->reply_lock);
}

void sim_mailbox_interrupt(struct sim *sim)
{
	uint32_t words[MESSAGE_WORDS];
	struct npu_message message;
	size_t i;

	/* A device that is gone answers all ones, for ever. */
	while (sim_read(sim, NPU_REG_MAILBOX_TO_HOST_SEND) == 1) {
		for (i = 0; i < MESSAGE_WORDS; i++)
			words[i] =
				htole32(sim_read(sim, NPU_REG_MAILBOX_TO_HOST + (uint32_t)i * 4));
		memcpy(&message, words, sizeof(message));
		sim_write(sim, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
		if (!message.sequence) {
			take_event(sim, &message);
			continue;
		}
		take_reply(sim, &message);
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
