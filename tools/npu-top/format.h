/* SPDX-License-Identifier: MIT */
/* Figures for people, in few columns. NaN is "-". */
#ifndef TOP_FORMAT_H
#define TOP_FORMAT_H

#define TOP_FIGURE_BYTES 16

struct top_figure {
	char text[TOP_FIGURE_BYTES];
};

/** top_time() - "850ns", "12.3us", "1.25ms", "2.10s" */
struct top_figure top_time(double ns);

/** top_bytes() - "512", "12.0K", "1.25M" */
struct top_figure top_bytes(double bytes);

/** top_count() - "0", "12.3", "1234", "12.3k" */
struct top_figure top_count(double count);

/** top_percent() - of a share: "34.1%" */
struct top_figure top_percent(double share);

#endif /* TOP_FORMAT_H */
