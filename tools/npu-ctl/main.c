/* SPDX-License-Identifier: MIT */
/* npu-ctl: what devices there are, what they are, and how they are. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "file.h"

static const char usage[] =
	"usage: npu-ctl list [--json]\n"
	"       npu-ctl info|versions|health|firmware|errors|reset [--device DEV] [--json]\n"
	"       npu-ctl log [--device DEV]\n"
	"       npu-ctl cdi\n"
	"       npu-ctl coredump [--device DEV | FILE] [--model MODEL] [--output FILE] [--discard] [--json]\n"
	"Shows the devices, what one of them is, whether it is well, and its firmware's log.\n"
	"\n"
	"  list           devices that can be opened\n"
	"  info           what a device is\n"
	"  versions       everything that has a version, and whether it fits together\n"
	"  health         does it answer?\n"
	"  firmware       version of the firmware\n"
	"  log            the firmware's log\n"
	"  errors         how often a card has failed, why, and whether it works\n"
	"  reset          reset a card; done when it works again. For root\n"
	"  cdi            a specification that hands the cards into containers\n"
	"  coredump       what a card that failed has left: what happened, to whom, what to do; of the\n"
	"                 newest dump that the kernel has (for root), or of a file\n"
	"  --device DEV   sim:, sim:lowpower-v3, accelN, /dev/accel/accelN; default: the first\n"
	"  --json         one JSON object instead of text (not of log, cdi)\n"
	"  --model MODEL  coredump: the compiled model whose task it was: names its layers\n"
	"  --output FILE  coredump: also write the dump as it is\n"
	"  --discard      coredump: the kernel may forget it, and take the next one\n"
	"  --help, --version\n"
	"Exit status: 0 done, 1 failed, 2 wrong use, 3 no such device, 4 no permission,\n"
	"5 the device does not answer, 6 the device is gone.\n";

/* What is no option: the command, and of one of them a file. */
static int parse_words(int count, char **words, struct arguments *arguments)
{
	bool coredump = count && !strcmp(words[0], "coredump");

	if (count < 1 || count > 1 + coredump) {
		fputs("npu-ctl: one command is wanted; see 'npu-ctl --help'\n", stderr);
		return 2;
	}
	if (!coredump && (arguments->model || arguments->output || arguments->discard)) {
		fputs("npu-ctl: --model, --output and --discard are options of coredump\n", stderr);
		return 2;
	}
	arguments->command = words[0];
	arguments->file = count > 1 ? words[1] : NULL;
	if (arguments->file && arguments->device) {
		fputs("npu-ctl: coredump: a file, or --device, not both\n", stderr);
		return 2;
	}
	return -1;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "model", required_argument, NULL, 'm' },
		{ "output", required_argument, NULL, 'o' },
		{ "discard", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			arguments->device = optarg;
			break;
		case 'j':
			arguments->json = true;
			break;
		case 'm':
			arguments->model = optarg;
			break;
		case 'o':
			arguments->output = optarg;
			break;
		case 'x':
			arguments->discard = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'v':
			puts("npu-ctl " NPU_VERSION);
			return 0;
		default:
			fputs("npu-ctl: see 'npu-ctl --help'\n", stderr);
			return 2;
		}
	}
	return parse_words(argc - optind, argv + optind, arguments);
}

static int with_device(const struct arguments *arguments)
{
	struct npurt_device_info info = { .size = sizeof(info) };
	struct npurt_device *device;
	int status;

	status = npurt_open(arguments->device, &device);
	if (status) {
		fprintf(stderr, "npu-ctl: %s: %s\n",
			arguments->device ? arguments->device : "no device", npurt_last_error());
		return device_status(status);
	}
	npurt_device_get_info(device, &info);
	if (!strcmp(arguments->command, "log"))
		status = ctl_log(device);
	else if (!strcmp(arguments->command, "health"))
		status = ctl_health(arguments, device);
	else if (!strcmp(arguments->command, "firmware"))
		status = ctl_firmware(arguments, &info);
	else if (!strcmp(arguments->command, "versions"))
		status = ctl_versions(arguments, &info);
	else
		status = ctl_info(arguments, &info);
	npurt_close(device);
	return status;
}

static bool wants_device(const char *command)
{
	static const char *const commands[] = { "info", "versions", "health", "firmware", "log" };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(command, commands[i]))
			return true;
	}
	return false;
}

static int run(const struct arguments *arguments)
{
	if (!strcmp(arguments->command, "list"))
		return ctl_list(arguments);
	if (!strcmp(arguments->command, "cdi"))
		return ctl_cdi();
	if (!strcmp(arguments->command, "reset"))
		return ctl_reset(arguments);
	if (!strcmp(arguments->command, "errors"))
		return ctl_errors(arguments);
	if (wants_device(arguments->command))
		return with_device(arguments);
	if (!strcmp(arguments->command, "coredump"))
		return ctl_coredump(arguments);
	fprintf(stderr, "npu-ctl: '%s' is no command; see 'npu-ctl --help'\n", arguments->command);
	return 2;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	int status = parse(argc, argv, &arguments);

	if (status < 0)
		status = run(&arguments);
	return file_finish_stdout("npu-ctl") ? 1 : status;
}
