/* SPDX-License-Identifier: MIT */
/*
 * probe_image.h - typed USDT probes that are made while the program runs: an ELF image in a memfd
 * with a slot of code, a semaphore and notes per probe. Used for what a program did not know when
 * it was compiled: libtapir's events (tapir/dynamic.h) and, in libtapir-coreclr, those of .NET.
 *
 * One thread at a time per image, not in a signal handler, but for __fire: any thread, any time.
 * Nothing is allocated but pages of the image.
 */
#ifndef TAPIR_USDT_PROBE_IMAGE_H
#define TAPIR_USDT_PROBE_IMAGE_H

#include <stdint.h>

#define TAPIR_PROBE_ARG_MAX    12u
#define TAPIR_PROBE_SLOT_BYTES 16u

#pragma GCC visibility push(hidden)

/*
 * Limits of an image's growth; memory is used as it is needed. notes_bytes: of whole pages of 4
 * KiB.
 */
struct tapir_probe_shape {
	uint32_t slot_max;
	uint32_t probe_bytes; /* of a probe in .probes: its semaphore is the first two of them */
	uint32_t notes_bytes, kinds_bytes;
};

struct tapir_probe_image {
	int fd; /* bcc finds memfds by it; -1: closed */
	uint64_t inode, dev;
	uint8_t *head;	 /* header and notes, shared with the file */
	uint8_t *text;	 /* private, executable */
	uint8_t *probes; /* private: the kernel counts tools there */
	uint32_t slot_cnt, note_bytes, kind_bytes;
	struct tapir_probe_shape shape;
};

/* The description of an event that has one: note.tapir type 2. */
struct tapir_probe_event {
	uint64_t keywords;
	uint16_t id;
	uint8_t version, level;
};

/* operands: arguments are in registers, in the order of tapir_probe_image__register. */
struct tapir_probe_note {
	const char *provider, *name, *operands, *kinds;
	const char *names; /* of the arguments, each with its NUL */
	uint32_t names_bytes;
	const struct tapir_probe_event *event; /* NULL: none */
};

/* name: of the memfd. 0 or -errno; -EACCES, -EPERM: this process may not make executable memory. */
int tapir_probe_image__open(struct tapir_probe_image *image, const struct tapir_probe_shape *shape,
			    const char *name);
/* Adds a slot with its notes, seen by tools from now on. Returns its index, or -ENOSPC, -ENOMEM. */
int tapir_probe_image__add(struct tapir_probe_image *image, const struct tapir_probe_note *note);
/* Closes the descriptor; the image stays. */
void tapir_probe_image__close_file(struct tapir_probe_image *image);
/* Unmaps the image; no thread may fire any longer. */
void tapir_probe_image__close(struct tapir_probe_image *image);

/* "@%rdi" or "@x0": where argument idx is when the probe fires. */
static inline const char *tapir_probe_image__register(uint32_t idx)
{
#ifdef __x86_64__
	static const char names[TAPIR_PROBE_ARG_MAX][8] = {
		"@%rdi", "@%rsi", "@%rdx", "@%rcx", "@%r8",  "@%r9",
		"@%rax", "@%r10", "@%rbx", "@%r12", "@%r13", "@%r14",
	};
#else
	static const char names[TAPIR_PROBE_ARG_MAX][8] = {
		"@x0", "@x1", "@x2", "@x3",  "@x4",  "@x5",
		"@x6", "@x7", "@x9", "@x10", "@x11", "@x12",
	};
#endif

	return names[idx];
}

/* The code of a probe; its semaphore is at probes + idx * probe_bytes. */
static inline const uint8_t *tapir_probe_image__slot(const struct tapir_probe_image *image,
						     uint32_t idx)
{
	return image->text + (uint64_t)idx * TAPIR_PROBE_SLOT_BYTES;
}

/* Fires the probe with TAPIR_PROBE_ARG_MAX arguments. */
void tapir_probe_image__fire(const uint8_t *slot, const uint64_t *args);

#pragma GCC visibility pop

#endif
