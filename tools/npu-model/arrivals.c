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

static const char *const words[] = {
	[NPU_ARRIVAL_RING] = "ring",
	[NPU_ARRIVAL_SIGNAL] = "signal",
	[NPU_ARRIVAL_EMPTY] = "empty",
};

static void write_line(char line[LINE_BYTES], const struct npu_arrival *arrival)
{
	if (arrival->kind == NPU_ARRIVAL_SIGNAL)
		snprintf(line, LINE_BYTES, "%" PRIu64 " signal %u 0x%" PRIx64 "\n", arrival->cycle,
			 arrival->queue, arrival->value);
	else
		snprintf(line, LINE_BYTES, "%" PRIu64 " %s %u\n", arrival->cycle,
			 words[arrival->kind], arrival->queue);
}

static void write_down(struct npu_model *model, enum npu_arrival_kind kind, unsigned int queue,
		       uint64_t value)
{
	const struct npu_arrival arrival = {
		.cycle = model->now, .kind = kind, .queue = (uint8_t)queue, .value = value,
	};
	char line[LINE_BYTES];

	write_line(line, &arrival);
	fputs(line, model->arrivals.record);
}

/* Set the alarm for the next one that comes from outside. */
static void expect_next(struct npu_model *model)
{
	struct npu_arrivals *arrivals = &model->arrivals;

	while (arrivals->next < arrivals->count &&
	       arrivals->list[arrivals->next].kind == NPU_ARRIVAL_EMPTY)
		arrivals->next++;
	if (arrivals->next < arrivals->count)
		npu_event_schedule(&model->events, &arrivals->event,
				   arrivals->list[arrivals->next].cycle);
}

static void handle_arrival(struct npu_model *model, struct npu_alarm *event)
{
	const struct npu_arrival *arrival = &model->arrivals.list[model->arrivals.next++];

	(void)event;
	expect_next(model);
	if (arrival->kind == NPU_ARRIVAL_RING)
		npu_command_doorbell(model, arrival->queue);
	else
		npu_command_signal(model, arrival->queue, arrival->value);
}

bool npu_arrival_door(struct npu_model *model, enum npu_arrival_kind kind, unsigned int queue,
		      uint64_t value)
{
	if (model->arrivals.list)
		return false;
	if (model->arrivals.record)
		write_down(model, kind, queue, value);
	return true;
}

static bool is_look(const struct npu_arrival *arrival, unsigned int queue)
{
	return arrival->kind == NPU_ARRIVAL_EMPTY && arrival->queue == queue;
}

/*
 * Whether the recording has a look in vain at the queue in this cycle, used once. Those of cycles
 * that have passed were not made again.
 */
static bool was_empty(struct npu_model *model, unsigned int queue)
{
	struct npu_arrivals *arrivals = &model->arrivals;
	size_t i = arrivals->looked[queue];
	bool empty;

	for (; i < arrivals->count; i++) {
		if (!is_look(&arrivals->list[i], queue))
			continue;
		if (arrivals->list[i].cycle >= model->now)
			break;
		arrivals->missing++;
	}
	empty = i < arrivals->count && arrivals->list[i].cycle == model->now;
	arrivals->looked[queue] = i + empty;
	return empty;
}

bool npu_arrival_look(struct npu_model *model, unsigned int queue, bool there)
{
	if (model->arrivals.list) {
		if (was_empty(model, queue))
			return false;
		model->arrivals.missing += !there;
		return there;
	}
	if (model->arrivals.record && !there)
		write_down(model, NPU_ARRIVAL_EMPTY, queue, 0);
	return there;
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
	model->arrivals.record = fopen(path, "w");
	if (!model->arrivals.record)
		return refuse(error, size, path, "cannot be written; is its folder there?");
	fprintf(model->arrivals.record, TITLE "\n");
	return 0;
}

/* A line is what would be written of its arrival, and nothing else. */
static bool parse(const struct npu_model *model, const char *line, struct npu_arrival *arrival)
{
	char word[8], text[LINE_BYTES];
	unsigned int queue;
	int used = 0;

	if (sscanf(line, "%" SCNu64 " %7s %u%n", &arrival->cycle, word, &queue, &used) != 3 ||
	    queue >= model->config.queues || queue >= NPU_ARRIVAL_QUEUES ||
	    arrival->cycle == UINT64_MAX)
		return false;
	arrival->queue = (uint8_t)queue;
	for (arrival->kind = 0; arrival->kind <= NPU_ARRIVAL_EMPTY; arrival->kind++) {
		if (!strcmp(word, words[arrival->kind]))
			break;
	}
	if (arrival->kind > NPU_ARRIVAL_EMPTY ||
	    (arrival->kind == NPU_ARRIVAL_SIGNAL &&
	     sscanf(line + used, " %" SCNx64, &arrival->value) != 1))
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
			return refuse(error, size, path, "has a line that is no arrival of this device");
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

int npu_model_replay(struct npu_model *model, const char *path, char *error, size_t size)
{
	FILE *file;
	int result;

	npu_arrivals_release(model);
	file = fopen(path, "r");
	if (!file)
		return refuse(error, size, path, "cannot be read; was it recorded?");
	result = read_file(model, file, path, error, size);
	fclose(file);
	if (result) {
		npu_arrivals_release(model);
		return result;
	}
	model->arrivals.event.handle = handle_arrival;
	model->arrivals.event.rank = NPU_RANK_ARRIVAL;
	expect_next(model);
	return 0;
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
