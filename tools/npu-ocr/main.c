/* SPDX-License-Identifier: MIT */
/*
 * npu-ocr: reads the line of text in an image, with PP-OCRv4's networks compiled for the device.
 * DIR holds angle.npu (optional), rec-WIDTH.npu for one or more widths, and keys.txt.
 */
#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctc.h"
#include "file.h"
#include "network.h"

#define PATH_BYTES 4096
#define TEXT_BYTES 4096
/* PP-OCR's own threshold for turning an image round. */
#define ANGLE_THRESHOLD 0.9f

static const char usage[] =
	"usage: npu-ocr IMAGE.png [--device DEV] [--models DIR]\n"
	"Reads the line of text in a PNG or JPEG image.\n"
	"\n"
	"  --device DEV   as for npu-run\n"
	"  --models DIR   compiled networks and alphabet: rec-WIDTH.npu, angle.npu, keys.txt\n"
	"                 (default: $NPU_OCR_MODELS, else ocr/ beside the program's folder; 'make demo'\n"
	"                 makes them)\n"
	"  --help, --version\n";

struct ocr {
	const char *image_path, *device;
	char models[PATH_BYTES];
	struct image image;
	struct npurt_device *open_device;
	struct npurt_context *context;
	struct npurt_device_info info;
	struct alphabet alphabet;
};

static void default_models(char path[PATH_BYTES])
{
	const char *environment = getenv("NPU_OCR_MODELS");
	ssize_t length;
	char *slash;

	if (environment) {
		snprintf(path, PATH_BYTES, "%s", environment);
		return;
	}
	/* The networks are in ocr/ beside a folder the program is in: PREFIX/bin, or BUILD/main/tools/npu-ocr. */
	length = readlink("/proc/self/exe", path, PATH_BYTES - 16);
	path[length > 0 ? length : 0] = 0;
	for (int up = 0; up < 5; up++) {
		slash = strrchr(path, '/');
		if (!slash)
			break;
		strcpy(slash, "/ocr");
		if (!access(path, R_OK))
			return;
		*slash = 0;
	}
	snprintf(path, PATH_BYTES, "ocr");
}

static int parse_options(int argc, char **argv, struct ocr *ocr)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' }, { "models", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },	    { "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	default_models(ocr->models);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			ocr->device = optarg;
			break;
		case 'm':
			snprintf(ocr->models, sizeof(ocr->models), "%s", optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'v':
			puts("npu-ocr " NPU_VERSION);
			return 0;
		default:
			fputs("npu-ocr: see 'npu-ocr --help'\n", stderr);
			return 2;
		}
	}
	if (argc - optind != 1) {
		fputs("npu-ocr: one image is wanted; see 'npu-ocr --help'\n", stderr);
		return 2;
	}
	ocr->image_path = argv[optind];
	return -1;
}

static int complain(const char *what)
{
	fprintf(stderr, "npu-ocr: %s: %s\n", what, npurt_last_error());
	return -1;
}

static int open_all(struct ocr *ocr)
{
	char path[PATH_BYTES + 16], error[IMAGE_ERROR_BYTES];

	if (image_load(ocr->image_path, &ocr->image, error)) {
		fprintf(stderr, "npu-ocr: %s\n", error);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/keys.txt", ocr->models);
	if (alphabet_load(path, &ocr->alphabet, error, sizeof(error))) {
		fprintf(stderr, "npu-ocr: %s; 'make demo' makes the models' folder\n", error);
		return -1;
	}
	if (npurt_open(ocr->device, &ocr->open_device))
		return complain(ocr->device ? ocr->device : "no device");
	ocr->info.size = sizeof(ocr->info);
	if (npurt_device_get_info(ocr->open_device, &ocr->info))
		return complain("the device does not say what it is");
	if (npurt_context_create(ocr->open_device, NULL, &ocr->context))
		return complain("no context on the device");
	return 0;
}

static void rotate_half_turn(struct image *image)
{
	size_t pixels = (size_t)image->width * image->height;

	for (size_t i = 0; i < pixels / 2; i++) {
		uint8_t *a = image->rgb + i * 3, *b = image->rgb + (pixels - 1 - i) * 3, keep[3];

		memcpy(keep, a, 3);
		memcpy(a, b, 3);
		memcpy(b, keep, 3);
	}
}

/* The classifier's second class is "upside down". Without its file the image is taken as it is. */
static int turn_upright(struct ocr *ocr)
{
	char path[PATH_BYTES + 16];
	struct network network;
	int result;

	snprintf(path, sizeof(path), "%s/angle.npu", ocr->models);
	if (access(path, R_OK))
		return 0;
	result = network_load(&network, ocr->context, path);
	if (!result)
		result = network_run(&network, &ocr->image);
	if (!result && network.output.elements == 2 && network.result[1] > ANGLE_THRESHOLD) {
		printf("turned     by half a turn (%.1f %% sure)\n", 100.0 * (double)network.result[1]);
		rotate_half_turn(&ocr->image);
	}
	network_free(&network);
	return result;
}

/* The narrowest compiled width that holds the image, else the widest there is; 0 when there is none. */
static unsigned int choose_width(const struct ocr *ocr)
{
	double wanted = 48.0 * ocr->image.width / ocr->image.height;
	unsigned int fitting = 0, widest = 0;
	DIR *folder = opendir(ocr->models);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		unsigned int width;
		int end = 0;

		if (sscanf(entry->d_name, "rec-%5u.npu%n", &width, &end) != 1 ||
		    entry->d_name[end] || !end)
			continue;
		if (width > widest)
			widest = width;
		if (width >= wanted && (!fitting || width < fitting))
			fitting = width;
	}
	if (folder)
		closedir(folder);
	return fitting ? fitting : widest;
}

static void print_report(const struct ocr *ocr, const struct network *network)
{
	const struct npurt_task_report *task = &network->report;
	double clusters_time = (double)task->cycles * task->clusters;
	double peak = (double)ocr->info.clusters * ocr->info.macs_per_cluster / 4;

	printf("device     %s\n", ocr->info.name);
	printf("cycles     %" PRIu64 " (%.3f ms at %.0f MHz)\n", task->cycles,
	       (double)task->cycles * 1e3 / (double)ocr->info.clock_hz,
	       (double)ocr->info.clock_hz / 1e6);
	printf("time split MAC array %.1f %%, output stage %.1f %%, vector unit %.1f %%, DMA %.1f %%\n",
	       100 * (double)task->mac_cycles / clusters_time,
	       100 * (double)task->output_cycles / clusters_time,
	       100 * (double)task->vector_cycles / clusters_time,
	       100 * (double)task->dma_cycles / (2 * clusters_time));
	printf("MAC use    %.1f %% of %.0f fp16 MACs a cycle\n",
	       100 * (double)network->info.macs / ((double)task->cycles * peak), peak);
}

static int read_text(struct ocr *ocr)
{
	char path[PATH_BYTES + 32], text[TEXT_BYTES];
	unsigned int width = choose_width(ocr);
	const struct npurt_tensor_info *out;
	struct network network;
	double confidence;
	int result;

	if (!width) {
		fprintf(stderr, "npu-ocr: %s: holds no rec-WIDTH.npu; 'make demo' makes them\n",
			ocr->models);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/rec-%u.npu", ocr->models, width);
	result = network_load(&network, ocr->context, path);
	if (!result)
		result = network_run(&network, &ocr->image);
	out = &network.output;
	if (!result && (out->rank != 3 || out->dims[2] != ocr->alphabet.count)) {
		fprintf(stderr, "npu-ocr: %s: gives no [1,T,%u] for the alphabet's classes\n", path,
			ocr->alphabet.count);
		result = -1;
	}
	if (!result) {
		ctc_decode(&ocr->alphabet, network.result, out->dims[1], out->dims[2], text,
			   sizeof(text), &confidence);
		printf("text       %s\n", text);
		printf("confidence %.1f %%\n", 100 * confidence);
		print_report(ocr, &network);
	}
	network_free(&network);
	return result;
}

int main(int argc, char **argv)
{
	struct ocr ocr = { 0 };
	int status = parse_options(argc, argv, &ocr);

	if (status >= 0)
		return status;
	status = open_all(&ocr) || turn_upright(&ocr) || read_text(&ocr);
	npurt_context_destroy(ocr.context);
	npurt_close(ocr.open_device);
	alphabet_free(&ocr.alphabet);
	image_free(&ocr.image);
	return file_finish_stdout("npu-ocr") ? 1 : status;
}
