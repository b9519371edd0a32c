// SPDX-License-Identifier: MIT
#include "diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void diag_init(struct diag *diag)
{
	memset(diag, 0, sizeof(*diag));
}

void diag_free(struct diag *diag)
{
	struct diag_message *message = diag->first;

	while (message) {
		struct diag_message *next = message->next;

		free(message->text);
		free(message);
		message = next;
	}
	memset(diag, 0, sizeof(*diag));
}

static void diag_add(struct diag *diag, enum diag_level level, const char *format, va_list args)
{
	struct diag_message *message;
	unsigned int kept;
	va_list again;
	int length;

	if (!diag)
		return;
	if (level == DIAG_ERROR)
		diag->errors++;
	if (level == DIAG_WARNING)
		diag->warnings++;
	kept = diag->errors + diag->warnings;
	if (level != DIAG_NOTE && kept > DIAG_MAX_MESSAGES) {
		diag->dropped++;
		return;
	}
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	message = calloc(1, sizeof(*message));
	if (length < 0 || !message)
		goto fail;
	message->text = malloc((size_t)length + 1);
	if (!message->text)
		goto fail;
	vsnprintf(message->text, (size_t)length + 1, format, args);
	message->level = level;
	if (diag->last)
		diag->last->next = message;
	else
		diag->first = message;
	diag->last = message;
	return;
fail:
	free(message);
	diag->dropped++;
}

int diag_error(struct diag *diag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diag_add(diag, DIAG_ERROR, format, args);
	va_end(args);
	return -1;
}

void diag_warning(struct diag *diag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diag_add(diag, DIAG_WARNING, format, args);
	va_end(args);
}

void diag_note(struct diag *diag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diag_add(diag, DIAG_NOTE, format, args);
	va_end(args);
}

void diag_print(const struct diag *diag, enum diag_level least, FILE *out)
{
	static const char *const names[] = { "note", "warning", "error" };
	const struct diag_message *message;

	for (message = diag->first; message; message = message->next)
		if (message->level >= least)
			fprintf(out, "npucc: %s: %s\n", names[message->level], message->text);
	if (diag->dropped)
		fprintf(out, "npucc: note: %u more messages were not kept\n", diag->dropped);
}

const char *diag_first_error(const struct diag *diag)
{
	const struct diag_message *message;

	for (message = diag->first; message; message = message->next)
		if (message->level == DIAG_ERROR)
			return message->text;
	return NULL;
}
