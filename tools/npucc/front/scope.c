// SPDX-License-Identifier: MIT
#include "scope.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64u

struct scope_entry {
	struct scope_entry *next;
	uint64_t hash;
	struct wire_bytes name;
	struct graph_value *value;
};

/* FNV-1a; a model made to collide is slow to import and nothing worse. */
static uint64_t hash_bytes(struct wire_bytes bytes)
{
	uint64_t hash = 14695981039346656037ull, i;

	for (i = 0; i < bytes.size; i++)
		hash = (hash ^ bytes.data[i]) * 1099511628211ull;
	return hash;
}

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
	scope->buckets = NULL;
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
	entry->hash = hash_bytes(name);
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
	uint64_t hash = hash_bytes(name);
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

static const struct onnx_value_info *find_info(const struct onnx_value_info *infos, uint32_t count,
					       struct wire_bytes name)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (onnx_equal(infos[i].name, name))
			return &infos[i];
	return NULL;
}

const struct onnx_value_info *scope_value_info(const struct import_scope *scope, const char *name,
					       size_t length)
{
	struct wire_bytes bytes = { (const uint8_t *)name, length };
	const struct onnx_value_info *info;

	if (!scope->graph)
		return NULL;
	info = find_info(scope->graph->outputs, scope->graph->output_count, bytes);
	if (info)
		return info;
	return find_info(scope->graph->value_infos, scope->graph->value_info_count, bytes);
}
