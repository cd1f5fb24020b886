// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The methods that were compiled while the program ran: how long that took, by which thread, how
 * large they are; without events about the duration (.NET's default), which methods appeared:
 * generated code has one name with ever other digits, "Regex17_Scan", and is one row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/keyed.h"
#include "base/order.h"
#include "analyze/app_code.h"
#include "analyze/view.h"
#include "decode/dotnet_tables.h"
#include "symbol/dotnet_name.h"

#define MAX_METHODS	  65536u
#define MAX_THREADS	  4096u
#define MAX_NAME_BYTES	  512
#define METHOD_IS_DYNAMIC 1u /* of MethodFlags */
#define TELLING_PERCENT	  10 /* a name with less of the methods is not what they are */

/* The runtime makes them to describe its EventSources to a session that records them. */
#define OF_RECORDING	  "InvokeStub_EventAttribute."

struct method {
	uint64_t took_ns, cpu_ns, at_ns, size;
	uint32_t tid;
	char thread[TAPIR_COMM_TEXT_BYTES];
	char *label;
};

struct compiler {
	char thread[TAPIR_COMM_TEXT_BYTES];
	uint32_t tid;
	uint64_t cnt, took_ns, cpu_ns;
};

/* Methods whose names differ in digits only. */
struct group {
	char *name; /* of the first one; once there are more, with '#' for digits */
	bool is_dynamic, is_mixed;
	uint64_t cnt, bytes;
	uint32_t asker; /* name of the function that most of them are for, by their votes */
	uint64_t votes;
};

struct jit {
	struct tapir_view_args args;
	uint64_t cnt, took_ns, cpu_ns, half, loaded_cnt, loaded_bytes;
	uint64_t dynamic_cnt, own_cnt;		 /* own: for the recording's sake */
	struct tapir_keyed(struct group) groups; /* by name */
	struct tapir_app_code app_code;
	struct tapir_vec(struct method) slowest;     /* sorted, the slowest first */
	struct tapir_keyed(struct compiler) threads; /* by tid */
	struct tapir_histogram took;
};

static void jit_begin(void *ctx)
{
	struct jit *v = ctx;

	v->args.top = v->args.top < MAX_METHODS ? v->args.top : MAX_METHODS;
}

static void jit_fini(void *ctx)
{
	struct jit *v = ctx;
	struct method *m;
	struct group *g;

	tapir_vec_for_each (m, &v->slowest)
		free(m->label);
	tapir_vec_for_each (g, &v->groups)
		free(g->name);
	tapir_keyed__fini(&v->groups);
	tapir_app_code__fini(&v->app_code);
	tapir_vec__fini(&v->slowest);
	tapir_keyed__fini(&v->threads);
}

static void count_thread(struct jit *v, const struct method *m)
{
	struct compiler *c = tapir_keyed__add(&v->threads, m->tid, MAX_THREADS,
					      ((struct compiler){.tid = m->tid}));

	if (!c)
		return;
	if (!c->cnt++)
		memcpy(c->thread, m->thread, sizeof(c->thread));
	c->took_ns += m->took_ns;
	c->cpu_ns += m->cpu_ns;
}

/* One more among the slowest, which are sorted. */
static void keep_slowest(struct jit *v, struct method *m, struct tapir_interval *i)
{
	size_t at = v->slowest.cnt;

	while (at && v->slowest.data[at - 1].took_ns < m->took_ns)
		at--;
	if (at >= v->args.top)
		return;
	if (!tapir_vec__add(&v->slowest)) {
		v->args.failed = true;
		return;
	}
	memmove(&v->slowest.data[at + 1], &v->slowest.data[at],
		(v->slowest.cnt - 1 - at) * sizeof(*m));
	m->label = i->label;
	i->label = NULL;
	v->slowest.data[at] = *m;
	if (v->slowest.cnt > v->args.top)
		free(v->slowest.data[--v->slowest.cnt].label);
}

static void jit_on_close(void *ctx, struct tapir_interval *i)
{
	struct jit *v = ctx;
	struct method m = {.took_ns = i->until_ns - i->from_ns, .at_ns = i->from_ns, .tid = i->tid};

	if (i->cause != TAPIR_CAUSE_JIT)
		return;
	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)) {
		v->half++;
		return;
	}
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		m.cpu_ns += i->parts.ns[c][TAPIR_THREAD_RUNNING];
	tapir_comm__copy(m.thread, tapir_timeline__comm(v->args.tl, i->tid, i->from_ns));
	v->cnt++;
	v->took_ns += m.took_ns;
	v->cpu_ns += m.cpu_ns;
	tapir_histogram__add(&v->took, m.took_ns);
	count_thread(v, &m);
	keep_slowest(v, &m, i);
}

/* ---- methods by their names ------------------------------------------------------------------ */

/* "Regex17_Scan" -> "Regex#_Scan" */
static void mask_digits(const char *name, struct tapir_str *out)
{
	for (; *name; name++) {
		bool is_digit = *name >= '0' && *name <= '9';

		if (!is_digit)
			tapir_str__addc(out, *name);
		else if (!out->len || out->data[out->len - 1] != '#')
			tapir_str__addc(out, '#');
	}
}

static struct group *group_of(struct jit *v, const struct tapir_str *name,
			      const struct tapir_str *masked, bool is_dynamic)
{
	uint64_t key = tapir_hash__bytes(is_dynamic, masked->data, masked->len);
	struct group *group = tapir_keyed__get(&v->groups, key);
	struct group made = {.is_dynamic = is_dynamic};

	if (group)
		return group;
	made.name = strdup(name->data);
	v->args.failed |= !made.name;
	group = made.name ? tapir_keyed__add(&v->groups, key, MAX_METHODS, made) : NULL;
	if (!group)
		free(made.name);
	return group;
}

/* The majority's name stays (Boyer and Moore). */
static void vote(struct group *group, uint32_t asker)
{
	if (asker == TAPIR_APP_CODE_NONE)
		return;
	if (!group->votes)
		group->asker = asker;
	if (group->asker == asker)
		group->votes++;
	else
		group->votes--;
}

/*
 * Adds the method's name as it is in stacks: from "instance void (int32)" and the parts of its
 * name.
 */
static void add_method_name(const struct tapir_event_fields *f, struct tapir_str *out)
{
	struct tapir_str signature = {}, raw = {};
	const char *params;
	struct tapir_sv tier;

	tapir_event_fields__add_text(f, "MethodSignature", MAX_NAME_BYTES, &signature);
	params = signature.data ? strchr(signature.data, '(') : NULL;
	if (params) {
		tapir_str__add(&raw, signature.data, (size_t)(params - signature.data));
		tapir_str__adds(&raw, "[m] ");
		tapir_event_fields__add_text(f, "MethodNamespace", MAX_NAME_BYTES, &raw);
		tapir_str__adds(&raw, "::");
		tapir_event_fields__add_text(f, "MethodName", MAX_NAME_BYTES, &raw);
		tapir_str__addf(&raw, "%s[Tier0]", params); /* a name has a tier, whichever */
	}
	if (!raw.len || raw.failed ||
	    !tapir_dotnet_name__add(out, (struct tapir_sv){raw.data, raw.len}, &tier)) {
		tapir_event_fields__add_text(f, "MethodNamespace", MAX_NAME_BYTES, out);
		tapir_str__addc(out, '.');
		tapir_event_fields__add_text(f, "MethodName", MAX_NAME_BYTES, out);
	}
	out->failed |= raw.failed || signature.failed;
	tapir_str__fini(&raw);
	tapir_str__fini(&signature);
}

static void count_group(struct jit *v, const struct tapir_event_fields *f, uint32_t node,
			uint64_t bytes)
{
	bool is_dynamic = tapir_event_fields__u64(f, "MethodFlags") & METHOD_IS_DYNAMIC;
	struct tapir_str name = {}, masked = {};
	struct group *group;

	if (is_dynamic)
		tapir_event_fields__add_text(f, "MethodName", MAX_NAME_BYTES, &name);
	else
		add_method_name(f, &name);
	if (name.data)
		mask_digits(name.data, &masked);
	group = masked.data ? group_of(v, &name, &masked, is_dynamic) : NULL;
	v->dynamic_cnt += is_dynamic;
	if (group) {
		group->cnt++;
		group->bytes += bytes;
		vote(group,
		     tapir_app_code__of(&v->app_code, tapir_timeline__stacks(v->args.tl), node));
	}
	if (group && !group->is_mixed && strcmp(group->name, name.data)) {
		group->is_mixed = true;
		free(group->name);
		group->name = masked.data;
		masked.data = NULL; /* taken */
	}
	v->args.failed |= name.failed || masked.failed;
	tapir_str__fini(&name);
	tapir_str__fini(&masked);
}

static bool is_of_recording(const struct tapir_event_fields *f)
{
	struct tapir_str name = {};
	bool is_one;

	tapir_event_fields__add_text(f, "MethodName", MAX_NAME_BYTES, &name);
	is_one = name.data && !strncmp(name.data, OF_RECORDING, strlen(OF_RECORDING));
	tapir_str__fini(&name);
	return is_one;
}

/* Code that was made ready, with its size. */
static void jit_on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
			 const struct tapir_event_view *event)
{
	const struct tapir_event_fields *f;
	struct jit *v = ctx;
	struct tapir_sv name = probe->event;
	bool is_dotnet = tapir_sv__is(name, "MethodLoadVerbose");
	uint64_t bytes;

	if (!tapir_sv__is(name, "compiled__method__load") && !is_dotnet)
		return;
	f = tapir_timeline__fields(v->args.tl, probe, event);
	bytes = (uint32_t)(tapir_event_fields__u64(f, "code_bytes") +
			   tapir_event_fields__u64(f, "MethodSize"));
	if (is_dotnet && is_of_recording(f)) {
		v->own_cnt++;
		return;
	}
	v->loaded_cnt++;
	v->loaded_bytes += bytes;
	if (is_dotnet)
		count_group(v, f, event->rec->stack_id ? t->last_node : TAPIR_NO_NODE, bytes);
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_cnt(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return tapir_order__down(x->cnt, y->cnt) ?: strcmp(x->name, y->name);
}

static void add_groups(struct jit *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"count", ">METHODS", TAPIR_CELL_COUNT}, {"bytes", ">CODE", TAPIR_CELL_BYTES},
		{"dynamic", "", TAPIR_CELL_TEXT},	 {"name", "NAME", TAPIR_CELL_TEXT},
		{"asker", "FOR", TAPIR_CELL_TEXT},	 {}};
	size_t t = tapir_view_result__table(result, "groups",
					    "methods by name, '#' for digits that differ", columns);

	tapir_keyed__sort(&v->groups, by_cnt);
	for (size_t i = 0; i < v->groups.cnt && i < v->args.top; i++) {
		const struct group *g = &v->groups.data[i];

		tapir_view_result__u64(result, t, g->cnt);
		tapir_view_result__u64(result, t, g->bytes);
		tapir_view_result__text(result, t, g->is_dynamic ? "dynamic" : NULL);
		tapir_view_result__text(result, t, g->name);
		tapir_view_result__text(result, t,
					g->votes ? result->tree->names.data[g->asker] : NULL);
	}
	if (v->groups.more)
		tapir_view_result__note(result, "%llu methods not counted by name: limit reached",
					(unsigned long long)v->groups.more);
	result->failed |= v->groups.failed;
}

static void add_loaded(const struct jit *v, struct tapir_view_result *result)
{
	double seconds = (double)tapir_timeline__span_ns(v->args.tl) / 1e9;
	const struct group *top_group = v->groups.data;

	tapir_str__addf(&result->headline, "%llu methods compiled",
			(unsigned long long)v->loaded_cnt);
	if (seconds > 0)
		tapir_str__addf(&result->headline, ", %.0f a second",
				(double)v->loaded_cnt / seconds);
	if (v->groups.cnt)
		tapir_str__addf(&result->headline, ", %llu of them dynamic",
				(unsigned long long)v->dynamic_cnt);
	if (v->groups.cnt && top_group->cnt * 100 >= v->loaded_cnt * TELLING_PERCENT)
		tapir_str__addf(&result->headline, "; most often %s, %llu times", top_group->name,
				(unsigned long long)top_group->cnt);
	if (v->own_cnt)
		tapir_view_result__note(result,
					"%llu more were compiled since this recording asked what "
					"events there are",
					(unsigned long long)v->own_cnt);
	tapir_view_result__note(result,
				"how long each took was not recorded: `tapir record "
				"'Microsoft-Windows-DotNETRuntime:Jit:Verbose'` records it");
}

static int by_took(const void *a, const void *b)
{
	const struct compiler *x = a, *y = b;

	return x->took_ns < y->took_ns ? 1 : x->took_ns > y->took_ns ? -1 : 0;
}

static void add_methods(const struct jit *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"ns", ">TOOK", TAPIR_CELL_NS},
						      {"cpu_ns", ">ON CPU", TAPIR_CELL_NS},
						      {"at_ns", ">AT", TAPIR_CELL_TIME},
						      {"tid", NULL, TAPIR_CELL_ID},
						      {"thread", "THREAD", TAPIR_CELL_TEXT},
						      {"method", "METHOD", TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table(result, "methods", "slowest to compile", columns);
	const struct method *m;

	tapir_vec_for_each (m, &v->slowest) {
		tapir_view_result__u64(result, t, m->took_ns);
		tapir_view_result__u64(result, t, m->cpu_ns);
		tapir_view_result__time(result, t, m->at_ns);
		tapir_view_result__u64(result, t, m->tid);
		tapir_view_result__text(result, t, m->thread);
		tapir_view_result__text(result, t, m->label);
	}
}

static void add_threads(const struct jit *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"thread", "THREAD", TAPIR_CELL_TEXT},	 {"tid", ">TID", TAPIR_CELL_ID},
		{"count", ">METHODS", TAPIR_CELL_COUNT}, {"ns", ">TOOK", TAPIR_CELL_NS},
		{"cpu_ns", ">ON CPU", TAPIR_CELL_NS},	 {}};
	size_t t = tapir_view_result__table(result, "threads", "by thread", columns);
	const struct compiler *c;

	tapir_vec_for_each (c, &v->threads) {
		tapir_view_result__text(result, t, c->thread);
		tapir_view_result__u64(result, t, c->tid);
		tapir_view_result__u64(result, t, c->cnt);
		tapir_view_result__u64(result, t, c->took_ns);
		tapir_view_result__u64(result, t, c->cpu_ns);
	}
}

static int jit_finish(void *ctx, struct tapir_view_result *result)
{
	struct jit *v = ctx;
	char took[TAPIR_NS_TEXT_BYTES], cpu[TAPIR_NS_TEXT_BYTES], late[TAPIR_NS_TEXT_BYTES];

	add_groups(v, result);
	tapir_keyed__sort(&v->threads, by_took);
	if (v->cnt)
		tapir_str__addf(&result->headline,
				"%llu methods compiled in %s, of which %s on a CPU; 99%% within %s",
				(unsigned long long)v->cnt, tapir_ns__text(v->took_ns, took),
				tapir_ns__text(v->cpu_ns, cpu),
				tapir_ns__text(tapir_histogram__percentile(&v->took, 99), late));
	else if (!v->loaded_cnt)
		result->has_nothing = true;
	if (!v->cnt && v->loaded_cnt)
		add_loaded(v, result);
	add_threads(v, result);
	add_methods(v, result);
	tapir_view_result__beyond(result, v->threads.more, v->threads.failed, "methods");
	return 0;
}

#define TITLED_BY(member) .if_off = TAPIR_VIEW_NUMBER(struct jit, member)

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct jit, cnt, "count", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct jit, took_ns, "ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct jit, cpu_ns, "cpu_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct jit, half, "half", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct jit, loaded_cnt, "loaded", "methods loaded", COUNT),
	 TITLED_BY(loaded_cnt)},
	{TAPIR_VIEW_FACT(struct jit, dynamic_cnt, "dynamic", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct jit, loaded_bytes, "loaded_bytes", "code size of methods loaded",
			 BYTES),
	 TITLED_BY(loaded_bytes)},
	{}};

/* They report each compilation: no profile has them. */
static const char *const compilers[] = {TAPIR_DOTNET_RUNTIME ":Jit:Verbose",
					"hotspot:method__compile__*", NULL};

const struct tapir_view tapir_view_jit = {
	.name = "jit",
	.summary = "compiled methods, time per method, compiling threads",
	.fns = {.close = jit_on_close, .event = jit_on_event},
	.nothing = "no method was seen to be compiled",
	.source = {"compilations", .specs = compilers, .cause = TAPIR_CAUSE_JIT},
	.facts = facts,
	.has_facts_of_nothing = true,
	.ctx_bytes = sizeof(struct jit),
	.default_top = 20,
	.begin = jit_begin,
	.finish = jit_finish,
	.fini = jit_fini,
};
