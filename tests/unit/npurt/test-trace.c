// SPDX-License-Identifier: MIT
/* What devices of one process write, each into a file of its own: traces, and the log's records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

static char folder[] = "/tmp/npurt-trace-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The whole of a file, to be freed; NULL: there is none. */
static char *text_of(const char *name)
{
	FILE *file = fopen(path_of(name), "r");
	char *text = NULL;
	size_t room = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &room, '\0', file) < 0)
		fail_msg("%s is empty", name);
	fclose(file);
	return text;
}

static int count_of(const char *text, const char *words)
{
	int count = 0;

	for (text = strstr(text, words); text; text = strstr(text + 1, words))
		count++;
	return count;
}

static void expect_trace(const char *name, int tasks)
{
	char *text = text_of(name);
	size_t length;

	assert_non_null(text);
	length = strlen(text);
	assert_true(length > 3 && text[0] == '[' && !strcmp(text + length - 3, "\n]\n"));
	assert_int_equal(count_of(text, "\"cat\":\"task\",\"pid\":2"), tasks);
	free(text);
	assert_int_equal(unlink(path_of(name)), 0);
}

static void run(struct rig *rig, int times)
{
	while (times--)
		ok(npurt_run(rig->model, rig->bindings, 2, NULL));
}

/* Two devices at a time have two files; the first name is taken again when it is free. */
static void test_two_devices(void **state)
{
	struct rig one, two;
	char *text;

	(void)state;
	setenv("NPURT_TRACE", path_of("trace"), 1);
	rig_make(&one, NULL, NULL);
	run(&one, 1);
	rig_make(&two, NULL, NULL);
	run(&two, 3);
	run(&one, 1);
	rig_free(&one);
	rig_free(&two);
	expect_trace("trace", 2);
	expect_trace("trace.2", 3);
	rig_make(&one, NULL, NULL);
	run(&one, 1);
	rig_free(&one);
	expect_trace("trace", 1);
	text = text_of("trace.2");
	assert_null(text);
	unsetenv("NPURT_TRACE");
}

/* A failure tells what the device recorded before it; the next one what has come since. */
static void test_records_once(void **state)
{
	const struct tiny_options tiny = { .kind = TINY_STRAYS };
	struct npurt_model *good;
	struct tiny_model file;
	char level[80];
	struct rig rig;
	char *text;
	int i;

	(void)state;
	snprintf(level, sizeof(level), "error:%s", path_of("log"));
	setenv("NPURT_LOG", level, 1);
	rig_make(&rig, NULL, &tiny);
	tiny_model_make(&file, &(struct tiny_options){ .elements = 64 });
	ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &good));
	tiny_model_free(&file);
	for (i = 0; i < 3; i++) {
		ok(npurt_run(good, rig.bindings, 2, NULL));
		assert_int_equal(npurt_run(rig.model, rig.bindings, 2, NULL), -EFAULT);
	}
	npurt_model_unload(good);
	rig_free(&rig);
	unsetenv("NPURT_LOG");
	text = text_of("log");
	assert_non_null(text);
	for (i = 1; i <= 6; i++) {
		char words[32];

		snprintf(words, sizeof(words), "recorded: task %d ", i);
		assert_int_equal(count_of(text, words), 1);
	}
	free(text);
	assert_int_equal(unlink(path_of("log")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_devices),
		cmocka_unit_test(test_records_once),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
