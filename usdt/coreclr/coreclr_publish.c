/* SPDX-License-Identifier: MIT */
/*
 * coreclr_publish.c - EventSource events as probes that any USDT tool can attach to.
 *
 *	PROVIDER:EVENT(fields ...)	a probe of its own in the provider's image, from the event's
 *					first occurrence on
 *	tapir_coreclr:LEVEL(...)	its JSON, by a probe for each level (../text/json_probes.h)
 *
 * The thread that fires an event first reads its description; the control thread gives it a slot in
 * an image and its notes. A thread that fires it then checks two semaphores: nothing is converted
 * while no tool is attached. The runtime's own events have no description and are not published.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../ring/ring_control.h"
#include "../ring/ring_sys.h"
#include "../text/json_probes.h"
#include "coreclr_publish.h"

#define ARENA_BYTES    (16ull << 20) /* address space: pages come as they are used */
#define META_MAX_BYTES 65536u
#define PROVIDER_MAX   64u
#define DESCRIPTOR_MAX                                                                             \
	16u /* of images that stay open: the program's descriptors are limited, and it needs its   \
	       own */
#define NAME_BYTES	 (TAPIR_CORECLR_EVENT_NAME_MAX + 25u) /* with a version and a number */
#define LEVEL_VERBOSE	 5u
#define IMAGE_NAME_BYTES 200u
#define NOTES_BYTES	 0x180000u
#define KINDS_BYTES	 0x280000u

struct coreclr_published {
	const uint16_t *semaphore; /* of its slot; of one that stays 0 before there is one */
	const uint8_t *slot;
	struct coreclr_layout layout;
	uint8_t level, is_raw;
	uint32_t id, version;
	uint64_t keywords;
	const char *provider, *name;
	struct coreclr_published *next; /* waiting for a slot */
};

struct provider {
	const char *name;
	int err;
	struct tapir_probe_image image;
	struct taken {
		uint64_t name_hash, operands_hash;
	} taken[CORECLR_SLOT_MAX];
};

JSON_PROBES(tapir_coreclr);

uint32_t coreclr_publishing;

static const uint16_t never_enabled;
static struct coreclr_published none = {.semaphore =
						&never_enabled}; /* an event that is no probe */
static struct coreclr_published *waiting;			 /* the newest first */
static uint32_t homeless_cnt; /* events for which there was no memory */

/* The control thread's. */
static struct provider *providers[PROVIDER_MAX];
static uint32_t provider_cnt, published_cnt, unpublished_cnt, reported_homeless_cnt, last_errno;

static struct {
	uint8_t *at;
	uint64_t used;
} arena;

/* ---- an event's first sight: any thread ---------------------------------------------------------- */

/* Separate memory: recording of events must not depend on it. */
static void *reserve_pages(uint64_t bytes)
{
	uint64_t need = (bytes + 15) & ~15ull, at;
	uint8_t *from = coreclr_load_acquire(&arena.at);

	if (!from || need > ARENA_BYTES || coreclr_load(&arena.used) > ARENA_BYTES - need)
		return NULL;
	at = __atomic_fetch_add(&arena.used, need, __ATOMIC_RELAXED);
	return at <= ARENA_BYTES - need ? from + at : NULL;
}

static struct coreclr_published *new_published(const struct coreclr_publish_event *event,
					       const uint8_t *data, uint32_t bytes)
{
	struct coreclr_published *p;

	/* Native events have no name, and nothing that describes them. */
	if (!event->name[0] || !event->meta || event->meta_bytes > META_MAX_BYTES)
		return &none;
	p = reserve_pages(sizeof(*p));
	if (!p) {
		__atomic_fetch_add(&homeless_cnt, 1, __ATOMIC_RELAXED);
		return &none;
	}
	if (coreclr_layout__parse(event->meta, event->meta_bytes, reserve_pages, &p->layout))
		p->layout = (struct coreclr_layout){.cnt = 0};
	p->layout.is_self = coreclr_payload__way(&p->layout, data, bytes);
	p->is_raw = !p->layout.cnt && bytes;
	p->semaphore = &never_enabled;
	p->level = event->level < LEVEL_VERBOSE ? event->level : LEVEL_VERBOSE;
	p->id = event->id;
	p->version = event->version;
	p->keywords = event->keywords;
	p->provider = event->provider;
	p->name = event->name;
	return p;
}

static void enqueue(struct coreclr_published *p)
{
	p->next = coreclr_load(&waiting);
	while (!__atomic_compare_exchange_n(&waiting, &p->next, p, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	coreclr_wakeup();
}

const struct coreclr_published *coreclr_publish__see(struct coreclr_published **at,
						     const struct coreclr_publish_event *event,
						     const uint8_t *data, uint32_t bytes)
{
	struct coreclr_published *p = new_published(event, data, bytes), *before = NULL;

	if (!__atomic_compare_exchange_n(at, &before, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return before;
	if (p != &none)
		enqueue(p);
	return p;
}

/* ---- firing: any thread -------------------------------------------------------------------------- */

/* The description leaves open which way it is: as this payload has it. */
static struct coreclr_layout layout_for(const struct coreclr_published *p, const uint8_t *data,
					uint32_t bytes)
{
	struct coreclr_layout layout = p->layout;

	layout.is_self = coreclr_payload__way(&layout, data, bytes);
	return layout;
}

static __attribute__((noinline)) void fire_typed(const struct coreclr_published *p,
						 const uint8_t *data, uint32_t bytes)
{
	const struct coreclr_layout layout = layout_for(p, data, bytes);
	uint64_t args[CORECLR_ARG_MAX];
	char text[CORECLR_TEXT_BYTES];

	coreclr_payload__take(&layout, p->is_raw, data, bytes, args, text);
	tapir_probe_image__fire(p->slot, args);
}

static __attribute__((noinline)) void fire_json(const struct coreclr_published *p,
						const uint8_t *data, uint32_t bytes,
						const uint8_t *activity, const uint8_t *related)
{
	const struct coreclr_layout layout = layout_for(p, data, bytes);
	char json[CORECLR_JSON_BYTES];
	const struct json_event event = {
		.provider = p->provider,
		.name = p->name,
		.json = json,
		.json_bytes = coreclr_json__write(&layout, data, bytes, json),
		.id = p->id,
		.keywords = p->keywords,
		.version = p->version,
		.activity = activity,
		.related = related,
	};

	json_probes[p->level].fire(&event);
}

void coreclr_publish__fire(const struct coreclr_published *p, const uint8_t *data, uint32_t bytes,
			   const uint8_t *activity, const uint8_t *related)
{
	if (p == &none)
		return;
	if (coreclr_unlikely(coreclr_load(coreclr_load_acquire(&p->semaphore))))
		fire_typed(p, data, bytes);
	if (coreclr_unlikely(*json_probes[p->level].semaphore))
		fire_json(p, data, bytes, activity, related);
}

/* ---- slots: the control thread ---------------------------------------------------------------------- */

/*
 * Writes a name that tools accept; one '_' for each other character. A name that is too long ends
 * in TAPIR_CORECLR_CUT.
 */
static uint32_t plain_name(char *out, uint32_t room, const char *text)
{
	uint32_t at = 0;

	for (; *text && at < room - 1; text++) {
		uint8_t c = (uint8_t)*text, low = c | 0x20;

		if ((c & 0xc0) == 0x80)
			continue;
		out[at++] = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
					    (c && strchr("-._", c))
				    ? (char)c
				    : '_';
	}
	while (((uint8_t)*text & 0xc0) == 0x80)
		text++;
	if (*text)
		memcpy(out + at - strlen(TAPIR_CORECLR_CUT), TAPIR_CORECLR_CUT,
		       strlen(TAPIR_CORECLR_CUT));
	out[at] = 0;
	return at;
}

/* Another event has the name, with other arguments. */
static int is_taken(const struct provider *pr, const char *name, uint64_t operands_hash)
{
	uint64_t hash = coreclr_hash(name, strlen(name));

	for (uint32_t i = 0; i < pr->image.slot_cnt; i++)
		if (pr->taken[i].name_hash == hash && pr->taken[i].operands_hash != operands_hash)
			return 1;
	return 0;
}

/* The event's name, or with its version, or with a number appended. */
static void choose_name(const struct provider *pr, const struct coreclr_published *p,
			uint64_t operands_hash, char out[NAME_BYTES])
{
	uint32_t len = plain_name(out, TAPIR_CORECLR_EVENT_NAME_MAX + 1, p->name);

	if (!is_taken(pr, out, operands_hash))
		return;
	memcpy(out + len, "_V", 2);
	out[len + 2 + text_number__u64(out + len + 2, p->version)] = 0;
	for (uint32_t i = 2; is_taken(pr, out, operands_hash) && i < CORECLR_SLOT_MAX; i++)
		out[len + 1 + text_number__u64(out + len + 1, i)] = 0;
}

/* "tapir-usdt.KEY:PROVIDER", by which a tapir knows its own. */
static void name_image(char name[IMAGE_NAME_BYTES], uint64_t key, const char *provider)
{
	uint32_t at = sizeof(TAPIR_RING_PROBES_NAME) - 1;

	memcpy(name, TAPIR_RING_PROBES_NAME, at);
	for (int i = 60; i >= 0; i -= 4)
		name[at++] = "0123456789abcdef"[key >> i & 15];
	name[at++] = ':';
	while (*provider && at < IMAGE_NAME_BYTES - 1)
		name[at++] = *provider++;
	name[at] = 0;
}

static struct provider *find_provider(const char *name)
{
	static const struct tapir_probe_shape shape = {CORECLR_SLOT_MAX, sizeof(uint16_t),
						       NOTES_BYTES, KINDS_BYTES};
	char file[IMAGE_NAME_BYTES];
	struct provider *pr;

	for (uint32_t i = 0; i < provider_cnt; i++)
		if (!strcmp(providers[i]->name, name))
			return providers[i];
	pr = provider_cnt < PROVIDER_MAX ? reserve_pages(sizeof(*pr)) : NULL;
	if (!pr)
		return NULL;
	pr->name = name;
	name_image(file, coreclr.key, name);
	pr->err = tapir_probe_image__open(&pr->image, &shape, file);
	if (!pr->err && provider_cnt >= DESCRIPTOR_MAX)
		tapir_probe_image__close_file(&pr->image);
	providers[provider_cnt++] = pr;
	return pr;
}

static int give_slot(struct coreclr_published *p)
{
	struct provider *pr = find_provider(p->provider);
	char provider[CORECLR_NAME_BYTES], name[NAME_BYTES];
	struct coreclr_signature signature;
	struct tapir_probe_note note = {.provider = provider, .name = name};
	uint64_t operands_hash;
	int idx;

	if (!pr || pr->err)
		return pr ? pr->err : -ENOSPC;
	coreclr_payload__sign(&p->layout, p->is_raw, &signature);
	operands_hash = coreclr_hash(signature.operands, strlen(signature.operands)) ^
			coreclr_hash(signature.kinds, strlen(signature.kinds));
	plain_name(provider, sizeof(provider), p->provider);
	choose_name(pr, p, operands_hash, name);
	note.operands = signature.operands;
	note.kinds = signature.kinds;
	note.names = signature.names;
	note.names_bytes = signature.names_bytes;
	idx = tapir_probe_image__add(&pr->image, &note);
	if (idx < 0)
		return idx;
	/*
	 * Another event of this name is compared with these: same operands share the name, others
	 * get one with a number.
	 */
	pr->taken[idx].name_hash = coreclr_hash(name, strlen(name));
	pr->taken[idx].operands_hash = operands_hash;
	p->slot = tapir_probe_image__slot(&pr->image, (uint32_t)idx);
	/* Last: a thread that sees the semaphore calls the slot behind it. */
	coreclr_store_release(&p->semaphore,
			      (const uint16_t *)(const void *)pr->image.probes + idx);
	return 0;
}

/* In the order in which they were seen. */
static struct coreclr_published *take_waiting(void)
{
	struct coreclr_published *p = __atomic_exchange_n(&waiting, NULL, __ATOMIC_ACQUIRE),
				 *oldest = NULL;

	while (p) {
		struct coreclr_published *next = p->next;

		p->next = oldest;
		oldest = p;
		p = next;
	}
	return oldest;
}

void coreclr_publish__serve(void)
{
	struct coreclr_published *p = take_waiting();
	uint32_t homeless = coreclr_load(&homeless_cnt);

	if (!p && homeless == reported_homeless_cnt)
		return;
	for (; p; p = p->next) {
		int err = give_slot(p);

		published_cnt += !err;
		unpublished_cnt += err != 0;
		last_errno = err ? (uint32_t)-err : last_errno;
	}
	last_errno = homeless != reported_homeless_cnt ? ENOMEM : last_errno;
	reported_homeless_cnt = homeless;
	tapir_ring__report_published(published_cnt, unpublished_cnt + homeless, last_errno);
}

void coreclr_publish__turn(int is_wanted)
{
	if (is_wanted && !arena.at) {
		long va = ring_sys6(SYS_mmap, 0, ARENA_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (ring_sys_failed(va)) {
			tapir_ring__report_published(0, 0, ENOMEM);
			return;
		}
		coreclr_store_release(&arena.at, (uint8_t *)va);
	}
	coreclr_store_release(&coreclr_publishing, (uint32_t)(is_wanted != 0));
}

void coreclr_publish__end(void)
{
	coreclr_store_release(&coreclr_publishing, 0);
	for (uint32_t i = 0; i < provider_cnt; i++)
		if (!providers[i]->err)
			tapir_probe_image__close(&providers[i]->image);
	provider_cnt = 0;
	if (arena.at)
		ring_sys3(SYS_munmap, arena.at, ARENA_BYTES, 0);
	arena.at = NULL;
	arena.used = 0;
}
