// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/PID/net/{tcp,tcp6,udp,udp6,unix}, a socket a line after the heading. An address is written
 * as numbers of the machine's byte order: 127.0.0.1 is 0100007F.
 */
#include "record/threads/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define LIST_MAX_BYTES (1u << 20)
#define WORDS_MAX      10u
#define PREFIX	       "socket:["

static const char *const names[TAPIR_SOCKETS_CNT] = {"tcp", "tcp6", "udp", "udp6", "unix"};

struct word {
	const char *at;
	size_t len;
};

static unsigned split_words(const char *line, size_t len, struct word words[WORDS_MAX])
{
	unsigned cnt = 0;
	size_t at = 0;

	while (cnt < WORDS_MAX) {
		size_t from;

		while (at < len && line[at] == ' ')
			at++;
		if (at == len)
			break;
		from = at;
		while (at < len && line[at] != ' ')
			at++;
		words[cnt++] = (struct word){line + from, at - from};
	}
	return cnt;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex(const char *text, size_t len, uint32_t *out)
{
	*out = 0;
	for (size_t i = 0; i < len; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint32_t)digit;
	}
	return len > 0;
}

/* "0100007F:1F90": words of an address in the order of memory, each as a number. */
static bool add_address(const struct word *word, unsigned addr_words, struct tapir_str *out)
{
	size_t digits = 8 * addr_words;
	uint32_t addr[4] = {}, port;
	char text[INET6_ADDRSTRLEN];

	if (word->len != digits + 5 || word->at[digits] != ':' ||
	    !read_hex(word->at + digits + 1, 4, &port))
		return false;
	for (unsigned i = 0; i < addr_words; i++)
		if (!read_hex(word->at + 8 * i, 8, &addr[i]))
			return false;
	if (!inet_ntop(addr_words == 4 ? AF_INET6 : AF_INET, addr, text, sizeof(text)))
		return false;
	tapir_str__addf(out, addr_words == 4 ? "[%s]:%u" : "%s:%u", text, port);
	return true;
}

/* local remote; a socket that listens has none. */
static bool add_inet(const struct word *local, unsigned addr_words, struct tapir_str *out)
{
	static const char no_peer[] = "00000000000000000000000000000000";
	const struct word *remote = local + 1;

	tapir_str__addc(out, ' ');
	if (!add_address(local, addr_words, out))
		return false;
	if (remote->len >= 8 * addr_words && !memcmp(remote->at, no_peer, 8 * addr_words))
		return true;
	tapir_str__adds(out, " to ");
	return add_address(remote, addr_words, out);
}

static bool read_inode(const struct word *word, uint64_t *inode)
{
	char text[24];

	if (word->len >= sizeof(text))
		return false;
	memcpy(text, word->at, word->len);
	text[word->len] = '\0';
	return tapir_str__to_u64(text, 1, UINT64_MAX, inode);
}

static void parse_line(struct tapir_sockets *s, enum tapir_socket_list list, const char *line,
		       size_t len)
{
	bool is_unix = list == TAPIR_SOCKETS_UNIX;
	unsigned inode_idx = is_unix ? 6 : 9, addr_words;
	struct tapir_socket socket = {.text_at = (uint32_t)s->texts.len};
	struct word words[WORDS_MAX];
	unsigned cnt = split_words(line, len, words);
	uint64_t inode, *idx;
	bool is_good = true;

	if (cnt <= inode_idx || !read_inode(&words[inode_idx], &inode))
		return;
	addr_words = list == TAPIR_SOCKETS_TCP6 || list == TAPIR_SOCKETS_UDP6 ? 4 : 1;
	tapir_str__adds(&s->texts, names[list]);
	if (!is_unix)
		is_good = add_inet(&words[1], addr_words, &s->texts);
	else if (cnt > 7)
		tapir_str__addf(&s->texts, " %.*s", (int)(line + len - words[7].at), words[7].at);
	socket.text_len = (uint32_t)(s->texts.len - socket.text_at);
	idx = is_good ? tapir_map__put(&s->idx_by_inode, inode, NULL) : NULL;
	if (idx && tapir_vec__push(&s->vec, socket))
		*idx = s->vec.cnt;
}

void tapir_sockets__parse(struct tapir_sockets *s, enum tapir_socket_list list, const char *text,
			  size_t len)
{
	for (size_t at = 0; at < len && s->texts.len < UINT32_MAX / 2;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;

		parse_line(s, list, text + at, line_len);
		at += line_len + 1;
	}
}

static void read_lists(struct tapir_sockets *s, uint32_t tgid)
{
	char *text = malloc(LIST_MAX_BYTES);

	s->are_read = true;
	for (int list = 0; text && list < TAPIR_SOCKETS_CNT; list++) {
		char path[48];
		size_t len = 0;
		ssize_t n = 1;

		snprintf(path, sizeof(path), "/proc/%u/net/%s", tgid, names[list]);
		tapir_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);

		while (fd >= 0 && n > 0 && len < LIST_MAX_BYTES) {
			n = read(fd, text + len, LIST_MAX_BYTES - len);
			len += n > 0 ? (size_t)n : 0;
		}
		tapir_sockets__parse(s, list, text, len);
	}
	free(text);
}

void tapir_sockets__explain(struct tapir_sockets *s, uint32_t tgid, const char *text,
			    struct tapir_str *out)
{
	const char *found;

	while ((found = strstr(text, PREFIX))) {
		const char *number = found + strlen(PREFIX);
		const uint64_t *idx;
		char *end;
		uint64_t inode = strtoull(number, &end, 10);

		if (!s->are_read)
			read_lists(s, tgid);
		idx = *end == ']' ? tapir_map__get(&s->idx_by_inode, inode) : NULL;
		if (idx && *idx && !s->texts.failed) {
			const struct tapir_socket *socket = &s->vec.data[*idx - 1];

			tapir_str__add(out, text, (size_t)(found - text));
			tapir_str__add(out, s->texts.data + socket->text_at, socket->text_len);
			text = end + 1;
		} else {
			tapir_str__add(out, text, (size_t)(number - text));
			text = number;
		}
	}
	tapir_str__adds(out, text);
}

void tapir_sockets__fini(struct tapir_sockets *s)
{
	tapir_map__fini(&s->idx_by_inode);
	tapir_vec__fini(&s->vec);
	tapir_str__fini(&s->texts);
}
