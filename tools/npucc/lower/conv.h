/* SPDX-License-Identifier: MIT */
/* What dense and depthwise convolutions share. */
#ifndef NPUCC_LOWER_CONV_H
#define NPUCC_LOWER_CONV_H

#include "mac.h"

/*
 * conv_describe - window, strides, weights, bias, activation and residual of a CONV for the plane
 * of a whole image; channels, instances and macs are the caller's. @residual is how to read it
 * (dims of size 1 with stride 0), all zero when there is none. Returns 0 or -1.
 */
int conv_describe(struct lower *lower, const struct graph_node *node, struct mac_problem *problem,
		  struct placement *residual);

/* conv_refuse_planes - 0 when so many instances can be, else -1 with a sentence. */
int conv_refuse_planes(struct lower *lower, const struct graph_node *node, uint64_t planes);

#endif
