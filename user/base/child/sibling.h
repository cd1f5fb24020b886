/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sibling.h - tapir and tapir-agent, two programs of one build that execute each other.
 *
 * A sibling is in the directory of the executable that runs (/proc/self/exe): PATH and the working
 * directory are other users' to choose. It is opened, then judged by the descriptor, then executed
 * by the descriptor (fexecve(3)), so that no other file can take its place in between. It is
 * refused if a user could have changed it who could not have changed this program (owner, mode),
 * and if it is not the program of that name and version: both are in a note of its ELF file. Any
 * thread.
 */
#ifndef TAPIR_USER_SIBLING_H
#define TAPIR_USER_SIBLING_H

#include <sys/types.h>

#define TAPIR_SIBLING_SECTION ".note.tapir.program"
#define TAPIR_SIBLING_OWNER   "tapir-program" /* name of the note */
#define TAPIR_SIBLING_TYPE    1

/*
 * In a file with main(): says which program this is, as "tapir-agent 0.1.0". A program that does
 * the work of both has two. The section is allocated, so that strip(1) leaves it.
 */
#define TAPIR_SIBLING_NOTE(program)                                                                \
	__asm__(".pushsection " TAPIR_SIBLING_SECTION ", \"a\", @note\n"                           \
		".balign 4\n"                                                                      \
		".long 2f - 1f, 4f - 3f, 1\n"                                                      \
		"1: .asciz \"" TAPIR_SIBLING_OWNER "\"\n"                                          \
		"2: .balign 4\n"                                                                   \
		"3: .asciz \"" program " " TAPIR_VERSION "\"\n"                                    \
		"4: .balign 4\n"                                                                   \
		".popsection")

/*
 * Opens the program of this name ("tapir-agent"), for reading and fexecve(3). The caller closes
 * *fd, which an exec closes, too. Owner: root, the effective user, or the owner of the running
 * executable. With a line: -EOPNOTSUPP: there is none; the Debian package that has it is called as
 * it is. -EPERM: another user may have written it. -ENOEXEC: another program, or another version.
 * Or -errno.
 */
int tapir_sibling__open(const char *name, int *fd);

/* The same in another directory; own_uid: owner of the executable that runs. For tests. */
int tapir_sibling__open_in(const char *dir, const char *name, uid_t own_uid, int *fd);

#endif
