/* SPDX-License-Identifier: MIT */
/*
 * coreclr_image.c - a provider's probes in the form that other tools expect: an ELF file, in
 * memory, that this process maps. It is created when a provider's first event is published and
 * grows by a slot of code, a semaphore and two notes per event; batches of slots are written before
 * they are needed.
 *
 *	0	header, section names, .stapsdt.base	} mapped shared and writable:
 *		.note.stapsdt, .note.tapir		} what is put there is in the file
 *		.text	slots: nop, a nop of 10 bytes,	} and again, to be run:
 *			ret (a site as of tapir/usdt.h)	} private, never writable
 *		.probes	semaphores, two bytes each	  private, writable
 *
 * Addresses are offsets. The kernel requires private mappings for code with breakpoints and for
 * semaphores that it increments; in the file semaphores stay 0. bcc requires .probes before
 * .note.stapsdt and both after the code in the table of sections. A section's size is stored after
 * its contents.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../ring/ring_impl.h"
#include "coreclr_publish.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

#define PAGE_BYTES   4096u
#define BASE_OFF     0x800u
#define NOTES_OFF    0x1000u
#define NOTES_BYTES  0x180000u
#define KINDS_OFF    (NOTES_OFF + NOTES_BYTES)
#define KINDS_BYTES  0x280000u
#define TEXT_OFF     (KINDS_OFF + KINDS_BYTES)
#define TEXT_BYTES   (CORECLR_SLOT_MAX * CORECLR_SLOT_BYTES)
#define PROBES_OFF   (TEXT_OFF + TEXT_BYTES)
#define PROBES_BYTES (CORECLR_SLOT_MAX * 2u)
#define FILE_BYTES   (PROBES_OFF + PROBES_BYTES)
#define BATCH_CNT    (PAGE_BYTES / CORECLR_SLOT_BYTES)
#define NAME_BYTES   200u
#define STAPSDT_TYPE 3u
#define TAPIR_TYPE   1u

#ifdef __x86_64__

enum section { S_NONE, S_TEXT, S_BASE, S_PROBES, S_NOTES, S_KINDS, S_STRINGS, S_CNT };

static const char strings[] =
	"\0.text\0.stapsdt.base\0.probes\0.note.stapsdt\0.note.tapir\0.shstrtab";

struct head {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[3];
	Elf64_Shdr shdrs[S_CNT];
	char strings[sizeof(strings)];
};
_Static_assert(sizeof(struct head) <= BASE_OFF, "head");

static Elf64_Shdr section(const char *name, uint32_t type, uint64_t flags, uint64_t off,
			  uint64_t bytes, uint64_t align)
{
	Elf64_Shdr s = {.sh_type = type,
			.sh_flags = flags,
			.sh_addr = flags ? off : 0,
			.sh_offset = off,
			.sh_size = bytes,
			.sh_addralign = align};

	/* strings[] is searched as a whole: names are no ends of each other. */
	for (uint32_t i = 1; i < sizeof(strings); i += (uint32_t)strlen(strings + i) + 1)
		if (!strcmp(strings + i, name))
			s.sh_name = i;
	return s;
}

static Elf64_Phdr segment(uint32_t flags, uint64_t off, uint64_t bytes)
{
	return (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = flags,
			    .p_offset = off,
			    .p_vaddr = off,
			    .p_paddr = off,
			    .p_filesz = bytes,
			    .p_memsz = bytes,
			    .p_align = PAGE_BYTES};
}

static void write_head(struct head *h)
{
	h->phdrs[0] = segment(PF_R, 0, NOTES_OFF);
	h->phdrs[1] = segment(PF_R | PF_X, TEXT_OFF, TEXT_BYTES);
	h->phdrs[2] = segment(PF_R | PF_W, PROBES_OFF, PROBES_BYTES);
	h->shdrs[S_TEXT] = section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_OFF,
				   TEXT_BYTES, CORECLR_SLOT_BYTES);
	h->shdrs[S_BASE] = section(".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, BASE_OFF, 1, 1);
	h->shdrs[S_PROBES] = section(".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, PROBES_OFF,
				     PROBES_BYTES, 2);
	h->shdrs[S_NOTES] = section(".note.stapsdt", SHT_NOTE, 0, NOTES_OFF, 0, 4);
	h->shdrs[S_KINDS] = section(".note.tapir", SHT_NOTE, 0, KINDS_OFF, 0, 4);
	h->shdrs[S_STRINGS] = section(".shstrtab", SHT_STRTAB, 0, offsetof(struct head, strings),
				      sizeof(strings), 1);
	memcpy(h->strings, strings, sizeof(strings));
	memcpy(h->ehdr.e_ident, ELFMAG, SELFMAG);
	h->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	h->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	h->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	h->ehdr.e_type = ET_DYN;
	h->ehdr.e_machine = EM_X86_64;
	h->ehdr.e_version = EV_CURRENT;
	h->ehdr.e_phoff = offsetof(struct head, phdrs);
	h->ehdr.e_shoff = offsetof(struct head, shdrs);
	h->ehdr.e_ehsize = sizeof(h->ehdr);
	h->ehdr.e_phentsize = sizeof(Elf64_Phdr);
	h->ehdr.e_phnum = 3;
	h->ehdr.e_shentsize = sizeof(Elf64_Shdr);
	h->ehdr.e_shnum = S_CNT;
	h->ehdr.e_shstrndx = S_STRINGS;
}

/* ---- the file and its mappings ---------------------------------------------------------------- */

/* "tapir-usdt.KEY:PROVIDER", by which a tapir knows its own. */
static void name_it(char name[NAME_BYTES], uint64_t key, const char *provider)
{
	static const char prefix[] = "tapir-usdt.";
	uint32_t at = sizeof(prefix) - 1;

	memcpy(name, prefix, at);
	for (int i = 60; i >= 0; i -= 4)
		name[at++] = "0123456789abcdef"[key >> i & 15];
	name[at++] = ':';
	while (*provider && at < NAME_BYTES - 1)
		name[at++] = *provider++;
	name[at] = 0;
}

static void *map(uint64_t bytes, int prot, int flags, int fd, uint64_t off)
{
	return (void *)ring_sys6(SYS_mmap, 0, (long)bytes, prot, flags | MAP_NORESERVE, fd,
				 (long)off);
}

static int open_file(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = ring_sys3(SYS_memfd_create, name, flags | MFD_EXEC, 0);

	if (fd == -EINVAL) /* before 6.3 */
		fd = ring_sys3(SYS_memfd_create, name, flags, 0);
	return (int)fd;
}

static int map_all(struct coreclr_image *image)
{
	void *head = map(PROBES_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, image->fd, 0),
	     *text = map(TEXT_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, image->fd, TEXT_OFF),
	     *probes =
		     map(PROBES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, image->fd, PROBES_OFF);

	image->head = ring_sys_failed((long)head) ? NULL : head;
	image->text = ring_sys_failed((long)text) ? NULL : text;
	image->semaphores = ring_sys_failed((long)probes) ? NULL : probes;
	if (!image->text)
		return (int)(long)text;
	return image->head && image->semaphores ? 0 : -ENOMEM;
}

int coreclr_image__open(struct coreclr_image *image, uint64_t key, const char *provider)
{
	char name[NAME_BYTES];
	struct stat st;
	int err = 0;

	memset(image, 0, sizeof(*image));
	name_it(name, key, provider);
	image->fd = open_file(name);
	if (image->fd < 0)
		return image->fd;
	if (ring_sys3(SYS_ftruncate, image->fd, FILE_BYTES, 0) < 0 ||
	    ring_sys3(SYS_fstat, image->fd, &st, 0) < 0)
		err = -ENOMEM;
	if (!err)
		err = map_all(image);
	if (!err) {
		image->inode = st.st_ino;
		image->dev = st.st_dev;
		ring_sys3(SYS_fcntl, image->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		err = ring_populate(image->head, NOTES_OFF);
	}
	if (!err) {
		write_head((struct head *)image->head);
		return 0;
	}
	coreclr_image__close(image);
	return err;
}

/*
 * The program may have closed all descriptors it did not know, and opened others: those are not the
 * library's.
 */
void coreclr_image__close_file(struct coreclr_image *image)
{
	struct stat st;

	if (image->fd >= 0 && ring_sys3(SYS_fstat, image->fd, &st, 0) >= 0 &&
	    (!image->inode || (st.st_ino == image->inode && st.st_dev == image->dev)))
		ring_sys3(SYS_close, image->fd, 0, 0);
	image->fd = -1;
}

void coreclr_image__close(struct coreclr_image *image)
{
	if (image->head)
		ring_sys3(SYS_munmap, image->head, PROBES_OFF, 0);
	if (image->text)
		ring_sys3(SYS_munmap, image->text, TEXT_BYTES, 0);
	if (image->semaphores)
		ring_sys3(SYS_munmap, image->semaphores, PROBES_BYTES, 0);
	coreclr_image__close_file(image);
	memset(image, 0, sizeof(*image));
	image->fd = -1;
}

/* ---- slots ---------------------------------------------------------------------------------------- */

/* A page of them; the rest of a slot is int3. */
static int write_batch(struct coreclr_image *image, uint32_t first)
{
	static const uint8_t code[] = {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3};
	uint8_t *page = image->head + TEXT_OFF + (uint64_t)first * CORECLR_SLOT_BYTES;

	if (ring_populate(page, PAGE_BYTES))
		return -ENOMEM;
	memset(page, 0xcc, PAGE_BYTES);
	for (uint32_t i = 0; i < BATCH_CNT; i++)
		memcpy(page + i * CORECLR_SLOT_BYTES, code, sizeof(code));
	return 0;
}

static uint32_t put_text(uint8_t *at, const char *text)
{
	uint32_t len = (uint32_t)strlen(text) + 1;

	memcpy(at, text, len);
	return len;
}

/* Head and name of a note; its description's length is known when it has been put. */
static uint8_t *begin_note(uint8_t *note, const char *name, uint32_t type)
{
	uint32_t name_bytes = (uint32_t)strlen(name) + 1;

	memcpy(note, &name_bytes, 4);
	memcpy(note + 8, &type, 4);
	memcpy(note + 12, name, name_bytes);
	return note + 12 + ((name_bytes + 3) & ~3u);
}

/* Its whole length. */
static uint32_t end_note(uint8_t *note, const uint8_t *desc, const uint8_t *end)
{
	uint32_t bytes = (uint32_t)(end - desc);

	memcpy(note + 4, &bytes, 4);
	return (uint32_t)(desc - note) + ((bytes + 3) & ~3u);
}

static uint32_t put_kinds(uint8_t *note, uint64_t site_va, const struct coreclr_signature *s)
{
	uint8_t *desc = begin_note(note, "tapir", TAPIR_TYPE), *at = desc;

	memcpy(at, &site_va, 8);
	at += 8;
	at += put_text(at, s->kinds);
	memcpy(at, s->names, s->names_bytes);
	return end_note(note, desc, at + s->names_bytes);
}

static uint32_t put_note(uint8_t *note, const uint64_t addresses[3],
			 const struct coreclr_probe_note *n)
{
	uint8_t *desc = begin_note(note, "stapsdt", STAPSDT_TYPE), *at = desc;

	memcpy(at, addresses, 24);
	at += 24;
	at += put_text(at, n->provider);
	at += put_text(at, n->name);
	at += put_text(at, n->signature->operands);
	return end_note(note, desc, at);
}

/* Where memory has run out this is an error, the use itself would be a SIGBUS. */
static int make_present(uint8_t *at, uint64_t bytes)
{
	uint64_t from = (uint64_t)(uintptr_t)at & ~(PAGE_BYTES - 1ull),
		 to = ((uint64_t)(uintptr_t)at + bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ull);

	return ring_populate((void *)from, to - from) ? -ENOMEM : 0;
}

/* As large as a note can get: names are bounded where they are made. */
#define NOTE_MAX_BYTES (20u + 24u + 2 * 256u + CORECLR_OPERAND_BYTES + 4u)
#define KIND_MAX_BYTES (20u + 8u + CORECLR_ARG_MAX + 1u + 512u + 4u)

int coreclr_image__add(struct coreclr_image *image, const struct coreclr_probe_note *note)
{
	struct head *head = (struct head *)image->head;
	uint32_t idx = image->slot_cnt;
	uint64_t addresses[3] = {TEXT_OFF + (uint64_t)idx * CORECLR_SLOT_BYTES, BASE_OFF,
				 PROBES_OFF + 2ull * idx};
	int err;

	if (idx == CORECLR_SLOT_MAX || image->note_bytes + NOTE_MAX_BYTES > NOTES_BYTES ||
	    image->kind_bytes + KIND_MAX_BYTES > KINDS_BYTES)
		return -ENOSPC;
	err = idx % BATCH_CNT ? 0 : write_batch(image, idx);
	if (!err)
		err = make_present(image->head + KINDS_OFF + image->kind_bytes, KIND_MAX_BYTES);
	if (!err)
		err = make_present(image->head + NOTES_OFF + image->note_bytes, NOTE_MAX_BYTES);
	if (err)
		return err;
	image->kind_bytes += put_kinds(image->head + KINDS_OFF + image->kind_bytes, addresses[0],
				       note->signature);
	coreclr_store_release(&head->shdrs[S_KINDS].sh_size, image->kind_bytes);
	image->note_bytes += put_note(image->head + NOTES_OFF + image->note_bytes, addresses, note);
	coreclr_store_release(&head->shdrs[S_NOTES].sh_size, image->note_bytes);
	image->slot_cnt++;
	return (int)idx;
}

#else

int coreclr_image__open(struct coreclr_image *image, uint64_t key, const char *provider)
{
	(void)key, (void)provider;
	memset(image, 0, sizeof(*image));
	image->fd = -1;
	return -ENOSYS;
}

int coreclr_image__add(struct coreclr_image *image, const struct coreclr_probe_note *note)
{
	(void)image, (void)note;
	return -ENOSYS;
}

void coreclr_image__close_file(struct coreclr_image *image)
{
	(void)image;
}

void coreclr_image__close(struct coreclr_image *image)
{
	(void)image;
}

#endif
