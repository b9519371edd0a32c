/* SPDX-License-Identifier: MIT */
/*
 * Windows of global SRAM: first fit, at most one a slot. Pure: no use of hardware.
 */
#ifndef FIRMWARE_WINDOW_H
#define FIRMWARE_WINDOW_H

#include "types.h"

#define WINDOW_ALIGN	64u

/**
 * struct window_map - who has which bytes
 * @bytes:	of global SRAM, a multiple of WINDOW_ALIGN
 * @count:	entries of @order
 * @order:	slots that have a window, by rising base
 * @base:	a slot's window; only for those in @order
 * @size:	its bytes, a multiple of WINDOW_ALIGN, not 0
 */
struct window_map {
	u32 bytes;
	u32 count;
	u8 order[SLOTS_MAX];
	u32 base[SLOTS_MAX];
	u32 size[SLOTS_MAX];
};

/**
 * window_init() - nobody has anything
 * @bytes:	of global SRAM; a rest below WINDOW_ALIGN is left unused
 */
void window_init(struct window_map *map, u32 bytes);

/**
 * window_find() - look for the lowest place
 * @bytes:	wanted; rounded up to WINDOW_ALIGN
 * @without:	slots, one bit each, whose windows count as free
 * @base:	set on success
 *
 * Returns true when there is room. 0 bytes always fit, at 0.
 */
bool window_find(const struct window_map *map, u32 bytes, u32 without, u32 *base);

/**
 * window_unused() - whether no window has any of @bytes from @base
 */
bool window_unused(const struct window_map *map, u32 base, u32 bytes);

/**
 * window_take() - give a slot that has none its window
 * @base:	from window_find() with the same @bytes, @without being empty
 * @bytes:	0 takes nothing
 */
void window_take(struct window_map *map, unsigned int slot, u32 base, u32 bytes);

/**
 * window_release() - take a slot's window back, if it has one
 */
void window_release(struct window_map *map, unsigned int slot);

#endif /* FIRMWARE_WINDOW_H */
