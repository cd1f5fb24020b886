// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration file: a table of keys, each with its type. None is a secret, which belongs into
 * a file that a key names, because GET /v1/config shows all of them. jansson keeps no positions, so
 * the line of an error is where the key first stands.
 */
#include "agent/serve_config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <jansson.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "symbol/symbol_files.h"

#define MAX_FILE_BYTES (1u << 20)

enum key_kind { KEY_TEXTS, KEY_TEXT, KEY_ROLE, KEY_U64, KEY_OBJECT, KEY_URL, KEY_KIND, KEY_PUSH };

/* None is a secret, which belongs into a file that a key names: GET /v1/config has them all. */
struct key {
	const char *name; /* NULL ends a table */
	enum key_kind kind;
	size_t offset;
	uint64_t min, max;
	const struct key *members; /* of OBJECT */
};

#define AT(member) offsetof(struct tapir_serve_config, member)

static const struct key limit_keys[] = {
	{"sessions", KEY_U64, AT(limits.sessions), 1, 64, NULL},
	{"seconds", KEY_U64, AT(limits.seconds), 1, 86400, NULL},
	{"cpu_seconds", KEY_U64, AT(limits.cpu_seconds), 1, 86400, NULL},
	{"trace_mb", KEY_U64, AT(limits.trace_mb), 1, 1 << 20, NULL},
	{"state_mb", KEY_U64, AT(limits.state_mb), 1, 1 << 20, NULL},
	{"traces", KEY_U64, AT(limits.traces), 1, 1000, NULL},
	{"connections", KEY_U64, AT(limits.connections), 4, 4096, NULL},
	{"ready_seconds", KEY_U64, AT(limits.ready_s), 0, 86400, NULL},
	{}};

static const struct key watch_keys[] = {
	{"comms", KEY_TEXTS, AT(watch.comms), 0, 0, NULL},
	{"counters", KEY_TEXTS, AT(watch.counters), 0, 0, NULL},
	{"interval_ms", KEY_U64, AT(watch.interval_ms), 100, 3600000, NULL},
	{}};

static const struct key continuous_keys[] = {
	{"mb", KEY_U64, AT(continuous.mb), 8, 65536, NULL},
	{"comms", KEY_TEXTS, AT(continuous.comms), 0, 0, NULL},
	{"events", KEY_TEXTS, AT(continuous.events), 0, 0, NULL},
	{"profiles", KEY_TEXTS, AT(continuous.profiles), 0, 0, NULL},
	{"counters", KEY_TEXTS, AT(continuous.counters), 0, 0, NULL},
	{"triggers", KEY_TEXTS, AT(continuous.triggers), 0, 0, NULL},
	{"frequency", KEY_U64, AT(continuous.frequency), 1, 10000, NULL},
	{"sched", KEY_U64, AT(continuous.sched), 0, 1, NULL},
	{"window_s", KEY_U64, AT(continuous.window), 1, 3600, NULL},
	{"cooldown_s", KEY_U64, AT(continuous.cooldown), 0, 86400, NULL},
	/* The former name of cooldown_s, for one version. */
	{"distance_s", KEY_U64, AT(continuous.cooldown), 0, 86400, NULL},
	{"max_files", KEY_U64, AT(continuous.max_files), 1, 1000, NULL},
	{"segments", KEY_TEXT, AT(continuous.segments), 0, 0, NULL},
	{}};

static const struct key tls_keys[] = {{"certificate", KEY_TEXT, AT(tls_certificate), 0, 0, NULL},
				      {"key", KEY_TEXT, AT(tls_key), 0, 0, NULL},
				      {"client_ca", KEY_TEXT, AT(tls_client_ca), 0, 0, NULL},
				      {}};

/* The offset of a member of struct tapir_push_target. */
#define OF(member) offsetof(struct tapir_push_target, member)

static const struct key push_keys[] = {{"kind", KEY_KIND, OF(kind), 0, 0, NULL},
				       {"url", KEY_URL, OF(url), 0, 0, NULL},
				       {"headers_file", KEY_TEXT, OF(headers_file), 0, 0, NULL},
				       {"ca_file", KEY_TEXT, OF(ca_file), 0, 0, NULL},
				       {"name", KEY_TEXT, OF(name), 0, 0, NULL},
				       {"every_s", KEY_U64, OF(every), 1, 3600, NULL},
				       {"timeout_s", KEY_U64, OF(timeout), 1, 3600, NULL},
				       {}};

static const struct key keys[] = {{"listen", KEY_TEXTS, AT(listen), 0, 0, NULL},
				  {"hosts", KEY_TEXTS, AT(hosts), 0, 0, NULL},
				  {"state", KEY_TEXT, AT(state), 0, 0, NULL},
				  {"tokens_file", KEY_TEXT, AT(tokens_file), 0, 0, NULL},
				  {"tls", KEY_OBJECT, 0, 0, 0, tls_keys},
				  {"anonymous", KEY_ROLE, AT(anonymous), 0, 0, NULL},
				  {"limits", KEY_OBJECT, 0, 0, 0, limit_keys},
				  {"watch", KEY_OBJECT, 0, 0, 0, watch_keys},
				  {"continuous", KEY_OBJECT, 0, 0, 0, continuous_keys},
				  {"push", KEY_PUSH, AT(push), 0, 0, push_keys},
				  {"symbols", KEY_TEXTS, AT(symbols), 0, 0, NULL},
				  {}};

void tapir_serve_config__init(struct tapir_serve_config *config)
{
	*config = (struct tapir_serve_config){
		.continuous = {.window = 30, .cooldown = 60, .max_files = 10},
		.limits = {.sessions = 4,
			   .seconds = 600,
			   .trace_mb = 256,
			   .cpu_seconds = 600,
			   .state_mb = 2048,
			   .traces = 50,
			   .connections = 256,
			   .ready_s = TAPIR_SERVE_READY_AUTO}};
}

void tapir_serve_config__fini(struct tapir_serve_config *config)
{
	char **text;

	tapir_vec_for_each (text, &config->texts)
		free(*text);
	tapir_vec__fini(&config->texts);
	tapir_vec__fini(&config->listen);
	tapir_vec__fini(&config->hosts);
	tapir_vec__fini(&config->watch.comms);
	tapir_vec__fini(&config->watch.counters);
	tapir_vec__fini(&config->continuous.comms);
	tapir_vec__fini(&config->continuous.events);
	tapir_vec__fini(&config->continuous.profiles);
	tapir_vec__fini(&config->continuous.counters);
	tapir_vec__fini(&config->continuous.triggers);
	tapir_vec__fini(&config->push);
	tapir_vec__fini(&config->symbols);
}

static int keep_setting(struct tapir_serve_config *config, const char *text, const char **out)
{
	char *copy = strdup(text);

	if (!copy || !tapir_vec__push(&config->texts, copy)) {
		free(copy);
		return -ENOMEM;
	}
	*out = copy;
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

struct source {
	const char *path, *text;
	size_t len;
};

/* jansson keeps no positions: the line where the key first stands, quoted, before a colon. */
static unsigned line_of(const struct source *s, const char *key)
{
	size_t key_len = strlen(key);
	unsigned line = 1;

	for (size_t i = 0; i + key_len + 2 <= s->len; i++) {
		size_t end = i + key_len + 2;

		line += s->text[i] == '\n';
		if (s->text[i] != '"' || memcmp(s->text + i + 1, key, key_len) != 0 ||
		    s->text[end - 1] != '"')
			continue;
		while (end < s->len && strchr(" \t\r\n", s->text[end]))
			end++;
		if (end < s->len && s->text[end] == ':')
			return line;
	}
	return 1;
}

static int fail_config_key(const struct source *s, const char *key, const char *expected)
{
	return tapir_diag__fail(-EINVAL, "%s: line %u: '%.64s' is %s", s->path, line_of(s, key),
				key, expected);
}

static int set_texts(struct tapir_serve_config *config, const struct source *s,
		     const struct key *key, const json_t *value)
{
	struct tapir_words *words = (void *)((char *)config + key->offset);
	const char *text;
	int err = 0;

	if (!json_is_array(value))
		return fail_config_key(s, key->name, "a list of texts");
	for (size_t i = 0; !err && i < json_array_size(value); i++) {
		text = json_string_value(json_array_get(value, i));
		if (!text || !*text)
			return fail_config_key(s, key->name, "a list of texts");
		err = keep_setting(config, text, &text);
		if (!err && !tapir_vec__push(words, text))
			err = -ENOMEM;
	}
	return err;
}

static int set_role(struct tapir_serve_config *config, const struct source *s,
		    const struct key *key, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || (strcmp(text, "view") != 0 && strcmp(text, "none") != 0))
		return fail_config_key(s, key->name, "\"view\" or \"none\"");
	config->anonymous = tapir_role__find(text);
	return 0;
}

static int set_u64(uint64_t *at, const struct source *s, const struct key *key, const json_t *value)
{
	json_int_t number = json_integer_value(value);
	char expected[80];

	snprintf(expected, sizeof(expected), "a number from %llu to %llu",
		 (unsigned long long)key->min, (unsigned long long)key->max);
	if (!json_is_integer(value) || number < (json_int_t)key->min ||
	    number > (json_int_t)key->max)
		return fail_config_key(s, key->name, expected);
	*at = (uint64_t)number;
	return 0;
}

static int set_url(struct tapir_serve_config *config, const struct source *s, const struct key *key,
		   const char *text, const char **at)
{
	const char *wrong = text ? tapir_push__check_url(text) : "an http:// or https:// address";

	return wrong ? fail_config_key(s, key->name, wrong) : keep_setting(config, text, at);
}

static int set_kind(const struct source *s, const struct key *key, const char *text,
		    enum tapir_push_kind *at)
{
	for (unsigned i = 0; text && tapir_push_kind__name(i); i++) {
		*at = i;
		if (!strcmp(text, tapir_push_kind__name(i)))
			return 0;
	}
	return fail_config_key(
		s, key->name,
		"\"pprof\", \"parca\", \"otlp-profiles\", \"otlp-metrics\" or \"put\"");
}

/* base: what the keys' offsets are of. */
static int set_members(struct tapir_serve_config *config, void *base, const struct source *s,
		       const struct key *known, json_t *object);

#define EVERY_S	      60
#define TIMEOUT_S     30
#define PUT_TIMEOUT_S 300 /* of recordings, which are large */

static int set_push(struct tapir_serve_config *config, const struct source *s,
		    const struct key *key, json_t *value)
{
	int err = 0;

	if (!json_is_array(value) || json_array_size(value) > TAPIR_PUSH_MAX_TARGETS)
		return fail_config_key(s, key->name, "a list of at most 16 objects");
	for (size_t i = 0; !err && i < json_array_size(value); i++) {
		struct tapir_push_target target = {.kind = TAPIR_PUSH_KIND_CNT, .every = EVERY_S};
		json_t *object = json_array_get(value, i);

		if (!json_is_object(object))
			return fail_config_key(s, key->name, "a list of at most 16 objects");
		err = set_members(config, &target, s, key->members, object);
		if (!err && (target.kind == TAPIR_PUSH_KIND_CNT || !target.url))
			err = fail_config_key(s, key->name, "objects with 'kind' and 'url'");
		if (!target.timeout)
			target.timeout = target.kind == TAPIR_PUSH_PUT ? PUT_TIMEOUT_S : TIMEOUT_S;
		if (!err && !tapir_vec__push(&config->push, target))
			err = -ENOMEM;
	}
	return err;
}

static int set_value(struct tapir_serve_config *config, void *base, const struct source *s,
		     const struct key *key, json_t *value)
{
	const char *text = json_string_value(value);
	void *at = (char *)base + key->offset;

	switch (key->kind) {
	case KEY_TEXTS:
		return set_texts(config, s, key, value);
	case KEY_TEXT:
		if (!text || !*text)
			return fail_config_key(s, key->name, "a text");
		return keep_setting(config, text, at);
	case KEY_ROLE:
		return set_role(config, s, key, value);
	case KEY_U64:
		return set_u64(at, s, key, value);
	case KEY_OBJECT:
		if (!json_is_object(value))
			return fail_config_key(s, key->name, "an object");
		/*
		 * Offsets of an object's members are from the start of the configuration, as those
		 * outside of it.
		 */
		return set_members(config, config, s, key->members, value);
	case KEY_URL:
		return set_url(config, s, key, text, at);
	case KEY_KIND:
		return set_kind(s, key, text, at);
	case KEY_PUSH:
		return set_push(config, s, key, value);
	}
	return -EINVAL;
}

static int unknown(const struct source *s, const struct key *known, const char *name)
{
	struct tapir_str names = {};

	for (const struct key *k = known; k->name; k++)
		tapir_str__addf(&names, "%s%s", names.len ? ", " : "", k->name);
	tapir_diag__add("%s: line %u: unknown key '%.64s': known are %s", s->path, line_of(s, name),
			name, names.data ? names.data : "");
	tapir_str__fini(&names);
	return -EINVAL;
}

static int set_members(struct tapir_serve_config *config, void *base, const struct source *s,
		       const struct key *known, json_t *object)
{
	const struct key *key;
	const char *name;
	json_t *value;
	int err = 0;

	json_object_foreach(object, name, value)
	{
		for (key = known; key->name && strcmp(key->name, name) != 0; key++)
			;
		err = key->name ? set_value(config, base, s, key, value) : unknown(s, known, name);
		if (err)
			break;
	}
	return err;
}

int tapir_serve_config__parse(struct tapir_serve_config *config, const char *text, size_t len,
			      const char *path)
{
	const struct source s = {path, text, len};
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	int err;

	if (!root)
		return tapir_diag__fail(-EINVAL, "%s: line %d: %s", path, error.line, error.text);
	err = json_is_object(root)
		      ? set_members(config, config, &s, keys, root)
		      : tapir_diag__fail(-EINVAL, "%s: line 1: an object is expected", path);
	if (!err && (!config->tls_certificate != !config->tls_key ||
		     (config->tls_client_ca && !config->tls_key)))
		err = fail_config_key(&s, "tls", "'certificate' and 'key', both");
	json_decref(root);
	return err;
}

int tapir_serve_config__read(struct tapir_serve_config *config, const char *path)
{
	tapir_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	tapir_autofree char *text = NULL;
	struct stat st;
	size_t len;
	int err;

	if (fd < 0 || fstat(fd, &st))
		return tapir_diag__fail(-errno, "cannot open %s: %s", path,
					tapir_errno__text(errno));
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022))
		return tapir_diag__fail(-EPERM,
					"cannot use %s: it must belong to root or this user, and "
					"others must not be able to write it",
					path);
	err = tapir_file__read_fd(fd, MAX_FILE_BYTES, &text, &len);
	if (err)
		return tapir_diag__fail(err, "cannot read %s: %s", path, tapir_errno__text(err));
	return tapir_serve_config__parse(config, text, len, path);
}

/* Each entry is the absolute path of a directory or the address of a server. */
static int check_symbols(const struct tapir_serve_config *config)
{
	const char *const *source;

	if (config->symbols.cnt > TAPIR_SERVE_MAX_SYMBOLS)
		return tapir_diag__fail(-EINVAL, "symbols: at most %d places are taken",
					TAPIR_SERVE_MAX_SYMBOLS);
	tapir_vec_for_each (source, &config->symbols)
		if (**source != '/' && !tapir_symbol_source__is_url(*source))
			return tapir_diag__fail(-EINVAL,
						"symbols: '%.200s' is no absolute path and no "
						"http:// or https:// address",
						*source);
	return 0;
}

int tapir_serve_config__check(const struct tapir_serve_config *config)
{
	const struct tapir_serve_limits *l = &config->limits;
	const struct tapir_serve_continuous *c = &config->continuous;

	if (l->sessions * l->trace_mb > l->state_mb)
		return tapir_diag__fail(-EINVAL,
					"limits: %" PRIu64 " recordings ('sessions') of %" PRIu64
					" MB ('trace_mb') do not fit into %" PRIu64
					" MB ('state_mb')",
					l->sessions, l->trace_mb, l->state_mb);
	if (l->sessions > l->traces)
		return tapir_diag__fail(-EINVAL,
					"limits: %" PRIu64 " recordings ('sessions') are more than "
					"%" PRIu64 " traces that are kept ('traces')",
					l->sessions, l->traces);
	if (c->mb && l->sessions + c->max_files > l->traces)
		return tapir_diag__fail(-EINVAL,
					"limits: %" PRIu64 " recordings ('sessions') and %" PRIu64
					" files of 'continuous' ('max_files') are more than "
					"%" PRIu64 " traces that are kept ('traces')",
					l->sessions, c->max_files, l->traces);
	return check_symbols(config);
}

/* ---- what it is ------------------------------------------------------------------------------ */

static void write_texts(struct tapir_json *j, const char *key, const struct tapir_words *words)
{
	const char *const *text;

	tapir_json__open(j, key, '[');
	tapir_vec_for_each (text, words)
		tapir_json__str(j, NULL, *text);
	tapir_json__close(j, ']');
}

/* A query may be a signature, with which any holder can write there. */
static void write_url(struct tapir_json *j, const char *key, const char *url)
{
	size_t len = strcspn(url, "?");
	struct tapir_str text = {};

	tapir_str__addf(&text, "%.*s%s", (int)len, url, url[len] ? "?..." : "");
	tapir_json__str(j, key, text.data);
	tapir_str__fini(&text);
}

/* base: what the keys' offsets are of. */
static void write_members(const void *base, const struct key *members, struct tapir_json *j);

static void write_push(const struct tapir_serve_config *config, const struct key *k,
		       struct tapir_json *j)
{
	const struct tapir_push_target *target;

	tapir_json__open(j, k->name, '[');
	tapir_vec_for_each (target, &config->push) {
		tapir_json__open(j, NULL, '{');
		write_members(target, k->members, j);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void write_value(const void *base, const struct key *k, struct tapir_json *j)
{
	const void *at = (const char *)base + k->offset;

	switch (k->kind) {
	case KEY_TEXTS:
		write_texts(j, k->name, at);
		break;
	case KEY_TEXT:
		tapir_json__str(j, k->name, *(const char *const *)at);
		break;
	/* Clients without a token have one of two roles: set_role accepts no other. */
	case KEY_ROLE:
		tapir_json__str(j, k->name, *(const enum tapir_client_role *)at ? "view" : "none");
		break;
	case KEY_U64:
		tapir_json__u64(j, k->name, *(const uint64_t *)at);
		break;
	case KEY_OBJECT:
		tapir_json__open(j, k->name, '{');
		write_members(base, k->members, j);
		tapir_json__close(j, '}');
		break;
	case KEY_URL:
		write_url(j, k->name, *(const char *const *)at);
		break;
	case KEY_KIND:
		tapir_json__str(j, k->name,
				tapir_push_kind__name(*(const enum tapir_push_kind *)at));
		break;
	case KEY_PUSH:
		write_push(base, k, j);
		break;
	}
}

static void write_members(const void *base, const struct key *members, struct tapir_json *j)
{
	for (const struct key *k = members; k->name; k++)
		write_value(base, k, j);
}

void tapir_serve_config__write(const struct tapir_serve_config *config, struct tapir_json *j)
{
	write_members(config, keys, j);
}

int tapir_serve_config__default_state(struct tapir_serve_config *config)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[4096];

	if (!geteuid())
		return keep_setting(config, "/var/lib/tapir", &config->state);
	if (base && *base == '/')
		snprintf(path, sizeof(path), "%s/tapir", base);
	else if (home && *home == '/')
		snprintf(path, sizeof(path), "%s/.local/state/tapir", home);
	else
		return tapir_diag__fail(-EINVAL,
					"no directory for the agent's state: set HOME, or use "
					"--state DIR");
	return keep_setting(config, path, &config->state);
}
