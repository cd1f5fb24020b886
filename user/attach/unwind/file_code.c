// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window on the code, which moves with what is asked for, and the few instructions that padding,
 * entry points and trampolines are made of. Their lengths are decoded by bpf/insn_logic.bpf.h; what
 * is not known ends a search.
 */
#include "attach/unwind/file_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/insn_logic.bpf.h"
#include "elf/image.h"

#define MAX_CODE_BYTES (64u << 20)
#define INSN_BYTES     16u /* more than any instruction has */

void tapir_file_code__init(struct tapir_file_code *code, const struct tapir_elf *elf)
{
	uint64_t left = MAX_CODE_BYTES;
	const Elf64_Phdr *ph;

	*code = (struct tapir_file_code){.elf = elf};
	for (size_t i = 0; (ph = tapir_elf__phdr_at_idx(elf, i)); i++) {
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz ||
		    ph->p_filesz > left || ph->p_offset > UINT32_MAX - MAX_CODE_BYTES)
			continue;
		if (code->cnt == TAPIR_FILE_CODE_SEGMENTS)
			break;
		left -= ph->p_filesz;
		code->segments[code->cnt++] = (struct tapir_code_segment){
			.off = (uint32_t)ph->p_offset, .len = (uint32_t)ph->p_filesz};
	}
}

void tapir_file_code__fini(struct tapir_file_code *code)
{
	free(code->window);
	code->window = NULL;
	code->window_len = 0;
}

/* ---- the window ----------------------------------------------------------------------------- */

/* Fills the window up to the end of the file. */
static void fill_window(struct tapir_file_code *code, uint64_t off, size_t len)
{
	int fd = tapir_elf__fd(code->elf);

	code->window_off = off;
	code->window_len = 0;
	if (!code->window)
		code->window = malloc(TAPIR_FILE_CODE_WINDOW);
	while (code->window && code->window_len < len) {
		ssize_t n = pread(fd, code->window + code->window_len, len - code->window_len,
				  (off_t)(off + code->window_len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		code->window_len += (size_t)n;
	}
}

static const struct tapir_code_segment *segment_at(const struct tapir_file_code *code, uint64_t off)
{
	for (size_t i = 0; i < code->cnt; i++) {
		const struct tapir_code_segment *s = &code->segments[i];

		if (off >= s->off && off - s->off < s->len)
			return s;
	}
	return NULL;
}

const uint8_t *tapir_file_code__at(struct tapir_file_code *code, uint64_t off, size_t want,
				   size_t *len)
{
	const struct tapir_code_segment *s = segment_at(code, off);
	uint64_t there, skip = off - code->window_off;

	if (!s)
		return NULL;
	there = s->len - (off - s->off);
	want = want < there ? want : there;
	want = want < TAPIR_FILE_CODE_WINDOW ? want : TAPIR_FILE_CODE_WINDOW;
	if (off < code->window_off || skip >= code->window_len || code->window_len - skip < want) {
		fill_window(code, off,
			    there < TAPIR_FILE_CODE_WINDOW ? there : TAPIR_FILE_CODE_WINDOW);
		skip = 0;
	}
	/* Segments may overlap: the window may begin in another one, and go on behind this one. */
	*len = code->window_len - skip < there ? code->window_len - skip : there;
	return *len ? code->window + skip : NULL;
}

bool tapir_file_code__search(struct tapir_file_code *code, size_t segment_idx, const uint8_t *bytes,
			     size_t len, uint64_t *off)
{
	const struct tapir_code_segment *s = &code->segments[segment_idx];
	uint64_t at = *off < s->off ? s->off : *off;
	const uint8_t *window, *found;
	size_t there;

	while ((window = tapir_file_code__at(code, at, TAPIR_FILE_CODE_WINDOW, &there))) {
		found = memmem(window, there, bytes, len);
		if (found) {
			*off = at + (uint64_t)(found - window);
			return true;
		}
		if (there < TAPIR_FILE_CODE_WINDOW)
			break;
		at += there - len + 1;
	}
	return false;
}

/* Up to INSN_BYTES from off on, zeros after them. How many there are. */
static size_t bytes_at(struct tapir_file_code *code, uint64_t off, uint8_t *out)
{
	size_t cnt = 0;
	const uint8_t *bytes = tapir_file_code__at(code, off, INSN_BYTES, &cnt);

	memset(out, 0, INSN_BYTES);
	cnt = cnt < INSN_BYTES ? cnt : INSN_BYTES;
	if (bytes)
		memcpy(out, bytes, cnt);
	return cnt;
}

/* ---- padding -------------------------------------------------------------------------------- */

/* The length of a no-operation, a trap or a zero; 0: something else. */
static uint32_t filler_bytes(const uint8_t *bytes)
{
	uint32_t at = 0;

	if (!bytes[0] || bytes[0] == 0xcc)
		return 1;
	while (at < INSN_BYTES - 8 && (bytes[at] == 0x66 || bytes[at] == 0x2e))
		at++;
	if (bytes[at] == 0x90)
		return at + 1;
	if (bytes[at] != 0x0f || bytes[at + 1] != 0x1f)
		return 0;
	return at + 2 + tapir_insn__modrm_bytes(bytes, at + 2);
}

bool tapir_file_code__is_padding(struct tapir_file_code *code, uint32_t from_off,
				 uint32_t until_off)
{
	uint8_t bytes[INSN_BYTES];
	uint64_t off = from_off;

	while (off < until_off) {
		uint32_t len = bytes_at(code, off, bytes) ? filler_bytes(bytes) : 0;

		if (!len)
			return false;
		off += len;
	}
	return off == until_off;
}

/* ---- entry points --------------------------------------------------------------------------- */

static bool is_one_of(uint8_t op, const char *ops, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (op == (uint8_t)ops[i])
			return true;
	return false;
}

/*
 * The length of an instruction that sets up a call's arguments or the stack; 0: it is another one.
 */
static uint32_t setup_bytes(const uint8_t *bytes)
{
	static const char with_modrm[] = "\x01\x03\x21\x23\x29\x2b\x31\x33\x39\x3b\x85\x89\x8b\x8d";
	uint32_t at = (bytes[0] & 0xf0) == 0x40;
	uint8_t op = bytes[at];

	if (bytes[0] == 0xf3 && bytes[1] == 0x0f && bytes[2] == 0x1e && bytes[3] == 0xfa)
		return 4; /* endbr64 */
	if (op >= 0x50 && op <= 0x5f)
		return at + 1;
	if (op == 0x6a)
		return at + 2;
	if (op >= 0xb8 && op <= 0xbf)
		return (bytes[0] & 0xf8) == 0x48 ? 10 : at + 5; /* mov r64, imm64 */
	if (is_one_of(op, with_modrm, sizeof(with_modrm) - 1))
		return at + 1 + tapir_insn__modrm_bytes(bytes, at + 1);
	if (op == 0x83)
		return at + 2 + tapir_insn__modrm_bytes(bytes, at + 1);
	if (op == 0x81 || op == 0xc7)
		return at + 5 + tapir_insn__modrm_bytes(bytes, at + 1);
	return 0;
}

/* The length of a call or jump; 0: it is neither. */
static uint32_t leave_bytes(const uint8_t *bytes)
{
	uint32_t at = (bytes[0] & 0xf0) == 0x40, reg = bytes[at + 1] >> 3 & 7;

	if (bytes[0] == 0xe8 || bytes[0] == 0xe9)
		return 5;
	if (bytes[0] == 0xeb)
		return 2;
	if (bytes[at] == 0xff && (reg == 2 || reg == 4))
		return at + 1 + tapir_insn__modrm_bytes(bytes, at + 1);
	return 0;
}

uint32_t tapir_file_code__entry_bytes(struct tapir_file_code *code, uint32_t off,
				      uint32_t max_bytes)
{
	uint8_t bytes[INSN_BYTES];
	uint32_t len = 0, step;

	while (len < max_bytes && bytes_at(code, (uint64_t)off + len, bytes)) {
		step = leave_bytes(bytes);
		if (step) {
			len += step;
			break;
		}
		step = setup_bytes(bytes);
		if (!step)
			break;
		len += step;
	}
	return len < max_bytes ? len : max_bytes;
}
