/* SPDX-License-Identifier: MIT */
/* What a core dump tells, in sentences, each without a line feed at its end. */
#ifndef DUMP_SAY_H
#define DUMP_SAY_H

#include <stdio.h>

#include "dump.h"
#include "dump_model.h"

/** dump_say_failure() - which device, when, why, and what became of it */
void dump_say_failure(FILE *to, const struct dump *dump);

/** dump_say_signs() - what the registers show of it */
void dump_say_signs(FILE *to, const struct dump *dump);

/** dump_say_context() - whose a context is, and how it is */
void dump_say_context(FILE *to, const struct npu_coredump_context *context);

/** dump_say_fault() - what a task did that was ended; @model: NULL, or whose task it was */
void dump_say_fault(FILE *to, const struct npu_fault *fault, const struct dump_model *model);

/** dump_say_queue() - how a queue stood */
void dump_say_queue(FILE *to, const struct npu_coredump_queue *queue);

/** dump_packet_state() - "done", "next", "written", or "not written" */
const char *dump_packet_state(const struct npu_coredump_queue *queue, uint32_t i,
			      const void *packet);

/** dump_say_packet() - what a packet asks for, and what it waits for */
void dump_say_packet(FILE *to, const struct dump *dump, const struct npu_coredump_queue *queue,
		     const void *packet);

/** dump_say_event() - what the device told the driver */
void dump_say_event(FILE *to, const struct npu_event *event);

/** dump_say_advice() - what to do */
void dump_say_advice(FILE *to, const struct dump *dump);

#endif /* DUMP_SAY_H */
