/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be traced, by tracefs. Documentation/driver/tracepoints.rst says what each means. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npu

#if !defined(__NPU_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __NPU_TRACE_H__

#include <linux/tracepoint.h>

#include <drm/drm_file.h>

#include "npu_wait.h"

TRACE_DEFINE_ENUM(NPU_WAIT_SLEEP);
TRACE_DEFINE_ENUM(NPU_WAIT_URING);
TRACE_DEFINE_ENUM(NPU_WAIT_SYNCOBJ);

#define npu_show_wait_kind(kind)				\
	__print_symbolic(kind,					\
			 { NPU_WAIT_SLEEP, "sleep" },		\
			 { NPU_WAIT_URING, "uring" },		\
			 { NPU_WAIT_SYNCOBJ, "syncobj" })

TRACE_DEFINE_ENUM(DRM_NPU_CTX_GUILTY);
TRACE_DEFINE_ENUM(DRM_NPU_CTX_INNOCENT);

#define npu_show_context_state(state)				\
	__print_symbolic(state,					\
			 { DRM_NPU_CTX_GUILTY, "guilty" },	\
			 { DRM_NPU_CTX_INNOCENT, "innocent" })

TRACE_DEFINE_ENUM(NPU_RESET_BEGIN);
TRACE_DEFINE_ENUM(NPU_RESET_START);
TRACE_DEFINE_ENUM(NPU_RESET_WORKS);
TRACE_DEFINE_ENUM(NPU_RESET_DEAD);

#define npu_show_reset_step(step)				\
	__print_symbolic(step,					\
			 { NPU_RESET_BEGIN, "begin" },		\
			 { NPU_RESET_START, "start" },		\
			 { NPU_RESET_WORKS, "works" },		\
			 { NPU_RESET_DEAD, "dead" })

/* -------------------------------------------------------------------------------- contexts */

TRACE_EVENT(npu_context_create,
	    TP_PROTO(const struct npu_context *ctx),
	    TP_ARGS(ctx),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, id)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->id = ctx->id;),
	    TP_printk("accel=%u context=%u id=%u", __entry->accel, __entry->context, __entry->id)
);

TRACE_EVENT(npu_context_destroy,
	    TP_PROTO(const struct npu_context *ctx),
	    TP_ARGS(ctx),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;),
	    TP_printk("accel=%u context=%u", __entry->accel, __entry->context)
);

TRACE_EVENT(npu_context_fail,
	    TP_PROTO(const struct npu_context *ctx, u32 state, int error),
	    TP_ARGS(ctx, state, error),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, state)
			     __field(int, error)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->state = state;
			   __entry->error = error;),
	    TP_printk("accel=%u context=%u state=%s error=%d", __entry->accel, __entry->context,
		      npu_show_context_state(__entry->state), __entry->error)
);

TRACE_EVENT(npu_bind,
	    TP_PROTO(const struct npu_context *ctx, const struct drm_npu_bind_op *op, int result),
	    TP_ARGS(ctx, op, result),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, type)
			     __field(u32, flags)
			     __field(u64, va)
			     __field(u64, bytes)
			     __field(int, result)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->type = op->type;
			   __entry->flags = op->flags;
			   __entry->va = op->va;
			   __entry->bytes = op->bytes;
			   __entry->result = result;),
	    TP_printk("accel=%u context=%u type=%s flags=%#x va=%#llx bytes=%#llx result=%d",
		      __entry->accel, __entry->context,
		      __entry->type == DRM_NPU_BIND_MAP ? "map" : "unmap", __entry->flags,
		      __entry->va, __entry->bytes, __entry->result)
);

TRACE_EVENT(npu_fault,
	    TP_PROTO(const struct npu_context *ctx, const struct npu_fault *fault),
	    TP_ARGS(ctx, fault),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, queue)
			     __field(u32, task)
			     __field(u32, error)
			     __field(u32, access)
			     __field(u32, cluster)
			     __field(u64, address)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->queue = le32_to_cpu(fault->header) >> 24;
			   __entry->task = le32_to_cpu(fault->task_id);
			   __entry->error = (le32_to_cpu(fault->header) >> 8) & 0xff;
			   __entry->access = le32_to_cpu(fault->access);
			   __entry->cluster = le32_to_cpu(fault->cluster);
			   __entry->address = le64_to_cpu(fault->address);),
	    TP_printk("accel=%u context=%u queue=%u task=%#x error=%u access=%u cluster=%u address=%#llx",
		      __entry->accel, __entry->context, __entry->queue, __entry->task,
		      __entry->error, __entry->access, __entry->cluster, __entry->address)
);

/* ---------------------------------------------------------------------- queues and doorbells */

TRACE_EVENT(npu_queue_create,
	    TP_PROTO(const struct npu_queue *queue),
	    TP_ARGS(queue),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, queue)
			     __field(u32, id)
			     __field(u32, priority)
			     __field(u32, ring_log2)
			     __field(u64, ring)
			     __field(u64, first)),
	    TP_fast_assign(__entry->accel = queue->ctx->ndev->drm.accel->index;
			   __entry->context = queue->ctx->index;
			   __entry->queue = queue->index;
			   __entry->id = queue->id;
			   __entry->priority = queue->setup.priority;
			   __entry->ring_log2 = queue->setup.ring_log2;
			   __entry->ring = queue->setup.ring;
			   __entry->first = queue->place;),
	    TP_printk("accel=%u context=%u queue=%u id=%u priority=%u ring_log2=%u ring=%#llx first=%llu",
		      __entry->accel, __entry->context, __entry->queue, __entry->id,
		      __entry->priority, __entry->ring_log2, __entry->ring, __entry->first)
);

TRACE_EVENT(npu_queue_destroy,
	    TP_PROTO(const struct npu_queue *queue),
	    TP_ARGS(queue),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, queue)),
	    TP_fast_assign(__entry->accel = queue->ctx->ndev->drm.accel->index;
			   __entry->context = queue->ctx->index;
			   __entry->queue = queue->index;),
	    TP_printk("accel=%u context=%u queue=%u", __entry->accel, __entry->context,
		      __entry->queue)
);

TRACE_EVENT(npu_queue_stop,
	    TP_PROTO(const struct npu_context *ctx, const struct npu_queue *queue, u32 error),
	    TP_ARGS(ctx, queue, error),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, queue)
			     __field(u32, error)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->queue = queue->index;
			   __entry->error = error;),
	    TP_printk("accel=%u context=%u queue=%u error=%u", __entry->accel, __entry->context,
		      __entry->queue, __entry->error)
);

TRACE_EVENT(npu_doorbell_fault,
	    TP_PROTO(const struct npu_device *ndev, const struct npu_queue *queue, bool wakes),
	    TP_ARGS(ndev, queue, wakes),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, queue)
			     __field(bool, wakes)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->queue = queue->index;
			   __entry->wakes = wakes;),
	    TP_printk("accel=%u queue=%u wakes=%d", __entry->accel, __entry->queue, __entry->wakes)
);

TRACE_EVENT(npu_doorbell_signal,
	    TP_PROTO(const struct npu_device *ndev, const struct npu_queue *queue, u32 sem,
		     u64 add),
	    TP_ARGS(ndev, queue, sem, add),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, queue)
			     __field(u32, sem)
			     __field(u64, add)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->queue = queue->index;
			   __entry->sem = sem;
			   __entry->add = add;),
	    TP_printk("accel=%u queue=%u sem=%u add=%llu", __entry->accel, __entry->queue,
		      __entry->sem, __entry->add)
);

/* ----------------------------------------------------------------------------------- waits */

TRACE_EVENT(npu_wait_begin,
	    TP_PROTO(const struct npu_context *ctx, const struct npu_wait *wait,
		     enum npu_wait_kind kind),
	    TP_ARGS(ctx, wait, kind),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, kind)
			     __field(u32, count)
			     __field(bool, all)
			     __field(u32, sem)
			     __field(u64, value)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->kind = kind;
			   __entry->count = wait->count;
			   __entry->all = wait->all;
			   __entry->sem = wait->waiters[0].sem;
			   __entry->value = wait->waiters[0].node.value;),
	    TP_printk("accel=%u context=%u kind=%s count=%u all=%d sem=%u value=%llu",
		      __entry->accel, __entry->context, npu_show_wait_kind(__entry->kind),
		      __entry->count, __entry->all, __entry->sem, __entry->value)
);

TRACE_EVENT(npu_wait_end,
	    TP_PROTO(const struct npu_context *ctx, const struct npu_wait *wait,
		     enum npu_wait_kind kind, int result),
	    TP_ARGS(ctx, wait, kind, result),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, context)
			     __field(u32, kind)
			     __field(u32, sem)
			     __field(u64, value)
			     __field(int, result)),
	    TP_fast_assign(__entry->accel = ctx->ndev->drm.accel->index;
			   __entry->context = ctx->index;
			   __entry->kind = kind;
			   __entry->sem = wait->waiters[0].sem;
			   __entry->value = wait->waiters[0].node.value;
			   __entry->result = min(result, 0);),
	    TP_printk("accel=%u context=%u kind=%s sem=%u value=%llu result=%d",
		      __entry->accel, __entry->context, npu_show_wait_kind(__entry->kind),
		      __entry->sem, __entry->value, __entry->result)
);

/* ------------------------------------------------------------------------------- the device */

TRACE_EVENT(npu_irq,
	    TP_PROTO(const struct npu_device *ndev, u32 causes),
	    TP_ARGS(ndev, causes),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, causes)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->causes = causes;),
	    TP_printk("accel=%u causes=%s", __entry->accel,
		      __print_flags(__entry->causes, "|",
				    { NPU_IRQ_MAILBOX, "mailbox" }, { NPU_IRQ_EVENT, "event" },
				    { NPU_IRQ_FAULT, "fault" }, { NPU_IRQ_FATAL, "fatal" }))
);

TRACE_EVENT(npu_drain,
	    TP_PROTO(const struct npu_device *ndev, u32 events, u32 faults),
	    TP_ARGS(ndev, events, faults),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, events)
			     __field(u32, faults)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->events = events;
			   __entry->faults = faults;),
	    TP_printk("accel=%u events=%u faults=%u", __entry->accel, __entry->events,
		      __entry->faults)
);

TRACE_EVENT(npu_reset,
	    TP_PROTO(const struct npu_device *ndev, enum npu_reset_step step, const char *why),
	    TP_ARGS(ndev, step, why),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(u32, step)
			     __string(why, why)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->step = step;
			   __assign_str(why);),
	    TP_printk("accel=%u step=%s why=\"%s\"", __entry->accel,
		      npu_show_reset_step(__entry->step), __get_str(why))
);

TRACE_EVENT(npu_suspend,
	    TP_PROTO(const struct npu_device *ndev, bool system, int result),
	    TP_ARGS(ndev, system, result),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(bool, system)
			     __field(int, result)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->system = system;
			   __entry->result = result;),
	    TP_printk("accel=%u system=%d result=%d", __entry->accel, __entry->system,
		      __entry->result)
);

TRACE_EVENT(npu_resume,
	    TP_PROTO(const struct npu_device *ndev, int result),
	    TP_ARGS(ndev, result),
	    TP_STRUCT__entry(__field(u32, accel)
			     __field(int, result)),
	    TP_fast_assign(__entry->accel = ndev->drm.accel->index;
			   __entry->result = result;),
	    TP_printk("accel=%u result=%d", __entry->accel, __entry->result)
);

#endif /* __NPU_TRACE_H__ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE npu_trace
#include <trace/define_trace.h>
