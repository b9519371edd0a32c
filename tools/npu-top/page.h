/* SPDX-License-Identifier: MIT */
/*
 * Reading a statistics page. Whoever may write its file may have written anything into it.
 */
#ifndef TOP_PAGE_H
#define TOP_PAGE_H

#include "sample.h"

enum top_page_verdict {
	TOP_PAGE_GOOD = 0,
	TOP_PAGE_UNSTEADY, /* its process stands still in the middle of a change */
	TOP_PAGE_FOREIGN, /* not ours to believe: owner, mode or kind of the file */
	TOP_PAGE_OTHER_VERSION,
	TOP_PAGE_DAMAGED,
	TOP_PAGE_UNREADABLE,
};

/**
 * top_page_read() - copy a page out of an open file, and check it
 * @fd: readable
 * @page: everything in it is within bounds when it is good
 * @owner: whose file it is: he may have written anything, but only of himself
 */
enum top_page_verdict top_page_read(int fd, struct npurt_stats_page *page, uid_t *owner);

/** top_page_check() - check a copy, and clean its texts */
enum top_page_verdict top_page_check(struct npurt_stats_page *page);

#endif /* TOP_PAGE_H */
