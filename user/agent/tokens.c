// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tokens: their file, their comparison, and the count of wrong ones. Failures of IPv6 are counted
 * by network, since a host may use 2^64 addresses. A token that was there before a reload keeps the
 * key that its open pages carry.
 */
#include "agent/tokens.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/private_file.h"

#define RANDOM_DIGITS 64

struct tapir_tokens {
	char *path; /* NULL: there is no file */
	bool is_single;
	uint64_t file_key; /* of the content that was read; 0: none */
	size_t cnt;
	struct tapir_token *data; /* TAPIR_TOKENS_MAX */
};

int tapir_token__random(char *out, size_t digits)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[RANDOM_DIGITS / 2];

	if (digits > RANDOM_DIGITS || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < digits; i++)
		out[i] = hex[i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
	out[digits] = '\0';
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool parse_utc(const char *text, int64_t *out_s)
{
	struct tm tm = {};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

	if (!end || *end)
		return false;
	*out_s = timegm(&tm);
	return true;
}

static bool is_token_text(const char *text)
{
	size_t len = strlen(text);

	for (const char *p = text; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return len >= TAPIR_TOKEN_MIN_BYTES && len < TAPIR_TOKEN_MAX_BYTES;
}

static int parse_member(struct tapir_token *t, const char *key, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text)
		return tapir_diag__fail(-EINVAL, "'%.64s' is not a text", key);
	if (!strcmp(key, "name")) {
		if (!*text || strlen(text) >= sizeof(t->name))
			return tapir_diag__fail(-EINVAL, "'name' has 1 to %zu characters",
						sizeof(t->name) - 1);
		/*
		 * Names appear in the audit: a token must not look like a client that was known by
		 * its credentials.
		 */
		if (!strcmp(text, "local") || !strncmp(text, "pid ", 4))
			return tapir_diag__fail(
				-EINVAL, "name '%s' is that of clients of a unix socket", text);
		snprintf(t->name, sizeof(t->name), "%s", text);
	} else if (!strcmp(key, "role")) {
		t->role = tapir_role__find(text);
		if (!t->role)
			return tapir_diag__fail(
				-EINVAL, "role '%.64s' is not one of view, profile, admin", text);
	} else if (!strcmp(key, "token")) {
		if (!is_token_text(text))
			return tapir_diag__fail(-EINVAL,
						"'token' has %d to %d visible ASCII characters",
						TAPIR_TOKEN_MIN_BYTES, TAPIR_TOKEN_MAX_BYTES - 1);
		snprintf(t->text, sizeof(t->text), "%s", text);
	} else if (!strcmp(key, "expires")) {
		if (!parse_utc(text, &t->expires_s))
			return tapir_diag__fail(
				-EINVAL, "expires '%.64s' is not like 2027-01-31T00:00:00Z", text);
	} else {
		return tapir_diag__fail(-EINVAL,
					"unknown member '%.64s': known are name, role, "
					"token, expires",
					key);
	}
	return 0;
}

static int parse_token(struct tapir_token *t, json_t *object)
{
	const char *key;
	json_t *value;
	int err = 0;

	if (!json_is_object(object))
		return tapir_diag__fail(-EINVAL, "it is not an object");
	json_object_foreach(object, key, value)
	{
		err = parse_member(t, key, value);
		if (err)
			return err;
	}
	if (!*t->name || !t->role || !*t->text)
		return tapir_diag__fail(-EINVAL, "'name', 'role' and 'token' are required");
	return 0;
}

static int parse_list(json_t *root, const char *path, struct tapir_token *out, size_t *cnt)
{
	json_t *list = json_object_get(root, "tokens");
	size_t size = json_array_size(list);
	int err = 0;

	if (!json_is_array(list) || json_object_size(root) != 1)
		return tapir_diag__fail(-EINVAL,
					"%s: an object with the one member 'tokens', a "
					"list, is expected",
					path);
	if (size > TAPIR_TOKENS_MAX)
		return tapir_diag__fail(-EINVAL, "%s: more than %d tokens", path, TAPIR_TOKENS_MAX);
	for (size_t i = 0; !err && i < size; i++) {
		out[i] = (struct tapir_token){};
		err = parse_token(&out[i], json_array_get(list, i));
		if (err)
			tapir_diag__add("%s: token %zu was refused", path, i + 1);
	}
	if (!err)
		*cnt = size;
	return err;
}

int tapir_tokens__parse(const char *text, size_t len, const char *path, struct tapir_token *out,
			size_t *cnt)
{
	struct tapir_token *fresh = calloc(TAPIR_TOKENS_MAX, sizeof(*fresh));
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	int err = fresh ? 0 : -ENOMEM;

	if (!root)
		err = tapir_diag__fail(-EINVAL, "%s: line %d: %s", path, error.line, error.text);
	if (!err)
		err = parse_list(root, path, fresh, cnt);
	if (!err)
		memcpy(out, fresh, *cnt * sizeof(*fresh));
	json_decref(root);
	if (fresh)
		explicit_bzero(fresh, TAPIR_TOKENS_MAX * sizeof(*fresh));
	free(fresh);
	return err;
}

static int take_single(struct tapir_tokens *t, char *text, size_t len)
{
	while (len && text[len - 1] == '\n')
		text[--len] = '\0';
	if (strlen(text) != len || !is_token_text(text))
		return tapir_diag__fail(
			-EINVAL, "%s does not hold a token: remove it, a new one is made", t->path);
	t->data[0] = (struct tapir_token){.name = "admin", .role = TAPIR_ROLE_ADMIN};
	snprintf(t->data[0].text, sizeof(t->data[0].text), "%s", text);
	t->cnt = 1;
	return 0;
}

/* A token that was there before keeps what its open pages carry. */
static int name_csrf(struct tapir_token *token, const struct tapir_token *old, size_t old_cnt)
{
	for (size_t i = 0; i < old_cnt; i++)
		if (!strcmp(old[i].text, token->text)) {
			memcpy(token->csrf, old[i].csrf, sizeof(token->csrf));
			return 0;
		}
	return tapir_token__random(token->csrf, TAPIR_CSRF_DIGITS);
}

static int replace_tokens(struct tapir_tokens *t, char *text, size_t len)
{
	struct tapir_token *old = malloc(TAPIR_TOKENS_MAX * sizeof(*old));
	size_t old_cnt = t->cnt;
	int err;

	if (!old)
		return -ENOMEM;
	memcpy(old, t->data, TAPIR_TOKENS_MAX * sizeof(*old));
	err = t->is_single ? take_single(t, text, len)
			   : tapir_tokens__parse(text, len, t->path, t->data, &t->cnt);
	for (size_t i = 0; !err && i < t->cnt; i++)
		err = name_csrf(&t->data[i], old, old_cnt);
	explicit_bzero(old, TAPIR_TOKENS_MAX * sizeof(*old));
	free(old);
	return err;
}

static int load_tokens(struct tapir_tokens *t)
{
	tapir_autofree char *text = NULL;
	uint64_t key = 0;
	size_t len = 0;
	int err = tapir_private_file__read(t->path, &text, &len, &key);

	if (err)
		return err;
	err = replace_tokens(t, text, len);
	explicit_bzero(text, len);
	t->file_key = key; /* a wrong file is reported once */
	return err;
}

/* ---- lifecycle ------------------------------------------------------------------------------ */

int tapir_tokens__new(struct tapir_tokens **out)
{
	struct tapir_tokens *t = calloc(1, sizeof(*t));

	if (t)
		t->data = calloc(TAPIR_TOKENS_MAX, sizeof(*t->data));
	if (!t || !t->data) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void tapir_tokens__free(struct tapir_tokens *t)
{
	if (!t)
		return;
	explicit_bzero(t->data, TAPIR_TOKENS_MAX * sizeof(*t->data));
	free(t->data);
	free(t->path);
	free(t);
}

static int open_token_file(const char *path, bool is_single, struct tapir_tokens **out)
{
	struct tapir_tokens *t = NULL;
	int err = tapir_tokens__new(&t);

	if (err)
		return err;
	t->is_single = is_single;
	t->path = strdup(path);
	err = t->path ? load_tokens(t) : -ENOMEM;
	if (err) {
		tapir_tokens__free(t);
		return err;
	}
	*out = t;
	return 0;
}

int tapir_tokens__open(const char *path, struct tapir_tokens **out)
{
	return open_token_file(path, false, out);
}

static int create_single(const char *path)
{
	tapir_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char text[RANDOM_DIGITS + 2];
	int err;

	if (fd < 0)
		return errno == EEXIST ? 0
				       : tapir_diag__fail(-errno, "cannot create %s: %s", path,
							  tapir_errno__text(errno));
	err = tapir_token__random(text, RANDOM_DIGITS);
	text[RANDOM_DIGITS] = '\n';
	if (!err)
		err = tapir_file__write_all(fd, text, RANDOM_DIGITS + 1);
	if (err) {
		unlink(path);
		tapir_diag__add("cannot write %s: %s", path, tapir_errno__text(err));
	}
	explicit_bzero(text, sizeof(text));
	return err;
}

int tapir_tokens__open_single(const char *path, struct tapir_tokens **out)
{
	int err = create_single(path);

	return err ? err : open_token_file(path, true, out);
}

int tapir_tokens__reload(struct tapir_tokens *t)
{
	struct stat st;

	if (!t->path || (!stat(t->path, &st) && tapir_file__key(&st) == t->file_key))
		return 0;
	if (stat(t->path, &st)) {
		if (!t->file_key)
			return 0;
		t->file_key = 0;
		return tapir_diag__fail(-errno, "cannot open %s: %s; its tokens stay valid",
					t->path, tapir_errno__text(errno));
	}
	t->file_key = tapir_file__key(&st);
	return load_tokens(t);
}

/* ---- comparison ----------------------------------------------------------------------------- */

bool tapir_token__is_equal(const char *a, const char *b)
{
	volatile unsigned char difference = 0;
	size_t len = strlen(a);

	if (strlen(b) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

const struct tapir_token *tapir_tokens__find(const struct tapir_tokens *t, const char *text,
					     int64_t now_s)
{
	const struct tapir_token *found = NULL;

	for (size_t i = 0; i < t->cnt; i++)
		if (tapir_token__is_equal(t->data[i].text, text) && !found)
			found = &t->data[i];
	return found && found->expires_s && found->expires_s <= now_s ? NULL : found;
}

/* ---- failures ------------------------------------------------------------------------------- */

/* "2001:db8:1:2:3:4:5:6" -> "2001:db8:1:2::": its network of 64 bits; other texts as they are. */
static void network_of(const char *peer, char *out, size_t size)
{
	struct in6_addr address;

	if (inet_pton(AF_INET6, peer, &address) == 1 && !IN6_IS_ADDR_V4MAPPED(&address)) {
		memset(address.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &address, out, (socklen_t)size);
	} else {
		snprintf(out, size, "%s", peer);
	}
}

unsigned tapir_failures__add(struct tapir_failures *f, const char *peer, int64_t now_s)
{
	char network[sizeof(f->peers[0].peer)];
	size_t at = 0, oldest = 0;

	network_of(peer, network, sizeof(network));
	while (at < TAPIR_FAILURES_PEERS && strcmp(f->peers[at].peer, network) != 0) {
		if (f->peers[at].since_s < f->peers[oldest].since_s)
			oldest = at;
		at++;
	}
	if (at == TAPIR_FAILURES_PEERS) {
		at = oldest;
		f->peers[at].cnt = 0;
		memcpy(f->peers[at].peer, network, sizeof(network));
	}
	if (!f->peers[at].cnt || now_s - f->peers[at].since_s >= TAPIR_FAILURES_SECONDS) {
		f->peers[at].cnt = 0;
		f->peers[at].since_s = now_s;
	}
	if (++f->peers[at].cnt <= TAPIR_FAILURES_MAX)
		return 0;
	return (unsigned)(f->peers[at].since_s + TAPIR_FAILURES_SECONDS - now_s);
}

bool tapir_failures__may_log(struct tapir_failures *f, int64_t now_s, unsigned *unlogged_cnt)
{
	if (!f->line_cnt || now_s - f->lines_since_s >= TAPIR_FAILURES_SECONDS) {
		f->line_cnt = 0;
		f->lines_since_s = now_s;
	}
	if (f->line_cnt == TAPIR_FAILURES_LINES) {
		f->unlogged_cnt++;
		return false;
	}
	f->line_cnt++;
	*unlogged_cnt = f->unlogged_cnt;
	f->unlogged_cnt = 0;
	return true;
}
