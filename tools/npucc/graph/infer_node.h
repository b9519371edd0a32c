/* SPDX-License-Identifier: MIT */
/* What the files of shape inference share. */
#ifndef NPUCC_GRAPH_INFER_NODE_H
#define NPUCC_GRAPH_INFER_NODE_H

#include "infer.h"

/* infer_bad - the sentence "node 'n' (Op): rule, value, limit; what to do"; returns -1. */
int infer_bad(const struct graph_node *node, struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* infer_need_rank - input @index has @rank dimensions: 0, or -1 with a sentence. */
int infer_need_rank(const struct graph_node *node, struct diag *diag, uint32_t index,
		    uint32_t rank);

/* Type and shape of the output into @result; @stated: what the caller says of it. 0, or -1 with a sentence. */
int infer_conv(const struct graph_node *node, struct diag *diag, struct graph_value *result);
int infer_convtranspose(const struct graph_node *node, struct diag *diag,
			struct graph_value *result);
int infer_matmul(const struct graph_node *node, struct diag *diag, struct graph_value *result);
int infer_pool(const struct graph_node *node, struct diag *diag, const struct graph_value *stated,
	       struct graph_value *result);

#endif
