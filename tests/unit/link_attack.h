/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_attack.h - what another user tries just before a runtime opens a file by its name: to put a
 * link there. Where he succeeds, the runtime creates the file that the link names. Root only.
 */
#ifndef TAPIR_TESTS_LINK_ATTACK_H
#define TAPIR_TESTS_LINK_ATTACK_H

#include <sys/wait.h>
#include <unistd.h>

static inline void link_attack(const char *path, const char *aim)
{
	pid_t pid = fork();

	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		unlink(path);
		_exit(symlink(aim, path) != 0);
	}
	waitpid(pid, NULL, 0);
}

#endif
