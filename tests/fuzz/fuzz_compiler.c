// SPDX-License-Identifier: MIT
/*
 * Fuzzer of the whole compiler: any bytes as a model, through import, folding, fusion, scan, integers,
 * layout and lowering to a file. Options and target follow from the bytes, so that a finding is one file.
 * Without a model, or without a program, there must be a sentence that says why.
 *
 * The environment's FUZZ_SCRATCH names the program's file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/compile.h"
#include "fold/eval.h"
#include "fuzz_compiler_common.h"
#include "npucc_front.h"
#include "scan/scan.h"
#include "support/hash.h"

#define MEMORY	((uint64_t)64 << 20)
/* Larger models take their time and show nothing that these do not. */
#define MOST_WORK	((uint64_t)1 << 21)
#define MOST_ELEMENTS	(1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void choose_options(struct options *options, uint64_t choice)
{
	static const char *const targets[] = { "npu-v3", "lowpower-v3", "npu-v3?clusters=1" };
	static const uint32_t local_bytes[] = { 0, 0, 0, 16384, 65536 };
	char error[256];

	*options = (struct options){
		.target = targets[choice % 3],
		.precision = "auto",
		.fusion = (uint32_t)(choice >> 8) % 4,
		.pipeline_stages = 1 + (uint32_t)(choice >> 16) % 3,
		.layout = (enum layout_preference)((choice >> 24) % 3),
		.max_sram_bytes = local_bytes[(choice >> 32) % 5],
	};
	/* Everything, twice as often. */
	if (options->fusion > 2)
		options->fusion = 2;
	if (npu_config_parse(options->target, &options->config, error, sizeof(error)))
		abort();
}

static bool is_small(const struct graph *graph)
{
	uint64_t work = 0;

	for (uint32_t i = 0; i < graph->value_count; i++)
		if (graph_element_count(graph->values[i]) > MOST_ELEMENTS)
			return false;
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		if (node->op != GRAPH_OP_UNKNOWN)
			work += eval_work(node) < MOST_WORK ? eval_work(node) : MOST_WORK;
		if (work >= MOST_WORK)
			return false;
	}
	return true;
}

static int compile(struct graph *graph, const struct options *options, struct diag *diag)
{
	const char *scratch = getenv("FUZZ_SCRATCH");
	struct compile_report report;
	struct program program;
	int result = compile_graph(graph, options, NULL, &program, &report, diag);

	if (!result && scratch)
		result = elf_write(&program, scratch, diag);
	free(program.rodata);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct options options;
	struct npucc_front_options front = { .fold_affine = true, .max_memory = MEMORY };
	struct npucc_model *model;
	struct diag diag;
	uint64_t hash;

	hash = hash_bytes(bytes, size);
	choose_options(&options, hash ^ hash >> 32);
	front.fusion = (int)options.fusion;
	diag_init(&diag);
	model = npucc_front_load_memory(bytes, size, &front, &diag);
	if (model ? is_small(npucc_model_graph(model)) &&
			    compile(npucc_model_graph(model), &options, &diag) &&
			    fuzz_is_our_fault(&diag) :
		    fuzz_is_our_fault(&diag)) {
		diag_print(&diag, DIAG_WARNING, stderr);
		abort();
	}
	npucc_model_free(model);
	diag_free(&diag);
	fuzz_spend_time();
	return 0;
}
