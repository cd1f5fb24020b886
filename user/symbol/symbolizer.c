// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One entry per file; the symbol tables of the most recently used ones stay in memory. A file keeps
 * a descriptor from the moment at which it was mapped, since its name may mean another file later.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/kernel_names.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/demangle.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "base/foreign/foreign_file.h"
#include "symbol/dotnet_r2r.h"
#include "symbol/kallsyms.h"
#include "symbol/vdso.h"
#include "attach/unwind/functions.h"

/*
 * Each file holds a descriptor: at most a quarter of those that the process may have. When there
 * are more files, the least recently used one is dropped, and remembered as dropped.
 */
#define MAX_FILES	  16384u
#define MIN_FILES	  16u
#define MAX_DROPPED	  65536u
/* Symbols in memory, of all tables: about 40 bytes each, with its name. */
#define MAX_SYMBOLS	  400000
#define SYMBOL_BYTES	  40u
#define MAX_TOO_LARGE	  8 /* warnings */
/* A name costs 2 us, all of them 70 ms. */
#define KERNEL_LOOKUP_MAX 16384

struct file {
	uint64_t file_id;
	int fd;	       /* -1: could not be read, is not tried again; or dropped */
	char *path;    /* NULL: no search for separate debug information */
	uint32_t tgid; /* a process that maps it there; 0: tapir itself sees it there */
	struct tapir_symtab *symtab;
	struct tapir_functions *functions; /* of symtab's file; NULL: no unwind data */
	struct tapir_r2r *r2r;		   /* instead: it is an assembly */
	uint64_t last_use;
};

struct tapir_symbolizer {
	struct tapir_vec(struct file) files;
	struct tapir_map idx_by_file_id;
	struct tapir_map dropped; /* file_ids without a file, for lack of descriptors */
	size_t max_files;
	uint64_t missed_cnt;
	uint64_t use_cnt;
	size_t symbol_cnt; /* of the tables in memory */
	char *demangled;   /* what the last __name gave out */
	char range_name[24];
	struct tapir_kallsyms *kernel;
	struct tapir_kernel_names *kernel_names; /* NULL: kernel has them */
	size_t kernel_lookup_cnt;
	bool kernel_was_tried;
	uint64_t kernel_id;
	unsigned too_large_cnt; /* files whose symbols are not all read */
};

static size_t max_files(void)
{
	struct rlimit limit;
	size_t cnt = MIN_FILES;

	if (!getrlimit(RLIMIT_NOFILE, &limit))
		cnt = limit.rlim_cur / 4 < MAX_FILES ? (size_t)limit.rlim_cur / 4 : MAX_FILES;
	return cnt > MIN_FILES ? cnt : MIN_FILES;
}

int tapir_symbolizer__new(struct tapir_symbolizer **out)
{
	struct tapir_symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->kernel_id = tapir_symbolizer__kernel_id();
	s->max_files = max_files();
	*out = s;
	return 0;
}

/* The memory it uses, as a number of symbols. */
static size_t cost_of(const struct file *file)
{
	size_t range_cnt = file->functions ? tapir_functions__cnt(file->functions) : 0;

	return file->symtab ? tapir_symtab__cnt(file->symtab) + range_cnt / 2
	       : file->r2r  ? tapir_r2r__bytes(file->r2r) / SYMBOL_BYTES
			    : 0;
}

static void unload(struct tapir_symbolizer *s, struct file *file)
{
	s->symbol_cnt -= cost_of(file);
	tapir_symtab__free(file->symtab);
	tapir_r2r__free(file->r2r);
	tapir_functions__free(file->functions);
	file->symtab = NULL;
	file->functions = NULL;
	file->r2r = NULL;
}

static void file__fini(struct tapir_symbolizer *s, struct file *file)
{
	unload(s, file);
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
}

void tapir_symbolizer__free(struct tapir_symbolizer *s)
{
	struct file *file;

	if (!s)
		return;
	tapir_vec_for_each (file, &s->files)
		file__fini(s, file);
	tapir_vec__fini(&s->files);
	tapir_map__fini(&s->idx_by_file_id);
	tapir_map__fini(&s->dropped);
	free(s->demangled);
	tapir_kernel_names__free(s->kernel_names);
	tapir_kallsyms__free(s->kernel);
	free(s);
}

/* A dropped file has no names of its functions: each lookup counts. */
static void remember_dropped(struct tapir_symbolizer *s, uint64_t file_id)
{
	if (s->dropped.cnt < MAX_DROPPED)
		tapir_map__put(&s->dropped, file_id, NULL);
}

/* The entry of the least recently used file; NULL: there is none. */
static struct file *drop_oldest(struct tapir_symbolizer *s)
{
	struct file *file, *oldest = NULL;

	tapir_vec_for_each (file, &s->files)
		if (!oldest || file->last_use < oldest->last_use)
			oldest = file;
	if (!oldest)
		return NULL;
	if (oldest->fd >= 0)
		remember_dropped(s, oldest->file_id);
	tapir_map__del(&s->idx_by_file_id, oldest->file_id);
	file__fini(s, oldest);
	*oldest = (struct file){.fd = -1};
	return oldest;
}

/* A place for one more file. */
static struct file *new_file(struct tapir_symbolizer *s)
{
	struct file none = {.fd = -1};

	if (s->files.cnt >= s->max_files)
		return drop_oldest(s);
	return tapir_vec__push(&s->files, none) ? &s->files.data[s->files.cnt - 1] : NULL;
}

void tapir_symbolizer__add_file(struct tapir_symbolizer *s, uint64_t file_id, int fd,
				const char *path, uint32_t tgid)
{
	struct file *file;
	uint64_t *idx;
	int own_fd;

	if (tapir_map__get(&s->idx_by_file_id, file_id))
		return;
	own_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file = own_fd < 0 ? NULL : new_file(s);
	idx = file ? tapir_map__put(&s->idx_by_file_id, file_id, NULL) : NULL;
	if (!idx) {
		remember_dropped(s, file_id);
		tapir_guard__fd(&own_fd);
		return;
	}
	tapir_map__del(&s->dropped, file_id);
	*idx = (uint64_t)(file - s->files.data);
	*file = (struct file){
		.file_id = file_id,
		.fd = own_fd,
		.path = strdup(path),
		.tgid = tgid,
		.last_use = ++s->use_cnt,
	};
}

uint64_t tapir_symbolizer__missed(const struct tapir_symbolizer *s)
{
	return s->missed_cnt;
}

static void evict_symbol_files(struct tapir_symbolizer *s, const struct file *wanted)
{
	while (s->symbol_cnt > MAX_SYMBOLS) {
		struct file *file, *oldest = NULL;

		tapir_vec_for_each (file, &s->files)
			if (file != wanted && cost_of(file) &&
			    (!oldest || file->last_use < oldest->last_use))
				oldest = file;
		if (!oldest)
			return; /* one table alone may be larger */
		unload(s, oldest);
	}
}

/* Counts what was loaded. */
static void count_loaded(struct tapir_symbolizer *s, const struct file *file)
{
	s->symbol_cnt += cost_of(file);
	evict_symbol_files(s, file);
}

static void abandon_symbols(struct file *file)
{
	close(file->fd);
	file->fd = -1;
}

/* Returns true if the path below the root names this file. */
static bool shows(int root_fd, uint32_t tgid, const struct file *file)
{
	tapir_autofd int path_fd = tapir_foreign__take(root_fd, file->path, tgid, 0);
	struct stat there, own;

	return path_fd >= 0 && !tapir_foreign__stat(path_fd, &there) &&
	       !tapir_foreign__stat(file->fd, &own) && there.st_dev == own.st_dev &&
	       there.st_ino == own.st_ino;
}

/*
 * A debug file that the file itself names is searched in its directory: in tapir's root if the path
 * means the same file there, else in that of its process. A debug file of its build ID is always
 * searched in tapir's root.
 */
static void load_debug(struct file *file, struct tapir_elf *elf)
{
	tapir_autofd int own_fd = tapir_foreign__root(0), root_fd = -1;
	struct tapir_debug_location own = {.root_fd = own_fd}, theirs = {.tgid = file->tgid};

	if (shows(own_fd, 0, file))
		own.path = file->path;
	else if (file->tgid)
		root_fd = tapir_foreign__root(file->tgid);
	if (tapir_symtab__load_debug(file->symtab, elf, &own) || root_fd < 0 ||
	    !shows(root_fd, file->tgid, file))
		return;
	theirs.root_fd = root_fd;
	theirs.path = file->path;
	tapir_symtab__load_debug(file->symtab, elf, &theirs);
}

static void report_dropped(struct tapir_symbolizer *s, const struct file *file)
{
	if (s->too_large_cnt++ < MAX_TOO_LARGE)
		tapir_warn("symbols of %s are not all read: %zu symbols or tables are too large",
			   file->path ? file->path : "a file", tapir_symtab__dropped(file->symtab));
}

static int load_symbols(struct tapir_symbolizer *s, struct file *file)
{
	struct tapir_elf *elf = NULL;
	int err = tapir_elf__open_fd(file->fd, &elf);

	if (err)
		return err;
	err = tapir_symtab__load(elf, &file->symtab);
	/* Names the file itself has are good even where its debug file is not. */
	if (!err && file->path)
		load_debug(file, elf);
	if (!err)
		(void)tapir_functions__load(elf, &file->functions);
	tapir_elf__free(elf);
	if (err)
		return err;
	if (tapir_symtab__dropped(file->symtab))
		report_dropped(s, file);
	count_loaded(s, file);
	return 0;
}

/* The vdso has no file. */
static struct file *find_file(struct tapir_symbolizer *s, uint64_t file_id)
{
	const uint64_t *idx = tapir_map__get(&s->idx_by_file_id, file_id);
	const struct tapir_vdso *vdso = idx ? NULL : tapir_vdso__get();

	if (vdso && vdso->file_id == file_id) {
		tapir_symbolizer__add_file(s, file_id, vdso->fd, "/[vdso]", 0);
		idx = tapir_map__get(&s->idx_by_file_id, file_id);
	}
	s->missed_cnt += !idx && tapir_map__get(&s->dropped, file_id);
	return idx ? &s->files.data[*idx] : NULL;
}

static struct file *readable_file(struct tapir_symbolizer *s, uint64_t file_id)
{
	struct file *file = find_file(s, file_id);
	int err, diag_cnt = tapir_diag__cnt();

	if (!file || file->fd < 0)
		return NULL;
	if (!file->symtab) {
		err = load_symbols(s, file);
		if (err) {
			tapir_debug("%s: no symbols: %s", file->path ? file->path : "a file",
				    strerror(-err));
			tapir_diag__rewind(diag_cnt);
			abandon_symbols(file);
			return NULL;
		}
	}
	file->last_use = ++s->use_cnt;
	return file;
}

const struct tapir_r2r *tapir_symbolizer__r2r(struct tapir_symbolizer *s, uint64_t file_id)
{
	struct file *file = find_file(s, file_id);

	if (!file || file->fd < 0 || file->symtab)
		return NULL;
	if (!file->r2r) {
		if (tapir_r2r__load(file->fd, &file->r2r)) {
			abandon_symbols(file);
			return NULL;
		}
		count_loaded(s, file);
	}
	file->last_use = ++s->use_cnt;
	return file->r2r;
}

uint64_t tapir_symbolizer__kernel_id(void)
{
	struct utsname uts = {};

	uname(&uts);
	return tapir_hash__bytes(tapir_hash__bytes(1, uts.release, strlen(uts.release)),
				 uts.version, strlen(uts.version)) |
	       1;
}

static void load_kernel_names(struct tapir_symbolizer *s)
{
	int err = tapir_kallsyms__load("/proc/kallsyms", &s->kernel);

	if (err)
		tapir_warn("kernel functions have no names: %s (see 'tapir doctor')",
			   tapir_errno__text(err));
}

static bool name_kernel(struct tapir_symbolizer *s, uint64_t off, struct tapir_symbol_name *out)
{
	uint64_t va = TAPIR_KERNEL_START_VA + off, start_va, size;
	const char *name;

	if (!s->kernel_was_tried && tapir_kernel_names__new(&s->kernel_names))
		load_kernel_names(s);
	s->kernel_was_tried = true;
	if (s->kernel_names && s->kernel_lookup_cnt++ == KERNEL_LOOKUP_MAX) {
		tapir_kernel_names__free(s->kernel_names);
		s->kernel_names = NULL;
		load_kernel_names(s);
	}
	if (s->kernel_names
		    ? !tapir_kernel_names__find(s->kernel_names, va, &name, &start_va, &size)
		    : !s->kernel || !tapir_kallsyms__find(s->kernel, va, &name, &start_va, &size))
		return false;
	*out = (struct tapir_symbol_name){
		.name = name, .start_off = start_va - TAPIR_KERNEL_START_VA, .size = size};
	return true;
}

static bool name_range(struct tapir_symbolizer *s, const struct file *file, uint64_t file_off,
		       struct tapir_symbol_name *out)
{
	struct tapir_function_range range;

	if (!file->functions || !tapir_functions__find(file->functions, file_off, &range))
		return false;
	/*
	 * The function has this name in every C library; it is stripped, since no code calls it by
	 * name.
	 */
	if (range.is_signal)
		snprintf(s->range_name, sizeof(s->range_name), "__restore_rt");
	else
		snprintf(s->range_name, sizeof(s->range_name), "fn_%" PRIx64, range.start_va);
	*out = (struct tapir_symbol_name){.name = s->range_name,
					  .start_off = range.start_off,
					  .size = range.size,
					  .is_range = !range.is_signal};
	return true;
}

bool tapir_symbolizer__name(struct tapir_symbolizer *s, uint64_t file_id, uint64_t file_off,
			    struct tapir_symbol_name *out)
{
	struct tapir_symbol symbol;
	struct file *file;

	if (file_id == s->kernel_id)
		return name_kernel(s, file_off, out);
	file = readable_file(s, file_id);
	if (!file)
		return false;
	if (!tapir_symtab__find(file->symtab, file_off, &symbol))
		return name_range(s, file, file_off, out);
	free(s->demangled);
	s->demangled = tapir_demangle(symbol.name);
	*out = (struct tapir_symbol_name){
		.name = s->demangled ? s->demangled : symbol.name,
		.start_off = symbol.start_off,
		.size = symbol.size,
	};
	return true;
}
