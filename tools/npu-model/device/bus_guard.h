/* SPDX-License-Identifier: MIT */
/*
 * A client that cuts off a file it shares would end this process by SIGBUS at the next access.
 * Under guard, such a page turns into zeros of our own instead: the device reads nonsense, which
 * is the client's loss alone.
 *
 * Thread safety: add and remove from one thread at a time.
 */
#ifndef NPU_DEVICE_BUS_GUARD_H
#define NPU_DEVICE_BUS_GUARD_H

#include <stddef.h>

/* bus_guard_install() - take over SIGBUS. Call once, before the others. */
void bus_guard_install(void);

/* bus_guard_add() - guard a file mapping; more than there is room for stay without guard */
void bus_guard_add(void *start, size_t size);

/* bus_guard_remove() - before it is unmapped; one that was not added is ignored */
void bus_guard_remove(void *start);

#endif
