// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See postgresql_process.h. All processes of a server are forks of one: variables have the same
 * addresses in all. The data directory is named by DataDir, absolutely, as the server sees it.
 */
#include "runtime/postgresql/postgresql_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "base/foreign/foreign_file.h"
#include "runtime/exported.h"

enum variable {
	MY_PROC,
	BLOCKS,
	DESCRIPTORS,
	BUFFER_CNT,
	DATA_DIR,
	DATABASE,
	DATABASE_PATH,
	QUERY,
	MY_ENTRY
};

static const char *const names[] = {
	[MY_PROC] = "MyProc",
	[BLOCKS] = "BufferBlocks",
	[DESCRIPTORS] = "BufferDescriptors",
	[BUFFER_CNT] = "NBuffers",
	[DATA_DIR] = "DataDir",
	[DATABASE] = "MyDatabaseId",
	[DATABASE_PATH] = "DatabasePath",
	[QUERY] = "debug_query_string",
	[MY_ENTRY] = "MyBEEntry",
};

#define VARIABLE_CNT   (sizeof(names) / sizeof(*names))
#define DATA_DIR_BYTES 1024u

struct tapir_postgresql_process {
	uint32_t tgid;
	struct tapir_process_memory memory;
	struct tapir_postgresql_server server;
	uint64_t vas[VARIABLE_CNT]; /* 0: not exported */
	char *exe;
	/* of the file that was read last */
	char path[2 * TAPIR_POSTGRESQL_DIR_BYTES];
	int fd;
};

/* ---- memory --------------------------------------------------------------------------------- */

static int postgresql_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct tapir_postgresql_process *p = ctx;
	struct tapir_elf *elf = NULL;

	if (!tapir_mapping_line__is_file(m) || !m->is_executable || strcmp(m->path, p->exe) != 0)
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(p->tgid, m, NULL);

	if (fd >= 0 && !tapir_elf__open_fd(fd, &elf))
		tapir_exported__vas(elf, m, names, p->vas, VARIABLE_CNT);
	tapir_elf__free(elf);
	return 1;
}

/* The page after the text may be unmapped: then this reads up to the end of its page. */
static size_t read_up_to(uint32_t tgid, uint64_t va, char *out, size_t max)
{
	size_t n = va ? tapir_process_memory__read(tgid, va, out, max) : 0;

	if (n || !va)
		return n;
	return tapir_process_memory__read(tgid, va, out,
					  max < 4096 - va % 4096 ? max : 4096 - va % 4096);
}

/* Text that ends within max bytes; "" otherwise. */
static void read_text(const struct tapir_postgresql_process *p, uint64_t va, char *out, size_t max)
{
	size_t n = read_up_to(p->tgid, va, out, max);

	if (!memchr(out, 0, n))
		*out = 0;
}

void tapir_postgresql__statement(uint32_t tgid, uint64_t query_va, char *out, size_t max)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	uint64_t va = query_va ? tapir_process_memory__u64(&memory, query_va) : 0;

	out[read_up_to(tgid, va, out, max - 1)] = 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void close_file(struct tapir_postgresql_process *p)
{
	tapir_guard__fd(&p->fd);
	p->fd = -1;
	*p->path = 0;
}

static int open_below(const struct tapir_postgresql_process *p, const char *path)
{
	char dir[DATA_DIR_BYTES], full[TAPIR_FOREIGN_MAX_PATH_BYTES];
	int root_fd, fd;

	read_text(p, tapir_process_memory__u64(&p->memory, p->vas[DATA_DIR]), dir, sizeof(dir));
	if (*dir != '/')
		return -ENOENT;
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	root_fd = tapir_foreign__root(p->tgid);
	if (root_fd < 0)
		return root_fd;
	fd = tapir_foreign__open(root_fd, full, p->tgid);
	tapir_guard__fd(&root_fd);
	return fd;
}

static size_t read_file(void *ctx, const char *path, uint64_t off, void *out, size_t bytes)
{
	struct tapir_postgresql_process *p = ctx;
	ssize_t n;

	if (!path || strcmp(path, p->path) != 0)
		close_file(p);
	if (!path)
		return 0;
	if (!*p->path) {
		snprintf(p->path, sizeof(p->path), "%s", path);
		p->fd = open_below(p, path);
	}
	n = p->fd < 0 ? 0 : tapir_foreign__pread(p->fd, out, bytes, off);
	return n < 0 ? 0 : (size_t)n;
}

/* ---- lifecycle ------------------------------------------------------------------------------ */

static bool open_process(struct tapir_postgresql_process *p)
{
	uint32_t cnt = 0;
	struct tapir_proc proc;

	if (tapir_proc__read(p->tgid, &proc))
		return false;
	p->exe = proc.exe;
	if (p->exe)
		(void)tapir_proc__each_mapping(p->tgid, postgresql_on_mapping, p);
	p->exe = NULL;
	tapir_proc__fini(&proc);
	if (tapir_process_memory__get(&p->memory, p->vas[BUFFER_CNT], &cnt, sizeof(cnt)))
		p->server.buffer_cnt = cnt;
	p->server.blocks_va = tapir_process_memory__u64(&p->memory, p->vas[BLOCKS]);
	p->server.descriptors_va = tapir_process_memory__u64(&p->memory, p->vas[DESCRIPTORS]);
	return p->vas[MY_PROC];
}

struct tapir_postgresql_process *tapir_postgresql_process__new(uint32_t tgid)
{
	struct tapir_postgresql_process *p = calloc(1, sizeof(*p));
	int mark = tapir_diag__cnt();

	if (!p)
		return NULL;
	p->tgid = tgid;
	p->fd = -1;
	p->memory = (struct tapir_process_memory){tapir_process_memory__read_fn, &p->tgid};
	p->server = (struct tapir_postgresql_server){
		.memory = &p->memory, .read_file = read_file, .ctx = p};
	if (!open_process(p)) {
		tapir_postgresql_process__free(p);
		p = NULL;
	}
	tapir_diag__rewind(mark);
	return p;
}

void tapir_postgresql_process__free(struct tapir_postgresql_process *p)
{
	if (!p)
		return;
	close_file(p);
	free(p);
}

/* ---- questions ------------------------------------------------------------------------------ */

uint64_t tapir_postgresql_process__my_proc_va(const struct tapir_postgresql_process *p)
{
	return p->vas[MY_PROC];
}

uint64_t tapir_postgresql_process__query_va(const struct tapir_postgresql_process *p)
{
	return p->vas[QUERY];
}

uint64_t tapir_postgresql_process__my_entry_va(const struct tapir_postgresql_process *p)
{
	return p->vas[MY_ENTRY];
}

/* The database that it is connected to; 0: none. */
static uint32_t database_of(const struct tapir_postgresql_process *p)
{
	uint32_t database = 0;

	return tapir_process_memory__get(&p->memory, p->vas[DATABASE], &database, sizeof(database))
		       ? database
		       : 0;
}

/* In the default tablespace it is called by its number. */
static void find_dir(const struct tapir_postgresql_process *p, uint32_t database, char *out)
{
	*out = 0;
	if (database == database_of(p))
		read_text(p, tapir_process_memory__u64(&p->memory, p->vas[DATABASE_PATH]), out,
			  TAPIR_POSTGRESQL_DIR_BYTES);
	if (!*out)
		snprintf(out, TAPIR_POSTGRESQL_DIR_BYTES, "base/%u", database);
}

void tapir_postgresql_process__name_relations(struct tapir_postgresql_process *p, uint32_t database,
					      struct tapir_postgresql_relation *relations,
					      size_t cnt)
{
	char dir[TAPIR_POSTGRESQL_DIR_BYTES];
	int mark = tapir_diag__cnt();

	if (!database) /* each database lists them */
		database = database_of(p);
	find_dir(p, database, dir);
	tapir_postgresql_names__relations(&p->server, database, dir, relations, cnt);
	tapir_diag__rewind(mark);
}

void tapir_postgresql_process__name_database(struct tapir_postgresql_process *p, uint32_t database,
					     char name[TAPIR_POSTGRESQL_NAME_BYTES])
{
	int mark = tapir_diag__cnt();

	tapir_postgresql_names__database(&p->server, database, name);
	tapir_diag__rewind(mark);
}
