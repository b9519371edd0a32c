/* SPDX-License-Identifier: MIT */
/* The compiled model whose task a core dump tells of: its layers' places in the program. */
#ifndef DUMP_MODEL_H
#define DUMP_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct dump_model;

/**
 * dump_model_open() - read a model
 * @error: a sentence on failure
 *
 * Return: to be closed; NULL.
 */
struct dump_model *dump_model_open(const char *path, char *error, size_t room);

/** dump_model_close() - NULL is allowed */
void dump_model_close(struct dump_model *model);

/** dump_model_name() - the model's own name */
const char *dump_model_name(const struct dump_model *model);

/** dump_model_layer() - whose code is at an offset of the program; NULL: nobody's */
const char *dump_model_layer(const struct dump_model *model, uint64_t offset);

#endif /* DUMP_MODEL_H */
