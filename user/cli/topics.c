// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts that belong to no single command. */
#include "cli/help.h"

const struct tapir_topic tapir_topics[] = {
	{"spec", "how events are named",
	 "  SPEC  := [/PATH:]PROVIDER[:SEL[:LEVEL[:ARGS]]]\n"
	 "  SEL   := [-]ITEM{,[-]ITEM}\n"
	 "  ITEM  := ev=GLOB | kw=NAME | 0xHEX | WORD\n"
	 "  LEVEL := 0..5 or LogAlways, Critical, Error, Warning, Informational, Verbose\n"
	 "  ARGS  := KEY=VALUE{;KEY=VALUE}\n"
	 "\n"
	 "PROVIDER and event names are shell globs (quote them: '*' is the shell's too). No SEL "
	 "means\n"
	 "every event. An ITEM with '-' in front takes away; only such items mean \"all but\".\n"
	 "A WORD is a keyword where the provider has one of that name, else a glob over event "
	 "names.\n"
	 "An event with a version in its symbol (GCStart_V2) is found with and without '_V2'.\n"
	 "In PATH a ':' is written '\\:'.\n"
	 "\n"
	 "  hotspot:gc__*                             the garbage collections of a JVM\n"
	 "  postgresql:query__start,query__done       two events\n"
	 "  ruby:-line,-method__*                     all but these\n"
	 "  /opt/pg/bin/postgres:postgresql:query__*  only in this file\n"
	 "  Microsoft-Windows-DotNETRuntime:GC,Exception:Informational\n"
	 "\n"
	 "For probes compiled into a program ARGS says how an argument is read:\n"
	 "\n"
	 "  arg1=str        a NUL-terminated string (str:64: at most 64 bytes of it)\n"
	 "  arg1=strn(arg2) a string whose length is arg2\n"
	 "  arg1=buf(arg2)  arg2 bytes\n"
	 "  arg1=int, uint, hex, ptr\n"
	 "\n"
	 "  'postgresql:query__start::arg0=str'       (LEVEL left empty)\n"},
	{"environment", "what the environment changes",
	 "  TAPIR_DISABLE=NAME[,NAME]   does without these kernel features, as if they were "
	 "missing\n"
	 "                              (for tests): btf, ring_buffer, task_storage, sleepable,\n"
	 "                              uprobe_multi, perf_uprobe, cpu_clock, pid_filter\n"
	 "  NO_COLOR                    no colours, if it is set and not empty\n"},
	{"exit", "what the exit status says",
	 "  0  it worked\n"
	 "  1  it failed; the reason is on stderr\n"
	 "  2  the command line was wrong\n"
	 "  3  this kernel cannot do it, or this user may not ('tapir doctor' says which)\n"
	 "  130  a second Ctrl-C ended it: a recording holds all but its last second\n"},
	{}};
