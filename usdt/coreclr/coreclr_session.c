/* SPDX-License-Identifier: MIT */
/*
 * coreclr_session.c - the one EventPipe session. AddProviderToSession does nothing for providers
 * that exist: a change is a new session, and then the end of the old one. A wrong id stops nothing
 * and is no error: the real one is kept, and put in before the call that may deliver events.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

/* Longer than a thread that wants to run waits for a processor, mostly. */
#define BEFORE_NS 20000000l
#define AFTER_NS  50000000l

static void fill_configs(struct coreclr_session *s, const struct coreclr_wants *wants)
{
	for (uint32_t i = 0; i < wants->cnt; i++) {
		const struct coreclr_want *want = &wants->all[i];
		uint32_t at = want->args_off;

		coreclr_text__widen(s->names[i], CORECLR_NAME_BYTES, want->provider);
		coreclr_text__widen(s->args + at, CORECLR_ARGS_BYTES - at, wants->text + at);
		s->configs[i] = (struct coreclr_provider_config){
			.name = s->names[i],
			.keywords = want->keywords,
			.level = want->level,
			.filter = at ? s->args + at : NULL,
		};
	}
}

static void set_dedup(uint32_t dedup)
{
	__atomic_store_n(&coreclr.dedup, dedup, __ATOMIC_SEQ_CST);
}

static void settle(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	ring_sys3(SYS_nanosleep, &time, 0, 0);
}

void coreclr_session__stop(struct coreclr_session *s)
{
	uint64_t id = s->id;

	s->id = 0;
	if (id && !coreclr_load(&coreclr.is_shut_down))
		coreclr_info__stop_session(coreclr.info, id);
}

int coreclr_session__change(struct coreclr_session *s, const struct coreclr_wants *wants)
{
	uint64_t old = s->id, id = 0;

	if (coreclr_load(&coreclr.is_shut_down))
		return -EIO;
	if (wants->cnt) {
		fill_configs(s, wants);
		if (old) {
			coreclr_store(&coreclr.dedup_window, coreclr.dedup_window + 1);
			set_dedup(DEDUP_MAYBE);
			/* A thread on its way through the callback has not noted its event. */
			settle(BEFORE_NS);
		}
		if (coreclr_info__start_session(coreclr.info, wants->cnt, s->configs, &id) < 0 ||
		    !id) {
			set_dedup(DEDUP_NONE);
			return -EIO;
		}
		if (old)
			set_dedup(DEDUP_BOTH);
	}
	s->id = id;
	coreclr_wants__copy(&s->wants, wants);
	if (old) {
		set_dedup(DEDUP_MAYBE);
		coreclr_info__stop_session(coreclr.info, old);
		/* A thread that has just delivered for the old one may come for the new one yet. */
		settle(AFTER_NS);
		set_dedup(DEDUP_NONE);
	}
	return 0;
}
