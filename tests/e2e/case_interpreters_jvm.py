# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods that a JVM interprets are frames of CPU samples, events and waits, without a flag or a restart. programs/JavaCalls.java says by its own
code which of its methods may call which, and by the clock of its thread what share of the time each kind has."""
import os
import pathlib
import re
import shutil

from case_interpreters import recorded
from case_jvm import javas
from case_names import WORK
from case_stacks import jdk_release
from debian_root import debian_root
from harness import PATIENCE

# JDKs of later releases are fetched and unpacked first.
CHECK_STACKS = {"test_methods_of_jdk_21_are_between_those_that_call_them", "test_methods_of_jdk_27_are_between_those_that_call_them"}

PROGRAMS = pathlib.Path(__file__).parent / "programs"
DEBIAN = {21: "trixie", 27: "sid"}
KINDS = ("light", "heavy", "called", "compare", "deep")
# Of CPU time of each program: as many samples, whatever else runs.
SECONDS = 1.5
# What may follow main, outermost first: turn also asks for the time, and the lambda is in the JDK's reflection before heavy runs.
CHAINS = re.compile("waits|main turn lambda.main.0|main( turn( (light|lambda.main.0 heavy|called|compare|(deep)( deep)*)?( burn)?| spent)?( cpuNs)?)?")


def compiled(t, name):
    javac, classes = t.need("javac"), t.path("classes")
    os.makedirs(classes, exist_ok=True)
    t.eq(t.run(javac, "--release", "11", "-d", classes, str(PROGRAMS / f"{name}.java"), timeout=60).rc, 0, "javac")
    return classes


def methods(stack, of="JavaCalls"):
    """Those of the program, outermost first."""
    names = (re.search(rf"\b{of}\.([\w$]+)\(", frame["name"] or "") for frame in reversed(stack))
    return [name[1] for name in names if name]


def are_between_their_callers(t, *java):
    file, pid = recorded(t, *java, "JavaCalls", "1000", seconds=SECONDS)
    samples = [e for e in t.events(file, "sample") if e.get("stack_end") == "whole"]
    chains = [chain for chain in (" ".join(methods(e["stack"])) for e in samples) if chain]
    t.ok(len(chains) >= 100, f"{len(chains)} samples of the program's methods")
    wrong = [chain for chain in chains if not CHAINS.fullmatch(chain)]
    t.ok(len(wrong) <= 0.001 * len(chains), f"{len(wrong)} of {len(chains)}: {wrong[:3]}")
    of_main = [[frame["name"] or "" for frame in e["stack"]] for e in samples if any("JavaMain" in (f["name"] or "") for f in e["stack"])]
    whole = [names for names in of_main if any("JavaCalls.main(" in name for name in names)]
    t.ok(len(whole) >= 0.99 * len(of_main), f"{len(whole)} of {len(of_main)} samples reach main, not {[names for names in of_main if names not in whole][:2]}")
    bare = [names for names in whole if "Interpreter" in names]
    t.ok(len(bare) <= 0.05 * len(whole), f"{len(bare)} of {len(whole)} have a frame without a name: {bare[:2]}")
    for kind in KINDS:
        t.ok(any(kind in chain.split() for chain in chains), f"nothing of {kind} in {len(chains)} samples")
    asleep = [e for e in t.events(file, "switch") if methods(e.get("stack") or []) == ["waits"]]
    t.ok(asleep, "a thread that sleeps is in its method")
    # A method that was interrupted may have no frame yet.
    t.ok(all("Interpreter" not in [frame["name"] for frame in e["stack"][1:]] for e in asleep), "methods of the thread that sleeps")
    t.tapir("flamegraph", file, "-f", "-o", t.path("frames.svg"))
    t.ok("JavaCalls.heavy" in pathlib.Path(t.path("frames.svg")).read_text(encoding="utf-8"), "the flame graph")


def test_methods_that_are_interpreted_are_between_those_that_call_them(t):
    for java in javas(t):
        are_between_their_callers(t, java, "-Xint", "-cp", compiled(t, "JavaCalls"))


def test_stacks_of_events_have_methods_that_are_interpreted(t):
    java = t.need("java")
    file, _ = recorded(t, java, "-Xint", "-cp", compiled(t, "JavaCalls"), "JavaCalls", "1000", seconds=SECONDS,
                       events=["hotspot:thread__sleep__begin"])
    stacks = [e["stack"] for e in t.events(file) if e["event"] == "thread__sleep__begin" and e.get("stack_end") == "whole"]
    named = [stack for stack in stacks if methods(stack) == ["waits"] and "Interpreter" not in [frame["name"] for frame in stack]]
    t.ok(len(named) >= 0.99 * len(stacks) > 0, f"{len(named)} of {len(stacks)} events are in the method that sleeps")


def test_methods_that_are_interpreted_are_between_compiled_ones(t):
    """burn is compiled, what calls it is not: adapters are between both."""
    for java in javas(t):
        are_between_their_callers(t, java, "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,JavaCalls.*",
                                  *(f"-XX:CompileCommand=exclude,JavaCalls.{kind}" for kind in KINDS), "-cp", compiled(t, "JavaCalls"))


def debian_java(t, release):
    return debian_root(t, DEBIAN[release], f"openjdk-{release}-jre-headless")


def java_of(t, release):
    """The command of a JDK: of this machine, or of a later Debian in a root of its own."""
    if release not in DEBIAN:
        return next(([java] for java in javas(t) if jdk_release(os.path.realpath(java)) == release), None) or t.skip(f"no JDK {release}")
    root = debian_java(t, release)
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)  # java finds its home there
    enter = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    return [t.need("unshare"), "-m", "sh", "-c", enter, root, f"/usr/lib/jvm/java-{release}-openjdk-amd64/bin/java"]


def classes_of(t, release):
    """Where such a JDK has the program's classes."""
    if release not in DEBIAN:
        return compiled(t, "JavaCalls")
    shutil.copytree(compiled(t, "JavaCalls"), os.path.join(debian_java(t, release), "tmp"), dirs_exist_ok=True)
    return "/tmp"


def test_methods_of_jdk_21_are_between_those_that_call_them(t):
    are_between_their_callers(t, *java_of(t, 21), "-Xint", "-cp", classes_of(t, 21))


def test_methods_of_jdk_27_are_between_those_that_call_them(t):
    are_between_their_callers(t, *java_of(t, 27), "-Xint", "-cp", classes_of(t, 27))


def test_time_of_methods_is_what_the_program_counts(t):
    """By samples and by the clock of its thread: within 5 points, or 3 sigma of the samples."""
    for java in javas(t):
        file = t.path("shares.tapir")
        program = t.start(java, "-Xint", "-cp", compiled(t, "JavaCalls"), "JavaCalls", "3")
        program.wait_line("pid ")
        t.tapir("record", "--no-sched", "-f", "-o", file, "-p", program.pid, timeout=120)
        counted = program.wait(timeout=60).witness()
        chains = [methods(e["stack"]) for e in t.events(file, "sample") if e.get("stack")]
        kinds = [kind for chain in chains for kind in KINDS if kind in chain]
        t.ok(len(kinds) >= 200, f"{len(kinds)} samples of {len(chains)} are in a kind of method")
        for kind, share in counted.items():
            found = kinds.count(kind) / len(kinds)
            limit = max(0.05, 3 * (share * (1 - share) / len(kinds)) ** 0.5)
            t.ok(abs(found - share) <= limit, f"{kind}: {found:.3f} of {len(kinds)} samples, {share:.3f} by its own count, of {java}")


def churn(t, java):
    """Methods of classes that are loaded, run for 70 ms and unloaded in turn: (those of their time, of another time, names by address)."""
    work, file = t.path("work"), t.path("churn.tapir")
    os.makedirs(work, exist_ok=True)
    for i in range(3):
        pathlib.Path(work, f"Work{i}.java").write_text(WORK % (i, i), encoding="ascii")
    t.eq(t.run(t.need("javac"), "--release", "11", "-d", work, *(f"{work}/Work{i}.java" for i in range(3)), timeout=60).rc, 0, "javac")
    said = t.tapir("record", "--no-sched", "-F", 499, "-f", "-o", file, "--", java, "-Xint", "-XX:+UseSerialGC", "-cp", compiled(t, "Churn"),
                   "Churn", work, 48, 70, timeout=60 * PATIENCE)
    periods = [(name, int(begin), int(end)) for name, begin, end in re.findall(r"^period (\w+) (\d+) (\d+)$", said.out, re.M)]
    t.eq(len(periods), 48, "periods")
    right, wrong, names = 0, [], {}
    for sample in (e for e in t.events(file, "sample") if e.get("stack")):
        of = next((name for name, begin, end in periods if begin < sample["time_ns"] < end), None)
        for frame in sample["stack"] if of else ():
            found = re.search(r"(Work\d)\.(\w+)", frame["name"] or "")
            if found:
                names.setdefault(frame["addr"] & ~7, set()).add(found[0])
                right += found[1] == of
                wrong += [frame["name"]] if found[1] != of else []
    return right, wrong, names


def test_methods_of_classes_that_take_the_place_of_others_have_their_own_names(t):
    for java in javas(t):
        right, wrong, names = churn(t, java)
        t.ok(right >= 200, f"{right} frames in the classes of their period")
        t.eq(wrong, [], f"frames of classes of other periods, and {right} right ones")
        if jdk_release(os.path.realpath(java)) == 17:  # the others reuse addresses later
            t.ok(max(map(len, names.values())) >= 2, f"an address had two methods: {names}")
