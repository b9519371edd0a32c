/* SPDX-License-Identifier: MIT */
/*
 * Runs a graph of npucc on concrete inputs, node by node, with the evaluator
 * that folds constants. Compared with expected outputs of others it tells
 * whether import, shape inference, folding and fusion kept a model's meaning.
 */
#ifndef TESTS_SUPPORT_NPUCC_INTERPRETER_H
#define TESTS_SUPPORT_NPUCC_INTERPRETER_H

#include "graph/graph.h"

struct interpreter;

/* interpreter_new - for @graph, whose shapes must all be known; NULL: no memory. */
struct interpreter *interpreter_new(struct graph *graph);
void interpreter_free(struct interpreter *interpreter);

/* interpreter_input - elements of the input @index of the graph, in its type; copied. */
int interpreter_input(struct interpreter *interpreter, uint32_t index, const void *data);

/* interpreter_run - 0, or -1 with a sentence in @diag. */
int interpreter_run(struct interpreter *interpreter, struct diag *diag);

/* interpreter_output - elements of output @index after a run. */
const void *interpreter_output(const struct interpreter *interpreter, uint32_t index);

#endif
