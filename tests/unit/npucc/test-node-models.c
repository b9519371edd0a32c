// SPDX-License-Identifier: MIT
/*
 * Every test model of the ONNX project through import, shape inference,
 * folding and fusion, then interpreted; the expected outputs are the project's.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node_models.h"

static const char *corpus;

/* Expected outputs that contradict the operator: wrapped, or cut where it rounds. */
static const char *const wrong[] = {
	"test_cast_FLOAT_to_BFLOAT16",	      "test_qlinearmatmul_2D_int8_float16",
	"test_qlinearmatmul_2D_int8_float32", "test_qlinearmatmul_3D_int8_float16",
	"test_qlinearmatmul_3D_int8_float32", "test_castlike_FLOAT_to_BFLOAT16",
	"test_castlike_FLOAT_to_BFLOAT16_expanded",
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_wrong(const char *folder)
{
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!strcmp(base_name(folder), wrong[i]))
			return true;
	return false;
}

static bool has_unknown(const struct graph *graph)
{
	const struct graph_node *node;

	for (node = graph->first; node; node = node->next)
		if (node->op == GRAPH_OP_UNKNOWN)
			return true;
	return false;
}

enum outcome {
	OUTCOME_EQUAL,
	OUTCOME_REFUSED, /* with a sentence, or kept as an unknown node for the scan */
	OUTCOME_DIFFERENT,
};

static enum outcome run_case(const struct node_case *node_case, uint64_t constants, int fusion,
			     struct diag *diag)
{
	struct npucc_model *model = node_case_load(node_case, constants, fusion, diag);
	enum outcome outcome = OUTCOME_REFUSED;

	if (model && !has_unknown(npucc_model_graph(model)))
		outcome = node_case_run(node_case, model, constants, diag) ? OUTCOME_DIFFERENT :
									     OUTCOME_EQUAL;
	npucc_model_free(model);
	return outcome;
}

/*
 * Test models make inputs of what real ones have as constants (shapes, axes,
 * batch-norm parameters): where that is refused, they are fixed one by one.
 */
static uint64_t fixed_inputs(const struct node_case *node_case, int attempt)
{
	uint64_t mask = 0;
	uint32_t i;

	for (i = 0; i < node_case->input_count; i++) {
		bool is_float = graph_dtype_is_float(node_case->inputs[i].dtype);

		if ((attempt == 1 && !is_float) || (attempt == 2 && i > 0) ||
		    (attempt == 3 && i > 0 && !is_float) || attempt == 4)
			mask |= (uint64_t)1 << i;
	}
	return mask;
}

struct tally {
	uint32_t equal, refused, different, skipped;
};

static void run_folder(const char *folder, struct tally *tally)
{
	enum outcome outcome = OUTCOME_REFUSED;
	struct node_case node_case;
	bool verbose = getenv("VERBOSE");
	int attempt, fusion;

	if (is_wrong(folder) || !node_case_open(&node_case, folder)) {
		tally->skipped++;
		if (!is_wrong(folder))
			node_case_close(&node_case);
		return;
	}
	for (attempt = 0; attempt < 5 && outcome == OUTCOME_REFUSED; attempt++)
		for (fusion = 0; fusion <= 2; fusion += 2) {
			struct diag diag;

			diag_init(&diag);
			outcome = run_case(&node_case, fixed_inputs(&node_case, attempt), fusion,
					   &diag);
			if (outcome == OUTCOME_DIFFERENT || verbose)
				print_message("%s (fusion %d, inputs %d): %s: %s\n",
					      base_name(folder), fusion, attempt,
					      outcome == OUTCOME_EQUAL	 ? "equal" :
					      outcome == OUTCOME_REFUSED ? "refused" :
									   "DIFFERENT",
					      diag_first_error(&diag) ? diag_first_error(&diag) :
									"");
			diag_free(&diag);
			if (outcome != OUTCOME_EQUAL)
				break;
		}
	tally->equal += outcome == OUTCOME_EQUAL;
	tally->refused += outcome == OUTCOME_REFUSED;
	tally->different += outcome == OUTCOME_DIFFERENT;
	node_case_close(&node_case);
}

static void run_group(const char *group, uint32_t least_equal)
{
	struct tally tally = { 0 };
	uint32_t count, i;
	char path[512];
	char **folders;

	snprintf(path, sizeof(path), "%s/onnx-testdata/usr/share/libonnx-testdata/data/%s", corpus,
		 group);
	folders = node_folders(path, &count);
	assert_true(count > 0);
	for (i = 0; i < count; i++) {
		run_folder(folders[i], &tally);
		free(folders[i]);
	}
	free(folders);
	print_message("%s: %" PRIu32 " equal, %" PRIu32 " refused, %" PRIu32
		      " without comparable data, %" PRIu32 " different\n",
		      group, tally.equal, tally.refused, tally.skipped, tally.different);
	assert_int_equal(tally.different, 0);
	assert_in_range(tally.equal, least_equal, count);
}

static void test_node(void **state)
{
	(void)state;
	run_group("node", 640);
}

static void test_pytorch_converted(void **state)
{
	(void)state;
	run_group("pytorch-converted", 69);
}

static void test_pytorch_operator(void **state)
{
	(void)state;
	run_group("pytorch-operator", 35);
}

static void test_simple(void **state)
{
	(void)state;
	run_group("simple", 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_pytorch_converted),
		cmocka_unit_test(test_pytorch_operator),
		cmocka_unit_test(test_simple),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	corpus = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
