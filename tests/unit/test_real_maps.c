// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perf maps and jitdumps of the runtimes that are installed: every line is good, and there are as
 * many as somebody else counts. Each runtime is run once, for a moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/jitdump.h"
#include "symbol/perf_map.h"

#define SEC 1000000000ull

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/tapir-real-maps-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? -1 : 0;
}

/* Its output is discarded; the pid is that of the program. 0: it is not installed or failed. */
static pid_t run(char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		alarm(60);
		execvp(argv[0], argv);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && !status ? pid : 0;
}

static size_t count_by_wc(const char *path)
{
	unsigned long long cnt = 0;
	char command[128];
	FILE *out;

	snprintf(command, sizeof(command), "wc -l <%s", path);
	out = popen(command, "re");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%llu", &cnt), 1);
	pclose(out);
	return cnt;
}

/* All of it is good; it is removed. */
static void map_is_read(const char *path, size_t at_least, const char *wanted_name)
{
	struct tapir_perf_map_opts opts = {
		.sz = sizeof(opts), .tgid = (uint32_t)getpid(), .uid = getuid(), .path = path};
	size_t line_cnt = count_by_wc(path), wanted_len = strlen(wanted_name);
	const struct tapir_perf_map_stats *stats;
	struct tapir_jit_table *table;
	struct tapir_perf_map *map;
	struct tapir_jit_name name;
	bool is_there = false;
	uint64_t start_va;
	char line[8192];
	FILE *file;

	assert_int_equal(tapir_jit_table__new(&table), 0);
	assert_int_equal(tapir_perf_map__open(&opts, &map), 0);
	while (tapir_perf_map__read(map, SEC, 1 << 20, table))
		;
	stats = tapir_perf_map__stats(map);
	assert_int_equal(stats->bad_lines, 0);
	assert_int_equal(stats->lines, line_cnt);
	assert_true(line_cnt >= at_least);
	assert_null(tapir_perf_map__problem(map));
	file = fopen(path, "re");
	while (fgets(line, sizeof(line), file)) {
		start_va = strtoull(line, NULL, 16);
		if (tapir_jit_table__find(table, start_va, SEC, &name))
			is_there |=
				memmem(name.name, name.name_len, wanted_name, wanted_len) != NULL;
	}
	fclose(file);
	if (!is_there)
		fail_msg("no %s in %s", wanted_name, path);
	tapir_perf_map__close(map);
	tapir_jit_table__free(table);
	unlink(path);
}

static void node_appends_to_its_map(void **state)
{
	char *argv[] = {"node",
			"--perf-basic-prof",
			"--logfile=/dev/null",
			"--no-logfile-per-isolate",
			"-e",
			"function leaf(x){let y=0;for(let k=0;k<2000;k++)y+=x*k;return y}"
			"let s=0;for(let i=0;i<3000;i++)s+=leaf(i);"
			"for(let i=0;i<300;i++)s+=new Function('x','return x+'+i)(i)",
			NULL};
	pid_t pid = run(argv);
	char path[64];

	(void)state;
	if (!pid)
		skip();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	map_is_read(path, 300, "leaf");
}

static void jvm_writes_its_map_whole(void **state)
{
	char *argv[] = {"java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
			"-version", NULL};
	pid_t pid = run(argv);
	char path[64];

	(void)state;
	if (!pid)
		skip();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	if (access(path, F_OK))
		skip(); /* before 17 */
	map_is_read(path, 100, "Interpreter");
}

/*
 * Whole records of a jitdump by their sizes alone. .NET 10 ends its dump in the middle of one: a
 * block of stubs of 64 KB of which half has no memory yet, and the write fails.
 */
static size_t count_records(const char *path, size_t *load_cnt)
{
	uint32_t prefix[4], header[10];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t cnt = 0;
	struct stat st;
	off_t at;

	*load_cnt = 0;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
	for (at = header[2]; pread(fd, prefix, sizeof(prefix), at) == (ssize_t)sizeof(prefix) &&
			     at + (off_t)prefix[1] <= st.st_size;
	     at += prefix[1]) {
		cnt++;
		*load_cnt += prefix[0] == 0;
	}
	close(fd);
	return cnt;
}

static void dump_is_read(const char *path)
{
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts), .uid = getuid()};
	const struct tapir_jitdump_stats *stats;
	struct tapir_jit_table *table;
	struct tapir_jitdump *dump;
	size_t load_cnt, record_cnt = count_records(path, &load_cnt);

	opts.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(tapir_jit_table__new(&table), 0);
	assert_int_equal(tapir_jitdump__open(&opts, &dump), 0);
	while (tapir_jitdump__read(dump, UINT64_MAX / 2, 1 << 20, table))
		;
	stats = tapir_jitdump__stats(dump);
	assert_int_equal(stats->bad_records, 0);
	assert_int_equal(stats->records, record_cnt);
	assert_int_equal(stats->names, load_cnt);
	assert_true(load_cnt >= 1);
	assert_null(tapir_jitdump__problem(dump));
	close(opts.fd);
	tapir_jitdump__close(dump);
	tapir_jit_table__free(table);
	unlink(path);
}

static bool path_of(const char *in, const char *start, const char *end, char *path, size_t size)
{
	DIR *entries = opendir(in);
	struct dirent *e;
	bool found = false;

	while (entries && !found && (e = readdir(entries))) {
		size_t len = strlen(e->d_name);

		found = !strncmp(e->d_name, start, strlen(start)) && len > strlen(end) &&
			!strcmp(e->d_name + len - strlen(end), end);
		if (found)
			snprintf(path, size, "%s/%s", in, e->d_name);
	}
	closedir(entries);
	return found;
}

static void dotnet_writes_a_map_and_a_dump(void **state)
{
	char *argv[] = {"dotnet", "help", NULL}, path[512];

	(void)state;
	setenv("DOTNET_PerfMapEnabled", "1", 1);
	setenv("DOTNET_PerfMapJitDumpPath", dir, 1);
	setenv("DOTNET_CLI_TELEMETRY_OPTOUT", "1", 1);
	setenv("DOTNET_NOLOGO", "1", 1);
	setenv("TMPDIR", dir, 1); /* the map, too */
	if (!run(argv))
		skip();
	assert_true(path_of(dir, "jit-", ".dump", path, sizeof(path)));
	assert_true(tapir_jitdump__is_path(path, strlen(path)));
	dump_is_read(path);
	assert_true(path_of(dir, "perf-", ".map", path, sizeof(path)));
	map_is_read(path, 100, "System");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(node_appends_to_its_map),
		CASE(jvm_writes_its_map_whole),
		CASE(dotnet_writes_a_map_and_a_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
