// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts from /proc only: the kernel's files always answer. A JVM that would take SIGQUIT for a
 * request to print its threads, or has no thread for it, must not be sent one; where an argument
 * may only look like -Xrs, it is taken for it.
 */
#include "runtime/jvm/jvm_facts.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/jvm/jvm.h"
#include "runtime/peer/peer_helper.h"

#define ENVIRON_MAX_BYTES (4u << 20) /* the kernel lets arguments and environment have 6 MB */

/* ---- what forbids a signal ------------------------------------------------------------------- */

static int on_thread(uint32_t tid, void *ctx)
{
	const struct tapir_jvm_facts *facts = ctx;
	tapir_autofree char *comm = NULL;
	char path[48];

	snprintf(path, sizeof(path), "task/%u/comm", tid);
	return !tapir_peer_facts__read_file(&facts->peer, path, 64, &comm, NULL) &&
	       (!strcmp(comm, "Signal Dispatch\n") || !strcmp(comm, "Signal ..atcher\n"));
}

/*
 * Looks for "Signal Dispatcher", the thread that SIGQUIT is for. The kernel's names have 15
 * characters: JDK 27 gives it the first seven and the last six (%.7s..%.6s), others the first 15.
 */
static bool has_signal_dispatcher(struct tapir_jvm_facts *facts)
{
	return tapir_proc__each_thread(facts->peer.tgid, on_thread, facts) == 1;
}

/* In any argument, also one of the program's own: rather not attached than printed into. */
static bool disables(const char *bytes, size_t len)
{
	static const char option[] = "-XX:+DisableAttachMechanism";

	return memmem(bytes, len, option, sizeof(option) - 1) != NULL;
}

static bool is_option_variable(const char *text)
{
	static const char *const names[] = {
		"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool options_disable_attach(const struct tapir_peer_facts *peer)
{
	tapir_autofree char *cmdline = NULL, *environment = NULL;
	size_t len = 0;

	if (!tapir_peer_facts__read_file(peer, "cmdline", ENVIRON_MAX_BYTES, &cmdline, &len) &&
	    disables(cmdline, len))
		return true;
	if (tapir_peer_facts__read_file(peer, "environ", ENVIRON_MAX_BYTES, &environment, &len))
		return false;
	for (size_t at = 0; at < len; at += strlen(environment + at) + 1)
		if (is_option_variable(environment + at) &&
		    disables(environment + at, strlen(environment + at)))
			return true;
	return false;
}

static void find_obstacles(struct tapir_jvm_facts *facts)
{
	if (!facts->no_signal && !has_signal_dispatcher(facts))
		facts->no_signal = TAPIR_PEER_WHY_DISPATCHER;
	if (!facts->no_signal && options_disable_attach(&facts->peer))
		facts->no_signal = TAPIR_PEER_WHY_DISABLED;
}

/* ---- the process --------------------------------------------------------------------------------- */

static int read_facts(struct tapir_jvm_facts *facts)
{
	struct tapir_jvm_info info;
	int err = tapir_jvm__inspect(facts->peer.tgid, &info);

	if (!err)
		return tapir_diag__fail(-ENOEXEC, "process %u is not a HotSpot JVM",
					facts->peer.tgid);
	if (err < 0)
		return err;
	facts->perfdata_va = info.perfdata_va;
	facts->perfdata_bytes = info.perfdata_bytes;
	if (!(facts->peer.caught >> (SIGQUIT - 1) & 1))
		facts->no_signal = TAPIR_PEER_WHY_UNCAUGHT;
	find_obstacles(facts);
	return 0;
}

int tapir_jvm_facts__read(uint32_t tgid, struct tapir_jvm_facts *out)
{
	struct tapir_jvm_facts facts = {};
	int err = tapir_peer_facts__read(tgid, "attach to the JVM", &facts.peer);

	if (err)
		return err;
	err = read_facts(&facts);
	if (err)
		tapir_jvm_facts__fini(&facts);
	else
		*out = facts;
	return err;
}

void tapir_jvm_facts__fini(struct tapir_jvm_facts *facts)
{
	tapir_peer_facts__fini(&facts->peer);
}
