/* SPDX-License-Identifier: MIT */
/*
 * ring_memory.c - how much the rings may take: a sixteenth of what the process's memory cgroups
 * (v2 and v1, each level) and the machine have free, pages of files that can go counted as free.
 * Ring pages are charged to the program: an OOM kill for the tracer's sake would be harm.
 */
#include <sys/sysinfo.h>

#include "ring_impl.h"

#define SHARE		 16u
#define UNSEEN_BYTES	 (64ull << 20)
#define LOOK_AGAIN_BYTES (16ull << 20)
#define PATH_ROOM	 320u

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Appends; what does not fit makes the path one that is not there. */
static void append_path(char *path, const char *text)
{
	size_t len = strlen(path), more = strlen(text);

	if (len + more >= PATH_ROOM)
		path[0] = 0;
	else
		memcpy(path + len, text, more + 1);
}

/* The number after `key` in a file, or the file's first if key is "". 0: not found. */
static int read_number(const char *dir, const char *file, const char *key, uint64_t *value)
{
	char path[PATH_ROOM] = "", line[96];
	size_t key_len = strlen(key);
	struct ring_lines lines;
	int found = 0;

	append_path(path, dir);
	append_path(path, file);
	if (!path[0] || ring_lines__open(&lines, path))
		return 0;
	while (!found && ring_lines__next(&lines, line, sizeof(line))) {
		const char *at = line + key_len;

		if (strncmp(line, key, key_len))
			continue;
		while (*at == ' ')
			at++;
		found = *at >= '0' && *at <= '9';
		*value = ring_text__number(&at, 10);
	}
	ring_lines__close(&lines);
	return found;
}

static uint64_t level_free(const char *dir, int v1)
{
	uint64_t max, used, idle = 0;

	if (!read_number(dir, v1 ? "/memory.limit_in_bytes" : "/memory.max", "", &max) ||
	    !read_number(dir, v1 ? "/memory.usage_in_bytes" : "/memory.current", "", &used))
		return UINT64_MAX;
	if (max >= 1ull << 62) /* v1's "no limit" */
		return UINT64_MAX;
	read_number(dir, "/memory.stat", v1 ? "total_inactive_file" : "inactive_file", &idle);
	used -= min_u64(used, idle);
	return max - min_u64(max, used);
}

/* The group and all above it, down to the root that this process sees. */
static uint64_t group_free(const char *mount, const char *group, int v1)
{
	char dir[PATH_ROOM] = "";
	size_t mount_len = strlen(mount);
	uint64_t least = UINT64_MAX;

	append_path(dir, mount);
	append_path(dir, group);
	if (!dir[0])
		append_path(dir, mount);
	for (;;) {
		char *slash;

		least = min_u64(least, level_free(dir, v1));
		slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < mount_len)
			return least;
		*slash = 0;
	}
}

static uint64_t groups_free(void)
{
	uint64_t least = UINT64_MAX;
	struct ring_lines lines;
	char line[256];

	if (ring_lines__open(&lines, "/proc/self/cgroup"))
		return least;
	while (ring_lines__next(&lines, line, sizeof(line))) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		if (names[1] == 0)
			least = min_u64(least, group_free("/sys/fs/cgroup", group, 0));
		else if (!strcmp(names + 1, "memory"))
			least = min_u64(least, group_free("/sys/fs/cgroup/memory", group, 1));
	}
	ring_lines__close(&lines);
	return least;
}

/* No /proc to be seen: so nothing is known of groups, and little is taken. */
static uint64_t free_unseen(void)
{
	struct sysinfo info;

	if (ring_sys3(SYS_sysinfo, &info, 0, 0))
		return 0;
	return min_u64((uint64_t)info.freeram * info.mem_unit, UNSEEN_BYTES);
}

static uint64_t free_bytes(void)
{
	uint64_t kib = 0;

	if (!read_number("/proc", "/meminfo", "MemAvailable:", &kib))
		return free_unseen();
	return min_u64(groups_free(), kib * 1024);
}

/* Takes bytes from the budget. 0: there are none left. */
int ring_memory__charge(uint64_t bytes)
{
	struct ring_process *p = &ring_process;
	uint64_t after = __atomic_add_fetch(&p->charged_bytes, bytes, __ATOMIC_RELAXED);

	if (after > ring_load(&p->budget_next)) {
		/* Memory that is charged is no longer free: both together are the whole. */
		uint64_t free = free_bytes(), had = after - bytes;

		ring_store(&p->budget_bytes, (free + had) / SHARE);
		ring_store(&p->budget_next, after + LOOK_AGAIN_BYTES);
		ring_store(&p->arenas[0].data->budget_bytes, (free + had) / SHARE);
	}
	if (after <= ring_load(&p->budget_bytes)) {
		ring_store(&p->arenas[0].data->charged_bytes, after);
		return 1;
	}
	ring_memory__uncharge(bytes);
	return 0;
}

void ring_memory__uncharge(uint64_t bytes)
{
	__atomic_sub_fetch(&ring_process.charged_bytes, bytes, __ATOMIC_RELAXED);
}
