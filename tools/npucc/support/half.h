/* SPDX-License-Identifier: MIT */
/*
 * Conversions between float and the 16-bit formats, in integer arithmetic so
 * that every machine and compiler gives the same bits.
 */
#ifndef NPUCC_SUPPORT_HALF_H
#define NPUCC_SUPPORT_HALF_H

#include <stdint.h>

/* half_to_float - exact; NaN payloads are kept. */
float half_to_float(uint16_t half);

/* half_from_float - round to nearest even, overflow to infinity, NaN becomes 0x7e00. */
uint16_t half_from_float(float number);

/*
 * half_from_constant - the same for constants of a model: a finite number beyond fp16 becomes the largest
 * one (65504). Masks of -3.4e38 are meant to be very small, not to make 0 * infinity NaN.
 */
uint16_t half_from_constant(float number);

/* bfloat16_to_float - exact. */
float bfloat16_to_float(uint16_t bits);

/* bfloat16_from_float - round to nearest even, NaN becomes 0x7fc0. */
uint16_t bfloat16_from_float(float number);

#endif
