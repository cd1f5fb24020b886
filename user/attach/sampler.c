// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One perf event and one link a CPU. A CPU that goes offline takes its event with it, for ever:
 * when it returns, it needs a new one.
 */
#include "attach/sampler.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"
#define CPUS_MAX    8192 /* as many as the kernel can be built for */

struct cpu {
	int event_fd, link_fd; /* -1: not sampled */
};

struct tapir_sampler {
	int prog_fd;
	struct tapir_sampler_plan plan;
	struct tapir_vec(struct cpu) cpus;
};

static int open_event(unsigned cpu, const struct tapir_sampler_plan *plan)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = plan->event->type,
		.config = plan->event->config,
		.freq = !plan->period,
		.exclude_idle = 1,
	};
	long fd;

	if (plan->period)
		attr.sample_period = plan->period;
	else
		attr.sample_freq = plan->hz;
	fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int open_error(int err, const struct tapir_sampler_plan *plan)
{
	const struct tapir_sample_event *event = plan->event;

	if (event->is_hardware && (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV))
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot sample %s: this machine has no such hardware counter, like most virtual ones (use cpu-clock)",
			event->name);
	if (err == -EINVAL && !plan->period)
		return tapir_diag__fail(
			-EINVAL,
			"cannot sample %u times per second: /proc/sys/kernel/perf_event_max_sample_rate is lower",
			plan->hz);
	if (err == -EPERM || err == -EACCES)
		return tapir_diag__fail(
			-EPERM,
			"cannot sample CPUs: requires CAP_PERFMON (run as root), and in a container a seccomp profile that allows perf_event_open");
	if (err == -ENOSYS)
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot sample CPUs: the kernel has no perf events (CONFIG_PERF_EVENTS)");
	return tapir_diag__fail(err, "cannot sample %s: %s", event->name, tapir_errno__text(err));
}

static void stop_cpu(struct cpu *cpu)
{
	tapir_guard__fd(&cpu->link_fd);
	tapir_guard__fd(&cpu->event_fd);
	*cpu = (struct cpu){-1, -1};
}

/* 0 also: it is not online. */
static int start_cpu(const struct tapir_sampler *s, unsigned nr, struct cpu *cpu)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = s->plan.cookie);
	int err;

	cpu->event_fd = open_event(nr, &s->plan);
	if (cpu->event_fd == -ENXIO || (cpu->event_fd == -ENODEV && !s->plan.event->is_hardware)) {
		cpu->event_fd = -1;
		return 0;
	}
	if (cpu->event_fd < 0) {
		err = open_error(cpu->event_fd, &s->plan);
		cpu->event_fd = -1;
		return err;
	}
	cpu->link_fd = bpf_link_create(s->prog_fd, cpu->event_fd, BPF_PERF_EVENT, &opts);
	if (cpu->link_fd >= 0)
		return 0;
	err = tapir_diag__fail(cpu->link_fd, "cannot attach the sampler to CPU %u: %s", nr,
			       tapir_errno__text(cpu->link_fd));
	cpu->link_fd = -1;
	stop_cpu(cpu);
	return err;
}

/* The place of a CPU, and of all before it. */
static struct cpu *cpu_at(struct tapir_sampler *s, unsigned nr)
{
	const struct cpu none = {-1, -1};

	while (s->cpus.cnt <= nr)
		if (!tapir_vec__push(&s->cpus, none))
			return NULL;
	return &s->cpus.data[nr];
}

/* Returns true if nr is in a list such as "0-3,7". */
static bool is_listed(const char *list, unsigned nr)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (nr >= first && nr <= last)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

/* The largest number in it, bounded; -1: it is empty. */
static long last_listed(const char *list)
{
	long last = -1;

	while (*list) {
		char *end;
		unsigned long nr = strtoul(list, &end, 10);

		if (end == list)
			break;
		if ((long)nr > last)
			last = nr < CPUS_MAX ? (long)nr : CPUS_MAX - 1;
		list = *end ? end + 1 : end;
	}
	return last;
}

/*
 * The event of a CPU that goes offline is dead, even when the CPU comes back. After a failure it is
 * tried again with the next change: the CPU may have gone in the meantime.
 */
void tapir_sampler__follow(struct tapir_sampler *s, const char *online)
{
	long last = last_listed(online);
	int mark = tapir_diag__cnt();

	for (unsigned nr = 0; nr < s->cpus.cnt; nr++)
		if (!is_listed(online, nr))
			stop_cpu(&s->cpus.data[nr]);
	for (long nr = 0; nr <= last; nr++) {
		struct cpu *cpu = is_listed(online, (unsigned)nr) ? cpu_at(s, (unsigned)nr) : NULL;

		if (cpu && cpu->event_fd < 0)
			(void)start_cpu(s, (unsigned)nr, cpu);
	}
	tapir_diag__rewind(mark);
}

void tapir_sampler__poll(struct tapir_sampler *s)
{
	tapir_autofree char *online = NULL;

	if (s && !tapir_file__read(ONLINE_PATH, 4096, &online, NULL))
		tapir_sampler__follow(s, online);
}

unsigned tapir_sampler__max_hz(void)
{
	tapir_autofree char *text = NULL;
	uint64_t hz = 0;

	if (!tapir_file__read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, NULL)) {
		text[strcspn(text, "\n")] = '\0';
		(void)tapir_str__to_u64(text, 1, TAPIR_SAMPLER_MAX_HZ, &hz);
	}
	return hz ? (unsigned)hz : TAPIR_SAMPLER_MAX_HZ;
}

int tapir_sampler__start(int prog_fd, const struct tapir_sampler_plan *plan,
			 struct tapir_sampler **out)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	struct tapir_sampler *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	if (s)
		*s = (struct tapir_sampler){.prog_fd = prog_fd, .plan = *plan};
	for (long nr = 0; !err && nr < cpu_cnt; nr++) {
		struct cpu *cpu = cpu_at(s, (unsigned)nr);

		err = cpu ? start_cpu(s, (unsigned)nr, cpu) : -ENOMEM;
	}
	if (err) {
		tapir_sampler__stop(s);
		return err;
	}
	*out = s;
	return 0;
}

void tapir_sampler__stop(struct tapir_sampler *s)
{
	struct cpu *cpu;

	if (!s)
		return;
	tapir_vec_for_each (cpu, &s->cpus)
		stop_cpu(cpu);
	tapir_vec__fini(&s->cpus);
	free(s);
}
