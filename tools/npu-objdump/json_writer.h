/* SPDX-License-Identifier: MIT */
/*
 * JSON written as it comes: a disassembly may be larger than one wants to hold as a tree.
 * Names come from files, so any bytes are turned into valid JSON.
 */
#ifndef NPU_OBJDUMP_JSON_WRITER_H
#define NPU_OBJDUMP_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
	FILE *file;
	unsigned int depth;
	bool first; /* nothing was written yet at this depth */
};

/* json_begin, json_end - an object '{' or a list '['; @key is NULL inside lists and at the top */
void json_begin(struct json_writer *json, const char *key, char bracket);
void json_end(struct json_writer *json, char bracket);

/* json_text, json_number, json_signed, json_real - a value; @key as above */
void json_text(struct json_writer *json, const char *key, const char *text);
void json_number(struct json_writer *json, const char *key, uint64_t number);
void json_signed(struct json_writer *json, const char *key, int64_t number);
void json_real(struct json_writer *json, const char *key, double number);

#endif
