// SPDX-License-Identifier: GPL-2.0-or-later
/* One perf event and one link a CPU. */
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

struct tapir_sampler {
	struct tapir_vec(int) fds; /* events and links */
};

static bool keep(struct tapir_sampler *s, int fd)
{
	if (tapir_vec__push(&s->fds, fd))
		return true;
	close(fd);
	return false;
}

static int open_event(unsigned cpu, const struct tapir_sample_event *event, unsigned hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.freq = 1,
		.sample_freq = hz,
		.exclude_idle = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int open_error(int err, const struct tapir_sample_event *event, unsigned hz)
{
	if (event->is_hardware && (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV))
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot sample %s: this machine has no such hardware counter, like most virtual ones (use cpu-clock)",
			event->name);
	if (err == -EINVAL)
		return tapir_diag__fail(
			-EINVAL,
			"cannot sample %u times per second: /proc/sys/kernel/perf_event_max_sample_rate is lower",
			hz);
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

static int start_cpu(struct tapir_sampler *s, int prog_fd, unsigned cpu,
		     const struct tapir_sample_event *event, unsigned hz)
{
	int fd = open_event(cpu, event, hz), link;

	if (fd == -ENXIO || (fd == -ENODEV && !event->is_hardware))
		return 0; /* not online */
	if (fd < 0)
		return open_error(fd, event, hz);
	if (!keep(s, fd))
		return -ENOMEM;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, NULL);
	if (link < 0)
		return tapir_diag__fail(link, "cannot attach the sampler to CPU %u: %s", cpu,
					tapir_errno__text(link));
	return keep(s, link) ? 0 : -ENOMEM;
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

int tapir_sampler__start(int prog_fd, const struct tapir_sample_event *event, unsigned hz,
			 struct tapir_sampler **out)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	struct tapir_sampler *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	for (long cpu = 0; !err && cpu < cpu_cnt; cpu++)
		err = start_cpu(s, prog_fd, (unsigned)cpu, event, hz);
	if (err) {
		tapir_sampler__stop(s);
		return err;
	}
	*out = s;
	return 0;
}

void tapir_sampler__stop(struct tapir_sampler *s)
{
	const int *fd;

	if (!s)
		return;
	tapir_vec_for_each (fd, &s->fds)
		close(*fd);
	tapir_vec__fini(&s->fds);
	free(s);
}
