/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_frames.h - which Python functions a thread of CPython runs, by the interpreter's own
 * lists: of its threads, and of each thread's frames. The layouts are those of 3.11 and 3.12, which
 * do not change within a version, and what 3.13 says of itself (_Py_DebugOffsets); of other
 * versions nothing is known.
 *
 * Nothing is asked of the interpreter. Its memory may hold anything and changes meanwhile, unless
 * the thread sleeps: what does not look like a function's names is none. Pure but for reads.
 */
#ifndef TAPIR_USER_CPYTHON_FRAMES_H
#define TAPIR_USER_CPYTHON_FRAMES_H

#include "base/map.h"
#include "base/str.h"
#include "runtime/process_memory.h"

/* What CPython exports that is needed. */
enum {
	TAPIR_CPYTHON_VERSION, /* Py_Version, since 3.11 */
	TAPIR_CPYTHON_RUNTIME, /* _PyRuntime */
	TAPIR_CPYTHON_LOOP,    /* _PyEval_EvalFrameDefault */
	TAPIR_CPYTHON_CODE,    /* PyCode_Type, the type of what functions are made of */
	TAPIR_CPYTHON_STATE,   /* PyGILState_GetThisThreadState */
	TAPIR_CPYTHON_EXPORT_CNT
};

/* Where things are in what they are part of, in bytes. */
struct tapir_cpython_layout {
	uint64_t interpreters;	   /* of _PyRuntime: the first one */
	uint64_t interpreter_next; /* of an interpreter: the next one, its first thread */
	uint64_t threads;
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
	uint64_t loop_va, loop_end_va; /* the function that runs instructions */
	uint64_t code_type_va;	       /* 0: not known */
	/*
	 * The pthread_key_t of each thread's state, which is set while the thread has not the lock,
	 * too; 0: not known.
	 */
	uint64_t key_va;
	struct tapir_cpython_layout layout;
};

/* A Python function that runs. The loop was called for one, and runs those it calls itself. */
struct tapir_cpython_frame {
	uint64_t code_va; /* 0: there is none, it ends those of one call of the loop */
	bool is_last;	  /* of one call of the loop */
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
			     struct tapir_cpython_frame *out, size_t cnt);

/* How BPF programs find the frames of the current thread. False: they cannot. */
bool tapir_cpython__interp(const struct tapir_cpython *python, struct tapir_interp *out);

/* "py::Shop.draw:/srv/shop.py", as in a perf map of CPython. False: it is no function, and out may
 * hold a part. */
bool tapir_cpython__add_name(const struct tapir_cpython *python,
			     const struct tapir_process_memory *memory, uint64_t code_va,
			     struct tapir_str *out);

/*
 * What tells the code at an address from other code that is there later: where its texts are. 0: it
 * is no code.
 */
uint64_t tapir_cpython__identity(const struct tapir_cpython *python,
				 const struct tapir_process_memory *memory, uint64_t code_va);

/* Who names the code of a process, and who knows whether a native frame has the function's name
 * itself: with -X perf there is code for each. */
struct tapir_cpython_namer {
	bool (*is_named)(void *ctx, uint64_t code_va);
	bool (*is_generated)(void *ctx, uint64_t native_va);
	void *ctx;
};

/*
 * A stack of native frames, innermost first, with the Python functions that each call of the loop
 * runs behind it: as addresses of the second byte of their code (return addresses of the first).
 * Those without names are left out. is_whole: both begin where the thread does, so the outermost
 * call is the one of the outermost frames, and a call that has just begun or is about to end has
 * none. Else the innermost ones belong together, and functions whose calls are beyond the end of
 * the native frames follow these. Returns how many there are; of them out has max.
 */
size_t tapir_cpython__merge(const struct tapir_cpython *python,
			    const struct tapir_cpython_frame *frames, size_t cnt,
			    const struct tapir_cpython_namer *namer, const uint64_t *native,
			    size_t native_cnt, bool is_whole, uint64_t *out, size_t max);

#endif
