/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin [--wait] COUNT - a program whose events are defined while it runs (tapir/dynamic.h): it
 * fires COUNT each of Loaded and Called of provider Tapir-Test-Plugin, and Untyped as JSON. With
 * --wait it starts at SIGUSR1.
 */
// build: -I.
#include "target.h"
#include "tapir/dynamic.h"

#define PLUGIN "Tapir-Test-Plugin"

static const struct tapir_event_field fields[] = {
	{"Number", NULL, 0, 0, TAPIR_TYPE_U32, TAPIR_REPEAT_NONE, {0, 0}},
	{"Name", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}},
	{"Cost", NULL, 0, 0, TAPIR_TYPE_I64, TAPIR_REPEAT_NONE, {0, 0}},
};

static struct tapir_event *define(struct tapir_dynamic *plugin, const char *name, uint16_t id)
{
	const struct tapir_event_about about = {NULL, name, fields, id, id, 0, TAPIR_INFORMATIONAL,
						3,    0,    0,	    {0}};
	struct tapir_event *event;

	if (tapir_event__define(plugin, &about, &event) || tapir_dynamic__probe_error(plugin))
		target__die("tapir_event__define");
	return event;
}

static void fire(struct tapir_event *event, uint32_t number)
{
	struct {
		uint32_t number;
		char name[8];
		int64_t cost;
	} __attribute__((packed)) payload = {number, "plug-in", -(int64_t)number};

	tapir_event__fire(event, &payload, sizeof(payload));
}

int main(int argc, char **argv)
{
	struct tapir_dynamic *plugin;
	struct tapir_event *loaded, *called;
	long count;

	if (tapir_dynamic__new(PLUGIN, NULL, NULL, &plugin))
		return 1;
	loaded = define(plugin, "Loaded", 1);
	called = define(plugin, "Called", 2);
	target__start(&argc, argv);
	count = target__number(argc, argv, 1, 10);
	for (long i = 0; i < count; i++) {
		fire(loaded, (uint32_t)i);
		fire(called, (uint32_t)i);
		tapir_json__fire(PLUGIN, "Untyped", TAPIR_WARNING, 5, "{\"a\":1}");
	}
	printf("{\"fired\":%ld}\n", count);
	tapir_dynamic__free(plugin);
	return 0;
}
