/* SPDX-License-Identifier: MIT */
/*
 * coreclr_wants.c - the union of what open sessions ask for: one entry a provider. A name with *
 * or ? stands for those providers that are known; more may come. The lane's own words sort out
 * afterwards which session gets an event, so the union may be too wide, never too narrow.
 */
#include <string.h>

#include "coreclr_impl.h"

#define LEVEL_VERBOSE	5u
#define ALL_KEYWORDS	UINT64_MAX
/* A session with it begins with a full collection: only who names it gets it. */
#define GC_HEAP_COLLECT 0x800000ull

/* A selection is read once: tracers may write it meanwhile. */
static void copy_selection(struct tapir_ring_selection *out, const struct tapir_ring_selection *sel)
{
	const volatile uint8_t *from = (const volatile uint8_t *)sel;

	for (uint32_t i = 0; i < sizeof(*out); i++)
		((uint8_t *)out)[i] = from[i];
	out->provider[sizeof(out->provider) - 1] = 0;
	out->args[sizeof(out->args) - 1] = 0;
}

static uint64_t keywords_for(const char *provider, uint64_t keywords)
{
	if (keywords && keywords != ALL_KEYWORDS)
		return keywords;
	return strcmp(provider, CORECLR_RUNTIME_NAME) ? ALL_KEYWORDS
						      : ALL_KEYWORDS & ~GC_HEAP_COLLECT;
}

/* Arguments of a second selection follow those of the first, where there is room. */
static void add_args(char *args, const char *more)
{
	size_t len = strlen(args), more_len = strlen(more);

	if (!more_len || !strcmp(args, more) || len + 1 + more_len >= CORECLR_ARGS_BYTES)
		return;
	if (len)
		args[len++] = ';';
	memcpy(args + len, more, more_len + 1);
}

static void add(struct coreclr_wants *out, const char *provider,
		const struct tapir_ring_selection *sel)
{
	uint32_t level = sel->level && sel->level < LEVEL_VERBOSE ? sel->level : LEVEL_VERBOSE;
	struct coreclr_want *want = out->all;

	while (want < out->all + out->cnt && strcmp(want->provider, provider))
		want++;
	if (want == out->all + CORECLR_WANT_MAX)
		return;
	if (want == out->all + out->cnt) {
		memset(want, 0, sizeof(*want));
		memcpy(want->provider, provider, strlen(provider) + 1);
		out->cnt++;
	}
	want->keywords |= keywords_for(provider, sel->keywords);
	want->level = want->level > level ? want->level : level;
	add_args(want->args, sel->args);
}

static void add_known(struct coreclr_wants *out, const struct tapir_ring_selection *sel)
{
	for (uint32_t i = 0; i < coreclr_providers__limit(); i++) {
		const struct coreclr_provider *p = coreclr_providers__at(i);

		if (p && p->name[0] && coreclr_text__glob(sel->provider, p->name))
			add(out, p->name, sel);
	}
}

static void add_session(struct coreclr_wants *out, const struct tapir_ring_session *session)
{
	for (uint32_t i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		struct tapir_ring_selection sel;

		/* Each look of the control thread comes here: most of them are not used. */
		if (!coreclr_load(&session->selections[i].used))
			continue;
		copy_selection(&sel, &session->selections[i]);
		if (!sel.used || !sel.provider[0])
			continue;
		if (coreclr_text__is_glob(sel.provider))
			add_known(out, &sel);
		else
			add(out, sel.provider, &sel);
	}
}

void coreclr_wants__collect(struct coreclr_wants *out, const struct tapir_ring_ctl *ctl)
{
	out->cnt = out->session_cnt = out->publishes = 0;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint32_t state = coreclr_load_acquire(&ctl->sessions[s].state);

		out->session_cnt += state == TAPIR_RING_OPENING || state == TAPIR_RING_OPEN;
		if (state != TAPIR_RING_OPEN)
			continue;
		add_session(out, &ctl->sessions[s]);
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
		    strcmp(x->provider, y->provider) || strcmp(x->args, y->args))
			return 0;
	}
	return 1;
}
