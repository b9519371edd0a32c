/* SPDX-License-Identifier: MIT */
/*
 * Views: nodes whose output is the input's memory, walked by other strides.
 */
#ifndef NPUCC_LAYOUT_VIEW_H
#define NPUCC_LAYOUT_VIEW_H

#include "placement.h"

/*
 * view_output - the placement output @index of @node has as a view of input 0 placed at @source.
 * Returns false when the node changes values, or no strides can say what it does.
 */
bool view_output(const struct graph_node *node, uint32_t index, const struct placement *source,
		 struct placement *view);

/*
 * view_reshape - @source's elements in row-major order of its dims as @rank @dims.
 * Returns false when no strides do that.
 */
bool view_reshape(const struct placement *source, uint32_t rank, const int64_t *dims,
		  struct placement *view);

#endif
