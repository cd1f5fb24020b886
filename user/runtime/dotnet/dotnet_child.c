// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's side of dotnet_client.c: finding and connecting to a runtime's socket,
 * dotnet-diagnostic-{pid}-{start time}-socket. The start time of a name is not computed: where
 * /proc was not mounted anew in a pid namespace, it is another process's (observed). So the newest
 * is tried first, and the process that listens on it must be the intended one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/dotnet/dotnet_child.h"

#define NAME_BYTES  64
#define SOCKETS_MAX 16

struct candidate {
	char name[NAME_BYTES];
	int64_t sec;
	int64_t nsec;
};

static bool is_newer(const struct candidate *a, const struct candidate *b)
{
	return a->sec != b->sec ? a->sec > b->sec : a->nsec > b->nsec;
}

static bool is_its_socket(const struct tapir_peer_helper *job, const char *name)
{
	static const char suffix[] = "-socket";
	size_t len = strlen(name);
	char prefix[40];
	int prefix_len = snprintf(prefix, sizeof(prefix), "dotnet-diagnostic-%u-", job->ns_tgid);

	return len < NAME_BYTES && !strncmp(name, prefix, (size_t)prefix_len) &&
	       len > (size_t)prefix_len + sizeof(suffix) - 1 &&
	       !strcmp(name + len - (sizeof(suffix) - 1), suffix);
}

/* The newest ones, newest first. */
struct candidates {
	struct candidate all[SOCKETS_MAX];
	unsigned cnt;
};

static void add_candidate(struct candidates *found, const struct candidate *one)
{
	unsigned at = found->cnt < SOCKETS_MAX ? found->cnt++ : SOCKETS_MAX - 1;

	if (at == SOCKETS_MAX - 1 && found->cnt == SOCKETS_MAX && *found->all[at].name &&
	    !is_newer(one, &found->all[at]))
		return;
	for (; at && is_newer(one, &found->all[at - 1]); at--)
		found->all[at] = found->all[at - 1];
	found->all[at] = *one;
}

struct search {
	const struct tapir_peer_helper *job;
	struct candidates *found;
};

/* Called for each name of a directory of any size, until the deadline. */
static bool consider_socket(void *ctx, int dir_fd, const char *name)
{
	const struct search *search = ctx;
	struct candidate one;
	struct stat st;

	if (is_its_socket(search->job, name) && !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISSOCK(st.st_mode) && st.st_uid == search->job->uid) {
		snprintf(one.name, sizeof(one.name), "%s", name);
		one.sec = st.st_mtim.tv_sec;
		one.nsec = st.st_mtim.tv_nsec;
		add_candidate(search->found, &one);
	}
	return tapir_clock__now_ns() < search->job->deadline_ns;
}

static int find_sockets(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
			struct candidates *found)
{
	struct search search = {job, found};

	found->cnt = 0;
	memset(found->all, 0, sizeof(found->all));
	return tapir_file__each_name(at->dir_fd, ".", consider_socket, &search);
}

/*
 * The fd; -ENOENT: none of them is its own and listens; -EAGAIN: try again. The reason is in
 * answer.
 */
static int try_sockets(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
		       struct tapir_peer_answer *answer)
{
	struct tapir_peer_answer first = {};
	struct candidates found;
	bool is_full = false;

	if (find_sockets(job, at, &found))
		return tapir_peer_child__fail(answer, -EACCES, TAPIR_PEER_WHY_DIR);
	for (unsigned i = 0; i < found.cnt; i++) {
		struct tapir_peer_answer one = {};
		int fd = tapir_peer_child__connect(job, at, found.all[i].name, &one);

		if (fd >= 0)
			return fd;
		is_full |= fd == -EAGAIN;
		if (one.err && !first.err)
			first = one;
	}
	if (is_full)
		return -EAGAIN;
	*answer = first;
	return first.err ? first.err : -ENOENT;
}

int tapir_dotnet_child__connect(const struct tapir_peer_helper *job,
				struct tapir_peer_answer *answer)
{
	struct tapir_peer_dirs at = TAPIR_PEER_DIRS_NONE;
	int fd;

	if (tapir_peer_child__open_proc(job, &at, answer) ||
	    tapir_peer_child__enter(job, &at, answer))
		return -1;
	if (!job->may_be_stopped && tapir_peer_child__wait_until_it_runs(job, &at, answer))
		return -1;
	for (;;) {
		int err;

		fd = try_sockets(job, &at, answer);
		if (fd >= 0 || answer->err)
			return fd < 0 ? -1 : fd;
		if (fd == -ENOENT && tapir_clock__now_ns() >= job->absent_until_ns) {
			tapir_peer_child__fail(answer, -ENOENT, TAPIR_PEER_WHY_ABSENT);
			return -1;
		}
		err = tapir_peer_child__backoff(job);
		if (err) {
			tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_SILENT);
			return -1;
		}
	}
}

/* ---- when we are killed -------------------------------------------------------------------- */

#define LAST_ACT_NS    (2 * TAPIR_NS_PER_SEC)
#define LAST_ACT_TRIES 3

/* Whatever it answers: when it does, the file is closed, and what was asked before is done. */
static bool is_answered(const struct tapir_peer_helper *job)
{
	struct tapir_peer_answer answer = {};
	int fd = tapir_dotnet_child__connect(job, &answer); /* we are its user from here on */
	bool is;

	if (fd < 0)
		return false;
	is = !tapir_peer_helper__send(job, fd, job->bytes, job->byte_cnt, job->deadline_ns) &&
	     !tapir_peer_helper__poll(job, fd, POLLIN, job->deadline_ns);
	close(fd);
	return is;
}

void tapir_dotnet_child__end_dump(const struct tapir_peer_helper *job,
				  const struct tapir_peer_answer *given, int no_fd)
{
	struct tapir_peer_helper last = *job;
	struct tapir_peer_answer file = {.is_requested = given->is_requested, .request_fd = -1};
	struct stat st;

	(void)no_fd;
	last.cancel_fd = -1;
	last.may_be_stopped = true;
	last.deadline_ns = tapir_clock__now_ns() + LAST_ACT_NS;
	for (unsigned i = 0; file.is_requested && i < LAST_ACT_TRIES; i++)
		file.is_requested = !is_answered(&last);
	if (!*job->name || fstatat(job->dir_fd, job->name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || st.st_uid != job->uid)
		return;
	file.dev = st.st_dev;
	file.inode = st.st_ino;
	tapir_peer_child__discard_written(job, &file, job->dir_fd);
}
