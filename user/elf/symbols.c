// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Function symbols, sorted by where they start in the file.
 *
 * A table is built from candidates (every function of every symbol table that was found)
 * and then kept compact: 20 bytes a function, its name an offset into one block.
 */
#include "elf/symbols.h"

#include "base/str.h"
#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/go_table.h"
#include "elf/image.h"

#include <errno.h>
#include <string.h>

#define MAX_SYMBOL_CNT	(1u << 20) /* seen: 53,000 in a JVM, 560,000 in a browser */
#define MAX_NAME_BYTES	(16u << 10)
#define MAX_NAMES_BYTES (128u << 20)
#define MAX_COMPARED	256u /* bytes of names that are equal so far */
#define MAX_NESTING	16   /* functions that may start within another one before its end */

/*
 * Work for the tables of a file, in about nanoseconds; a browser's take 40 million. It is counted
 * and not measured: on a busy virtual machine CPU time passes without work, and names would be
 * lost.
 */
#define MAX_WORK	(256u << 20)
#define SYMBOL_WORK	64u
#define BYTES_PER_WORK	16u /* of a name */

struct entry {
	uint64_t start_off;
	uint32_t size;	/* 0: unknown */
	uint32_t reach; /* bytes to the end of the section: an unsized symbol ends there */
	uint32_t name_off;
};

struct candidate {
	uint64_t start_off;
	uint32_t size, reach;
	uint32_t rank; /* of several names of one place the lowest wins */
	uint32_t name_len;
	const char *name; /* borrowed from an image or the old table */
};

struct tapir_symtab {
	struct entry *entries;
	size_t cnt;
	struct tapir_str names;
	size_t dropped_cnt;
};

struct builder {
	struct tapir_vec(struct candidate) found;
	struct tapir_elf *layout; /* whose program headers give the offsets; NULL: bias does */
	uint64_t bias;
	size_t dropped_cnt;
	uint64_t work;
};

/* ---- candidates ------------------------------------------------------------------------- */

static uint32_t clamp32(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* The end of the code a symbol is part of, or 0: it is no code. */
static uint64_t code_end(struct builder *b, const struct tapir_elf *source, const Elf64_Sym *sym)
{
	const Elf64_Shdr *sec = tapir_elf__section_at_idx(source, sym->st_shndx);
	const Elf64_Phdr *load = b->layout ? tapir_elf__load_at(b->layout, sym->st_value) : NULL;
	uint64_t va = sym->st_value;

	if (b->layout && (!load || !(load->p_flags & PF_X)))
		return 0;
	if (!sec)
		return load ? load->p_vaddr + load->p_filesz : 0;
	if (!(sec->sh_flags & SHF_EXECINSTR) || va < sec->sh_addr ||
	    va - sec->sh_addr >= sec->sh_size)
		return 0;
	return sec->sh_addr + sec->sh_size;
}

/* Assembler-local labels and the mapping symbols of other machines name no function. */
static bool is_function(const Elf64_Sym *sym, const char *name)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !*name)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && *name != '$' && strncmp(name, ".L", 2) != 0;
}

/* Best first: sized, global, typed, without underscores in front, short. */
static uint32_t rank_of(const Elf64_Sym *sym, const char *name, size_t len)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info);
	size_t underscores = strspn(name, "_");
	uint32_t rank = sym->st_size == 0;

	rank = rank << 2 | (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2);
	rank = rank << 1 | (ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE);
	rank = rank << 3 | (uint32_t)(underscores > 7 ? 7 : underscores);
	return rank << 16 | (uint32_t)len;
}

/*
 * "memcpy@@GLIBC_2.14": the version is not part of the name. At most one byte more than a name may
 * have is read: a million symbols may share one string of a hundred megabytes.
 */
static size_t len_of_name(struct builder *b, const char *name)
{
	size_t len = strnlen(name, MAX_NAME_BYTES + 1);
	const char *version = len > 1 ? memchr(name + 1, '@', len - 1) : NULL;

	b->work += len / BYTES_PER_WORK;
	return version ? (size_t)(version - name) : len;
}

static bool to_off(const struct builder *b, uint64_t va, uint64_t *out)
{
	if (b->layout)
		return tapir_elf__va_to_off(b->layout, va, out);
	*out = va - b->bias; /* which may be negative */
	return (int64_t)*out >= 0;
}

static int add_candidate(struct builder *b, const struct tapir_elf *source, const Elf64_Sym *sym,
			 const char *name)
{
	size_t len = len_of_name(b, name);
	uint64_t end = code_end(b, source, sym), off;
	struct candidate *c;

	if (!end || !to_off(b, sym->st_value, &off))
		return 0;
	if (b->found.cnt == MAX_SYMBOL_CNT || len > MAX_NAME_BYTES) {
		b->dropped_cnt++;
		return 0;
	}
	c = tapir_vec__add(&b->found);
	if (!c)
		return -ENOMEM;
	c->start_off = off;
	c->size = clamp32(sym->st_size);
	c->reach = clamp32(end - sym->st_value);
	c->rank = rank_of(sym, name, len);
	c->name = name;
	c->name_len = (uint32_t)len;
	return 0;
}

/* Is there work left for one of cnt symbols? Where not, they count as left out. */
static bool may_add(struct builder *b, size_t cnt)
{
	b->work += SYMBOL_WORK;
	if (b->work <= MAX_WORK)
		return true;
	b->dropped_cnt += cnt;
	return false;
}

static int add_symbol_table(struct builder *b, struct tapir_elf *source, uint32_t type)
{
	struct tapir_elf_syms syms;
	int err = tapir_elf__syms(source, type, &syms);

	if (err)
		return err == -ENOENT ? 0 : err;
	for (size_t i = 1; !err && i < syms.cnt && may_add(b, syms.cnt - i); i++) {
		const char *name = tapir_elf_syms__name(&syms, i);

		if (is_function(&syms.syms[i], name))
			err = add_candidate(b, source, &syms.syms[i], name);
	}
	return err;
}

/* The section that holds va. */
static uint16_t section_of(const struct tapir_elf *source, uint64_t va)
{
	const Elf64_Shdr *sec;

	for (uint16_t i = 1; i < SHN_LORESERVE && (sec = tapir_elf__section_at_idx(source, i)); i++)
		if (sec->sh_flags & SHF_EXECINSTR && va >= sec->sh_addr &&
		    va - sec->sh_addr < sec->sh_size)
			return i;
	return SHN_ABS;
}

static int add_go(struct builder *b, struct tapir_elf *source)
{
	struct tapir_go_function f;
	struct tapir_go_table table;
	Elf64_Sym sym = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC)};
	uint64_t end_va;
	int err = 0;

	if (!tapir_go_table__open(source, &table))
		return 0;
	sym.st_shndx = section_of(source, table.text_va);
	for (uint32_t i = 0; !err && i < table.function_cnt && may_add(b, table.function_cnt - i);
	     i++) {
		if (!tapir_go_table__function(&table, i, &f) || !*f.name)
			continue;
		if (!table.text_va && !i)
			sym.st_shndx = section_of(source, f.start_va);
		sym.st_value = f.start_va;
		end_va = code_end(b, source, &sym);
		sym.st_size = end_va - f.start_va < f.size ? end_va - f.start_va : f.size;
		err = add_candidate(b, source, &sym, f.name);
	}
	return err;
}

/* Go's own table counts only where the linker's was stripped. */
static int add_tables(struct builder *b, struct tapir_elf *source)
{
	bool is_stripped = !tapir_elf__section_of_type(source, SHT_SYMTAB);
	int err = add_symbol_table(b, source, SHT_SYMTAB);

	if (!err)
		err = add_symbol_table(b, source, SHT_DYNSYM);
	return !err && is_stripped ? add_go(b, source) : err;
}

/*
 * The symbols of an existing table take part in the choice again; its names stay the better ones.
 */
static int add_old(struct builder *b, const struct tapir_symtab *old)
{
	for (size_t i = 0; i < old->cnt; i++) {
		const struct entry *e = &old->entries[i];
		struct candidate *c = tapir_vec__add(&b->found);

		if (!c)
			return -ENOMEM;
		c->start_off = e->start_off;
		c->size = e->size;
		c->reach = e->reach;
		c->rank = (uint32_t)!e->size << 22;
		c->name = old->names.data + e->name_off;
		c->name_len = (uint32_t)strlen(c->name);
	}
	return 0;
}

/* ---- the table -------------------------------------------------------------------------- */

static int by_address_and_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->start_off != y->start_off)
		return x->start_off < y->start_off ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* equal ranks have equal lengths; among names with a long common prefix, any is right */
	return memcmp(x->name, y->name, x->name_len < MAX_COMPARED ? x->name_len : MAX_COMPARED);
}

static void append_symbol(struct tapir_symtab *t, const struct candidate *c)
{
	struct entry *e = &t->entries[t->cnt++];

	e->start_off = c->start_off;
	e->size = c->size;
	e->reach = c->reach;
	e->name_off = (uint32_t)t->names.len;
	tapir_str__add(&t->names, c->name, c->name_len);
	tapir_str__addc(&t->names, '\0');
}

/* Replaces the contents of t, which the candidates may still borrow names from. */
static int finish_symtab(struct builder *b, struct tapir_symtab *t)
{
	struct tapir_symtab fresh = {};

	if (b->found.cnt)
		qsort(b->found.data, b->found.cnt, sizeof(*b->found.data), by_address_and_rank);
	fresh.entries = calloc(b->found.cnt + 1, sizeof(*fresh.entries));
	for (size_t i = 0; fresh.entries && i < b->found.cnt; i++) {
		const struct candidate *c = &b->found.data[i];

		/*
		 * Sorted by rank within a place, the best name comes first: aliases behind it are
		 * left out.
		 */
		if (i && c[-1].start_off == c->start_off)
			continue;
		if (fresh.names.len + c->name_len > MAX_NAMES_BYTES)
			b->dropped_cnt++;
		else
			append_symbol(&fresh, c);
	}
	if (!fresh.entries || fresh.names.failed) {
		free(fresh.entries);
		tapir_str__fini(&fresh.names);
		return -ENOMEM;
	}
	/*
	 * Replaced last: names of candidates may point into what is freed here, and a failure above
	 * leaves the table as it was.
	 */
	fresh.dropped_cnt = t->dropped_cnt + b->dropped_cnt;
	free(t->entries);
	tapir_str__fini(&t->names);
	*t = fresh;
	return 0;
}

static int load_symtab(struct builder *b, struct tapir_elf *elf, struct tapir_symtab **out)
{
	struct tapir_symtab *t = calloc(1, sizeof(*t));
	struct tapir_elf *embedded = NULL;
	int err = t ? add_tables(b, elf) : -ENOMEM, no_embedded;

	no_embedded = err ? err : tapir_debug_file__open_embedded(elf, &embedded);
	b->dropped_cnt += no_embedded == -EFBIG;
	if (!no_embedded)
		err = add_tables(b, embedded);
	if (!err)
		err = finish_symtab(b, t);
	tapir_elf__free(embedded);
	tapir_vec__fini(&b->found);
	if (err)
		tapir_symtab__free(t);
	else
		*out = t;
	return err;
}

int tapir_symtab__load(struct tapir_elf *elf, struct tapir_symtab **out)
{
	struct builder b = {.layout = elf};

	return load_symtab(&b, elf, out);
}

int tapir_symtab__load_biased(struct tapir_elf *elf, uint64_t bias, struct tapir_symtab **out)
{
	struct builder b = {.bias = bias};

	return load_symtab(&b, elf, out);
}

void tapir_symtab__free(struct tapir_symtab *symtab)
{
	if (!symtab)
		return;
	free(symtab->entries);
	tapir_str__fini(&symtab->names);
	free(symtab);
}

int tapir_symtab__load_debug(struct tapir_symtab *symtab, struct tapir_elf *elf,
			     const struct tapir_debug_location *location)
{
	struct builder b = {.layout = elf};
	struct tapir_elf *debug = NULL;
	int err = tapir_debug_file__open(elf, location, &debug);

	symtab->dropped_cnt += err == -EFBIG;
	if (err)
		return err == -ENOENT || err == -EFBIG ? 0 : err;
	err = add_old(&b, symtab);
	if (!err)
		err = add_tables(&b, debug);
	if (!err)
		err = finish_symtab(&b, symtab);
	tapir_elf__free(debug);
	tapir_vec__fini(&b.found);
	return err ? err : 1;
}

size_t tapir_symtab__dropped(const struct tapir_symtab *symtab)
{
	return symtab->dropped_cnt;
}

size_t tapir_symtab__cnt(const struct tapir_symtab *symtab)
{
	return symtab->cnt;
}

static uint64_t size_of(const struct tapir_symtab *t, size_t idx)
{
	const struct entry *e = &t->entries[idx];
	uint64_t gap = idx + 1 < t->cnt ? e[1].start_off - e->start_off : UINT64_MAX;

	if (e->size)
		return e->size;
	return gap < e->reach ? gap : e->reach;
}

bool tapir_symtab__find(const struct tapir_symtab *symtab, uint64_t file_off,
			struct tapir_symbol *out)
{
	size_t upper = tapir_sorted__upper_bound(symtab->entries, symtab->cnt, start_off, file_off);

	for (size_t i = upper; i > 0 && upper - i < MAX_NESTING; i--) {
		const struct entry *e = &symtab->entries[i - 1];

		if (file_off - e->start_off >= size_of(symtab, i - 1))
			continue;
		*out = (struct tapir_symbol){.start_off = e->start_off,
					     .size = size_of(symtab, i - 1),
					     .name = symtab->names.data + e->name_off};
		return true;
	}
	return false;
}
