// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a path, a header and a JSON body, configuration or file of tokens. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "agent/request_params.h"
#include "agent/front_checks.h"
#include "agent/serve_config.h"
#include "agent/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_header(char *text)
{
	const struct tapir_words none = {};
	struct tapir_route_match match;
	struct tapir_wire_pair pairs[16];
	char token[64];

	(void)tapir_front__is_host(text, &none);
	(void)tapir_front__is_origin(text, text);
	if (tapir_front__token(text, token, sizeof(token)) && !*token)
		abort();
	if (tapir_front__unescape(text) != strlen(text))
		abort();
	(void)tapir_route__find("GET", text, &match);
	(void)tapir_front__is_local_path(text);
	for (int i = 0, cnt = tapir_front__parse_form(text, pairs, 16); i < cnt; i++)
		if (!*pairs[i].name || !pairs[i].value)
			abort();
}

static void use_json(const char *text, size_t len)
{
	struct tapir_token *tokens = calloc(TAPIR_TOKENS_MAX, sizeof(*tokens));
	struct tapir_serve_config config;
	struct tapir_request_params ask = {};
	size_t cnt;

	tapir_serve_config__init(&config);
	if (tapir_serve_config__parse(&config, text, len, "F") && !tapir_diag__cnt())
		abort(); /* refused without a word */
	tapir_diag__clear();
	(void)tapir_request_params__set_json(&ask, &tapir_routes[TAPIR_ROUTE_PROFILE], text, len);
	if (tokens)
		(void)tapir_tokens__parse(text, len, "F", tokens, &cnt);
	tapir_serve_config__fini(&config);
	tapir_request_params__fini(&ask);
	free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	tapir_diag__clear();
	use_json(text, size);
	use_header(text);
	free(text);
	return 0;
}
