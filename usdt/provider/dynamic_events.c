/* SPDX-License-Identifier: MIT */
/*
 * dynamic_events.c - providers whose events are defined while the program runs.
 *
 * An event's storage is in the data page of an image, 64 bytes of it: its first word is the
 * semaphore, as of any event. The registry knows it as a provider of its own with one event and the
 * same name, since an event of the registry stays where it is.
 *
 * A page of events has one image, which providers share: an image is three mappings, and a process
 * may have 65,530 of all kinds. Notes are never removed, since readers count them: the slot of a
 * freed event is reused by an equal one (a plugin that is loaded again), and is freed with its page
 * when the last event in that is. A forked child leaves its parent's images as they are (their
 * notes are in shared memory) and starts a new one with its next event.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dynamic_impl.h"
#include "provider_impl.h"

#define PAGE_EVENTS	 256u
#define OPEN_IMAGES_MAX	 16u /* that keep their descriptor: the program needs its own */
#define IMAGE_NAME_BYTES 240u
#define NAME_BYTES	 192u

struct definition {
	struct tapir_event_about about; /* first: an event's `about` leads here */
	struct tapir_event *event;
	const uint8_t *slot; /* NULL: it is no probe */
	struct page *page;   /* with slot */
	uint32_t slot_idx;
	struct dynamic_plan plan;
	struct tapir_provider *registered;
	struct definition *next;
};

struct page {
	struct tapir_probe_image image;
	struct page *next;
	pid_t pid;
	uint32_t keeps_file;
	uint32_t live_cnt;
	uint8_t is_live[PAGE_EVENTS];
	uint64_t hashes[PAGE_EVENTS]; /* of a slot's notes */
};
_Static_assert(sizeof(struct tapir_event) == 64, "as the shape below has it");

struct tapir_dynamic {
	struct tapir_provider *head; /* has the callback */
	struct definition *definitions;
	struct described_table described;
	int probe_error;
	uint8_t has_guid;
	uint8_t guid[16];
	char name[NAME_BYTES];
};

static struct page *pages; /* the newest first; under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t open_image_cnt;
static uint32_t probe_cnt; /* events that are probes */

static void forked(void)
{
	static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;

	memcpy(&lock, &open, sizeof(lock));
}

static void watch_forks(void)
{
	static int is_watched;

	if (!is_watched)
		is_watched = !pthread_atfork(NULL, NULL, forked);
}

/* Returns true for a name that tools accept, and a shell without quotes. */
static int is_plain(const char *name)
{
	const char *c = name;

	for (; c && *c && c - name < (long)NAME_BYTES - 1; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || strchr("._-", *c)))
			return 0;
	return c && c > name && !*c;
}

/* ---- a description, copied in one piece ------------------------------------------------------- */

struct copy {
	struct tapir_event_field *fields; /* NULL: only counted */
	char *text;
	size_t field_cnt, text_bytes;
};

static int copy_fields(struct copy *to, const struct tapir_event_field *fields, uint32_t cnt,
		       unsigned depth)
{
	size_t first = to->field_cnt;

	/*
	 * The members of one level stay next to each other; those of the next level follow all of
	 * them. Called twice: without `fields` it counts, with them it copies, by the same steps.
	 */
	to->field_cnt += cnt;
	if (depth > 8 || to->field_cnt > TAPIR_MAX_FIELDS || (cnt && !fields))
		return -EINVAL;
	for (uint32_t i = 0; i < cnt; i++) {
		size_t len = fields[i].name ? strnlen(fields[i].name, 256) + 1 : 0;
		struct tapir_event_field *f = to->fields ? &to->fields[first + i] : NULL;
		int err;

		if (len < 2 || len > 256 || fields[i].type >= TAPIR_TYPE_CNT)
			return -EINVAL;
		if (f) {
			*f = fields[i];
			f->name = memcpy(to->text + to->text_bytes, fields[i].name, len);
			f->members = to->fields + to->field_cnt;
		}
		to->text_bytes += len;
		err = copy_fields(to, fields[i].members, fields[i].member_cnt, depth + 1);
		if (err)
			return err;
		if (f && !f->member_cnt)
			f->members = NULL;
	}
	return 0;
}

/*
 * Measures the description before it copies it, so that a definition is one allocation: the
 * structure, the fields, their texts. The provider's name remains d's.
 */
static int copy_about(const struct tapir_dynamic *d, const struct tapir_event_about *about,
		      struct definition **out)
{
	struct copy counted = {NULL, NULL, 0, 0}, copied = {NULL, NULL, 0, 0};
	struct definition *def;
	size_t name_bytes;
	int err = about && is_plain(about->name)
			  ? copy_fields(&counted, about->fields, about->field_cnt, 0)
			  : -EINVAL;

	if (err)
		return err;
	name_bytes = strlen(about->name) + 1;
	def = calloc(1, sizeof(*def) + counted.field_cnt * sizeof(*copied.fields) +
				counted.text_bytes + name_bytes);
	if (!def)
		return -ENOMEM;
	copied.fields = (struct tapir_event_field *)(void *)(def + 1);
	copied.text = (char *)(copied.fields + counted.field_cnt);
	copy_fields(&copied, about->fields, about->field_cnt, 0);
	def->about = *about;
	def->about.provider = d->name;
	def->about.name = memcpy(copied.text + copied.text_bytes, about->name, name_bytes);
	def->about.fields = about->field_cnt ? copied.fields : NULL;
	*out = def;
	return 0;
}

/* ---- images ----------------------------------------------------------------------------------- */

static int open_page(const struct tapir_dynamic *d, struct page **out)
{
	/* The notes of 64 events with names as long as they can be, or of 256 with usual ones. */
	static const struct tapir_probe_shape shape = {PAGE_EVENTS, sizeof(struct tapir_event),
						       0x9000, 0x10000};
	struct page *page = calloc(1, sizeof(*page));
	char name[IMAGE_NAME_BYTES];
	int err;

	if (!page)
		return -ENOMEM;
	stpcpy(stpcpy(name, TAPIR_DYNAMIC_IMAGE_NAME), d->name);
	err = tapir_probe_image__open(&page->image, &shape, name);
	if (err) {
		free(page);
		return err;
	}
	page->pid = getpid();
	page->keeps_file = open_image_cnt < OPEN_IMAGES_MAX;
	open_image_cnt += page->keeps_file;
	if (!page->keeps_file)
		tapir_probe_image__close_file(&page->image);
	page->next = pages;
	pages = page;
	*out = page;
	return 0;
}

static void close_page(struct page *page)
{
	struct page **link = &pages;

	while (*link != page)
		link = &(*link)->next;
	*link = page->next;
	open_image_cnt -= page->keeps_file;
	tapir_probe_image__close(&page->image);
	free(page);
}

static void take_slot(struct definition *def, struct page *page, uint32_t idx)
{
	def->slot = tapir_probe_image__slot(&page->image, idx);
	def->event = (struct tapir_event *)(void *)(page->image.probes +
						    (size_t)idx * sizeof(struct tapir_event));
	def->page = page;
	def->slot_idx = idx;
	page->is_live[idx] = 1;
	page->live_cnt++;
}

static void leave_slot(struct definition *def)
{
	struct page *page = def->page;

	page->is_live[def->slot_idx] = 0;
	if (!--page->live_cnt)
		close_page(page);
}

static uint64_t note_hash(const struct tapir_probe_note *n)
{
	uint64_t hash = dynamic_mix(0, n->event->keywords);

	hash = dynamic_mix(hash, (uint64_t)n->event->id << 16 | (uint64_t)n->event->version << 8 |
					 n->event->level);
	hash = dynamic_mix_text(hash, n->provider);
	hash = dynamic_mix_text(hash, n->name);
	hash = dynamic_mix_text(hash, n->operands);
	hash = dynamic_mix_text(hash, n->kinds);
	for (uint32_t at = 0; at < n->names_bytes; at += (uint32_t)strlen(n->names + at) + 1)
		hash = dynamic_mix_text(hash, n->names + at);
	return hash;
}

/* Reuses the slot of a freed event that was equal: tools stay attached to it. */
static int take_equal_slot(struct definition *def, uint64_t hash)
{
	const pid_t pid = getpid();

	for (struct page *page = pages; page; page = page->next) {
		if (page->pid != pid || page->live_cnt == page->image.slot_cnt)
			continue;
		for (uint32_t i = 0; i < page->image.slot_cnt; i++)
			if (!page->is_live[i] && page->hashes[i] == hash) {
				take_slot(def, page, i);
				return 1;
			}
	}
	return 0;
}

static int add_to_page(struct definition *def, struct page *page,
		       const struct tapir_probe_note *note, uint64_t hash)
{
	int idx = tapir_probe_image__add(&page->image, note);

	if (idx < 0)
		return idx;
	page->hashes[idx] = hash;
	take_slot(def, page, (uint32_t)idx);
	return 0;
}

/* Adds it to the newest image, or to a new one. */
static int make_probe(struct tapir_dynamic *d, struct definition *def)
{
	const struct tapir_event_about *about = &def->about;
	const struct tapir_probe_event event = {about->keywords, about->id, about->version,
						about->level};
	struct dynamic_signature signature;
	struct tapir_probe_note note = {d->name,	 about->name,	  signature.operands,
					signature.kinds, signature.names, 0,
					&event};
	struct page *page = pages;
	uint64_t hash;
	int err;

	dynamic_args__sign(about, &signature);
	dynamic_args__plan(about, &def->plan);
	note.names_bytes = signature.names_bytes;
	hash = note_hash(&note);
	/*
	 * An event that is defined, freed and defined again by turns would fill images without end.
	 */
	if (take_equal_slot(def, hash))
		return 0;
	/*
	 * A forked child shares its parent's memory file: it may read there, but adds to one of its
	 * own.
	 */
	err = page && page->pid == getpid() ? add_to_page(def, page, &note, hash) : -ENOSPC;
	if (err == -ENOSPC) {
		err = open_page(d, &page);
		if (err)
			return err;
		err = add_to_page(def, page, &note, hash);
		if (err)
			close_page(page);
	}
	return err;
}

/* For people outside: how many events have no probe, and why the last of these has none. */
static void report_published(int err)
{
	static uint32_t last_errno;

	provider_lock();
	if (err)
		last_errno = (uint32_t)-err;
	tapir_ring__report_published(probe_cnt, provider_json_cnt, last_errno);
	provider_unlock();
}

static void count_storage(const struct definition *def, int change)
{
	uint32_t *cnt = def->slot ? &probe_cnt : &provider_json_cnt;

	provider_lock();
	provider_json_is_on = tapir_json__is_on;
	provider_fire_probe = tapir_event__fire_probe;
	*cnt += (uint32_t)change;
	provider_unlock();
}

/* Without a probe: the event is in plain memory, where the kernel could keep no semaphore. */
static int make_storage(struct tapir_dynamic *d, struct definition *def)
{
	int err = make_probe(d, def);

	if (err && !d->probe_error)
		d->probe_error = err;
	if (err)
		def->event = calloc(1, sizeof(*def->event));
	if (!def->event)
		return -ENOMEM;
	memset(def->event->private_words, 0, sizeof(def->event->private_words));
	def->event->about = &def->about;
	def->event->flags = EVENT_IS_DEFINED | (def->slot ? 0 : EVENT_AS_JSON);
	count_storage(def, 1);
	report_published(err);
	return 0;
}

/* ---- events ----------------------------------------------------------------------------------- */

static void free_definition(struct definition *def)
{
	tapir_provider__free(def->registered);
	if (def->event) {
		count_storage(def, -1);
		report_published(0);
	}
	if (def->slot)
		leave_slot(def);
	else
		free(def->event);
	free(def);
}

/* Under the lock. An event for which there is no memory may leave a probe that never fires. */
static int define(struct tapir_dynamic *d, struct definition *def)
{
	int err = make_storage(d, def);

	if (!err)
		err = provider__make(d->name, d->has_guid ? d->guid : NULL, &def->event, 1, NULL,
				     NULL, &def->registered);
	if (err)
		return err;
	provider_lock();
	def->registered->next_member = d->head->members;
	prov_store_release(&d->head->members, def->registered);
	provider_unlock();
	def->next = d->definitions;
	d->definitions = def;
	return 0;
}

/* The registry's own judgement, before there is a probe, which could not be taken back. */
static int check_definition(const struct definition *def)
{
	uint32_t bytes;
	void *metadata;
	int err = def->about.level <= TAPIR_VERBOSE
			  ? provider_metadata__make(&def->about, &metadata, &bytes)
			  : -EINVAL;

	if (!err)
		free(metadata);
	return err;
}

int tapir_event__define(struct tapir_dynamic *d, const struct tapir_event_about *about,
			struct tapir_event **out)
{
	struct definition *def = NULL;
	int saved = errno, err;

	pthread_mutex_lock(&lock);
	err = copy_about(d, about, &def);
	if (!err)
		err = check_definition(def);
	if (!err)
		err = define(d, def);
	if (!err)
		*out = def->event;
	else if (def)
		free_definition(def);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return err;
}

/* A function of its own: its buffer is on the stack only here. */
static __attribute__((noinline)) void fire_json(const struct tapir_event *event,
						const uint8_t *payload, uint32_t bytes)
{
	char json[DYNAMIC_JSON_BYTES];

	dynamic_json__fire(event, json, dynamic_json__write(event->about, payload, bytes, json));
}

void tapir_event__fire_probe(struct tapir_event *event, const void *payload, size_t bytes)
{
	const struct definition *def = (const struct definition *)(const void *)event->about;
	uint32_t len = bytes <= TAPIR_PAYLOAD_BYTES ? (uint32_t)bytes : TAPIR_PAYLOAD_BYTES;
	uint64_t args[TAPIR_PROBE_ARG_MAX];

	if (!def->slot) {
		fire_json(event, payload, len);
		return;
	}
	dynamic_args__take(&def->plan, &def->about, payload, len, args);
	tapir_probe_image__fire(def->slot, args);
}

/* ---- providers -------------------------------------------------------------------------------- */

int tapir_dynamic__new(const char *name, const uint8_t *guid,
		       const struct tapir_provider_opts *opts, struct tapir_dynamic **out)
{
	struct tapir_dynamic *d;
	int saved = errno, err;

	if (!is_plain(name) || !out)
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d) {
		errno = saved;
		return -ENOMEM;
	}
	strcpy(d->name, name);
	d->has_guid = guid != NULL;
	if (guid)
		memcpy(d->guid, guid, sizeof(d->guid));
	pthread_mutex_lock(&lock);
	watch_forks();
	pthread_mutex_unlock(&lock);
	err = provider__make(name, guid, NULL, 0, opts, NULL, &d->head);
	if (err)
		free(d);
	else
		*out = d;
	errno = saved;
	return err;
}

static void free_described(struct described_table *table)
{
	for (uint32_t i = 0; i < DESCRIBED_BUCKETS; i++)
		while (table->buckets[i]) {
			struct described *e = table->buckets[i];

			table->buckets[i] = e->next;
			free(e);
		}
}

void tapir_dynamic__free(struct tapir_dynamic *d)
{
	int saved = errno;

	if (!d)
		return;
	tapir_provider__free(d->head);
	pthread_mutex_lock(&lock);
	while (d->definitions) {
		struct definition *def = d->definitions;

		d->definitions = def->next;
		free_definition(def);
	}
	free_described(&d->described);
	pthread_mutex_unlock(&lock);
	free(d);
	errno = saved;
}

struct described_table *dynamic__described(struct tapir_dynamic *d)
{
	return &d->described;
}

int tapir_dynamic__is_on(const struct tapir_dynamic *dynamic, uint8_t level, uint64_t keywords)
{
	return tapir_provider__is_on(dynamic->head, level, keywords);
}

int tapir_dynamic__probe_error(const struct tapir_dynamic *dynamic)
{
	return dynamic->probe_error;
}
