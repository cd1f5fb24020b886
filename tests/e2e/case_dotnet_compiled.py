# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that was compiled into assemblies (ReadyToRun), by the assemblies themselves; the runtime is the
witness."""
import collections
import glob
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import time

from dotnet_program import build_dotnet
from harness import PATIENCE

CHECK_DOTNET = {"test_code_its_runtime_does_not_name_is_named_by_its_file",
                "test_names_are_spelled_as_the_runtime_does"}


def echo(t):
    """It talks to itself over a socket."""
    program = t.start(build_dotnet(t, "Echo"))
    program.wait_line("pid ")
    time.sleep(2)  # what is called often is compiled anew by then
    return program


def test_code_its_runtime_does_not_name_is_named_by_its_file(t):
    program = echo(t)
    file = t.path("trace.tapir")
    t.tapir("record", "-F", 997, "-p", program.pid, "-d", 3, "--no-sched", "-f", "-o", file)
    in_files = [f for s in t.events(file, "sample") for f in s.get("stack") or [] if f["module"].endswith(".dll")]
    t.ok(len(in_files) > 100, f"{len(in_files)} frames in assemblies")
    t.eq({(f["module"], hex(f["offset"])) for f in in_files if not f["name"]}, set(), "frames in assemblies without a name")
    t.ok(any(f["name"] == "Interop.Sys.WaitForSocketEvents(nint, Interop.Sys.SocketEvent*, int*)" for f in in_files), "the stub by which the thread for sockets waits")
    program.kill()


def tool(t, *args):
    path = os.path.join(t.build, "tests", "tools", "compiled_names")
    return subprocess.run([path, *map(str, args)], check=True, capture_output=True, timeout=60).stdout


def told(t, pid):
    """(address, name) of each record of the jitdump that begins with code's size and place."""
    dump, at = tool(t, "told", pid), 40
    while at < len(dump):
        kind, size = struct.unpack_from("<II", dump, at)
        if kind == 0:
            yield struct.unpack_from("<Q", dump, at + 24)[0], dump[at + 56:dump.index(b"\0", at + 56)].decode()
        at += size


def in_assemblies(pid):
    """What is mapped of files that are no ELF: (begin, end, place in the file, path)."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and fields[-1].endswith(".dll"):
                begin, end = (int(word, 16) for word in fields[0].split("-"))
                yield begin, end, int(fields[2], 16), fields[-1]


def names_of_file(t, path):
    """By their places."""
    rows = [line.split(" ", 2) for line in tool(t, "file", path).decode().splitlines()]
    return {int(row[0], 16): row[2] for row in rows}


def method_of(raw):
    """Without its module, and what it takes and returns."""
    return re.search(r"(?:^|\] | )(\S+::[^(]+)\(", raw).group(1)


def test_code_is_the_method_the_runtime_says(t):
    """At the end of an event session it tells each method it has prepared, compiled ones too, and where."""
    program = echo(t)
    mappings, files, seen = list(in_assemblies(program.pid)), {}, {"plain": 0, "instance": 0}
    wrong = []
    for address, name in told(t, program.pid):
        for begin, end, place, path in mappings:
            if not begin <= address < end:
                continue
            if path not in files:
                files[path] = names_of_file(t, path)
            got, wanted = files[path].get(address - begin + place), method_of(name)
            if not got or method_of(got) != wanted:
                wrong.append((os.path.basename(path), hex(address - begin + place), wanted, got))
            seen["instance" if re.search(r"`\d+.*\[", wanted) else "plain"] += 1
    t.eq(wrong[:10], [], f"{len(wrong)} of {seen}")
    t.ok(seen["plain"] > 300 and seen["instance"] > 50, seen)
    program.kill()


def perf_map(pid):
    """The names of what it has compiled itself, in the spelling that its jitdumps have, too."""
    path = pathlib.Path(f"/tmp/perf-{pid}.map")
    with socket.socket(socket.AF_UNIX) as port:
        port.connect(glob.glob(f"/tmp/dotnet-diagnostic-{pid}-*-socket")[0])
        port.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBHI", 24, 4, 5, 0, 3))
        port.recv(100)
    names = [line.split(" ", 2)[2] for line in path.read_text().splitlines()]
    path.unlink()
    return names


def test_names_are_spelled_as_the_runtime_does(t):
    """A method that was compiled into its assembly, and then anew: one name but for the tier."""
    program = echo(t)
    files, equal, other = {}, 0, []
    paths = {os.path.basename(path)[:-len(".dll")]: path for _, _, _, path in in_assemblies(program.pid)}
    for raw in perf_map(program.pid):
        module = re.search(r" \[([\w.]+)\] \S+::", raw)
        if not module or module.group(1) not in paths:
            continue
        path = paths[module.group(1)]
        if path not in files:
            files[path] = {}
            for name in names_of_file(t, path).values():
                files[path].setdefault(method_of(name), set()).add(name)
        name = re.sub(r"\[\w+\]$", "[PreJIT]", raw)
        overloads = files[path].get(method_of(name), set())
        equal += name in overloads
        if overloads and name not in overloads:
            other.append(name)
    t.ok(equal > 100 and len(other) * 10 < equal, f"{equal} are equal; other overloads, or wrong: {other}")
    program.kill()


BLOCKS = ("ForBool", "ForConfigured", "ForInt", "ForResult", "ForString", "ForTask")


def callee_in_measure(names):
    """What Hidden's Measure has called in a stack; None: it is not in it."""
    callers = [i for i, name in enumerate(names) if name and name.startswith("Program.Measure(")]
    return names[callers[0] - 1] if callers and callers[0] else None


def test_callers_of_compiled_methods_without_a_frame_pointer_are_there(t):
    """Waits in TaskAwaiter<T>.GetResult() and the like, which keep none: no stack that is called whole lacks who called them."""
    file, cnt = t.path("trace.tapir"), 40
    done = t.tapir("record", "-f", "-o", file, "--", build_dotnet(t, "Hidden"), cnt, timeout=120)
    took = done.witness()
    t.eq(sorted(took), sorted(BLOCKS), "methods that block")
    called = {end: collections.Counter() for end in (True, False)}
    for record in t.events(file, "switch"):
        if record["state"] != "sleeping":  # preempted where it measures
            continue
        callee = callee_in_measure([frame.get("name") for frame in record.get("stack") or []])
        called[record.get("stack_end") == "whole"][callee] += callee is not None
    # The clock that measures may wait once, for a lock of the runtime when it is first called.
    whole = {name: n for name, n in called[True].items() if n and not name.startswith("System.Diagnostics.Stopwatch.")}
    t.eq(sorted(whole), [f"Program.{name}()" for name in BLOCKS], f"who blocks, by whole stacks ({called[False]} are not)")
    t.ok(min(whole.values()) >= cnt // 2, f"{whole}: each blocked {cnt} times, for {took} ms")


def test_functions_of_tapirs_own_library_have_their_names(t):
    """It is in the way of each event; its sites are not probed, but it is a file like others."""
    file = t.path("trace.tapir")
    t.tapir("record", "-f", "-o", file, "--", build_dotnet(t, "Hidden"), 10, timeout=120)
    own = [frame for kind in ("switch", "sample") for record in t.events(file, kind) for frame in record.get("stack") or []
           if "/libtapir-coreclr-" in (frame.get("module") or "")]
    t.ok(own, "it is on stacks")
    t.eq({hex(frame["offset"]) for frame in own if not frame.get("name")}, set(), f"without a name, of {len(own)}")


def test_snapshot_has_the_callers_of_compiled_methods_without_a_frame_pointer(t):
    program = t.start(build_dotnet(t, "Hidden"), 10000)
    program.wait_line("pid ")
    seen, end = set(), time.monotonic() + 30 * PATIENCE
    while len(seen) < len(BLOCKS) and time.monotonic() < end:
        found = json.loads(t.tapir("stacks", "-p", program.pid, "--json", "--unfold").out)
        seen |= {callee_in_measure([frame["function"] for frame in group["frames"]]) for group in found["groups"]} - {None}
        t.eq([name for name in seen if not re.fullmatch(r"Program\.\w+\(.*\)|.*Stopwatch.*", name)], [], "callers that are missing")
    t.ok({f"Program.{name}()" for name in BLOCKS} <= seen, seen)
    program.kill()
