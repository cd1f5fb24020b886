# SPDX-License-Identifier: GPL-2.0-or-later
"""--lines and --inline: source lines and inlined functions. Witness: addr2line of binutils, which uses its own DWARF reader."""
import json
import os
import re
import shutil

from harness import made_once

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "inlined.c")
BUILD = ("-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id")


@made_once
def made(t):
    """A directory with a program whose functions are inlined, its debug file, and a recording of it without either."""
    cc, objcopy = t.need("gcc", "objcopy")
    there = os.path.join(t.build, "tests", "lines")
    if not os.path.exists(f"{there}/done"):
        shutil.rmtree(there, ignore_errors=True)
        os.makedirs(f"{there}/bin")
        t.run(cc, *BUILD, SOURCE, "-o", f"{there}/inlined")
        t.run(objcopy, "--only-keep-debug", f"{there}/inlined", f"{there}/inlined.debug")
        t.run(objcopy, "--strip-debug", f"{there}/inlined", f"{there}/bin/inlined")
        t.tapir("record", "-F", 997, "--no-sched", "-f", "-o", f"{there}/inlined.tapir", "--", f"{there}/bin/inlined", "0.4")
        open(f"{there}/done", "w", encoding="ascii").close()
    return there


def frames_of(t, there, *options):
    """Frames of the program in all samples' stacks, each stack once: [[frame, ...], ...], innermost first.

    A frame has "leaf" where it is the innermost of the whole stack: its address is then no return address."""
    out = t.tapir("events", "--json", f"{there}/inlined.tapir", "--symbols", there, *options).out
    stacks = {}
    for line in out.splitlines():
        event = json.loads(line)
        stack = event.get("stack") or []
        frames = [dict(f, leaf=f["addr"] == stack[0]["addr"]) for f in stack if (f.get("module") or "").endswith("/inlined")]
        if event["type"] == "sample" and frames:
            stacks[tuple((f["addr"], f["leaf"]) for f in frames)] = frames
    t.ok(stacks, "no sample is in the program")
    return list(stacks.values())


def by_addr2line(t, there, vas):
    """{va: [(function, line), ...]} innermost first; None is what it does not know: a stub of the linker's, which a sample can hit."""
    out = t.run(t.need("addr2line"), "-a", "-i", "-f", "-e", f"{there}/inlined", *[hex(va) for va in vas]).out
    found = {}
    for block in re.split(r"^(?=0x)", out, flags=re.M)[1:]:
        lines = block.split("\n")
        places = [re.search(r":(\d+)", place) for place in lines[2::2]]
        found[int(lines[0], 16)] = [(None if name == "??" else name, int(place[1]) or None if place else None)
                                    for name, place in zip(lines[1::2], places) if name]
    return found


def bias_of(t, there, frames):
    """Of addresses as they were in the process, to addresses as linked: by a frame in main, whose symbol nm knows."""
    main = int(re.search(r"^([0-9a-f]+) T main$", t.run(t.need("nm"), f"{there}/inlined").out, re.M)[1], 16)
    frame = next(f for stack in frames for f in stack if f["name"] == "main" and "offset" in f)
    return frame["addr"] - frame["offset"] - main


def test_lines_and_inlined_functions_are_those_of_addr2line(t):
    there = made(t)
    stacks = frames_of(t, there, "--lines", "--inline")
    bias = bias_of(t, there, stacks)
    wanted = {}
    for stack in stacks:
        for addr, leaf in {(frame["addr"], frame["leaf"]) for frame in stack}:
            va = addr - bias - (not leaf)  # a call is before its return address
            wanted[va] = [(f["name"], f.get("line")) for f in stack if f["addr"] == addr]
    theirs = by_addr2line(t, there, wanted)
    wrong = [(hex(va), ours, theirs.get(va)) for va, ours in wanted.items() if ours != theirs.get(va)]
    t.eq(wrong[:2], [], f"addresses that differ from addr2line's, of {len(wanted)}")
    t.ok(any(len(ours) >= 3 for ours in wanted.values()), f"no inlined functions: {wanted}")
    # A sample may be in atof() of the C library's header, which is inlined as well.
    inlined = [f for stack in stacks for f in stack if f.get("inlined") and not f["file"].startswith("/usr/include/")]
    t.ok(inlined and {f["name"] for f in inlined} <= {"turn", "twice", "mix"}, inlined[:2])
    t.ok(all(f["file"] == SOURCE for f in inlined), inlined[:2])


def test_each_reader_shows_lines_and_inlined_functions(t):
    there = made(t)
    file = f"{there}/inlined.tapir"
    line = next(i for i, text in enumerate(open(SOURCE, encoding="ascii"), 1) if "twice(sink);" in text)
    folded = t.tapir("export", "--format", "folded", file, "--symbols", there, "--lines", "--inline")
    t.ok(re.search(rf";work \(inlined\.c:{line}\);twice \(inlined\.c:\d+, inlined\);turn \(inlined\.c:\d+, inlined\)", folded.out),
         folded.out[:600])
    t.ok(re.search(r"debug information of \d files? used", folded.err), folded.err)
    lines = t.tapir("export", "--format", "folded", file, "--symbols", there, "--lines").out
    t.ok(f";work (inlined.c:{line}) " in lines and "turn" not in lines, lines[:600])
    inlined = t.tapir("export", "--format", "folded", file, "--symbols", there, "--inline").out
    t.ok(";work;twice (inlined);turn (inlined) " in inlined and "inlined.c" not in inlined, inlined[:600])
    for reader, words in ((("report", "--view", "cpu"), f"work (inlined.c:{line})"),
                          (("events",), "work+0x"), (("flamegraph",), "turn (inlined.c:"),
                          (("export", "--format", "perfscript"), " turn (inlined)"),
                          (("export", "--format", "speedscope"), f'"file":{json.dumps(SOURCE)},"line":{line}'),
                          (("export", "--format", "speedscope"), '"name":"turn"')):
        out = t.tapir(*reader, file, "--symbols", there, "--lines", "--inline").out
        t.ok(words in out, f"{reader}: no {words!r} in\n{out[:1500]}")
    plain = t.tapir("export", "--format", "folded", file, "--symbols", there).out
    t.ok("inlined.c" not in plain and "turn" not in plain, plain[:600])


def test_stacks_of_a_process_have_lines(t):
    there = made(t)
    target = t.start(f"{there}/bin/inlined", 30)
    target.wait_line("ready")
    result = t.tapir("stacks", "-p", target.pid, "--symbols", there, "--lines", "--inline")
    t.ok(re.search(r"work \(inlined\.c:\d+\)", result.out) and re.search(r"main \(inlined\.c:\d+\)", result.out), result.out)


def test_debug_information_that_dwz_moved_elsewhere_is_found_and_checked(t):
    """Its path is in the file: it may be anything, and is opened only where its build ID is right."""
    made(t)
    dwz, cc, alt = t.need("dwz"), t.need("gcc"), t.path("alt")
    for i in (1, 2):  # dwz moves what at least two files have
        t.run(cc, *BUILD[:-1], f"-Wl,--build-id=0x{i}234567890", SOURCE, "-o", t.path(f"inlined{i}"))
    t.run(dwz, "-M", alt, "-m", alt, t.path("inlined1"), t.path("inlined2"))
    t.ok(os.path.exists(alt), "dwz moved nothing")
    t.tapir("record", "-F", 997, "--no-sched", "-o", t.path("dwz.tapir"), "--", t.path("inlined1"), "0.2")

    def folded():
        result = t.tapir("export", "--format", "folded", t.path("dwz.tapir"), "--lines", "--inline", timeout=9)
        t.ok("has no source lines" not in result.err, result.err)
        return result.out

    t.ok(";twice (inlined.c:" in folded(), "names are in the other file")
    for wrong in (lambda: shutil.copy(t.path("inlined2"), alt), lambda: os.mkfifo(alt)):
        os.unlink(alt)
        wrong()
        out = folded()
        t.ok(";twice (" not in out and re.search(r";work \(inlined\.c:\d+\);\? \(inlined\.c:\d+, inlined\)", out), out[:600])


def test_control_characters_in_debug_information_do_not_reach_the_terminal(t):
    made(t)
    os.makedirs(t.path("odd"))
    with open(SOURCE, encoding="ascii") as source, open(t.path("odd/odd.c"), "w", encoding="ascii") as odd:
        odd.write('#line 1 "/src/\\033[31modd.c"\n' + source.read())
    t.run(t.need("gcc"), *BUILD, t.path("odd/odd.c"), "-o", t.path("odd/inlined"))
    t.tapir("record", "-F", 997, "--no-sched", "-o", t.path("odd.tapir"), "--", t.path("odd/inlined"), "0.2")
    for reader in (("report", "--view", "cpu"), ("events",), ("export", "--format", "folded")):
        out = t.tapir(*reader, t.path("odd.tapir"), "--lines", "--inline").out
        t.ok("\x1b" not in out, f"{reader}: {out[:300]!r}")
    t.ok("odd.c:" in out, out[:300])
