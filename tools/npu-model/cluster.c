// SPDX-License-Identifier: MIT
/* A cluster as a whole. See cluster.h. */
#include "cluster.h"

#include <string.h>

#include "machine.h"

int npu_cluster_init(struct npu_cluster *cluster, const struct npu_config *config,
		     unsigned int number)
{
	cluster->number = (uint8_t)number;
	npu_front_end_init(cluster);
	for (unsigned int engine = NPU_ENGINE_DMA0; engine < NPU_ENGINE_COUNT; engine++)
		npu_engine_init(cluster, engine);
	return npu_cluster_memory_init(&cluster->memory, config);
}

void npu_cluster_release(struct npu_cluster *cluster)
{
	npu_cluster_memory_release(&cluster->memory);
}

void npu_cluster_reset(struct npu_model *model, struct npu_cluster *cluster)
{
	npu_front_end_reset(model, cluster);
	for (unsigned int engine = NPU_ENGINE_DMA0; engine < NPU_ENGINE_COUNT; engine++)
		npu_engine_reset(model, cluster, engine);
	memset(cluster->token, 0, sizeof(cluster->token));
	memset(cluster->token_waiters, 0, sizeof(cluster->token_waiters));
	cluster->jobs = 0;
	cluster->task = NULL;
}
