// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds providers, keywords and events in the tables: the manifests of --manifest first, so that a
 * user's manifest of a newer runtime overrides what was compiled in.
 */
#include "decode/dotnet_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/diag.h"
#include "base/vec.h"
#include "decode/dotnet_tables_impl.h"
#include "decode/manifest.h"

static struct tapir_vec(struct tapir_manifest *) added;

const struct tapir_layout_provider *tapir_dotnet_provider__at(unsigned idx)
{
	for (size_t i = added.cnt; i--;) {
		unsigned cnt = tapir_manifest__provider_cnt(added.data[i]);

		if (idx < cnt)
			return tapir_manifest__provider(added.data[i], idx);
		idx -= cnt;
	}
	return idx < tapir_dotnet_provider_cnt ? tapir_dotnet_providers[idx] : NULL;
}

const struct tapir_layout_provider *tapir_dotnet_provider__find(struct tapir_sv name)
{
	const struct tapir_layout_provider *p;

	for (unsigned i = 0; (p = tapir_dotnet_provider__at(i)); i++)
		if (strlen(p->name) == name.len && !strncasecmp(p->name, name.data, name.len))
			return p;
	return NULL;
}

bool tapir_dotnet_keyword__find(const struct tapir_layout_provider *provider, struct tapir_sv name,
				uint64_t *mask)
{
	for (unsigned i = 0; i < provider->keyword_cnt; i++) {
		const struct tapir_layout_keyword *k = &provider->keywords[i];

		if (strlen(k->name) == name.len && !strncasecmp(k->name, name.data, name.len)) {
			*mask = k->mask;
			return true;
		}
	}
	return false;
}

static const struct tapir_layout_event *find_in(const struct tapir_layout_provider *p, uint16_t id,
						uint8_t version)
{
	uint32_t key = (uint32_t)id << 8 | version;
	size_t low = 0, high = p->event_cnt;

	while (low < high) { /* the first after (id, version) */
		size_t mid = low + (high - low) / 2;

		if (((uint32_t)p->events[mid].id << 8 | p->events[mid].version) <= key)
			low = mid + 1;
		else
			high = mid;
	}
	if (low && p->events[low - 1].id == id)
		return &p->events[low - 1];
	return low < p->event_cnt && p->events[low].id == id ? &p->events[low] : NULL;
}

const struct tapir_layout_event *tapir_dotnet_event__find(struct tapir_sv provider, uint16_t id,
							  uint8_t version)
{
	const struct tapir_layout_provider *p = tapir_dotnet_provider__find(provider);

	return p ? find_in(p, id, version) : NULL;
}

struct tapir_sv tapir_dotnet_event__name(struct tapir_sv provider, uint16_t id, uint8_t version,
					 char *buf)
{
	const struct tapir_layout_event *ev = tapir_dotnet_event__find(provider, id, version);

	if (ev)
		return tapir_sv__of(ev->name);
	snprintf(buf, TAPIR_EVENT_ID_TEXT_BYTES, "EventID(%u)", id);
	return tapir_sv__of(buf);
}

int tapir_dotnet_tables__add_manifest(const char *path)
{
	struct tapir_manifest *manifest;
	int err = tapir_manifest__read(path, &manifest);

	if (err)
		return err;
	if (tapir_vec__push(&added, manifest))
		return 0;
	tapir_manifest__free(manifest);
	return -ENOMEM;
}

void tapir_dotnet_tables__fini(void)
{
	for (size_t i = 0; i < added.cnt; i++)
		tapir_manifest__free(added.data[i]);
	tapir_vec__fini(&added);
}
