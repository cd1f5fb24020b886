// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The USDT probes of an ELF file.
 *
 * What a probe is. A program with USDT ("user-level statically defined tracing") probes is compiled
 * with a macro such as DTRACE_PROBE2(shop, order, id, total) or include/tapir/usdt.h's TAPIR_PROBE.
 * At each such site the compiler emits one nop and one note, nothing else: no call, no symbol, no
 * registration at run time. A tracer finds the notes in the file, writes a breakpoint over the nop
 * (a uprobe at a file offset, so it holds in every process that maps the file), and when it is hit
 * reads the arguments where the note says they are.
 *
 * The note. It is of type 3, with the name "stapsdt", in the section .note.stapsdt, which is not
 * loaded. It holds, in this order:
 *
 *   u64   the address of the nop
 *   u64   the address that the section .stapsdt.base had when the note was written
 *   u64   the address of the semaphore, or 0
 *   text  provider, name and arguments: three strings, each with its NUL
 *
 * Several notes may have the same provider and name: inlining and templates copy a site, and each
 * copy is traced on its own, with its own argument locations.
 *
 * The base. A tool that moves a finished file (prelink) does not know the addresses in a note, but
 * it moves the section .stapsdt.base, whose only byte exists for this purpose. The difference
 * between the section's address and the second word is therefore added to the other two words. The
 * addresses are link-time ones; attaching needs file offsets, found by the program header (PT_LOAD)
 * that holds the address. A site must be in an executable one and a semaphore in a writable one, or
 * the note is invalid and counted.
 *
 * The semaphore. Preparing arguments can cost more than the probe itself. A program may guard that
 * code with a 16-bit counter: 0 means that no tracer is attached. The kernel increments it in each
 * process when a probe is attached and decrements it when it is detached, because the tracer passes
 * its file offset along with the site's.
 *
 * The arguments. "-4@%edi 8@-16(%rbp)": each one is a size in bytes (negative: signed), '@', and an
 * assembler operand. elf/operand.h parses that text. The text knows neither a name nor what the
 * value means: a pointer looks like any 8-byte number. Names and types come from tables of
 * well-known providers (decode/usdt_hints.h), from a SPEC, or from the note below.
 *
 * The companion. include/tapir/usdt.h adds a note of type 1, with the name "tapir", in the section
 * .note.tapir: the address of its site, one byte for the kind of each argument and a NUL, then the
 * names of the arguments, each with its NUL. For an event of a program that links libtapir
 * (include/tapir/provider.h) there is one of type 2 too: the site, then u64 keywords, u16 id, u8
 * version, u8 level, u32 0. Other tools ignore both.
 *
 * All of this is input that anyone can write. Every string and count is bounded, each operand that
 * cannot be read keeps its reason, and a malformed note costs only itself.
 */
#include "elf/notes.h"

#include "base/diag.h"
#include "base/map.h"
#include "elf/image.h"
#include "elf/note_iter.h"
#include "elf/operand.h"
#include "elf/resolve.h"

#include <errno.h>
#include <string.h>

#define STAPSDT_TYPE   3
#define TAPIR_TYPE     1
#define TAPIR_ABOUT    2
#define TAPIR_TAKEN    3
#define MAX_NAME_BYTES 511u
#define MAX_ARGS_BYTES 8191u
#define MAX_TEXT_BYTES (64u << 20) /* of a note section; seen: 56 KB */

struct reader {
	struct tapir_elf *elf;
	struct tapir_resolver *resolver;
	const Elf64_Shdr *base; /* .stapsdt.base or NULL */
	struct tapir_usdt_notes notes;
	size_t dropped_cnt;
};

/* Consumes one NUL-terminated string of at most max bytes; NULL: there is none. */
static const char *take_string(const uint8_t **pos, size_t *left, size_t max)
{
	const char *text = (const char *)*pos;
	size_t len = strnlen(text, *left);

	if (len == *left || len > max)
		return NULL;
	*pos += len + 1;
	*left -= len + 1;
	return text;
}

/* A probe is named on command lines and terminals: visible characters only. */
static bool is_name(const char *text)
{
	if (!text || !*text)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

static bool file_offset_of(const struct tapir_elf *elf, uint64_t va, uint32_t segment_flag,
			   uint64_t *off)
{
	const Elf64_Phdr *load = tapir_elf__load_at(elf, va);

	return load && (load->p_flags & segment_flag) && tapir_elf__va_to_off(elf, va, off);
}

/* addresses: site, base, semaphore. */
static bool set_note_offsets(struct reader *r, const uint64_t addresses[3],
			     struct tapir_usdt_note *note)
{
	uint64_t shift = r->base && addresses[1] ? r->base->sh_addr - addresses[1] : 0;

	note->note_va = addresses[0];
	note->site_va = addresses[0] + shift;
	if (!file_offset_of(r->elf, note->site_va, PF_X, &note->site_off))
		return false;
	if (!addresses[2])
		return true;
	note->semaphore_va = addresses[2] + shift;
	return file_offset_of(r->elf, note->semaphore_va, PF_W, &note->semaphore_off);
}

static void read_args(struct reader *r, struct tapir_usdt_note *note)
{
	struct tapir_operand_ctx ctx = {.resolver = r->resolver, .site_va = note->site_va};
	bool known = tapir_elf__machine(r->elf) == EM_X86_64;
	const char *pos = note->args_text, *arg;
	size_t len;

	while (tapir_operand__split(&pos, &arg, &len)) {
		enum tapir_operand_reason reason = TAPIR_OPERAND_SYNTAX;
		unsigned idx = note->arg_cnt;

		if (idx == TAPIR_MAX_ARGS) {
			note->dropped_arg_cnt++;
			continue;
		}
		if (known)
			tapir_operand__parse(arg, len, &ctx, &note->args[idx], &reason);
		note->reasons[idx] = (uint8_t)reason;
		note->arg_cnt++;
	}
}

static int add_note(struct reader *r, const struct tapir_elf_note *raw)
{
	const uint8_t *pos = raw->desc;
	size_t left = raw->desc_bytes;
	struct tapir_usdt_note note = {};
	uint64_t addresses[3];

	if (left < sizeof(addresses))
		return -EBADMSG;
	memcpy(addresses, pos, sizeof(addresses));
	pos += sizeof(addresses);
	left -= sizeof(addresses);
	note.provider = take_string(&pos, &left, MAX_NAME_BYTES);
	note.name = note.provider ? take_string(&pos, &left, MAX_NAME_BYTES) : NULL;
	note.args_text = note.name ? take_string(&pos, &left, MAX_ARGS_BYTES) : NULL;
	if (!is_name(note.provider) || !is_name(note.name) || !note.args_text ||
	    !set_note_offsets(r, addresses, &note))
		return -EBADMSG;
	read_args(r, &note);
	return tapir_vec__push(&r->notes, note) ? 0 : -ENOMEM;
}

/* The section's bytes with a NUL after them, freed by the caller; NULL: no such section. */
static int copy_section(struct tapir_elf *elf, const char *name, char **out, size_t *len,
			uint64_t *align)
{
	const Elf64_Shdr *sec = tapir_elf__section(elf, name);
	const void *data;
	int err;

	if (!sec || sec->sh_type != SHT_NOTE)
		return 0;
	if (sec->sh_size > MAX_TEXT_BYTES)
		return tapir_diag__fail(-EFBIG, "%s: section %s is too large for notes",
					tapir_elf__name(elf), name);
	err = tapir_elf__data(elf, sec, &data, len);
	if (err)
		return err == -ENODATA ? 0 : err;
	*out = malloc(*len + 1);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, data, *len);
	(*out)[*len] = '\0';
	*align = sec->sh_addralign;
	return 0;
}

static int read_probes(struct reader *r)
{
	struct tapir_note_iter it;
	struct tapir_elf_note raw;
	uint64_t align = 0;
	size_t len = 0;
	int err = copy_section(r->elf, ".note.stapsdt", &r->notes.text, &len, &align);

	if (err || !r->notes.text)
		return err;
	r->base = tapir_elf__section(r->elf, ".stapsdt.base");
	it = tapir_note_iter__over(r->notes.text, len, align);
	while (!err && tapir_note_iter__next(&it, &raw)) {
		if (raw.type != STAPSDT_TYPE || strcmp(raw.name, "stapsdt") != 0)
			continue;
		if (r->notes.cnt == TAPIR_MAX_NOTES) {
			r->dropped_cnt++;
			continue;
		}
		err = add_note(r, &raw);
		/*
		 * A note that is wrong costs itself; all other failures are those of this program.
		 */
		if (err == -EBADMSG) {
			r->notes.bad_cnt++;
			err = 0;
		}
	}
	r->notes.bad_cnt += it.broken;
	r->notes.bad_probe_cnt = r->notes.bad_cnt;
	return err;
}

/* ---- .note.tapir ------------------------------------------------------------------------ */

static bool attach_kinds(struct tapir_usdt_note *note, const char *kinds, const uint8_t *pos,
			 size_t left)
{
	size_t cnt = strlen(kinds);

	if (note->kinds[0] || cnt != note->arg_cnt || strspn(kinds, "iufpsbc") != cnt)
		return false;
	memcpy(note->kinds, kinds, cnt);
	for (size_t i = 0; i < cnt; i++) {
		const char *name = take_string(&pos, &left, MAX_NAME_BYTES);

		if (!name)
			break; /* names are optional, and may end early */
		note->arg_names[i] = is_name(name) ? name : NULL;
	}
	return true;
}

/* The note at whose site one of our notes begins; NULL: there is none. */
static struct tapir_usdt_note *take_site(struct reader *r, const struct tapir_map *by_site,
					 const uint8_t **pos, size_t *left)
{
	uint64_t site;
	const uint64_t *idx;

	if (*left < sizeof(site))
		return NULL;
	memcpy(&site, *pos, sizeof(site));
	*pos += sizeof(site);
	*left -= sizeof(site);
	idx = tapir_map__get(by_site, site);
	return idx ? &r->notes.data[*idx] : NULL;
}

static bool add_kinds(struct tapir_usdt_note *note, const uint8_t *pos, size_t left)
{
	const char *kinds = take_string(&pos, &left, TAPIR_MAX_ARGS);

	return kinds && attach_kinds(note, kinds, pos, left);
}

static bool add_about(struct tapir_usdt_note *note, const uint8_t *pos, size_t left)
{
	struct {
		uint64_t keywords;
		uint16_t id;
		uint8_t version, level;
		uint32_t zero;
	} about;

	if (left != sizeof(about) || note->has_about)
		return false;
	memcpy(&about, pos, sizeof(about));
	if (about.level > 5)
		return false;
	note->keywords = about.keywords;
	note->event_id = about.id;
	note->version = about.version;
	note->level = about.level;
	note->has_about = true;
	return true;
}

static bool add_taken(struct tapir_usdt_note *note, const uint8_t *pos, size_t left,
		      struct tapir_resolver *resolver)
{
	const struct tapir_operand_ctx ctx = {.resolver = resolver, .site_va = note->site_va};
	enum tapir_operand_reason reason;
	const char *text = take_string(&pos, &left, MAX_NAME_BYTES);
	struct tapir_operand op = {};

	if (!text || note->taken.kind != TAPIR_OPERAND_NONE)
		return false;
	tapir_operand__parse(text, strlen(text), &ctx, &op, &reason);
	if (op.size != sizeof(uint64_t) ||
	    (op.kind != TAPIR_OPERAND_REG && op.kind != TAPIR_OPERAND_MEM))
		return op.kind == TAPIR_OPERAND_CONST; /* no other event reaches the site */
	note->taken = op;
	return true;
}

static bool add_ours(struct reader *r, const struct tapir_map *by_site,
		     const struct tapir_elf_note *raw)
{
	const uint8_t *pos = raw->desc;
	size_t left = raw->desc_bytes;
	struct tapir_usdt_note *note = take_site(r, by_site, &pos, &left);

	if (!note)
		return false;
	if (raw->type == TAPIR_TAKEN)
		return add_taken(note, pos, left, r->resolver);
	return raw->type == TAPIR_TYPE ? add_kinds(note, pos, left) : add_about(note, pos, left);
}

static int index_sites(const struct tapir_usdt_notes *notes, struct tapir_map *by_site)
{
	for (size_t i = 0; i < notes->cnt; i++) {
		bool is_new;
		uint64_t *idx = tapir_map__put(by_site, notes->data[i].note_va, &is_new);

		if (!idx)
			return -ENOMEM;
		if (is_new)
			*idx = i;
	}
	return 0;
}

static int read_kinds(struct reader *r)
{
	struct tapir_map by_site = {};
	struct tapir_note_iter it;
	struct tapir_elf_note raw;
	uint64_t align = 0;
	size_t len = 0;
	int err = copy_section(r->elf, ".note.tapir", &r->notes.kinds_text, &len, &align);

	if (err || !r->notes.kinds_text)
		return err;
	err = index_sites(&r->notes, &by_site);
	it = tapir_note_iter__over(r->notes.kinds_text, len, align);
	while (!err && tapir_note_iter__next(&it, &raw))
		if (raw.type >= TAPIR_TYPE && raw.type <= TAPIR_TAKEN &&
		    strcmp(raw.name, "tapir") == 0 && !add_ours(r, &by_site, &raw))
			r->notes.bad_cnt++;
	r->notes.bad_cnt += it.broken;
	tapir_map__fini(&by_site);
	return err;
}

/* ---- the list --------------------------------------------------------------------------- */

int tapir_usdt_notes__read(struct tapir_elf *elf, struct tapir_usdt_notes *out)
{
	struct reader r = {.elf = elf, .resolver = tapir_resolver__new(elf)};
	int err = r.resolver ? read_probes(&r) : -ENOMEM;

	if (!err)
		err = read_kinds(&r);
	tapir_resolver__free(r.resolver);
	if (err) {
		tapir_usdt_notes__fini(&r.notes);
		return err;
	}
	if (r.dropped_cnt)
		tapir_diag__add("%s: only the first %u USDT notes are read, %zu are dropped",
				tapir_elf__name(elf), TAPIR_MAX_NOTES, r.dropped_cnt);
	*out = r.notes;
	return (int)r.notes.cnt;
}

void tapir_usdt_notes__fini(struct tapir_usdt_notes *notes)
{
	free(notes->text);
	free(notes->kinds_text);
	notes->text = notes->kinds_text = NULL;
	notes->bad_cnt = notes->bad_probe_cnt = 0;
	tapir_vec__fini(notes);
}

const char *tapir_usdt_note__arg_text(const struct tapir_usdt_note *note, unsigned idx, size_t *len)
{
	const char *pos = note->args_text, *arg = "";

	*len = 0;
	for (unsigned i = 0; i <= idx; i++)
		if (!tapir_operand__split(&pos, &arg, len))
			return "";
	return arg;
}
