/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin [--wait] [--no-images] [--later] COUNT - a program whose events are defined while it runs
 * (tapir/dynamic.h): it fires COUNT each of Loaded and Called of provider Tapir-Test-Plugin, and
 * Untyped as JSON. With
 * --wait it starts at SIGUSR1, with --no-images it may make no executable memory file, with
 * --later Called is defined when it starts, as is Opened of another provider, and nothing is fired
 * before both are on.
 */
// build: -I.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "target.h"
#include "tapir/dynamic.h"

#define PLUGIN	"Tapir-Test-Plugin"
#define ANOTHER "Tapir-Test-Plugin-Two"

static const struct tapir_event_field fields[] = {
	{"Number", NULL, 0, 0, TAPIR_TYPE_U32, TAPIR_REPEAT_NONE, {0, 0}},
	{"Name", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}},
	{"Cost", NULL, 0, 0, TAPIR_TYPE_I64, TAPIR_REPEAT_NONE, {0, 0}},
};

static int wanted_error;

/* memfd_create with MFD_EXEC fails, as it does with vm.memfd_noexec=2. */
static void forbid_images(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		target__die("seccomp");
	wanted_error = -EACCES;
}

static struct tapir_event *define(struct tapir_dynamic *plugin, const char *name, uint16_t id)
{
	const struct tapir_event_about about = {NULL, name, fields, id, id, 0, TAPIR_INFORMATIONAL,
						3,    0,    0,	    {0}};
	struct tapir_event *event;

	if (tapir_event__define(plugin, &about, &event) ||
	    tapir_dynamic__probe_error(plugin) != wanted_error)
		target__die("tapir_event__define");
	return event;
}

/* For 10 seconds at most. */
static void wait_until_on(const struct tapir_event *event)
{
	for (int i = 0; i < 10000 && !TAPIR_EVENT_ENABLED(*event); i++)
		usleep(1000);
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
	struct tapir_dynamic *plugin, *another = NULL;
	struct tapir_event *loaded, *called = NULL, *opened = NULL;
	int is_later;
	long count;

	if (target__option(&argc, argv, "--no-images"))
		forbid_images();
	if (tapir_dynamic__new(PLUGIN, NULL, NULL, &plugin))
		return 1;
	loaded = define(plugin, "Loaded", 1);
	is_later = target__option(&argc, argv, "--later");
	if (!is_later)
		called = define(plugin, "Called", 2);
	target__start(&argc, argv);
	if (is_later) {
		called = define(plugin, "Called", 2);
		if (tapir_dynamic__new(ANOTHER, NULL, NULL, &another))
			return 1;
		opened = define(another, "Opened", 3);
		wait_until_on(called);
		wait_until_on(opened);
	}
	count = target__number(argc, argv, 1, 10);
	for (long i = 0; i < count; i++) {
		fire(loaded, (uint32_t)i);
		fire(called, (uint32_t)i);
		if (opened)
			fire(opened, (uint32_t)i);
		tapir_json__fire(PLUGIN, "Untyped", TAPIR_WARNING, 5, "{\"a\":1}");
	}
	printf("{\"fired\":%ld}\n", count);
	tapir_dynamic__free(another);
	tapir_dynamic__free(plugin);
	return 0;
}
