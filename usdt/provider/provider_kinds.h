/* SPDX-License-Identifier: MIT */
/* provider_kinds.h - descriptions of events for consumers inside the process. Under the lock. */
#ifndef TAPIR_PROVIDER_KINDS_H
#define TAPIR_PROVIDER_KINDS_H

#include "provider_impl.h"

#pragma GCC visibility push(hidden)

/* NULL: out of memory. */
const struct tapir_event_kind *provider_kind__of(const struct tapir_provider *p,
						 const struct provider_event *pe);
/* The sum of a session's losses, one row for each kind's idx and the last for those beyond; under
   no lock. provider: of these alone; NULL: of all. */
uint64_t provider_kinds__sum(const uint64_t *rows, uint32_t cnt, const char *provider);
/* No session is open, and nothing is queued. */
void provider_kinds__free(void);

#pragma GCC visibility pop

#endif
