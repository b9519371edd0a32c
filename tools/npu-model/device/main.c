// SPDX-License-Identifier: MIT
/* npu-device: the device model as a PCIe card for QEMU. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "server.h"

#define FAULT_BYTES_MAX 512

static const char usage[] =
	"usage: npu-device --socket PATH [--config CONFIG] [--doorbells trapped|mapped]\n"
	"                  [--msi-only] [--defect stale-tlb] [--fault SCRIPT]\n"
	"Serves the NPU as a PCIe card to QEMU's vfio-user-pci, until SIGINT or SIGTERM.\n"
	"\n"
	"  --socket PATH      where QEMU connects to\n"
	"  --config CONFIG    npu-v3 (default), lowpower-v3, npu-v3?clusters=2\n"
	"  --doorbells KIND   trapped (default): each store is a message; mapped: shared memory\n"
	"                     that a thread looks at all the time\n"
	"  --msi-only         a card without MSI-X\n"
	"  --defect stale-tlb a broken card: it goes on using translations it was told to drop\n"
	"  --fault SCRIPT     what goes wrong, and when: hang#5,drop-irq@1000000 (device manual,\n"
	"                     'Injected faults')\n"
	"  --help, --version\n";

static int parse(int argc, char **argv, struct server_options *wanted)
{
	static const struct option options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "config", required_argument, NULL, 'c' },
		{ "doorbells", required_argument, NULL, 'd' },
		{ "msi-only", no_argument, NULL, 'm' },
		{ "defect", required_argument, NULL, 'b' },
		{ "fault", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			wanted->socket = optarg;
			break;
		case 'c':
			wanted->config = optarg;
			break;
		case 'd':
			wanted->mapped_doorbells = !strcmp(optarg, "mapped");
			if (wanted->mapped_doorbells || !strcmp(optarg, "trapped"))
				break;
			fprintf(stderr, "npu-device: --doorbells is trapped or mapped, not '%s'\n",
				optarg);
			return 2;
		case 'm':
			wanted->msi_only = true;
			break;
		case 'b':
			wanted->stale_tlb = !strcmp(optarg, "stale-tlb");
			if (wanted->stale_tlb)
				break;
			fprintf(stderr, "npu-device: --defect is stale-tlb, not '%s'\n", optarg);
			return 2;
		case 'f':
			wanted->fault = optarg;
			if (*optarg && strlen(optarg) < FAULT_BYTES_MAX && !strchr(optarg, '&'))
				break;
			fputs("npu-device: --fault is a list of faults separated by ',', of fewer "
			      "than 512 characters\n", stderr);
			return 2;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'v':
			puts("npu-device " NPU_VERSION);
			return 0;
		default:
			fputs("npu-device: see 'npu-device --help'\n", stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "npu-device: '%s' is too much; see 'npu-device --help'\n",
			argv[optind]);
		return 2;
	}
	if (!wanted->socket) {
		fputs("npu-device: --socket is needed; see 'npu-device --help'\n", stderr);
		return 2;
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct server_options options = { 0 };
	char error[512] = "";
	struct server *server;
	int result = parse(argc, argv, &options);

	if (result >= 0) {
		if (!fflush(stdout) && !ferror(stdout))
			return result;
		fputs("npu-device: cannot write to standard output\n", stderr);
		return 1;
	}
	server = server_create(&options, error, sizeof(error));
	if (!server) {
		fprintf(stderr, "npu-device: %s\n", error);
		return 1;
	}
	printf("npu-device: listening at %s\n", options.socket);
	fflush(stdout);
	result = server_run(server);
	server_destroy(server);
	return result ? 1 : 0;
}
