/* SPDX-License-Identifier: MIT */
/*
 * session_env.c - the session that the environment requests (tapir/file_session.h, FROM OUTSIDE).
 * So a program is recorded without a change to it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session_impl.h"

#define SELECTIONS_MAX 32u

static struct tapir_session *session;

static void close_it(void)
{
	tapir_session__close(session);
	session = NULL;
}

/* %p is the process's id. 0: it does not fit. */
static int expand(const char *from, char to[PATH_MAX])
{
	size_t used = 0;

	while (*from && used < PATH_MAX - 16) {
		if (from[0] == '%' && from[1] == 'p') {
			used += (size_t)snprintf(to + used, 16, "%d", (int)getpid());
			from += 2;
		} else {
			to[used++] = *from++;
		}
	}
	to[used] = '\0';
	return !*from && used;
}

/* Parses PROVIDER[:KEYWORDS[:LEVEL]], which ends with a NUL in the place of its comma. */
static struct tapir_selection parse_selection(char *text)
{
	struct tapir_selection s = {.provider = text};
	char *colon = strchr(text, ':');

	if (!colon)
		return s;
	*colon = '\0';
	s.keywords = strtoull(colon + 1, &colon, 0);
	if (*colon == ':')
		s.level = (uint8_t)strtoul(colon + 1, NULL, 0);
	return s;
}

static uint32_t parse_all(char *text, struct tapir_selection all[SELECTIONS_MAX])
{
	uint32_t cnt = 0;
	char *rest;

	for (char *one = strtok_r(text, ",", &rest); one && cnt < SELECTIONS_MAX;
	     one = strtok_r(NULL, ",", &rest))
		all[cnt++] = parse_selection(one);
	return cnt;
}

static void open_it(void)
{
	const char *path = secure_getenv("TAPIR_SESSION_FILE");
	const char *events = secure_getenv("TAPIR_SESSION_EVENTS");
	struct tapir_selection all[SELECTIONS_MAX];
	char expanded[PATH_MAX], *text;
	uint32_t cnt;

	if (!path || !expand(path, expanded))
		return;
	text = strdup(events && *events ? events : "*");
	if (!text)
		return;
	cnt = parse_all(text, all);
	if (!tapir_session__to_file(expanded, all, cnt, NULL, &session))
		atexit(close_it);
	free(text);
}

void tapir_session__from_environment(void)
{
	if (!session && getenv("TAPIR_SESSION_FILE"))
		__atomic_store_n(&provider_on_first, open_it, __ATOMIC_RELEASE);
}

/* Runs in libtapir.so, and in a program that links this file of libtapir.a. */
static __attribute__((constructor)) void read_environment(void)
{
	tapir_session__from_environment();
}
