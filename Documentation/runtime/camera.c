// SPDX-License-Identifier: MIT
/*
 * camera DETECTOR.npu RECOGNIZER.npu TEXT.npu [FRAMES]: three models, as a camera has them.
 *
 * The detector sees every frame and goes first. Every third frame has something to recognize; a frame
 * whose recognizer is still at work does without. Text is read with whatever is left, all the time.
 * cc camera.c $(pkg-config --cflags --libs npurt) -lpthread
 */
#include <errno.h>
#include <npurt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAME_NS 33333333
#define TENSORS_MAX 16

/* A context each: a priority belongs to a queue, and a fault stays in its context. */
struct job {
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_binding binding[TENSORS_MAX];
	uint32_t tensors;
};

struct reader {
	struct job job;
	uint32_t stop;
	unsigned int done;
};

static int complain(void)
{
	fprintf(stderr, "camera: %s\n", npurt_last_error());
	return 1;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Inputs in order, then outputs: what npurt_run() wants. A camera's driver would export its own memory. */
static int bind_tensors(struct job *job)
{
	struct npurt_model_info model = { .size = sizeof(model) };
	struct npurt_tensor_info tensor = { .size = sizeof(tensor) };
	uint32_t i;
	int ret;

	if (npurt_model_get_info(job->model, &model))
		return complain();
	if (model.inputs + model.outputs > TENSORS_MAX) {
		fprintf(stderr, "camera: %s has more than %d tensors\n", model.name, TENSORS_MAX);
		return 1;
	}
	for (i = 0; i < model.inputs + model.outputs; i++) {
		ret = i < model.inputs ?
			      npurt_model_get_input(job->model, i, &tensor) :
			      npurt_model_get_output(job->model, i - model.inputs, &tensor);
		if (ret || npurt_buffer_alloc(job->context, tensor.device_bytes, 0,
					      &job->binding[i].buffer))
			return complain();
		job->tensors++;
	}
	return 0;
}

static int open_job(struct npurt_device *device, const char *path, uint32_t priority,
		    struct job *job)
{
	const struct npurt_context_options options = { .size = sizeof(options),
						       .priority = priority };

	if (npurt_context_create(device, &options, &job->context) ||
	    npurt_model_load(job->context, path, &job->model))
		return complain();
	return bind_tensors(job);
}

static void close_job(struct job *job)
{
	while (job->tensors)
		npurt_buffer_free(job->binding[--job->tensors].buffer);
	npurt_model_unload(job->model);
	npurt_context_destroy(job->context);
}

/* As many as there is time for. */
static void *read_text(void *opaque)
{
	struct reader *reader = opaque;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
		if (npurt_run(reader->job.model, reader->job.binding, reader->job.tensors, NULL)) {
			complain();
			break;
		}
		reader->done++;
	}
	return NULL;
}

/* What became of the last recognition. Returns 1 when it is not over, or a negative errno. */
static int look_at(struct npurt_future **last, int64_t timeout_ns, int *done)
{
	int ret;

	if (!*last)
		return 0;
	ret = npurt_future_wait(*last, timeout_ns);
	if (ret == -ETIMEDOUT)
		return 1;
	*done += !ret;
	npurt_future_release(*last);
	*last = NULL;
	return ret;
}

/* Starts another one, unless the last one is not over. */
static int recognize(struct job *job, struct npurt_future **last, int *done)
{
	int ret = look_at(last, 0, done);

	return ret ? ret : npurt_run_submit(job->model, job->binding, job->tensors, NULL, last);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int watch(struct job *detector, struct job *recognizer, int64_t *took, int frames)
{
	struct npurt_future *recognition = NULL;
	int64_t next = now_ns();
	int recognized = 0, frame, failed = 0;

	for (frame = 0; frame < frames && !failed; frame++) {
		int64_t start = now_ns();

		failed = npurt_run(detector->model, detector->binding, detector->tensors, NULL);
		took[frame] = now_ns() - start;
		if (!failed && frame % 3 == 0)
			failed = recognize(recognizer, &recognition, &recognized) < 0;
		next += FRAME_NS;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){ .tv_sec = next / 1000000000,
						    .tv_nsec = next % 1000000000 },
				NULL);
	}
	if (!failed)
		failed = look_at(&recognition, NPURT_FOREVER, &recognized);
	if (failed)
		complain();
	npurt_future_release(recognition);
	if (failed)
		return 1;
	qsort(took, (size_t)frames, sizeof(*took), compare);
	printf("%d frames, half of them within %.1f ms, 99 of 100 within %.1f ms\n", frames,
	       (double)took[frames / 2] / 1e6, (double)took[frames - 1 - frames / 100] / 1e6);
	printf("%d recognized\n", recognized);
	return 0;
}

static int work(struct npurt_device *device, char **paths, int64_t *took, int frames)
{
	struct job detector = { 0 }, recognizer = { 0 };
	struct reader reader = { 0 };
	pthread_t thread;
	int failed;

	failed = open_job(device, paths[0], 12, &detector) ||
		 open_job(device, paths[1], 6, &recognizer) ||
		 open_job(device, paths[2], 0, &reader.job);
	if (!failed && !(failed = pthread_create(&thread, NULL, read_text, &reader))) {
		failed = watch(&detector, &recognizer, took, frames);
		__atomic_store_n(&reader.stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		printf("%u pages read\n", reader.done);
	}
	close_job(&detector);
	close_job(&recognizer);
	close_job(&reader.job);
	return failed;
}

int main(int argc, char **argv)
{
	int frames = argc == 5 ? atoi(argv[4]) : 300, failed = 1;
	struct npurt_device *device = NULL;
	int64_t *took;

	if (argc < 4 || argc > 5 || frames < 1) {
		fprintf(stderr, "usage: camera DETECTOR.npu RECOGNIZER.npu TEXT.npu [FRAMES]\n");
		return 2;
	}
	took = calloc((size_t)frames, sizeof(*took));
	if (!took)
		return 1;
	if (npurt_open(NULL, &device))
		complain();
	else
		failed = work(device, argv + 1, took, frames);
	npurt_close(device);
	free(took);
	return failed;
}
