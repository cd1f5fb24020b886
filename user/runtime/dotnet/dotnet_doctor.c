// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The checks of a .NET process. If its events can be recorded by a ring, which needs no BPF,
 * missing capabilities become a limit instead of a failure.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/doctor_checks.h"
#include "base/diag.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_client.h"
#include "runtime/dotnet/dotnet_config.h"
#include "runtime/dotnet/dotnet_ops.h"

#define TIMEOUT_NS 1500000000ull

static void describe_version(struct tapir_checkup *checkup, const struct tapir_dotnet_info *info)
{
	struct tapir_check *check = tapir_checkup__add(checkup, "dotnet", "a .NET runtime");

	snprintf(check->found, sizeof(check->found), "%.40s, %s",
		 *info->version ? info->version : "version unknown",
		 tapir_dotnet_kind__text(info->kind));
}

/* The part of the line after "cannot attach to .NET in process 12: ". */
static const char *reason_of(const char *line)
{
	const char *why = line ? strstr(line, ": ") : NULL;

	return why ? why + 2 : line ? line : "";
}

/* true: it answers. */
static bool check_socket(struct tapir_checkup *checkup, uint32_t tgid)
{
	const struct tapir_dotnet_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .timeout_ns = TIMEOUT_NS};
	struct tapir_check *check = tapir_checkup__add(
		checkup, "dotnet_socket", "method names; loads the library for events");
	struct tapir_dotnet_process process;
	int mark = tapir_diag__cnt();

	if (!tapir_dotnet__ask_process(&opts, &process)) {
		snprintf(check->found, sizeof(check->found), "answers, as pid %llu and %.60s",
			 (unsigned long long)process.pid,
			 *process.version ? process.version : "an older runtime");
		tapir_dotnet_process__fini(&process);
		return true;
	}
	snprintf(check->found, sizeof(check->found), "no: %.150s",
		 reason_of(tapir_diag__line(mark)));
	tapir_diag__rewind(mark);
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "no .NET names and events";
	check->remedy =
		"a running process without DOTNET_EnableDiagnostics=0, recorded as its user or as root";
	return false;
}

/* "its runtime waits at its start": then nothing arrives until another tool resumes it. */
static bool check_started(struct tapir_checkup *checkup, uint32_t tgid)
{
	int mark = tapir_diag__cnt(), err = tapir_dotnet__check_runs(tgid, "record .NET");
	struct tapir_check *check;

	if (err != -EAGAIN) {
		tapir_diag__rewind(mark);
		return true;
	}
	check = tapir_checkup__add(checkup, "dotnet_runs", "its program runs");
	snprintf(check->found, sizeof(check->found), "no: %.150s",
		 reason_of(tapir_diag__line(mark)));
	tapir_diag__rewind(mark);
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "no .NET events, and no heap, before it runs";
	check->remedy = "the tool that it waits for, or a thawed cgroup";
	return false;
}

static void describe_sources_off(struct tapir_checkup *checkup)
{
	struct tapir_check *check =
		tapir_checkup__add(checkup, "dotnet_sources", "events of EventSources");

	strcpy(check->found, "off: " TAPIR_DOTNET_EVENT_SOURCES);
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "the runtime's own events only";
	check->remedy = "true for it in the program's runtimeconfig.json, and a restart";
}

/* true: they arrive by a ring, or another way that needs no BPF. */
static bool check_events(struct tapir_checkup *checkup, const struct tapir_dotnet_info *info,
			 bool answers)
{
	struct tapir_check *check = tapir_checkup__add(
		checkup, "dotnet_events", "events of runtime and EventSources, with stacks");

	if (answers && info->kind != TAPIR_DOTNET_NATIVE_AOT) {
		strcpy(check->found, "ring lane, through a library loaded during recording");
		return true;
	}
	check->state = TAPIR_CHECK_LIMITED;
	if (answers) {
		strcpy(check->found, "the runtime's event stream: NativeAOT loads no library");
		check->means = "events without stacks; buffer overflows are counted";
		return true;
	}
	check->means = "CPU samples and context switches only";
	strcpy(check->found, "none: the socket does not answer");
	return false;
}

/* Rings need no BPF, and its events do not come from its USDT probes. */
static void soften(struct tapir_checkup *checkup)
{
	struct tapir_check *check;

	tapir_vec_for_each (check, checkup) {
		if (check->state == TAPIR_CHECK_MISSING)
			check->state = TAPIR_CHECK_LIMITED;
		if (strcmp(check->name, "process_probes") || check->state == TAPIR_CHECK_OK)
			continue;
		check->state = TAPIR_CHECK_OK;
		check->means = "USDT probes; .NET events need none";
	}
}

void tapir_dotnet_doctor__check(struct tapir_checkup *checkup, uint32_t tgid)
{
	int mark = tapir_diag__cnt();
	struct tapir_dotnet_info info;
	bool is_dotnet = tapir_dotnet__inspect(tgid, &info) > 0;

	tapir_diag__rewind(mark);
	if (!is_dotnet)
		return;
	describe_version(checkup, &info);
	if (!check_started(checkup, tgid))
		return;
	if (check_events(checkup, &info, check_socket(checkup, tgid)))
		soften(checkup);
	if (tapir_dotnet_config__has_no_event_sources(tgid))
		describe_sources_off(checkup);
}
