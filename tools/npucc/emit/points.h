/* SPDX-License-Identifier: MIT */
/*
 * Points at which a task can be taken off its clusters: found by the lowering, written behind
 * the streams. Manual: command-processor.rst, "Preemption".
 *
 * A point has a part for each cluster: where its BARRIER or POINT stands in the stream, what of
 * local SRAM is to be saved there, and a stream that brings the rest back, for what the cluster
 * had loaded is still in memory. The window of global SRAM is left as it is.
 */
#ifndef NPUCC_EMIT_POINTS_H
#define NPUCC_EMIT_POINTS_H

#include "npu/npu_packet.h"
#include "stream.h"

struct points;

#define POINTS_WHOLE 65536u

/* points_new - none so far, of a program with that many streams. NULL when out of memory. */
struct points *points_new(uint32_t clusters, uint32_t dma_channels);
void points_free(struct points *points);

/*
 * points_add - a point that every stream is about to come to; @part of POINTS_WHOLE of the layer under way is
 * done there, no less than at the layer's last one. Returns its number; points_error() says whether there is one.
 */
uint32_t points_add(struct points *points, uint32_t part);

/* points_here - emit the cluster's POINT of @point into @stream. Once for each cluster. */
void points_here(struct points *points, uint32_t point, uint32_t cluster, struct stream *stream);

/* points_barrier - the same, but the BARRIER that ends a layer. */
void points_barrier(struct points *points, uint32_t point, uint32_t cluster,
		    struct stream *stream);

/* points_save - @bytes of the cluster's local SRAM are needed behind @point. */
void points_save(struct points *points, uint32_t point, uint32_t cluster, uint32_t offset,
		 uint32_t bytes);

/* points_save_sums - the same of its accumulators; the second half follows the first one. */
void points_save_sums(struct points *points, uint32_t point, uint32_t cluster, uint32_t offset,
		      uint32_t bytes);

/*
 * points_resume - the stream that runs first when the task comes back to @point; it is ended by
 * points_write(). NULL when out of memory.
 */
struct stream *points_resume(struct points *points, uint32_t point, uint32_t cluster);

/*
 * points_layer - a layer ends that takes @cycles; the points since the last call are in it. Returns
 * the longest way to one of them, or from the last of them to the end.
 */
uint64_t points_layer(struct points *points, uint64_t cycles);

/* points_longest - predicted cycles between two points, or from a point to an end, at most. */
uint64_t points_longest(const struct points *points);

/* points_error - what went wrong so far, as a sentence, or NULL. */
const char *points_error(const struct points *points);

/* points_save_bytes - what a cluster needs of the save area; 0: there are no points. */
uint32_t points_save_bytes(const struct points *points);

/*
 * points_write - tables and streams, equal ones once, to be placed at offset @base (a multiple
 * of 16) of a program with a window of @global_bytes; points the streams' instructions at them. Returns
 * bytes allocated by malloc(), *@size of them; NULL when out of memory or there are none.
 */
void *points_write(struct points *points, uint32_t base, uint32_t global_bytes,
		   struct stream *const *streams, size_t *size);

#endif
