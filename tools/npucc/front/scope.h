/* SPDX-License-Identifier: MIT */
/*
 * Names of values by scope. A branch or function sees its own names first;
 * branches see those outside too, functions do not.
 */
#ifndef NPUCC_FRONT_SCOPE_H
#define NPUCC_FRONT_SCOPE_H

#include "../graph/graph.h"
#include "onnx.h"

struct scope_entry;

struct import_scope {
	struct import_scope *outer;
	const struct onnx_graph *graph;		/* NULL in a function */
	const struct onnx_function *function;
	const struct onnx_node *call;		/* of the function; carries its attributes */
	struct scope_entry **buckets;
	uint32_t bucket_count;
	uint32_t count;
	uint64_t *infos;			/* index of the graph's value infos, when asked */
	uint64_t info_slots;
};

/* scope_open - @outer may be NULL. scope_close() frees the table. */
void scope_open(struct import_scope *scope, struct import_scope *outer,
		const struct onnx_graph *graph);
void scope_close(struct import_scope *scope);

/* scope_bind - @name is @value from now on (a later binding hides). -1: no memory. */
int scope_bind(struct import_scope *scope, struct arena *arena, struct wire_bytes name,
	       struct graph_value *value);

/* scope_find - NULL when no such name. */
struct graph_value *scope_find(const struct import_scope *scope, struct wire_bytes name);

/* scope_function - the function whose body is being read, NULL outside of any. */
const struct onnx_function *scope_function(const struct import_scope *scope);

/* scope_call - the scope of that function (its call and defaults). */
const struct import_scope *scope_call(const struct import_scope *scope);

/* scope_value_info - what the graph states about a value, NULL when nothing. */
const struct onnx_value_info *scope_value_info(struct import_scope *scope, const char *name,
					       size_t length);

#endif
