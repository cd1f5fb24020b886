/* SPDX-License-Identifier: MIT */
/*
 * provider_warnings.c - mistakes in how providers were made that no call has returned, found on
 * request: an event that is in no array is a mistake only if no later provider has it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "provider_impl.h"

#define TEXT_BYTES 768u

/* Texts, each with its NUL; without memory further ones are only counted. */
struct warnings {
	char *texts;
	size_t bytes, room;
	uint32_t cnt;
};

static void add_warning(struct warnings *w, const char *text)
{
	size_t len = strlen(text) + 1;

	w->cnt++;
	if (!provider_make_room((void **)&w->texts, &w->room, w->bytes + len, 1, 4096))
		return;
	memcpy(w->texts + w->bytes, text, len);
	w->bytes += len;
}

static void add_mistake(void *ctx, const struct tapir_provider *p, const struct provider_event *a,
			const struct provider_event *b)
{
	char text[TEXT_BYTES];
	const char *said = a->event->about->provider;

	if (b)
		snprintf(text, sizeof(text),
			 "events %.190s and %.190s of %s have id %u and version %u and are not the "
			 "same: give one another id",
			 a->about.event, b->about.event, p->name, a->about.event_id,
			 a->about.version);
	else
		snprintf(text, sizeof(text),
			 "event %.190s is of %.190s by its description and of %s by its provider: "
			 "USDT tools see it as the first, sessions as the second",
			 a->about.event, said ? said : "nobody", p->name);
	add_warning(ctx, text);
}

/* Returns 1 if it is the first provider of its name and part of the program. */
static int is_first(const struct tapir_provider *p)
{
	const struct tapir_provider *q = provider_list;

	while (q != p && (q->part.from != p->part.from || strcmp(q->name, p->name) != 0))
		q = q->next;
	return q == p;
}

/* A definition in a header is listed once for each file that includes it. */
static int was_before(struct tapir_event *const *from, struct tapir_event *const *at)
{
	while (from != at && *from != *at)
		from++;
	return from != at;
}

static void add_unlisted(struct warnings *w, const struct tapir_provider *p)
{
	char text[TEXT_BYTES];

	for (struct tapir_event *const *at = p->part.from; at != p->part.to; at++) {
		const struct tapir_event_about *about = (*at)->about;

		if (event_state__of(*at)->provider || strcmp(about->provider, p->name) != 0 ||
		    was_before(p->part.from, at))
			continue;
		snprintf(
			text, sizeof(text),
			"event %.190s of %s is in no array of tapir_provider__new: no session gets "
			"it",
			about->name, p->name);
		add_warning(w, text);
	}
}

/* The library's events are of no part and name no provider that could be wrong. */
static int is_the_librarys(const struct tapir_provider *p)
{
	return p->event_cnt && !*p->events[0].event->about->provider;
}

uint32_t tapir_library__warnings(tapir_warning_fn fn, void *ctx)
{
	struct warnings w = {NULL, 0, 0, 0};
	int saved = errno;

	provider_lock();
	for (const struct tapir_provider *p = provider_list; p; p = p->next) {
		if (!is_the_librarys(p))
			provider_mistakes__find(p, add_mistake, &w);
		if (p->part.size && is_first(p))
			add_unlisted(&w, p);
	}
	provider_unlock();
	for (size_t at = 0; fn && at < w.bytes; at += strlen(w.texts + at) + 1)
		fn(w.texts + at, ctx);
	free(w.texts);
	errno = saved;
	return w.cnt;
}
