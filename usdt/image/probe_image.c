/* SPDX-License-Identifier: MIT */
/*
 * probe_image.c - probes made while the program runs, in the form that other tools expect: an ELF
 * file, in memory, that this process maps. It grows by a slot of code, a semaphore and notes per
 * probe; batches of slots are written before they are needed.
 *
 *	0	header, section names, .stapsdt.base	} mapped shared and writable:
 *		.note.stapsdt, .note.tapir		} what is put there is in the file
 *		.text	slots: a site as of		} and again, to be run:
 *			tapir/usdt.h, and ret		} private, never writable
 *		.probes	semaphores, and what the user	  private, writable
 *			of the image keeps next to them
 *
 * Addresses are offsets. The kernel requires private mappings for code with breakpoints and for
 * semaphores that it increments; in the file semaphores stay 0. bcc requires .probes before
 * .note.stapsdt and both after the code in the table of sections. A section's size is stored after
 * its contents.
 */
#include "probe_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../ring/ring_impl.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

#define BASE_OFF		  0x800u
#define NOTES_OFF		  0x1000u
#define BATCH_BYTES		  4096u
#define BATCH_CNT		  (BATCH_BYTES / TAPIR_PROBE_SLOT_BYTES)
#define STAPSDT_TYPE		  3u
#define KINDS_TYPE		  1u
#define EVENT_TYPE		  2u

#define image_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* The code of a slot; the rest of it traps. MAP_ALIGN: the largest page of the machine. */
#ifdef __x86_64__
#define MAP_ALIGN 0x1000u
#define MACHINE	  EM_X86_64

static const uint8_t slot_code[TAPIR_PROBE_SLOT_BYTES] = {
	0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,	  0,	/* nop, nop of 10 bytes */
	0,    0,    0,	  0xc3, 0xcc, 0xcc, 0xcc, 0xcc, /* ret, int3 */
};

/* The processor sees to it. */
static void make_fetched(const uint8_t *code, uint64_t bytes)
{
	(void)code, (void)bytes;
}
#else
#define MAP_ALIGN 0x10000u
#define MACHINE	  EM_AARCH64

static const uint8_t slot_code[TAPIR_PROBE_SLOT_BYTES] = {
	0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6, /* nop, ret */
	0x00, 0x00, 0x20, 0xd4, 0x00, 0x00, 0x20, 0xd4, /* brk #0 */
};

/*
 * Code that another mapping has written is to be executed by this one: it is written back from the
 * data cache, whose lines are found by any mapping of them, and dropped from the instruction cache,
 * whose lines may be found by this one alone. libgcc's __clear_cache does the same;
 * libtapir-coreclr.so does not have it.
 */
static void make_fetched(const uint8_t *code, uint64_t bytes)
{
	uint64_t type, data_bytes, code_bytes;

	__asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
	data_bytes = 4ull << (type >> 16 & 15);
	code_bytes = 4ull << (type & 15);
	for (uint64_t at = 0; at < bytes; at += data_bytes)
		__asm__ volatile("dc cvau, %0" : : "r"(code + at) : "memory");
	__asm__ volatile("dsb ish" : : : "memory");
	for (uint64_t at = 0; at < bytes; at += code_bytes)
		__asm__ volatile("ic ivau, %0" : : "r"(code + at) : "memory");
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
}
#endif

enum section { S_NONE, S_TEXT, S_BASE, S_PROBES, S_NOTES, S_KINDS, S_STRINGS, S_CNT };

static const char strings[] =
	"\0.text\0.stapsdt.base\0.probes\0.note.stapsdt\0.note.tapir\0.shstrtab";

/* Offsets and sizes of an image's parts. */
struct plan {
	uint64_t kinds_off, text_off, text_bytes, probes_off, probes_bytes, file_bytes;
};

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + MAP_ALIGN - 1) & ~(MAP_ALIGN - 1ull);
}

static struct plan plan_of(const struct tapir_probe_shape *shape)
{
	struct plan p = {.kinds_off = NOTES_OFF + shape->notes_bytes};

	p.text_off = round_up(p.kinds_off + shape->kinds_bytes);
	p.text_bytes = round_up((uint64_t)shape->slot_max * TAPIR_PROBE_SLOT_BYTES);
	p.probes_off = p.text_off + p.text_bytes;
	p.probes_bytes = (uint64_t)shape->slot_max * shape->probe_bytes;
	p.file_bytes = p.probes_off + round_up(p.probes_bytes);
	return p;
}

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
			    .p_align = MAP_ALIGN};
}

static void write_head(struct head *h, const struct plan *p)
{
	/*
	 * Offsets and addresses are equal, so that a tool which knows either finds the site. The
	 * kernel wants the code in a segment that is mapped executable, and semaphores in one that
	 * is writable.
	 */
	h->phdrs[0] = segment(PF_R, 0, NOTES_OFF);
	h->phdrs[1] = segment(PF_R | PF_X, p->text_off, p->text_bytes);
	h->phdrs[2] = segment(PF_R | PF_W, p->probes_off, p->probes_bytes);
	h->shdrs[S_TEXT] = section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, p->text_off,
				   p->text_bytes, TAPIR_PROBE_SLOT_BYTES);
	h->shdrs[S_BASE] = section(".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, BASE_OFF, 1, 1);
	h->shdrs[S_PROBES] = section(".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, p->probes_off,
				     p->probes_bytes, 2);
	/*
	 * Not allocated, and of size 0: tapir_probe_image__add() stores the size when a note is
	 * whole.
	 */
	h->shdrs[S_NOTES] = section(".note.stapsdt", SHT_NOTE, 0, NOTES_OFF, 0, 4);
	h->shdrs[S_KINDS] = section(".note.tapir", SHT_NOTE, 0, p->kinds_off, 0, 4);
	h->shdrs[S_STRINGS] = section(".shstrtab", SHT_STRTAB, 0, offsetof(struct head, strings),
				      sizeof(strings), 1);
	memcpy(h->strings, strings, sizeof(strings));
	memcpy(h->ehdr.e_ident, ELFMAG, SELFMAG);
	h->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	h->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	h->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	h->ehdr.e_type = ET_DYN;
	h->ehdr.e_machine = MACHINE;
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

static void *map_image(uint64_t bytes, int prot, int flags, int fd, uint64_t off)
{
	return (void *)ring_sys6(SYS_mmap, 0, (long)bytes, prot, flags | MAP_NORESERVE, fd,
				 (long)off);
}

static int open_probe_image(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = ring_sys3(SYS_memfd_create, name, flags | MFD_EXEC, 0);

	if (fd == -EINVAL) /* before 6.3 */
		fd = ring_sys3(SYS_memfd_create, name, flags, 0);
	return (int)fd;
}

static int map_all(struct tapir_probe_image *image, const struct plan *p)
{
	void *head = map_image(p->probes_off, PROT_READ | PROT_WRITE, MAP_SHARED, image->fd, 0),
	     *text = map_image(p->text_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, image->fd,
			       p->text_off),
	     *probes = map_image(p->probes_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, image->fd,
				 p->probes_off);

	image->head = ring_sys_failed((long)head) ? NULL : head;
	image->text = ring_sys_failed((long)text) ? NULL : text;
	image->probes = ring_sys_failed((long)probes) ? NULL : probes;
	if (!image->text)
		return (int)(long)text;
	return image->head && image->probes ? 0 : -ENOMEM;
}

int tapir_probe_image__open(struct tapir_probe_image *image, const struct tapir_probe_shape *shape,
			    const char *name)
{
	const struct plan plan = plan_of(shape);
	struct stat st;
	int err = 0;

	memset(image, 0, sizeof(*image));
	image->shape = *shape;
	image->fd = ring_sys_file_may_have(plan.file_bytes) ? open_probe_image(name) : -EFBIG;
	if (image->fd < 0)
		return image->fd;
	if (ring_sys3(SYS_ftruncate, image->fd, plan.file_bytes, 0) < 0 ||
	    ring_sys3(SYS_fstat, image->fd, &st, 0) < 0)
		err = -ENOMEM;
	if (!err)
		err = map_all(image, &plan);
	if (!err) {
		image->inode = st.st_ino;
		image->dev = st.st_dev;
		/*
		 * The size is fixed from here on: a reader that maps it cannot be killed by SIGBUS.
		 * Content stays writable, for notes are appended.
		 */
		ring_sys3(SYS_fcntl, image->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		err = ring_populate(image->head, NOTES_OFF);
	}
	if (!err) {
		write_head((struct head *)image->head, &plan);
		return 0;
	}
	tapir_probe_image__close(image);
	return err;
}

/*
 * The program may have closed all descriptors it did not know, and opened others: those are not the
 * library's.
 */
void tapir_probe_image__close_file(struct tapir_probe_image *image)
{
	struct stat st;

	if (image->fd >= 0 && ring_sys3(SYS_fstat, image->fd, &st, 0) >= 0 &&
	    (!image->inode || (st.st_ino == image->inode && st.st_dev == image->dev)))
		ring_sys3(SYS_close, image->fd, 0, 0);
	image->fd = -1;
}

void tapir_probe_image__close(struct tapir_probe_image *image)
{
	const struct plan plan = plan_of(&image->shape);

	if (image->head)
		ring_sys3(SYS_munmap, image->head, plan.probes_off, 0);
	if (image->text)
		ring_sys3(SYS_munmap, image->text, plan.text_bytes, 0);
	if (image->probes)
		ring_sys3(SYS_munmap, image->probes, plan.probes_bytes, 0);
	tapir_probe_image__close_file(image);
	memset(image, 0, sizeof(*image));
	image->fd = -1;
}

/* ---- slots ---------------------------------------------------------------------------------------- */

/* A page of them, or a part of it. */
static int write_batch(const struct tapir_probe_image *image, uint64_t text_off, uint32_t first)
{
	uint64_t off = (uint64_t)first * TAPIR_PROBE_SLOT_BYTES;
	uint8_t *batch = image->head + text_off + off;

	if (ring_populate(batch, BATCH_BYTES))
		return -ENOMEM;
	for (uint32_t i = 0; i < BATCH_CNT; i++)
		memcpy(batch + i * TAPIR_PROBE_SLOT_BYTES, slot_code, sizeof(slot_code));
	make_fetched(image->text + off, BATCH_BYTES);
	return 0;
}

static uint32_t write_note_text(uint8_t *at, const char *text)
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

/* Writes the note's length; returns the whole length. */
static uint32_t end_note(uint8_t *note, const uint8_t *desc, const uint8_t *end)
{
	uint32_t bytes = (uint32_t)(end - desc);

	memcpy(note + 4, &bytes, 4);
	return (uint32_t)(desc - note) + ((bytes + 3) & ~3u);
}

static uint32_t put_kinds(uint8_t *note, uint64_t site_va, const struct tapir_probe_note *n)
{
	uint8_t *desc = begin_note(note, "tapir", KINDS_TYPE), *at = desc;

	memcpy(at, &site_va, 8);
	at += 8;
	at += write_note_text(at, n->kinds);
	memcpy(at, n->names, n->names_bytes);
	return end_note(note, desc, at + n->names_bytes);
}

/* Writes the note as TAPIR_EVENT_SITE of tapir/provider.h has it. */
static uint32_t put_event(uint8_t *note, uint64_t site_va, const struct tapir_probe_event *e)
{
	uint8_t *desc = begin_note(note, "tapir", EVENT_TYPE);
	const uint32_t words[2] = {
		(uint32_t)e->id | (uint32_t)e->version << 16 | (uint32_t)e->level << 24, 0};

	memcpy(desc, &site_va, 8);
	memcpy(desc + 8, &e->keywords, 8);
	memcpy(desc + 16, words, sizeof(words));
	return end_note(note, desc, desc + 24);
}

static uint32_t put_note(uint8_t *note, const uint64_t addresses[3],
			 const struct tapir_probe_note *n)
{
	uint8_t *desc = begin_note(note, "stapsdt", STAPSDT_TYPE), *at = desc;

	memcpy(at, addresses, 24);
	at += 24;
	at += write_note_text(at, n->provider);
	at += write_note_text(at, n->name);
	at += write_note_text(at, n->operands);
	return end_note(note, desc, at);
}

/* If memory has run out this is an error; the use itself would be a SIGBUS. */
static int make_present(const uint8_t *at, uint64_t bytes)
{
	return ring_populate(at, bytes) ? -ENOMEM : 0;
}

#define NOTE_HEAD_BYTES 20u /* with the longest name */

static uint32_t note_bytes(const struct tapir_probe_note *n)
{
	return (uint32_t)(NOTE_HEAD_BYTES + 24 + strlen(n->provider) + strlen(n->name) +
			  strlen(n->operands) + 3 + 4);
}

static uint32_t kinds_bytes(const struct tapir_probe_note *n)
{
	return (uint32_t)(NOTE_HEAD_BYTES + 8 + strlen(n->kinds) + 1 + n->names_bytes + 4 +
			  (n->event ? NOTE_HEAD_BYTES + 24 : 0));
}

static int make_note_room(struct tapir_probe_image *image, const struct plan *plan,
			  const struct tapir_probe_note *note)
{
	uint32_t notes = note_bytes(note), kinds = kinds_bytes(note), idx = image->slot_cnt;
	int err = 0;

	if (idx == image->shape.slot_max || notes > image->shape.notes_bytes - image->note_bytes ||
	    kinds > image->shape.kinds_bytes - image->kind_bytes)
		return -ENOSPC;
	if (!(idx % BATCH_CNT))
		err = write_batch(image, plan->text_off, idx);
	if (!err)
		err = make_present(image->head + plan->kinds_off + image->kind_bytes, kinds);
	if (!err)
		err = make_present(image->head + NOTES_OFF + image->note_bytes, notes);
	return err;
}

int tapir_probe_image__add(struct tapir_probe_image *image, const struct tapir_probe_note *note)
{
	const struct plan plan = plan_of(&image->shape);
	struct head *head = (struct head *)image->head;
	uint32_t idx = image->slot_cnt;
	uint64_t addresses[3] = {plan.text_off + (uint64_t)idx * TAPIR_PROBE_SLOT_BYTES, BASE_OFF,
				 plan.probes_off + (uint64_t)image->shape.probe_bytes * idx};
	uint8_t *kinds = image->head + plan.kinds_off;
	int err = make_note_room(image, &plan, note);

	if (err)
		return err;
	image->kind_bytes += put_kinds(kinds + image->kind_bytes, addresses[0], note);
	if (note->event)
		image->kind_bytes +=
			put_event(kinds + image->kind_bytes, addresses[0], note->event);
	image_store_release(&head->shdrs[S_KINDS].sh_size, image->kind_bytes);
	image->note_bytes += put_note(image->head + NOTES_OFF + image->note_bytes, addresses, note);
	image_store_release(&head->shdrs[S_NOTES].sh_size, image->note_bytes);
	image->slot_cnt++;
	return (int)idx;
}

#ifdef __x86_64__
/* The red zone stays as it is. */
__attribute__((noipa)) void tapir_probe_image__fire(const uint8_t *slot, const uint64_t *args)
{
	register const uint8_t *to __asm__("r11") = slot;
	register const uint64_t *from __asm__("r15") = args;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "mov (%%r15), %%rdi\n"
			 "mov 8(%%r15), %%rsi\n"
			 "mov 16(%%r15), %%rdx\n"
			 "mov 24(%%r15), %%rcx\n"
			 "mov 32(%%r15), %%r8\n"
			 "mov 40(%%r15), %%r9\n"
			 "mov 48(%%r15), %%rax\n"
			 "mov 56(%%r15), %%r10\n"
			 "mov 64(%%r15), %%rbx\n"
			 "mov 72(%%r15), %%r12\n"
			 "mov 80(%%r15), %%r13\n"
			 "mov 88(%%r15), %%r14\n"
			 "call *%%r11\n"
			 "lea 128(%%rsp), %%rsp\n"
			 : "+r"(to), "+r"(from)
			 :
			 : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10", "rbx", "r12",
			   "r13", "r14", "memory", "cc");
}

#else
__attribute__((noipa)) void tapir_probe_image__fire(const uint8_t *slot, const uint64_t *args)
{
	register const uint8_t *to __asm__("x16") = slot;
	register const uint64_t *from __asm__("x17") = args;

	__asm__ volatile("ldp x0, x1, [x17]\n"
			 "ldp x2, x3, [x17, 16]\n"
			 "ldp x4, x5, [x17, 32]\n"
			 "ldp x6, x7, [x17, 48]\n"
			 "ldp x9, x10, [x17, 64]\n"
			 "ldp x11, x12, [x17, 80]\n"
			 "blr x16\n"
			 : "+r"(to), "+r"(from)
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x11",
			   "x12", "x30", "memory", "cc");
}
#endif
