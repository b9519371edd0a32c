// SPDX-License-Identifier: MIT
/*
 * The mailbox. Loops: the words of a message.
 */
#include "context.h"
#include "heat.h"
#include "hw.h"
#include "log.h"
#include "mailbox.h"
#include "npu/npu_mailbox.h"
#include "power.h"
#include "queue.h"
#include "suspend.h"

#define ABI_VERSION	(NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR)
#define ABI_OLDEST	1u	/* major versions from here on are served */
#define FIRMWARE_VERSION (NPU_FW_VERSION_MAJOR << 16 | NPU_FW_VERSION_MINOR)

_Static_assert(NPU_FW_ABI_MAJOR == NPU_MAILBOX_ABI_MAJOR &&
	       NPU_FW_ABI_MINOR == NPU_MAILBOX_ABI_MINOR,
	       "the image's header says which messages the firmware speaks");

#define MESSAGE_WORDS	(sizeof(struct npu_message) / 4)
#define ARGUMENTS	ARRAY_SIZE(((struct npu_message *)0)->argument)

enum mailbox_state {
	MAILBOX_IDLE,		/* ready for a message */
	MAILBOX_FINISHING,	/* the reply waits until a queue or a context is gone, or all sleep */
	MAILBOX_REPLYING,	/* the reply waits until the host took the message before */
};

static enum mailbox_state state;
/* The message being worked on; becomes its reply. */
static struct npu_message message;
/* What is being destroyed in MAILBOX_FINISHING. */
static u32 target;

static void receive(void)
{
	u32 words[MESSAGE_WORDS];

	for (unsigned int i = 0; i < MESSAGE_WORDS; i++)
		words[i] = hw_read(NPU_REG_MAILBOX_TO_FW + i * 4);
	hw_write(NPU_REG_MAILBOX_TO_FW_SEND, 0);
	__builtin_memcpy(&message, words, sizeof(message));
}

static bool host_listens(void)
{
	return hw_read(NPU_REG_MAILBOX_TO_HOST_SEND) == 0;
}

static void send(const struct npu_message *out)
{
	u32 words[MESSAGE_WORDS];

	__builtin_memcpy(words, out, sizeof(*out));
	for (unsigned int i = 0; i < MESSAGE_WORDS; i++)
		hw_write(NPU_REG_MAILBOX_TO_HOST + i * 4, words[i]);
	hw_write(NPU_REG_MAILBOX_TO_HOST_SEND, 1);
}

/* How many arguments a message has, or NONE for an unknown one. */
static unsigned int argument_count(u32 kind)
{
	switch (kind) {
	case NPU_MESSAGE_HELLO:
	case NPU_MESSAGE_CONTEXT_CREATE:
	case NPU_MESSAGE_CONTEXT_DESTROY:
	case NPU_MESSAGE_QUEUE_DESTROY:
	case NPU_MESSAGE_LOG_READ:
	case NPU_MESSAGE_SUSPEND:
	case NPU_MESSAGE_QUEUE_STATE:
	case NPU_MESSAGE_POWER:
		return 1;
	case NPU_MESSAGE_CLOCK:
		return 2;
	case NPU_MESSAGE_QUEUE_CREATE:
		return 9;
	case NPU_MESSAGE_PING:
		return 0;
	default:
		return NONE;
	}
}

/* What a message does not use is zero, so that a later version can give it a meaning. */
static bool well_formed(unsigned int arguments)
{
	if (message.status)
		return false;
	for (unsigned int i = arguments; i < ARGUMENTS; i++) {
		if (message.argument[i])
			return false;
	}
	return true;
}

static enum npu_error hello(void)
{
	u32 major = message.argument[0] >> 16;

	/* Also when it is refused: the host then knows what to speak. */
	message.argument[0] = ABI_VERSION;
	message.argument[1] = ABI_OLDEST;
	message.argument[2] = FIRMWARE_VERSION;
	if (major < ABI_OLDEST || major > NPU_MAILBOX_ABI_MAJOR) {
		log_write(LOG_WARNING, "host speaks ABI %u, served are %u to %u", major, ABI_OLDEST,
			  NPU_MAILBOX_ABI_MAJOR);
		return NPU_ERROR_VERSION;
	}
	return NPU_ERROR_NONE;
}

static enum npu_error create_queue(void)
{
	const struct queue_setup setup = {
		.queue = message.argument[0],
		.context = message.argument[1],
		.ring_low = message.argument[2],
		.ring_high = message.argument[3],
		.log2_packets = message.argument[4],
		.priority = message.argument[5],
		.index_low = message.argument[6],
		.index_high = message.argument[7],
		.error = message.argument[8],
	};

	return queue_create(&setup);
}

static enum npu_error read_place(void)
{
	struct queue_place place;
	enum npu_error error = queue_place(message.argument[0], &place);

	if (error)
		return error;
	message.argument[0] = place.index_low;
	message.argument[1] = place.index_high;
	message.argument[2] = place.error;
	message.argument[3] = place.progress;
	return NPU_ERROR_NONE;
}

static enum npu_error power(void)
{
	struct power_state in_force;

	power_set(message.argument[0], &in_force);
	message.argument[0] = in_force.idle_us;
	message.argument[1] = in_force.asleep;
	return NPU_ERROR_NONE;
}

static enum npu_error clock(void)
{
	struct heat_state in_force;
	enum npu_error error = heat_limits(message.argument[0], message.argument[1], &in_force);

	if (error)
		return error;
	message.argument[0] = in_force.fastest;
	message.argument[1] = in_force.slowest;
	message.argument[2] = in_force.demand;
	message.argument[3] = in_force.times;
	return NPU_ERROR_NONE;
}

static enum npu_error read_log(void)
{
	char text[LOG_READ_MAX];
	u32 start = message.argument[0];

	_Static_assert(LOG_READ_MAX <= (ARGUMENTS - 2) * 4, "the text fits into the message");
	message.argument[1] = log_read(start, text, &message.argument[0]);
	__builtin_memcpy(&message.argument[2], text, message.argument[1]);
	return NPU_ERROR_NONE;
}

static enum npu_error handle(void)
{
	u32 first = message.argument[0];

	switch (message.kind) {
	case NPU_MESSAGE_HELLO:
		return hello();
	case NPU_MESSAGE_CONTEXT_CREATE:
		return context_create(first);
	case NPU_MESSAGE_CONTEXT_DESTROY:
		return context_destroy(first);
	case NPU_MESSAGE_QUEUE_CREATE:
		return create_queue();
	case NPU_MESSAGE_QUEUE_DESTROY:
		return queue_destroy(first);
	case NPU_MESSAGE_PING:
		return NPU_ERROR_NONE;
	case NPU_MESSAGE_LOG_READ:
		return read_log();
	case NPU_MESSAGE_SUSPEND:
		return suspend_begin(first);
	case NPU_MESSAGE_QUEUE_STATE:
		return read_place();
	case NPU_MESSAGE_POWER:
		return power();
	case NPU_MESSAGE_CLOCK:
		return clock();
	default:
		return NPU_ERROR_UNKNOWN_MESSAGE;
	}
}

static bool keeps_arguments(u32 kind)
{
	return kind == NPU_MESSAGE_HELLO || kind == NPU_MESSAGE_LOG_READ ||
	       kind == NPU_MESSAGE_POWER ||
	       ((kind == NPU_MESSAGE_QUEUE_STATE || kind == NPU_MESSAGE_CLOCK) && !message.status);
}

static bool takes_time(u32 kind)
{
	return kind == NPU_MESSAGE_CONTEXT_DESTROY || kind == NPU_MESSAGE_QUEUE_DESTROY ||
	       kind == NPU_MESSAGE_SUSPEND;
}

/* Never inlined: the registers it needs would be saved in every turn, message or not. */
static __attribute__((noinline)) enum npu_error answer(void)
{
	unsigned int arguments = argument_count(message.kind);

	if (arguments == NONE) {
		log_write(LOG_WARNING, "message of unknown kind %u", message.kind, 0, 0);
		return NPU_ERROR_UNKNOWN_MESSAGE;
	}
	return well_formed(arguments) ? handle() : NPU_ERROR_BAD_ARGUMENT;
}

/* Work on the message until its reply is ready, or until only time can make it ready. */
static void work(void)
{
	u32 kind;

	receive();
	kind = message.kind;
	target = message.argument[0];
	message.status = answer();
	if (!keeps_arguments(kind) || message.status == NPU_ERROR_BAD_ARGUMENT)
		__builtin_memset(message.argument, 0, sizeof(message.argument));
	state = MAILBOX_REPLYING;
	if (message.status == NPU_ERROR_NONE && takes_time(kind))
		state = MAILBOX_FINISHING;
}

static void finish(void)
{
	bool done;

	if (message.kind == NPU_MESSAGE_CONTEXT_DESTROY) {
		done = context_finish(target);
	} else if (message.kind == NPU_MESSAGE_QUEUE_DESTROY) {
		done = !queue_exists(target);
	} else {
		enum npu_error error = NPU_ERROR_NONE;

		done = suspend_finish(&error);
		message.status = error;
	}
	if (done)
		state = MAILBOX_REPLYING;
}

static void report_error(void)
{
	struct npu_message event = { .kind = NPU_MESSAGE_ERROR_EVENT };
	struct queue_report report;

	queue_next_report(&report);
	event.argument[0] = report.queue;
	event.argument[1] = report.context;
	event.argument[2] = report.error;
	send(&event);
}

void mailbox_run(bool rung)
{
	/* What comes while another one is worked on is seen when the host takes the reply. */
	if (rung && state == MAILBOX_IDLE && hw_read(NPU_REG_MAILBOX_TO_FW_SEND))
		work();
	if (state == MAILBOX_FINISHING)
		finish();
	if (state == MAILBOX_REPLYING && host_listens()) {
		send(&message);
		state = MAILBOX_IDLE;
	}
	if (queue_has_report() && host_listens())
		report_error();
}
