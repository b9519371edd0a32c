/* SPDX-License-Identifier: MIT */
/*
 * Runs a graph of npucc on concrete inputs, node by node, with the evaluator
 * that folds constants: for calibration, and for tests, which compare import, folding and fusion
 * with others' results.
 */
#ifndef NPUCC_FOLD_INTERPRETER_H
#define NPUCC_FOLD_INTERPRETER_H

#include "../graph/graph.h"

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

/* interpreter_value - elements of any @value after a run. */
const void *interpreter_value(const struct interpreter *interpreter,
			      const struct graph_value *value);

#endif
