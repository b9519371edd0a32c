/* SPDX-License-Identifier: MIT */
#ifndef DUMP_PRINT_H
#define DUMP_PRINT_H

#include <json-c/json.h>
#include <stdio.h>

#include "dump.h"
#include "dump_model.h"

/** dump_print_text() - everything, for people; @model: NULL, or whose task it was */
void dump_print_text(FILE *to, const struct dump *dump, const struct dump_model *model);

/** dump_json() - everything, for programs */
struct json_object *dump_json(const struct dump *dump, const struct dump_model *model);

#endif /* DUMP_PRINT_H */
