// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions are gone through one after another: compilers put no data into functions. A jump to
 * other code is another function that returns in the place of this one (a tail call), so that not
 * all returns would be found; the part that compilers move away because it is rarely executed
 * (NAME.cold) is gone through, too.
 */
#include "elf/returns.h"

#include <string.h>
#include <unistd.h>

#include "bpf/insn_logic.bpf.h"
#include "elf/function.h"
#include "elf/go_table.h"
#include "elf/image.h"

#define MAX_CODE_BYTES (1u << 20)
#define MAX_PARTS      4 /* of a function: itself, and those moved away */

/* ---- an instruction ------------------------------------------------------------------------- */

/* These are tapir_insn_shapes, with those that move the stack pointer; prefixes have none. */
/* clang-format off */
static const char shapes[257] =
	"mmmm14--mmmm14--" "mmmm14--mmmm14--" "mmmm14--mmmm14--" "mmmm14--mmmm14--"
	"----------------" "aaaaaaaaaaaaaaaa" "---m----4d1baaaa" "1111111111111111"
	"bd-bmmmmmmmmmmmm" "aaaaaaaaaa-aaaaa" "----aaaa14aaaaaa" "1111111144444444"
	"bb-a--bd-a--a1-a" "mmmm---ammmmmmmm" "1111111144-1aaaa" "-a--aammaaaaaamm";
static const char shapes_0f[257] =
	"mmmm-aaaaa-a-ma-" "mmmmmmmmmmmmmmmm" "mmmm----mmmmmmmm" "aaaaaaaa--------"
	"mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "bbbbmmmamm--mmmm"
	"4444444444444444" "mmmmmmmmmmmmmmmm" "aaambm--aaambmmm" "mmmmmmmmmmbmmmmm"
	"mmbmbbbmaaaaaaaa" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm";
/* clang-format on */

struct opcode {
	uint32_t at;  /* of its last byte */
	uint32_t map; /* 0: of one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	uint32_t shape;
	bool has_66, has_rex_w, has_3e;
};

static bool is_prefix(uint8_t byte)
{
	return memchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", byte, 11);
}

static bool take_prefixes(const uint8_t *bytes, struct opcode *op)
{
	for (; op->at < 4 && is_prefix(bytes[op->at]); op->at++) {
		op->has_66 |= bytes[op->at] == 0x66;
		op->has_3e |= bytes[op->at] == 0x3e;
	}
	if ((bytes[op->at] & 0xf0) == 0x40)
		op->has_rex_w = bytes[op->at++] & 8;
	return op->at < 6;
}

/* VEX of two and three bytes, and EVEX: the number of the map is in them. */
static void take_vector_prefix(const uint8_t *bytes, struct opcode *op)
{
	uint8_t first = bytes[op->at];

	op->map = first == 0xc5 ? 1 : bytes[op->at + 1] & (first == 0x62 ? 7 : 31);
	op->at += first == 0xc5 ? 2 : first == 0xc4 ? 3 : 4;
}

static void take_map(const uint8_t *bytes, struct opcode *op)
{
	uint8_t first = bytes[op->at];

	if (first == 0xc4 || first == 0xc5 || first == 0x62) {
		take_vector_prefix(bytes, op);
	} else if (first == 0x0f) {
		uint8_t second = bytes[++op->at];

		op->map = second == 0x38 ? 2 : second == 0x3a ? 3 : 1;
		op->at += op->map > 1;
	}
}

static void take_shape(const uint8_t *bytes, struct opcode *op)
{
	uint8_t code = bytes[op->at];

	switch (op->map) {
	case 0:
		op->shape = (uint8_t)shapes[code];
		if (code == 0xf6 || code == 0xf7)
			op->shape = tapir_insn__group_shape(code, bytes[op->at + 1] >> 3 & 7);
		break;
	case 1:
		op->shape = (uint8_t)shapes_0f[code];
		break;
	case 2:
		op->shape = TAPIR_INSN_MODRM;
		break;
	default:
		op->shape = op->map == 3 ? TAPIR_INSN_MODRM_8 : TAPIR_INSN_NONE;
	}
}

/* Returns the number of bytes that follow the opcode. */
static uint32_t operand_bytes(const uint8_t *bytes, const struct opcode *op)
{
	uint32_t after = op->at + 1, word = op->has_66 && !op->map ? 2 : 4;

	switch (op->shape) {
	case TAPIR_INSN_8:
		return 1;
	case TAPIR_INSN_32:
		/* Calls and jumps have four bytes, whatever the prefix; a move may have eight. */
		if (op->map || bytes[op->at] == 0xe8 || bytes[op->at] == 0xe9)
			return 4;
		return op->has_rex_w && (bytes[op->at] & 0xf8) == 0xb8 ? 8 : word;
	case TAPIR_INSN_MODRM:
		return tapir_insn__modrm_bytes(bytes, after);
	case TAPIR_INSN_MODRM_8:
		return tapir_insn__modrm_bytes(bytes, after) + 1;
	case TAPIR_INSN_MODRM_32:
		return tapir_insn__modrm_bytes(bytes, after) + word;
	default:
		return 0;
	}
}

static void take_flow(const uint8_t *bytes, const struct opcode *op, struct tapir_x86_insn *out)
{
	uint8_t code = bytes[op->at];
	bool is_near = op->map == 1 ? (code & 0xf0) == 0x80 : !op->map && code == 0xe9;
	bool is_short =
		!op->map && ((code & 0xf0) == 0x70 || (code & 0xfc) == 0xe0 || code == 0xeb);
	int32_t far;

	if (!op->map && code == 0xc3)
		out->flow = TAPIR_X86_RETURN;
	/* "notrack", where it is compiled in, marks the jump of a switch: it stays in its function.
	 */
	if (!op->map && code == 0xff && (bytes[op->at + 1] >> 3 & 7) == 4 && !op->has_3e)
		out->flow = TAPIR_X86_ANYWHERE;
	if (!is_near && !is_short)
		return;
	memcpy(&far, bytes + op->at + 1, sizeof(far));
	out->flow = TAPIR_X86_JUMP;
	out->jump = is_short ? (int8_t)bytes[op->at + 1] : far;
}

bool tapir_x86_insn__decode(const uint8_t *bytes, struct tapir_x86_insn *out)
{
	struct opcode op = {};

	*out = (struct tapir_x86_insn){};
	if (!take_prefixes(bytes, &op))
		return false;
	if (bytes[op.at] == 0xc2) { /* a return that drops arguments */
		*out = (struct tapir_x86_insn){.bytes = op.at + 3, .flow = TAPIR_X86_RETURN};
		return true;
	}
	take_map(bytes, &op);
	/* A far jump's ModRM would be read as that of a call. */
	take_shape(bytes, &op);
	if (op.shape == TAPIR_INSN_NONE ||
	    (!op.map && bytes[op.at] == 0xff && (bytes[op.at + 1] >> 3 & 7) == 5))
		return false;
	take_flow(bytes, &op, out);
	out->bytes = op.at + 1 + operand_bytes(bytes, &op);
	return out->bytes < TAPIR_X86_READ_BYTES;
}

/* ---- a function ----------------------------------------------------------------------------- */

struct part {
	uint64_t from_va, to_va;
};

struct walk {
	struct tapir_elf *elf;
	struct part parts[MAX_PARTS];
	unsigned part_cnt;
	struct tapir_returns *out;
};

/* Finds the function at this address, or the part of one that was moved there. */
static bool find_part(const struct walk *w, uint64_t va, bool wants_cold, struct part *out)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	struct tapir_elf_syms syms;

	for (unsigned t = 0; t < 2; t++) {
		if (tapir_elf__syms(w->elf, types[t], &syms))
			continue;
		for (size_t i = 1; i < syms.cnt; i++) {
			const Elf64_Sym *s = &syms.syms[i];

			if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
			    !s->st_size || va < s->st_value || va - s->st_value >= s->st_size ||
			    (wants_cold
				     ? !tapir_elf_function__is_cold(tapir_elf_syms__name(&syms, i))
				     : s->st_value != va))
				continue;
			*out = (struct part){s->st_value, s->st_value + s->st_size};
			return true;
		}
	}
	return false;
}

static bool find_go_part(const struct walk *w, uint64_t va, struct part *out)
{
	struct tapir_go_function f;
	struct tapir_go_table t;

	if (!tapir_go_table__open(w->elf, &t))
		return false;
	for (uint32_t i = 0; i < t.function_cnt; i++)
		if (tapir_go_table__function(&t, i, &f) && f.start_va == va) {
			*out = (struct part){f.start_va, f.start_va + f.size};
			return true;
		}
	return false;
}

static bool is_inside(struct walk *w, uint64_t va)
{
	struct part part;

	for (unsigned i = 0; i < w->part_cnt; i++)
		if (va >= w->parts[i].from_va && va < w->parts[i].to_va)
			return true;
	if (w->part_cnt == MAX_PARTS || !find_part(w, va, true, &part))
		return false;
	w->parts[w->part_cnt++] = part;
	return true;
}

static const char *take_insn(struct walk *w, uint64_t va, const struct tapir_x86_insn *insn)
{
	if (insn->flow == TAPIR_X86_ANYWHERE)
		return "jumps to where a register says";
	if (insn->flow == TAPIR_X86_JUMP && !is_inside(w, va + insn->bytes + (uint64_t)insn->jump))
		return "may end in a jump to another function";
	if (insn->flow != TAPIR_X86_RETURN)
		return NULL;
	if (w->out->cnt == TAPIR_MAX_RETURNS)
		return "has more than 64 returns";
	return tapir_elf__va_to_off(w->elf, va, &w->out->offs[w->out->cnt++])
		       ? NULL
		       : "is not in the file";
}

static const char *walk_part(struct walk *w, const struct part *part)
{
	uint8_t bytes[TAPIR_X86_READ_BYTES];
	struct tapir_x86_insn insn;
	const char *why = NULL;
	uint64_t off;

	if (part->to_va - part->from_va > MAX_CODE_BYTES)
		return "has more than 1 MB of code";
	for (uint64_t va = part->from_va; !why && va < part->to_va; va += insn.bytes) {
		ssize_t got =
			tapir_elf__va_to_off(w->elf, va, &off)
				? pread(tapir_elf__fd(w->elf), bytes, sizeof(bytes), (off_t)off)
				: -1;

		if (got <= 0)
			return "is not in the file";
		memset(bytes + got, 0, sizeof(bytes) - (size_t)got);
		if (!tapir_x86_insn__decode(bytes, &insn) || insn.bytes > part->to_va - va)
			return "has code that tapir cannot read";
		why = take_insn(w, va, &insn);
	}
	return why;
}

const char *tapir_returns__find(struct tapir_elf *elf, uint64_t off, struct tapir_returns *out)
{
	struct walk w = {.elf = elf, .out = out};
	const char *why = NULL;
	uint64_t va;

	out->cnt = 0;
	if (tapir_elf__machine(elf) != EM_X86_64 || !tapir_elf__off_to_va(elf, off, &va) ||
	    (!find_part(&w, va, false, &w.parts[0]) && !find_go_part(&w, va, &w.parts[0])))
		return "has a length that the file does not say";
	w.part_cnt = 1;
	for (unsigned i = 0; !why && i < w.part_cnt; i++)
		why = walk_part(&w, &w.parts[i]);
	return why ? why : out->cnt ? NULL : "never returns";
}

bool tapir_returns__may_throw(struct tapir_elf *elf)
{
	static const char *const names[] = {"__gxx_personality_v0", "__cxa_throw",
					    "rust_eh_personality", "_Unwind_RaiseException"};
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct tapir_elf_syms syms;

	for (unsigned t = 0; t < 2; t++) {
		if (tapir_elf__syms(elf, types[t], &syms))
			continue;
		for (size_t i = 1; i < syms.cnt; i++)
			for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++)
				if (!strncmp(tapir_elf_syms__name(&syms, i), names[n],
					     strlen(names[n])))
					return true;
	}
	return false;
}
