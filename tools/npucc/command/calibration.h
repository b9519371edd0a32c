/* SPDX-License-Identifier: MIT */
#ifndef NPUCC_COMMAND_CALIBRATION_H
#define NPUCC_COMMAND_CALIBRATION_H

#include <stdio.h>

#include "../graph/graph.h"

/*
 * command_calibrate - quantize the float model @graph by the samples in @folder, or by seeded
 * random numbers when it is "random". @log: error value by value, or NULL. 0, or -1 with a
 * sentence.
 */
int command_calibrate(struct graph *graph, const char *folder, FILE *log, struct diag *diag);

#endif
