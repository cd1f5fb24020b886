/* SPDX-License-Identifier: GPL-2.0-or-later */
/* role.h - what a client may do; each role includes those before it. Constant; any thread. */
#ifndef TAPIR_USER_ROLE_H
#define TAPIR_USER_ROLE_H

enum tapir_client_role {
	TAPIR_ROLE_NONE,    /* not known, or not allowed anything */
	TAPIR_ROLE_VIEW,    /* lists, counters, metrics, its own finished traces */
	TAPIR_ROLE_PROFILE, /* whatever attaches to a process */
	TAPIR_ROLE_ADMIN,   /* sessions of others, the configuration, command lines */
};

/* "view", "profile", "admin" from index 0; NULL after the last. */
const char *tapir_role__name(unsigned i);
/* Returns the role of that name; TAPIR_ROLE_NONE: no such role. */
enum tapir_client_role tapir_role__find(const char *name);

#endif
