// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of mounts whose points and options another process chose: what is found is terminated,
 * and of a type that was there.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign/mount_list.h"
#include "base/foreign/overlay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_mount mount;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	memset(&mount, 0xff, sizeof(mount));
	if (tapir_mount__find_in(text, data[0], &mount)) {
		assert(memchr(mount.type, '\0', sizeof(mount.type)) && *mount.type);
		assert(memchr(mount.point, '\0', sizeof(mount.point)));
		assert(strstr(text, mount.type));
		(void)tapir_mount__trait(&mount);
		(void)tapir_overlay__is_local_in(text, mount.dev);
	}
	free(text);
	return 0;
}
