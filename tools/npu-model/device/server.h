/* SPDX-License-Identifier: MIT */
/*
 * The card: a device model behind vfio-user messages. One client at a time; registers are answered
 * on the caller's thread, the device works on its own.
 */
#ifndef NPU_DEVICE_SERVER_H
#define NPU_DEVICE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct server;

struct server_options {
	const char *socket;
	const char *config;	/* as npu_model_create() */
	const char *fault;	/* script of faults, or NULL */
	bool mapped_doorbells;
	bool msi_only;
	bool stale_tlb;		/* a defect: invalidations are counted, and not done */
};

/**
 * server_create() - make the card and listen
 * @options:	copied, but the strings must stay
 *
 * Blocks SIGINT, SIGTERM and SIGUSR1 in the calling thread: server_run() takes them. Returns NULL
 * with a sentence in @error. To be freed with server_destroy().
 */
struct server *server_create(const struct server_options *options, char *error,
			     size_t error_size);

/**
 * server_run() - serve clients, one after the other, until SIGINT or SIGTERM
 *
 * Every client finds the card as after power on. SIGUSR1 prints counters to standard error.
 * Returns 0, or -1 with a sentence on standard error.
 */
int server_run(struct server *server);

/* server_destroy() - NULL is allowed. Removes the socket's file */
void server_destroy(struct server *server);

#endif
