/* SPDX-License-Identifier: MIT */
/*
 * What tasks are given: clusters and a window of global SRAM, kept by slot. Pure: no use of
 * hardware.
 */
#ifndef FIRMWARE_RESOURCES_H
#define FIRMWARE_RESOURCES_H

#include "types.h"
#include "window.h"

/**
 * struct resources - what the device has and which slot holds how much
 * @clusters_all:	mask of the device's clusters
 * @holders:		slots that hold something, one bit each
 * @clusters:		mask held by each of them
 * @windows:		windows held
 */
struct resources {
	u32 clusters_all;
	u32 holders;
	u32 clusters[SLOTS_MAX];
	struct window_map windows;
};

/* What a task wants: neighbouring clusters, at least one, and bytes of global SRAM. */
struct resources_need {
	u32 clusters;
	u32 bytes;
};

/* What it gets. */
struct resources_grant {
	u32 clusters;	/* mask */
	u32 base;
	u32 bytes;
};

/**
 * resources_init() - nobody holds anything
 * @clusters:	1..CLUSTERS_MAX
 * @bytes:	of global SRAM
 */
void resources_init(struct resources *resources, u32 clusters, u32 bytes);

/**
 * resources_possible() - whether the idle device could meet @need
 */
bool resources_possible(const struct resources *resources, const struct resources_need *need);

/**
 * resources_find() - look for the lowest clusters and the lowest window that are free
 * @without:	slots, one bit each, that count as holding nothing
 * @grant:	set on success
 *
 * Returns true when @need can be met. Nothing is taken yet.
 */
bool resources_find(const struct resources *resources, const struct resources_need *need,
		    u32 without, struct resources_grant *grant);

/**
 * resources_unused() - whether nobody holds anything of an earlier grant
 */
bool resources_unused(const struct resources *resources, const struct resources_grant *grant);

/**
 * resources_take() - note a grant for a slot, in the place of what it held
 * @grant:	from resources_find(), @without being this slot or nothing
 */
void resources_take(struct resources *resources, unsigned int slot,
		    const struct resources_grant *grant);

/**
 * resources_enough_with() - whether @need, which is possible, could be met if @clusters were free
 * @without:	slots, one bit each, that count as holding nothing
 */
bool resources_enough_with(const struct resources *resources, const struct resources_need *need,
			   u32 without, u32 clusters);

/**
 * resources_shrink() - a slot gave clusters back
 * @clusters:	mask that it still holds, part of what it held
 */
void resources_shrink(struct resources *resources, unsigned int slot, u32 clusters);

/**
 * resources_lowest() - the lowest @count of the clusters a slot holds, as a mask; all when fewer
 */
u32 resources_lowest(const struct resources *resources, unsigned int slot, u32 count);

/**
 * resources_window_fits() - whether a window of @bytes is free while all but @slot keep theirs
 */
bool resources_window_fits(const struct resources *resources, u32 bytes, unsigned int slot);

/**
 * resources_release() - a slot holds nothing any more
 */
void resources_release(struct resources *resources, unsigned int slot);

/**
 * resources_held() - what a slot holds, as a need
 */
struct resources_need resources_held(const struct resources *resources, unsigned int slot);

/**
 * resources_plan() - whose grants have to go so that @need can be met
 * @without:	slots that count as holding nothing: the asking one, and those whose grants are
 *		being taken back already
 * @victims:	slots that may be robbed, those to be robbed first first
 * @count:	of them, at most SLOTS_MAX
 * @robbed:	set on success: slots out of @victims, none of which could be spared (all others
 *		being robbed); none when @need can be met as soon as @without are done
 *
 * Returns false when even all of them would not do.
 */
bool resources_plan(const struct resources *resources, const struct resources_need *need,
		    u32 without, const u8 *victims, u32 count, u32 *robbed);

#endif /* FIRMWARE_RESOURCES_H */
