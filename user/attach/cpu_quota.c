// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpu.max and cpu.stat of version 2; cpu.cfs_quota_us and the like of version 1. A quota above the
 * process's own cgroup limits it as well, so those around it are tried in turn.
 */
#include "attach/cpu_quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cgroup.h"
#include "base/file.h"

#define MAX_DEPTH      32
#define MAX_BYTES      4096

#define ENOUGH_PERCENT 2

static int read_in(const char *dir, const char *name, char **text)
{
	char path[PATH_MAX];
	size_t len;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return tapir_file__read(path, MAX_BYTES, text, &len);
}

/* "nr_throttled 12" */
static uint64_t stat_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

static uint64_t number_in(const char *dir, const char *name)
{
	tapir_autofree char *text = NULL;
	long long value = read_in(dir, name, &text) ? 0 : strtoll(text, NULL, 10);

	return value > 0 ? (uint64_t)value : 0; /* -1: no limit */
}

static void read_limit(struct tapir_cpu_quota *q)
{
	tapir_autofree char *text = NULL;
	unsigned long long quota_us = 0, period_us = 0;

	if (!q->is_v2) {
		q->quota_us = number_in(q->dir, "cpu.cfs_quota_us");
		q->period_us = number_in(q->dir, "cpu.cfs_period_us");
		return;
	}
	if (read_in(q->dir, "cpu.max", &text) ||
	    sscanf(text, "%llu %llu", &quota_us, &period_us) != 2) /* "max 100000" */
		quota_us = 0;
	q->quota_us = quota_us;
	q->period_us = period_us;
}

int tapir_cpu_quota__read(struct tapir_cpu_quota *q)
{
	tapir_autofree char *text = NULL;
	int err = read_in(q->dir, "cpu.stat", &text);

	if (err)
		return err;
	read_limit(q);
	q->throttled_ns = q->is_v2 ? stat_number(text, "throttled_usec") * 1000
				   : stat_number(text, "throttled_time");
	q->period_cnt = stat_number(text, "nr_periods");
	q->throttled_cnt = stat_number(text, "nr_throttled");
	return 0;
}

/* Tries the process's cgroup, then those around it. 1: one of them has a quota. */
static int find_below(const char *root, const char *path, bool is_v2, void *ctx)
{
	struct tapir_cpu_quota q = {.is_v2 = is_v2}, *out = ctx;
	size_t root_len = strlen(root);
	bool is_found = false;

	/* Seen from another namespace, it may begin outside of what is mounted here. */
	if (strstr(path, "/..") || !strcmp(path, "/") ||
	    snprintf(q.dir, sizeof(q.dir), "%s%s", root, path) >= (int)sizeof(q.dir))
		return 0;
	for (unsigned depth = 0; depth < MAX_DEPTH && strlen(q.dir) > root_len; depth++) {
		if (!tapir_cpu_quota__read(&q) && q.quota_us && q.period_us &&
		    (!is_found || q.throttled_ns > out->throttled_ns)) {
			*out = q;
			is_found = true;
		}
		*strrchr(q.dir, '/') = '\0';
	}
	return is_found;
}

int tapir_cpu_quota__find(uint32_t tgid, struct tapir_cpu_quota *out)
{
	return tapir_cgroup__each_of_process(tgid, "cpu", find_below, out) ? 0 : -ENOENT;
}

bool tapir_cpu_quota__is_starving(uint32_t tgid)
{
	struct tapir_cpu_quota q = {};

	return !tapir_cpu_quota__find(tgid, &q) && q.quota_us * 100 / q.period_us < ENOUGH_PERCENT;
}
