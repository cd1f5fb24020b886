// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpu.max and cpu.stat of version 2; cpu.cfs_quota_us, cpu.cfs_period_us and cpu.stat of version 1.
 * Which directory is a process's: the path in /proc/PID/cgroup below where its hierarchy is
 * mounted.
 */
#include "attach/cpu_quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_DEPTH 32
#define MAX_BYTES 4096

static int read_in(const char *dir, const char *name, char **text)
{
	char path[PATH_MAX];
	size_t len;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return tapir_file__read(path, MAX_BYTES, text, &len);
}

/* "nr_throttled 12" */
static uint64_t number_of(const char *text, const char *key)
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
	q->throttled_ns = q->is_v2 ? number_of(text, "throttled_usec") * 1000
				   : number_of(text, "throttled_time");
	q->period_cnt = number_of(text, "nr_periods");
	q->throttled_cnt = number_of(text, "nr_throttled");
	return 0;
}

/* Its own cgroup, then those around it. */
static int find_below(const char *root, const char *path, bool is_v2, struct tapir_cpu_quota *out)
{
	struct tapir_cpu_quota q = {.is_v2 = is_v2};
	size_t root_len = strlen(root);
	bool is_found = false;

	if (snprintf(q.dir, sizeof(q.dir), "%s%s", root, path) >= (int)sizeof(q.dir))
		return -ENOENT;
	for (unsigned depth = 0; depth < MAX_DEPTH && strlen(q.dir) > root_len; depth++) {
		if (!tapir_cpu_quota__read(&q) && q.quota_us && q.period_us &&
		    (!is_found || q.throttled_ns > out->throttled_ns)) {
			*out = q;
			is_found = true;
		}
		*strrchr(q.dir, '/') = '\0';
	}
	return is_found ? 0 : -ENOENT;
}

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, len) && (!at[len] || at[len] == ',' || at[len] == '\n'))
			return true;
	}
	return false;
}

/* "36 35 98:0 ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE OPTIONS": where, if it is this hierarchy.
 */
static bool is_mount(char *line, bool is_v2, char root[PATH_MAX])
{
	char *tail = strstr(line, " - "), type[32], options[512];

	if (!tail || sscanf(tail, " - %31s %*s %511s", type, options) != 2 ||
	    strcmp(type, is_v2 ? "cgroup2" : "cgroup") != 0 ||
	    (!is_v2 && !has_word(options, "cpu")))
		return false;
	*tail = '\0';
	return sscanf(line, "%*s %*s %*s %*s %4095s", root) == 1;
}

static int find_mounted(const char *path, bool is_v2, struct tapir_cpu_quota *out)
{
	tapir_autofile FILE *mounts = fopen("/proc/self/mountinfo", "re");
	tapir_autofree char *line = NULL;
	char root[PATH_MAX];
	size_t cap = 0;
	int err = -ENOENT;

	/* Seen from another namespace, it may begin outside of what is mounted here. */
	if (strstr(path, "/..") || !strcmp(path, "/"))
		return -ENOENT;
	while (err && mounts && getline(&line, &cap, mounts) > 0)
		if (is_mount(line, is_v2, root))
			err = find_below(root, path, is_v2, out);
	return err;
}

/* "7:cpu,cpuacct:/docker/1234", "0::/system.slice" */
static int find_by(char *line, struct tapir_cpu_quota *out)
{
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(++controllers, ':') : NULL;
	if (!path)
		return -ENOENT;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (*controllers && !has_word(controllers, "cpu"))
		return -ENOENT;
	return find_mounted(path, !*controllers, out);
}

int tapir_cpu_quota__find(uint32_t tgid, struct tapir_cpu_quota *out)
{
	tapir_autofile FILE *groups = NULL;
	tapir_autofree char *line = NULL;
	char path[32];
	size_t cap = 0;
	int err = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", tgid);
	groups = fopen(path, "re");
	while (err && groups && getline(&line, &cap, groups) > 0)
		err = find_by(line, out);
	return err;
}
