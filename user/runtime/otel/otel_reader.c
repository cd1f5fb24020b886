// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A helper that waits for a process is left to it and another is started; after STUCK_MAX of them
 * no process is read any longer, since each is a process that cannot be ended.
 */
#include "runtime/otel/otel_reader.h"

#include <errno.h>

#include "base/clock.h"
#include "decode/otel_resource.h"

#define ANSWER_NS (100 * TAPIR_NS_PER_MS)
#define STUCK_MAX 4

int tapir_otel_reader__read(struct tapir_otel_reader *r, struct tapir_otel_process *p,
			    bool *is_stuck)
{
	int got;

	*is_stuck = false;
	if (r->stuck_cnt >= STUCK_MAX)
		return -EBUSY;
	got = tapir_otel_process__read(p, &r->helper, ANSWER_NS, &r->payload);
	if (got >= 0 || got == -EFAULT || got == -EFBIG || got == -EAGAIN)
		return got;
	/* The helper may be with it for ever: the next process gets another one. */
	tapir_helper__leave(&r->helper);
	*is_stuck = got != -ECANCELED;
	r->stuck_cnt += *is_stuck;
	return got;
}

struct tapir_sv tapir_otel_reader__service(struct tapir_otel_reader *r, uint32_t tgid)
{
	struct tapir_otel_process p = {.tgid = tgid};
	bool is_stuck;

	if (tapir_otel_reader__read(r, &p, &is_stuck) < 1)
		return (struct tapir_sv){};
	return tapir_otel_resource__text((struct tapir_sv){r->payload.data, r->payload.len},
					 "service.name");
}

void tapir_otel_reader__fini(struct tapir_otel_reader *r)
{
	tapir_helper__leave(&r->helper);
	tapir_str__fini(&r->payload);
}
