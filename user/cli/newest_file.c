// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Links are not followed: another user's file is not the caller's recording, wherever it is linked.
 */
#include "cli/newest_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sudo_user.h"

#define SUFFIX ".tapir"

static bool is_recording_name(const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(SUFFIX);

	return len > suffix_len && !strcmp(name + len - suffix_len, SUFFIX);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Freed by the caller; NULL: there is none. */
static char *find_newest(void)
{
	DIR *dir = opendir(".");
	uid_t uid = geteuid();
	struct timespec newest = {};
	const struct dirent *entry;
	char *name = NULL;

	(void)tapir_sudo_user__get(&uid, NULL);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (!is_recording_name(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_uid != uid || !is_later(&st.st_mtim, &newest))
			continue;
		free(name);
		name = strdup(entry->d_name);
		newest = st.st_mtim;
	}
	if (dir)
		closedir(dir);
	return name;
}

static bool names_a_file(const char *word)
{
	return !strcmp(word, "-") || strchr(word, '/') || is_recording_name(word) ||
	       !access(word, F_OK);
}

int tapir_newest_file__choose(struct tapir_cli *cli, bool has_glob)
{
	char *name;

	if (cli->words.cnt > (size_t)has_glob ||
	    (cli->words.cnt && names_a_file(cli->words.data[0])))
		return 0;
	name = find_newest();
	if (!name)
		return tapir_cli__usage(
			cli, "FILE is required: no recording of yours is in this directory "
			     "(tapir record -p PID -o slow.tapir makes one)");
	if (!tapir_vec__push(&cli->words, name)) {
		free(name);
		return -ENOMEM;
	}
	if (cli->words.cnt == 2) { /* the GLOB comes second */
		cli->words.data[1] = cli->words.data[0];
		cli->words.data[0] = name;
	}
	cli->chosen_file = name;
	tapir_info("reading %s", name);
	return 0;
}
