/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreseen.h - the files a program will map when it starts: itself, the interpreters of a script,
 * the dynamic loader, and the libraries it needs, as that loader would search for them: RPATH,
 * LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache, the directories of the system. A guess, rather too
 * many than too few: what it misses is held when it is mapped.
 */
#ifndef TAPIR_USER_FORESEEN_H
#define TAPIR_USER_FORESEEN_H

#define TAPIR_FORESEEN_MAX 512 /* files */

/* fd and path are borrowed for the call. Anything but 0 ends the walk and is returned. */
typedef int (*tapir_foreseen_fn)(void *ctx, int fd, const char *path);

/* Regular files only, each once. program is a path. -ENOMEM, or what fn returned. */
int tapir_foreseen__each(const char *program, tapir_foreseen_fn fn, void *ctx);

#endif
