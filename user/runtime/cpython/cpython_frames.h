/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_frames.h - which Python functions a thread of CPython runs, by the interpreter's own
 * lists: of its threads, and of each thread's frames. The layouts are those of 3.11 and 3.12, which
 * do not change within a version, and what 3.13 to 3.15 say of themselves (_Py_DebugOffsets); of
 * other versions nothing is known.
 *
 * Nothing is asked of the interpreter. Its memory may hold anything and changes while it is read,
 * unless the thread sleeps: what does not look like a function's names is none. Pure but for reads.
 */
#ifndef TAPIR_USER_CPYTHON_FRAMES_H
#define TAPIR_USER_CPYTHON_FRAMES_H

#include "base/map.h"
#include "base/str.h"
#include "runtime/interp_merge.h"
#include "runtime/process_memory.h"

/* The symbols that CPython exports and this module needs. */
enum {
	TAPIR_CPYTHON_VERSION,	 /* Py_Version, since 3.11 */
	TAPIR_CPYTHON_RUNTIME,	 /* _PyRuntime */
	TAPIR_CPYTHON_LOOP,	 /* _PyEval_EvalFrameDefault */
	TAPIR_CPYTHON_CODE,	 /* PyCode_Type, the type of what functions are made of */
	TAPIR_CPYTHON_STATE,	 /* PyGILState_GetThisThreadState */
	TAPIR_CPYTHON_COROUTINE, /* PyCoro_Type, PyGen_Type, PyAsyncGen_Type */
	TAPIR_CPYTHON_GENERATOR,
	TAPIR_CPYTHON_ASYNC_GENERATOR,
	TAPIR_CPYTHON_EXPORT_CNT
};

/* Offsets of members within their structures, in bytes. */
struct tapir_cpython_layout {
	uint64_t interpreters;	   /* of _PyRuntime: the first one */
	uint64_t interpreter_next; /* of an interpreter: the next one, its first thread */
	uint64_t threads;
	uint64_t gc;		   /* of an interpreter: the state of its collector; 0: not known */
	uint64_t thread_next, tid; /* of a thread, by the kernel's number */
	uint64_t frame;		   /* its innermost frame; has_cframe: a word that leads there */
	uint64_t frame_of_cframe;
	bool has_cframe;
	uint64_t code, previous; /* of a frame */
	uint64_t owner;		 /* a byte; has_entry: is_entry instead */
	bool has_entry;
	uint64_t file, name;		     /* of code: texts */
	uint64_t text_len, text_state;	     /* of a text */
	uint64_t ascii_bytes, compact_bytes; /* what precedes its characters */
};

struct tapir_cpython {
	uint64_t runtime_va;
	uint16_t version;	       /* 0x030c: 3.12 */
	struct tapir_interp_loop loop; /* the function that runs instructions */
	uint64_t code_type_va;	       /* 0: not known */
	uint64_t coroutine_type_va, generator_type_va, async_generator_type_va;
	/*
	 * Each thread's state, which is set while the thread has not the lock, too: a pthread_key_t
	 * or a thread-local variable; TAPIR_INTERP_NONE: not known.
	 */
	uint8_t root; /* enum tapir_interp_root */
	uint64_t root_va;
	struct tapir_cpython_layout layout;
};

struct tapir_interp;

/* False: its version is not known. Sets all but the end of the loop. */
bool tapir_cpython__read(struct tapir_cpython *out, const struct tapir_process_memory *memory,
			 const uint64_t vas[TAPIR_CPYTHON_EXPORT_CNT]);

/* Adds the states of its threads, by the numbers that the innermost namespace has for them. */
void tapir_cpython__threads(const struct tapir_cpython *python,
			    const struct tapir_process_memory *memory,
			    struct tapir_map *state_by_tid);

/* The frames of a thread with that state, innermost first; returns their number. */
size_t tapir_cpython__frames(const struct tapir_cpython *python,
			     const struct tapir_process_memory *memory, uint64_t state_va,
			     struct tapir_interp_function *out, size_t cnt);

/* Describes to BPF programs how they find the frames of a thread. False: they cannot. */
bool tapir_cpython__interp(const struct tapir_cpython *python, struct tapir_interp *out);

/* Adds at most max_cnt characters of a str. False: it is none, and out may hold a part. */
bool tapir_cpython__add_text(const struct tapir_cpython_layout *l,
			     const struct tapir_process_memory *memory, uint64_t va, size_t max_cnt,
			     struct tapir_str *out);

/* "py::Shop.draw:/srv/shop.py", as in a perf map of CPython. False: it is no function, and out may
 * hold a part. */
bool tapir_cpython__add_name(const struct tapir_cpython *python,
			     const struct tapir_process_memory *memory, uint64_t code_va,
			     struct tapir_str *out);

#endif
