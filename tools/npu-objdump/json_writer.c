// SPDX-License-Identifier: MIT
#include "json_writer.h"

#include <inttypes.h>
#include <math.h>

/* Bytes of the UTF-8 character at @text; 0 when it is none (overlong, surrogate, cut off). */
static unsigned int character_bytes(const unsigned char *text)
{
	unsigned int bytes = text[0] < 0x80 ? 1 :
			     text[0] < 0xc2 ? 0 :
			     text[0] < 0xe0 ? 2 :
			     text[0] < 0xf0 ? 3 :
			     text[0] < 0xf5 ? 4 :
					      0;

	for (unsigned int i = 1; i < bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return bytes;
}

static void put_string(FILE *file, const char *string)
{
	const unsigned char *at = (const unsigned char *)string;

	fputc('"', file);
	while (*at) {
		unsigned int bytes = character_bytes(at);

		if (!bytes)
			fputs("\\ufffd", file);
		else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
			fprintf(file, "\\u%04x", *at);
		else
			fwrite(at, 1, bytes, file);
		at += bytes ? bytes : 1;
	}
	fputc('"', file);
}

static void start_value(struct json_writer *json, const char *key)
{
	if (!json->first)
		fputc(',', json->file);
	if (json->depth)
		fprintf(json->file, "\n%*s", (int)json->depth * 2, "");
	json->first = false;
	if (!key)
		return;
	put_string(json->file, key);
	fputs(": ", json->file);
}

void json_begin(struct json_writer *json, const char *key, char bracket)
{
	if (!json->depth)
		json->first = true;
	start_value(json, key);
	fputc(bracket, json->file);
	json->depth++;
	json->first = true;
}

void json_end(struct json_writer *json, char bracket)
{
	json->depth--;
	if (!json->first)
		fprintf(json->file, "\n%*s", (int)json->depth * 2, "");
	fputc(bracket, json->file);
	json->first = false;
	if (!json->depth)
		fputc('\n', json->file);
}

void json_text(struct json_writer *json, const char *key, const char *text)
{
	start_value(json, key);
	put_string(json->file, text);
}

void json_number(struct json_writer *json, const char *key, uint64_t number)
{
	start_value(json, key);
	fprintf(json->file, "%" PRIu64, number);
}

void json_signed(struct json_writer *json, const char *key, int64_t number)
{
	start_value(json, key);
	fprintf(json->file, "%" PRId64, number);
}

void json_real(struct json_writer *json, const char *key, double number)
{
	start_value(json, key);
	if (isfinite(number))
		fprintf(json->file, "%.9g", number);
	else
		fputs("null", json->file);
}
