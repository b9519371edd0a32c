/* SPDX-License-Identifier: MIT */
/*
 * IEEE half precision. Every function has a plain form and, where the processor has one, a
 * vector form with the same bits.
 */
#ifndef NPURT_HALF_H
#define NPURT_HALF_H

#include <stddef.h>
#include <stdint.h>

#define NPURT_HALF_NAN 0x7e00u

/**
 * npurt_half_from_double() - round once, to nearest even
 *
 * Return: the half's bits; NPURT_HALF_NAN for every NaN.
 */
uint16_t npurt_half_from_double(double value);

/**
 * npurt_half_to_float() - exact
 *
 * A NaN keeps its sign and payload, and becomes quiet.
 */
float npurt_half_to_float(uint16_t bits);

/**
 * npurt_halves_from_floats() - @count floats to halves; @to and @from need no alignment
 */
void npurt_halves_from_floats(void *to, const void *from, size_t count);
void npurt_halves_from_floats_plain(void *to, const void *from, size_t count);

/**
 * npurt_floats_from_halves() - @count halves to floats; @to and @from need no alignment
 */
void npurt_floats_from_halves(void *to, const void *from, size_t count);
void npurt_floats_from_halves_plain(void *to, const void *from, size_t count);

#endif /* NPURT_HALF_H */
