/* SPDX-License-Identifier: MIT */
/*
 * Front half of npucc: from a model file to a verified, shaped, folded and
 * fused graph.
 */
#ifndef NPUCC_FRONT_H
#define NPUCC_FRONT_H

#include "graph/graph.h"

#define NPUCC_MAX_SHAPES 32

/* One `--shape NAME=1x3x48x320`. */
struct npucc_shape_binding {
	const char *name;
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK];
};

/* An input of the model fixed to a value when compiling; the data must outlive the model. */
struct npucc_constant_binding {
	const char *name;
	enum graph_dtype dtype;
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK];
	const void *data;	/* aligned for dtype */
};

struct npucc_front_options {
	const struct npucc_shape_binding *shapes;
	uint32_t shape_count;
	const struct npucc_constant_binding *constants;
	uint32_t constant_count;
	int fusion;		/* 0 (each node apart), 1 (into producers), 2 (everything) */
	uint64_t disabled_passes;	/* bits of enum fuse_pass (fuse/fuse.h) left out */
	bool fold_affine;	/* the back end takes graph_activation.affine: pass FUSE_AFFINE */
	uint64_t max_memory;	/* bytes import and folding may use; 0: default */
	bool keep_going;	/* scan: unknown shapes and operators are no error */
	FILE *dump;		/* when set, the graph after each stage is written here */
	const char *dump_stage;	/* only this stage: "import", "fuse", "quant"; NULL: all */
};

/*
 * npucc_parse_shape - parse "NAME=1x3x48x320" (the last '=' separates; "NAME=" is
 * rank 0). @text must outlive @binding, and the name is NUL terminated in place.
 * Returns 0, or -1 with a sentence.
 */
int npucc_parse_shape(char *text, struct npucc_shape_binding *binding, struct diag *diag);

struct npucc_model;

/*
 * npucc_front_load - read, import, infer shapes, fold and fuse @path.
 *
 * Returns the model, or NULL with at least one sentence in @diag. With
 * keep_going the graph may hold UNKNOWN nodes and unknown shapes; without it,
 * every value's shape is known, while UNKNOWN nodes are still the scan's to
 * refuse. The caller frees the result with npucc_model_free().
 */
struct npucc_model *npucc_front_load(const char *path, const struct npucc_front_options *options,
				     struct diag *diag);

/* npucc_front_load_memory - the same for a model in memory (kept by reference). */
struct npucc_model *npucc_front_load_memory(const void *bytes, size_t size,
					    const struct npucc_front_options *options,
					    struct diag *diag);

/* npucc_model_graph - the graph; owned by the model. */
struct graph *npucc_model_graph(struct npucc_model *model);

/* npucc_model_merged - ONNX nodes removed by folding and fusion ("merged N ops"). */
uint32_t npucc_model_merged(const struct npucc_model *model);

/*
 * npucc_model_file - the mapped bytes of the model file and of its n-th
 * external data file, for the cache key. Returns false when @index is beyond.
 */
bool npucc_model_file(const struct npucc_model *model, uint32_t index, const void **bytes,
		      size_t *size);

void npucc_model_free(struct npucc_model *model);

#endif
