// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places the library in a .NET process's file system, seen from tapir: one helper job for each
 * directory, until one has taken the file. The work inside of the job is in dotnet_inject_child.c.
 */
#include "runtime/dotnet/dotnet_inject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "tapir/coreclr.h"
#include "runtime/dotnet/dotnet_child.h"

static const char *library_dir(const struct tapir_dotnet_talk *talk, unsigned dir_idx)
{
	const char *const dirs[TAPIR_DOTNET_INJECT_DIRS] = {"/dev/shm", talk->facts.tmp_dir, "/tmp",
							    "/var/tmp", "/run"};

	if (dir_idx == 2 && !strcmp(talk->facts.tmp_dir, "/tmp"))
		return NULL;
	return dirs[dir_idx];
}

static void add_why(struct tapir_str *why, const char *dir, const struct tapir_peer_answer *answer)
{
	tapir_str__addf(why, "%s%s: %s", why->len ? ", " : "", dir,
			tapir_peer_answer__reason(answer, answer->err));
	if (answer->why == TAPIR_PEER_WHY_MAKE || answer->why == TAPIR_PEER_WHY_DIR)
		tapir_str__addf(why, " (%s)", tapir_errno__text(answer->err));
}

static void set_job(struct tapir_dotnet_talk *talk, const struct tapir_dotnet_library *library,
		    const char *dir, const char *name)
{
	talk->job.act = tapir_dotnet_child__install;
	talk->job.last_act = tapir_peer_child__discard;
	talk->job.bytes = library->bytes;
	talk->job.byte_cnt = library->byte_cnt;
	snprintf(talk->job.dir, sizeof(talk->job.dir), "%s", dir);
	snprintf(talk->job.name, sizeof(talk->job.name), "%s", name);
}

/* Not the directory's fault: the next one would not do better. */
static bool is_final(const struct tapir_peer_answer *answer)
{
	return answer->why == TAPIR_PEER_WHY_PROC || answer->why == TAPIR_PEER_WHY_USER ||
	       answer->why == TAPIR_PEER_WHY_CHILD || answer->err == -ECANCELED;
}

static int make_at(struct tapir_dotnet_talk *talk, struct tapir_dotnet_injected *out,
		   struct tapir_peer_answer *answer)
{
	int err = tapir_peer_helper__try_guarded(&talk->job, answer, NULL, &out->guard);

	if (err)
		return err;
	snprintf(out->path, sizeof(out->path), "%s/%s", talk->job.dir, out->name);
	return 0;
}

int tapir_dotnet_inject__make(struct tapir_dotnet_talk *talk,
			      const struct tapir_dotnet_library *library, unsigned dir_idx,
			      struct tapir_dotnet_injected *out, struct tapir_str *why)
{
	struct tapir_dotnet_injected placed = TAPIR_DOTNET_NOT_INJECTED;
	int err = -ENOENT;

	snprintf(placed.name, sizeof(placed.name), TAPIR_CORECLR_FILE_NAME "%016" PRIx64 ".so",
		 library->key);
	for (; dir_idx < TAPIR_DOTNET_INJECT_DIRS; dir_idx++) {
		const char *dir = library_dir(talk, dir_idx);
		struct tapir_peer_answer answer = {};

		if (!dir)
			continue;
		set_job(talk, library, dir, placed.name);
		err = make_at(talk, &placed, &answer);
		if (!err)
			break;
		add_why(why, dir, &answer);
		if (is_final(&answer))
			return err;
		err = -ENOENT;
	}
	placed.dir_idx = dir_idx;
	if (!err)
		*out = placed;
	return err;
}
