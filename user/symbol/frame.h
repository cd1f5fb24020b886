/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - what the catalog knows of a frame of a stack: its function, else its file. Thread
 * safety: that of the catalog.
 */
#ifndef TAPIR_USER_FRAME_H
#define TAPIR_USER_FRAME_H

#include "base/str.h"
#include "trace/catalog.h"
#include "trace/record.h"

/* The location of an address. Names and paths are borrowed from the catalog. */
struct tapir_frame {
	uint64_t va;
	struct tapir_sv name;	/* empty: no name is known */
	struct tapir_sv range;	/* of a function without a name: "fn_5cd7f0"; else empty */
	struct tapir_sv module; /* the file's path; empty: no mapping is known */
	uint64_t offset;	/* from the name's start; without a name, in the module */
	uint64_t range_off;	/* from the range's start */
	bool is_kernel;
	bool awaits;	     /* it does not run: TAPIR_VA_AWAITS */
	bool is_jit;	     /* code made while the program ran: a JIT name, or memory of no file */
	bool is_interpreted; /* the name is that of what an interpreter ran there */
	/* With --lines and --inline: all functions at the address, and of __function, which it is.
	 */
	struct tapir_source_locations locations;
	struct tapir_source_location source;
	struct tapir_sv inlined; /* of JIT code: innermost first, with line feeds between them */
	bool is_inlined;
};

/* Frame idx of a stack; frame 0 is where the thread was, the others are return addresses. */
struct tapir_frame tapir_frame__of(const struct tapir_catalog *catalog, uint32_t tgid,
				   uint64_t time_ns, const struct tapir_stack_view *stack,
				   unsigned idx);

/*
 * An address may be in several functions: those that are inlined there, innermost first, and last
 * the function itself. __function_cnt returns how many, at least 1; __function the frame of each,
 * idx below that.
 */
unsigned tapir_frame__function_cnt(const struct tapir_frame *frame);
struct tapir_frame tapir_frame__function(const struct tapir_frame *frame, unsigned idx);

/* "pool.c:120", "pool.c:120, inlined" or "inlined" of a __function; false: nothing to add. */
bool tapir_frame__add_source(struct tapir_str *out, const struct tapir_frame *function);

/*
 * The name as it is shown: a .NET method's in its readable form (dotnet_name.h), which is put into
 * buf, else frame->name; one that awaits ends in " (awaits)". *tier (may be NULL): how a .NET
 * method was compiled, or empty.
 */
struct tapir_sv tapir_frame__shown_name(const struct tapir_frame *frame, struct tapir_str *buf,
					struct tapir_sv *tier);

/* Shows names as runtimes give them from now on. Call it before there is a second thread. */
void tapir_frame__show_raw_names(void);

/* The module without its directories. */
struct tapir_sv tapir_frame__module_name(const struct tapir_frame *frame);

/*
 * Adds the name of a frame without a symbol: "libcoreclr.so!fn_5cd7f0", the same for all of a
 * function; "libc.so.6+0x271ca" where not even the function's range is known, "[jit]+0x1f3a" in
 * executable memory of no file, or "0x7f00..." where no mapping is known. The file's name is added
 * by add: tapir_str__add, or tapir_str__add_printable.
 */
void tapir_frame__add_location(struct tapir_str *out, const struct tapir_frame *frame,
			       void (*add)(struct tapir_str *out, const char *bytes, size_t len));

#endif
