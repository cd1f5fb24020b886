// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process of a record, and the names from its sources. Of each name the time counts: addresses
 * are used again, so a stack of the past may need a name that has ended.
 */
#include "record/names/code_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "record/names/code_sources.h"
#include "runtime/process_memory.h"
#include "trace/recbuf.h"

#define READ_BYTES    (1u << 20)	      /* of one file per call: some 20 ms */
#define KEEP_NS	      (5 * TAPIR_NS_PER_SEC)  /* after an end: its last samples are named by then */
#define FILE_READ_NS  (120 * TAPIR_NS_PER_MS) /* what a process writes itself is read by then */
#define REPORTERS_MAX 1024
#define INLINED_MAX   65536u /* addresses, of a process */
#define PARENTS_MAX   8	     /* forks of forks that run their ancestor's code */

/* A probe that reports generated code. */
struct reporter {
	bool for_names; /* its events were not requested */
	const struct tapir_runtime_ops *runtime;
	struct tapir_rec_probe *rec;
};

struct tapir_code_names {
	struct tapir_catalog *catalog;
	struct tapir_map processes; /* tgid -> struct tapir_code_sources * */
	struct tapir_map reporter_by_probe;
	struct tapir_vec(struct reporter) reporters;
	struct tapir_runtime_queries *queries;
	struct tapir_recbuf recbuf;
	struct tapir_str name; /* of a method, being put together */
	bool dotnet_reports_methods, has_files;
};

int tapir_code_names__new(struct tapir_catalog *catalog, bool dotnet_reports_methods,
			  struct tapir_code_names **out)
{
	struct tapir_code_names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->catalog = catalog;
	n->dotnet_reports_methods = dotnet_reports_methods;
	err = tapir_runtime_queries__new(&n->queries);
	if (err) {
		free(n);
		return err;
	}
	*out = n;
	return 0;
}

static struct tapir_code_sources *sources_of(const struct tapir_code_names *n, uint32_t tgid)
{
	const uint64_t *value = tapir_map__get(&n->processes, tgid);

	return value ? (struct tapir_code_sources *)(uintptr_t)*value : NULL;
}

static void free_sources(struct tapir_code_sources *s)
{
	if (!s)
		return;
	tapir_code_sources__fini(s);
	free(s);
}

void tapir_code_names__free(struct tapir_code_names *n)
{
	struct reporter *reporter;

	if (!n)
		return;
	for (size_t i = 0; i < n->processes.cap; i++)
		if (n->processes.slots[i].used)
			free_sources((void *)(uintptr_t)n->processes.slots[i].value);
	tapir_map__fini(&n->processes);
	tapir_vec_for_each (reporter, &n->reporters)
		free(reporter->rec);
	tapir_vec__fini(&n->reporters);
	tapir_map__fini(&n->reporter_by_probe);
	tapir_runtime_queries__free(n->queries); /* after the requested ones */
	tapir_recbuf__fini(&n->recbuf);
	tapir_str__fini(&n->name);
	free(n);
}

/* ---- processes -------------------------------------------------------------------------- */

static struct tapir_code_sources *begin_process(struct tapir_code_names *n,
						const struct tapir_rec_process *rec)
{
	struct tapir_code_sources *s = sources_of(n, rec->tgid);
	uint64_t *slot;

	if (!s) {
		s = calloc(1, sizeof(*s));
		slot = s ? tapir_map__put(&n->processes, rec->tgid, NULL) : NULL;
		if (!slot) {
			free(s);
			return NULL;
		}
		*slot = (uint64_t)(uintptr_t)s;
	}
	tapir_code_sources__begin(s, rec);
	s->dotnet_reports_methods = n->dotnet_reports_methods;
	return s;
}

void tapir_code_names__on_process(struct tapir_code_names *n, const struct tapir_rec_process *rec)
{
	struct tapir_code_sources *s;

	if (rec->kind != TAPIR_PROCESS_EXIT) {
		begin_process(n, rec);
		return;
	}
	s = sources_of(n, rec->tgid);
	if (s)
		s->exit_ns = rec->h.time_ns;
}

void tapir_code_names__on_mapping(struct tapir_code_names *n, const struct tapir_rec_mapping *rec,
				  int fd)
{
	struct tapir_code_sources *s = sources_of(n, rec->tgid);

	if (s)
		tapir_code_sources__on_mapping(s, n->queries, rec, fd);
}

/* ---- events that name code -------------------------------------------------------------- */

static const struct tapir_runtime_ops *reporting_runtime(const struct tapir_probe_view *probe)
{
	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->reports_methods && tapir_runtimes[i]->reports_methods(probe))
			return tapir_runtimes[i];
	return NULL;
}

void tapir_code_names__on_probe(struct tapir_code_names *n, const struct tapir_rec_probe *rec)
{
	struct reporter reporter = {.for_names = rec->flags & TAPIR_PROBE_FOR_NAMES};
	struct tapir_probe_view view;
	uint64_t *idx;
	bool is_new;

	tapir_probe_view__of(&rec->h, &view);
	reporter.runtime = reporting_runtime(&view);
	if (!reporter.runtime || n->reporters.cnt == REPORTERS_MAX)
		return;
	idx = tapir_map__put(&n->reporter_by_probe, rec->probe_id, &is_new);
	reporter.rec = idx && is_new ? malloc(rec->h.size) : NULL;
	if (!reporter.rec)
		return;
	memcpy(reporter.rec, rec, rec->h.size);
	*idx = n->reporters.cnt;
	if (!tapir_vec__push(&n->reporters, reporter)) {
		tapir_map__del(&n->reporter_by_probe, rec->probe_id);
		free(reporter.rec);
	}
}

/* Adds a name to the table; its text is in n->name. */
static void add_code_name(const struct tapir_code_names *n, struct tapir_jit_table *table,
			  uint64_t start_va, uint64_t size, uint64_t from_ns)
{
	const struct tapir_jit_name name = {.start_va = start_va,
					    .size = size,
					    .from_ns = from_ns,
					    .name = n->name.data,
					    .name_len = n->name.len,
					    .source = TAPIR_JIT_METHOD_EVENT};

	(void)tapir_jit_table__add(table, &name);
}

static void add_reported(struct tapir_code_names *n, struct tapir_jit_table *table,
			 const struct reporter *reporter, const struct tapir_rec_event *rec)
{
	struct tapir_probe_view probe;
	struct tapir_event_view event;
	struct tapir_code_method method;

	tapir_probe_view__of(&reporter->rec->h, &probe);
	tapir_event_view__of(&rec->h, &event);
	n->name.len = 0;
	if (reporter->runtime->read_method(&probe, &event, &method, &n->name))
		return;
	if (method.has_ended)
		(void)tapir_jit_table__end(table, method.start_va, rec->h.time_ns);
	else
		add_code_name(n, table, method.start_va, method.size, rec->h.time_ns);
}

static void add_method_code(struct tapir_code_names *n, struct tapir_code_sources *s,
			    const struct reporter *reporter, const struct tapir_rec_event *rec)
{
	struct tapir_jit_table *table = tapir_code_sources__table(s);

	tapir_dotnet_names__reports_methods(&s->dotnet, rec->h.time_ns);
	if (table)
		add_reported(n, table, reporter, rec);
}

/* Called for every event: if no probe reports code, no map is searched. */
static const struct reporter *reporter_of(const struct tapir_code_names *n, uint32_t probe_id)
{
	const uint64_t *idx =
		n->reporters.cnt ? tapir_map__get(&n->reporter_by_probe, probe_id) : NULL;

	return idx ? &n->reporters.data[*idx] : NULL;
}

void tapir_code_names__reports_methods(struct tapir_code_names *n, uint32_t tgid, uint64_t time_ns)
{
	struct tapir_code_sources *s = sources_of(n, tgid);

	if (s)
		tapir_dotnet_names__reports_methods(&s->dotnet, time_ns);
}

void tapir_code_names__on_loss(struct tapir_code_names *n, uint32_t probe_id)
{
	struct tapir_code_sources *s;

	if (!reporter_of(n, probe_id))
		return;
	n->dotnet_reports_methods = false;
	for (size_t i = 0; i < n->processes.cap; i++) {
		s = (void *)(uintptr_t)n->processes.slots[i].value;
		if (n->processes.slots[i].used && s)
			s->dotnet.is_doubted = true;
	}
}

bool tapir_code_names__on_event(struct tapir_code_names *n, const struct tapir_rec_event *rec)
{
	const struct reporter *reporter = reporter_of(n, rec->probe_id);
	struct tapir_code_sources *s = reporter ? sources_of(n, rec->tgid) : NULL;

	if (s)
		add_method_code(n, s, reporter, rec);
	return reporter && reporter->for_names;
}

bool tapir_code_names__is_for_names(const struct tapir_code_names *n, uint32_t probe_id)
{
	const struct reporter *reporter = reporter_of(n, probe_id);

	return reporter && reporter->for_names;
}

/* ---- names ------------------------------------------------------------------------------ */

static void warn_when_full(struct tapir_code_sources *s)
{
	if (s->is_full || !s->table || !tapir_jit_table__is_full(s->table))
		return;
	s->is_full = true;
	tapir_warn("process %u: some of its generated code has no names: the limit of %u MB of "
		   "names per process, or %u MB in all, is reached",
		   s->tgid, (unsigned)(TAPIR_JIT_TABLE_MAX_BYTES >> 20),
		   (unsigned)(TAPIR_JIT_ALL_MAX_BYTES >> 20));
}

/* Names that were given out and have ended, and those in their place. */
static int describe_changed(struct tapir_code_names *n, struct tapir_code_sources *s)
{
	struct tapir_jit_name name;
	int err = 0;

	while (err >= 0 && s->table && tapir_jit_table__next_changed(s->table, &name))
		err = tapir_code_names__describe(n, s->tgid, &name);
	return err;
}

static void forget_ended(struct tapir_code_names *n, uint64_t now_ns)
{
	struct tapir_vec(uint32_t) gone = {};
	const uint32_t *tgid;

	for (size_t i = 0; i < n->processes.cap; i++) {
		struct tapir_map_slot *slot = &n->processes.slots[i];
		const struct tapir_code_sources *s = (void *)(uintptr_t)slot->value;

		if (slot->used && s->exit_ns && s->exit_ns + KEEP_NS < now_ns)
			(void)tapir_vec__push(&gone, (uint32_t)slot->key);
	}
	tapir_vec_for_each (tgid, &gone) {
		free_sources(sources_of(n, *tgid));
		tapir_map__del(&n->processes, *tgid);
	}
	tapir_vec__fini(&gone);
}

int tapir_code_names__read(struct tapir_code_names *n, uint64_t now_ns, bool is_last)
{
	bool more = false;
	int err = 0;

	n->has_files = false;
	for (size_t i = 0; err >= 0 && i < n->processes.cap; i++) {
		struct tapir_code_sources *s = (void *)(uintptr_t)n->processes.slots[i].value;

		if (!n->processes.slots[i].used)
			continue;
		more |= tapir_code_sources__read(s, now_ns, is_last, READ_BYTES);
		warn_when_full(s);
		err = describe_changed(n, s);
		n->has_files |= s->perf_map || s->jitdumps.cnt || s->question || s->dotnet.question;
	}
	forget_ended(n, now_ns);
	return err < 0 ? err : more;
}

bool tapir_code_names__has_files(const struct tapir_code_names *n)
{
	return n->has_files;
}

/* The code of an ancestor, as long as nothing else was executed since. */
static const struct tapir_code_sources *parent_of(const struct tapir_code_names *n,
						  const struct tapir_code_sources *s)
{
	return s->inherits ? sources_of(n, s->parent_tgid) : NULL;
}

bool tapir_code_names__find(struct tapir_code_names *n, uint32_t tgid, uint64_t va,
			    uint64_t time_ns, struct tapir_jit_name *out)
{
	const struct tapir_code_sources *s = sources_of(n, tgid);

	for (int i = 0; s && i < PARENTS_MAX; i++, s = parent_of(n, s))
		if (s->table && tapir_jit_table__find(s->table, va, time_ns, out))
			return true;
	return false;
}

bool tapir_code_names__have_pending(const struct tapir_code_names *n, uint32_t tgid)
{
	const struct tapir_code_sources *s = sources_of(n, tgid);

	return s && (s->table || s->question);
}

bool tapir_code_names__poll(const struct tapir_code_names *n, uint32_t tgid, uint64_t time_ns,
			    uint64_t until_ns)
{
	const struct tapir_code_sources *s = sources_of(n, tgid);

	if (!s || s->exit_ns)
		return false;
	return s->question || tapir_dotnet_names__poll(&s->dotnet, until_ns) ||
	       ((s->perf_map || s->jitdumps.cnt) && tapir_clock__now_ns() < time_ns + FILE_READ_NS);
}

/* Compiled code is there; ReadyToRun code, which is not reported, is in files. */
static bool is_code_memory(const struct tapir_rec_mapping *mapping)
{
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&mapping->h, &view);
	return tapir_runtimes__is_code_memory(view.path);
}

bool tapir_code_names__miss(struct tapir_code_names *n, const struct tapir_rec_mapping *mapping,
			    uint64_t va, uint64_t time_ns)
{
	struct tapir_code_sources *s = sources_of(n, mapping->tgid);

	return s && !s->exit_ns &&
	       tapir_dotnet_names__miss(&s->dotnet, va, time_ns, is_code_memory(mapping));
}

/* The alignment of stubs and write barriers; methods have it, too, but have names. */
#define STUB_BYTES 16u

bool tapir_code_names__name_stub(struct tapir_code_names *n,
				 const struct tapir_rec_mapping *mapping, uint64_t va,
				 uint64_t time_ns)
{
	static const char barrier[] = "write barrier [CoreCLR]", stub[] = "stub [CoreCLR]";
	const char *text = mapping->file_off ? stub : barrier;
	struct tapir_code_sources *s = sources_of(n, mapping->tgid);
	struct tapir_jit_name name = {.start_va = va & ~(uint64_t)(STUB_BYTES - 1),
				      .size = STUB_BYTES,
				      .name = text,
				      .name_len = strlen(text),
				      .source = TAPIR_JIT_JITDUMP};

	return s && s->table && is_code_memory(mapping) &&
	       tapir_dotnet_names__are_known(&s->dotnet, time_ns) &&
	       !tapir_jit_table__is_held(s->table, name.start_va, name.size) &&
	       tapir_jit_table__add(s->table, &name) > 0;
}

/* False: the process has ended, or its runtime does not describe its code. */
static bool read_code(struct tapir_code_sources *s)
{
	if (!s->runtime || !s->runtime->code || s->exit_ns)
		return false;
	if (!s->code_is_read)
		s->code_state = s->runtime->code->find(s->tgid, NULL, &s->place);
	s->code_is_read = true;
	return s->code_state;
}

int tapir_code_names__name_inlined(struct tapir_code_names *n, uint32_t tgid, uint64_t va,
				   uint64_t time_ns, bool is_return)
{
	struct tapir_code_sources *s = sources_of(n, tgid);
	const struct tapir_rec_jit *jit = tapir_catalog__jit(n->catalog, tgid, va, time_ns);
	struct tapir_rec_jit fixed = {.tgid = tgid, .start_va = va, .size = 1};
	struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	const struct tapir_rec *rec;
	struct tapir_jit_view view;

	if (!s || !jit || jit->source == TAPIR_JIT_INTERPRETED || s->inlined_cnt >= INLINED_MAX ||
	    !read_code(s) || !s->place.has_inlined)
		return 0;
	tapir_catalog__ask_for_inlined(n->catalog, tgid);
	if (tapir_catalog__inlined(n->catalog, tgid, va, time_ns))
		return 1;
	s->inlined_cnt++;
	tapir_jit_view__of(&jit->h, &view);
	tapir_str__clear(&n->name);
	if (!s->runtime->code->add_inlined(s->code_state, &memory, va, is_return, view.name,
					   &n->name))
		tapir_str__clear(&n->name);
	fixed.source = jit->source;
	fixed.from_ns = jit->from_ns;
	tapir_rec__init(&fixed.h, TAPIR_REC_INLINED, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__inlined(&n->recbuf, &fixed,
				    (struct tapir_sv){n->name.data, n->name.len});
	return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
}

bool tapir_code_names__add_compiled(struct tapir_code_names *n,
				    const struct tapir_rec_mapping *mapping, uint64_t start_va,
				    uint64_t size, struct tapir_sv raw)
{
	struct tapir_code_sources *s = sources_of(n, mapping->tgid);
	struct tapir_jit_table *table = s ? tapir_code_sources__table(s) : NULL;
	const struct tapir_jit_name name = {.start_va = start_va,
					    .size = size,
					    .name = raw.data,
					    .name_len = raw.len,
					    .source = TAPIR_JIT_JITDUMP};

	return table && !tapir_jit_table__is_held(table, start_va, size) &&
	       tapir_jit_table__add(table, &name) > 0;
}

/* ---- records ---------------------------------------------------------------------------- */

int tapir_code_names__describe(struct tapir_code_names *n, uint32_t tgid,
			       const struct tapir_jit_name *name)
{
	struct tapir_rec_jit fixed = {
		.tgid = tgid,
		.source = (uint16_t)name->source,
		.start_va = name->start_va,
		.size = name->size,
		.from_ns = name->from_ns,
		.until_ns = name->until_ns,
	};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_JIT, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__jit(&n->recbuf, &fixed, (struct tapir_sv){name->name, name->name_len});
	return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
}
