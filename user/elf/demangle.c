// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Demangling by libiberty, with a limit. A name of a hundred bytes can expand to gigabytes of text
 * (each substitution may double it), and libiberty does not limit it: the text is received piece by
 * piece, and at the limit a longjmp leaves the demangler. That is safe because the callback variant
 * of the C++ demangler keeps its state on the stack; the Rust one may leak a decoded identifier,
 * once for each name that is refused.
 */
#include "elf/demangle.h"

#include "base/str.h"
#include "elf/rust_name.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define MAX_MANGLED_BYTES (8u << 10)
#define MAX_PLAIN_BYTES	  (16u << 10)

struct plain {
	struct tapir_str text;
	jmp_buf enough;
};

static void take_piece(const char *piece, size_t len, void *arg)
{
	struct plain *p = arg;

	if (!len) /* then piece may be NULL */
		return;
	if (p->text.len + len > MAX_PLAIN_BYTES)
		longjmp(p->enough, 1);
	tapir_str__add(&p->text, piece, len);
}

/* _R: Rust v0. _ZN...17h<16 hex digits>E: Rust as it was before, else C++ like every _Z. */
static bool demangle(const char *name, int cxx_options, struct plain *p)
{
	if (setjmp(p->enough))
		return false;
	if (rust_demangle_callback(name, DMGL_NO_OPTS, take_piece, p))
		return true;
	tapir_str__clear(&p->text);
	return cplus_demangle_v3_callback(name, cxx_options, take_piece, p);
}

static char *demangle_with(const char *name, int cxx_options)
{
	struct plain p = {};

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, MAX_MANGLED_BYTES) == MAX_MANGLED_BYTES ||
	    (name[1] == 'R' && !tapir_rust_name__is_cheap(name)))
		return NULL;
	if (demangle(name, cxx_options, &p) && p.text.len && !p.text.failed)
		return p.text.data;
	tapir_str__fini(&p.text);
	return NULL;
}

char *tapir_demangle(const char *name)
{
	return demangle_with(name, DMGL_NO_OPTS);
}

char *tapir_demangle__with_params(const char *name)
{
	return demangle_with(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP);
}
