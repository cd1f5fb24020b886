/* SPDX-License-Identifier: MIT */
/*
 * coreclr_wants.c - the union of what open sessions request: one entry per provider. A name with *
 * or ? selects the known providers that match; more may appear. The lane's own words sort out
 * afterwards which session gets an event, so the union may be too wide, never too narrow.
 */
#include <string.h>

#include "coreclr_impl.h"

#define LEVEL_VERBOSE	5u
#define ALL_KEYWORDS	UINT64_MAX
/* A session with it begins with a full collection: it must be requested by name. */
#define GC_HEAP_COLLECT 0x800000ull

/* A selection is read once: tracers may write it at the same time. */
static void copy_shared(void *out, const void *shared, uint32_t bytes)
{
	const volatile uint8_t *from = shared;

	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)out)[i] = from[i];
}

/* A selection, with the range of its arguments. */
struct request {
	struct tapir_ring_selection sel;
	const char *text; /* the session's, TAPIR_RING_TEXT_BYTES of it */
};

static uint64_t keywords_for(const char *provider, uint64_t keywords)
{
	if (keywords && keywords != ALL_KEYWORDS)
		return keywords;
	return strcmp(provider, CORECLR_RUNTIME_NAME) ? ALL_KEYWORDS
						      : ALL_KEYWORDS & ~GC_HEAP_COLLECT;
}

/* The end of the text, moved on; 0: there is no room. */
static uint32_t add_shared_text(struct coreclr_wants *out, const void *shared, uint32_t bytes)
{
	uint32_t at = out->text_bytes;

	if (bytes >= CORECLR_ARGS_BYTES - at)
		return 0;
	copy_shared(out->text + at, shared, bytes);
	out->text[at + bytes] = 0;
	out->text_bytes = at + (uint32_t)strlen(out->text + at) + 1;
	return at;
}

/* Arguments of a second selection follow those of the first. */
static void add_args(struct coreclr_wants *out, struct coreclr_want *want,
		     const struct request *request)
{
	uint32_t bytes = request->sel.args_bytes, before = out->text_bytes, at, len;

	if (!bytes || bytes >= TAPIR_RING_ARGS_BYTES ||
	    request->sel.args_off > TAPIR_RING_TEXT_BYTES ||
	    bytes > TAPIR_RING_TEXT_BYTES - request->sel.args_off)
		return;
	at = add_shared_text(out, request->text + request->sel.args_off, bytes);
	if (!at || !out->text[at])
		return;
	if (!want->args_off) {
		want->args_off = at;
		return;
	}
	len = (uint32_t)strlen(out->text + want->args_off);
	if (!strcmp(out->text + want->args_off, out->text + at)) {
		out->text_bytes = before;
		return;
	}
	/* Appends the first ones, ';', and the second ones. */
	bytes = (uint32_t)strlen(out->text + at);
	if (len + 1 + bytes >= CORECLR_ARGS_BYTES - out->text_bytes)
		return;
	before = out->text_bytes;
	memcpy(out->text + before, out->text + want->args_off, len);
	out->text[before + len] = ';';
	memcpy(out->text + before + len + 1, out->text + at, bytes + 1);
	out->text_bytes = before + len + bytes + 2;
	want->args_off = before;
}

static void add_want(struct coreclr_wants *out, const char *provider, const struct request *request)
{
	const struct tapir_ring_selection *sel = &request->sel;
	uint32_t level = sel->level && sel->level < LEVEL_VERBOSE ? sel->level : LEVEL_VERBOSE;
	struct coreclr_want *want = out->all;

	while (want < out->all + out->cnt && strcmp(want->provider, provider))
		want++;
	if (want == out->all + CORECLR_WANT_MAX) {
		out->left_cnt++;
		return;
	}
	if (want == out->all + out->cnt) {
		memset(want, 0, sizeof(*want));
		memcpy(want->provider, provider, strlen(provider) + 1);
		out->cnt++;
	}
	want->keywords |= keywords_for(provider, sel->keywords);
	want->level = want->level > level ? want->level : level;
	add_args(out, want, request);
}

static void add_known(struct coreclr_wants *out, const struct request *request)
{
	for (uint32_t i = 0; i < coreclr_providers__limit(); i++) {
		const struct coreclr_provider *p = coreclr_providers__at(i);

		if (p && p->name[0] && coreclr_text__glob(request->sel.provider, p->name))
			add_want(out, p->name, request);
	}
}

static void add_session(struct coreclr_wants *out, const struct tapir_ring_ctl *ctl, uint32_t s)
{
	for (uint32_t i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		struct request request = {.text = ctl->text[s]};

		/* Each look of the control thread comes here: most of them are not used. */
		if (!coreclr_load(&ctl->selections[s][i].used))
			continue;
		copy_shared(&request.sel, &ctl->selections[s][i], sizeof(request.sel));
		request.sel.provider[sizeof(request.sel.provider) - 1] = 0;
		if (!request.sel.used || !request.sel.provider[0])
			continue;
		out->has_glob |= coreclr_text__is_glob(request.sel.provider);
		if (coreclr_text__is_glob(request.sel.provider))
			add_known(out, &request);
		else
			add_want(out, request.sel.provider, &request);
	}
}

void coreclr_wants__collect(struct coreclr_wants *out, const struct tapir_ring_ctl *ctl)
{
	out->cnt = out->session_cnt = out->publishes = out->left_cnt = 0;
	out->has_glob = 0;
	out->text_bytes = 1;
	out->text[0] = 0;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint32_t state = coreclr_load_acquire(&ctl->sessions[s].state);

		out->session_cnt += state == TAPIR_RING_OPENING || state == TAPIR_RING_OPEN;
		if (state != TAPIR_RING_OPEN)
			continue;
		add_session(out, ctl, s);
		if (coreclr_load(&ctl->sessions[s].flags) & TAPIR_RING_WANTS_PROBES)
			out->publishes = 1;
	}
}

int coreclr_wants__are_equal(const struct coreclr_wants *a, const struct coreclr_wants *b)
{
	if (a->cnt != b->cnt)
		return 0;
	for (uint32_t i = 0; i < a->cnt; i++) {
		const struct coreclr_want *x = &a->all[i], *y = &b->all[i];

		if (x->keywords != y->keywords || x->level != y->level ||
		    strcmp(x->provider, y->provider) ||
		    strcmp(a->text + x->args_off, b->text + y->args_off))
			return 0;
	}
	return 1;
}

/* The text's unused rest is never touched. */
void coreclr_wants__copy(struct coreclr_wants *to, const struct coreclr_wants *from)
{
	memcpy(to, from, offsetof(struct coreclr_wants, text) + from->text_bytes);
}
