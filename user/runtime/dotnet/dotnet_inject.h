/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_inject.h - places tapir's library where a .NET process can load it: a file of its user in
 * its own file system, which exists only while it is loaded, even if tapir is killed then; for
 * dotnet_attach.c only.
 *
 * Directories are tried in this order, as the process sees them: /dev/shm, its TMPDIR, /tmp,
 * /var/tmp, /run. A directory is suitable if its user may create a file there, no other user can
 * replace the file or a part of its path (tapir_peer_child__enter_private), and code may be mapped
 * from it. The file is created with the process's uid (peer_helper.h), O_EXCL, and read back. One
 * thread for each process that is asked.
 */
#ifndef TAPIR_USER_DOTNET_INJECT_H
#define TAPIR_USER_DOTNET_INJECT_H

#include "base/str.h"
#include "runtime/dotnet/dotnet_client.h"

#define TAPIR_DOTNET_INJECT_DIRS 5u

struct tapir_dotnet_injected {
	unsigned dir_idx;	       /* which of the directories */
	struct tapir_peer_guard guard; /* removes it when we let it, or are killed */
	char name[TAPIR_PEER_NAME_BYTES];
	char path[TAPIR_PEER_DIR_BYTES + TAPIR_PEER_NAME_BYTES]; /* as the process sees it */
};

#define TAPIR_DOTNET_NOT_INJECTED                                                                  \
	(struct tapir_dotnet_injected)                                                             \
	{                                                                                          \
		.guard = TAPIR_PEER_NO_GUARD                                                       \
	}

struct tapir_dotnet_library {
	const void *bytes; /* borrowed */
	size_t byte_cnt;
	uint64_t key; /* no other file has this one in its name */
};

/*
 * Creates the file in the first suitable directory from place on. why (not NULL) gets a reason for
 * each unsuitable one. -ENOENT: none is suitable; -ECANCELED, -ESRCH, -ETIMEDOUT ... No line. On
 * success out is for __remove.
 */
int tapir_dotnet_inject__make(struct tapir_dotnet_talk *talk,
			      const struct tapir_dotnet_library *library, unsigned dir_idx,
			      struct tapir_dotnet_injected *out, struct tapir_str *why);

/* Removes the file, if it is still that one. No line. */
static inline void tapir_dotnet_inject__remove(struct tapir_dotnet_injected *placed)
{
	tapir_peer_guard__let_act(&placed->guard);
}

#endif
