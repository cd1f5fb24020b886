// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the functions of malloc's family in a file and attaches the program that samples them
 * (bpf/native.bpf.c). Such a file is a C library, an allocator in its place, or a program that
 * contains one: other libraries call those.
 *
 * A function that only calls another one of the table is left out, because its calls are counted
 * there: reallocarray calls realloc everywhere, and in musl all of memalign's kind aligned_alloc.
 */
#include "record/images/images_impl.h"

#include <string.h>

#include "attach/links.h"
#include "base/diag.h"
#include "base/log.h"
#include "bpf/native_logic.bpf.h"
#include "elf/image.h"

enum scope {
	IN_ANY,
	NOT_IN_MUSL,
	IN_ALLOCATOR, /* libstdc++'s operators call malloc */
};

static const struct {
	const char *name;
	enum tapir_native_function function;
	enum scope scope;
} functions[] = {
	{"malloc", TAPIR_NATIVE_FN_MALLOC, IN_ANY},
	{"free", TAPIR_NATIVE_FN_FREE, IN_ANY},
	{"calloc", TAPIR_NATIVE_FN_CALLOC, IN_ANY},
	{"realloc", TAPIR_NATIVE_FN_REALLOC, IN_ANY},
	{"aligned_alloc", TAPIR_NATIVE_FN_ALIGNED_ALLOC, IN_ANY},
	{"memalign", TAPIR_NATIVE_FN_MEMALIGN, NOT_IN_MUSL},
	{"posix_memalign", TAPIR_NATIVE_FN_POSIX_MEMALIGN, NOT_IN_MUSL},
	{"valloc", TAPIR_NATIVE_FN_VALLOC, NOT_IN_MUSL},
	{"_Znwm", TAPIR_NATIVE_FN_NEW, IN_ALLOCATOR},
	{"_Znam", TAPIR_NATIVE_FN_NEW, IN_ALLOCATOR},
	{"_ZnwmRKSt9nothrow_t", TAPIR_NATIVE_FN_NEW, IN_ALLOCATOR},
	{"_ZnamRKSt9nothrow_t", TAPIR_NATIVE_FN_NEW, IN_ALLOCATOR},
	{"_ZdlPv", TAPIR_NATIVE_FN_FREE, IN_ALLOCATOR},
	{"_ZdaPv", TAPIR_NATIVE_FN_FREE, IN_ALLOCATOR},
	{"_ZdlPvm", TAPIR_NATIVE_FN_FREE, IN_ALLOCATOR},
	{"_ZdaPvm", TAPIR_NATIVE_FN_FREE, IN_ALLOCATOR},
};
#define FUNCTION_CNT (sizeof(functions) / sizeof(functions[0]))
_Static_assert(FUNCTION_CNT <= TAPIR_IMAGE_NATIVE_SITES, "room for them");

/* Compares the name of the file, such as "libc.so.6" or "libc-2.31.so". */
static bool begins_with(const char *path, const char *const *starts)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (; *starts; starts++)
		if (!strncmp(name, *starts, strlen(*starts)))
			return true;
	return false;
}

static bool is_musl(const char *path)
{
	return begins_with(path, (const char *const[]){"ld-musl", "libc.musl", NULL});
}

static bool is_allocator(const char *path)
{
	return begins_with(
		path, (const char *const[]){"libjemalloc", "libtcmalloc", "libmimalloc", NULL});
}

static bool may_allocate(const char *path)
{
	return is_musl(path) || is_allocator(path) ||
	       begins_with(path, (const char *const[]){"libc.so", "libc-", NULL}) ||
	       !strstr(path, ".so");
}

static bool is_in_scope(const struct tapir_image *image, enum scope scope)
{
	return scope == IN_ANY || (scope == NOT_IN_MUSL && !is_musl(image->path)) ||
	       (scope == IN_ALLOCATOR && is_allocator(image->path));
}

/* Two names of one function are one site. */
static void add_native_site(struct tapir_image *image, uint64_t off,
			    enum tapir_native_function function)
{
	for (size_t i = 0; i < image->native.cnt; i++)
		if (image->native.offs[i] == off)
			return;
	if (image->native.cnt == TAPIR_IMAGE_NATIVE_SITES)
		return;
	image->native.offs[image->native.cnt] = off;
	image->native.cookies[image->native.cnt++] = function;
}

/* A version follows the name in .symtab: malloc@@GLIBC_2.2.5. */
static bool is_symbol_of_name(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(symbol, name, len) && (!symbol[len] || symbol[len] == '@');
}

static void see_symbol(struct tapir_image *image, struct tapir_elf *elf, const char *symbol,
		       uint64_t va)
{
	/* jemalloc in a program, as it is usually built there; that of Rust's crate. */
	static const char *const prefixes[] = {"_rjem_", "je_"};
	const Elf64_Phdr *load;
	uint64_t off;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(symbol, prefixes[i], strlen(prefixes[i])))
			symbol += strlen(prefixes[i]);
	for (size_t i = 0; i < FUNCTION_CNT; i++) {
		if (!is_symbol_of_name(symbol, functions[i].name) ||
		    !is_in_scope(image, functions[i].scope))
			continue;
		load = tapir_elf__load_at(elf, va);
		if (load && load->p_flags & PF_X && tapir_elf__va_to_off(elf, va, &off))
			add_native_site(image, off, functions[i].function);
	}
}

static void see_symbols(struct tapir_image *image, struct tapir_elf *elf, uint32_t type)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(elf, type, &syms))
		return;
	for (size_t i = 1; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];

		if (sym->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(sym->st_info) == STT_FUNC &&
		    ELF64_ST_BIND(sym->st_info) != STB_LOCAL)
			see_symbol(image, elf, tapir_elf_syms__name(&syms, i), sym->st_value);
	}
}

static bool has_function(const struct tapir_image *image, enum tapir_native_function function)
{
	for (size_t i = 0; i < image->native.cnt; i++)
		if (image->native.cookies[i] == function)
			return true;
	return false;
}

void tapir_image__find_native(struct tapir_image *image, struct tapir_elf *elf)
{
	if (!may_allocate(image->path))
		return;
	see_symbols(image, elf, SHT_DYNSYM);
	see_symbols(image, elf, SHT_SYMTAB);
	/* A program may have a function with one of these names; what allocates has both. */
	if (!has_function(image, TAPIR_NATIVE_FN_MALLOC) ||
	    !has_function(image, TAPIR_NATIVE_FN_FREE))
		image->native.cnt = 0;
}

/* ---- attaching ------------------------------------------------------------------------------ */

static int link_native(struct tapir_images *images, struct tapir_image *image,
		       const struct tapir_link_sites *sites, uint32_t tgid)
{
	int program = tapir_programs__native_fd(images->opts.programs), err = 0;
	struct tapir_image_links *links = &image->native.links;

	if (images->opts.use_multi)
		return tapir_image_links__keep(links, tapir_link__multi(program, sites, tgid));
	for (size_t i = 0; i < sites->cnt && !err; i++)
		err = tapir_image_links__keep(links, tapir_link__perf(program, sites, i, tgid));
	return err;
}

/* Returns of those that return a block, where the entry cannot ask for its return. */
static int link_returns(struct tapir_images *images, struct tapir_image *image, uint32_t tgid)
{
	uint64_t offs[TAPIR_IMAGE_NATIVE_SITES], cookies[TAPIR_IMAGE_NATIVE_SITES];
	static const uint64_t no_semaphores[TAPIR_IMAGE_NATIVE_SITES];
	struct tapir_link_sites sites = {.file_fd = image->fd,
					 .offs = offs,
					 .semaphore_offs = no_semaphores,
					 .cookies = cookies,
					 .is_return = true};

	for (size_t i = 0; i < image->native.cnt; i++) {
		if (image->native.cookies[i] == TAPIR_NATIVE_FN_FREE)
			continue;
		offs[sites.cnt] = image->native.offs[i];
		cookies[sites.cnt++] = image->native.cookies[i] | TAPIR_NATIVE_AT_RETURN;
	}
	return link_native(images, image, &sites, tgid);
}

int tapir_image__attach_native(struct tapir_images *images, struct tapir_image *image,
			       uint32_t tgid)
{
	static const uint64_t no_semaphores[TAPIR_IMAGE_NATIVE_SITES];
	const struct tapir_link_sites sites = {.file_fd = image->fd,
					       .cnt = image->native.cnt,
					       .offs = image->native.offs,
					       .semaphore_offs = no_semaphores,
					       .cookies = image->native.cookies,
					       .is_session = images->opts.use_sessions};
	size_t had_cnt = image->native.links.fds.cnt;
	int err = 0;

	if (!image->native.cnt || images->is_native_off)
		return 0;
	/* A return whose entry was not probed means nothing; the reverse would be lost. */
	if (!sites.is_session)
		err = link_returns(images, image, tgid);
	if (!err)
		err = link_native(images, image, &sites, tgid);
	if (err) {
		tapir_image_links__drop(&image->native.links, had_cnt);
		return err;
	}
	images->native_cnt++;
	tapir_debug("%zu functions that allocate are probed: %s", image->native.cnt, image->path);
	return 0;
}

bool tapir_images__has_native(const struct tapir_images *images)
{
	return images->native_cnt > 0;
}

void tapir_images__detach_native(struct tapir_images *images)
{
	images->is_native_off = true;
	for (size_t i = 0; i < images->all.cnt; i++)
		tapir_image_links__drop(&images->all.data[i]->native.links, 0);
}
