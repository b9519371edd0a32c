// SPDX-License-Identifier: MIT
/*
 * Damaged models: 10,000 mutations of small models, always the same ones. Each
 * ends in a sentence, or in a graph that verifies and can be interpreted;
 * the sanitizers see to the rest.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fold/eval.h"
#include "fold/interpreter.h"
#include "node_models.h"
#include "onnx_builder.h"

#define MUTATIONS 10000
#define LARGEST_SEED 8192 /* bytes of a model worth mutating */
#define MOST_SEEDS 400
#define ROOM (LARGEST_SEED * 2)
#define MEMORY ((uint64_t)16 << 20)
#define MOST_WORK 1000000 /* steps spent interpreting what is still a model */

struct seed {
	uint8_t *bytes;
	size_t size;
};

static const char *corpus;
static struct seed seeds[MOST_SEEDS];
static uint32_t seed_count;
static uint64_t state_of_random = 0x9e3779b97f4a7c15ull;

static uint64_t random_number(void)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return state_of_random;
}

static size_t below(size_t limit)
{
	return limit ? (size_t)(random_number() % limit) : 0;
}

static void add_seed(const uint8_t *bytes, size_t size)
{
	if (seed_count == MOST_SEEDS || size > LARGEST_SEED)
		return;
	seeds[seed_count].bytes = malloc(size);
	assert_non_null(seeds[seed_count].bytes);
	memcpy(seeds[seed_count].bytes, bytes, size);
	seeds[seed_count++].size = size;
}

static void add_file(const char *folder)
{
	struct onnx_files *files;
	struct wire_bytes bytes;
	char path[640];

	snprintf(path, sizeof(path), "%s/model.onnx", folder);
	files = onnx_files_open(path, NULL);
	if (!files)
		return;
	if (onnx_files_get(files, 0, &bytes))
		add_seed(bytes.data, bytes.size);
	onnx_files_close(files);
}

/* A network in small: everything the passes act upon. */
static void add_network(void)
{
	static const int64_t image[] = { 1, 3, 8, 8 }, kernel[] = { 4, 3, 3, 3 }, four[] = { 4 };
	static const int64_t matrix[] = { 64, 5 }, pads[] = { 1, 1, 1, 1 }, shape[] = { 1, -1 };
	static const int64_t result[] = { 1, 5 }, strides[] = { 2, 2 };
	float numbers[320];
	struct onnx_builder *builder = onnx_builder_new(13);
	const uint8_t *bytes;
	size_t size, i;

	for (i = 0; i < 320; i++)
		numbers[i] = (float)(i % 7) / 8 + 0.125f;
	onnx_builder_input(builder, "x", 4, image);
	onnx_builder_floats(builder, "w", 4, kernel, numbers);
	onnx_builder_floats(builder, "s", 1, four, numbers);
	onnx_builder_floats(builder, "m", 2, matrix, numbers);
	onnx_builder_integers(builder, "shape", 2, shape);
	onnx_builder_node(builder, "Conv", "x w", "a");
	onnx_builder_ints(builder, "pads", 4, pads);
	onnx_builder_ints(builder, "strides", 2, strides);
	onnx_builder_node(builder, "BatchNormalization", "a s s s s", "b");
	onnx_builder_node(builder, "Sigmoid", "b", "c");
	onnx_builder_node(builder, "Mul", "b c", "d");
	onnx_builder_node(builder, "Reshape", "d shape", "e");
	onnx_builder_node(builder, "MatMul", "e m", "f");
	onnx_builder_node(builder, "Softmax", "f", "y");
	onnx_builder_int(builder, "axis", 1);
	onnx_builder_output(builder, "y", 2, result);
	bytes = onnx_builder_finish(builder, &size);
	assert_non_null(bytes);
	for (i = 0; i < 20; i++)
		add_seed(bytes, size);
	onnx_builder_free(builder);
}

static int make_seeds(void **state)
{
	uint32_t count, i;
	char path[512];
	char **folders;

	(void)state;
	add_network();
	snprintf(path, sizeof(path), "%s/onnx-testdata/usr/share/libonnx-testdata/data/node",
		 corpus);
	folders = node_folders(path, &count);
	assert_true(count > 100);
	for (i = 0; i < count; i++) {
		/* Every third: all operators come several times. */
		if (i % 3 == 0)
			add_file(folders[i]);
		free(folders[i]);
	}
	free(folders);
	return 0;
}

static int free_seeds(void **state)
{
	(void)state;
	while (seed_count)
		free(seeds[--seed_count].bytes);
	return 0;
}

/* Numbers at the edges of types and of the reader's own bounds. */
static void put_varint(uint8_t *bytes, size_t size, size_t at)
{
	static const uint64_t edges[] = {
		0,	    1,		0x7f,	    0x80,      0xffff,
		0x7fffffff, 0x80000000, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
		UINT64_MAX, 8,		9,	    64,	       65
	};
	uint64_t number = edges[below(sizeof(edges) / sizeof(edges[0]))];

	while (at < size) {
		bytes[at++] = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
		if (!number)
			break;
	}
}

static size_t mutate_once(uint8_t *bytes, size_t size)
{
	const struct seed *other;
	size_t at, length;

	if (!size)
		return 0;
	at = below(size);
	length = below(size - at < 32 ? size - at : 32) + 1;
	switch (below(8)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << below(8));
		return size;
	case 1:
		bytes[at] = (uint8_t)random_number();
		return size;
	case 2:
		put_varint(bytes, size, at);
		return size;
	case 3:
		return below(4) ? size : at;
	case 4: /* take something out */
		length = length > size - at ? size - at : length;
		memmove(bytes + at, bytes + at + length, size - at - length);
		return size - length;
	case 5: /* repeat something */
		if (size + length > ROOM || length > size - at)
			return size;
		memmove(bytes + at + length, bytes + at, size - at);
		return size + length;
	case 6: /* a piece of another model */
		other = &seeds[below(seed_count)];
		if (at + length > size || length > other->size)
			return size;
		memcpy(bytes + at, other->bytes + below(other->size - length + 1), length);
		return size;
	default:
		bytes[at] += (uint8_t)(below(2) ? 1 : -1);
		return size;
	}
}

static void interpret(struct graph *graph)
{
	const struct graph_node *node;
	struct interpreter *interpreter;
	uint64_t work = 0;
	uint32_t i;

	for (node = graph->first; node; node = node->next) {
		uint64_t more = node->op == GRAPH_OP_UNKNOWN ? MOST_WORK + 1 : eval_work(node);

		work = more > MOST_WORK ? MOST_WORK + 1 : work + more;
		if (work > MOST_WORK)
			return;
	}
	interpreter = interpreter_new(graph);
	assert_non_null(interpreter);
	for (i = 0; i < graph->input_count; i++) {
		size_t bytes = (size_t)graph_element_count(graph->inputs[i]) *
			       graph_dtype_bytes(graph->inputs[i]->dtype);
		void *zeros = bytes <= MOST_WORK ? calloc(bytes ? bytes : 1, 1) : NULL;

		if (!zeros || interpreter_input(interpreter, i, zeros)) {
			free(zeros);
			goto out;
		}
		free(zeros);
	}
	interpreter_run(interpreter, NULL);
out:
	interpreter_free(interpreter);
}

/* A pass that broke its graph says so after what the verifier says. */
static void check_errors(const struct diag *diag)
{
	const struct diag_message *message;

	for (message = diag->first; message; message = message->next)
		if (!strncmp(message->text, "internal error", 14) ||
		    !strncmp(message->text, "the fusion pass", 15))
			fail_msg("%s", message->text);
}

static bool try_model(const uint8_t *bytes, size_t size, int fusion, bool keep_going)
{
	struct npucc_front_options options = {
		.fusion = fusion,
		.fold_affine = true,
		.max_memory = MEMORY,
		.keep_going = keep_going,
	};
	struct npucc_model *model;
	struct diag diag;
	bool loaded;

	diag_init(&diag);
	model = npucc_front_load_memory(bytes, size, &options, &diag);
	loaded = model != NULL;
	if (model) {
		assert_int_equal(diag.errors, 0);
		interpret(npucc_model_graph(model));
	} else {
		/* A sentence: more than a word, and not one about the compiler itself. */
		assert_true(diag.errors > 0);
		assert_non_null(diag_first_error(&diag));
		assert_non_null(strchr(diag_first_error(&diag), ' '));
		check_errors(&diag);
	}
	npucc_model_free(model);
	diag_free(&diag);
	return loaded;
}

static void test_mutations(void **state)
{
	uint32_t i, loaded = 0;

	(void)state;
	for (i = 0; i < MUTATIONS; i++) {
		const struct seed *seed = &seeds[below(seed_count)];
		size_t size = seed->size, times = below(4) + 1;
		uint8_t *bytes = malloc(ROOM), *exact;

		assert_non_null(bytes);
		memcpy(bytes, seed->bytes, size);
		while (times--)
			size = mutate_once(bytes, size);
		/* As large as the model is, so that a sanitizer sees reads beyond its end. */
		exact = malloc(size ? size : 1);
		assert_non_null(exact);
		memcpy(exact, bytes, size);
		free(bytes);
		loaded += try_model(exact, size, (int)(i % 3), i % 2);
		free(exact);
	}
	print_message("%" PRIu32 " of %d mutations of %" PRIu32 " models still load\n", loaded,
		      MUTATIONS, seed_count);
	/* Both ways are taken, or nothing was tested. */
	assert_in_range(loaded, MUTATIONS / 50, MUTATIONS - MUTATIONS / 10);
}

static void test_truncations(void **state)
{
	uint32_t i;
	size_t size;

	(void)state;
	/* The network is the first seed; no beginning of it is a model with outputs. */
	for (size = 0; size < seeds[0].size; size++) {
		uint8_t *exact = malloc(size ? size : 1);

		assert_non_null(exact);
		memcpy(exact, seeds[0].bytes, size);
		try_model(exact, size, 2, true);
		free(exact);
	}
	for (i = 0; i < seed_count; i++)
		try_model(seeds[i].bytes, seeds[i].size, 2, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncations),
		cmocka_unit_test(test_mutations),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	corpus = argv[1];
	return cmocka_run_group_tests(tests, make_seeds, free_seeds);
}
