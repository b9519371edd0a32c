/* SPDX-License-Identifier: MIT */
/* Words for the device's numbers, for sentences of the library and of tools. */
#ifndef NPURT_WORDS_H
#define NPURT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/** npurt_describe_error() - what an enum npu_error means; never NULL */
const char *npurt_describe_error(uint32_t error);

/** npurt_is_memory_error() - the error tells an address or an offset in SRAM */
bool npurt_is_memory_error(uint32_t error);

/** npurt_is_sram_error() - ... an offset in SRAM */
bool npurt_is_sram_error(uint32_t error);

/** npurt_access_name() - what an enum npu_fault_access did, as in "reading address" */
const char *npurt_access_name(uint32_t access);

#endif /* NPURT_WORDS_H */
