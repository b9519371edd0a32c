/* SPDX-License-Identifier: MIT */
#include "ctc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

#define ALPHABET_FILE_MAX (1u << 20)
#define BLANK 0

int alphabet_load(const char *path, struct alphabet *alphabet, char *error, size_t error_size)
{
	size_t size;
	uint32_t lines = 0, at = 0;

	memset(alphabet, 0, sizeof(*alphabet));
	alphabet->text = file_read(path, ALPHABET_FILE_MAX, &size, error, error_size);
	if (!alphabet->text)
		return -1;
	for (size_t i = 0; i < size; i++)
		lines += alphabet->text[i] == '\n';
	lines += size && alphabet->text[size - 1] != '\n';
	alphabet->symbols = calloc(lines + 2u, sizeof(*alphabet->symbols));
	if (!alphabet->symbols || !lines) {
		snprintf(error, error_size, "%s: holds no symbols", path);
		alphabet_free(alphabet);
		return -1;
	}
	alphabet->symbols[at++] = "";
	for (char *line = alphabet->text; at <= lines; at++) {
		size_t length = strcspn(line, "\r\n");
		char *next = strchr(line, '\n');

		alphabet->symbols[at] = line;
		line[length] = 0;
		line = next ? next + 1 : line + length;
	}
	alphabet->symbols[at++] = " ";
	alphabet->count = at;
	return 0;
}

void alphabet_free(struct alphabet *alphabet)
{
	free(alphabet->symbols);
	free(alphabet->text);
	memset(alphabet, 0, sizeof(*alphabet));
}

static uint32_t best_class(const float *row, uint32_t classes)
{
	uint32_t best = 0;

	for (uint32_t c = 1; c < classes; c++)
		if (row[c] > row[best])
			best = c;
	return best;
}

void ctc_decode(const struct alphabet *alphabet, const float *probabilities, uint32_t steps,
		uint32_t classes, char *text, size_t size, double *confidence)
{
	uint32_t before = BLANK, kept = 0;
	size_t length = 0;
	double sum = 0;

	for (uint32_t s = 0; s < steps; s++) {
		const float *row = probabilities + (size_t)s * classes;
		uint32_t best = best_class(row, classes);
		const char *symbol = best < alphabet->count ? alphabet->symbols[best] : "?";

		if (best != before && best != BLANK && length + strlen(symbol) < size) {
			memcpy(text + length, symbol, strlen(symbol));
			length += strlen(symbol);
			sum += row[best];
			kept++;
		}
		before = best;
	}
	text[length] = 0;
	*confidence = kept ? sum / kept : 0;
}
