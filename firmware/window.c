// SPDX-License-Identifier: MIT
/*
 * Windows of global SRAM. All loops go over the slots that have one: SLOTS_MAX turns at most.
 */
#include "window.h"

void window_init(struct window_map *map, u32 bytes)
{
	map->bytes = bytes & ~(WINDOW_ALIGN - 1);
	map->count = 0;
}

/* @bytes is not above the map's size, so rounding up cannot overflow. */
static u32 round_up(u32 bytes)
{
	return (bytes + WINDOW_ALIGN - 1) & ~(WINDOW_ALIGN - 1);
}

bool window_find(const struct window_map *map, u32 bytes, u32 without, u32 *base)
{
	u32 place = 0;

	*base = 0;
	if (bytes == 0)
		return true;
	if (bytes > map->bytes)
		return false;
	bytes = round_up(bytes);
	for (u32 i = 0; i < map->count; i++) {
		unsigned int slot = map->order[i];

		if (without & BIT(slot))
			continue;
		if (map->base[slot] - place >= bytes)
			break;
		place = map->base[slot] + map->size[slot];
	}
	*base = place;
	return map->bytes - place >= bytes;
}

bool window_unused(const struct window_map *map, u32 base, u32 bytes)
{
	for (u32 i = 0; i < map->count; i++) {
		unsigned int slot = map->order[i];

		if (base < map->base[slot] + map->size[slot] && map->base[slot] < base + bytes)
			return false;
	}
	return true;
}

void window_take(struct window_map *map, unsigned int slot, u32 base, u32 bytes)
{
	u32 i;

	if (bytes == 0)
		return;
	for (i = map->count; i && map->base[map->order[i - 1]] > base; i--)
		map->order[i] = map->order[i - 1];
	map->order[i] = (u8)slot;
	map->base[slot] = base;
	map->size[slot] = round_up(bytes);
	map->count++;
}

void window_release(struct window_map *map, unsigned int slot)
{
	u32 kept = 0;

	for (u32 i = 0; i < map->count; i++) {
		if (map->order[i] != slot)
			map->order[kept++] = map->order[i];
	}
	map->count = kept;
}
