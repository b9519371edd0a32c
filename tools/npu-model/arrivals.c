// SPDX-License-Identifier: MIT
/*
 * Record and replay of arrivals. See arrivals.h.
 */
#include "arrivals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define TITLE		"npu-arrivals 1"
#define LINE_BYTES	96

/* No device gets as far: 146 years at 1 GHz. Sums of it and what a run may take do not overflow. */
#define CYCLES_END	(1ull << 62)

static const char *const words[NPU_ARRIVAL_KINDS] = {
	[NPU_ARRIVAL_RING] = "ring",
	[NPU_ARRIVAL_SIGNAL] = "signal",
	[NPU_ARRIVAL_EMPTY] = "empty",
	[NPU_ARRIVAL_WRITE] = "write",
};

static void write_line(char line[LINE_BYTES], const struct npu_arrival *arrival)
{
	const char *word = words[arrival->kind];

	switch (arrival->kind) {
	case NPU_ARRIVAL_SIGNAL:
		snprintf(line, LINE_BYTES, "%" PRIu64 " %s %u 0x%" PRIx64 "\n", arrival->cycle,
			 word, arrival->where, arrival->value);
		break;
	case NPU_ARRIVAL_WRITE:
		snprintf(line, LINE_BYTES, "%" PRIu64 " %s 0x%x 0x%" PRIx64 "\n", arrival->cycle,
			 word, arrival->where, arrival->value);
		break;
	default:
		snprintf(line, LINE_BYTES, "%" PRIu64 " %s %u\n", arrival->cycle, word,
			 arrival->where);
	}
}

static void write_down(struct npu_model *model, enum npu_arrival_kind kind, uint32_t where,
		       uint64_t value)
{
	const struct npu_arrival arrival = {
		.cycle = model->now, .kind = kind, .where = where, .value = value,
	};
	char line[LINE_BYTES];

	write_line(line, &arrival);
	fputs(line, model->arrivals.record);
}

/* ------------------------------------------------------------------------ replay */

/* Whether an arrival is brought about by the replay itself, or at least awaited. */
static bool comes(const struct npu_arrivals *arrivals, const struct npu_arrival *arrival)
{
	return arrival->kind != NPU_ARRIVAL_EMPTY &&
	       (arrivals->patient || arrival->kind != NPU_ARRIVAL_WRITE);
}

/* Set the alarm for the next one that comes from outside. */
static void expect_next(struct npu_model *model)
{
	struct npu_arrivals *arrivals = &model->arrivals;

	while (arrivals->next < arrivals->count &&
	       !comes(arrivals, &arrivals->list[arrivals->next]))
		arrivals->next++;
	if (arrivals->next < arrivals->count)
		npu_event_schedule(&model->events, &arrivals->event,
				   arrivals->list[arrivals->next].cycle);
}

static void handle_arrival(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_arrivals *arrivals = &model->arrivals;
	const struct npu_arrival *arrival = &arrivals->list[arrivals->next];

	(void)event;
	if (arrival->kind == NPU_ARRIVAL_WRITE) {
		arrivals->wait = NPU_ARRIVAL_WAIT_WRITE;
		return;
	}
	arrivals->next++;
	expect_next(model);
	if (arrival->kind == NPU_ARRIVAL_RING)
		npu_command_doorbell(model, arrival->where);
	else
		npu_command_signal(model, arrival->where, arrival->value);
}

bool npu_arrivals_due(const struct npu_model *model)
{
	const struct npu_alarm *event = &model->arrivals.event;

	return npu_event_pending(event) && event->time <= model->now;
}

uint64_t npu_arrivals_leap(const struct npu_model *model)
{
	const struct npu_alarm *event = &model->arrivals.event;

	return npu_event_first(&model->events) == event ? event->time - model->now : 0;
}

void npu_arrivals_take(struct npu_model *model)
{
	struct npu_alarm *event = &model->arrivals.event;

	npu_event_cancel(&model->events, event);
	handle_arrival(model, event);
}

/* What comes from now on is not in the recording. Its last line may be a look in vain. */
static bool is_past(const struct npu_model *model)
{
	const struct npu_arrivals *arrivals = &model->arrivals;

	return arrivals->next == arrivals->count &&
	       (!arrivals->count || model->now >= arrivals->list[arrivals->count - 1].cycle);
}

/* All of a patient replay has been replayed: the host is on its own again. */
static bool is_over(const struct npu_model *model)
{
	return model->arrivals.patient && is_past(model);
}

bool npu_arrival_door(struct npu_model *model, enum npu_arrival_kind kind, unsigned int queue,
		      uint64_t value)
{
	if (model->arrivals.list)
		return is_over(model);
	if (model->arrivals.record)
		write_down(model, kind, queue, value);
	return true;
}

static bool is_look(const struct npu_arrival *arrival, unsigned int queue)
{
	return arrival->kind == NPU_ARRIVAL_EMPTY && arrival->where == queue;
}

/*
 * Whether the recording has a look in vain at the queue in this cycle, used once. Those of cycles
 * that have passed were not made again.
 */
static bool was_empty(struct npu_model *model, unsigned int queue)
{
	struct npu_arrivals *arrivals = &model->arrivals;
	size_t i = arrivals->looked[queue];
	bool empty = false;

	for (; !empty && i < arrivals->count && arrivals->list[i].cycle <= model->now; i++) {
		if (!is_look(&arrivals->list[i], queue))
			continue;
		empty = arrivals->list[i].cycle == model->now;
		arrivals->missing += !empty;
	}
	arrivals->looked[queue] = i;
	return empty;
}

/* A packet was there in the recording: it is now, or will be. */
static bool await_packet(struct npu_model *model, unsigned int queue, bool there, bool fetch)
{
	struct npu_arrivals *arrivals = &model->arrivals;

	if (there || is_past(model))
		return there;
	if (!fetch)
		return true;
	arrivals->wait = NPU_ARRIVAL_WAIT_PACKET;
	arrivals->awaited = queue;
	return false;
}

bool npu_arrival_look(struct npu_model *model, unsigned int queue, bool there, bool fetch)
{
	if (model->arrivals.list) {
		if (was_empty(model, queue))
			return false;
		if (model->arrivals.patient)
			return await_packet(model, queue, there, fetch);
		model->arrivals.missing += !there;
		return there;
	}
	if (model->arrivals.record && !there)
		write_down(model, NPU_ARRIVAL_EMPTY, queue, 0);
	return there;
}

static bool has_influence(uint32_t offset)
{
	switch (offset) {
	case NPU_REG_BOOT_CONTROL:
	case NPU_REG_MAILBOX_TO_FW_SEND:
	case NPU_REG_MAILBOX_TO_HOST_SEND:
	case NPU_REG_CONTEXT_UPDATE:
	case NPU_REG_TLB_INVALIDATE:
		return true;
	default:
		return false;
	}
}

static bool is_next(const struct npu_arrivals *arrivals, uint32_t offset, uint32_t value)
{
	const struct npu_arrival *arrival = &arrivals->list[arrivals->next];

	return arrivals->wait == NPU_ARRIVAL_WAIT_WRITE && arrival->where == offset &&
	       arrival->value == value;
}

bool npu_model_write_may_come(const struct npu_model *model, uint32_t offset, uint32_t value)
{
	const struct npu_arrivals *arrivals = &model->arrivals;

	return !arrivals->list || !arrivals->patient || is_over(model) ||
	       !has_influence(offset) || is_next(arrivals, offset, value);
}

void npu_arrival_write(struct npu_model *model, uint32_t offset, uint32_t value)
{
	struct npu_arrivals *arrivals = &model->arrivals;

	if (!has_influence(offset))
		return;
	if (arrivals->record)
		write_down(model, NPU_ARRIVAL_WRITE, offset, value);
	if (!arrivals->list || is_over(model) || !is_next(arrivals, offset, value))
		return;
	arrivals->wait = NPU_ARRIVAL_WAIT_NONE;
	arrivals->next++;
	expect_next(model);
}

void npu_arrivals_look_again(struct npu_model *model)
{
	/* A write ends the wait for it itself; for a packet the ring is looked at again. */
	if (model->arrivals.wait == NPU_ARRIVAL_WAIT_PACKET)
		model->arrivals.wait = NPU_ARRIVAL_WAIT_NONE;
}

/* The device stands still, other than in the recording, which goes on in a later cycle. */
static bool has_stopped_early(const struct npu_model *model)
{
	return model->arrivals.patient && !is_past(model) && npu_model_idle(model) &&
	       npu_model_timer(model) == UINT64_MAX;
}

static void say_awaited(const struct npu_model *model, char *text, size_t size)
{
	const struct npu_arrivals *arrivals = &model->arrivals;
	size_t next = arrivals->next < arrivals->count ? arrivals->next : arrivals->count - 1;
	const struct npu_arrival *arrival = &arrivals->list[next];

	switch (arrivals->wait) {
	case NPU_ARRIVAL_WAIT_PACKET:
		snprintf(text, size,
			 "at cycle %" PRIu64 " the recording has a packet in queue %u, which has "
			 "not been written", model->now, arrivals->awaited);
		break;
	case NPU_ARRIVAL_WAIT_WRITE:
		snprintf(text, size,
			 "at cycle %" PRIu64 " the recording has a write of 0x%" PRIx64
			 " to register 0x%x, which has not been made",
			 model->now, arrival->value, arrival->where);
		break;
	default:
		snprintf(text, size,
			 "the recording goes on at cycle %" PRIu64 ", which the device, standing "
			 "still at %" PRIu64 ", has not reached", arrival->cycle, model->now);
	}
}

bool npu_model_awaits_host(const struct npu_model *model, char *text, size_t size)
{
	if (!npu_arrivals_wait(&model->arrivals) && !has_stopped_early(model))
		return false;
	if (size)
		say_awaited(model, text, size);
	return true;
}

/* ------------------------------------------------------------------------- files */

static int refuse(char *error, size_t size, const char *path, const char *reason)
{
	if (error && size)
		snprintf(error, size, "arrivals: '%s' %s", path, reason);
	return -EINVAL;
}

int npu_model_record(struct npu_model *model, const char *path, char *error, size_t size)
{
	npu_arrivals_release(model);
	model->arrivals.record = fopen(path, "we");
	if (!model->arrivals.record)
		return refuse(error, size, path, "cannot be written; is its folder there?");
	/* Whatever becomes of this program, what it leaves is whole lines. */
	setvbuf(model->arrivals.record, NULL, _IOLBF, BUFSIZ);
	fprintf(model->arrivals.record, TITLE "\n");
	return 0;
}

static bool parse_rest(const struct npu_model *model, const char *rest, struct npu_arrival *arrival)
{
	switch (arrival->kind) {
	case NPU_ARRIVAL_WRITE:
		return sscanf(rest, " 0x%" SCNx32 " 0x%" SCNx64, &arrival->where,
			      &arrival->value) == 2 &&
		       has_influence(arrival->where) && arrival->value <= UINT32_MAX;
	case NPU_ARRIVAL_SIGNAL:
		if (sscanf(rest, " %" SCNu32 " 0x%" SCNx64, &arrival->where, &arrival->value) != 2)
			return false;
		break;
	case NPU_ARRIVAL_KINDS:
		return false;
	default:
		if (sscanf(rest, " %" SCNu32, &arrival->where) != 1)
			return false;
	}
	return arrival->where < model->config.queues && arrival->where < NPU_ARRIVAL_QUEUES;
}

/* A line is what would be written of its arrival, and nothing else. */
static bool parse(const struct npu_model *model, const char *line, struct npu_arrival *arrival)
{
	char word[8], text[LINE_BYTES];
	int used = 0;

	if (sscanf(line, "%" SCNu64 " %7s%n", &arrival->cycle, word, &used) != 2 ||
	    arrival->cycle == UINT64_MAX)
		return false;
	for (arrival->kind = 0; arrival->kind < NPU_ARRIVAL_KINDS; arrival->kind++) {
		if (!strcmp(word, words[arrival->kind]))
			break;
	}
	if (!parse_rest(model, line + used, arrival))
		return false;
	write_line(text, arrival);
	return !strcmp(text, line);
}

/* Room for one more; NULL when there is no memory. */
static struct npu_arrival *append(struct npu_arrivals *arrivals)
{
	size_t count = arrivals->count;
	struct npu_arrival *list = arrivals->list;

	/* A power of two is full. */
	if (!(count & (count - 1))) {
		list = realloc(list, (count ? 2 * count : 1) * sizeof(*list));
		if (!list)
			return NULL;
		arrivals->list = list;
	}
	list[count] = (struct npu_arrival){ 0 };
	arrivals->count++;
	return &list[count];
}

static int read_file(struct npu_model *model, FILE *file, const char *path, char *error,
		     size_t size)
{
	struct npu_arrivals *arrivals = &model->arrivals;
	uint64_t last = model->now;
	size_t lines = 0;
	char line[LINE_BYTES];

	if (!fgets(line, sizeof(line), file) || strcmp(line, TITLE "\n"))
		return refuse(error, size, path, "does not begin with '" TITLE "': no recording");
	while (fgets(line, sizeof(line), file)) {
		struct npu_arrival *arrival = append(arrivals);

		if (!arrival)
			return refuse(error, size, path, "is larger than the memory there is");
		if (!parse(model, line, arrival))
			return refuse(error, size, path,
				      "has a line that is no arrival of this device");
		if (arrival->cycle >= CYCLES_END)
			return refuse(error, size, path,
				      "has an arrival in a cycle from 2^62 on, which no device "
				      "reaches");
		if (arrival->cycle < last)
			return refuse(error, size, path,
				      "has an arrival before the one above it, or in the past");
		last = arrival->cycle;
		lines++;
	}
	if (ferror(file))
		return refuse(error, size, path, "cannot be read to its end");
	/* With nothing in it, too, the host's doorbells are not those of the recording. */
	if (!arrivals->list && !append(arrivals))
		return refuse(error, size, path, "needs memory that is not there");
	arrivals->count = lines;
	return 0;
}

static int begin_replay(struct npu_model *model, const char *path, bool patient, char *error,
			size_t size)
{
	FILE *file;
	int result;

	npu_arrivals_release(model);
	file = fopen(path, "re");
	if (!file)
		return refuse(error, size, path, "cannot be read; was it recorded?");
	result = read_file(model, file, path, error, size);
	fclose(file);
	if (result) {
		npu_arrivals_release(model);
		return result;
	}
	model->arrivals.patient = patient;
	model->arrivals.event.handle = handle_arrival;
	model->arrivals.event.rank = NPU_RANK_ARRIVAL;
	expect_next(model);
	return 0;
}

int npu_model_replay(struct npu_model *model, const char *path, char *error, size_t size)
{
	return begin_replay(model, path, false, error, size);
}

int npu_model_replay_patiently(struct npu_model *model, const char *path, char *error, size_t size)
{
	return begin_replay(model, path, true, error, size);
}

void npu_model_replay_end(struct npu_model *model)
{
	npu_arrivals_release(model);
}

uint64_t npu_model_missing(const struct npu_model *model)
{
	return model->arrivals.missing;
}

int npu_model_record_end(struct npu_model *model)
{
	FILE *file = model->arrivals.record;
	bool bad;

	if (!file)
		return 0;
	model->arrivals.record = NULL;
	bad = ferror(file);
	return fclose(file) || bad ? -EIO : 0;
}

void npu_arrivals_release(struct npu_model *model)
{
	npu_model_record_end(model);
	npu_event_cancel(&model->events, &model->arrivals.event);
	free(model->arrivals.list);
	memset(&model->arrivals, 0, sizeof(model->arrivals));
}
