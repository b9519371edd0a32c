/* SPDX-License-Identifier: MIT */
/*
 * The driver's files of a card in sysfs (Documentation/driver/sysfs-driver-npu). Reading them asks
 * the driver, not the device: it works for every user, and never waits for a device that hangs.
 */
#ifndef NPU_COMMON_CARD_FILES_H
#define NPU_COMMON_CARD_FILES_H

#include <stddef.h>
#include <stdint.h>

#define CARD_LINE_BYTES 256

/** card_file_open() - a descriptor of @file of the card accelN; a negative errno
 * @root: "" for the system's /sys; a folder that holds another one, for tests
 */
int card_file_open(const char *root, const char *card, const char *file, int flags);

/** card_file_line() - its first line, as much as there is room for; 0, or a negative errno */
int card_file_line(const char *root, const char *card, const char *file, char *text, size_t bytes);

/** card_file_number() - the number in it; 0, or a negative errno (-EPROTO: it holds none) */
int card_file_number(const char *root, const char *card, const char *file, uint64_t *number);

#endif
