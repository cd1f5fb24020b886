# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of .NET processes by the runtime's own stream: asked for, or because no library can be loaded.
The witness is the process itself, as in case_dotnet_events.py.
"""
import os
import re
import select
import signal
import socket
import time

import dotnet_fire
from dotnet_fire import DEMO, RUNTIME, count, counts_of_the_runtime, ends_as_always, exact, fire_now, start, stop
from dotnet_program import build_dotnet, made
from harness import EVENTS_ONLY, made_once

TIMEOUT = 300
CHECK_DOTNET = {"test_native_aot_has_its_events_by_the_stream", "test_native_aot_that_is_started_connects_to_us_before_its_first_event"}
STREAM = ("--lane", "stream", *EVENTS_ONLY)
AOT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>%s</TargetFramework>
    <InvariantGlobalization>true</InvariantGlobalization>
    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
    <LangVersion>latest</LangVersion>
    <PublishAot>true</PublishAot>
    <EventSourceSupport>true</EventSourceSupport>
  </PropertyGroup>
</Project>
"""


def record(t, pid, *specs, options=STREAM):
    return dotnet_fire.record(t, pid, *specs, options=options)


def test_events_of_one_thread_are_captured_or_counted(t):
    exact(t, 1, 20000, 0.1, STREAM)


def test_events_of_four_threads_are_captured_or_counted(t):
    exact(t, 4, 8000, 0.1, STREAM)


def test_fields_and_stacks_are_what_the_program_did(t):
    fire = start(t, "events=500")
    tapir = record(t, fire.pid, DEMO)
    fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq(lost, 0, "lost")
    orders = [e for e in seen if e["event"] == "OrderPlaced"]
    t.eq([(int(e["args"]["id"]), int(e["args"]["cents"]), e["args"]["customer"]) for e in orders],
         [(i, 1000 * i, f"customer-{i:06}") for i in range(500)], "what it wrote")
    names = [[f["name"] or "" for f in e["stack"]] for e in orders]
    callers = [n for n in names if any(re.search(r"Demo\.OrderPlaced\(", f) and "Fire.Place(" in g for f, g in zip(n, n[1:]))]
    t.eq(len(callers), 500, f"stacks in which Place calls OrderPlaced; one: {names[0]}")
    t.eq(sum("Thread.StartCallback" in n[-1] for n in names), 500, "stacks from the thread's start")
    t.eq({e["pid"] for e in orders}, {fire.pid}, "its pid")
    t.eq(len({e["tid"] for e in orders}), 1, "threads")
    t.ok("lanes: stream 1 process" in t.tapir("report", t.path("trace.tapir"), "--all").out, "the report says which lane")
    ends_as_always(t, fire)


def test_counts_of_the_runtime_are_the_programs(t):
    counts_of_the_runtime(t, options=STREAM)


def test_glob_finds_the_sources_of_its_assemblies(t):
    fire = start(t, "events=200")
    tapir = record(t, fire.pid, "MyComp*")
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq((count(seen, DEMO, "OrderPlaced"), lost), (did["orders"], 0), "orders")
    ends_as_always(t, fire)


def test_a_stopped_or_killed_process_does_not_hold_us_up(t):
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        fire = start(t, "events=200")
        tapir = record(t, fire.pid, DEMO)
        fire_now(fire)
        time.sleep(0.5)
        fire.signal(sig)
        if sig == signal.SIGSTOP:
            seen, _, _ = stop(t, tapir)
        else:
            ended = tapir.wait(15)
            t.ok(ended.rc == 0 and "ended early" in ended.err, f"it ends with the process, and says so: {ended.err}")
            seen = t.events(t.path("trace.tapir"))
        t.eq(count(seen, DEMO, "OrderPlaced"), 200, "what came before is there")
        fire.signal(signal.SIGKILL)


@made_once
def publish_aot(t, framework):
    """Fire compiled ahead of time; skips where that cannot be done."""
    t.need("gcc")
    packages = os.path.join(t.build, "tests", "dotnet", "nuget")
    done, said = made(t, "Fire", f"aot-{framework}", lambda: AOT % framework, "publish", "-r", "linux-x64",
                      "-p:CppCompilerAndLinker=gcc", env={"NUGET_PACKAGES": packages}, timeout=240)
    if not done:
        t.skip(f"dotnet publishes no {framework} program ahead of time here: {said}")
    return done


def test_native_aot_has_its_events_by_the_stream(t):
    fire = start(t, "events=300", path=publish_aot(t, "net9.0"))
    tapir = record(t, fire.pid, DEMO, options=EVENTS_ONLY)
    did = fire_now(fire)
    seen, lost, result = stop(t, tapir)
    t.eq(count(seen, DEMO, "OrderPlaced") + count(seen, DEMO, "StockLow") + lost, did["orders"] + did["lows"], "events")
    t.eq(lost, 0, "lost")
    t.ok("NativeAOT" in result.err and "stream" in result.err, f"it says why: {result.err}")
    doctor = t.tapir("doctor", "-p", fire.pid, expect=None)
    t.ok("event stream" in doctor.out, doctor.out)
    ends_as_always(t, fire)


def starts(t, program, *options, before=()):
    """The nr of the first event recorded of a program that fires as soon as it runs; all later ones are there."""
    result = t.run(*before, t.tapir_path, "record", DEMO, *options, "-f", "-o", t.path("trace.tapir"), "--", program, "now",
                   "events=500", "pace=1000")
    t.ok("exited with status 7" in result.err, result.err)
    ids = [int(e["args"]["id"]) for e in t.events(t.path("trace.tapir")) if e["event"] == "OrderPlaced"]
    t.eq(ids, list(range(ids[0] if ids else 500, 500)), "no gap")
    return ids[0]


def test_native_aot_that_is_started_connects_to_us_before_its_first_event(t):
    """By its own socket, which had to be found, it was its 7th to 28th."""
    first = starts(t, publish_aot(t, "net9.0"), *EVENTS_ONLY)
    t.ok(first <= 2, f"the first event we have is nr {first}")


def test_program_that_is_started_for_its_stream_has_all_events(t):
    first = starts(t, build_dotnet(t, "Fire"), *STREAM)
    t.ok(first <= 2, f"the first event we have is nr {first}")


def test_diagnostic_port_of_somebody_else_is_served_too(t):
    path = t.path("monitor")
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.bind(path)
        monitor.listen()
        monitor.settimeout(10)
        first = starts(t, build_dotnet(t, "Fire"), *STREAM,
                       before=("env", f"DOTNET_DiagnosticPorts={path},nosuspend"))
        theirs, _ = monitor.accept()
        with theirs:
            t.eq(theirs.recv(8), b"ADVR_V1\0", "what it begins with")
    t.ok(first <= 2, f"the first event we have is nr {first}")


def test_killed_tapir_leaves_the_program_it_started_as_it_was(t):
    tapir = t.start_tapir("record", DEMO, *STREAM, "-f", "-o", t.path("trace.tapir"), "--", build_dotnet(t, "Fire"), "events=50")
    pid = int(tapir.wait_line("pid ").split()[1])
    port = re.search(rb"DOTNET_DiagnosticPorts=(/run/tapir-[0-9a-f]{16}/port),nosuspend\0", open(f"/proc/{pid}/environ", "rb").read())
    t.ok(os.path.exists(port.group(1)), "its port is ours")
    tapir.signal(signal.SIGKILL)
    with os.fdopen(os.pidfd_open(pid)) as end:
        for _ in range(2):  # what it does, and its end
            time.sleep(0.7)
            os.kill(pid, signal.SIGUSR1)
        t.ok(select.select([end], [], [], 10)[0], "it goes on, and ends")
    tapir.wait()
    t.ok(not os.path.exists(os.path.dirname(port.group(1))), "what is left of its port")


def test_what_the_runtime_drops_is_counted(t):
    """It drops what its 64 MB do not hold while tapir stands still."""
    fire = start(t, "threads=4", "events=200000")
    tapir = record(t, fire.pid, DEMO)
    tapir.stop()
    did = fire_now(fire)
    tapir.signal(signal.SIGCONT)
    time.sleep(1)
    tapir.signal(signal.SIGINT)
    said = tapir.wait()
    t.eq(said.rc, 0, said.err)
    got, lost = (int(n.replace(",", "")) for n in re.search(r"([\d,]+) events, ([\d,]+) lost", said.err).groups())
    t.ok(got > 10000 and lost > 10000, f"{got} captured, {lost} lost")
    # what tells the names of code that was compiled meanwhile was dropped, too: nobody knows which it was
    over = got + lost - did["orders"] - did["lows"]
    t.ok(0 <= over <= 300, f"{got} captured + {lost} lost, {over} more than fired")
    ends_as_always(t, fire)


def test_without_diagnostics_it_says_why(t):
    fire = start(t, "events=10", env={"DOTNET_EnableDiagnostics": "0"})
    tapir = t.start_tapir("record", DEMO, "-p", fire.pid, "-d", "1", "-f", "-o", t.path("trace.tapir"))
    result = tapir.wait(20)
    t.ok("DOTNET_EnableDiagnostics=0" in result.err, result.err)
    fire.kill()
