/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_names.h - names of generated code: for each process that has some, from its perf map and
 * jitdump, from its JVM on request and while it compiles, and from its .NET runtime on request.
 *
 * Runs on the session thread. Files are read piece by piece, so that a large one does not delay
 * events; slow runtimes (a JVM) are queried by a separate thread.
 */
#ifndef TAPIR_USER_CODE_NAMES_H
#define TAPIR_USER_CODE_NAMES_H

#include "symbol/jit_table.h"
#include "trace/catalog.h"

/*
 * The events that report generated code as it appears: enabled wherever stacks are recorded.
 * HotSpot's compiled__method__unload has no address (jvm_methods.h): a name ends when the next
 * takes its place.
 */
#define TAPIR_CODE_NAMES_SPEC "hotspot:compiled__method__load"

struct tapir_code_names;

/*
 * catalog is borrowed: names that changed are described in it. dotnet_reports_methods: the first
 * snapshot of a .NET process waits a moment for __reports_methods, so that it needs no second one.
 */
int tapir_code_names__new(struct tapir_catalog *catalog, bool dotnet_reports_methods,
			  struct tapir_code_names **out);
void tapir_code_names__free(struct tapir_code_names *n);

/* Takes every PROCESS and MAPPING record; fd: the mapped file, borrowed; -1 none. */
void tapir_code_names__on_process(struct tapir_code_names *n, const struct tapir_rec_process *rec);
void tapir_code_names__on_mapping(struct tapir_code_names *n, const struct tapir_rec_mapping *rec,
				  int fd);

/* Takes every PROBE record: some of them report generated code. */
void tapir_code_names__on_probe(struct tapir_code_names *n, const struct tapir_rec_probe *rec);

/* Takes every EVENT record. True: only tapir itself requested it, so it is not to be written. */
bool tapir_code_names__on_event(struct tapir_code_names *n, const struct tapir_rec_event *rec);

/* Notes that a .NET process sends events of what it compiles from time_ns on. */
void tapir_code_names__reports_methods(struct tapir_code_names *n, uint32_t tgid, uint64_t time_ns);
/*
 * Notes that events of the probe were lost: if they report code, no process is assumed to have
 * reported all.
 */
void tapir_code_names__on_loss(struct tapir_code_names *n, uint32_t probe_id);

/* Returns true if only tapir needs the events of that probe. */
bool tapir_code_names__is_for_names(const struct tapir_code_names *n, uint32_t probe_id);

/*
 * Reads on, a piece of each file. 1: there is more; 0; or the writer's error. is_last: the
 * recording ends: what can still be requested is, and is worth waiting a moment for.
 */
int tapir_code_names__read(struct tapir_code_names *n, uint64_t now_ns, bool is_last);
/* Returns true if a process may write more. */
bool tapir_code_names__has_files(const struct tapir_code_names *n);

/* Finds the name of generated code at va; *out is borrowed until the next call of any of these. */
bool tapir_code_names__find(struct tapir_code_names *n, uint32_t tgid, uint64_t va,
			    uint64_t time_ns, struct tapir_jit_name *out);

/* Describes it as code of tgid: the requested process, maybe a child of the one that created it. */
int tapir_code_names__describe(struct tapir_code_names *n, uint32_t tgid,
			       const struct tapir_jit_name *name);

/* Returns true if the process may name code after running it. */
bool tapir_code_names__have_pending(const struct tapir_code_names *n, uint32_t tgid);

/*
 * Returns true if it is worth waiting for the names of what the process ran at time_ns: a query of
 * a runtime, or a file being read, may deliver them by until_ns.
 */
bool tapir_code_names__poll(const struct tapir_code_names *n, uint32_t tgid, uint64_t time_ns,
			    uint64_t until_ns);

/* Notes that generated code at va ran at time_ns and has no name. True: it may get one later. */
bool tapir_code_names__miss(struct tapir_code_names *n, const struct tapir_rec_mapping *mapping,
			    uint64_t va, uint64_t time_ns);

/*
 * Describes (abi.h) what is inlined at va, in code that has a JIT record in the catalog. is_return:
 * va is the byte before a return address. 0: nothing is known of that; else 1 or the writer's
 * error.
 */
int tapir_code_names__name_inlined(struct tapir_code_names *n, uint32_t tgid, uint64_t va,
				   uint64_t time_ns, bool is_return);

/*
 * Adds the name that code of a file in the mapping has by the file itself. False: it has another
 * one.
 */
bool tapir_code_names__add_compiled(struct tapir_code_names *n,
				    const struct tapir_rec_mapping *mapping, uint64_t start_va,
				    uint64_t size, struct tapir_sv raw);

/*
 * Names an address in CoreCLR's code memory that neither a complete snapshot nor its events have a
 * method for: it is one of its stubs or, at the start of that memory, a copy of a write barrier.
 * (So is a method that was compiled and freed between two snapshots.) False: not such an address.
 */
bool tapir_code_names__name_stub(struct tapir_code_names *n,
				 const struct tapir_rec_mapping *mapping, uint64_t va,
				 uint64_t time_ns);

#endif
