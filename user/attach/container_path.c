// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The container and the pod that the path of a cgroup names. Docker, containerd and CRI-O write the
 * container's 64 hex digits somewhere in the path, and Kubernetes a UID after "pod", with '_' for
 * '-' under systemd.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "attach/cgroup.h"

#define ID_DIGITS      (TAPIR_CONTAINER_FULL_ID_BYTES - 1)
#define POD_UID_DIGITS 32

/* "pod" and a UID whose parts are divided by '-' or '_'; its length, 0: none. */
static size_t uid_at(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef-_"), digits = 0;

	for (size_t i = 0; i < len; i++)
		digits += isxdigit((unsigned char)text[i]) != 0;
	return digits == POD_UID_DIGITS && len < TAPIR_POD_UID_BYTES ? len : 0;
}

static void find_pod(const char *path, struct tapir_container_path *out)
{
	const char *at = path;
	size_t len = 0;

	while ((at = strstr(at, "pod")) && !(len = uid_at(at + 3)))
		at += 3;
	if (!at || !strstr(path, "kubepods"))
		return;
	for (size_t i = 0; i < len; i++)
		out->pod_uid[i] = (char)(at[3 + i] == '_' ? '-' : at[3 + i]);
	at += 3 + len;
	out->pod_end = (size_t)(at - path) + strcspn(at, "/");
}

void tapir_container_path__of(const char *path, struct tapir_container_path *out)
{
	*out = (struct tapir_container_path){};
	/* The innermost one counts: a container may run in another. */
	for (const char *at = path; *at;) {
		size_t len = strspn(at, "0123456789abcdef");

		if (len == ID_DIGITS) {
			memcpy(out->id, at, len);
			out->end = (size_t)(at - path) + len + strcspn(at + len, "/");
		}
		at += len ? len : 1;
	}
	find_pod(path, out);
}

void tapir_container__id(const char *cgroup_path, char id[TAPIR_CONTAINER_ID_BYTES])
{
	struct tapir_container_path path;

	tapir_container_path__of(cgroup_path, &path);
	snprintf(id, TAPIR_CONTAINER_ID_BYTES, "%.12s", path.id);
}
