// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profiles, as SPECs. A program that lacks an event is recorded without it. Per-call events
 * (methods, allocations, monitors) cost too much to be a default.
 *
 * .NET: an exception is four events at level 4, one at level 2.
 */
#include "decode/profiles.h"

#include <stddef.h>
#include <string.h>

#define DOTNET "Microsoft-Windows-DotNETRuntime:"

static const char *const defaults[] = {
	DOTNET "GC,Jit,Loader,Contention,Threading:Informational",
	DOTNET "Exception:Error",
	"hotspot:gc__*,mem__pool__gc__*",
	"hotspot:method__compile__*",
	"hotspot:class__loaded,class__unloaded",
	"hotspot:thread__start,thread__stop",
	"hotspot:vmops__*",
	"postgresql:query__*",
	"postgresql:transaction__*",
	"postgresql:lock__wait__*,deadlock__found",
	"python:gc__*",
	NULL,
};

static const char *const gc[] = {
	DOTNET "GC:Informational",
	"hotspot:gc__*,mem__pool__gc__*",
	"hotspot:vmops__*",
	"python:gc__*",
	"ruby:gc__*",
	NULL,
};

/* Samples and switches alone. */
static const char *const cpu[] = {
	NULL,
};

static const char *const exceptions[] = {
	DOTNET "Exception:Informational",
	"php:exception__*",
	"libstdcxx:throw,catch,rethrow",
	NULL,
};

static const char *const contention[] = {
	DOTNET "Contention,WaitHandle:Verbose",
	"hotspot:monitor__contended__*",
	"postgresql:lock__wait__*,lwlock__wait__*,deadlock__found",
	NULL,
};

static const char *const allocations[] = {
	DOTNET "GCAllocationTick,AllocationSampled",
	DOTNET "GCStart,GCEnd,GCHeapStats",
	"hotspot:object__alloc",
	"ruby:object__create,array__create,hash__create,string__create",
	NULL,
};

static const char *const threadpool[] = {
	DOTNET "Threading:Informational",
	DOTNET "ThreadPoolEnqueue,ThreadPoolDequeue,ThreadPoolIOEnqueue,ThreadPoolIODequeue",
	"System.Threading.Tasks.TplEventSource:Tasks:Informational",
	"hotspot:thread__*",
	NULL,
};

static const char *const http[] = {
	"Microsoft.AspNetCore.Hosting",
	"Microsoft-AspNetCore-Server-Kestrel",
	"System.Net.Http",
	"System.Net.NameResolution",
	"System.Net.Sockets",
	"System.Net.Security",
	"php:request__*",
	"node:http__*",
	NULL,
};

static const char *const everything[] = {
	DOTNET
	"GC,Jit,Loader,Contention,Threading,Exception,Type,Interop,Compilation:Informational",
	"Microsoft.AspNetCore.Hosting",
	"Microsoft-AspNetCore-Server-Kestrel",
	"Microsoft.EntityFrameworkCore",
	"System.Net.*",
	"System.Threading.Tasks.TplEventSource:Tasks:Informational",
	"System.Runtime:ev=EventCounters:Error:EventCounterIntervalSec=1",
	"hotspot:gc__*,mem__pool__gc__*",
	"hotspot:method__compile__*",
	"hotspot:class__*",
	"hotspot:thread__*",
	"hotspot:vmops__*",
	"hotspot:monitor__contended__*",
	"postgresql:*",
	"python:gc__*,import__*",
	"ruby:gc__*,require__*,raise",
	"php:request__*,exception__*",
	NULL,
};

const struct tapir_profile tapir_profiles[] = {
	{TAPIR_PROFILE_DEFAULT, "each runtime's own account of itself, cheap enough to leave on",
	 defaults},
	{"gc", "garbage collections", gc},
	{"cpu", "no events: CPU samples and context switches only (record)", cpu},
	{"exceptions", "exceptions thrown and caught: .NET, PHP, C++", exceptions},
	{"contention", "waits for locks: .NET, JVM, PostgreSQL", contention},
	{"allocations", "one per 100 KB in .NET, every object in a JVM or Ruby", allocations},
	{"threadpool", "threads, work items and tasks", threadpool},
	{"http", "HTTP, DNS, sockets, TLS in .NET; PHP and Node requests", http},
	{"everything", "all of these except single allocations", everything},
	{NULL, NULL, NULL},
};

const char *tapir_profile__name(size_t i)
{
	return i < sizeof(tapir_profiles) / sizeof(tapir_profiles[0]) ? tapir_profiles[i].name
								      : NULL;
}

const struct tapir_profile *tapir_profile__find(const char *name)
{
	for (const struct tapir_profile *p = tapir_profiles; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
