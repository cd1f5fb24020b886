// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a message of the agent's protocol, either way, and on to the parameters it carries.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "agent/request_params.h"
#include "agent/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static void use(const struct tapir_wire_request *rq)
{
	const char *const texts[] = {rq->path_arg, rq->token, rq->cookie,
				     rq->csrf,	   rq->peer,  rq->body};
	static char again[TAPIR_WIRE_MAX_BYTES];
	struct tapir_request request;
	struct tapir_request_params ask = {};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sink += texts[i] ? strlen(texts[i]) : 0;
	if (tapir_wire__encode(rq, again) < 0)
		abort(); /* what was taken can be sent */
	if (rq->route < TAPIR_ROUTE_CNT &&
	    !tapir_request_params__read(&ask, &tapir_routes[rq->route], rq))
		sink += (size_t)tapir_request_params__request(&ask, &request);
	tapir_request_params__fini(&ask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_wire_request rq;
	struct tapir_wire_reply reply;
	char *copy = aligned_alloc(8, (size + 8) & ~(size_t)7);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	tapir_diag__clear();
	if (!tapir_wire__decode(copy, size, &rq))
		use(&rq);
	if (!tapir_wire__reply(copy, size, &reply))
		sink += reply.head ? strlen(reply.head->location) : reply.len;
	free(copy);
	return 0;
}
