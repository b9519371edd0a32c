/* SPDX-License-Identifier: MIT */
#ifndef TOP_END_PROCESS_H
#define TOP_END_PROCESS_H

#include "sample.h"

/**
 * top_end_process() - send a signal to a process that is on the screen, and to no other
 * @text: what has become of it, a sentence
 */
void top_end_process(const struct top_process *process, int signal, char *text, size_t bytes);

#endif /* TOP_END_PROCESS_H */
