# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir-manifest: what it makes of the manifests of .NET compiles, fires and has .NET's own bytes.

Witnesses: payloads recorded from a .NET program, dtrace(1), bpftrace, readelf.
"""
import os
import re
import xml.etree.ElementTree as ElementTree

import manifest_values
from harness import EVENTS_ONLY

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")
PRINTED_BY_DOTNET = os.path.join(HERE, "..", "data", "manifests")
RUNTIME = "Microsoft-Windows-DotNETRuntime"
CHECK_LIB = {"test_each_manifest_compiles_and_fires"}  # half a minute of compilers
STRICT = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{INCLUDE}")

# In place of libtapir: every event is on, and its payload goes to stdout.
PRINTER = """
#include <stdio.h>
#include <stdlib.h>
static uint8_t room[70000];
static struct tapir_event *now;
static size_t now_bytes;
int tapir_event__begin(struct tapir_event_write *write, struct tapir_event *event, size_t bytes)
{
	if (bytes > TAPIR_PAYLOAD_BYTES)
		return printf("%u %u too large\\n", event->about->id, event->about->version), 0;
	memset(room, 0xee, sizeof(room));
	now = event;
	now_bytes = bytes;
	write->payload = room;
	return 1;
}
void tapir_event__commit(struct tapir_event_write *write)
{
	(void)write;
	printf("%u %u ", now->about->id, now->about->version);
	for (size_t i = 0; i < now_bytes; i++)
		printf("%02x", room[i]);
	if (room[now_bytes] != 0xee)
		printf(" beyond its end");
	puts("");
}
int tapir_provider__create(const char *name, const uint8_t *guid, struct tapir_event *const *events, uint32_t event_cnt,
			   const struct tapir_provider_opts *opts, const struct tapir_program_part *part,
			   struct tapir_provider **out)
{
	(void)name, (void)guid, (void)opts, (void)part, (void)out;
	for (uint32_t i = 0; i < event_cnt; i++)
		events[i]->word.half.sessions = 1;
	return 0;
}
void tapir_provider__free(struct tapir_provider *provider)
{
	(void)provider;
}
"""


def generate(t, manifest, name="made", style="tapir"):
    """The directory with what tapir-manifest makes of it."""
    out = t.path(name)
    made = t.run(os.path.join(t.build, "tapir-manifest"), manifest, "-o", out, "--style", style)
    t.eq((made.rc, made.err), (0, ""), "tapir-manifest")
    return out


def compile_c(t, text, *options, name="program"):
    with open(t.path(name + ".c"), "w", encoding="utf-8") as file:
        file.write(text)
    built = t.run(t.need("gcc"), "-O0", *STRICT, t.path(name + ".c"), *options, "-o", t.path(name), timeout=120)
    t.eq((built.rc, built.err), (0, ""), "gcc")
    return t.path(name)


def bytes_of_dotnet(t, provider):
    """(payloads that our code writes, payloads of .NET), by (id, version)."""
    wanted, calls = {}, []
    for name, number, version, payload in manifest_values.recorded():
        if name != provider.name or (number, version) not in provider.events:
            continue
        call = manifest_values.Call(provider, *provider.events[number, version], payload)
        t.ok(call.is_whole, f"{name} {number}: the manifest does not describe the payload")
        calls += ["\t{", *call.lines, "\t}"]
        wanted[number, version] = payload.hex()
    directory = generate(t, provider.file, provider.id)
    program = compile_c(t, "\n".join([f'#include "{provider.id}.h"', PRINTER, "int main(void)", "{",
                                      f"\t{provider.id}_register(NULL);", *calls, "\treturn 0;", "}", ""]),
                        f"-I{directory}", os.path.join(directory, provider.id + ".c"), name=provider.id + "_fire")
    lines = [line.split(" ", 2) for line in t.run(program).out.splitlines()]
    return {(int(number), int(version)): payload for number, version, payload in lines}, wanted


def test_payloads_are_dotnets_byte_for_byte(t):
    providers = manifest_values.providers()
    for name, at_least in ((RUNTIME, 30), ("System.Threading.Tasks.TplEventSource", 12),
                           ("System.Buffers.ArrayPoolEventSource", 4)):
        written, wanted = bytes_of_dotnet(t, providers[name])
        t.ok(len(wanted) >= at_least, f"{name}: only {len(wanted)} payloads")
        t.eq(written, wanted, name)


def functions_of(directory, provider, prefix="fire_"):
    """{name: number of arguments} of the functions that fire."""
    with open(os.path.join(directory, provider + ".h"), encoding="ascii") as header:
        found = re.findall(rf"^static inline .* {prefix}(\w+)\((.*)\)$", header.read(), re.M)
    return {name: 0 if params == "void" else params.count(",") + 1 for name, params in found}


def firing_program(t, provider, directory):
    """Fires each event once at SIGUSR1, with zeros, but GCStart_V2."""
    functions = functions_of(directory, provider.id)
    t.eq(sorted(functions), sorted(name for name, _ in provider.events.values()), "functions")
    calls = [f"\tfire_{name}({', '.join(['0'] * cnt)});" for name, cnt in functions.items() if name != "GCStart_V2"]
    text = [f'#include "{provider.id}.h"', "#include <signal.h>", "#include <stdio.h>", "int main(void)", "{",
            "\tsigset_t go;", "\tint number;", "\tsigemptyset(&go);", "\tsigaddset(&go, SIGUSR1);",
            "\tsigprocmask(SIG_BLOCK, &go, NULL);", f"\tif ({provider.id}_register(NULL))", "\t\treturn 1;",
            "\tputs(GCStart_V2_enabled() ? \"on\" : \"off\");", "\tfflush(stdout);", "\tsigwait(&go, &number);", *calls,
            "\tfire_GCStart_V2(7, 2, 1, 0, 9, 0x1122334455667788ull);", f"\t{provider.id}_unregister();",
            "\tputs(GCStart_V2_enabled() ? \"on\" : \"off\");", "\treturn 0;", "}", ""]
    return functions, compile_c(t, "\n".join(text), "-D_POSIX_C_SOURCE=200809L", f"-I{directory}",
                                os.path.join(directory, provider.id + ".c"), os.path.join(t.build, "libtapir.a"), "-pthread")


def test_each_event_of_the_runtime_fires_and_is_a_typed_probe(t):
    provider = manifest_values.providers()[RUNTIME]
    functions, program = firing_program(t, provider, generate(t, provider.file))
    listed = t.tapir("list", program).out
    t.ok(re.search(r" GCStart_V2 +\(u32 Count, u32 Depth, u32 Reason, u32 Type, u16 ClrInstanceID, u64 ClientSequenceNumber\) ", listed),
         "tapir list lacks the fields of GCStart_V2")
    sites = t.run(t.need("readelf"), "-n", program).out
    t.eq(set(re.findall(r"Name: (\w+)", sites)), set(functions), "notes as readelf reads them")
    running = t.start(program)
    running.wait_line("off")
    tapir = t.start_tapir("record", RUNTIME, *EVENTS_ONLY, "-p", running.pid, "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    watcher = t.start(t.need("bpftrace"), "-e",
                      f'usdt:{program}:{RUNTIME}:GCStart_V2 {{ printf("%d %d %lx\\n", arg0, (uint16)arg4, arg5); exit(); }}'
                      'BEGIN { printf("watching\\n"); }', "-p", running.pid)
    watcher.wait_line("watching")
    running.go()
    t.eq(running.wait().rc, 0, "exit of the program")
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    t.eq(watcher.wait().out.split("\n")[2].split(), ["7", "9", "1122334455667788"], "bpftrace")
    events = t.events(t.path("trace.tapir"))
    t.eq(sorted(event["event"] for event in events), sorted(functions), "events")
    t.eq([event["args"] for event in events if event["event"] == "GCStart_V2"],
         [{"Count": 7, "Depth": 2, "Reason": 1, "Type": 0, "ClrInstanceID": 9,
           "ClientSequenceNumber": 0x1122334455667788}], "GCStart_V2")


def manifests():
    """All that are here: those of tapir, and what a .NET 10 runtime printed of its own event sources."""
    return sorted(os.path.join(folder, name) for folder in (manifest_values.MANIFESTS, PRINTED_BY_DOTNET)
                  for name in os.listdir(folder) if name.endswith(".man"))


def fired_by(t, directory, provider, style, number):
    """{(id, version)} that a program gets which fires each event once, with zeros; compiled as C11, its header as C++11."""
    functions = functions_of(directory, provider.id, "FireEtw" if style == "coreclr" else "fire_")
    prefix = "FireEtw" if style == "coreclr" else "fire_"
    calls = [f"\t{prefix}{name}({', '.join(['0'] * cnt)});" for name, cnt in functions.items()]
    include = f'#include "{directory}/{provider.id}.h"'
    program = compile_c(t, "\n".join([include, PRINTER, "int main(void)", "{", f"\t{provider.id}_register(NULL);", *calls,
                                      "\treturn 0;", "}", ""]),
                        os.path.join(directory, provider.id + ".c"), name=f"{style}{number}")
    built = t.run(t.need("g++"), "-std=c++11", *STRICT[1:], "-fsyntax-only", "-include", os.path.join(directory, provider.id + ".h"),
                  "-x", "c++", "/dev/null", timeout=120)
    t.eq((built.rc, built.err), (0, ""), "g++")
    lines = [line.split(" ") for line in t.run(program).out.splitlines()]
    t.eq(len(lines), len(provider.events), f"{provider.name}: events that arrived")
    return {(int(line[0]), int(line[1])) for line in lines}


def test_each_manifest_compiles_and_fires(t):
    found = [(path, element) for path in manifests() for element in ElementTree.parse(path).iter()
             if manifest_values.local(element) == "provider"]
    t.ok(len(found) >= 16, f"only {len(found)} providers")
    made = {(path, style): generate(t, path, f"{style}-{number}", style) for number, path in enumerate(manifests())
            for style in ("tapir", "coreclr")}
    for number, (path, element) in enumerate(found):
        provider = manifest_values.Provider(path, element)
        for style in ("tapir", "coreclr"):
            directory = made[path, style]
            t.eq(fired_by(t, directory, provider, style, number), set(provider.events), f"{path}, {style}")


DEMO = r"""
#include "Shop.h"
#include <signal.h>
#include <stdio.h>

int main(void)
{
	static const uint8_t session[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	static const TAPIR_CHAR16 customer[] = {'J', 'o', 0xeb, 0};
	static const struct Shop_OrderLines_Lines lines[] = {{70, 2, "tea"}, {71, 1, "pot"}};
	static const int16_t place[3] = {-1, 2, 3};
	static const uint64_t articles[] = {70, 71, 72};
	static const uint8_t label[] = {0xde, 0xad};
	sigset_t go;
	int number;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	if (Shop_register(NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	sigwait(&go, &number);
	fire_OrderStart(1001, customer, Shop_Payment_Card, Shop_Wishes_Gift | Shop_Wishes_Express, 133000000000000000ull, session);
	fire_OrderLines(1001, 2, lines);
	fire_OrderStop(1001, 12.5, 1);
	fire_StockCounted("A7", place, 3, articles);
	fire_LabelScanned(2, label, (const void *)0xabc, 0.5f, -4);
	fire_StockEmpty();
	Shop_unregister();
	return 0;
}
"""


def test_the_demo_provider_is_recorded_with_all_its_fields(t):
    directory = generate(t, os.path.join(manifest_values.MANIFESTS, "Shop.man"))
    program = compile_c(t, DEMO, "-D_POSIX_C_SOURCE=200809L", f"-I{directory}", os.path.join(directory, "Shop.c"),
                        os.path.join(t.build, "libtapir.a"), "-pthread")
    running = t.start(program)
    running.wait_line("ready")
    tapir = t.start_tapir("record", "Demo-Shop", *EVENTS_ONLY, "-p", running.pid, "-o", t.path("shop.tapir"))
    tapir.wait_ready()
    running.go()
    t.eq((running.wait().rc, tapir.wait().rc), (0, 0), "exits")
    events = {event["event"]: event["args"] for event in t.events(t.path("shop.tapir"))}
    t.eq(events["OrderStart"].pop("At")[:10], "2022-06-18", "FILETIME")
    t.eq(events, {
        "OrderStart": {"Order": 1001, "Customer": "Jo\u00eb", "Payment": 1, "Wishes": 3,
                       "Session": "04030201-0605-0807-090a-0b0c0d0e0f10"},
        "OrderLines": {"Order": 1001, "LineCnt": 2, "Lines": [{"Article": 70, "Pieces": 2, "Name": "tea"},
                                                              {"Article": 71, "Pieces": 1, "Name": "pot"}]},
        "OrderStop": {"Order": 1001, "Total": 12.5, "IsPaid": True},
        "StockCounted": {"Shelf": "A7", "Place": [-1, 2, 3], "ArticleCnt": 3, "Articles": [70, 71, 72]},
        "LabelScanned": {"Bytes": 2, "Label": "dead", "Scanner": 0xabc, "Contrast": 0.5, "Tilt": -4},
        "StockEmpty": {}}, "events")


def test_what_is_made_is_c_and_cxx_and_a_provider_of_dtrace(t):
    provider = manifest_values.providers()["System.Buffers.ArrayPoolEventSource"]
    directory = generate(t, provider.file)
    runtime = generate(t, manifest_values.providers()[RUNTIME].file, "coreclr", "coreclr")
    t.ok(functions_of(runtime, "Microsoft_Windows_DotNETRuntime", "FireEtw").keys() >= {"GCStart_V2", "BulkType"}, "FireEtw")
    source = t.path("both.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write(f'#include "{provider.id}.h"\n#include "{runtime}/Microsoft_Windows_DotNETRuntime.h"\n'
                   "int both(const char16_t *name, const void *packed)\n{\n\tif (EventEnabledBulkType())\n"
                   "\t\treturn (int)FireEtwBulkType(1, 0, 30, packed);\n"
                   "\tfire_EventSourceMessage(name);\n\treturn BufferRented_enabled();\n}\n")
    for compiler in ("g++", "clang++"):
        built = t.run(t.need(compiler), "-std=c++11", *STRICT[1:], f"-I{directory}", "-fsyntax-only", source)
        t.eq((built.rc, built.err), (0, ""), compiler)
    for path in (os.path.join(directory, provider.id), os.path.join(runtime, "Microsoft_Windows_DotNETRuntime")):
        made = t.run(t.need("dtrace"), "-h", "-s", path + ".d", "-o", t.path("probes.h"))
        t.eq((made.rc, made.out + made.err), (0, ""), "dtrace -h")
    with open(t.path("probes.h"), encoding="ascii") as header:
        t.ok("MICROSOFT_WINDOWS_DOTNETRUNTIME_GCSTART_V2(arg1, arg2, arg3, arg4, arg5, arg6)" in header.read(), "probes.h")


def test_wrong_use_is_refused_with_one_line(t):
    tool = os.path.join(t.build, "tapir-manifest")
    with open(t.path("bad.man"), "w", encoding="ascii") as file:
        file.write("<instrumentationManifest><instrumentation><events><provider name='P'>\n"
                   "  <events><event value='1' level='win:Loud'/></events></provider></events></instrumentation>"
                   "</instrumentationManifest>")
    with open(t.path("asm.man"), "w", encoding="ascii") as file:
        file.write("<instrumentationManifest><instrumentation><events><provider name='P&quot;\\n.byte 1'><events>"
                   "<event value='1' symbol='E'/></events></provider></events></instrumentation></instrumentationManifest>")
    for argv, code, text in (((), 2, "a manifest is required"), (("x.man",), 2, "-o PATH is required"),
                             (("x.man", "-o", t.path("d"), "--style", "odd"), 2, "unknown style 'odd'"),
                             (("--odd",), 2, "unknown option --odd"), (("x.man", "-o"), 2, "-o requires a value"),
                             ((t.path("none.man"), "-o", t.path("d")), 1, "No such file or directory"),
                             ((t.path("bad.man"), "-o", t.path("d")), 1,
                              t.path("bad.man") + ":2:28: attribute level of <event> is 'win:Loud': expected win:LogAlways"),
                             ((t.path("asm.man"), "-o", t.path("d")), 1, "has a character that no probe can have"),
                             ((manifest_values.providers()[RUNTIME].file, "-o", t.path("bad.man")), 1, "Not a directory")):
        run = t.run(tool, *argv)
        t.eq(run.rc, code, f"exit of {argv}")
        t.ok(text in run.err, run.err)
        t.eq(run.err.count("\n"), 1, run.err)
    t.ok(not os.path.exists(t.path("d")) or not os.listdir(t.path("d")), "nothing is written on failure")
