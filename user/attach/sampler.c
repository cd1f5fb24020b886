// SPDX-License-Identifier: GPL-2.0-or-later
/* One perf event and one link a CPU. */
#include "attach/sampler.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
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

static int open_clock(unsigned cpu, unsigned hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int start_cpu(struct tapir_sampler *s, int prog_fd, unsigned cpu, unsigned hz)
{
	int fd = open_clock(cpu, hz), link;

	if (fd == -ENODEV || fd == -ENXIO)
		return 0; /* not online */
	if (fd == -EINVAL)
		return tapir_diag__fail(-EINVAL,
					"Cannot sample %u times a second: the kernel allows what "
					"/proc/sys/kernel/perf_event_max_sample_rate says",
					hz);
	if (fd < 0)
		return tapir_diag__fail(fd, "Cannot sample: cpu=%u, err=-%s", cpu,
					tapir_errno__name(fd));
	if (!keep(s, fd))
		return -ENOMEM;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, NULL);
	if (link < 0)
		return tapir_diag__fail(link, "Cannot attach the sampler: cpu=%u, err=-%s", cpu,
					tapir_errno__name(link));
	return keep(s, link) ? 0 : -ENOMEM;
}

int tapir_sampler__start(int prog_fd, unsigned hz, struct tapir_sampler **out)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	struct tapir_sampler *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	for (long cpu = 0; !err && cpu < cpu_cnt; cpu++)
		err = start_cpu(s, prog_fd, (unsigned)cpu, hz);
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
