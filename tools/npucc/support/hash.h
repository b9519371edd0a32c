/* SPDX-License-Identifier: MIT */
#ifndef NPUCC_SUPPORT_HASH_H
#define NPUCC_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* hash_bytes - FNV-1a; who makes bytes to collide makes the compiler slow and nothing worse. */
uint64_t hash_bytes(const void *bytes, size_t size);

#endif
