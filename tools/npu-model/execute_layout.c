// SPDX-License-Identifier: MIT
/* Execution: LAYOUT. Manual: isa.rst "LAYOUT". */
#include "execute_internal.h"

void execute_layout(const struct execution *execution)
{
	const struct npu_tensor *dst = &execution->operation->dst;
	const struct npu_tensor *src = &execution->operation->src[0];
	const uint8_t *from = execution_tensor(execution, src, false);
	uint8_t *to = execution->memory->local;
	uint32_t i0, i1, i2;

	for (i0 = 0; i0 < dst->dim[0]; i0++)
		for (i1 = 0; i1 < dst->dim[1]; i1++)
			for (i2 = 0; i2 < dst->dim[2]; i2++)
				execution_copy(to + tensor_at(dst, i0, i1, i2, 0), dst->stride[3],
					       from + tensor_at(src, i0, i1, i2, 0),
					       src->stride[3], dst->element_bytes, dst->dim[3]);
}
