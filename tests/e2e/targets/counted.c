/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted [--wait] [--await] [--renamed] WAY COUNT [PAUSE_US] - fires Counted:Tick(pid, who, i) of
 *libtapir COUNT times in each place that WAY names, with a pause after each, and says how often in
 *all, and how often here, in its own process. --await: in each place it waits until the event is
 *on. --renamed: it calls itself MainThread, as Node does.
 *
 *	one	here
 *	early	in each of three children, made before it fires anything, then here three times
 *	fork	here, and in each of three children, made one after the other, as they begin
 *	exec	here, and in a child that executes this program
 *	leave	in each of three children, which execute another program then, then here
 *	late	in three providers, each as soon as it is made
 *	dlopen	here, and in `countplug`, which has a libtapir of its own
 *	dlmopen	in two copies of `countplug` that the process maps
 *	after	here until SIGUSR1 comes, then as fork, then here until it comes again
 *
 * who: 0 the program, else the place in that process.
 */
// build: -I. -ldl
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target.h"
#include "tapir/provider.h"

TAPIR_EVENT(Tick, "Counted", "Tick", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Pid), (U32, Who),
	    (U32, I));
TAPIR_EVENT(Tick2, "Counted", "Tick", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Pid), (U32, Who),
	    (U32, I));
TAPIR_EVENT(Tick3, "Counted", "Tick", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Pid), (U32, Who),
	    (U32, I));

static long count, pause_us;
static bool awaits;

static void make_provider(struct tapir_event *event)
{
	struct tapir_provider *provider;

	if (tapir_provider__new("Counted", NULL, &event, 1, NULL, &provider))
		target__die("provider");
}

static void rest(void)
{
	if (pause_us)
		target__sleep_ns((uint64_t)pause_us * 1000);
}

/* An event that is not on within 10 s is fired all the same. */
static void await(const struct tapir_event *event)
{
	for (int n = 0; awaits && n < 10000 && !TAPIR_EVENT_ENABLED(*event); n++)
		target__sleep_ns(1000000);
}

__attribute__((noipa)) static long fire(uint32_t who)
{
	await(&Tick);
	for (uint32_t i = 0; i < count; i++) {
		TAPIR_FIRE(Tick, (uint32_t)getpid(), who, i);
		rest();
	}
	return count;
}

/* Returns what the child fires, which is as much as one call of fire(). */
static long in_child(void (*run)(char *self), char *self)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		run(self);
	if (waitpid(pid, &status, 0) != pid || status)
		target__die("child");
	return count;
}

static _Noreturn void run_forked(char *self)
{
	(void)self;
	fire(0);
	_exit(0);
}

static _Noreturn void run_executed(char *self)
{
	char cnt[24], pause[24], path[4096],
		*argv[] = {self, "--quiet", "one", cnt, pause, awaits ? "--await" : NULL, NULL};
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	snprintf(cnt, sizeof(cnt), "%ld", count);
	snprintf(pause, sizeof(pause), "%ld", pause_us);
	path[len > 0 ? len : 0] = 0; /* by its name, which its comm will be */
	execv(path, argv);
	_exit(1);
}

static _Noreturn void run_and_leave(char *self)
{
	(void)self;
	fire(0);
	execlp("true", "true", NULL);
	_exit(1);
}

static const char *plug_path(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("countplug"));

	if (len <= 0)
		target__die("/proc/self/exe");
	path[len] = 0;
	strcpy(strrchr(path, '/') + 1, "countplug");
	return path;
}

static long fire_plug(void *plug, uint32_t who)
{
	void (*plug_fire)(uint32_t who, uint32_t cnt, uint32_t pause_us, bool awaits);

	if (!plug || !(*(void **)&plug_fire = dlsym(plug, "count_fire"))) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	plug_fire(who, (uint32_t)count, (uint32_t)pause_us, awaits);
	return count;
}

static long fire_late(void)
{
	struct tapir_event *const events[] = {&Tick2, &Tick3};

	for (uint32_t n = 0; n < 2; n++) {
		make_provider(events[n]);
		await(events[n]);
		for (uint32_t i = 0; i < count; i++) {
			if (n == 0)
				TAPIR_FIRE(Tick2, (uint32_t)getpid(), 1, i);
			else
				TAPIR_FIRE(Tick3, (uint32_t)getpid(), 2, i);
			rest();
		}
	}
	return 2 * count;
}

static long fork_children(void (*run)(char *self), char *self)
{
	return in_child(run, self) + in_child(run, self) + in_child(run, self);
}

static long fire_and_fork(char *self)
{
	long fired = 0;

	for (int i = 0; i < 3; i++)
		fired += fire((uint32_t)i) + in_child(run_forked, self);
	return fired;
}

/* SIGUSR1 is blocked, as by target__start with --wait. */
static long fire_until_signal(uint32_t who)
{
	const struct timespec at_once = {};
	sigset_t set;
	uint32_t i = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (; sigtimedwait(&set, NULL, &at_once) != SIGUSR1; i++) {
		TAPIR_FIRE(Tick, (uint32_t)getpid(), who, i);
		rest();
	}
	return i;
}

static long run(const char *way, char *self)
{
	long fired = 0;

	if (!strcmp(way, "one"))
		return fire(0);
	await(&Tick); /* children cannot: until they fire, all that they know is their parent's */
	if (!strcmp(way, "early"))
		return fork_children(run_forked, self) + fire(0) + fire(1) + fire(2);
	if (!strcmp(way, "leave"))
		return fork_children(run_and_leave, self) + fire(0);
	if (!strcmp(way, "fork"))
		return fire_and_fork(self);
	if (!strcmp(way, "after")) {
		fired = fire_until_signal(3);
		fired += fire_and_fork(self);
		return fired + fire_until_signal(4);
	}
	if (!strcmp(way, "exec"))
		return fire(0) + in_child(run_executed, self);
	if (!strcmp(way, "late"))
		return fire(0) + fire_late();
	if (!strcmp(way, "dlopen"))
		return fire(0) + fire_plug(dlopen(plug_path(), RTLD_NOW), 1);
	if (!strcmp(way, "dlmopen"))
		return fire_plug(dlmopen(LM_ID_NEWLM, plug_path(), RTLD_NOW), 1) +
		       fire_plug(dlmopen(LM_ID_NEWLM, plug_path(), RTLD_NOW), 2);
	fprintf(stderr, "no way is called %s\n", way);
	exit(2);
}

int main(int argc, char **argv)
{
	bool quiet = target__option(&argc, argv, "--quiet");
	const char *way;
	long fired, here;

	awaits = target__option(&argc, argv, "--await");
	if (target__option(&argc, argv, "--renamed") && prctl(PR_SET_NAME, "MainThread"))
		target__die("prctl");

	if (quiet && !freopen("/dev/null", "w", stdout))
		target__die("/dev/null");
	make_provider(&Tick);
	target__start(&argc, argv);
	way = argc > 1 ? argv[1] : "one";
	count = target__number(argc, argv, 2, 1);
	pause_us = target__number(argc, argv, 3, 0);
	fired = run(way, argv[0]);
	here = !strcmp(way, "fork") || !strcmp(way, "early")   ? fired / 2
	       : !strcmp(way, "exec") || !strcmp(way, "leave") ? count
							       : fired;
	printf("{\"fired\": %ld, \"here\": %ld}\n", fired, here);
	return 0;
}
