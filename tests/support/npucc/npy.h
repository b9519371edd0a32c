/* SPDX-License-Identifier: MIT */
/* Just enough of the .npy format for test programs: C order, little endian. */
#ifndef TESTS_SUPPORT_NPUCC_NPY_H
#define TESTS_SUPPORT_NPUCC_NPY_H

#include "graph/graph.h"

/*
 * npy_read - the file's elements (malloc, caller frees) when they have exactly
 * @value's type and shape; NULL otherwise, with a line on stderr.
 */
void *npy_read(const char *path, const struct graph_value *value);

/* npy_write - @data with @value's type and shape. 0 or -1 with a line on stderr. */
int npy_write(const char *path, const struct graph_value *value, const void *data);

#endif
