/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_state.h - a made-up recording (timeline_feeder.h) and what is found in it; one at a time.
 */
#ifndef TAPIR_TEST_FINDING_STATE_H
#define TAPIR_TEST_FINDING_STATE_H

#include "base/diag.h"
#include "diagnose/diagnosis.h"
#include "timeline_feeder.h"

#define TGID 100

static struct feeder f;
static struct tapir_diagnosis finding;
static struct tapir_findings found;

/* 0 or -1: out of memory. */
static inline int finding_begin(void)
{
	finding = (struct tapir_diagnosis){.has_clock = true};
	found = (struct tapir_findings){};
	if (feeder_init(&f, &(struct tapir_timeline_opts){.wants_stacks = true}))
		return -1;
	finding.tl = f.tl;
	return 0;
}

static inline int finding_listen(void)
{
	return tapir_timeline__listen(f.tl, &tapir_diagnosis_fns, &finding);
}

static inline int finding_teardown(void **state)
{
	(void)state;
	tapir_findings__fini(&found);
	tapir_diagnosis__fini(&finding);
	feeder_fini(&f);
	tapir_diag__clear();
	return 0;
}

/* A thread of it goes to sleep there. */
static inline void finding_sleep(uint32_t tid, uint64_t at_ms, uint64_t stack)
{
	feeder_switch(&f, at_ms * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack});
}

/* A stack of the functions at 0x1000 times these numbers, innermost first. */
#define FINDING_STACK(id, ...)                                                                     \
	finding_stack(id, (const unsigned[]){__VA_ARGS__},                                         \
		      sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static inline void finding_stack(uint64_t id, const unsigned *at, unsigned cnt)
{
	uint64_t frames_va[8];

	for (unsigned i = 0; i < cnt; i++)
		frames_va[i] = 0x1000 * (uint64_t)at[i] + 8;
	feeder_stack(&f, id, frames_va, cnt);
}

#define FINDING_FIELDS 8u

/* An event whose fields are numbers; names: at most FINDING_FIELDS, ended by NULL. */
static inline void finding_probe(uint32_t id, const char *provider, const char *event,
				 const char *const *names)
{
	struct tapir_rec_probe probe = {.probe_id = id};
	struct tapir_field fields[FINDING_FIELDS];
	struct tapir_sv texts[FINDING_FIELDS];
	unsigned cnt = 0;

	for (; names[cnt]; cnt++) {
		fields[cnt] = (struct tapir_field){.type = TAPIR_FIELD_UINT, .size = 8};
		texts[cnt] = feeder_sv(names[cnt]);
	}
	feeder_add(&f, tapir_recbuf__probe(&f.buf, &probe, feeder_sv(provider), feeder_sv(event),
					   feeder_sv("/bin/x"), feeder_sv(""), fields, texts, cnt));
}

static inline void finding_fire_of(uint32_t tgid, uint32_t probe, uint64_t ms, uint64_t stack,
				   const uint64_t *values, uint32_t cnt)
{
	struct tapir_rec_event fixed = {.h = {.time_ns = ms * MS},
					.probe_id = probe,
					.tgid = tgid,
					.tid = tgid == TGID ? 2 : tgid,
					.stack_id = stack};
	struct tapir_event_view view = {.rec = &fixed,
					.payload = (const uint8_t *)values,
					.payload_bytes = cnt * sizeof(*values)};

	feeder_add(&f, tapir_recbuf__event(&f.buf, &view));
}

static inline void finding_fire(uint32_t probe, uint64_t ms, uint64_t stack, const uint64_t *values,
				uint32_t cnt)
{
	finding_fire_of(TGID, probe, ms, stack, values, cnt);
}

/* A generated function, at 0x1000 times its number. */
static inline void name_method(unsigned at, const char *name)
{
	struct tapir_rec_jit jit = {.h.time_ns = 1,
				    .tgid = TGID,
				    .start_va = 0x1000 * (uint64_t)at,
				    .size = 0x1000,
				    .from_ns = 1};

	feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(name)));
}

#endif
