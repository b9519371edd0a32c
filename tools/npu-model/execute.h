/* SPDX-License-Identifier: MIT */
/*
 * Execution of decoded operations on a cluster's memories.
 *
 * Device manual: Documentation/hardware/arithmetic.rst. Results never depend on the host: the
 * plain and the vector implementations give the same bits.
 */
#ifndef NPU_MODEL_EXECUTE_H
#define NPU_MODEL_EXECUTE_H

#include <stdint.h>

#include "config.h"
#include "operation.h"

struct npu_execute_scratch;

/* What an operation works on: all of a cluster's own memory. */
struct npu_cluster_memory {
	uint8_t *local;				/* config->local_bytes */
	uint8_t *acc[2];			/* config->acc_bytes / 2 each */
	struct npu_execute_scratch *scratch;	/* the implementation's own */
};

/**
 * npu_cluster_memory_init - allocate a cluster's memories, zeroed
 * @memory: filled in; owned by the caller, who ends it with npu_cluster_memory_release()
 * @config: configuration
 * Return: 0, or -ENOMEM with nothing left allocated.
 */
int npu_cluster_memory_init(struct npu_cluster_memory *memory, const struct npu_config *config);

/** npu_cluster_memory_release - free what npu_cluster_memory_init() allocated; may be repeated */
void npu_cluster_memory_release(struct npu_cluster_memory *memory);

/**
 * npu_execute - perform an operation of MAC array, output stage, vector or layout unit
 * @config: the configuration the operation was decoded with
 * @memory: the cluster's memories
 * @operation: as npu_operation_decode() left it; other engines' operations do nothing
 *
 * All sources are read before the first destination byte is written.
 *
 * Thread safety: any thread, one at a time for one @memory. On x86 the floating-point environment
 * of the caller does not matter and is left as it was; elsewhere it has to be the default one.
 */
void npu_execute(const struct npu_config *config, struct npu_cluster_memory *memory,
		 const struct npu_operation *operation);

#endif /* NPU_MODEL_EXECUTE_H */
