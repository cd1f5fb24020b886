// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sudo(8) names its caller by SUDO_UID and SUDO_GID. Any user can set these, so they are believed
 * only while this process is root: then nothing is gained by lying.
 */
#include "base/sudo_user.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

static bool env_id(const char *name, uint64_t *id)
{
	const char *text = getenv(name);

	return text && tapir_str__to_u64(text, 0, UINT32_MAX, id);
}

bool tapir_sudo_user__get(uid_t *uid, gid_t *gid)
{
	uint64_t user, group = 0;

	if (geteuid() || !env_id("SUDO_UID", &user) || (gid && !env_id("SUDO_GID", &group)))
		return false;
	*uid = (uid_t)user;
	if (gid)
		*gid = (gid_t)group;
	return true;
}
