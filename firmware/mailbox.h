/* SPDX-License-Identifier: MIT */
/*
 * The mailbox: messages from the host, replies and error events to it.
 */
#ifndef FIRMWARE_MAILBOX_H
#define FIRMWARE_MAILBOX_H

#include "types.h"

/**
 * mailbox_run() - do what can be done now
 * @rung:	the host sent a message or took one
 *
 * At most one message is taken. A destruction is answered by a later call, when nothing runs
 * any more; the next message waits until then.
 */
void mailbox_run(bool rung);

#endif /* FIRMWARE_MAILBOX_H */
