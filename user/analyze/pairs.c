// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decides which probes begin and end intervals. A probe is judged once, by its names: the user's
 * pairs come first, then the table of spec/runtime_db, then what the suffixes suggest (begin and
 * end, start and stop): a guess must not override what is known.
 */
#include "analyze/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/str.h"
#include "spec/expression.h"
#include "spec/machine_source.h"

const char *tapir_cause__name(unsigned cause)
{
	static const char *const names[] = {"", "gc", "stop", "jit", "lock", "io"};

	return cause < TAPIR_CAUSE_CNT ? names[cause] : "";
}

/* ---- kinds ------------------------------------------------------------------------------ */

static bool init_texts(struct tapir_interval_kind *kind, const struct tapir_pair *like)
{
	kind->provider = strdup(like->provider);
	kind->name = strdup(like->kind);
	kind->key = like->key ? strdup(like->key) : NULL;
	kind->label = like->label ? strdup(like->label) : NULL;
	return kind->provider && kind->name && !kind->key == !like->key &&
	       !kind->label == !like->label;
}

static void fini_texts(struct tapir_interval_kind *kind)
{
	free(kind->provider);
	free(kind->name);
	free(kind->key);
	free(kind->label);
}

static bool is_request(const char *name)
{
	return !strcmp(name, "request") || !strcmp(name, "server_request");
}

static bool is_statement(const char *name)
{
	return !strcmp(name, "sql");
}

static bool is_call(const char *name)
{
	return !strcmp(name, "http_request") || is_statement(name);
}

/* like: the template of a new one. TAPIR_NO_KIND: too many, or out of memory. */
static uint32_t find_or_add_kind(struct tapir_pairs *pairs, const struct tapir_pair *like,
				 bool is_guessed)
{
	const struct tapir_pair_more *more = is_guessed ? NULL : tapir_lore__pair_more(like);
	struct tapir_interval_kind kind = {
		.scope = like->scope,
		.cause = like->cause,
		.is_guessed = is_guessed,
		.is_request = !is_guessed && is_request(like->kind),
		.is_call = !is_guessed && is_call(like->kind),
		.is_statement = !is_guessed && is_statement(like->kind),
		.is_work = !strcmp(like->provider, TAPIR_LORE_TASK_EVENTS) &&
			   !strcmp(like->kind, "synchronous_work"),
		.is_shared = more && more->is_shared,
		.is_postgresql_lock = more && more->is_postgresql_lock,
		.nesting = more ? more->nesting : TAPIR_NESTS};
	uint64_t key = tapir_hash__bytes(1, like->provider, strlen(like->provider) + 1);
	const struct tapir_interval_kind *known;

	key = tapir_hash__bytes(key, like->kind, strlen(like->kind) + 1);
	known = tapir_keyed__get(&pairs->kinds, key);
	if (known)
		return (uint32_t)(known - pairs->kinds.data);
	/* Kinds are numbers that intervals carry: none is ever removed. */
	if (pairs->kinds.cnt == TAPIR_PAIRS_MAX_KINDS)
		return TAPIR_NO_KIND;
	if (!init_texts(&kind, like) ||
	    !tapir_keyed__add(&pairs->kinds, key, TAPIR_PAIRS_MAX_KINDS, kind)) {
		fini_texts(&kind);
		pairs->failed = true;
		return TAPIR_NO_KIND;
	}
	return (uint32_t)(pairs->kinds.cnt - 1);
}

bool tapir_interval_kind__is_called(const struct tapir_interval_kind *kind, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t provider_len = colon ? (size_t)(colon - text) : 0, name_len;
	const char *name = colon ? colon + 1 : text;
	const struct tapir_pair *p;

	if (!kind->provider || !kind->name)
		return false;
	if (colon &&
	    (strlen(kind->provider) != provider_len || memcmp(kind->provider, text, provider_len)))
		return false;
	name_len = strlen(kind->name);
	if (!strcmp(name, kind->name))
		return true;
	for (size_t i = 0; (p = tapir_lore__pair(i)); i++) {
		if (!strcmp(p->provider, kind->provider) && !strcmp(p->kind, kind->name) &&
		    !strcmp(p->begin, name))
			return true;
	}
	/* "order__start" of "order": a guessed kind's events begin with its name */
	return kind->is_guessed && !strncmp(name, kind->name, name_len);
}

/* ---- what a user names -------------------------------------------------------------------- */

/* Returns the last ':' but for those of '::', which names of functions have (uprobe:FILE:ns::f). */
static const char *last_colon(const char *text, size_t len)
{
	for (size_t i = len; i--;) {
		if (text[i] != ':')
			continue;
		if (!i || text[i - 1] != ':')
			return text + i;
		i--;
	}
	return NULL;
}

/* "PROVIDER:EVENT": the last colon parts them. false: one is empty, or out of memory. */
static bool split_event(const char *text, size_t len, char **provider, char **event)
{
	const char *colon = last_colon(text, len);
	size_t name_at = colon ? (size_t)(colon + 1 - text) : 0;

	if (name_at == len || colon == text)
		return false;
	if (colon)
		*provider = strndup(text, name_at - 1);
	*event = strndup(text + name_at, len - name_at);
	return *event && (!colon || *provider);
}

static void fini_user(struct tapir_user_pair *user)
{
	for (int i = 0; i < 2; i++) {
		free(user->provider[i]);
		free(user->event[i]);
	}
	free(user->key);
	free(user->kind);
}

static bool parse_user(const char *text, struct tapir_user_pair *user)
{
	size_t a = tapir_expression__part_len(text, ','), b;
	const char *rest = text + a + 1;

	if (!text[a] || !split_event(text, a, &user->provider[0], &user->event[0]))
		return false;
	b = tapir_expression__part_len(rest, ',');
	if (!split_event(rest, b, &user->provider[1], &user->event[1]))
		return false;
	if (!rest[b])
		return true;
	rest += b + 1;
	if (strncmp(rest, "key=", 4) || !rest[4] || strchr(rest, ','))
		return false;
	user->key = strdup(rest + 4);
	return user->key;
}

static int add_user_pair(struct tapir_pairs *pairs, struct tapir_user_pair *user)
{
	user->kind = strdup(user->event[0]);
	if (user->kind && tapir_vec__push(&pairs->user, *user))
		return 0;
	fini_user(user);
	return -ENOMEM;
}

int tapir_pairs__name(struct tapir_pairs *pairs, const char *text)
{
	struct tapir_user_pair user = {};

	if (!parse_user(text, &user)) {
		fini_user(&user);
		return -EINVAL;
	}
	return add_user_pair(pairs, &user);
}

int tapir_pairs__name_ends(struct tapir_pairs *pairs, const char *const provider[2],
			   const char *const event[2], const char *key)
{
	struct tapir_user_pair user = {.key = key ? strdup(key) : NULL};
	bool is_complete = !key || user.key;

	for (int i = 0; i < 2; i++) {
		user.provider[i] = strdup(provider[i]);
		user.event[i] = strdup(event[i]);
		is_complete &= user.provider[i] && user.event[i];
	}
	if (is_complete)
		return add_user_pair(pairs, &user);
	fini_user(&user);
	return -ENOMEM;
}

/* ---- judging a probe ---------------------------------------------------------------------- */

struct names {
	char provider[256], event[256];
};

static void copy_name(char *out, size_t size, struct tapir_sv name)
{
	size_t len = name.len < size ? name.len : size - 1;

	memcpy(out, name.data, len);
	out[len] = 0;
}

static void add_role(struct tapir_roles *roles, uint32_t kind, bool is_begin)
{
	/* Two pairs of a user may share an end: it ends one interval. */
	for (uint32_t i = 0; i < roles->cnt; i++)
		if (roles->roles[i].kind == kind && roles->roles[i].is_begin == is_begin &&
		    !roles->roles[i].is_abort)
			return;
	if (kind != TAPIR_NO_KIND && roles->cnt < TAPIR_PAIR_MAX_ROLES)
		roles->roles[roles->cnt++] =
			(struct tapir_role){.kind = kind, .is_begin = is_begin};
}

/* Before any other: what it ends lies inside of what else ends now. */
static void add_abort(struct tapir_roles *roles, uint32_t kind)
{
	if (kind == TAPIR_NO_KIND || roles->cnt == TAPIR_PAIR_MAX_ROLES)
		return;
	memmove(roles->roles + 1, roles->roles, roles->cnt++ * sizeof(*roles->roles));
	roles->roles[0] = (struct tapir_role){.kind = kind, .is_abort = true};
}

/* A name may have the characters of globs: operator[]. */
static bool is_name_or_glob(const char *glob, const char *name)
{
	return !strcmp(glob, name) || tapir_glob__match(glob, name);
}

static bool is_named_by_pair(const struct tapir_user_pair *user, int end, const char *provider,
			     const char *event)
{
	return (!user->provider[end] || is_name_or_glob(user->provider[end], provider)) &&
	       is_name_or_glob(user->event[end], event);
}

static void add_user_roles(struct tapir_pairs *pairs, const struct names *names,
			   struct tapir_roles *roles)
{
	struct tapir_user_pair *user;

	tapir_vec_for_each (user, &pairs->user) {
		struct tapir_pair like = {
			.provider = user->provider[0] ? user->provider[0] : "",
			.kind = user->kind,
			.scope = user->key ? TAPIR_PAIR_KEY : TAPIR_PAIR_THREAD,
			.key = user->key,
		};

		for (int end = 1; end >= 0; end--) {
			if (!is_named_by_pair(user, end, names->provider, names->event))
				continue;
			user->is_seen[end] = true;
			add_role(roles, find_or_add_kind(pairs, &like, false), !end);
		}
	}
}

static bool is_one_of(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (*words) {
		size_t n = strcspn(words, "|");

		if (n == len && !memcmp(words, word, len))
			return true;
		words += n + (words[n] == '|');
	}
	return false;
}

/* The user names the same two events: then they are the user's, or each interval counts twice. */
static bool is_named_by_user(const struct tapir_pairs *pairs, const struct tapir_pair *p)
{
	const struct tapir_user_pair *user;
	char end[128];

	tapir_vec_for_each (user, &pairs->user) {
		if (!is_named_by_pair(user, 0, p->provider, p->begin))
			continue;
		for (const char *at = p->end; *at;) {
			size_t len = strcspn(at, "|");

			copy_name(end, sizeof(end), (struct tapir_sv){at, len});
			if (is_named_by_pair(user, 1, p->provider, end))
				return true;
			at += len + (at[len] == '|');
		}
	}
	return false;
}

static bool is_aborted_by(const struct tapir_pair *p, const char *event)
{
	const struct tapir_pair_more *more = tapir_lore__pair_more(p);

	return more && more->aborted_by && is_one_of(more->aborted_by, event);
}

/* Ends first: an event that ends one interval and begins another does so in this order. */
static void add_known_roles(struct tapir_pairs *pairs, const struct names *names,
			    struct tapir_roles *roles)
{
	const struct tapir_pair *p;

	for (int is_begin = 0; is_begin < 2; is_begin++)
		for (size_t i = 0; (p = tapir_lore__pair(i)); i++) {
			if (strcmp(p->provider, names->provider) || is_named_by_user(pairs, p))
				continue;
			if (is_begin ? !strcmp(p->begin, names->event)
				     : is_one_of(p->end, names->event))
				add_role(roles, find_or_add_kind(pairs, p, false), is_begin);
			else if (!is_begin && is_aborted_by(p, names->event))
				add_abort(roles, find_or_add_kind(pairs, p, false));
		}
}

static bool strip_suffix(const char *event, const char *suffix, struct tapir_str *base)
{
	size_t len = strlen(event), suffix_len = strlen(suffix);

	if (len <= suffix_len || strcmp(event + len - suffix_len, suffix))
		return false;
	tapir_str__add(base, event, len - suffix_len);
	return true;
}

/* An EventSource gives the two events of an activity one id, whatever threads they come from. The
 * runtime's own events carry the id of what they happen in. */
static uint8_t guessed_scope(const struct names *names, const char *suffix)
{
	if (*suffix == '_' || !strncmp(names->provider, "Microsoft-Windows-DotNETRuntime", 31))
		return TAPIR_PAIR_THREAD;
	return TAPIR_PAIR_ACTIVITY;
}

/*
 * Probes that no table describes often have names by which they are pairs: query__start and
 * query__done begin and end an interval "query". The first suffix that fits decides.
 */
static void add_guessed_role(struct tapir_pairs *pairs, const struct tapir_probe_view *probe,
			     const struct names *names, struct tapir_roles *roles)
{
	static const struct {
		const char *suffix;
		bool is_begin;
	} suffixes[] = {{"__start", true},   {"__begin", true}, {"__entry", true},
			{"__enter", true},   {"__done", false}, {"__end", false},
			{"__stop", false},   {"__exit", false}, {"__return", false},
			{"__finish", false}, {"Start", true},	{"Begin", true},
			{"Stop", false},     {"End", false}};
	struct tapir_str base = {};
	/* An event of a flight recording has its length with it, whatever it is called. */
	bool is_complete = probe->rec->lane == TAPIR_LANE_STREAM &&
			   probe->rec->encoding == TAPIR_ENCODING_SLOTS;

	for (size_t i = 0; !is_complete && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (!strip_suffix(names->event, suffixes[i].suffix, &base))
			continue;
		if (base.data) {
			struct tapir_pair like = {.provider = names->provider,
						  .kind = base.data,
						  .scope =
							  guessed_scope(names, suffixes[i].suffix)};

			add_role(roles, find_or_add_kind(pairs, &like, true), suffixes[i].is_begin);
		}
		break;
	}
	tapir_str__fini(&base);
}

/* The two events of ufunc: the call's place on the stack is the key. */
static void add_call_role(struct tapir_pairs *pairs, const struct names *names,
			  struct tapir_roles *roles)
{
	char name[sizeof(names->event)];
	struct tapir_pair like = {.provider = names->provider,
				  .kind = name,
				  .scope = TAPIR_PAIR_KEY,
				  .key = TAPIR_UFUNC_FRAME};
	size_t len = strlen(names->event), end_len = strlen(TAPIR_UFUNC_RETURN);
	bool is_end = len > end_len && !strcmp(names->event + len - end_len, TAPIR_UFUNC_RETURN);

	if (strncmp(names->provider, TAPIR_UFUNC_WORD, strlen(TAPIR_UFUNC_WORD)) != 0)
		return;
	copy_name(name, sizeof(name),
		  (struct tapir_sv){names->event, is_end ? len - end_len : len});
	add_role(roles, find_or_add_kind(pairs, &like, false), !is_end);
}

static struct tapir_roles decide_roles(struct tapir_pairs *pairs,
				       const struct tapir_probe_view *probe)
{
	struct tapir_roles roles = {};
	struct names names;

	copy_name(names.provider, sizeof(names.provider), probe->provider);
	copy_name(names.event, sizeof(names.event), probe->event);
	add_user_roles(pairs, &names, &roles);
	add_known_roles(pairs, &names, &roles);
	add_call_role(pairs, &names, &roles);
	if (!roles.cnt)
		add_guessed_role(pairs, probe, &names, &roles);
	return roles;
}

#define MAX_PROBES (1u << 18)

const struct tapir_roles *tapir_pairs__roles(struct tapir_pairs *pairs,
					     const struct tapir_probe_view *probe)
{
	static const struct tapir_roles none;
	uint64_t *idx = tapir_map__get(&pairs->roles_by_probe, probe->rec->probe_id);
	struct tapir_roles roles;
	bool is_new = false;

	if (idx)
		return *idx ? &pairs->roles.data[*idx - 1] : &none;
	if (pairs->roles_by_probe.cnt == MAX_PROBES)
		return &none;
	idx = tapir_map__put(&pairs->roles_by_probe, probe->rec->probe_id, &is_new);
	if (!idx) {
		pairs->failed = true;
		return &none;
	}
	roles = decide_roles(pairs, probe);
	if (!roles.cnt)
		return &none;
	if (!tapir_vec__push(&pairs->roles, roles)) {
		pairs->failed = true;
		return &none;
	}
	*idx = pairs->roles.cnt;
	return &pairs->roles.data[pairs->roles.cnt - 1];
}

void tapir_pairs__fini(struct tapir_pairs *pairs)
{
	struct tapir_interval_kind *kind;
	struct tapir_user_pair *user;

	tapir_vec_for_each (kind, &pairs->kinds)
		fini_texts(kind);
	tapir_vec_for_each (user, &pairs->user)
		fini_user(user);
	tapir_keyed__fini(&pairs->kinds);
	tapir_vec__fini(&pairs->user);
	tapir_vec__fini(&pairs->roles);
	tapir_map__fini(&pairs->roles_by_probe);
}
