/* SPDX-License-Identifier: MIT */
/*
 * Command processor: slots, rings, packets. Manual: queues.rst and command-processor.rst.
 */
#ifndef NPU_MODEL_COMMAND_PROCESSOR_H
#define NPU_MODEL_COMMAND_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "bandwidth.h"
#include "event.h"
#include "npu/npu_packet.h"
#include "semaphore.h"
#include "task.h"

struct npu_model;

#define NPU_QUEUES_MAX		64
#define NPU_SLOTS_MAX		16
#define NPU_RETIRES		4

/* What a slot is doing; SLOT_STATE shows less. */
enum npu_slot_phase {
	NPU_PHASE_FREE = 0,
	NPU_PHASE_EMPTY,
	NPU_PHASE_FETCH,		/* a packet is on its way */
	NPU_PHASE_COMPARE,		/* semaphores are compared */
	NPU_PHASE_WAITING,
	NPU_PHASE_REQUEST,
	NPU_PHASE_SCRUB,
	NPU_PHASE_TASK,
	NPU_PHASE_SAVE_LATENCY,		/* preemption, command_preempt.c */
	NPU_PHASE_SAVE,
	NPU_PHASE_RESTORE_LATENCY,
	NPU_PHASE_RESTORE,
	NPU_PHASE_COPY_TURN,		/* the channel is busy with another slot's */
	NPU_PHASE_COPY_LATENCY,
	NPU_PHASE_COPY,
	NPU_PHASE_DELAY,		/* SIGNAL, TIMESTAMP */
	NPU_PHASE_STOPPED,
	NPU_PHASE_LEAVING,		/* detached but for a record still to be written */
};

union npu_packet {
	uint64_t words[NPU_PACKET_BYTES / 8];
	uint32_t header;		/* little endian */
	struct npu_packet_exec exec;
	struct npu_packet_wait wait;
	struct npu_packet_signal signal;
	struct npu_packet_copy copy;
	struct npu_packet_timestamp timestamp;
	struct npu_packet_graph graph;
};

/* What is written when a task has ended and its record is due. */
struct npu_retire {
	uint64_t time;
	uint8_t queue, context;
	uint64_t record_address;	/* 0: none */
	struct npu_record record;
	uint16_t signal;		/* semaphore or NPU_SEM_NONE */
	uint64_t ring;			/* VA of the ring, 0: read index stays */
	uint64_t read_index;
	uint64_t index;			/* the packet's own, or that of the GRAPH it is in */
	uint32_t events;		/* NPU_SLOT_EVENT_* to raise with it */
};

/* A GRAPH being run; it belongs to the queue, so it survives a change of slots. */
struct npu_graph {
	bool active;
	uint32_t count, next;		/* packets of the list */
	uint32_t patch_count, patch_next;
	uint64_t list, patches, record;
	uint32_t task_id;
	uint64_t start;
	struct npu_outcome outcome;	/* of the first task that failed, or DONE */
	struct npu_task_counters counters;
	uint64_t latched[NPU_SEMAPHORES_MAX];
};

/* A task that was taken off its clusters; it belongs to the queue, like a GRAPH being run. */
struct npu_saved_task {
	bool active;
	bool window_kept;		/* it comes back to the window it had, at window_base */
	uint32_t window_base;
	uint64_t start;
	uint64_t budget_left;		/* cycles */
	struct npu_task_counters counters;
};

/* The one translation a queue keeps for packets: their cost is the walk of a new page. */
struct npu_packet_page {
	bool valid;
	uint64_t page;
	uint64_t generation;
};

struct npu_queue {
	bool valid;
	uint8_t context, log2;
	bool attached;
	uint8_t slot;			/* when attached */
	bool rung;			/* a doorbell since the ring was last looked at */
	bool left_waiting;		/* detached while waiting for a semaphore */
	uint16_t awaited;		/* the first one that was not there yet */
	uint64_t awaited_value;
	uint32_t error;			/* enum npu_error */
	uint64_t ring;			/* VA */
	uint64_t read_index;
	struct npu_packet_page page[2];	/* ring, graph's list */
	struct npu_saved_task saved;
	struct npu_graph graph;
};

struct npu_slot {
	struct npu_alarm event;		/* end of the phase, or something to look at */
	struct npu_alarm retire_event;
	uint8_t number;
	uint8_t phase;			/* enum npu_slot_phase */
	uint8_t queue;
	bool detach;			/* at the next opportunity */
	uint64_t leaving_since;		/* of NPU_PHASE_LEAVING */
	uint32_t stop_error;		/* stop the queue after the retirement: enum npu_error */
	uint64_t stop_index;		/* the packet it is about */
	uint32_t events;		/* NPU_SLOT_EVENT_* */
	uint32_t left;			/* NPU_REG_SLOT_LEFT */
	uint32_t need_clusters, need_global;
	uint32_t window, window_bytes;	/* written by firmware */
	uint32_t grant;			/* mask in force */
	uint32_t grant_window, grant_window_bytes;	/* that came with it */
	bool revoke;			/* firmware wrote 0 while a task runs */
	bool preempt;			/* firmware wants the task off its clusters */
	bool keep;			/* ... and keeps its window for it */
	bool window_kept;		/* the point at which it is being saved needs that */
	uint64_t save_bursts;		/* of the transfer to or from the save area */
	struct npu_flow save_flow;
	uint64_t copy_start, copy_work_start;
	uint32_t patches_used;		/* of a graph, on the packet at hand */
	union npu_packet packet;
	struct npu_task task;
	uint32_t retire_first, retire_end;
	struct npu_retire retire[NPU_RETIRES];
};

struct npu_command_processor {
	struct npu_queue queue[NPU_QUEUES_MAX];
	struct npu_slot slot[NPU_SLOTS_MAX];
	uint64_t rung;			/* NPU_REG_CORE_DOORBELLS */
	uint32_t next;			/* NPU_REG_CORE_NEXT */
	uint64_t next_since;		/* when it was written */
	struct npu_flow copy;		/* the copy channel */
	int copy_slot;			/* who uses it, or -1 */
	uint8_t copy_turn[NPU_SLOTS_MAX];	/* who waits for it, in order */
	unsigned int copy_waiting;
};

/* ------------------------------------------------------- command_processor.c */

/** npu_command_init() - set what never changes */
void npu_command_init(struct npu_model *model);

/** npu_command_reset() - drop all queues and slots */
void npu_command_reset(struct npu_model *model);

/** npu_command_doorbell() - NPU_DOORBELL_RING */
void npu_command_doorbell(struct npu_model *model, unsigned int queue);

/** npu_command_signal() - NPU_DOORBELL_SIGNAL */
void npu_command_signal(struct npu_model *model, unsigned int queue, uint64_t value);

/** npu_command_semaphore_changed() - queues of a context that wait look again */
void npu_command_semaphore_changed(struct npu_model *model, unsigned int context);

/** npu_command_queue_read() - register @offset of a queue */
uint32_t npu_command_queue_read(const struct npu_model *model, unsigned int queue,
				uint32_t offset);

/** npu_command_queue_write() - the same, written; ignored while the queue is in a slot */
void npu_command_queue_write(struct npu_model *model, unsigned int queue, uint32_t offset,
			     uint32_t value);

/** npu_command_slot_read() - register @offset of a slot */
uint32_t npu_command_slot_read(const struct npu_model *model, unsigned int slot, uint32_t offset);

/** npu_command_slot_write() - the same, written */
void npu_command_slot_write(struct npu_model *model, unsigned int slot, uint32_t offset,
			    uint32_t value);

/** npu_command_slot_left() - NPU_REG_SLOT_LEFT */
uint32_t npu_command_slot_left(const struct npu_model *model, unsigned int slot);

/* What follows is shared by the command processor's own files. */

/** npu_slot_look() - look at the ring for the next packet, or leave the slot when asked to */
void npu_slot_look(struct npu_model *model, struct npu_slot *slot);

/** npu_slot_delay() - enter a phase that ends @cycles from now */
void npu_slot_delay(struct npu_model *model, struct npu_slot *slot, enum npu_slot_phase phase,
		    uint64_t cycles);

/** npu_slot_raise() - set NPU_SLOT_EVENT_* bits, interrupt the core */
void npu_slot_raise(struct npu_model *model, struct npu_slot *slot, uint32_t events);

/** npu_slot_stop() - stop the queue with an error of the packet @index */
void npu_slot_stop(struct npu_model *model, struct npu_slot *slot, uint32_t error, uint64_t index);

/** npu_slot_memory_stop() - the same for memory that faulted: a fault record too */
void npu_slot_memory_stop(struct npu_model *model, struct npu_slot *slot,
			  const struct npu_memory_error *error, enum npu_access access,
			  uint32_t queue_error);

/**
 * npu_slot_next() - the packet is done: count it, go on
 *
 * Writes the read index at once; npu_slot_retire() is for packets with a record.
 */
void npu_slot_next(struct npu_model *model, struct npu_slot *slot);

/** npu_slot_has_task() - whether there is a task on its clusters, be it on its way there or back */
static inline bool npu_slot_has_task(const struct npu_slot *slot)
{
	return slot->phase >= NPU_PHASE_SCRUB && slot->phase <= NPU_PHASE_RESTORE;
}

/** npu_slot_queue() - the queue in a slot */
struct npu_queue *npu_slot_queue(struct npu_model *model, const struct npu_slot *slot);

/** npu_queue_ring_core() - tell the firmware that a queue without a slot has work */
void npu_queue_ring_core(struct npu_model *model, unsigned int queue);

/** npu_queue_fetch_cycles() - a packet's fetch: a DRAM access, and the walk to a new page */
uint64_t npu_queue_fetch_cycles(struct npu_model *model, struct npu_queue *queue);

/**
 * npu_queue_set_sleeping() - nobody looks at the ring from now on: producers must ring
 *
 * Returns true when a packet is there.
 */
bool npu_queue_set_sleeping(struct npu_model *model, struct npu_queue *queue,
			    struct npu_memory_error *error);

/** npu_queue_clear_sleeping() - the ring is looked at again */
void npu_queue_clear_sleeping(struct npu_model *model, struct npu_queue *queue);

/* ------------------------------------------------------------ command_slot.c */

/** npu_slot_attach() - NPU_SLOT_ATTACH */
void npu_slot_attach(struct npu_model *model, struct npu_slot *slot, unsigned int queue);

/** npu_slot_detach() - NPU_SLOT_DETACH */
void npu_slot_detach(struct npu_model *model, struct npu_slot *slot);

/**
 * npu_slot_leave() - the queue leaves its slot, where another one may follow
 *
 * A record still to be written holds it for that long.
 */
void npu_slot_leave(struct npu_model *model, struct npu_slot *slot, bool waiting);

/** npu_queue_leave_work() - work that a queue outside the slots leaves behind is rung again */
void npu_queue_leave_work(struct npu_model *model, struct npu_queue *queue, unsigned int number,
			  bool waiting);

/** npu_command_next() - NPU_REG_CORE_NEXT is written */
void npu_command_next(struct npu_model *model, uint32_t value);

/* ---------------------------------------------------------- command_packet.c */

/** npu_packet_check() - enum npu_error of a packet's own copy, 0 when it is well formed */
uint32_t npu_packet_check(const struct npu_config *config, const union npu_packet *packet,
			  bool in_graph);

/** npu_packet_begin() - slot->packet has arrived: check it, start what it asks for */
void npu_packet_begin(struct npu_model *model, struct npu_slot *slot);

/** npu_packet_compare() - compare the semaphores; go on or wait */
void npu_packet_compare(struct npu_model *model, struct npu_slot *slot);

/** npu_packet_delayed() - SIGNAL or TIMESTAMP takes effect */
void npu_packet_delayed(struct npu_model *model, struct npu_slot *slot);

/* ------------------------------------------------------------ command_exec.c */

/** npu_exec_init() - set what never changes of a slot's task */
void npu_exec_init(struct npu_slot *slot);

/** npu_exec_admit() - the waits are met: read the program's header, start or ask for a grant */
void npu_exec_admit(struct npu_model *model, struct npu_slot *slot);

/** npu_exec_try() - start if the grant is enough, else enter (or stay in) REQUEST */
void npu_exec_try(struct npu_model *model, struct npu_slot *slot);

/** npu_exec_start() - scrubbed: the task starts */
void npu_exec_start(struct npu_model *model, struct npu_slot *slot);

/** npu_exec_kill() - end the slot's task (SCRUB or TASK) with NPU_STATUS_KILLED */
void npu_exec_kill(struct npu_model *model, struct npu_slot *slot);

/** npu_exec_stuck_clusters() - NPU_REG_CORE_STUCK: clusters that did not stop in time */
uint32_t npu_exec_stuck_clusters(const struct npu_model *model);

/** npu_exec_reset_clusters() - the same, written: the tasks there end */
void npu_exec_reset_clusters(struct npu_model *model, uint32_t clusters);

/** npu_exec_reject() - the task never starts; @stop: enum npu_error that stops the queue, or 0 */
void npu_exec_reject(struct npu_model *model, struct npu_slot *slot, uint32_t error,
		     uint64_t detail, uint32_t stop);

/** npu_command_task_ended() - a running task is over */
void npu_command_task_ended(struct npu_model *model, struct npu_task *task,
			    const struct npu_outcome *outcome);

/* --------------------------------------------------------- command_preempt.c */

/** npu_preempt_init() - set what never changes of a slot's transfers */
void npu_preempt_init(struct npu_slot *slot);

/** npu_preempt_ask() - the task leaves its clusters at its next point; @keep: NPU_SLOT_KEEP */
void npu_preempt_ask(struct npu_model *model, struct npu_slot *slot, bool keep);

/** npu_preempt_stops() - whether a cluster has to stop at its POINT number @point */
bool npu_preempt_stops(const struct npu_model *model, const struct npu_task *task, uint32_t point);

/**
 * npu_preempt_at_barrier() - all clusters of a running task have come to a barrier or POINT
 *
 * Returns true when the task is asked to leave and the barrier is a point: it is being saved, and
 * its clusters stay at the barrier until they are reset.
 */
bool npu_preempt_at_barrier(struct npu_model *model, struct npu_task *task);

/** npu_preempt_save() - the latency before a save is over */
void npu_preempt_save(struct npu_model *model, struct npu_slot *slot);

/** npu_preempt_transfer() - @slot->save_bursts to or from the save area: SAVE or RESTORE */
void npu_preempt_transfer(struct npu_model *model, struct npu_slot *slot,
			  enum npu_slot_phase phase);

/* --------------------------------------------------------- command_restore.c */

/** npu_restore_begin() - the queue's saved task has got clusters: bring it back */
void npu_restore_begin(struct npu_model *model, struct npu_slot *slot);

/** npu_restore_work() - the latency before a restore is over */
void npu_restore_work(struct npu_model *model, struct npu_slot *slot);

/** npu_restore_end() - everything has been read: the task goes on */
void npu_restore_end(struct npu_model *model, struct npu_slot *slot);

/** npu_preempt_cancel() - give up a save or restore under way, if there is one */
void npu_preempt_cancel(struct npu_model *model, struct npu_slot *slot);

/* ------------------------------------------------------------ command_copy.c */

/** npu_copy_init() - set what never changes of the copy channel */
void npu_copy_init(struct npu_model *model);

/** npu_copy_begin() - the slot's COPY takes the channel or waits for its turn */
void npu_copy_begin(struct npu_model *model, struct npu_slot *slot);

/** npu_copy_work() - the latency is over */
void npu_copy_work(struct npu_model *model, struct npu_slot *slot);

/** npu_copy_kill() - end a COPY with NPU_STATUS_KILLED */
void npu_copy_kill(struct npu_model *model, struct npu_slot *slot);

/* ---------------------------------------------------------- command_retire.c */

/**
 * npu_retire_task() - record, read index, semaphore, slot events are due a DRAM access from now
 * @record: filled in but for the status; @status is stored last
 *
 * Also counts the packet as done.
 */
void npu_retire_task(struct npu_model *model, struct npu_slot *slot, uint64_t record_address,
		     const struct npu_record *record, uint16_t signal, uint32_t events);

/** npu_retire_fill() - a record from an outcome and counters */
void npu_retire_fill(struct npu_record *record, uint32_t task_id, uint64_t start, uint64_t end,
		     const struct npu_outcome *outcome, const struct npu_task_counters *counters);

/** npu_retire_left() - NPU_REG_SLOT_LEFT, of a task or COPY that is over */
void npu_retire_left(struct npu_slot *slot, const struct npu_outcome *outcome);

/** npu_retire_handle() - handler of slot->retire_event */
void npu_retire_handle(struct npu_model *model, struct npu_alarm *event);

/** npu_retire_pending() - something is still to be written */
static inline bool npu_retire_pending(const struct npu_slot *slot)
{
	return slot->retire_first != slot->retire_end;
}

/* ----------------------------------------------------------- command_graph.c */

/** npu_graph_begin() - slot->packet is a GRAPH that starts */
void npu_graph_begin(struct npu_model *model, struct npu_slot *slot);

/** npu_graph_load() - read the list's next packet, patched, into slot->packet; enum npu_error */
uint32_t npu_graph_load(struct npu_model *model, struct npu_slot *slot,
			struct npu_memory_error *error);

/** npu_graph_account() - a packet with a record has ended inside a graph */
void npu_graph_account(struct npu_graph *graph, const struct npu_outcome *outcome,
		       const struct npu_task_counters *counters);

/**
 * npu_graph_packet_done() - the list's packet is done
 *
 * After the last one the graph's own record is due, and the GRAPH packet counts as done.
 */
void npu_graph_packet_done(struct npu_model *model, struct npu_slot *slot);

#endif /* NPU_MODEL_COMMAND_PROCESSOR_H */
