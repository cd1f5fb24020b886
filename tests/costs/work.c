// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * work.c - fixed amounts of the work that tapir does for each event, sample or address:
 * instructions.py counts what the functions called counted_* execute.
 *
 *	work decoding | symbols | jit | fire | ring | ring_stacks | walk | searches | code
 */
// build: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "bpf/insn_logic.bpf.h"
#include "bpf/unwind_logic.bpf.h"
#include "decode/dotnet_tables.h"
#include "decode/event_blob.h"
#include "decode/packed.h"
#include "decode/value.h"
#include "elf/symbols.h"
#include "symbol/jit_table.h"
#include "tapir/provider.h"
#include "tapir/stack_walk.h"
#include "tests/unit/elf_builder.h"
#include "tests/unit/ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define COUNTED static __attribute__((noipa)) void

static uint64_t sum; /* keeps what is computed alive */

static void need(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "work: %s\n", what);
	exit(1);
}

static uint64_t scattered(uint64_t n, uint64_t cnt)
{
	return n * 0x9e3779b97f4a7c15ull % cnt;
}

/* ---- payloads as values, text and JSON -------------------------------------------------------- */

struct payload {
	struct tapir_packed_layout layout;
	uint8_t bytes[4096];
	size_t len;
};

static size_t read_hex(const char *hex, uint8_t *out, size_t max)
{
	size_t len = 0;
	unsigned byte;

	for (; len < max && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[len++] = (uint8_t)byte;
	return len;
}

COUNTED counted_decoding(const struct payload *p)
{
	struct tapir_value values[64];
	struct tapir_str out = {};
	unsigned faults, cnt;

	for (int n = 0; n < 200; n++) {
		cnt = tapir_packed__decode(&p->layout, p->bytes, p->len, values, 64, &faults);
		tapir_str__clear(&out);
		for (unsigned i = 0; i < cnt; i++)
			tapir_value__add_text(&out, &values[i]);
		for (unsigned i = 0; i < cnt; i++)
			tapir_value__add_json(&out, &values[i]);
	}
	tapir_str__fini(&out);
}

/* A row: provider, id, version, blob, payload. */
static void decode_row(char *row)
{
	struct tapir_event_blob *blob = NULL;
	const struct tapir_layout_event *known;
	const char *provider = strsep(&row, "\t");
	uint16_t id = (uint16_t)atoi(strsep(&row, "\t"));
	uint8_t version = (uint8_t)atoi(strsep(&row, "\t"));
	struct payload p = {};

	p.len = read_hex(strsep(&row, "\t"), p.bytes, sizeof(p.bytes));
	need(!tapir_event_blob__parse(p.bytes, p.len, &blob), "blob");
	known = tapir_dotnet_event__find(tapir_sv__of(provider), id, version);
	p.layout = blob->layout;
	if (!blob->layout.field_cnt && known)
		p.layout = (struct tapir_packed_layout){.fields = known->fields,
							.field_cnt = known->field_cnt};
	p.len = read_hex(row, p.bytes, sizeof(p.bytes));
	counted_decoding(&p);
	tapir_event_blob__free(blob);
}

static void decoding(void)
{
	tapir_autofree char *text = NULL;
	char *rest, *row;
	size_t len;

	need(!tapir_file__read("recorded.tsv", 1 << 20, &text, &len), "no recorded.tsv here");
	for (rest = text; (row = strsep(&rest, "\n"));)
		if (*row && *row != '#')
			decode_row(row);
}

/* ---- names of addresses ----------------------------------------------------------------------- */

#define SYMBOLS	     256u
#define SYMBOL_BYTES 32u

COUNTED counted_symbols(struct tapir_elf *elf)
{
	struct tapir_symtab *table;
	struct tapir_symbol symbol;

	for (int n = 0; n < 20; n++) {
		need(!tapir_symtab__load(elf, &table), "symbol table");
		for (uint64_t i = 0; i < 5000; i++)
			sum += tapir_symtab__find(
				table, TEXT_OFF + scattered(i, SYMBOLS * SYMBOL_BYTES), &symbol);
		tapir_symtab__free(table);
	}
}

static void symbols(void)
{
	Elf64_Sym syms[SYMBOLS] = {};
	const char *names[SYMBOLS] = {""};
	static char text[SYMBOLS][8];
	struct elf_builder b;
	struct tapir_elf *elf;

	for (unsigned i = 1; i < SYMBOLS; i++) {
		snprintf(text[i], sizeof(text[i]), "fn_%u", i);
		names[i] = text[i];
		syms[i] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = 1,
				      .st_value = TEXT_VA + (uint64_t)i * SYMBOL_BYTES,
				      .st_size = SYMBOL_BYTES - i % 8};
	}
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_symbols(&b, SHT_SYMTAB, syms, SYMBOLS, names);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	need(elf, "ELF file");
	counted_symbols(elf);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

#define METHODS	     20000u
#define METHOD_BYTES 512u
#define JIT_VA	     0x7f5c00000000ull

/* In no order, half of them at addresses that were another's. */
COUNTED counted_jit(struct tapir_jit_table *table)
{
	struct tapir_jit_name name = {.name = "com.example.Orders.method", .name_len = 25};

	for (uint64_t i = 0; i < METHODS; i++) {
		name.start_va = JIT_VA + scattered(i, METHODS / 2) * METHOD_BYTES;
		name.size = 16 + i * 37 % (METHOD_BYTES - 16);
		name.from_ns = 1 + i * 1000000;
		sum += tapir_jit_table__add(table, &name) > 0;
	}
	for (uint64_t i = 0; i < 3 * METHODS; i++)
		sum += tapir_jit_table__find(table,
					     JIT_VA + scattered(i, METHODS / 2 * METHOD_BYTES),
					     i * 300000, &name);
}

static void jit(void)
{
	struct tapir_jit_table *table;

	need(!tapir_jit_table__new(&table), "table");
	counted_jit(table);
	tapir_jit_table__free(table);
}

/* ---- libtapir --------------------------------------------------------------------------------- */

TAPIR_EVENT(Cost, "Cost-Lib", "Cost", 1, 0, TAPIR_INFORMATIONAL, 0, (I32, A), (I32, B), (I32, C),
	    (I32, D), (UTF8, Text));
static struct tapir_event *const events[] = {&Cost};

COUNTED counted_fire(int round)
{
	for (int i = 0; i < 500; i++)
		TAPIR_FIRE(Cost, i, round, -1, 42, "sixteen chars...");
}

static __attribute__((noipa)) void descend(unsigned frames, int round)
{
	if (frames)
		descend(frames - 1, round);
	else
		counted_fire(round);
	__asm__ volatile("" : : : "memory");
}

/* Into the ring lane, of which this program is the tracer, too: 500 events fit there. */
static void fire_traced(int stacks)
{
	struct taker t;

	need(!taker_init_key(&t, getpid(), 0, TAKER_KEY) && !taker_open(&t, 0, 1, stacks),
	     "ring lane");
	tapir_provider__poll();
	for (int round = 0; round < 10; round++) {
		descend(20, round);
		taker_take(&t);
	}
	taker_close(&t);
	need(t.read[0] == 10 * 500 && !taker_missed(&t, 0), "events are missing");
	taker_fini(&t);
}

static void with_provider(void (*run)(int), int stacks)
{
	struct tapir_provider *provider;

	/* Private: a tracer of the whole machine that runs meanwhile takes no session. */
	need(!tapir_ring__init_private(TAKER_KEY), "ring lane");
	need(!tapir_provider__new("Cost-Lib", NULL, events, 1, NULL, &provider), "provider");
	run(stacks);
	tapir_provider__free(provider);
}

static void fire(void) /* for nobody */
{
	with_provider(counted_fire, 0);
}

static void ring(void)
{
	with_provider(fire_traced, 0);
}

static void ring_stacks(void)
{
	with_provider(fire_traced, 1);
}

/* ---- what BPF programs decide ----------------------------------------------------------------- */

#define STACK_VA 0x7ffc00000000ull
#define DEPTH	 100u

static struct tapir_unwind_block block;
static struct tapir_unwind_space space;

COUNTED counted_walk(const uint64_t *stack)
{
	uint64_t fp = STACK_VA, above = fp, id = 1;

	for (unsigned n = 0; n < DEPTH && tapir_walk__fp_ok(fp, above); n++) {
		const uint64_t *pair = stack + (fp - STACK_VA) / 8;

		if (!tapir_walk__ip_ok(pair[1]))
			break;
		id = tapir_walk__hash(id, pair[1]);
		above = fp + 16;
		fp = pair[0];
	}
	sum += id;
}

COUNTED counted_searches(void)
{
	for (uint64_t i = 0; i < 10000; i++) {
		const uint64_t va = 0x400000 + scattered(i, 0x1000000);

		sum += tapir_unwind__row_idx(&block, (uint32_t)va);
		sum += tapir_unwind__mapping_idx(&space, va);
		sum += tapir_unwind__space_block(&space, va);
	}
}

/* The end of a method of CoreCLR, from each of its bytes on. */
COUNTED counted_code(void)
{
	static const uint8_t code[TAPIR_UNWIND_CODE_BYTES * 2] =
		"\x55\x41\x57\x41\x55\x53\x48\x83\xec\x18\xc5\xf8\x77\x48\x8d\x6c\x24\x30\x33\xc0"
		"\x48\x83\xc4\x18\x5b\x41\x5d\x41\x5f\x5d\xc3";

	for (unsigned n = 0; n < 10; n++)
		for (unsigned at = 0; at < TAPIR_UNWIND_CODE_BYTES; at++) {
			struct tapir_unwind_code c = {};

			sum += tapir_insn__bytes(code + at);
			memcpy(c.bytes, code + at, TAPIR_UNWIND_CODE_BYTES);
			for (unsigned i = 0; i < TAPIR_UNWIND_CODE_STEPS && !c.result; i++)
				tapir_unwind_code__step(&c);
			sum += (unsigned)c.cfa_off;
		}
}

static void walk(void)
{
	uint64_t stack[4 * DEPTH];

	for (unsigned i = 0; i < DEPTH; i++) {
		stack[4 * i] = STACK_VA + 32 * (i + 1);
		stack[4 * i + 1] = 0x555555554000ull + 16 * i;
	}
	for (unsigned n = 0; n < 500; n++)
		counted_walk(stack);
}

static void searches(void)
{
	for (unsigned i = 0; i < TAPIR_UNWIND_BLOCK_ROWS; i++)
		block.rows[i].pc = 0x400000 + 0x1000 * i;
	space.cnt = TAPIR_UNWIND_SPACE_MAPPINGS;
	for (unsigned i = 0; i < TAPIR_UNWIND_SPACE_MAPPINGS; i++)
		space.mappings[i].start_va = 0x400000 + 0x10000 * i;
	for (unsigned i = 0; i < TAPIR_UNWIND_SPACE_BLOCKS; i++)
		space.first_va[i] = 0x400000 * (i + 1ull);
	counted_searches();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {{"decoding", decoding}, {"symbols", symbols},   {"jit", jit},
		     {"fire", fire},	     {"ring", ring},	     {"ring_stacks", ring_stacks},
		     {"walk", walk},	     {"searches", searches}, {"code", counted_code}};

	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			return printf("%llu\n", (unsigned long long)sum) < 0;
		}
	fprintf(stderr, "usage: work KIND\n");
	return 2;
}
