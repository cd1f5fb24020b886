# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks where their files are stripped, deleted, replaced, rewritten, opened and closed all the time, or too many."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stacks"))

import programs  # noqa: E402
import shares  # noqa: E402

CHECK_STACKS = {"test_two_thousand_processes_have_whole_stacks", "test_libraries_that_come_and_go_leave_their_places",
                "test_library_that_takes_anothers_addresses_is_not_taken_for_it",
                "test_stack_ends_at_a_file_that_was_rewritten_while_it_is_mapped",
                "test_table_is_there_for_the_next_process_when_one_ended_meanwhile"}
TIMEOUT = 240
SKIP_S = 2  # unwind tables are built in the background
BUILD_ID = bytes([0xab] * 20)  # of the library, to be replaced
PLACES = 4096  # of files: TAPIR_UNWIND_FILES

GRAPH = shares.Graph({"main": {"turns", "many", "forks"}, "turns": {"pass"}, "many": {"pass_number", "resting"},
                      "pass_number": {"pass"}, "pass": {"passed_a", "passed_b"}, "passed_a": {"below_a"},
                      "passed_b": {"below_b"}, "resting": {"nap"}, "forks": {"forked"}, "forked": {"below_a", "nap"},
                      "below_a": {"nap"}, "below_b": {"nap"}},
                     libraries=["nap", "pass", "below_a", "below_b", "main", "resting", "forked", "forks"])


def library(t, name, frame):
    """passed.c as a file, with a build ID of its own place."""
    return programs.made(t, f"{name}.so", programs.installed("gcc"), "-shared", "-fPIC", "-O2", "-fomit-frame-pointer",
                         "-fno-stack-protector", f"-DPASSED={name}", f"-DFRAME={frame}", "-nostdlib", "-w",
                         f"-Wl,--build-id=0x{BUILD_ID.hex()}", str(programs.HERE / "passed.c"), "-o", "OUT", "-lc")


@programs.made_once
def opener(t):
    return programs.made(t, "libraries", programs.installed("gcc"), "-O2", "-g", *programs.NOT_FRAMES,
                         str(programs.HERE / "libraries.c"), "-o", "OUT", "-ldl")


@programs.made_once
def libraries(t):
    return library(t, "passed_a", 40), library(t, "passed_b", 1000)


def graph_program(t):
    return programs.native(t, "graph-c-o3-witness", "-O3", *programs.NOT_FRAMES)


def waits_of(t, file, pid, after_s=1):
    """Stacks of a process's waits, as lists of frames, and how tapir says they end; without those of the first seconds."""
    found = [r for r in t.events(file, "switch") if r["pid"] == pid and r.get("stack") and r.get("state") != "runnable"]
    first = min((r["time_ns"] for r in found), default=0)
    return [(r["stack"], r["stack_end"]) for r in found if r["time_ns"] >= first + after_s * 10**9]


def is_whole(stack):
    last = stack[-1]
    return bool(shares.ROOTS.fullmatch(shares.plain_root(last["name"] or ""))) or shares.is_entry(last) or shares.is_coroutine(last)


def counted(t, file, cause):
    """The losses that a report explains so."""
    return [line for line in t.tapir("report", file, "--all").out.splitlines() if cause in line]


def has_wrong_edge(graph, stack):
    return any(graph.is_wrong(a, b) for a, b in zip(stack, stack[1:]))


# ---- files without sections, and without a name -------------------------------------------------------


def without_sections(path, out):
    """A copy whose header knows of no section headers, with those cut off."""
    data = bytearray(pathlib.Path(path).read_bytes())
    at = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, 40, 0)          # e_shoff
    struct.pack_into("<HHH", data, 58, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    pathlib.Path(out).write_bytes(data[:at])
    os.chmod(out, 0o755)


def symbols_of(t, path):
    """[(address, size, name)] of a file's functions, by nm."""
    rows = [line.split() for line in t.run(t.need("nm"), "-S", "--defined-only", path).out.splitlines()]
    return sorted((int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] in "tT")


def segments_of(path):
    data = pathlib.Path(path).read_bytes()
    headers, size, cnt = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    loads = [struct.unpack_from("<IIQQQQQQ", data, headers + i * size) for i in range(cnt)]
    return [(h[2], h[3], h[5]) for h in loads if h[0] == 1]  # offset, address, bytes


def named_by(symbols, segments, module, stack):
    """A stack with the names that the file had before it was stripped."""
    out = []
    for frame in stack:
        frame = dict(frame)
        if frame["module"] == module:
            va = next((frame["offset"] - off + va for off, va, size in segments if off <= frame["offset"] < off + size), None)
            frame["name"] = next((name for at, size, name in symbols if va is not None and at <= va < at + size), None)
        out.append(frame)
    return out


def test_stacks_of_stripped_and_sectionless_programs_are_whole(t):
    """Their unwind data are found by the program header alone. nm of the file as it was built names the functions."""
    original, file = graph_program(t), t.path("stacks.tapir")
    stripped, bare = t.path("stripped"), t.path("bare")
    t.run(t.need("strip"), "-s", "-o", stripped, original)
    without_sections(stripped, bare)
    started = {path: t.start(path, "waits", "20") for path in (stripped, bare)}
    pids = {path: int(process.wait_line("pid ").split()[1]) for path, process in started.items()}
    t.tapir("record", "--no-samples", "--duration", 2.5, "-f", "-o", file, "-p", pids[stripped], "-p", pids[bare])
    symbols, segments = symbols_of(t, original), segments_of(original)
    for path, pid in pids.items():
        stacks = [named_by(symbols, segments, path, stack) for stack, _ in waits_of(t, file, pid)]
        whole = [stack for stack in stacks if is_whole(stack)]
        deep = [stack for stack in whole if sum(f["name"] == "deep" for f in stack) == 41]
        wrong = [stack for stack in stacks if has_wrong_edge(programs.NATIVE, stack)]
        t.ok(len(stacks) >= 200 and len(whole) >= 0.99 * len(stacks), f"{path}: {len(whole)} of {len(stacks)} are whole")
        t.ok(len(deep) >= 10, f"{path}: {len(deep)} stacks with all 41 calls of deep")
        t.eq(wrong[:1], [], f"{path}: {len(wrong)} of {len(stacks)} stacks with a call that nobody makes")


def test_stacks_are_whole_when_their_file_was_deleted_or_replaced(t):
    """The file that is mapped counts, not the one that now has its name; also the table comes from there."""
    original, file = graph_program(t), t.path("stacks.tapir")
    started = {}
    for name in ("deleted", "replaced"):
        path = t.path(name)
        shutil.copy2(original, path)
        process = t.start(path, "waits", "20")
        started[name] = int(process.wait_line("pid ").split()[1])
    os.unlink(t.path("deleted"))
    other = t.path("other")
    shutil.copy2(t.target_path("swarm"), other)  # other functions at the same addresses
    os.rename(other, t.path("replaced"))
    t.tapir("record", "--no-samples", "--duration", 2.5, "-f", "-o", file,
            *[word for pid in started.values() for word in ("-p", pid)])
    for name, pid in started.items():
        stacks = [stack for stack, _ in waits_of(t, file, pid)]
        whole = [stack for stack in stacks if is_whole(stack) and any(f["name"] in ("main", "thread_main", "coroutine") for f in stack)]
        wrong = [stack for stack in stacks if has_wrong_edge(programs.NATIVE, stack)]
        t.ok(len(stacks) >= 200 and len(whole) >= 0.99 * len(stacks), f"{name}: {len(whole)} of {len(stacks)} are whole")
        t.eq(wrong[:1], [], f"{name}: {len(wrong)} of {len(stacks)} stacks with a call that nobody makes")


def rewrite_unwind_data(t, path):
    """In place, and nothing else: functions move the stack pointer by more than they did."""
    row = next(line.replace("[ ", "[").split() for line in t.run(t.need("readelf"), "-SW", path).out.splitlines()
               if " .eh_frame " in line)
    off, size = int(row[4], 16), int(row[5], 16)
    with open(path, "r+b") as file:
        file.seek(off)
        data = bytearray(file.read(size))
        places = [i + 1 for i in range(size - 1) if data[i] == 0x0e and 16 <= data[i + 1] <= 112]  # DW_CFA_def_cfa_offset
        for at in places:
            data[at] += 8
        file.seek(off)
        file.write(data)
    return len(places)


def test_stack_ends_at_a_file_that_was_rewritten_while_it_is_mapped(t):
    """No caller is found by another library's rules: the stack ends there, which is reported."""
    home, file = make_copies(t, libraries(t)[0], 1), t.path("stacks.tapir")
    own = os.path.join(home, "0")
    pid = int(t.start(opener(t), "many", home, 0, 0, 1, 30).wait_line("pid ").split()[1])
    tapir = t.start_tapir("record", "--no-samples", "-f", "-o", file, "-p", pid)
    tapir.wait_ready()
    time.sleep(SKIP_S)
    rewritten_ns = time.monotonic_ns()
    t.ok(rewrite_unwind_data(t, own), "something was rewritten")
    time.sleep(4)
    tapir.signal(2)
    said = tapir.wait()
    t.eq(said.rc, 0, "exit")
    t.ok("1 files were rewritten while they were mapped" in said.err, said.err)
    switches = [r for r in t.events(file, "switch") if r["pid"] == pid and r.get("stack") and r.get("state") != "runnable"]
    before = [r for r in switches if rewritten_ns - 10**9 < r["time_ns"] < rewritten_ns]
    after = [r for r in switches if r["time_ns"] > rewritten_ns + 2.5 * 10**9]
    t.ok(len(before) >= 50 and all(is_whole(r["stack"]) for r in before), f"{len(before)} stacks are whole before")
    ends, last = {r["stack_end"] for r in after}, {(r["stack"][-1]["name"], r["stack"][-1]["module"]) for r in after}
    t.eq((len(after) >= 50, last), (True, {("passed_a", own)}), f"last frames of {len(after)} stacks after")
    t.ok(ends and ends <= {"no_table", "not_code"}, f"ends: {ends}")  # its rbp may lead to no code
    wrong = [r for r in before + after if has_wrong_edge(GRAPH, r["stack"])]
    t.eq([r["stack"] for r in wrong[:1]], [], f"{len(wrong)} stacks with a call that nobody makes")
    t.ok(counted(t, file, "a file was rewritten while it was mapped"), "it is counted")


def test_table_is_there_for_the_next_process_when_one_ended_meanwhile(t):
    """A program with many functions ends before its table is built; another process of it has whole stacks."""
    node, file = t.path("node"), t.path("stacks.tapir")
    shutil.copy(os.path.realpath(programs.installed("node")), node)  # a file that no cache knows
    tapir = t.start_tapir("record", "-F", 499, "--no-sched", "--comm", "node", "-f", "-o", file)
    tapir.wait_ready()
    for _ in range(3):
        t.run(node, "--version")
    later = t.start(node, str(programs.HERE / "waits.js"), 6)
    pid = int(later.wait_line("pid ", 30).split()[1])
    time.sleep(5)
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "exit")
    samples = [r for r in t.events(file, "sample") if r["pid"] == pid and r.get("stack")]
    late = [r for r in samples if r["time_ns"] > samples[0]["time_ns"] + 2.5 * 10**9]
    whole = [r for r in late if is_whole(r["stack"])]
    t.ok(len(late) >= 20 and len(whole) >= 0.99 * len(late), f"{len(whole)} of {len(late)} samples are whole")


# ---- too many, and too often -----------------------------------------------------------------------------


def test_two_thousand_processes_have_whole_stacks(t):
    """Each of them."""
    cnt, file = 2000, t.path("stacks.tapir")
    program = t.start(opener(t), "forks", str(cnt), "25")
    program.wait_line("forked", 30)
    said = t.tapir("record", "--comm", "libraries", "--no-samples", "--duration", 6, "-f", "-o", file, timeout=120)
    by_pid, wrong, last = {}, [], {}
    for r in shares.records(t.tapir_path, file):
        if r["type"] != "switch" or not r.get("stack") or r.get("comm") != "libraries":
            continue
        whole = is_whole(r["stack"]) and any(f["name"] == "main" for f in r["stack"])
        by_pid.setdefault(r["pid"], []).append(whole)
        last[r["stack"][-1]["name"]] = last.get(r["stack"][-1]["name"], 0) + 1
        if has_wrong_edge(GRAPH, r["stack"]):
            wrong.append(([f["name"] for f in r["stack"]], r.get("stack_end")))
    stacks = sum(map(len, by_pid.values()))
    whole = sum(map(sum, by_pid.values()))
    # Until the tables are there, stacks end early: they are the first of each process.
    t.ok(len(by_pid) >= cnt, f"{len(by_pid)} processes have stacks")
    t.ok(all(any(w) for w in by_pid.values()), f"{sum(not any(w) for w in by_pid.values())} processes without a whole stack: {last}")
    falsely = [stack for stack in wrong if stack[1] == "whole"]
    t.ok(whole >= 0.95 * stacks and len(wrong) <= 0.001 * stacks and not falsely,
         f"{whole} of {stacks} are whole, {len(wrong)} have a call that nobody makes: {last} {falsely[:1]} {wrong[:2]}")
    t.ok("lack of room" not in said.err, said.err)
    t.ok(not counted(t, file, "no room for the unwind table"), "places for all files")


def make_copies(t, path, cnt):
    """A directory of files that are this library, each with a build ID of its own."""
    home, data = t.path("many"), pathlib.Path(path).read_bytes()
    t.eq(data.count(BUILD_ID), 1, "build IDs in the library")
    os.mkdir(home)
    for i in range(cnt):
        pathlib.Path(home, str(i)).write_bytes(data.replace(BUILD_ID, struct.pack("<Q", i) + BUILD_ID[8:]))
    return home


def test_libraries_that_come_and_go_leave_their_places(t):
    """More files than there are places for tables, one after the other: those that nobody maps any more make room."""
    first, more, rest, keep = 3600, 900, 18, 4
    file, home = t.path("stacks.tapir"), make_copies(t, libraries(t)[0], first + more)
    program = t.start(opener(t), "many", home, str(first), str(rest), str(more), str(keep))
    pid = int(program.wait_line("pid ").split()[1])
    tapir = t.start_tapir("-v", "record", "--no-samples", "-f", "-o", file, "-p", pid)
    t.eq(program.wait(120).rc, 0, "exit")
    said = tapir.wait(60)
    t.ok(first + more > PLACES, "more files than places")
    t.eq(said.rc, 0, said.err[-1000:])
    switches = [r for r in t.events(file, "switch") if r["pid"] == pid and r.get("stack") and r.get("state") != "runnable"]
    t.ok("lack of room" not in said.err, said.err[-1000:])
    t.ok(not counted(t, file, "no room for the unwind table"), "places for all files")
    end_ns = switches[-1]["time_ns"]
    late = [r for r in switches if r["time_ns"] > end_ns - (keep - 2) * 10**9]
    through = [r for r in late if any(f["name"] == "passed_a" for f in r["stack"])]
    whole = [r for r in through if is_whole(r["stack"]) and any(f["name"] == "main" for f in r["stack"])]
    resting = [r for r in switches if any(f["name"] == "resting" for f in r["stack"])]
    t.ok(len(through) >= 100 and len(whole) >= 0.99 * len(through), f"{len(whole)} of {len(through)} are whole through the last library")
    t.ok(len(resting) >= 500 and all(is_whole(r["stack"]) for r in resting), f"{len(resting)} stacks of the program itself")
    wrong = [r["stack"] for r in late + resting if has_wrong_edge(GRAPH, r["stack"])]
    t.eq(wrong[:1], [], f"{len(wrong)} stacks with a call that nobody makes")


def test_library_that_takes_anothers_addresses_is_not_taken_for_it(t):
    """dlopen and dlclose of two files in turn, whose frames differ. Until tapir has heard of the one, a moment, the walk takes its
    addresses for the other's: at most 0.1 % of stacks have a wrong caller."""
    file, paths = t.path("stacks.tapir"), []
    for path in libraries(t):
        paths.append(t.path(os.path.basename(path)))
        pathlib.Path(paths[-1]).write_bytes(pathlib.Path(path).read_bytes().replace(BUILD_ID, os.urandom(20)))
    program = t.start(opener(t), "turns", "10", *paths)
    pid = int(program.wait_line("pid ").split()[1])
    t.tapir("record", "--no-samples", "--duration", SKIP_S + 5, "-f", "-o", file, "-p", pid)
    stacks = waits_of(t, file, pid, SKIP_S)
    at = {}
    for stack, _ in stacks:
        for frame in stack:
            if frame["name"] in ("passed_a", "passed_b"):
                at.setdefault(frame["name"], set()).add(frame["addr"] & ~0xfff if isinstance(frame["addr"], int) else frame["addr"][:-3])
    whole = [stack for stack, _ in stacks if is_whole(stack)]
    false = [(stack, end) for stack, end in stacks if end == "whole" and not is_whole(stack)]
    wrong = [stack for stack, _ in stacks if has_wrong_edge(GRAPH, stack)]
    t.ok(at.get("passed_a", set()) & at.get("passed_b", set()), f"both were at the same addresses: {at}")
    t.ok(len(stacks) >= 500 and len(whole) >= 0.9 * len(stacks), f"{len(whole)} of {len(stacks)} are whole")
    t.ok(len(wrong) <= max(1, 0.001 * len(stacks)) and not false,
         f"{len(wrong)} of {len(stacks)} stacks with a call that nobody makes, {len(false)} falsely whole: {wrong[:1]} {false[:1]}")


def test_own_code_is_walked_when_more_is_mapped_than_there_is_room_for(t):
    """The pieces lie below the program's own code, and come first."""
    program, file = t.start(t.target_path("manymaps"), "3000"), t.path("trace.tapir")
    program.wait_line("pid ")
    done = t.tapir("record", "-p", program.pid, "-d", SKIP_S + 2, "--no-sched", "-f", "-o", file)
    t.ok("executable mappings were left out for lack of room" in done.err, done.err)
    stacks = [[frame.get("name") for frame in sample.get("stack") or []] for sample in t.events(file, "sample")
              if sample.get("stack_end") != "not_yet"]
    whole = [names for names in stacks if names[:2] == ["own_work", "main"] and names[-1] == "_start"]
    t.ok(stacks and len(whole) >= 0.95 * len(stacks), f"{len(whole)} of {len(stacks)} are whole")
    program.kill()
