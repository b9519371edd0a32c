// SPDX-License-Identifier: MIT
/*
 * A specification for container engines (CDI 0.5.0): with it in /etc/cdi, the option
 * --device npu.local/npu=0 hands a card into a container, =all every one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define KIND "npu.local/npu"
#define NODES "/dev/accel/accel"

static void add_text(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void add_node(struct json_object *nodes, const char *path)
{
	struct json_object *node = json_object_new_object();

	add_text(node, "path", path);
	add_text(node, "permissions", "rw");
	json_object_array_add(nodes, node);
}

static void add_device(struct json_object *devices, const char *name, struct json_object *nodes)
{
	struct json_object *device = json_object_new_object();
	struct json_object *edits = json_object_new_object();

	json_object_object_add(edits, "deviceNodes", nodes);
	add_text(device, "name", name);
	json_object_object_add(device, "containerEdits", edits);
	json_object_array_add(devices, device);
}

struct json_object *ctl_make_cdi(const struct npurt_device_entry *entries, size_t count)
{
	struct json_object *root, *devices = json_object_new_array();
	struct json_object *all = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *nodes;

		if (strncmp(entries[i].name, NODES, strlen(NODES)))
			continue;
		nodes = json_object_new_array();
		add_node(nodes, entries[i].name);
		add_node(all, entries[i].name);
		add_device(devices, entries[i].name + strlen(NODES), nodes);
	}
	if (!json_object_array_length(all)) {
		json_object_put(all);
		json_object_put(devices);
		return NULL;
	}
	add_device(devices, "all", all);
	root = json_object_new_object();
	add_text(root, "cdiVersion", "0.5.0");
	add_text(root, "kind", KIND);
	json_object_object_add(root, "devices", devices);
	return root;
}

int ctl_cdi(void)
{
	struct npurt_device_entry *entries;
	struct json_object *root;
	size_t count;
	int status = ctl_devices(&entries, &count);

	if (status)
		return status;
	root = ctl_make_cdi(entries, count);
	free(entries);
	if (!root) {
		fputs("npu-ctl: cdi: there is no card to hand into containers: is the driver "
		      "loaded ('modprobe npu')? A sim: device needs no handing in\n",
		      stderr);
		return DEVICE_STATUS_NONE;
	}
	ctl_print_json(root);
	return 0;
}
