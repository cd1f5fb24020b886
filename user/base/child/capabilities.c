// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bounding set first, while CAP_SETPCAP is there to do it; then no_new_privs and the ambient
 * set, by which an exec could give something back; then what the process has (capabilities(7)).
 */
#include "base/child/capabilities.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#define MAX_CAPS 64

void tapir_capabilities__drop_bounding_set(void)
{
	for (int cap = 0; cap < MAX_CAPS; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int tapir_capabilities__drop(void)
{
	cap_t none;
	int err = 0;

	tapir_capabilities__drop_bounding_set();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	none = cap_init();
	if (!none || cap_set_proc(none))
		err = -errno;
	cap_free(none);
	return err;
}
