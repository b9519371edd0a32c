/* SPDX-License-Identifier: MIT */
/* From a row of class probabilities a column to text (connectionist temporal classification). */
#ifndef NPU_OCR_CTC_H
#define NPU_OCR_CTC_H

#include <stddef.h>
#include <stdint.h>

struct alphabet {
	char *text;		/* owned */
	const char **symbols;	/* [count]; class 0 is the blank, the last class the space */
	uint32_t count;
};

/*
 * alphabet_load - read a file of one symbol a line. Returns 0, or -1 with a sentence in @error.
 * alphabet_free() frees it.
 */
int alphabet_load(const char *path, struct alphabet *alphabet, char *error, size_t error_size);
void alphabet_free(struct alphabet *alphabet);

/*
 * ctc_decode - the best class of each of @steps rows of @classes probabilities; repeats and blanks
 * dropped. Writes at most @size bytes of UTF-8, NUL included, at @text; *@confidence is the mean
 * probability of the symbols kept (0 when there are none).
 */
void ctc_decode(const struct alphabet *alphabet, const float *probabilities, uint32_t steps,
		uint32_t classes, char *text, size_t size, double *confidence);

#endif
