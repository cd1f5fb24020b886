/* SPDX-License-Identifier: MIT */
/*
 * provider_kinds.c - descriptions of events that outlive their providers: what is queued for a
 * listener names its kind. Equal descriptions are one kind, so that a provider which comes and goes
 * adds nothing; all are freed when no session is open.
 */
#include <stdlib.h>

#include "provider_kinds.h"

#define BUCKETS 4096u /* a process has at most four times as many events */

struct kind {
	struct tapir_event_kind pub; /* first */
	struct kind *next;	     /* in its bucket */
	struct tapir_event_about about;
	void *description; /* METADATA: equal descriptions have equal ones */
	uint32_t description_bytes;
	char *at; /* room for strings */
	char text[];
};

static struct kind *kinds[BUCKETS];
static uint32_t kind_cnt;

static struct kind **bucket_of(const char *provider, const struct tapir_event_about *about)
{
	uint32_t hash = provider_hash(provider_hash(PROVIDER_HASH, provider), about->name);

	hash = (hash ^ about->id) * PROVIDER_HASH_PRIME;
	return &kinds[(hash ^ hash >> 16) % BUCKETS];
}

static size_t fields_bytes(const struct tapir_event_field *fields, uint16_t cnt)
{
	size_t bytes = cnt * sizeof(*fields);

	for (uint16_t i = 0; i < cnt; i++)
		bytes += fields_bytes(fields[i].members, fields[i].member_cnt);
	return bytes;
}

static size_t names_bytes(const struct tapir_event_field *fields, uint16_t cnt)
{
	size_t bytes = 0;

	for (uint16_t i = 0; i < cnt; i++)
		bytes += strlen(fields[i].name) + 1 +
			 names_bytes(fields[i].members, fields[i].member_cnt);
	return bytes;
}

static const char *copy_text(struct kind *k, const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = k->at;

	memcpy(copy, text, len);
	k->at += len;
	return copy;
}

/* All fields of a level, then what is in them: alignment is kept, names come last. */
static const struct tapir_event_field *
copy_fields(struct kind *k, char **at, const struct tapir_event_field *fields, uint16_t cnt)
{
	struct tapir_event_field *copy = (struct tapir_event_field *)(void *)*at;

	if (cnt)
		memcpy(copy, fields, cnt * sizeof(*fields));
	*at += cnt * sizeof(*fields);
	for (uint16_t i = 0; i < cnt; i++) {
		copy[i].name = copy_text(k, fields[i].name);
		if (copy[i].member_cnt)
			copy[i].members =
				copy_fields(k, at, fields[i].members, fields[i].member_cnt);
	}
	return copy;
}

static int is_equal(const struct kind *k, const struct tapir_provider *p,
		    const struct provider_event *pe)
{
	const struct tapir_event_about *a = &k->about, *b = pe->event->about;

	return !strcmp(k->pub.provider, p->name) && !strcmp(a->name, b->name) && a->id == b->id &&
	       a->version == b->version && a->level == b->level && a->keywords == b->keywords &&
	       k->description_bytes == pe->about.metadata_bytes &&
	       !memcmp(k->description, pe->metadata, k->description_bytes) &&
	       !memcmp(k->pub.guid, p->guid, sizeof(p->guid));
}

/*
 * One allocation: the kind, its fields, its texts, its metadata. All is copied, because a kind may
 * outlive its provider.
 */
static struct kind *make_kind(const struct tapir_provider *p, const struct provider_event *pe)
{
	const struct tapir_event_about *about = pe->event->about;
	size_t fields = fields_bytes(about->fields, about->field_cnt);
	size_t text = strlen(p->name) + strlen(about->name) + 2 +
		      names_bytes(about->fields, about->field_cnt);
	struct kind *k = calloc(1, sizeof(*k) + fields + text + pe->about.metadata_bytes);
	char *at;

	if (!k)
		return NULL;
	at = k->text;
	k->at = k->text + fields;
	k->about = *about;
	k->about.fields = copy_fields(k, &at, about->fields, about->field_cnt);
	k->pub.provider = k->about.provider = copy_text(k, p->name);
	k->about.name = copy_text(k, about->name);
	k->description = k->at;
	k->description_bytes = pe->about.metadata_bytes;
	memcpy(k->description, pe->metadata, k->description_bytes);
	k->pub.about = &k->about;
	memcpy(k->pub.guid, p->guid, sizeof(p->guid));
	k->pub.has_guid = p->has_guid;
	return k;
}

const struct tapir_event_kind *provider_kind__of(const struct tapir_provider *p,
						 const struct provider_event *pe)
{
	struct kind **bucket = bucket_of(p->name, pe->event->about), *k = *bucket;

	while (k && !is_equal(k, p, pe))
		k = k->next;
	if (k)
		return &k->pub;
	k = make_kind(p, pe);
	if (!k)
		return NULL;
	k->pub.idx = kind_cnt++;
	k->next = *bucket;
	*bucket = k;
	return &k->pub;
}

uint64_t provider_kinds__sum(const uint64_t *rows, uint32_t cnt, const char *provider)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; !provider && i < cnt; i++)
		sum += prov_load(&rows[i]);
	if (!provider)
		return sum;
	provider_lock();
	for (uint32_t i = 0; kind_cnt && i < BUCKETS; i++)
		for (const struct kind *k = kinds[i]; k; k = k->next)
			if (k->pub.idx < cnt - 1 && !strcmp(k->pub.provider, provider))
				sum += prov_load(&rows[k->pub.idx]);
	provider_unlock();
	return sum;
}

void provider_kinds__free(void)
{
	for (uint32_t i = 0; kind_cnt && i < BUCKETS; i++)
		while (kinds[i]) {
			struct kind *next = kinds[i]->next;

			free(kinds[i]);
			kinds[i] = next;
		}
	kind_cnt = 0;
}
