// SPDX-License-Identifier: MIT
/*
 * Clusters and windows. Loops: SLOTS_MAX or CLUSTERS_MAX turns at most.
 */
#include "resources.h"

void resources_init(struct resources *resources, u32 clusters, u32 bytes)
{
	resources->clusters_all = lowest_mask(clusters);
	resources->holders = 0;
	window_init(&resources->windows, bytes);
}

static u32 count_bits(u32 word)
{
	u32 count = 0;

	while (word) {		/* 32 turns */
		word &= word - 1;
		count++;
	}
	return count;
}

bool resources_possible(const struct resources *resources, const struct resources_need *need)
{
	if (need->clusters == 0 || need->clusters > CLUSTERS_MAX)
		return false;
	return !(lowest_mask(need->clusters) & ~resources->clusters_all) &&
	       need->bytes <= resources->windows.bytes;
}

static u32 free_clusters(const struct resources *resources, u32 without)
{
	u32 free = resources->clusters_all;
	unsigned int slot;

	SET_EACH(slot, resources->holders & ~without)
		free &= ~resources->clusters[slot];
	return free;
}

static u32 find_neighbours(u32 free, u32 count)
{
	u32 mask = lowest_mask(count);

	/* A mask above all that is free cannot be in it, nor can the ones after it. */
	for (u32 turn = count; turn <= CLUSTERS_MAX && mask <= free; turn++) {
		if ((free & mask) == mask)
			return mask;
		mask <<= 1;
	}
	return 0;
}

bool resources_find(const struct resources *resources, const struct resources_need *need,
		    u32 without, struct resources_grant *grant)
{
	if (!resources_possible(resources, need))
		return false;
	grant->clusters = find_neighbours(free_clusters(resources, without), need->clusters);
	grant->bytes = need->bytes;
	return grant->clusters &&
	       window_find(&resources->windows, need->bytes, without, &grant->base);
}

bool resources_unused(const struct resources *resources, const struct resources_grant *grant)
{
	return !(grant->clusters & ~free_clusters(resources, 0)) &&
	       window_unused(&resources->windows, grant->base, grant->bytes);
}

void resources_take(struct resources *resources, unsigned int slot,
		    const struct resources_grant *grant)
{
	resources_release(resources, slot);
	resources->holders |= BIT(slot);
	resources->clusters[slot] = grant->clusters;
	window_take(&resources->windows, slot, grant->base, grant->bytes);
}

bool resources_enough_with(const struct resources *resources, const struct resources_need *need,
			   u32 without, u32 clusters)
{
	u32 base;

	return find_neighbours(free_clusters(resources, without) | clusters, need->clusters) &&
	       window_find(&resources->windows, need->bytes, without, &base);
}

bool resources_window_fits(const struct resources *resources, u32 bytes, unsigned int slot)
{
	u32 base;

	return window_find(&resources->windows, bytes, BIT(slot), &base);
}

void resources_shrink(struct resources *resources, unsigned int slot, u32 clusters)
{
	resources->clusters[slot] = clusters;
}

u32 resources_lowest(const struct resources *resources, unsigned int slot, u32 count)
{
	u32 lowest = 0;
	unsigned int bit;

	SET_EACH(bit, resources->clusters[slot]) {
		if (count-- == 0)
			break;
		lowest |= BIT(bit);
	}
	return lowest;
}

void resources_release(struct resources *resources, unsigned int slot)
{
	if (!(resources->holders & BIT(slot)))
		return;
	resources->holders &= ~BIT(slot);
	window_release(&resources->windows, slot);
}

struct resources_need resources_held(const struct resources *resources, unsigned int slot)
{
	const struct window_map *windows = &resources->windows;
	struct resources_need held = { 0, 0 };

	if (!(resources->holders & BIT(slot)))
		return held;
	held.clusters = count_bits(resources->clusters[slot]);
	for (u32 i = 0; i < windows->count; i++) {
		if (windows->order[i] == slot)
			held.bytes = windows->size[slot];
	}
	return held;
}

bool resources_plan(const struct resources *resources, const struct resources_need *need,
		    u32 without, const u8 *victims, u32 count, u32 *robbed)
{
	struct resources_grant grant;
	u32 all = without;
	u32 used = 0;

	while (!resources_find(resources, need, all, &grant)) {	/* `count` turns */
		if (used == count)
			return false;
		all |= BIT(victims[used++]);
	}
	/* Some were added before it was clear that they have nothing that helps. */
	for (u32 i = 0; i < used; i++) {
		u32 fewer = all & ~BIT(victims[i]);

		if (resources_find(resources, need, fewer, &grant))
			all = fewer;
	}
	*robbed = all & ~without;
	return true;
}
