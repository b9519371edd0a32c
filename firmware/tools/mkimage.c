// SPDX-License-Identifier: MIT
/*
 * npu-mkimage: puts the boot ROM's header before the firmware's raw binary.
 *
 * Runs while the firmware is built. What it writes has passed the very check of the boot ROM, so
 * a wrong address or size shows here and not on the device.
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot_rom.h"
#include "npu/npu_regs.h"
#include "sha256.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct options {
	const char *input;
	const char *output;
	const char *version;
	uint32_t load_address;
	uint32_t entry;
	uint32_t abi_major;
	uint32_t abi_minor;
	uint32_t hardware_min;
	uint32_t hardware_max;
};

static const char usage[] =
	"usage: npu-mkimage --load ADDRESS --entry ADDRESS --firmware-version TEXT --abi N.N\n"
	"                   [--hardware LOWEST..HIGHEST] BINARY IMAGE\n"
	"\n"
	"Makes a firmware image for the NPU's control core of a raw binary.\n"
	"\n"
	"  --load ADDRESS            where the binary goes in TCM (0x10000000 and up)\n"
	"  --entry ADDRESS           its first instruction\n"
	"  --firmware-version TEXT   up to 31 printable characters, no blanks\n"
	"  --abi MAJOR.MINOR         version of the interface to the driver\n"
	"  --hardware LOW..HIGH      range of NPU_HW_VERSION it runs on; default: the present one\n"
	"  --help                    this text\n"
	"  --version                 version of this program\n";

static int complain(enum exit_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int complain(enum exit_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("npu-mkimage: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return code;
}

/* Reads a number that ends at @end, or at the end of the text for NUL. */
static bool parse_number(const char *text, char end, uint32_t *value, const char **rest)
{
	unsigned long long number;
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &stop, 0);
	if (errno || *stop != end || number > UINT32_MAX)
		return false;
	*value = (uint32_t)number;
	if (rest)
		*rest = stop;
	return true;
}

static bool parse_abi(const char *text, struct options *options)
{
	const char *rest;

	return parse_number(text, '.', &options->abi_major, &rest) &&
	       parse_number(rest + 1, '\0', &options->abi_minor, NULL);
}

static bool parse_hardware(const char *text, struct options *options)
{
	const char *rest;

	return parse_number(text, '.', &options->hardware_min, &rest) && rest[1] == '.' &&
	       parse_number(rest + 2, '\0', &options->hardware_max, NULL);
}

static bool parse_value(int name, const char *text, struct options *options)
{
	switch (name) {
	case 'l':
		return parse_number(text, '\0', &options->load_address, NULL);
	case 'e':
		return parse_number(text, '\0', &options->entry, NULL);
	case 'f':
		options->version = text;
		return *text && strlen(text) < NPU_FW_VERSION_SIZE;
	case 'a':
		return parse_abi(text, options);
	case 'w':
		return parse_hardware(text, options);
	}
	return false;
}

/* Returns EXIT_DONE, or EXIT_USAGE when a message was printed. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {
		{ "load", required_argument, NULL, 'l' },
		{ "entry", required_argument, NULL, 'e' },
		{ "firmware-version", required_argument, NULL, 'f' },
		{ "abi", required_argument, NULL, 'a' },
		{ "hardware", required_argument, NULL, 'w' },
		{ 0 },
	};
	static const char required[] = "lefa";
	bool seen[128] = { false };
	int index = 0;
	int name;

	while ((name = getopt_long(argc, argv, "", names, &index)) != -1) {
		if (name == '?')
			return EXIT_USAGE;
		seen[name] = true;
		if (!parse_value(name, optarg, options))
			return complain(EXIT_USAGE, "--%s cannot be '%s'; see --help",
					names[index].name, optarg);
	}
	for (const char *letter = required; *letter; letter++) {
		if (!seen[(int)*letter])
			return complain(EXIT_USAGE, "--%s is missing; see --help",
					names[letter - required].name);
	}
	if (argc - optind != 2)
		return complain(EXIT_USAGE,
				"give the binary and the image, not %d files; see --help",
				argc - optind);
	options->input = argv[optind];
	options->output = argv[optind + 1];
	return EXIT_DONE;
}

/*
 * Reads the binary behind room for a header and pads it with zeros to NPU_FW_ALIGN. @image has
 * room for a header and the whole TCM. Returns the image's size, or 0 when a message was printed.
 */
static size_t read_payload(const char *path, uint8_t *image)
{
	FILE *file = fopen(path, "rb");
	size_t size;
	int failed;

	if (!file) {
		complain(EXIT_FAILED, "cannot open %s: %s", path, strerror(errno));
		return 0;
	}
	/* One byte more than fits, so that a binary too large is seen. */
	size = fread(image + NPU_FW_HEADER_SIZE, 1, NPU_FW_TCM_SIZE + 1, file);
	failed = ferror(file);
	fclose(file);
	if (failed) {
		complain(EXIT_FAILED, "cannot read %s", path);
		return 0;
	}
	if (size == 0 || size > NPU_FW_TCM_SIZE) {
		complain(EXIT_FAILED, "%s is %s: a firmware has 1 to %d bytes, the size of TCM",
			 path, size ? "too large" : "empty", NPU_FW_TCM_SIZE);
		return 0;
	}
	while (size % NPU_FW_ALIGN)
		image[NPU_FW_HEADER_SIZE + size++] = 0;
	return NPU_FW_HEADER_SIZE + size;
}

static void fill_header(uint8_t *image, size_t size, const struct options *options)
{
	struct npu_fw_header *header = (struct npu_fw_header *)image;
	struct sha256 hash;

	memset(header, 0, sizeof(*header));
	header->magic = htole32(NPU_FW_MAGIC);
	header->header_version = htole32(NPU_FW_HEADER_VERSION);
	header->header_size = htole32(NPU_FW_HEADER_SIZE);
	header->hardware_min = htole32(options->hardware_min);
	header->hardware_max = htole32(options->hardware_max);
	header->payload_size = htole32((uint32_t)(size - NPU_FW_HEADER_SIZE));
	header->load_address = htole32(options->load_address);
	header->entry = htole32(options->entry);
	header->abi_major = htole32(options->abi_major);
	header->abi_minor = htole32(options->abi_minor);
	memcpy(header->version, options->version, strlen(options->version));

	sha256_init(&hash);
	sha256_update(&hash, image, NPU_FW_DIGEST_OFFSET);
	sha256_update(&hash, image + NPU_FW_HEADER_SIZE, size - NPU_FW_HEADER_SIZE);
	sha256_final(&hash, header->digest);
}

/* Written under another name first: a build that broke off must not leave half an image. */
static int write_image(const char *path, const uint8_t *image, size_t size)
{
	int result = EXIT_FAILED;
	char *temporary = NULL;
	bool written;
	FILE *file;

	if (asprintf(&temporary, "%s.part", path) < 0)
		return complain(EXIT_FAILED, "no memory");
	file = fopen(temporary, "wb");
	if (!file) {
		complain(EXIT_FAILED, "cannot create %s: %s", temporary, strerror(errno));
		goto out;
	}
	written = fwrite(image, 1, size, file) == size;
	/* What was buffered may fail only now. */
	if (fclose(file) != 0 || !written || rename(temporary, path) != 0) {
		complain(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
		remove(temporary);
		goto out;
	}
	result = EXIT_DONE;
out:
	free(temporary);
	return result;
}

static int make_image(const struct options *options)
{
	uint8_t *image = malloc(NPU_FW_HEADER_SIZE + NPU_FW_TCM_SIZE + 1);
	const struct npu_fw_header *header;
	enum npu_boot_status status;
	int result = EXIT_FAILED;
	size_t size;

	if (!image)
		return complain(EXIT_FAILED, "no memory");

	size = read_payload(options->input, image);
	if (!size)
		goto out;
	fill_header(image, size, options);
	status = npu_boot_rom_check(image, size, &header);
	if (status != NPU_BOOT_STATUS_RUNNING) {
		complain(EXIT_FAILED, "the boot ROM would refuse %s (code %d): %s",
			 options->output, (int)status, npu_boot_rom_reason(status));
		goto out;
	}
	result = write_image(options->output, image, size);
out:
	free(image);
	return result;
}

int main(int argc, char **argv)
{
	struct options options = {
		.hardware_min = NPU_HW_VERSION,
		.hardware_max = NPU_HW_VERSION,
	};
	int result;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("npu-mkimage " NPU_VERSION);
		return EXIT_DONE;
	}
	result = parse_options(argc, argv, &options);
	return result == EXIT_DONE ? make_image(&options) : result;
}
