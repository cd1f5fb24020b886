/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_frames.h - which methods of Ruby (MRI) a thread runs, by the virtual machine's control
 * frames. The layouts are those of versions 3.1 and 3.3; of others nothing is known. Instructions
 * of exported functions lead to the thread's state, to the texts of symbols, and from 3.2 on to the
 * loop.
 *
 * Nothing is asked of the virtual machine. Its memory may hold anything: what does not look like a
 * method's names is none. Pure but for reads.
 */
#ifndef TAPIR_USER_RUBY_FRAMES_H
#define TAPIR_USER_RUBY_FRAMES_H

#include "base/str.h"
#include "runtime/interp_merge.h"
#include "runtime/process_memory.h"

struct tapir_interp;
struct tapir_interp_frame;

/* The symbols that libruby exports and this module needs. */
enum {
	TAPIR_RUBY_VERSION, /* ruby_version, a text */
	TAPIR_RUBY_LOOP,    /* rb_vm_exec; 0: TAPIR_RUBY_EVAL leads there */
	TAPIR_RUBY_THREAD,  /* rb_thread_current, which begins with the thread's state */
	TAPIR_RUBY_SYMBOL, /* rb_id2str, which begins with the table of symbols; 0: there is none */
	TAPIR_RUBY_EVAL,   /* rb_iseq_eval */
	TAPIR_RUBY_EXPORT_CNT
};

struct tapir_ruby_layout;

struct tapir_ruby {
	struct tapir_interp_loop loop;
	const struct tapir_ruby_layout *layout;
	uint8_t root; /* enum tapir_interp_root */
	uint64_t root_va;
	uint64_t symbols_va; /* 0: not known; then classes and functions of C have no names */
};

/* False: its version is not known. Sets all but the end of the loop. */
bool tapir_ruby__read(struct tapir_ruby *out, const struct tapir_process_memory *memory,
		      const uint64_t vas[TAPIR_RUBY_EXPORT_CNT]);

/* Describes to BPF programs how they find the frames of a thread. */
void tapir_ruby__interp(const struct tapir_ruby *ruby, struct tapir_interp *out);

/*
 * "rb::Shop#draw:/srv/shop.rb:12", the line of its definition; "rb::block in Shop#draw:...",
 * "rb::Shop.open:...", "rb::<main>:...", "rb::Array#each:[internal]". False: it is no method, and
 * out may hold a part. *is_internal: C runs it, not the loop.
 */
bool tapir_ruby__add_name(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			  const struct tapir_interp_frame *frame, struct tapir_str *out,
			  bool *is_internal);

#endif
