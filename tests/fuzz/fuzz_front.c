// SPDX-License-Identifier: MIT
/*
 * Fuzzer of the compiler's front half: any bytes as a model, through import,
 * folding, fusion and scan, then interpreted when that is little work.
 */
#include <stdlib.h>
#include <string.h>

#include "fold/eval.h"
#include "fold/interpreter.h"
#include "fuzz_compiler_common.h"
#include "npucc_front.h"
#include "scan/scan.h"

#define MEMORY ((uint64_t)16 << 20)
#define MOST_WORK 100000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_little_work(const struct graph *graph)
{
	const struct graph_node *node;
	uint64_t work = 0;
	uint32_t i;

	for (node = graph->first; node; node = node->next) {
		uint64_t more = node->op == GRAPH_OP_UNKNOWN ? MOST_WORK + 1 : eval_work(node);

		work = more > MOST_WORK ? MOST_WORK + 1 : work + more;
		if (work > MOST_WORK)
			return false;
	}
	for (i = 0; i < graph->input_count; i++)
		if (graph_element_count(graph->inputs[i]) > MOST_WORK)
			return false;
	return true;
}

static void interpret(struct graph *graph)
{
	struct interpreter *interpreter = interpreter_new(graph);
	void *numbers = malloc(MOST_WORK * 8);
	uint32_t i;

	if (!interpreter || !numbers)
		goto out;
	memset(numbers, 0x3c, MOST_WORK * 8);
	for (i = 0; i < graph->input_count; i++)
		if (interpreter_input(interpreter, i, numbers))
			goto out;
	interpreter_run(interpreter, NULL);
out:
	free(numbers);
	interpreter_free(interpreter);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct npucc_front_options options = {
		.fusion = 2,
		.fold_affine = true,
		.max_memory = MEMORY,
		.keep_going = true,
	};
	struct scan_report report;
	struct npucc_model *model;
	struct diag diag;

	diag_init(&diag);
	model = npucc_front_load_memory(bytes, size, &options, &diag);
	if (!model && fuzz_is_our_fault(&diag))
		abort();
	if (model && !npucc_scan(npucc_model_graph(model), &report, NULL) &&
	    is_little_work(npucc_model_graph(model)))
		interpret(npucc_model_graph(model));
	npucc_model_free(model);
	diag_free(&diag);
	fuzz_spend_time();
	return 0;
}
