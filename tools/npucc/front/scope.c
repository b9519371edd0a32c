// SPDX-License-Identifier: MIT
#include "scope.h"

#include <stdlib.h>
#include <string.h>

#include "../support/hash.h"

#define FIRST_BUCKETS 64u

struct scope_entry {
	struct scope_entry *next;
	uint64_t hash;
	struct wire_bytes name;
	struct graph_value *value;
};

void scope_open(struct import_scope *scope, struct import_scope *outer,
		const struct onnx_graph *graph)
{
	memset(scope, 0, sizeof(*scope));
	scope->outer = outer;
	scope->graph = graph;
}

void scope_close(struct import_scope *scope)
{
	free(scope->buckets);
	free(scope->infos);
	scope->buckets = NULL;
	scope->infos = NULL;
}

static int scope_grow(struct import_scope *scope)
{
	uint32_t wanted = scope->bucket_count ? scope->bucket_count * 4 : FIRST_BUCKETS, i;
	struct scope_entry **buckets;

	if (scope->count < scope->bucket_count)
		return 0;
	buckets = calloc(wanted, sizeof(struct scope_entry *));
	if (!buckets)
		return -1;
	for (i = 0; i < scope->bucket_count; i++) {
		struct scope_entry *entry = scope->buckets[i], *reversed = NULL;

		/* Later bindings come first in a chain and must do so afterwards. */
		while (entry) {
			struct scope_entry *next = entry->next;

			entry->next = reversed;
			reversed = entry;
			entry = next;
		}
		while (reversed) {
			struct scope_entry *next = reversed->next;
			struct scope_entry **bucket = &buckets[reversed->hash & (wanted - 1)];

			reversed->next = *bucket;
			*bucket = reversed;
			reversed = next;
		}
	}
	free(scope->buckets);
	scope->buckets = buckets;
	scope->bucket_count = wanted;
	return 0;
}

int scope_bind(struct import_scope *scope, struct arena *arena, struct wire_bytes name,
	       struct graph_value *value)
{
	struct scope_entry *entry = arena_alloc(arena, sizeof(*entry));
	struct scope_entry **bucket;

	if (!entry || scope_grow(scope))
		return -1;
	entry->name = name;
	entry->hash = hash_bytes(name.data, name.size);
	entry->value = value;
	bucket = &scope->buckets[entry->hash & (scope->bucket_count - 1)];
	entry->next = *bucket;
	*bucket = entry;
	scope->count++;
	return 0;
}

static struct graph_value *find_here(const struct import_scope *scope, uint64_t hash,
				     struct wire_bytes name)
{
	const struct scope_entry *entry;

	if (!scope->bucket_count)
		return NULL;
	entry = scope->buckets[hash & (scope->bucket_count - 1)];
	for (; entry; entry = entry->next)
		if (entry->hash == hash && onnx_equal(entry->name, name))
			return entry->value;
	return NULL;
}

struct graph_value *scope_find(const struct import_scope *scope, struct wire_bytes name)
{
	uint64_t hash = hash_bytes(name.data, name.size);
	struct graph_value *value;

	for (; scope; scope = scope->outer) {
		value = find_here(scope, hash, name);
		if (value || scope->function)
			return value;
	}
	return NULL;
}

const struct import_scope *scope_call(const struct import_scope *scope)
{
	for (; scope; scope = scope->outer)
		if (scope->function)
			return scope;
	return NULL;
}

const struct onnx_function *scope_function(const struct import_scope *scope)
{
	const struct import_scope *call = scope_call(scope);

	return call ? call->function : NULL;
}

static const struct onnx_value_info *info_at(const struct onnx_graph *graph, uint64_t index)
{
	/* What the graph says of its outputs counts more. */
	if (index < graph->output_count)
		return &graph->outputs[index];
	return &graph->value_infos[index - graph->output_count];
}

/* Slots hold one more than an index, 0 when free; the first of a name stays. */
static int index_infos(struct import_scope *scope)
{
	uint64_t count = (uint64_t)scope->graph->output_count + scope->graph->value_info_count, i;
	uint64_t slots = 16;

	while (slots < count * 2)
		slots *= 2;
	scope->infos = calloc(slots, sizeof(*scope->infos));
	if (!scope->infos)
		return -1;
	scope->info_slots = slots;
	for (i = 0; i < count; i++) {
		struct wire_bytes name = info_at(scope->graph, i)->name;
		uint64_t slot = hash_bytes(name.data, name.size) & (slots - 1);

		while (scope->infos[slot])
			slot = (slot + 1) & (slots - 1);
		scope->infos[slot] = i + 1;
	}
	return 0;
}

const struct onnx_value_info *scope_value_info(struct import_scope *scope, const char *name,
					       size_t length)
{
	struct wire_bytes bytes = { (const uint8_t *)name, length };
	uint64_t slot;

	if (!scope->graph || (!scope->infos && index_infos(scope)))
		return NULL;
	slot = hash_bytes(bytes.data, bytes.size) & (scope->info_slots - 1);
	for (; scope->infos[slot]; slot = (slot + 1) & (scope->info_slots - 1)) {
		const struct onnx_value_info *info = info_at(scope->graph, scope->infos[slot] - 1);

		if (onnx_equal(info->name, bytes))
			return info;
	}
	return NULL;
}
