// SPDX-License-Identifier: GPL-2.0-or-later
/* See jvm_perfdata.h. */
#include "runtime/jvm/jvm_perfdata.h"

#include <errno.h>
#include <string.h>

#define PROLOGUE_BYTES	   32u
#define ENTRY_BYTES	   20u
#define LITTLE_ENDIAN_DATA 1
#define MAX_ENTRIES	   4096u /* JDK 17 has 330 */

static const char counter_name[] = "sun.rt.jvmCapabilities";

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The entry's data, of at least one byte, when it is the counter. */
static const uint8_t *capabilities_of(const uint8_t *entry, uint32_t len)
{
	uint32_t name_off = u32_at(entry + 4), data_off = u32_at(entry + 16);

	if (name_off > len || len - name_off < sizeof(counter_name) || data_off >= len)
		return NULL;
	return memcmp(entry + name_off, counter_name, sizeof(counter_name)) ? NULL
									    : entry + data_off;
}

int tapir_jvm_perfdata__may_attach(const uint8_t *data, size_t len)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0, LITTLE_ENDIAN_DATA, 2};
	size_t at;

	if (len < PROLOGUE_BYTES || memcmp(data, magic, sizeof(magic)))
		return -ENODATA;
	at = u32_at(data + 24);
	for (uint32_t i = 0; i < MAX_ENTRIES && i < u32_at(data + 28); i++) {
		const uint8_t *found;
		uint32_t entry_len;

		if (at > len || len - at < ENTRY_BYTES)
			return -ENODATA;
		entry_len = u32_at(data + at);
		if (entry_len < ENTRY_BYTES || entry_len > len - at)
			return -ENODATA;
		found = capabilities_of(data + at, entry_len);
		if (found)
			return *found != '0';
		at += entry_len;
	}
	return -ENODATA;
}
