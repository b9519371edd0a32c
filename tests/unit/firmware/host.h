/* SPDX-License-Identifier: MIT */
/*
 * A host for the whole device model that runs the firmware: memory at DMA address 0, contexts that
 * map all of it by one 1 GiB leaf (so a virtual address is the DMA address), queues, programs that
 * only take time, in the front end or in the MAC array.
 */
#ifndef TEST_FIRMWARE_HOST_H
#define TEST_FIRMWARE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/npu_mailbox.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"
#include "npu_model.h"

#define HOST_QUEUES	64
#define HOST_RING_LOG2	5
#define HOST_RECORDS	(1u << HOST_RING_LOG2)	/* a queue */

struct host {
	struct npu_model *model;
	const char *image;
	uint8_t *memory;
	uint64_t index[HOST_QUEUES];	/* packets written */
	uint32_t programs;		/* made */
	uint64_t free;			/* address of what host_alloc() gives next */
	uint16_t sequence;
	uint32_t reports;
	struct npu_message report;	/* the last ERROR_EVENT */
};

/**
 * host_image() - the path of the firmware's image, the test's only argument; exits without one
 */
const char *host_image(int count, char **arguments);

/**
 * host_create() - a device of configuration @config with the firmware at @path, READY
 */
struct host *host_create(const char *config, const char *path);
void host_destroy(struct host *host);

/**
 * host_restart() - reset the device and boot the firmware again; memory stays as it is
 */
void host_restart(struct host *host);

/**
 * host_idle() - let the device go on until nothing moves, alarms included; fails after @limit
 */
void host_idle(struct host *host, uint64_t limit);

/**
 * host_call() - send a message, wait for the reply; returns its status
 *
 * host_post() and host_reply() are its halves.
 */
void host_post(struct host *host, struct npu_message *message);
uint32_t host_reply(struct host *host, struct npu_message *message);
uint32_t host_call(struct host *host, struct npu_message *message);
uint32_t host_call1(struct host *host, unsigned int kind, uint32_t argument);

/* Both must succeed. */
void host_context(struct host *host, uint32_t context);
void host_queue(struct host *host, uint32_t queue, uint32_t context, uint32_t priority);

/**
 * host_queue_again() - make a queue that was there before a restart, at its packet @index
 * @error:	that had stopped it, or 0
 */
void host_queue_again(struct host *host, uint32_t queue, uint32_t context, uint64_t index,
		      uint32_t error);

/**
 * host_program() - make a program; returns its address
 * @turns:	of an empty loop, on each cluster: about its time in cycles
 */
uint64_t host_program(struct host *host, unsigned int clusters, uint32_t window, uint32_t turns);

/**
 * host_end() - make a program of nothing but END: it ends with its first instruction
 */
uint64_t host_end(struct host *host, unsigned int clusters, uint32_t window);

/**
 * host_work() - make a program that keeps the MAC array of each cluster at work
 * @passes:	of HOST_PASS cycles each
 */
uint64_t host_work(struct host *host, unsigned int clusters, uint32_t passes);
#define HOST_PASS	2304

/**
 * host_points() - the same, with a point after each pass; to be run by host_exec_points()
 */
uint64_t host_points(struct host *host, unsigned int clusters, uint32_t passes);

/**
 * host_window_points() - the same on one cluster, all points needing the window: before the first
 * pass HOST_DATA bytes go there from argument 0, after the last one from there to argument 1
 */
uint64_t host_window_points(struct host *host, uint32_t passes);

/**
 * host_store() - make a program that copies HOST_DATA bytes, by host_exec_store()
 */
uint64_t host_store(struct host *host, unsigned int clusters);
#define HOST_DATA	64

/**
 * host_bad_program() - make one that the device refuses
 */
uint64_t host_bad_program(struct host *host);

/**
 * host_alloc() - zeroed memory beside what the functions here use; returns its address
 */
uint64_t host_alloc(struct host *host, uint64_t bytes);

/**
 * host_exec_task() - publish an EXEC of a program with all arguments
 * @flags:	NPU_EXEC_*
 * @arguments:	address of NPU_ARG_COUNT of them
 */
void host_exec_task(struct host *host, unsigned int queue, uint64_t program, uint64_t arguments,
		    uint32_t flags);

/* Publish packets, without a doorbell. @signal and semaphores: NPU_SEM_NONE for none. */
void host_exec(struct host *host, unsigned int queue, uint64_t program, unsigned int signal);
void host_exec_within(struct host *host, unsigned int queue, uint64_t program, uint32_t budget,
		      unsigned int signal);
void host_exec_store(struct host *host, unsigned int queue, uint64_t program, unsigned int signal,
		     const void *data);
void host_exec_points(struct host *host, unsigned int queue, uint64_t program);
void host_copy(struct host *host, unsigned int queue, unsigned int signal, const void *data);
void host_wait(struct host *host, unsigned int queue, unsigned int semaphore, uint64_t value);
void host_packet(struct host *host, unsigned int queue, const void *packet);
void host_ring(struct host *host, unsigned int queue);

/**
 * host_graph() - publish a GRAPH that stores HOST_DATA bytes in pieces
 * @list:	memory for its packets, which nobody else has until it has ended
 * @pieces:	a divisor of HOST_DATA
 */
void host_graph(struct host *host, unsigned int queue, uint64_t list, unsigned int pieces,
		const void *data);

/**
 * host_stored() - where the packet's task puts its data; zero before
 */
const void *host_stored(const struct host *host, unsigned int queue, uint64_t index);

/**
 * host_semaphore() - its value in memory
 */
uint64_t host_semaphore(const struct host *host, unsigned int context, unsigned int semaphore);

/**
 * host_record() - of the queue's packet number @index
 */
const struct npu_record *host_record(const struct host *host, unsigned int queue, uint64_t index);
const struct npu_ring_control *host_control(const struct host *host, unsigned int queue);

#endif /* TEST_FIRMWARE_HOST_H */
