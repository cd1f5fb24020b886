// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metrics of the agent and its children, and of what processes use. However often they are
 * requested, all processes are read once a second at most: reading /proc is the expensive part.
 */
#include "agent/metrics.h"

#include <stdio.h>
#include <sys/resource.h>

#include "attach/proc_usage.h"
#include "base/clock.h"
#include "base/file.h"
#include "agent/agent_push.h"
#include "agent/agent_watch.h"
#include "agent/sessions.h"
#include "agent/watch/totals.h"
#include "agent/watch/usage_report.h"

static void add_agent_metric(struct tapir_str *out, const char *name, const char *type,
			     const char *help, double value)
{
	tapir_str__addf(out, "# HELP tapir_%s %s\n# TYPE tapir_%s %s\ntapir_%s %.15g\n", name, help,
			name, type, name, value);
}

static double cpu_seconds(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void add_totals(struct tapir_str *out)
{
	uint64_t captured_cnt, lost_cnt;

	tapir_totals__read(&captured_cnt, &lost_cnt);
	add_agent_metric(out, "captured_records_total", "counter",
			 "Records that recordings have captured.", (double)captured_cnt);
	add_agent_metric(out, "lost_records_total", "counter",
			 "Records that recordings have lost, for whatever reason.",
			 (double)lost_cnt);
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Children that run: the kernel adds their CPU time to RUSAGE_CHILDREN when they have ended. */
static void add_running(const struct tapir_agent *agent, double *cpu_s, double *resident)
{
	struct tapir_proc_usage usage;

	for (size_t i = 0; i <= agent->front_cnt + agent->tasks.cnt; i++) {
		size_t task = i - agent->front_cnt;
		pid_t pid = i < agent->front_cnt      ? agent->fronts[i].pid
			    : task < agent->tasks.cnt ? agent->tasks.data[task].pid
						      : agent->warm_worker.pid;

		if (pid <= 0 || tapir_proc_usage__read((uint32_t)pid, &usage))
			continue;
		*cpu_s += (double)usage.cpu_ns / 1e9;
		*resident += (double)usage.resident_bytes;
	}
}

static void add_children(const struct tapir_agent *agent, struct tapir_str *out)
{
	static double max; /* of a running child the time is rounded, maybe up */
	double cpu_s = cpu_seconds(RUSAGE_CHILDREN), resident = 0;

	add_running(agent, &cpu_s, &resident);
	max = cpu_s > max ? cpu_s : max;
	add_agent_metric(out, "children_cpu_seconds_total", "counter",
			 "CPU time of its HTTP processes, recordings and requests.", max);
	add_agent_metric(
		out, "children_resident_memory_bytes", "gauge",
		"Resident memory of its children that run; what they share counts for each.",
		resident);
}

/* The resident memory of the agent alone, in bytes; 0: not known. */
static double resident_bytes(void)
{
	tapir_autofree char *text = NULL;
	unsigned long pages = 0;
	size_t len;

	if (tapir_file__read("/proc/self/statm", 256, &text, &len) ||
	    sscanf(text, "%*s %lu", &pages) != 1)
		return 0;
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* However often they are requested, all processes are read once a second at most. */
static void add_usage(struct tapir_agent *agent, struct tapir_str *out)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (!agent->usage_ns || now_ns - agent->usage_ns >= TAPIR_NS_PER_SEC) {
		tapir_str__clear(&agent->usage);
		tapir_usage_report__metrics(agent->config->only_pid, &agent->usage);
		agent->usage_ns = now_ns;
	}
	tapir_str__add(out, agent->usage.data, agent->usage.len);
	out->failed |= agent->usage.failed;
}

void tapir_metrics__write(struct tapir_agent *agent, struct tapir_str *out)
{
	tapir_str__adds(out, "# HELP tapir_build_info Version of the agent.\n"
			     "# TYPE tapir_build_info gauge\n"
			     "tapir_build_info{version=\"" TAPIR_VERSION "\"} 1\n");
	add_agent_metric(out, "uptime_seconds", "gauge", "Time since the agent started.",
			 (double)(tapir_clock__now_ns() - agent->started_ns) / 1e9);
	add_agent_metric(out, "cpu_seconds_total", "counter", "CPU time of the agent itself.",
			 cpu_seconds(RUSAGE_SELF));
	/*
	 * Recordings run in children, so that the agent's own CPU time and theirs are two metrics.
	 */
	add_children(agent, out);
	add_agent_metric(out, "resident_memory_bytes", "gauge",
			 "Resident memory of the agent itself.", resident_bytes());
	add_agent_metric(out, "requests_total", "counter", "Requests that reached the agent.",
			 (double)agent->request_cnt);
	add_agent_metric(out, "malformed_requests_total", "counter",
			 "Messages of HTTP processes that were not requests.",
			 (double)agent->refused_cnt);
	add_agent_metric(out, "wrong_tokens_total", "counter",
			 "Requests with a wrong or expired token.", (double)agent->wrong_token_cnt);
	add_agent_metric(out, "recordings_total", "counter", "Recordings begun.",
			 (double)agent->recording_cnt);
	add_agent_metric(out, "recordings", "gauge", "Recordings that run.",
			 (double)tapir_agent__recordings(agent));
	add_totals(out);
	add_agent_metric(out, "tasks", "gauge", "Requests that are being worked on.",
			 (double)agent->tasks.cnt);
	add_agent_metric(out, "sessions", "gauge", "Sessions that run or are kept.",
			 (double)tapir_sessions__cnt(agent->sessions));
	add_agent_metric(out, "traces_given_up_total", "counter",
			 "Traces deleted to make room for newer ones of their owners.",
			 (double)agent->given_up_cnt);
	add_agent_metric(out, "http_process_restarts_total", "counter",
			 "HTTP processes that ended and were replaced.",
			 (double)agent->front_restart_cnt);
	add_usage(agent, out);
	tapir_agent_push__write_metrics(agent, out);
	tapir_agent_watch__write_metrics(agent, out);
}

void tapir_metrics__push(struct tapir_agent *agent)
{
	struct tapir_str text = {};

	if (!tapir_agent_push__wants_metrics(agent))
		return;
	tapir_metrics__write(agent, &text);
	tapir_agent_push__take_metrics(agent, &text);
	tapir_str__fini(&text);
}
