/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics: errors and warnings are sentences that name what, where, why
 * and what to do. They are collected, so that a caller prints them, counts
 * them or puts them into JSON.
 *
 * Not thread safe.
 */
#ifndef NPUCC_SUPPORT_DIAG_H
#define NPUCC_SUPPORT_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum diag_level {
	DIAG_NOTE,
	DIAG_WARNING,
	DIAG_ERROR,
};

struct diag_message {
	struct diag_message *next;
	enum diag_level level;
	char *text;
};

struct diag {
	struct diag_message *first;	/* oldest first */
	struct diag_message *last;
	unsigned int errors;
	unsigned int warnings;
	unsigned int dropped;		/* messages beyond DIAG_MAX_MESSAGES, counted only */
};

/* A model with a million bad nodes must not fill the memory with complaints. */
#define DIAG_MAX_MESSAGES 200u

void diag_init(struct diag *diag);
void diag_free(struct diag *diag);

/*
 * diag_error - record an error sentence. Always returns -1, so that callers
 * can write `return diag_error(...)`. @diag may be NULL (nothing is kept).
 */
int diag_error(struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* diag_warning - record a warning sentence. */
void diag_warning(struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* diag_note - record something the compile log wants to say. */
void diag_note(struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* diag_print - write every message of at least @least, one a line, "npucc: error: ...". */
void diag_print(const struct diag *diag, enum diag_level least, FILE *out);

/* diag_first_error - text of the first error, or NULL. Owned by @diag. */
const char *diag_first_error(const struct diag *diag);

#endif
