// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks what this user may do and what this kernel can do: capabilities, then each feature, by
 * trying it, then the programs themselves. Which line has which meaning for a recording is said
 * next to its text. Checks of the machine's settings and of processes are in doctor_system.c.
 */
#include "attach/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/utsname.h>

#include "attach/doctor_checks.h"
#include "attach/features.h"
#include "attach/programs.h"
#include "base/diag.h"
#include "trace/kernel_work.h"

bool tapir_checkup__can_record(const struct tapir_checkup *checkup)
{
	const struct tapir_check *check;

	tapir_vec_for_each (check, checkup)
		if (check->state == TAPIR_CHECK_MISSING)
			return false;
	return true;
}

void tapir_checkup__fini(struct tapir_checkup *checkup)
{
	tapir_vec__fini(checkup);
}

static void check_kernel(struct tapir_checkup *checkup)
{
	struct tapir_check *check = tapir_checkup__add(checkup, "kernel", "kernel and machine");
	struct utsname name;

	if (!uname(&name))
		snprintf(check->found, sizeof(check->found), "%.70s %.70s", name.release,
			 name.machine);
#ifndef __x86_64__
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "events have no arguments: they are read on x86-64 only";
#endif
}

/* ---- capabilities ------------------------------------------------------------------------ */

static const struct {
	cap_value_t cap;
	const char *name;
	enum tapir_check_state without;
	const char *means;
} caps[] = {
	{CAP_BPF, "cap_bpf", TAPIR_CHECK_MISSING, "load BPF programs"},
	{CAP_PERFMON, "cap_perfmon", TAPIR_CHECK_MISSING, "let BPF programs read other processes"},
	{CAP_SYS_PTRACE, "cap_sys_ptrace", TAPIR_CHECK_LIMITED,
	 "find probes of other users' processes"},
	{CAP_CHECKPOINT_RESTORE, "cap_checkpoint_restore", TAPIR_CHECK_LIMITED,
	 "open mapped files that were deleted or replaced"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search", TAPIR_CHECK_LIMITED,
	 "read program files that only their owner can read"},
};

/* The kernel takes CAP_SYS_ADMIN for those that were split off it (include/linux/capability.h). */
static bool is_implied_by_admin(cap_value_t cap)
{
	return cap == CAP_BPF || cap == CAP_PERFMON || cap == CAP_CHECKPOINT_RESTORE;
}

static void check_caps(struct tapir_checkup *checkup)
{
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		struct tapir_check *check =
			tapir_checkup__add(checkup, caps[i].name, caps[i].means);

		if (tapir_doctor__has_cap(caps[i].cap)) {
			strcpy(check->found, "yes");
		} else if (is_implied_by_admin(caps[i].cap) &&
			   tapir_doctor__has_cap(CAP_SYS_ADMIN)) {
			strcpy(check->found, "yes, through cap_sys_admin");
		} else {
			strcpy(check->found, "no");
			check->state = caps[i].without;
			check->remedy = "run as root, or: setcap "
					"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,"
					"cap_dac_read_search=ep $(which tapir)";
		}
	}
}

/* ---- features ---------------------------------------------------------------------------- */

static const struct {
	enum tapir_check_state without;
	const char *remedy;
} features[TAPIR_FEATURE_CNT] = {
	[TAPIR_FEATURE_BTF] = {TAPIR_CHECK_MISSING,
			       "a kernel with CONFIG_DEBUG_INFO_BTF (distributions since 2021)"},
	[TAPIR_FEATURE_RING_BUFFER] = {TAPIR_CHECK_MISSING, "Linux 5.8 or later"},
	[TAPIR_FEATURE_TASK_STORAGE] = {TAPIR_CHECK_MISSING, "Linux 5.12 or later"},
	[TAPIR_FEATURE_SLEEPABLE] = {TAPIR_CHECK_MISSING, "Linux 6.0 or later"},
	[TAPIR_FEATURE_UPROBE_MULTI] = {TAPIR_CHECK_LIMITED,
					"Linux 6.6 or later; before, few probes, slow to detach"},
	[TAPIR_FEATURE_UPROBE_SESSION] = {TAPIR_CHECK_LIMITED,
					  "Linux 6.13 or later; before, each return of malloc is "
					  "trapped with record --native-memory"},
	[TAPIR_FEATURE_PERF_UPROBE] = {TAPIR_CHECK_LIMITED, "a kernel with CONFIG_UPROBE_EVENTS"},
	[TAPIR_FEATURE_CPU_CLOCK] = {TAPIR_CHECK_LIMITED,
				     "a kernel with CONFIG_PERF_EVENTS; record --no-samples"},
};

static bool is_not_allowed(const struct tapir_feature *feature)
{
	return feature->err == -EPERM || feature->err == -EACCES;
}

#define FILES_REMEDY "a higher limit on open files (ulimit -Hn)"

/* A test that cannot be made counts as missing: what prevents it prevents a recording as well. */
static bool check_unknown(const struct tapir_feature *feature, struct tapir_check *check)
{
	if (!tapir_feature__is_unknown(feature))
		return false;
	snprintf(check->found, sizeof(check->found), "cannot be tested: %s",
		 tapir_errno__text(feature->err));
	check->state = TAPIR_CHECK_MISSING;
	check->remedy = feature->err == -EMFILE ? FILES_REMEDY : "more memory or file descriptors";
	return true;
}

static void check_feature(struct tapir_checkup *checkup, const struct tapir_features *f,
			  enum tapir_feature_id id)
{
	const struct tapir_feature *feature = &f->by_id[id];
	struct tapir_check *check =
		tapir_checkup__add(checkup, tapir_feature__name(id), tapir_feature__purpose(id));

	if (feature->is_there) {
		strcpy(check->found, "yes");
		return;
	}
	if (id == TAPIR_FEATURE_PERF_UPROBE && tapir_features__has(f, TAPIR_FEATURE_UPROBE_MULTI)) {
		strcpy(check->found, "no, and not needed");
		return;
	}
	if (check_unknown(feature, check))
		return;
	check->state = features[id].without;
	check->remedy = features[id].remedy;
	if (id == TAPIR_FEATURE_UPROBE_MULTI && !tapir_features__has(f, TAPIR_FEATURE_PERF_UPROBE))
		check->state = TAPIR_CHECK_MISSING; /* no way at all */
	if (feature->is_disabled) {
		strcpy(check->found, "disabled by TAPIR_DISABLE");
		check->remedy = "unset TAPIR_DISABLE";
	} else if (is_not_allowed(feature)) {
		snprintf(check->found, sizeof(check->found), "not permitted: %s",
			 tapir_errno__text(feature->err));
		check->remedy = id == TAPIR_FEATURE_PERF_UPROBE ? "cap_sys_admin"
								: "cap_bpf and cap_perfmon";
	} else {
		snprintf(check->found, sizeof(check->found), "no: %s",
			 tapir_errno__text(feature->err));
	}
}

static void check_pid_filter(struct tapir_checkup *checkup, const struct tapir_features *f)
{
	struct tapir_check *check;
	int diag_cnt = tapir_diag__cnt(), result = 0;

	check = tapir_checkup__add(checkup, "pid_filter", "-p costs other processes nothing");
	if (!tapir_features__has(f, TAPIR_FEATURE_UPROBE_MULTI)) {
		strcpy(check->found, "no, without uprobe_multi");
	} else {
		result = tapir_features__test_pid_filter();
		tapir_diag__rewind(diag_cnt);
		snprintf(check->found, sizeof(check->found),
			 result < 0 ? "not tested: %s"
			 : result   ? "yes"
				    : "no",
			 tapir_errno__text(result));
		if (result == 1)
			return;
	}
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "with -p, other processes of the program are trapped, too, and filtered";
	check->remedy = is_not_allowed(&f->by_id[TAPIR_FEATURE_UPROBE_MULTI])
				? "cap_bpf and cap_perfmon"
			: result == -EMFILE ? FILES_REMEDY
					    : "Linux 6.10 or later";
}

/* Features may all be there and a verifier still refuse what is built on them. */
static void check_programs(struct tapir_checkup *checkup, const struct tapir_features *f)
{
	static const struct tapir_native_choice native = {.mean_bytes = 1};
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts),
		.site_cap = 1,
		.ring_bytes = 4096,
		.with_threads = true,
		.with_holds = true,
		.use_multi = tapir_features__has(f, TAPIR_FEATURE_UPROBE_MULTI),
		.native = &native,
		.kernel_kinds = TAPIR_KERNEL_HAS_ALL,
		.kernel_row_cap = 1,
	};
	struct tapir_programs *programs = NULL;
	struct tapir_check *check;
	int diag_cnt = tapir_diag__cnt(), err;

	for (int id = 0; id < TAPIR_FEATURE_CNT; id++)
		if (features[id].without == TAPIR_CHECK_MISSING && !f->by_id[id].is_there)
			return; /* said already */
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		opts.families[i] = tapir_features__can_capture(i); /* else it is said elsewhere */
	err = tapir_programs__load(&opts, &programs);
	tapir_diag__rewind(diag_cnt);
	tapir_programs__free(programs);
	check = tapir_checkup__add(checkup, "programs", "this kernel accepts tapir's BPF programs");
	if (!err) {
		strcpy(check->found, "yes");
		return;
	}
	check->state = TAPIR_CHECK_MISSING;
	check->remedy = err == -EMFILE ? FILES_REMEDY : "report the output of 'tapir -v doctor'";
	snprintf(check->found, sizeof(check->found), "no: %s", tapir_errno__text(err));
}

static void check_features(struct tapir_checkup *checkup)
{
	struct tapir_features f;

	tapir_features__probe(&f);
	for (int id = 0; id < TAPIR_FEATURE_CNT; id++)
		check_feature(checkup, &f, id);
	check_pid_filter(checkup, &f);
	check_programs(checkup, &f);
}

int tapir_doctor__run(uint32_t tgid, struct tapir_checkup *out)
{
	struct tapir_checkup checkup = {};
	int err = 0;

	check_kernel(&checkup);
	check_caps(&checkup);
	check_features(&checkup);
	tapir_doctor__check_system(&checkup);
	if (tgid)
		err = tapir_doctor__check_process(&checkup, tgid);
	if (err) {
		tapir_checkup__fini(&checkup);
		return err;
	}
	*out = checkup;
	return 0;
}
