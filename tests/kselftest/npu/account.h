/* SPDX-License-Identifier: MIT */
/* What the driver says of who has what, its caps, and programs of other users. Needs root. */
#ifndef NPU_ACCOUNT_H
#define NPU_ACCOUNT_H

#include <sys/stat.h>
#include <sys/wait.h>

#include "npu_test.h"

#define LIMITS_FOLDER "/sys/class/accel/accel0/device/npu_limits/"

static const char *const limit_names[] = {
	"device_bytes", "device_contexts", "device_queues", "user_bytes",
	"user_contexts", "user_queues", "file_mappings", "file_waits",
};

#define LIMITS (sizeof(limit_names) / sizeof(limit_names[0]))

static inline uint64_t limit_get(const char *name)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), LIMITS_FOLDER "%s", name);
	read_line(path, text, sizeof(text));
	return strtoull(text, NULL, 0);
}

/* 0 or a negative errno. */
static inline int limit_set(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), LIMITS_FOLDER "%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return write_file(path, text);
}

/*
 * A number of the line that begins with @who ("device", "user uid=1000 ", "file pid=12 ");
 * UINT64_MAX when there is no such line, or no such number in it.
 */
static inline uint64_t account_of(const char *who, const char *what)
{
	char path[512], line[2048], key[64];
	uint64_t value = UINT64_MAX;
	FILE *file = NULL;

	snprintf(key, sizeof(key), " %s=", what);
	if (npu_debugfs("accounts", path, sizeof(path)))
		file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, key);

		if (strncmp(line, who, strlen(who)) || !at)
			continue;
		value = strtoull(at + strlen(key), NULL, 0);
		break;
	}
	if (file)
		fclose(file);
	return value;
}

static inline uint64_t account_of_process(pid_t pid, const char *what)
{
	char who[32];

	snprintf(who, sizeof(who), "file pid=%d ", pid);
	return account_of(who, what);
}

/* A program of its own, which ends when one of its checks fails. */
struct program {
	pid_t pid;
	int ready, go;
};

#define MUST(condition) do { \
	if (!(condition)) { \
		printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

/* The program has done what it was to, and stays until program_end(). */
static inline void program_stay(const struct program *program)
{
	char byte = 0;

	MUST(write(program->ready, &byte, 1) == 1);
	MUST(read(program->go, &byte, 1) == 0);
}

/* Returns when the program stays, or has ended: then false. */
static inline bool program_start(struct program *program, uid_t uid,
				 void (*main)(const struct program *, void *), void *argument)
{
	int ready[2], go[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		return false;
	fflush(stdout);
	program->pid = fork();
	if (!program->pid) {
		close(ready[0]);
		close(go[1]);
		program->ready = ready[1];
		program->go = go[0];
		MUST(!uid || (!setresgid(uid, uid, uid) && !setresuid(uid, uid, uid)));
		main(program, argument);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	program->ready = ready[0];
	program->go = go[1];
	return read(ready[0], &byte, 1) == 1;
}

/* Whether all its checks held. */
static inline bool program_end(struct program *program)
{
	int status = -1;

	close(program->go);
	close(program->ready);
	return waitpid(program->pid, &status, 0) == program->pid && !status;
}

/* From begin to end. */
static inline bool program_run(uid_t uid, void (*main)(const struct program *, void *),
			       void *argument)
{
	struct program program;

	program_start(&program, uid, main, argument);
	return program_end(&program);
}

#endif /* NPU_ACCOUNT_H */
