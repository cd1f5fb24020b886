/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_closure.h - the files a program will map when it starts: itself, the interpreters of a
 * script, the dynamic loader, and the libraries it needs, as that loader would search for them:
 * RPATH, LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache, the directories of the system. A guess, rather
 * too many than too few: what it misses is held when it is mapped. One thread.
 */
#ifndef TAPIR_USER_ELF_CLOSURE_H
#define TAPIR_USER_ELF_CLOSURE_H

#define TAPIR_ELF_CLOSURE_MAX 512 /* files */

/* fd and path are borrowed for the call. Anything but 0 ends the walk and is returned. */
typedef int (*tapir_elf_closure_fn)(void *ctx, int fd, const char *path);

/*
 * Calls fn for each, regular files only, each once. program is a path. Returns 0, -ENOMEM, or what
 * fn returned.
 */
int tapir_elf_closure__each(const char *program, tapir_elf_closure_fn fn, void *ctx);

#endif
