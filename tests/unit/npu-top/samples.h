/* SPDX-License-Identifier: MIT */
/* Pages and samples for tests. */
#ifndef TOP_TEST_SAMPLES_H
#define TOP_TEST_SAMPLES_H

#include "sample.h"

/** make_page() - a good one of this process: a queue, and a model that has run @runs times */
void make_page(struct npurt_stats_page *page, uint64_t runs);

/** make_folder() - a folder below $TMPDIR for pages; remove_folder() takes it away */
void make_folder(char *path, size_t bytes);
void remove_folder(const char *path);

/** make_in() - a shell's command in a folder, as printf() has it; it must succeed */
__attribute__((format(printf, 2, 3))) void make_in(const char *folder, const char *format, ...);

/** write_page() - the file of a page, its first @bytes of it, with permissions @mode */
void write_page(const char *folder, const char *name, const struct npurt_stats_page *page,
		size_t bytes, unsigned int mode);

/** write_noise() - fill memory with bytes drawn by *@seed */
void write_noise(void *memory, size_t bytes, uint32_t *seed);

#endif /* TOP_TEST_SAMPLES_H */
