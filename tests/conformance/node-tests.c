/* SPDX-License-Identifier: MIT */
/*
 * node-tests CORPUS BASELINE SCRATCH [--update | --list]: the ONNX project's tests of single operators,
 * compiled and run on the device model, against the project's expected outputs.
 *
 * BASELINE names the tests that pass with their node on the NPU, one a line. It may only grow: a
 * test named there that does not pass is a failure, and so is a wrong result of any test. --update adds what
 * passes now; --list prints a line a test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_device.h"

/* The operators this compiler is meant to run on the NPU; of their tests SHARE_WANTED percent must. */
static const char *const listed[] = {
	"Abs", "Add", "AveragePool", "BatchNormalization", "Cast", "CastLike", "Celu", "Clip", "Concat",
	"Constant", "Conv", "ConvTranspose", "Div", "Elu", "Equal", "Erf", "Exp", "Expand", "Flatten",
	"Gather", "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual",
	"HardSigmoid", "HardSwish", "Identity", "InstanceNormalization", "LayerNormalization", "LeakyRelu",
	"Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "MaxPool", "Mean", "Min", "Mish",
	"Mul", "Neg", "PRelu", "Pad", "Pow", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum",
	"ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
	"ReduceSumSquare", "Relu", "Reshape", "Resize", "Round", "Selu", "Sigmoid", "Slice", "Softmax",
	"Softplus", "Softsign", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "ThresholdedRelu",
	"Transpose", "Unsqueeze", "Upsample", "Where",
	/* quantized ones */
	"ConvInteger", "DequantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
	"QuantizeLinear",
};

#define SHARE_WANTED 80

/* Expected outputs that contradict the operator: wrapped where it saturates. */
static const char *const wrong[] = {
	"test_qlinearmatmul_2D_int8_float16",
	"test_qlinearmatmul_2D_int8_float32",
	"test_qlinearmatmul_3D_int8_float16",
	"test_qlinearmatmul_3D_int8_float32",
};

static const char *const outcomes[NODE_OUTCOME_COUNT] = {
	"passed", "folded", "refused", "refused late", "failed",
};

#define OPERATORS_MAX 256

struct operator_tally {
	char name[64];
	uint32_t count[NODE_OUTCOME_COUNT];
};

struct names {
	char **name;
	uint32_t count;
};

struct session {
	struct npurt_device *device;
	const char *scratch;
	bool list;
	struct names baseline, passed;
	uint32_t lost;			/* in the baseline, and do not pass */
	uint32_t unknown_types;		/* strings, 8-bit floats, sequences */
	struct operator_tally operators[OPERATORS_MAX];
	uint32_t operator_count;
};

static bool among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ------------------------------------------------------------------------ baseline */
static bool add_name(struct names *names, const char *name)
{
	char **longer = realloc(names->name, (names->count + 1) * sizeof(*longer));

	if (!longer)
		return false;
	names->name = longer;
	names->name[names->count] = strdup(name);
	return names->name[names->count++] != NULL;
}

static void free_names(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
}

static bool has_name(const struct names *names, const char *name)
{
	return among((const char *const *)names->name, names->count, name);
}

static bool read_baseline(const char *path, struct names *names)
{
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] && line[0] != '#' && !add_name(names, line))
			break;
	}
	fclose(file);
	return names->count > 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of tests that this release of the data lacks stay. */
static bool write_baseline(const char *path, struct session *session)
{
	struct names *names = &session->passed;
	FILE *file;

	for (uint32_t i = 0; i < session->baseline.count; i++)
		if (!has_name(names, session->baseline.name[i]) &&
		    !add_name(names, session->baseline.name[i]))
			return false;
	qsort(names->name, names->count, sizeof(*names->name), by_name);
	file = fopen(path, "w");
	if (!file)
		return false;
	fputs("# SPDX-License-Identifier: MIT\n"
	      "# Tests of the ONNX project that pass with their node on the NPU; see node-tests.c.\n",
	      file);
	for (uint32_t i = 0; i < names->count; i++)
		fprintf(file, "%s\n", names->name[i]);
	return !fclose(file);
}

/* ------------------------------------------------------------------------- tallies */
/* The operator a test is about: its model's only one, else nobody's. */
static bool operator_of(const struct node_case *node_case, char name[64])
{
	const struct onnx_graph *graph = node_case->model->graph;

	if (!graph || graph->node_count != 1)
		return false;
	snprintf(name, 64, "%.*s", (int)graph->nodes[0].op_type.size,
		 (const char *)graph->nodes[0].op_type.data);
	return true;
}

static struct operator_tally *tally_of(struct session *session, const char *name)
{
	for (uint32_t i = 0; i < session->operator_count; i++)
		if (!strcmp(session->operators[i].name, name))
			return &session->operators[i];
	if (session->operator_count == OPERATORS_MAX)
		return NULL;
	snprintf(session->operators[session->operator_count].name, 64, "%s", name);
	return &session->operators[session->operator_count++];
}

static void run_folder(struct session *session, const char *folder)
{
	struct node_result result = {
		.outcome = NODE_REFUSED, .why = "a tensor's element type is not supported",
	};
	const char *name = base_name(folder);
	struct operator_tally *tally;
	struct node_case node_case;
	char operator[64];

	if (node_case_open(&node_case, folder))
		node_device_run(session->device, &node_case, session->scratch, &result);
	else
		session->unknown_types++;
	if (!node_case.model || !operator_of(&node_case, operator))
		snprintf(operator, sizeof(operator), "(several nodes)");
	node_case_close(&node_case);
	if (result.outcome == NODE_FAILED && among(wrong, sizeof(wrong) / sizeof(wrong[0]), name))
		return;
	tally = tally_of(session, operator);
	if (tally)
		tally->count[result.outcome]++;
	if (session->list)
		printf("%-14s%-20s%s%s%s\n", outcomes[result.outcome], operator, name,
		       result.outcome == NODE_PASSED ? "" : ": ",
		       result.outcome == NODE_PASSED ? "" : result.why);
	if (result.outcome == NODE_PASSED)
		add_name(&session->passed, name);
	else if (has_name(&session->baseline, name))
		session->lost++;
	if (!session->list && result.outcome != NODE_PASSED &&
	    (result.outcome == NODE_FAILED || result.outcome == NODE_REFUSED_LATE || has_name(&session->baseline, name)))
		printf("# %s %s: %s\n", name, outcomes[result.outcome], result.why);
}

static int by_operator(const void *a, const void *b)
{
	return strcmp(((const struct operator_tally *)a)->name,
		      ((const struct operator_tally *)b)->name);
}

static void add_counts(uint32_t to[NODE_OUTCOME_COUNT], const uint32_t from[NODE_OUTCOME_COUNT])
{
	for (int i = 0; i < NODE_OUTCOME_COUNT; i++)
		to[i] += from[i];
}

static void print_counts(const char *name, const uint32_t count[NODE_OUTCOME_COUNT])
{
	printf("# %-24s", name);
	for (int i = 0; i < NODE_OUTCOME_COUNT; i++)
		printf(" %5" PRIu32 " %s", count[i], outcomes[i]);
	putchar('\n');
}

static uint32_t sum_counts(const uint32_t count[NODE_OUTCOME_COUNT])
{
	uint32_t sum = 0;

	for (int i = 0; i < NODE_OUTCOME_COUNT; i++)
		sum += count[i];
	return sum;
}

static uint32_t failures;

static void check(bool good, const char *text)
{
	static uint32_t number;

	failures += !good;
	printf("%sok %" PRIu32 " - %s\n", good ? "" : "not ", ++number, text);
}

static void report(struct session *session)
{
	uint32_t all[NODE_OUTCOME_COUNT] = { 0 }, own[NODE_OUTCOME_COUNT] = { 0 }, total;
	char text[256];

	qsort(session->operators, session->operator_count, sizeof(session->operators[0]), by_operator);
	for (uint32_t i = 0; i < session->operator_count; i++) {
		const struct operator_tally *tally = &session->operators[i];

		add_counts(all, tally->count);
		if (!among(listed, sizeof(listed) / sizeof(listed[0]), tally->name))
			continue;
		add_counts(own, tally->count);
		print_counts(tally->name, tally->count);
	}
	print_counts("listed operators", own);
	print_counts("all tests", all);
	printf("# among the refused ones %" PRIu32 " have tensors of types that are not supported\n",
	       session->unknown_types);
	snprintf(text, sizeof(text), "%" PRIu32 " wrong results", all[NODE_FAILED]);
	check(all[NODE_FAILED] == 0, text);
	snprintf(text, sizeof(text), "%" PRIu32 " of the tests that passed before do not",
		 session->lost);
	check(session->lost == 0, text);
	snprintf(text, sizeof(text), "%" PRIu32 " tests are refused by the back end, not by the table of limits",
		 all[NODE_REFUSED_LATE]);
	check(all[NODE_REFUSED_LATE] == 0, text);
	total = sum_counts(own);
	snprintf(text, sizeof(text),
		 "%" PRIu32 " of %" PRIu32 " tests of listed operators are on the NPU (%d %% wanted)",
		 own[NODE_PASSED], total, SHARE_WANTED);
	check(total && own[NODE_PASSED] * 100 >= total * SHARE_WANTED, text);
	puts("1..4");
}

static bool run_all(struct session *session, const char *corpus)
{
	uint32_t count;
	char path[512];
	char **folders;

	snprintf(path, sizeof(path), "%s/onnx-testdata/usr/share/libonnx-testdata/data/node", corpus);
	folders = node_folders(path, &count);
	for (uint32_t i = 0; i < count; i++) {
		run_folder(session, folders[i]);
		free(folders[i]);
	}
	free(folders);
	if (!count)
		fprintf(stderr, "node-tests: no test below %s\n", path);
	return count > 0;
}

int main(int argc, char **argv)
{
	bool update = argc == 5 && !strcmp(argv[4], "--update");
	static struct session session;
	int status = 1;

	session.list = argc == 5 && !strcmp(argv[4], "--list");
	if (argc != 4 && !update && !session.list) {
		fprintf(stderr, "usage: %s CORPUS BASELINE SCRATCH [--update | --list]\n", argv[0]);
		return 2;
	}
	session.scratch = argv[3];
	if (!read_baseline(argv[2], &session.baseline) && !update) {
		fprintf(stderr, "node-tests: %s names no test\n", argv[2]);
		return 2;
	}
	if (npurt_open("sim:", &session.device)) {
		fprintf(stderr, "node-tests: %s\n", npurt_last_error());
		return 2;
	}
	if (run_all(&session, argv[1])) {
		report(&session);
		status = failures > 0;
		if (update && !write_baseline(argv[2], &session))
			status = 2;
	}
	npurt_close(session.device);
	free_names(&session.baseline);
	free_names(&session.passed);
	unlink(session.scratch);
	return status;
}
