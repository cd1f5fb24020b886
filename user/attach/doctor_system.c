// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Settings of the machine, and of one process, that change what tracing can see; and what all
 * checks share. Where a setting and its effect may differ (kptr_restrict, lockdown), the effect is
 * tried.
 */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include "attach/discover.h"
#include "attach/doctor_checks.h"
#include "attach/features.h"
#include "attach/links.h"
#include "attach/proc.h"
#include "attach/ring_find.h"
#include "attach/tracepoints.h"
#include "base/diag.h"
#include "base/file.h"

#define SETTING_MAX_BYTES 4096

struct tapir_check *tapir_checkup__add(struct tapir_checkup *checkup, const char *name,
				       const char *means)
{
	static struct tapir_check nowhere; /* out of memory: the line is lost, not the run */
	struct tapir_check *check = tapir_vec__add(checkup);

	if (!check)
		check = &nowhere;
	check->name = name;
	check->means = means;
	return check;
}

static void run_row(struct tapir_check *check, const struct tapir_check_row *row, uint32_t tgid)
{
	if (row->is_well(check, tgid))
		return;
	if (check->state == TAPIR_CHECK_OK)
		check->state = row->without;
	if (check->means == row->means && row->without_means)
		check->means = row->without_means;
	if (!check->remedy)
		check->remedy = row->remedy;
}

void tapir_checkup__run(struct tapir_checkup *checkup, const struct tapir_check_row *rows,
			size_t cnt, uint32_t tgid)
{
	for (size_t i = 0; i < cnt; i++)
		run_row(tapir_checkup__add(checkup, rows[i].name, rows[i].means), &rows[i], tgid);
}

bool tapir_doctor__has_cap(cap_value_t cap)
{
	cap_t mine = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (mine && cap_get_flag(mine, cap, CAP_EFFECTIVE, &value))
		value = CAP_CLEAR;
	cap_free(mine);
	return value == CAP_SET;
}

/* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. */
static bool may_trace(void)
{
	return tapir_doctor__has_cap(CAP_SYS_ADMIN) ||
	       (tapir_doctor__has_cap(CAP_BPF) && tapir_doctor__has_cap(CAP_PERFMON));
}

/* The first line of a small file into found; false and why: it cannot be read. */
static bool read_setting(const char *path, struct tapir_check *check)
{
	tapir_autofree char *text = NULL;
	int err = tapir_file__read(path, SETTING_MAX_BYTES, &text, NULL);

	if (err) {
		snprintf(check->found, sizeof(check->found), "unknown: %s", tapir_errno__text(err));
		return false;
	}
	text[strcspn(text, "\n")] = '\0';
	snprintf(check->found, sizeof(check->found), "%s", text);
	return true;
}

static bool is_paranoid_well(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	return !read_setting("/proc/sys/kernel/perf_event_paranoid", check) || may_trace() ||
	       atoi(check->found) <= -1;
}

/* Symbols of per-CPU data are at 0 for every user, so more than the first are read. */
static bool has_kernel_addresses(FILE *kallsyms)
{
	char line[512];

	for (int i = 0; i < 2000 && fgets(line, sizeof(line), kallsyms); i++)
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

/* Not the setting is asked but what it does. */
static bool are_kernel_names_shown(struct tapir_check *check, uint32_t tgid)
{
	tapir_autofile FILE *f = fopen("/proc/kallsyms", "re");
	bool is_well = f && has_kernel_addresses(f);

	(void)tgid;
	strcpy(check->found, is_well ? "yes" : f ? "addresses are hidden" : "no /proc/kallsyms");
	return is_well;
}

static bool is_lockdown_well(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	if (read_setting("/sys/kernel/security/lockdown", check))
		return !strstr(check->found, "[confidentiality]");
	strcpy(check->found, "none");
	return true;
}

static bool is_memlock_well(struct tapir_check *check, uint32_t tgid)
{
	bool may_exceed = tapir_doctor__has_cap(CAP_IPC_LOCK);
	struct rlimit limit = {};

	(void)tgid;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		strcpy(check->found, "unlimited");
	else
		snprintf(check->found, sizeof(check->found), "%llu KiB%s",
			 (unsigned long long)limit.rlim_cur / 1024,
			 may_exceed ? ", lifted by cap_ipc_lock" : "");
	return may_exceed || limit.rlim_cur >= 8ull << 20;
}

static bool is_cgroup_mounted(struct tapir_check *check, uint32_t tgid)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	(void)tgid;
	while (mounts && (m = getmntent(mounts)) && strcmp(m->mnt_type, "cgroup2") != 0)
		;
	if (mounts && m)
		snprintf(check->found, sizeof(check->found), "%.150s", m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	if (*check->found)
		return true;
	strcpy(check->found, "not mounted");
	return false;
}

/* Without it, all but tracepoints can be recorded. */
static bool is_tracefs_there(struct tapir_check *check, uint32_t tgid)
{
	int err = tapir_tracepoints__check();

	(void)tgid;
	snprintf(check->found, sizeof(check->found), "%s",
		 !err		  ? tapir_tracepoints__where()
		 : err == -ENOENT ? "not mounted"
				  : tapir_errno__text(err));
	if (err && err != -ENOENT)
		check->remedy = "run as root: its files are root's";
	return !err;
}

static bool is_clock_synchronized(struct tapir_check *check, uint32_t tgid)
{
	struct timex now = {};

	(void)tgid;
	if (adjtimex(&now) >= 0 && !(now.status & STA_UNSYNC)) {
		snprintf(check->found, sizeof(check->found), "synchronized, error below %ld us",
			 now.maxerror);
		return true;
	}
	strcpy(check->found, "not synchronized");
	return false;
}

static bool are_pids_the_kernels(struct tapir_check *check, uint32_t tgid)
{
	bool is_well = tapir_proc__sees_kernel_pids();

	(void)tgid;
	strcpy(check->found, is_well ? "the host's" : "a container's");
	return is_well;
}

static bool can_capture(struct tapir_check *check, enum tapir_family_id family)
{
	bool is_there = tapir_features__can_capture(family);

	strcpy(check->found, is_there ? "yes" : "no");
	return is_there;
}

static bool has_block_requests(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	return can_capture(check, TAPIR_FAMILY_IO);
}

static bool has_system_calls(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	return can_capture(check, TAPIR_FAMILY_CALLS);
}

static bool has_kernel_work(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	return can_capture(check, TAPIR_FAMILY_KERNEL);
}

static bool has_connections(struct tapir_check *check, uint32_t tgid)
{
	(void)tgid;
	return can_capture(check, TAPIR_FAMILY_EXCHANGE);
}

static bool has_kernel_functions(struct tapir_check *check, uint32_t tgid)
{
	bool is_there = !access(TAPIR_KPROBE_PMU, F_OK);

	(void)tgid;
	strcpy(check->found, is_there ? "yes" : "no");
	return is_there;
}

/* A check of the machine has its function above this line. */
static const struct tapir_check_row of_machine[] = {
	{"perf_event_paranoid", "irrelevant with cap_perfmon", is_paranoid_well,
	 TAPIR_CHECK_LIMITED,
	 "without cap_perfmon, only your own processes can be sampled, or none",
	 "cap_perfmon (better than lowering the setting for all users)"},
	{"kernel_names", "kernel frames have names", are_kernel_names_shown, TAPIR_CHECK_LIMITED,
	 "kernel frames are shown as addresses", "sysctl kernel.kptr_restrict=0, or cap_syslog"},
	{"lockdown", "BPF programs may read memory", is_lockdown_well, TAPIR_CHECK_MISSING,
	 "BPF programs cannot read memory: no arguments, no stacks",
	 "boot with lockdown=integrity, or disable Secure Boot's lockdown"},
	{"memlock", "memory for sample buffers", is_memlock_well, TAPIR_CHECK_LIMITED,
	 "sample buffers may be refused or small", "ulimit -l 65536, or cap_ipc_lock"},
	{"cgroup_v2", "--cgroup is filtered in the kernel", is_cgroup_mounted, TAPIR_CHECK_LIMITED,
	 "--cgroup is scanned for processes every 0.5 s",
	 "mount -t cgroup2 none /sys/fs/cgroup/unified"},
	{"tracefs", "tracepoints of the kernel, and names of arguments of system calls",
	 is_tracefs_there, TAPIR_CHECK_LIMITED,
	 "no tracepoints; arguments of system calls are called arg0 to arg5",
	 "mount -t tracefs tracefs /sys/kernel/tracing"},
	{"clock", "UTC times agree with other machines", is_clock_synchronized, TAPIR_CHECK_LIMITED,
	 "UTC times can be off; the order of events is not affected",
	 "run chrony or systemd-timesyncd"},
	{"pid_namespace", "pids here are the kernel's", are_pids_the_kernels, TAPIR_CHECK_LIMITED,
	 "pids here differ from the kernel's",
	 "run in the host's pid namespace (podman run --pid=host, hostPID: true)"},
	{"block_requests", "requests to block devices can be recorded (--io)", has_block_requests,
	 TAPIR_CHECK_LIMITED, "record --io is refused", "a kernel with CONFIG_BLOCK and BTF"},
	{"system_calls", "system calls can be counted (--syscalls)", has_system_calls,
	 TAPIR_CHECK_LIMITED, "record --syscalls is refused",
	 "a kernel with CONFIG_FTRACE_SYSCALLS and BTF"},
	{"connections", "requests on TCP connections can be recorded (--net)", has_connections,
	 TAPIR_CHECK_LIMITED, "record --net is refused", "Linux 6.3 or newer with BTF"},
	{"kernel_functions", "functions of the kernel can be sources (kprobe:)",
	 has_kernel_functions, TAPIR_CHECK_LIMITED, "kprobe: and kretprobe: are refused",
	 "a kernel with CONFIG_KPROBE_EVENTS"},
	{"kernel_work", "faults, interrupts and locks of the kernel can be counted (--kernel)",
	 has_kernel_work, TAPIR_CHECK_LIMITED, "record --kernel is refused",
	 "an x86-64 kernel with CONFIG_TRACEPOINTS and BTF"},
	/* A check of the machine is a row above this line. */
};

void tapir_doctor__check_system(struct tapir_checkup *checkup)
{
	tapir_checkup__run(checkup, of_machine, sizeof(of_machine) / sizeof(of_machine[0]), 0);
}

/* ---- one process ------------------------------------------------------------------------- */

static bool has_probes(struct tapir_check *check, uint32_t tgid)
{
	struct tapir_discovery d = {};
	int diag_cnt = tapir_diag__cnt();
	int err = tapir_discover__process(tgid, &d);
	bool is_any = d.sites.cnt;

	tapir_diag__rewind(diag_cnt);
	snprintf(check->found, sizeof(check->found),
		 "%zu sites in %zu of %zu files, %zu unreadable", d.sites.cnt, d.files.cnt,
		 d.file_cnt, d.skipped_file_cnt);
	tapir_discovery__fini(&d);
	if (!err)
		return is_any;
	snprintf(check->found, sizeof(check->found), "unreadable: %s", tapir_errno__text(err));
	check->state = TAPIR_CHECK_MISSING;
	check->remedy = "run as its user, or with cap_sys_ptrace";
	return true;
}

/* Public lanes, and lanes made for one tracer each, which alone reads them. */
static void describe_rings(const struct tapir_ring_lanes *lanes, struct tapir_check *check)
{
	size_t private_cnt = 0, all_cnt = 0;
	const struct tapir_ring_lane *lane;

	tapir_vec_for_each (lane, &lanes->all) {
		bool is_abandoned = tapir_ring_lane__is_abandoned(lane);

		private_cnt += lane->is_private && !is_abandoned;
		all_cnt += !is_abandoned;
	}
	if (!all_cnt)
		snprintf(check->found, sizeof(check->found), "probe");
	else if (!private_cnt)
		snprintf(check->found, sizeof(check->found), "probe, ring (%zu)", all_cnt);
	else if (private_cnt == all_cnt)
		snprintf(check->found, sizeof(check->found), "probe; %zu ring%s of another tracer",
			 private_cnt, private_cnt == 1 ? "" : "s");
	else
		snprintf(check->found, sizeof(check->found),
			 "probe, ring (%zu); %zu ring%s of another tracer", all_cnt - private_cnt,
			 private_cnt, private_cnt == 1 ? "" : "s");
}

/* Every process has the probe lane; a ring is offered by tapir's library. */
static bool describe_lanes(struct tapir_check *check, uint32_t tgid)
{
	struct tapir_ring_lanes lanes = {};
	int err = tapir_ring_lanes__find(tgid, &lanes);

	if (err)
		snprintf(check->found, sizeof(check->found), "probe; rings unreadable: %s",
			 tapir_errno__text(err));
	else if (lanes.all.cnt)
		describe_rings(&lanes, check);
	else if (lanes.refused && strcmp(lanes.refused, "of another process"))
		snprintf(check->found, sizeof(check->found), "probe; a ring was rejected: %s",
			 lanes.refused);
	else
		snprintf(check->found, sizeof(check->found), "probe");
	tapir_ring_lanes__fini(&lanes);
	return true;
}

static const struct tapir_check_row of_process[] = {
	{"process_probes", "see 'tapir list -p'", has_probes, TAPIR_CHECK_LIMITED,
	 "no events; samples and switches can be recorded",
	 "a build with probes (configure --enable-dtrace, --with-dtrace)"},
	{"lanes", "how its events are captured; rings cost less", describe_lanes, TAPIR_CHECK_OK,
	 NULL, NULL},
};

int tapir_doctor__check_process(struct tapir_checkup *checkup, uint32_t tgid)
{
	struct tapir_check *check;
	struct tapir_proc proc;
	int err = tapir_proc__read_running(tgid, &proc);

	if (err)
		return err;
	check = tapir_checkup__add(checkup, "process", "the process given with -p");
	snprintf(check->found, sizeof(check->found), "%u %.15s, uid %u%s", tgid, proc.comm,
		 proc.uid, proc.ns_tgid != tgid ? ", in a container" : "");
	if (proc.is_kernel_thread) {
		check->state = TAPIR_CHECK_MISSING;
		check->means = "kernel threads have no user-space probes";
		check->remedy = "choose a user-space process";
	} else {
		tapir_checkup__run(checkup, of_process, sizeof(of_process) / sizeof(of_process[0]),
				   tgid);
	}
	tapir_proc__fini(&proc);
	return 0;
}
