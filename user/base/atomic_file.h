/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * atomic_file.h - an output file that gets its name only when the caller places it.
 *
 * The directory is opened once; every later step is relative to its descriptor and follows no
 * symbolic link, so that another user who can write to the directory cannot redirect the output.
 * The file to be replaced keeps its name until tapir_atomic_file__commit. An existing FIFO or
 * device is opened for writing instead; opening never waits for a reader.
 *
 * Thread safety: one thread at a time.
 */
#ifndef TAPIR_USER_ATOMIC_FILE_H
#define TAPIR_USER_ATOMIC_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct tapir_atomic_file {
	int fd;
	int dir_fd;	  /* -1: a FIFO or device */
	char *path;	  /* as the caller wrote it */
	const char *name; /* its last component */
	char *temp_name;  /* where the file is until it is placed; NULL: it has its name */
	bool force;
	bool is_regular; /* created here */
};

struct tapir_atomic_file_opts {
	const char *path;
	mode_t mode;	/* of a file that is created */
	bool force;	/* replace an existing regular file */
	bool at_once;	/* where nothing is replaced, the file has its name from the start */
	bool has_owner; /* a file that is created belongs to uid and gid */
	uid_t uid;
	gid_t gid;
};

/*
 * 0, or -errno with a diagnostic line; a failure leaves no file. -EEXIST: the path exists and force
 * is not set; -ENXIO: a FIFO without a reader; -ELOOP: a symbolic link of another user.
 */
int tapir_atomic_file__open(const struct tapir_atomic_file_opts *opts,
			    struct tapir_atomic_file *out);

/* Gives the file its name; without force, -EEXIST if something has that name by now. */
int tapir_atomic_file__commit(struct tapir_atomic_file *file);

/*
 * 0: the path names the file. -ENOENT: the file no longer has a name and is lost when it is closed;
 * -ESTALE: it was renamed, and the path names another file or no file.
 */
int tapir_atomic_file__check(const struct tapir_atomic_file *file);

/* Removes a file that was created here, under whatever of its names it has, and closes it. */
void tapir_atomic_file__discard(struct tapir_atomic_file *file);

/*
 * Closes the file. Without __commit before, its temporary name is removed and nothing is left of
 * it. 0, or the error of close(2), by which a network's file system reports a full disk.
 */
int tapir_atomic_file__close(struct tapir_atomic_file *file);

#endif
