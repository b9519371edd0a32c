/* SPDX-License-Identifier: MIT */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "monitor.h"
#include "options.h"

/** top_screen_run() - show samples on the terminal until the user has enough; the exit status */
int top_screen_run(struct top_monitor *monitor, struct top_options *options);

#endif /* TOP_SCREEN_H */
