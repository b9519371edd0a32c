// SPDX-License-Identifier: MIT
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define FILES_MAX 64
#define HOT_MAX 16
#define FILE_BYTES_MAX (1u << 20)
#define GROWTH 1024
#define ERROR_BYTES 2048

struct seed_file {
	uint8_t *data;
	size_t size;
	struct hot_part hot[HOT_MAX];
	size_t hot_count;
};

struct totals {
	size_t taken, refused, bad_sentences;
};

/* Says where, and nothing that a terminal would obey. */
static bool is_sentence(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return length >= 20 && strchr(text, ' ');
}

static int read_copy(const struct hostile_format *format, const char *work, const uint8_t *data,
		     size_t size, struct totals *totals)
{
	char error[ERROR_BYTES] = "";
	int result;

	/* Cutting an old file off makes some file systems wait for the disk. */
	unlink(work);
	if (file_write(work, data, size, error, sizeof(error))) {
		printf("Bail out! %s\n", error);
		exit(1);
	}
	alarm(HOSTILE_SECONDS);
	result = format->read(work, data, size, error, sizeof(error));
	alarm(0);
	if (!result) {
		totals->taken++;
	} else {
		totals->refused++;
		if (!is_sentence(error)) {
			totals->bad_sentences++;
			printf("# no sentence: '%s'\n", error);
		}
	}
	return result;
}

static int load_seeds(const struct hostile_format *format, char *const *files, int count,
		      struct seed_file *seeds)
{
	char error[ERROR_BYTES];

	for (int i = 0; i < count; i++) {
		struct seed_file *seed = &seeds[i];

		seed->data = file_read(files[i], FILE_BYTES_MAX, &seed->size, error, sizeof(error));
		if (!seed->data) {
			printf("Bail out! %s\n", error);
			return -1;
		}
		if (format->hot_parts)
			seed->hot_count =
				format->hot_parts(seed->data, seed->size, seed->hot, HOT_MAX);
	}
	return 0;
}

static size_t damage(const struct hostile_format *format, const struct seed_file *seeds, int count,
		     uint64_t number, uint8_t *copy)
{
	const struct seed_file *seed;
	struct dice dice;
	size_t size;

	dice_start(&dice, number);
	seed = &seeds[dice_roll(&dice, (size_t)count)];
	memcpy(copy, seed->data, seed->size);
	size = mutate(&dice, copy, seed->size, seed->size + GROWTH, seed->hot, seed->hot_count);
	if (format->repair && dice_roll(&dice, 4))
		format->repair(copy, size);
	return size;
}

int hostile_run(const struct hostile_format *format, size_t count, const char *work,
		char *const *files, int file_count)
{
	static struct seed_file seeds[FILES_MAX];
	uint8_t *copy = malloc(FILE_BYTES_MAX + GROWTH);
	struct totals whole = { 0 }, damaged = { 0 };
	bool fine, whole_fine;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!copy || file_count < 1 || file_count > FILES_MAX ||
	    load_seeds(format, files, file_count, seeds))
		return 1;
	for (int i = 0; i < file_count; i++)
		if (read_copy(format, work, seeds[i].data, seeds[i].size, &whole))
			printf("# %s is refused\n", files[i]);
	whole_fine = !whole.refused;
	printf("%s 1 - %s: %zu whole files are taken\n", whole_fine ? "ok" : "not ok", format->name,
	       whole.taken);
	for (size_t i = 0; i < count; i++) {
		size_t size = damage(format, seeds, file_count, i, copy);

		/* After a crash this is the last line. */
		if (i % 1000 == 0)
			printf("# %s: damage %zu and following\n", format->name, i);
		read_copy(format, work, copy, size, &damaged);
	}
	unlink(work);
	fine = damaged.taken && damaged.refused && !damaged.bad_sentences;
	printf("%s 2 - %s: of %zu damaged files %zu are taken, %zu refused with a sentence\n1..2\n",
	       fine ? "ok" : "not ok", format->name, count, damaged.taken,
	       damaged.refused - damaged.bad_sentences);
	for (int i = 0; i < file_count; i++)
		free(seeds[i].data);
	free(copy);
	return fine && whole_fine ? 0 : 1;
}
