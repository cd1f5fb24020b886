// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a recording of two .NET processes that nobody recorded: the runtime's events in their
 * own encoding, with stacks whose addresses are used again, an EventSource with a described
 * payload and activity ids, switches, and a lost range. Always the same; what it holds is said
 * by the constants below, which tests/e2e/case_nettrace.py repeats.
 *
 *	make_dotnet_trace FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define TGID	   700u
#define OTHER_TGID 800u
#define GC_CNT	   5u
#define MS	   1000000ull
#define START_NS   (100000 * MS)
#define LIBRARY_VA 0x7f1000000000ull
#define CODE_VA	   0x7f2000000000ull
#define CODE_BYTES 0x100ull
#define EXCEPTIONS 20u
#define ORDERS	   30u
#define SAMPLES	   200u
#define SWITCHES   10u
#define LOST	   41u
#define SV(text)   ((struct tapir_sv){text, strlen(text)})

enum probe {
	GC_START = 1,
	GC_STOP,
	SUSPEND_START,
	SUSPEND_STOP,
	RESTART_START,
	RESTART_STOP,
	EXCEPTION,
	ORDER,
	QUERY
};

struct maker {
	struct tapir_writer *writer;
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	uint64_t now_ns;
};

static void describe(struct maker *m, const struct tapir_rec *rec)
{
	if (!rec || tapir_catalog__describe(m->catalog, rec) < 0)
		exit(1);
}

/* ---- payloads: bytes in a row --------------------------------------------------------------- */

struct bytes {
	uint8_t data[1024];
	size_t len;
};

static void add(struct bytes *b, uint64_t value, size_t size)
{
	memcpy(b->data + b->len, &value, size);
	b->len += size;
}

/* ASCII only, and a NUL. */
static void add_utf16(struct bytes *b, const char *text)
{
	for (size_t i = 0; i <= strlen(text); i++)
		add(b, (uint64_t)(unsigned char)text[i], 2);
}

/* ---- descriptions --------------------------------------------------------------------------- */

static void describe_runtime_event(struct maker *m, uint32_t id, uint16_t event_id, uint8_t version,
				   const char *name, const char *provider, struct bytes *blob)
{
	struct tapir_rec_probe probe = {.h.time_ns = START_NS,
					.probe_id = id,
					.event_id = event_id,
					.version = version,
					.level = 4,
					.keywords = 1,
					.encoding = TAPIR_ENCODING_PACKED,
					.lane = TAPIR_LANE_RING};
	struct tapir_rec_metadata metadata = {.h.time_ns = START_NS, .probe_id = id, .format = 1};

	describe(m, tapir_recbuf__probe(&m->buf, &probe, SV(provider), SV(name), SV(""), SV(""),
					NULL, NULL, 0));
	describe(m, tapir_recbuf__metadata(&m->buf, &metadata,
					   (struct tapir_sv){(char *)blob->data, blob->len}));
}

/* A native event's blob: no name, no fields. */
static void describe_clr(struct maker *m, uint32_t id, uint16_t event_id, uint8_t version,
			 const char *name)
{
	struct bytes blob = {};

	add(&blob, event_id, 4);
	add(&blob, 0, 2);
	add(&blob, 1, 8);
	add(&blob, version, 4);
	add(&blob, 4, 4);
	add(&blob, 0, 4);
	describe_runtime_event(m, id, event_id, version, name, "Microsoft-Windows-DotNETRuntime",
			       &blob);
}

/* An EventSource's: fields in the first form are none, in the second: int, string, byte[]. */
static void describe_order(struct maker *m)
{
	static const struct {
		const char *name;
		uint32_t type, element;
	} fields[] = {{"Count", 9, 0}, {"Customer", 18, 0}, {"Digits", 19, 8}};
	struct bytes blob = {}, part = {};

	add(&blob, 3, 4);
	add_utf16(&blob, "OrderPlaced");
	add(&blob, 1, 8);
	add(&blob, 2, 4);
	add(&blob, 4, 4);
	add(&blob, 0, 4);
	add(&part, 3, 4);
	for (size_t i = 0; i < 3; i++) {
		add(&part, 4 + 2 * (strlen(fields[i].name) + 1) + (fields[i].element ? 8 : 4), 4);
		add_utf16(&part, fields[i].name);
		add(&part, fields[i].type, 4);
		if (fields[i].element)
			add(&part, fields[i].element, 4);
	}
	add(&blob, part.len, 4);
	add(&blob, 2, 1);
	memcpy(blob.data + blob.len, part.data, part.len);
	blob.len += part.len;
	describe_runtime_event(m, ORDER, 3, 2, "OrderPlaced",
			       "Pantry-B\xc3\xa4"
			       "ckerei",
			       &blob);
}

/* A USDT probe: int, unsigned, float, text, bytes, and an operand nobody can read. */
static void describe_query(struct maker *m)
{
	struct tapir_rec_probe probe = {.h.time_ns = START_NS, .probe_id = QUERY, .version = 1};
	static const struct tapir_field fields[] = {{.type = TAPIR_FIELD_INT, .size = 4},
						    {.type = TAPIR_FIELD_UINT, .size = 8},
						    {.type = TAPIR_FIELD_FLOAT, .size = 8},
						    {.type = TAPIR_FIELD_STR},
						    {.type = TAPIR_FIELD_BLOB},
						    {.reason = TAPIR_OPERAND_VECTOR_REG}};
	const struct tapir_sv names[] = {SV("rows"), SV("bytes"), SV("share"),
					 SV("text"), SV("key"),	  SV("")};

	describe(m, tapir_recbuf__probe(&m->buf, &probe, SV("postgresql"), SV("query__start"),
					SV("/usr/bin/postgres"), SV(""), fields, names, 6));
}

static void describe_process(struct maker *m, uint32_t tgid, const char *comm, const char *worker)
{
	struct tapir_rec_process process = {.h.time_ns = START_NS - MS,
					    .tgid = tgid,
					    .ns_tgid = 1,
					    .kind = TAPIR_PROCESS_EXISTING};
	struct tapir_rec_mapping library = {.h.time_ns = START_NS,
					    .tgid = tgid,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = LIBRARY_VA,
					    .end_va = LIBRARY_VA + 0x10000,
					    .file_id = 5,
					    .build_id_bytes = 4,
					    .build_id = {0xab, 0xcd, 0xef, 1}};
	struct tapir_rec_mapping code = {.h.time_ns = START_NS,
					 .tgid = tgid,
					 .flags = TAPIR_MAPPING_EXEC,
					 .start_va = CODE_VA,
					 .end_va = CODE_VA + 0x10000};

	describe(m, tapir_recbuf__process(&m->buf, &process, SV(comm), SV("/usr/bin/dotnet"),
					  SV("dotnet"), SV("/")));
	describe(m, tapir_recbuf__mapping(&m->buf, &library, SV("/opt/dotnet/libcoreclr.so")));
	describe(m, tapir_recbuf__mapping(&m->buf, &code, SV("/memfd:doublemapper (deleted)")));
	for (uint32_t tid = tgid; tid < tgid + 2; tid++) {
		struct tapir_rec_thread thread = {.tgid = tgid, .tid = tid};

		tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), START_NS);
		snprintf(thread.comm, sizeof(thread.comm), "%s", tid == tgid ? comm : worker);
		describe(m, &thread.h);
	}
}

/* The method at the n-th place, from a time until another (0: to the end). */
static void describe_method(struct maker *m, uint32_t tgid, unsigned place, const char *name,
			    uint64_t from_ns, uint64_t until_ns)
{
	struct tapir_rec_jit jit = {.h.time_ns = START_NS,
				    .tgid = tgid,
				    .source = TAPIR_JIT_JITDUMP,
				    .start_va = CODE_VA + place * CODE_BYTES,
				    .size = CODE_BYTES,
				    .from_ns = from_ns,
				    .until_ns = until_ns};

	describe(m, tapir_recbuf__jit(&m->buf, &jit, SV(name)));
}

#define REUSED_NS (START_NS + 500 * MS) /* when the address of Early has Late */

static void describe_names(struct maker *m, uint32_t tgid)
{
	struct tapir_rec_symbol symbol = {
		.h.time_ns = START_NS, .file_id = 5, .start_off = 0x100, .size = 0x100};

	describe(m, tapir_recbuf__symbol(&m->buf, &symbol, SV("RunMain")));
	describe_method(m, tgid, 0, "void [Pantry] Pantry.Program::Main(string[])[Optimized]",
			START_NS, 0);
	describe_method(m, tgid, 1,
			"instance void [Pantry] Pantry.B\xc3\xa4"
			"cker::\xe7\x84\xbc\xe3\x81\x8f()[OptimizedTier1]",
			START_NS, 0);
	describe_method(m, tgid, 2, "void [Pantry] Pantry.Oven::Early()[QuickJitted]", START_NS,
			REUSED_NS);
	describe_method(m, tgid, 2, "void [Pantry] Pantry.Oven::Late()[OptimizedTier1]", REUSED_NS,
			0);
}

enum stack { STACK_BAKE = 1, STACK_OVEN };

static void describe_stacks(struct maker *m)
{
	static const uint64_t tops[] = {[STACK_BAKE] = CODE_VA + CODE_BYTES + 0x10,
					[STACK_OVEN] = CODE_VA + 2 * CODE_BYTES + 0x20};

	for (uint64_t id = STACK_BAKE; id <= STACK_OVEN; id++) {
		struct tapir_rec_stack stack = {.h.time_ns = START_NS, .stack_id = id};
		/* Main's call is its last instruction: it returns behind its end */
		uint64_t frames_va[] = {tops[id], CODE_VA + CODE_BYTES, LIBRARY_VA + 0x180};

		describe(m, tapir_recbuf__stack(&m->buf, &stack, frames_va, 3));
	}
}

static void describe_all(struct maker *m)
{
	describe_process(m, TGID, "pantry",
			 "B\xc3\xa4"
			 "cker-1");
	describe_process(m, OTHER_TGID, "\xe5\x8e\xa8\xe6\x88\xbf", "worker");
	describe_names(m, TGID);
	describe_names(m, OTHER_TGID);
	describe_stacks(m);
	describe_clr(m, GC_START, 1, 2, "GCStart");
	describe_clr(m, GC_STOP, 2, 1, "GCEnd");
	describe_clr(m, SUSPEND_START, 9, 1, "GCSuspendEEBegin");
	describe_clr(m, SUSPEND_STOP, 8, 1, "GCSuspendEEEnd");
	describe_clr(m, RESTART_START, 7, 1, "GCRestartEEBegin");
	describe_clr(m, RESTART_STOP, 3, 1, "GCRestartEEEnd");
	describe_clr(m, EXCEPTION, 80, 1, "ExceptionThrown");
	describe_order(m);
	describe_query(m);
}

/* ---- records -------------------------------------------------------------------------------- */

static void put(struct maker *m, const struct tapir_rec *rec)
{
	struct tapir_unnamed unnamed;

	if (!rec || tapir_writer__put(m->writer, rec))
		exit(1);
	while (tapir_catalog__next_unnamed(m->catalog, &unnamed))
		;
}

struct ids {
	uint8_t activity[16], related[16];
};

static void fire(struct maker *m, uint32_t probe_id, uint32_t tgid, uint64_t stack_id,
		 const struct bytes *payload, const struct ids *ids)
{
	struct tapir_rec_event fixed = {.h = {.cpu = 1, .time_ns = m->now_ns},
					.probe_id = probe_id,
					.tgid = tgid,
					.tid = tgid + 1,
					.stack_id = stack_id,
					.lane = TAPIR_LANE_RING,
					.flags = ids ? TAPIR_EVENT_ACTIVITY | TAPIR_EVENT_RELATED
						     : 0};
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = ids ? ids->activity : NULL,
					.related_id = ids ? ids->related : NULL,
					.payload = payload->data,
					.payload_bytes = payload->len};
	const struct tapir_rec *rec = tapir_recbuf__event(&m->buf, &view);

	if (tapir_catalog__use_event(m->catalog, (const struct tapir_rec_event *)rec))
		exit(1);
	put(m, rec);
}

/* GC n: 100 us to suspend, n + 1 ms of work, 50 us to restart. */
static void collect(struct maker *m, uint32_t tgid, uint32_t n)
{
	struct bytes suspend = {}, start = {}, stop = {}, none = {};

	add(&suspend, 1, 4); /* for a GC */
	add(&suspend, n, 4);
	add(&suspend, 1, 2);
	add(&none, 1, 2);
	add(&start, n, 4);
	add(&start, n % 3, 4); /* generation */
	add(&start, 0, 4);     /* reason: small allocation */
	add(&start, 0, 4);     /* not concurrent */
	add(&start, 1, 2);
	add(&start, n, 8); /* client sequence number */
	add(&stop, n, 4);
	add(&stop, n % 3, 4);
	add(&stop, 1, 2);
	fire(m, SUSPEND_START, tgid, STACK_BAKE, &suspend, NULL);
	m->now_ns += MS / 10;
	fire(m, SUSPEND_STOP, tgid, 0, &none, NULL);
	fire(m, GC_START, tgid, STACK_BAKE, &start, NULL);
	m->now_ns += n * MS + MS;
	fire(m, GC_STOP, tgid, 0, &stop, NULL);
	fire(m, RESTART_START, tgid, 0, &none, NULL);
	m->now_ns += MS / 20;
	fire(m, RESTART_STOP, tgid, 0, &none, NULL);
	m->now_ns += 10 * MS;
}

static void throw_one(struct maker *m, uint32_t tgid, unsigned n)
{
	struct bytes payload = {};
	char message[32];

	snprintf(message, sizeof(message), "no flour %u", n);
	add_utf16(&payload, "Pantry.EmptyException");
	add_utf16(&payload, message);
	add(&payload, CODE_VA + 4, 8);
	add(&payload, 0x80131500, 4);
	add(&payload, 0, 2);
	add(&payload, 1, 2);
	fire(m, EXCEPTION, tgid, STACK_BAKE, &payload, NULL);
	m->now_ns += MS / 10;
}

static void order(struct maker *m, uint32_t tgid, uint32_t n)
{
	struct ids ids = {.activity = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
			  .related = {0xfe}};
	struct bytes payload = {};

	ids.activity[15] = (uint8_t)n;
	add(&payload, n, 4);
	add_utf16(&payload, "Marta");
	add(&payload, 3, 2);
	for (uint64_t digit = 7; digit < 10; digit++)
		add(&payload, digit, 2);
	fire(m, ORDER, tgid, STACK_BAKE, &payload, &ids);
	m->now_ns += MS / 10;
}

static void query(struct maker *m)
{
	static const char text[] = "select '\xe7\x84\xbc\xe3\x81\x8f'", key[] = {1, 2, (char)255};
	struct bytes payload = {};
	double share = 0.25;
	uint64_t share_bits;

	memcpy(&share_bits, &share, sizeof(share_bits));
	add(&payload, (uint64_t)-3, 8);
	add(&payload, 1ull << 63, 8);
	add(&payload, share_bits, 8);
	add(&payload, (sizeof(text) - 1) | (uint64_t)TAPIR_SLOT_CUT << 32, 8);
	add(&payload, sizeof(key), 8);
	add(&payload, 0, 8);
	memcpy(payload.data + payload.len, text, sizeof(text) - 1);
	payload.len += sizeof(text) - 1;
	memcpy(payload.data + payload.len, key, sizeof(key));
	payload.len += sizeof(key);
	fire(m, QUERY, TGID, STACK_BAKE, &payload, NULL);
}

static void sample(struct maker *m, uint32_t tgid)
{
	struct tapir_rec_sample rec = {
		.tgid = tgid, .tid = tgid + 1, .period = MS, .stack_id = STACK_OVEN};
	struct tapir_use use = {
		.tgid = tgid, .tid = tgid + 1, .time_ns = m->now_ns, .stack_id = STACK_OVEN};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), m->now_ns);
	rec.h.cpu = 1;
	if (tapir_catalog__use(m->catalog, &use))
		exit(1);
	put(m, &rec.h);
}

/* Out with a stack, in 2 ms later. */
static void leave(struct maker *m)
{
	struct tapir_rec_switch out = {.out_tgid = TGID,
				       .out_tid = TGID + 1,
				       .out_stack_id = STACK_BAKE,
				       .out_state = TAPIR_STATE_SLEEPING};
	struct tapir_rec_switch in = {.in_tgid = TGID, .in_tid = TGID + 1};

	tapir_rec__init(&out.h, TAPIR_REC_SWITCH, sizeof(out), m->now_ns);
	put(m, &out.h);
	m->now_ns += 2 * MS;
	tapir_rec__init(&in.h, TAPIR_REC_SWITCH, sizeof(in), m->now_ns);
	put(m, &in.h);
}

static void lose(struct maker *m)
{
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_RING_LANE_DROP,
				      .probe_id = ORDER,
				      .count = LOST,
				      .from_ns = m->now_ns - MS,
				      .until_ns = m->now_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), m->now_ns);
	put(m, &loss.h);
}

static void write_records(struct maker *m)
{
	for (uint32_t n = 1; n <= GC_CNT; n++)
		collect(m, TGID, n);
	collect(m, OTHER_TGID, 1);
	for (unsigned n = 0; n < EXCEPTIONS; n++)
		throw_one(m, TGID, n);
	for (uint32_t n = 0; n < ORDERS; n++)
		order(m, n % 2 ? OTHER_TGID : TGID, n);
	query(m);
	lose(m);
	for (unsigned n = 0; n < SWITCHES; n++)
		leave(m);
	for (unsigned n = 0; n < SAMPLES; n++) {
		m->now_ns = START_NS + 400 * MS + n * MS;
		sample(m, n % 4 ? TGID : OTHER_TGID);
	}
}

int main(int argc, char **argv)
{
	struct maker m = {.now_ns = START_NS};
	struct tapir_writer_opts opts = {.sz = sizeof(opts), .force = true};

	if (argc != 2)
		return 2;
	opts.path = argv[1];
	if (tapir_writer__open(&opts, &m.writer))
		return 1;
	m.catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, m.writer);
	if (!m.catalog)
		return 1;
	describe_all(&m);
	write_records(&m);
	if (tapir_writer__close(m.writer))
		return 1;
	tapir_catalog__free(m.catalog);
	tapir_writer__free(m.writer);
	tapir_recbuf__fini(&m.buf);
	return 0;
}
