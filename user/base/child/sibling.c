// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The other program of a build is opened once, and everything that is judged belongs to that
 * descriptor: owner and mode by fstat(2), name and version by a note in the file (sibling.h). Each
 * refusal is one line that says what to do.
 */
#include "base/child/sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "elf/note_iter.h"

#define MAX_VERSION_BYTES 64

/* A set-user-id program is judged for the user that it runs as: that user's rights are at stake. */
static int check_owner(const struct stat *st, const char *path, uid_t own_uid)
{
	if (!S_ISREG(st->st_mode))
		return tapir_diag__fail(-ENOEXEC, "cannot execute %s: it is not a regular file",
					path);
	if (st->st_uid && st->st_uid != geteuid() && st->st_uid != own_uid)
		return tapir_diag__fail(-EPERM,
					"cannot execute %s: it belongs to uid %u, neither root nor "
					"the user of tapir",
					path, st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return tapir_diag__fail(
			-EPERM,
			"cannot execute %s: others may write to it, its mode is %04o (chmod go-w)",
			path, st->st_mode & 07777u);
	return 0;
}

/* The version behind "NAME " in a note; NULL: that is none of this program. */
static const char *version_of(const struct tapir_elf_note *note, const char *name)
{
	const char *text = (const char *)note->desc;
	size_t len = strlen(name);

	if (note->type != TAPIR_SIBLING_TYPE || strcmp(note->name, TAPIR_SIBLING_OWNER) != 0 ||
	    note->desc_bytes < len + 2 || note->desc_bytes > MAX_VERSION_BYTES ||
	    text[note->desc_bytes - 1] || strncmp(text, name, len) != 0 || text[len] != ' ')
		return NULL;
	return text + len + 1;
}

static int check_note(struct tapir_elf *elf, const char *path, const char *name)
{
	const Elf64_Shdr *section = tapir_elf__section(elf, TAPIR_SIBLING_SECTION);
	struct tapir_elf_note note;
	struct tapir_note_iter it;
	const char *version = NULL;
	const void *data;
	size_t len;

	if (section && !tapir_elf__data(elf, section, &data, &len)) {
		it = tapir_note_iter__over(data, len, section->sh_addralign);
		while (!version && tapir_note_iter__next(&it, &note))
			version = version_of(&note, name);
	}
	if (!version)
		return tapir_diag__fail(-ENOEXEC, "cannot execute %s: it is another program", path);
	if (strcmp(version, TAPIR_VERSION) != 0)
		return tapir_diag__fail(
			-ENOEXEC,
			"cannot execute %s: it is version %s, this is version %s (install the same "
			"version of both)",
			path, version, TAPIR_VERSION);
	return 0;
}

static int check_program(int fd, const char *path, const char *name)
{
	struct tapir_elf *elf;
	int lines = tapir_diag__cnt(), err = tapir_elf__open_fd(fd, &elf);

	if (err) {
		tapir_diag__rewind(lines); /* they name a descriptor */
		return tapir_diag__fail(err, "cannot execute %s: %s", path,
					err == -ENOEXEC ? "it is another program"
							: tapir_errno__text(err));
	}
	err = check_note(elf, path, name);
	tapir_elf__free(elf);
	return err;
}

int tapir_sibling__open_in(const char *dir, const char *name, uid_t own_uid, int *out)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, err;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return tapir_diag__fail(-ENAMETOOLONG,
					"the directory of tapir has too long a name");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return tapir_diag__fail(-EOPNOTSUPP,
					"there is no %s in %s: install it (Debian package %s)",
					name, dir, name);
	if (fd < 0)
		return tapir_diag__fail(-errno, "cannot execute %s: %s", path,
					errno == ELOOP ? "it is a symbolic link"
						       : tapir_errno__text(-errno));
	err = fstat(fd, &st) ? -errno : check_owner(&st, path, own_uid);
	if (!err)
		err = check_program(fd, path, name);
	if (err)
		close(fd);
	else
		*out = fd;
	return err;
}

int tapir_sibling__open(const char *name, int *fd)
{
	char dir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	struct stat own;
	char *slash;

	if (len < 0 || stat("/proc/self/exe", &own))
		return tapir_diag__fail(-errno, "cannot find %s: /proc/self/exe: %s", name,
					tapir_errno__text(-errno));
	dir[len] =
		'\0'; /* one that was replaced ends with " (deleted)": its directory is the same */
	slash = *dir == '/' ? strrchr(dir, '/') : NULL;
	if (!slash)
		return tapir_diag__fail(-EOPNOTSUPP, "cannot find %s: tapir itself is not below /",
					name);
	slash[slash == dir ? 1 : 0] = '\0';
	return tapir_sibling__open_in(dir, name, own.st_uid, fd);
}
