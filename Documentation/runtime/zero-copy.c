// SPDX-License-Identifier: MIT
/*
 * zero-copy MODEL.npu: a camera's memory goes into a model, and the model's output to another
 * process, without a copy of either.
 *
 * cc zero-copy.c -o zero-copy $(pkg-config --cflags --libs npurt)
 */
#define _GNU_SOURCE /* memfd_create() */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <npurt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const char *what)
{
	fprintf(stderr, "zero-copy: %s\n", what);
	return 1;
}

/*
 * The camera: a dma-buf of the system's heap, as VIDIOC_EXPBUF would give one of its frames. Where
 * there is no heap, a memfd, which `sim:` takes as well.
 */
static int camera_memory(uint64_t bytes)
{
	struct dma_heap_allocation_data wanted = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	int file = -1;

	if (heap >= 0) {
		if (!ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &wanted))
			file = (int)wanted.fd;
		close(heap);
		return file;
	}
	file = memfd_create("camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file >= 0 &&
	    (ftruncate(file, (off_t)bytes) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK))) {
		close(file);
		return -1;
	}
	return file;
}

/* A processor that touches a dma-buf says so before and after; a memfd needs no such thing. */
static void touch(int file, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	ioctl(file, DMA_BUF_IOCTL_SYNC, &sync);
}

/* A picture of 0 1 2 ... 9 0 1 ... as the device wants its elements. */
static int take_picture(int file, const struct npurt_tensor_info *info)
{
	float *values = calloc(info->elements, sizeof(*values));
	void *memory = mmap(NULL, info->device_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	int ret = 1;

	if (values && memory != MAP_FAILED) {
		for (uint64_t i = 0; i < info->elements; i++)
			values[i] = (float)(i % 10);
		touch(file, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
		ret = npurt_tensor_from_host(info, values, info->host_bytes, memory,
					     info->device_bytes);
		touch(file, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
	}
	if (memory != MAP_FAILED)
		munmap(memory, info->device_bytes);
	free(values);
	return ret ? complain("no picture was taken") : 0;
}

/* Another process, which has nothing but the file descriptor. */
static int view(int file, const struct npurt_tensor_info *info)
{
	float *values = calloc(info->elements, sizeof(*values));
	void *memory = mmap(NULL, info->device_bytes, PROT_READ, MAP_SHARED, file, 0);

	if (!values || memory == MAP_FAILED)
		return complain("the viewer cannot see the output");
	touch(file, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
	if (npurt_tensor_to_host(info, memory, info->device_bytes, values, info->host_bytes))
		return complain(npurt_last_error());
	touch(file, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
	printf("the viewer sees %s:", info->name);
	for (uint64_t i = 0; i < info->elements && i < 10; i++)
		printf(" %g", (double)values[i]);
	printf("\n");
	munmap(memory, info->device_bytes);
	free(values);
	return 0;
}

static int show(int file, const struct npurt_tensor_info *info)
{
	pid_t viewer = fork();
	int status = 1;

	if (!viewer) {
		status = view(file, info);
		fflush(stdout);
		_exit(status);
	}
	return viewer < 0 || waitpid(viewer, &status, 0) < 0 || status;
}

int main(int argc, char **argv)
{
	struct npurt_tensor_info input = { .size = sizeof(input) };
	struct npurt_tensor_info output = { .size = sizeof(output) };
	struct npurt_binding bindings[2] = { { NULL, 0 } };
	struct npurt_context *context = NULL;
	struct npurt_device *device = NULL;
	struct npurt_model *model = NULL;
	int camera = -1, shown = -1, failed = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: zero-copy MODEL.npu\n");
		return 2;
	}
	if (npurt_open(NULL, &device) || npurt_context_create(device, NULL, &context) ||
	    npurt_model_load(context, argv[1], &model) ||
	    npurt_model_get_input(model, 0, &input) || npurt_model_get_output(model, 0, &output))
		goto out;
	if (input.host_type != NPURT_HOST_FLOAT || output.host_type != NPURT_HOST_FLOAT) {
		complain("this example keeps to models whose author sees floats");
		goto out;
	}
	camera = camera_memory(input.device_bytes);
	if (camera < 0 || take_picture(camera, &input))
		goto out;
	if (npurt_buffer_import(context, camera, NPURT_BUFFER_READ_ONLY, &bindings[0].buffer) ||
	    npurt_buffer_alloc(context, output.device_bytes, NPURT_BUFFER_EXPORT,
			       &bindings[1].buffer) ||
	    npurt_run(model, bindings, 2, NULL) ||
	    npurt_buffer_export(bindings[1].buffer, &shown))
		goto out;
	failed = show(shown, &output);
out:
	if (failed && *npurt_last_error())
		complain(npurt_last_error());
	if (shown >= 0)
		close(shown);
	if (camera >= 0)
		close(camera);
	npurt_buffer_free(bindings[0].buffer);
	npurt_buffer_free(bindings[1].buffer);
	npurt_model_unload(model);
	npurt_context_destroy(context);
	npurt_close(device);
	return failed;
}
