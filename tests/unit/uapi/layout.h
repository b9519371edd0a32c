/* SPDX-License-Identifier: MIT */
/*
 * Sizes and offsets of the driver's interface, written down from its contract: the same for C and
 * C++, and for programs of 32 and of 64 bits. A change here breaks every program there is.
 */
#ifndef TEST_UAPI_LAYOUT_H
#define TEST_UAPI_LAYOUT_H

#include <stddef.h>

#include <drm/npu_accel.h>

#ifdef __cplusplus
#define HOLDS(condition) static_assert(condition, #condition)
#else
#define HOLDS(condition) _Static_assert(condition, #condition)
#endif

#define SIZE(type, bytes) HOLDS(sizeof(struct type) == (bytes))
#define AT(type, field, offset) HOLDS(offsetof(struct type, field) == (offset))

SIZE(drm_npu_array, 16);
AT(drm_npu_array, stride, 0);
AT(drm_npu_array, count, 4);
AT(drm_npu_array, array, 8);

SIZE(drm_npu_get_param, 16);
AT(drm_npu_get_param, param, 0);
AT(drm_npu_get_param, index, 4);
AT(drm_npu_get_param, value, 8);

SIZE(drm_npu_gem_create, 16);
AT(drm_npu_gem_create, size, 0);
AT(drm_npu_gem_create, flags, 8);
AT(drm_npu_gem_create, handle, 12);

SIZE(drm_npu_gem_info, 24);
AT(drm_npu_gem_info, handle, 0);
AT(drm_npu_gem_info, flags, 4);
AT(drm_npu_gem_info, size, 8);
AT(drm_npu_gem_info, mmap_offset, 16);

SIZE(drm_npu_gem_userptr, 24);
AT(drm_npu_gem_userptr, address, 0);
AT(drm_npu_gem_userptr, size, 8);
AT(drm_npu_gem_userptr, flags, 16);
AT(drm_npu_gem_userptr, handle, 20);

SIZE(drm_npu_ctx_create, 40);
AT(drm_npu_ctx_create, flags, 0);
AT(drm_npu_ctx_create, ctx, 4);
AT(drm_npu_ctx_create, semaphores, 8);
AT(drm_npu_ctx_create, pad, 12);
AT(drm_npu_ctx_create, semaphores_offset, 16);
AT(drm_npu_ctx_create, semaphores_bytes, 24);
AT(drm_npu_ctx_create, status_offset, 28);
AT(drm_npu_ctx_create, counters_offset, 32);
AT(drm_npu_ctx_create, pad2, 36);

SIZE(drm_npu_ctx_destroy, 8);
AT(drm_npu_ctx_destroy, ctx, 0);
AT(drm_npu_ctx_destroy, pad, 4);

SIZE(drm_npu_ctx_status, 56);
AT(drm_npu_ctx_status, ctx, 0);
AT(drm_npu_ctx_status, flags, 4);
AT(drm_npu_ctx_status, task_id, 8);
AT(drm_npu_ctx_status, state, 12);
AT(drm_npu_ctx_status, error, 16);
AT(drm_npu_ctx_status, queue, 20);
AT(drm_npu_ctx_status, faults, 24);
AT(drm_npu_ctx_status, fault_error, 28);
AT(drm_npu_ctx_status, fault_access, 32);
AT(drm_npu_ctx_status, fault_cluster, 36);
AT(drm_npu_ctx_status, fault_address, 40);
AT(drm_npu_ctx_status, fault_program_offset, 48);

SIZE(drm_npu_ctx_events, 24);
AT(drm_npu_ctx_events, ctx, 0);
AT(drm_npu_ctx_events, kinds, 4);
AT(drm_npu_ctx_events, flags, 8);
AT(drm_npu_ctx_events, faults, 12);
AT(drm_npu_ctx_events, user_data, 16);

SIZE(drm_npu_event, 32);
AT(drm_npu_event, base, 0);
AT(drm_npu_event, user_data, 8);
AT(drm_npu_event, ctx, 16);
AT(drm_npu_event, kind, 20);
AT(drm_npu_event, state, 24);
AT(drm_npu_event, faults, 28);

SIZE(drm_npu_bind_op, 40);
AT(drm_npu_bind_op, type, 0);
AT(drm_npu_bind_op, flags, 4);
AT(drm_npu_bind_op, handle, 8);
AT(drm_npu_bind_op, pad, 12);
AT(drm_npu_bind_op, offset, 16);
AT(drm_npu_bind_op, va, 24);
AT(drm_npu_bind_op, bytes, 32);

SIZE(drm_npu_vm_bind, 24);
AT(drm_npu_vm_bind, ctx, 0);
AT(drm_npu_vm_bind, failed, 4);
AT(drm_npu_vm_bind, ops, 8);

SIZE(drm_npu_queue_create, 56);
AT(drm_npu_queue_create, ctx, 0);
AT(drm_npu_queue_create, priority, 4);
AT(drm_npu_queue_create, ring, 8);
AT(drm_npu_queue_create, ring_log2, 16);
AT(drm_npu_queue_create, flags, 20);
AT(drm_npu_queue_create, queue, 24);
AT(drm_npu_queue_create, pad, 28);
AT(drm_npu_queue_create, doorbell_offset, 32);
AT(drm_npu_queue_create, doorbell_bytes, 40);
AT(drm_npu_queue_create, pad2, 44);
AT(drm_npu_queue_create, first, 48);

SIZE(drm_npu_queue_destroy, 8);
AT(drm_npu_queue_destroy, ctx, 0);
AT(drm_npu_queue_destroy, queue, 4);

SIZE(drm_npu_sem, 16);
AT(drm_npu_sem, sem, 0);
AT(drm_npu_sem, pad, 4);
AT(drm_npu_sem, value, 8);

SIZE(drm_npu_sem_wait, 40);
AT(drm_npu_sem_wait, ctx, 0);
AT(drm_npu_sem_wait, flags, 4);
AT(drm_npu_sem_wait, sems, 8);
AT(drm_npu_sem_wait, deadline_ns, 24);
AT(drm_npu_sem_wait, first, 32);
AT(drm_npu_sem_wait, pad, 36);

/* The whole number: direction, size, 'd', 0x40 + command. */
HOLDS(DRM_IOCTL_NPU_GET_PARAM == 0xc0106440u);
HOLDS(DRM_IOCTL_NPU_GEM_CREATE == 0xc0106441u);
HOLDS(DRM_IOCTL_NPU_GEM_INFO == 0xc0186442u);
HOLDS(DRM_IOCTL_NPU_CTX_CREATE == 0xc0286443u);
HOLDS(DRM_IOCTL_NPU_CTX_DESTROY == 0xc0086444u);
HOLDS(DRM_IOCTL_NPU_CTX_STATUS == 0xc0386445u);
HOLDS(DRM_IOCTL_NPU_VM_BIND == 0xc0186446u);
HOLDS(DRM_IOCTL_NPU_QUEUE_CREATE == 0xc0386447u);
HOLDS(DRM_IOCTL_NPU_QUEUE_DESTROY == 0xc0086448u);
HOLDS(DRM_IOCTL_NPU_SEM_WAIT == 0xc0286449u);

#endif /* TEST_UAPI_LAYOUT_H */
