/* SPDX-License-Identifier: MIT */
/*
 * Values with many layers of the array behind them are held in fp32. Every layer adds its rounding to
 * what it got, and a network that is unsure between two answers turns the sum of it into something that
 * shows. The array takes fp32 as fast as fp16, so this costs memory traffic only. Results of
 * convolutions that add up many products are held in fp32 wherever they are, as even writing them is
 * done while the array works.
 */
#ifndef NPUCC_LAYOUT_EARLY_H
#define NPUCC_LAYOUT_EARLY_H

#include <stdbool.h>

#include "../graph/graph.h"

/*
 * precision_early - by value's id, in the graph's arena: held in fp32 for this reason. NULL when out of
 * memory.
 */
bool *precision_early(struct graph *graph);

#endif
