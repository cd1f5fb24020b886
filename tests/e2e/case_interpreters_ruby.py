# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods of Ruby are frames of CPU samples, waits and events, between the native functions that call them. programs/ruby_frames.rb says by its own
code which of its methods may call which."""
import os
import pathlib
import re
import signal

from case_interpreters import recorded
from debian_root import in_debian_root
from harness import wait_cpu

CHECK_STACKS = {"test_methods_of_ruby_3_3_are_between_the_functions_that_call_them"}  # fetched and unpacked first

PROGRAMS = pathlib.Path(__file__).parent / "programs"
FRAMES = str(PROGRAMS / "ruby_frames.rb")
# Of CPU time: as many samples, whatever else runs.
SECONDS = 0.7
ROOTS = {"<main>", "block in <main>", "block in Object#in_fiber"}
# A method of the program, and which may call it.
CALLERS = {
    "Object#work": ["<main>"],
    "Shop#weigh": ["Object#work", "Shop.compare", "block in Object#work", "block in <class:Shop>", "block in Object#in_fiber",
                   "rescue in Object#rescued", "Object#evaluated", "Kernel#eval", "Object#descend"],  # what eval compiled may be gone
    "Shop.compare": ["block in Shop#sort_parcels"],
    "block in Shop#sort_parcels": ["Array#sort"],
    "block in Object#work": ["Shop#each_parcel"],
    "rescue in Object#rescued": ["Object#rescued"],
    "block in Counting#count_letters": ["Array#map"],
    "block (2 levels) in Counting#count_letters": ["String#each_char"],
    "Object#evaluated": ["Object#work", "Kernel#eval"],
    "Object#descend": ["Object#work", "Object#descend"],
    "Object#sleep_in_thread": ["block in <main>"],
    "block in Object#sleep_in_thread": ["Kernel#loop"],
    **{name: ["Object#work"] for name in ("Shop#sort_parcels", "Shop#each_parcel", "block in <class:Shop>", "Counting#count_letters", "Object#in_fiber",
                                          "Object#rescued")},
}
LEAVES = ("Shop.compare Shop#weigh", "block in Object#in_fiber Shop#weigh", "block in <class:Shop> Shop#weigh", "Kernel#eval",
          "rescue in Object#rescued Shop#weigh", "block in Object#work Shop#weigh", "Object#descend Shop#weigh", "String#each_char")
LINES = {name[1]: number for number, line in enumerate(pathlib.Path(FRAMES).read_text(encoding="utf-8").splitlines(), 1)
         if (name := re.match(r" *def (?:self\.)?(\w+)", line))}


def methods(stack):
    """Outermost first: (name, file, line)."""
    names = (re.fullmatch(r"rb::(.*?):((?:/|\[|<internal|ruby_frames).*?)(?::(\d+))?", frame["name"] or "") for frame in reversed(stack))
    return [(name[1], name[2], int(name[3] or 0)) for name in names if name]


def need_ruby(t):
    if "ruby 3.1." not in t.run(t.need("ruby"), "-v").out:
        t.skip("this Ruby is not 3.1")


def wrong_in(chain):
    """A pair of methods that the program does not call so; what Ruby has itself may be called by any."""
    if chain and chain[0][0] not in ROOTS:
        return chain[0]
    for (caller, *_), (name, file, _) in zip(chain, chain[1:]):
        if file.endswith("ruby_frames.rb") and caller not in CALLERS.get(name, ()):
            return caller, name
    return None


def are_between_their_callers(t, *program, events=()):
    """Samples, waits and events of ruby_frames.rb, started so; returns the recording."""
    file, pid = recorded(t, *program, seconds=SECONDS, events=events)
    samples = [e for e in t.events(file, "sample") if e["tid"] == pid and e.get("stack_end") == "whole"]
    found = [methods(e["stack"]) for e in samples]
    named = [chain for chain in found if chain and chain[0][0] in ROOTS]
    t.ok(len(named) >= 0.95 * len(found) > 0, f"{len(named)} of {len(found)} samples are in the program")
    waits = [methods(e["stack"]) for e in t.events(file, "switch") if e["pid"] == pid and e.get("stack_end") == "whole"]
    wrong = [pair for chain in found + waits if (pair := wrong_in(chain))]
    t.ok(not wrong, f"{len(wrong)} of {len(found)}: {wrong[:3]}")
    chains = [" ".join(name for name, *_ in chain) for chain in found]
    for leaf in LEAVES:
        t.ok(any(leaf in chain for chain in chains), f"nothing of {leaf} in {len(chains)} samples")
    of_lines = {(re.sub(r".*[#.]", "", name), line) for chain in found for name, path, line in chain
                if os.path.isabs(path) and os.path.basename(path) == os.path.basename(FRAMES) and re.fullmatch(r"\w+[#.]\w+", name)}
    t.eq({(name, line) for name, line in of_lines if LINES[name] != line}, set(), "lines of methods")
    for sample in samples:
        names = [frame["name"] or "" for frame in reversed(sample["stack"])]
        sort, block = (next((i for i, name in enumerate(names) if name.startswith(prefix)), None)
                       for prefix in ("rb_ary_sort", "rb::block in Shop#sort_parcels:"))
        t.ok(block is None or sort is not None and sort < block, f"the block is called by the function that sorts: {names}")
    asleep = [e for e in t.events(file, "switch") if e["pid"] == pid
              and [name for name, *_ in methods(e.get("stack") or [])][-2:] == ["block in Object#sleep_in_thread", "Kernel#sleep"]]
    t.ok(asleep, "a thread that sleeps is in its method")
    t.tapir("flamegraph", file, "-o", t.path("frames.svg"))
    t.ok("Shop#weigh" in pathlib.Path(t.path("frames.svg")).read_text(encoding="utf-8"), "the flame graph")
    return file


def test_methods_of_ruby_are_between_the_functions_that_call_them(t):
    need_ruby(t)
    file = are_between_their_callers(t, "ruby", FRAMES, events=["ruby:raise"])
    raised = {" ".join(name for name, *_ in methods(e["stack"])) for e in t.events(file) if e.get("stack_end") == "whole"}
    t.eq(raised, {"<main> Object#work Object#rescued"}, "methods of an event, for which Ruby has left Kernel#raise")


# Debian's has no probes.
def test_methods_of_ruby_3_3_are_between_the_functions_that_call_them(t):
    are_between_their_callers(t, *in_debian_root(t, "trixie", "ruby3.3", "ruby3.3", FRAMES))


def built_as(t, name, *flags):
    out = t.path(name)
    t.eq(t.run(t.need("gcc"), "-O2", "-rdynamic", *flags, PROGRAMS / "ruby_hostile.c", "-o", out, "-pthread").rc, 0, "compiler")
    return out


def test_frames_that_are_wrong_have_no_names(t):
    program = built_as(t, "ruby-hostile")
    processes = {name: t.start(program, name) for name in ("circle", "length", "flip", "torn", "nowhere")}
    pids = {name: int(process.wait_line("pid ").split()[1]) for name, process in processes.items()}
    file = t.path("hostile.tapir")
    tapir = t.start_tapir("record", "-p", ",".join(map(str, pids.values())), "-o", file, "-f")
    tapir.wait_ready()
    for pid in pids.values():
        wait_cpu(pid, 0.05)
    processes["circle"].kill()
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "tapir")
    samples = [e for e in t.events(file, "sample") if e.get("stack")]
    for name, pid in pids.items():
        names = [[frame["name"] or "" for frame in e["stack"]] for e in samples if e["pid"] == pid]
        t.ok(any("rb_vm_exec" in stack for stack in names), f"samples of {name}")
        t.ok(not any(name.startswith("rb::") for stack in names for name in stack), f"{name}: {names[:3]}")


def test_version_that_is_not_known_is_refused(t):
    process = t.start(built_as(t, "ruby3.9", '-DVERSION="3.9.0"'))
    pid = process.wait_line("pid ").split()[1]
    said = t.tapir("doctor", "-p", pid, expect=None).out
    process.kill()
    t.ok(re.search(r"limited +process_names +Ruby.* none of Ruby's", said), said)
