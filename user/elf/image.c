// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening ELF files with libelf, in its reading mode. What libelf would believe (section
 * counts) is checked against the file's size before libelf sees it.
 */
#include "elf/image.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "elf/note_iter.h"
#include "base/foreign/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_LOADED_BYTES   (256u << 20) /* of all sections: sparse files are cheap to make */
#define MAX_SECTION_CNT	   65536u	/* only object files have more */
#define MAX_SEGMENT_CNT	   1024u
#define MAX_UNSORTED_CNT   16u /* of PT_LOAD: gABI wants them in ascending order */
#define MAX_BUILD_ID_BYTES 64u
#define MAX_NOTE_BYTES	   (64u << 10) /* searched for a build ID, */
#define MAX_NOTE_CNT	   64u	       /* limits on the number of sections and segments */

struct tapir_elf {
	char *name;
	int fd;
	Elf *elf;
	const Elf64_Ehdr *ehdr; /* borrowed from elf, like all below */
	const Elf64_Phdr *phdrs;
	size_t phdr_cnt;
	uint16_t *loads; /* indexes of PT_LOAD headers whose bytes the file has */
	size_t load_cnt;
	bool loads_are_sorted; /* and do not overlap */
	size_t section_cnt;
	size_t loaded_bytes; /* sections in memory, libelf's */
	bool is_program, knows_program;
	const char *section_names;
	size_t section_names_len;
	struct stat st;
	size_t build_id_bytes;
	uint8_t build_id[MAX_BUILD_ID_BYTES];
};

static int not_elf(const char *name, const char *why)
{
	return tapir_diag__fail(-ENOEXEC, "%s is not a valid ELF file: %s", name, why);
}

static bool fits_image(uint64_t off, uint64_t bytes, uint64_t limit)
{
	return off <= limit && bytes <= limit - off;
}

/*
 * The number of sections, from the header or, when it needs more than 16 bits, from the
 * size of section 0 (gABI, e_shnum). libelf allocates by it.
 */
static int check_section_cnt(int fd, const Elf64_Ehdr *head, uint64_t file_bytes)
{
	uint64_t cnt = head->e_shnum;
	Elf64_Shdr first;

	if (!head->e_shoff)
		return 0;
	if (head->e_shentsize != sizeof(first))
		return -ENOEXEC;
	if (!cnt) {
		if (pread(fd, &first, sizeof(first), (off_t)head->e_shoff) != sizeof(first))
			return -ENOEXEC;
		cnt = first.sh_size;
	}
	if (cnt > MAX_SECTION_CNT)
		return -ENOEXEC;
	return fits_image(head->e_shoff, cnt * sizeof(first), file_bytes) ? 0 : -ENOEXEC;
}

static int check_header(const struct tapir_elf *e)
{
	uint64_t file_bytes = (uint64_t)e->st.st_size;
	Elf64_Ehdr head;
	ssize_t got;

	if (!S_ISREG(e->st.st_mode))
		return not_elf(e->name, "not a regular file");
	got = pread(e->fd, &head, sizeof(head), 0);
	if (got < 0)
		return tapir_diag__fail(-errno, "cannot read %s: %s", e->name,
					tapir_errno__text(errno));
	if (got != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return not_elf(e->name, "no ELF header");
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return not_elf(e->name, "it is not 64-bit little-endian");
	if (check_section_cnt(e->fd, &head, file_bytes))
		return not_elf(e->name, "its section headers are too many, or outside the file");
	if (head.e_phnum > MAX_SEGMENT_CNT)
		return not_elf(e->name, "too many program headers");
	if (head.e_phnum &&
	    (head.e_phentsize != sizeof(Elf64_Phdr) ||
	     !fits_image(head.e_phoff, head.e_phnum * sizeof(Elf64_Phdr), file_bytes)))
		return not_elf(e->name, "its program headers are outside the file");
	return 0;
}

/* The length up to which every string in a table is terminated. */
static size_t terminated_len(const char *strings, size_t len)
{
	const char *last = len ? memrchr(strings, '\0', len) : NULL;

	return last ? (size_t)(last - strings) + 1 : 0;
}

static void load_section_names(struct tapir_elf *e)
{
	size_t names_idx, len;
	const Elf64_Shdr *names;
	const void *data;

	if (elf_getshdrnum(e->elf, &e->section_cnt))
		e->section_cnt = 0;
	if (elf_getshdrstrndx(e->elf, &names_idx))
		return;
	names = tapir_elf__section_at_idx(e, names_idx);
	if (!names || tapir_elf__data(e, names, &data, &len))
		return;
	e->section_names = data;
	e->section_names_len = terminated_len(data, len);
}

static bool take_build_id(struct tapir_elf *e, const void *data, size_t len, uint64_t align)
{
	struct tapir_note_iter it = tapir_note_iter__over(data, len, align);
	struct tapir_elf_note note;

	while (tapir_note_iter__next(&it, &note)) {
		if (note.type != NT_GNU_BUILD_ID || strcmp(note.name, ELF_NOTE_GNU) != 0 ||
		    !note.desc_bytes || note.desc_bytes > sizeof(e->build_id))
			continue;
		memcpy(e->build_id, note.desc, note.desc_bytes);
		e->build_id_bytes = note.desc_bytes;
		return true;
	}
	return false;
}

/* The bytes at an offset, owned by libelf; NULL: outside of the file. */
static const void *chunk(const struct tapir_elf *e, uint64_t off, uint64_t bytes)
{
	Elf_Data *data = NULL;

	if (off <= INT64_MAX && bytes)
		data = elf_getdata_rawchunk(e->elf, (int64_t)off, bytes, ELF_T_BYTE);
	return data ? data->d_buf : NULL;
}

static bool search_build_id(struct tapir_elf *e, uint64_t off, uint64_t bytes, uint64_t align)
{
	const void *data = bytes <= MAX_NOTE_BYTES ? chunk(e, off, bytes) : NULL;

	return data && take_build_id(e, data, bytes, align);
}

/* Sections first: the program headers of a separate debug file lead nowhere. */
static void find_build_id(struct tapir_elf *e)
{
	unsigned seen = 0;

	for (size_t i = 1; i < e->section_cnt && seen < MAX_NOTE_CNT; i++) {
		const Elf64_Shdr *sec = tapir_elf__section_at_idx(e, i);

		/* A file that dwz(1) made is never loaded. */
		if (!sec || sec->sh_type != SHT_NOTE ||
		    (e->phdr_cnt && !(sec->sh_flags & SHF_ALLOC)))
			continue;
		seen++;
		if (search_build_id(e, sec->sh_offset, sec->sh_size, sec->sh_addralign))
			return;
	}
	for (size_t i = 0; i < e->phdr_cnt && seen < 2 * MAX_NOTE_CNT; i++) {
		const Elf64_Phdr *ph = &e->phdrs[i];

		if (ph->p_type != PT_NOTE)
			continue;
		seen++;
		if (search_build_id(e, ph->p_offset, ph->p_filesz, ph->p_align))
			return;
	}
}

/* A header that promises bytes which the file does not have maps nothing. */
static bool is_load(const struct tapir_elf *elf, const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD &&
	       fits_image(ph->p_offset, ph->p_filesz, (uint64_t)elf->st.st_size);
}

/* Each symbol asks for its segment: there may be millions, and a thousand segments. */
static int find_loads(struct tapir_elf *e)
{
	const Elf64_Phdr *last = NULL;

	e->loads = calloc(e->phdr_cnt + 1, sizeof(*e->loads));
	if (!e->loads)
		return -ENOMEM;
	e->loads_are_sorted = true;
	for (size_t i = 0; i < e->phdr_cnt; i++) {
		const Elf64_Phdr *ph = &e->phdrs[i];

		if (!is_load(e, ph))
			continue;
		if (last &&
		    (ph->p_vaddr < last->p_vaddr || ph->p_vaddr - last->p_vaddr < last->p_filesz))
			e->loads_are_sorted = false;
		e->loads[e->load_cnt++] = (uint16_t)i;
		last = ph;
	}
	if (!e->loads_are_sorted && e->load_cnt > MAX_UNSORTED_CNT)
		e->load_cnt = MAX_UNSORTED_CNT;
	return 0;
}

static int load_headers(struct tapir_elf *e)
{
	int err = check_header(e);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	e->elf = elf_begin(e->fd, ELF_C_READ, NULL);
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF)
		return not_elf(e->name, elf_errmsg(-1) ?: "libelf rejects it");
	e->ehdr = elf64_getehdr(e->elf);
	if (!e->ehdr)
		return not_elf(e->name, elf_errmsg(-1) ?: "no header");
	if (elf_getphdrnum(e->elf, &e->phdr_cnt))
		e->phdr_cnt = 0;
	e->phdrs = e->phdr_cnt ? elf64_getphdr(e->elf) : NULL;
	if (!e->phdrs)
		e->phdr_cnt = 0;
	load_section_names(e);
	find_build_id(e);
	return find_loads(e);
}

/* Takes fd, also when it fails; handle names the file when fd is a copy of it. */
static int open_taken(int fd, int handle, const char *name, struct tapir_elf **out)
{
	struct tapir_elf *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e) {
		close(fd);
		return -ENOMEM;
	}
	e->fd = fd;
	e->name = strdup(name);
	if (e->name)
		err = tapir_foreign__stat(handle, &e->st);
	if (!err)
		err = load_headers(e);
	if (err)
		tapir_elf__free(e);
	else
		*out = e;
	return err;
}

/* A file that could not be read is one line; what is no plain file is no ELF file. */
static int open_handle(int handle, const char *name, struct tapir_elf **out)
{
	int fd = tapir_foreign__content(handle);

	return fd < 0 ? tapir_foreign__fail(fd, name, 0) : open_taken(fd, handle, name, out);
}

int tapir_elf__open(const char *path, struct tapir_elf **out)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(path);
	tapir_autofd int handle = path_fd < 0 ? path_fd : tapir_foreign__open_taken(path_fd, 0);

	if (handle == -EMEDIUMTYPE)
		return not_elf(path, "not a regular file on a disk");
	if (handle < 0)
		return tapir_foreign__fail(handle, path, 0);
	return open_handle(handle, path, out);
}

int tapir_elf__open_fd(int fd, struct tapir_elf **out)
{
	char name[32];

	snprintf(name, sizeof(name), "fd %d", fd);
	return open_handle(fd, name, out);
}

const struct stat *tapir_elf__stat(const struct tapir_elf *elf)
{
	return &elf->st;
}

void tapir_elf__free(struct tapir_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	close(elf->fd);
	free(elf->loads);
	free(elf->name);
	free(elf);
}

int tapir_elf__fd(const struct tapir_elf *elf)
{
	return elf->fd;
}

const char *tapir_elf__name(const struct tapir_elf *elf)
{
	return elf->name;
}

uint16_t tapir_elf__machine(const struct tapir_elf *elf)
{
	return elf->ehdr->e_machine;
}

uint16_t tapir_elf__type(const struct tapir_elf *elf)
{
	return elf->ehdr->e_type;
}

static bool has_pie_flag(struct tapir_elf *elf)
{
	const Elf64_Shdr *sec = tapir_elf__section_of_type(elf, SHT_DYNAMIC);
	const void *data;
	size_t len;

	if (!sec || tapir_elf__data(elf, sec, &data, &len))
		return false;
	for (const Elf64_Dyn *dyn = data; len >= sizeof(*dyn); dyn++, len -= sizeof(*dyn))
		if (dyn->d_tag == DT_FLAGS_1)
			return dyn->d_un.d_val & DF_1_PIE;
	return false;
}

static bool looks_like_program(struct tapir_elf *elf)
{
	if (elf->ehdr->e_type != ET_DYN)
		return elf->ehdr->e_type == ET_EXEC;
	for (size_t i = 0; i < elf->phdr_cnt; i++)
		if (elf->phdrs[i].p_type == PT_INTERP)
			return true;
	return has_pie_flag(elf);
}

bool tapir_elf__is_program(struct tapir_elf *elf)
{
	if (!elf->knows_program)
		elf->is_program = looks_like_program(elf);
	elf->knows_program = true;
	return elf->is_program;
}

const uint8_t *tapir_elf__build_id(const struct tapir_elf *elf, size_t *len)
{
	*len = elf->build_id_bytes;
	return elf->build_id_bytes ? elf->build_id : NULL;
}

uint64_t tapir_elf__file_id(const struct tapir_elf *elf)
{
	const struct stat *st = &elf->st;
	uint64_t id = 1;

	if (elf->build_id_bytes) {
		id = tapir_hash__bytes(id, elf->build_id, elf->build_id_bytes);
	} else {
		id = tapir_hash__mix(id, st->st_dev);
		id = tapir_hash__mix(id, st->st_ino);
		id = tapir_hash__mix(id, (uint64_t)st->st_size);
		id = tapir_hash__mix(id, (uint64_t)st->st_mtim.tv_sec);
		id = tapir_hash__mix(id, (uint64_t)st->st_mtim.tv_nsec);
	}
	return id ? id : 1;
}

static bool covers(const Elf64_Phdr *ph, uint64_t va)
{
	return va >= ph->p_vaddr && va - ph->p_vaddr < ph->p_filesz;
}

/* The last one that begins at va or before it. */
static const Elf64_Phdr *search_load(const struct tapir_elf *elf, uint64_t va)
{
	size_t from = 0, until = elf->load_cnt;

	while (from < until) {
		size_t mid = (from + until) / 2;

		if (elf->phdrs[elf->loads[mid]].p_vaddr <= va)
			from = mid + 1;
		else
			until = mid;
	}
	return from ? &elf->phdrs[elf->loads[from - 1]] : NULL;
}

const Elf64_Phdr *tapir_elf__load_at(const struct tapir_elf *elf, uint64_t va)
{
	const Elf64_Phdr *ph = elf->loads_are_sorted ? search_load(elf, va) : NULL;

	if (elf->loads_are_sorted)
		return ph && covers(ph, va) ? ph : NULL;
	for (size_t i = 0; i < elf->load_cnt; i++)
		if (covers(&elf->phdrs[elf->loads[i]], va))
			return &elf->phdrs[elf->loads[i]];
	return NULL;
}

const Elf64_Phdr *tapir_elf__first_executable(const struct tapir_elf *elf)
{
	for (size_t i = 0; i < elf->load_cnt; i++) {
		const Elf64_Phdr *ph = &elf->phdrs[elf->loads[i]];

		if (ph->p_flags & PF_X)
			return ph;
	}
	return NULL;
}

const Elf64_Phdr *tapir_elf__tls(const struct tapir_elf *elf)
{
	for (size_t i = 0; i < elf->phdr_cnt; i++)
		if (elf->phdrs[i].p_type == PT_TLS)
			return &elf->phdrs[i];
	return NULL;
}

const Elf64_Phdr *tapir_elf__phdr_at_idx(const struct tapir_elf *elf, size_t idx)
{
	return idx < elf->phdr_cnt ? &elf->phdrs[idx] : NULL;
}

uint64_t tapir_elf__entry_va(const struct tapir_elf *elf)
{
	return elf->ehdr->e_entry;
}

bool tapir_elf__va_to_off(const struct tapir_elf *elf, uint64_t va, uint64_t *out)
{
	const Elf64_Phdr *ph = tapir_elf__load_at(elf, va);

	if (!ph)
		return false;
	*out = va - ph->p_vaddr + ph->p_offset;
	return true;
}

bool tapir_elf__off_to_va(const struct tapir_elf *elf, uint64_t off, uint64_t *out)
{
	for (size_t i = 0; i < elf->phdr_cnt; i++) {
		const Elf64_Phdr *ph = &elf->phdrs[i];

		if (!is_load(elf, ph) || off < ph->p_offset || off - ph->p_offset >= ph->p_filesz)
			continue;
		*out = off - ph->p_offset + ph->p_vaddr;
		return true;
	}
	return false;
}

const Elf64_Shdr *tapir_elf__section_at_idx(const struct tapir_elf *elf, size_t idx)
{
	Elf_Scn *scn = idx < elf->section_cnt ? elf_getscn(elf->elf, idx) : NULL;

	return scn ? elf64_getshdr(scn) : NULL;
}

const Elf64_Shdr *tapir_elf__section_of_type(const struct tapir_elf *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->section_cnt; i++) {
		const Elf64_Shdr *sec = tapir_elf__section_at_idx(elf, i);

		if (sec && sec->sh_type == type)
			return sec;
	}
	return NULL;
}

const Elf64_Shdr *tapir_elf__section(const struct tapir_elf *elf, const char *name)
{
	for (size_t i = 1; i < elf->section_cnt; i++) {
		const Elf64_Shdr *sec = tapir_elf__section_at_idx(elf, i);

		if (sec && sec->sh_name < elf->section_names_len &&
		    strcmp(elf->section_names + sec->sh_name, name) == 0)
			return sec;
	}
	return NULL;
}

int tapir_elf__data(struct tapir_elf *elf, const Elf64_Shdr *section, const void **data,
		    size_t *len)
{
	const void *bytes;

	if (section->sh_type == SHT_NOBITS || !section->sh_size)
		return -ENODATA;
	if (section->sh_size > MAX_LOADED_BYTES - elf->loaded_bytes)
		return tapir_diag__fail(-EFBIG, "%s: a section of %llu bytes is too large",
					elf->name, (unsigned long long)section->sh_size);
	bytes = chunk(elf, section->sh_offset, section->sh_size);
	if (!bytes)
		return -ENODATA;
	elf->loaded_bytes += section->sh_size;
	*data = bytes;
	*len = section->sh_size;
	return 0;
}

int tapir_elf__syms(struct tapir_elf *elf, uint32_t type, struct tapir_elf_syms *out)
{
	const Elf64_Shdr *table = tapir_elf__section_of_type(elf, type), *strings;
	struct tapir_elf_syms found = {};
	const void *syms, *text;
	size_t syms_len, text_len;
	int err;

	if (!table || table->sh_entsize != sizeof(Elf64_Sym))
		return -ENOENT;
	strings = tapir_elf__section_at_idx(elf, table->sh_link);
	if (!strings || strings->sh_type != SHT_STRTAB)
		return -ENOENT;
	err = tapir_elf__data(elf, table, &syms, &syms_len);
	if (!err)
		err = tapir_elf__data(elf, strings, &text, &text_len);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	found.syms = syms;
	found.cnt = syms_len / sizeof(Elf64_Sym);
	found.strings = text;
	found.strings_len = terminated_len(text, text_len);
	*out = found;
	return 0;
}
