# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks: they reach the thread's start, by the calls the program makes; and where they do not, tapir reports it. The
programs, and who judges, are in tests/stacks."""
import glob
import json
import os
import pathlib
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stacks"))

import programs  # noqa: E402
import shares  # noqa: E402
import witness  # noqa: E402
from debian_root import debian_root  # noqa: E402

# Two tools sample it at a time; every thread must come to run.
CHECK_STACKS = {"test_calls_are_those_of_perf_with_copies_of_the_stack",
                "test_stacks_are_those_of_gdb", "test_doctor_says_what_stacks_and_names_there_will_be",
                "test_stacks_of_rust_are_whole", "test_stacks_of_rust_without_tables_but_with_frame_pointers_are_whole",
                "test_stacks_of_ruby_are_whole", "test_stacks_of_node_are_whole",
                "test_stacks_of_php_are_whole", "test_stacks_of_postgresql_under_load_are_whole",
                "test_stacks_of_nginx_are_whole", "test_stacks_of_redis_are_whole", "test_stacks_of_a_jvm_with_frame_pointers_are_whole",
                "test_stacks_of_virtual_threads_of_jdk_21_say_that_callers_are_in_the_heap",
                "test_stacks_of_virtual_threads_of_jdk_27_say_that_callers_are_in_the_heap",
                "test_remedies_are_those_of_the_runtime", "test_no_remedy_where_a_runtime_runs_no_function_of_its_language"}
SKIP_S = 2    # unwind tables are built in the background
WHOLE = 99
WRONG = 0.5   # percent; of a few hundred stacks, one


def record(t, program, seconds=2, *options):
    file = t.path("stacks.tapir")
    with program.running(t, seconds + SKIP_S + 6) as targets:
        said = t.tapir("record", "-F", 499, "--duration", seconds + SKIP_S, *options, "-f", "-o", file, *targets)
    return file, said.err


def named(name):
    return next(program for program in programs.PROGRAMS if program.name == name)


def judge(t, name, kinds=("samples", "waits"), seconds=2, has_outermost=False):
    """Whole stacks and known edges, of samples and waits together: a thread that waits is sampled seldom. has_outermost:
    samples have the outermost function, which code without a frame record may hide."""
    program = named(name)
    file, _ = record(t, program, seconds)
    found = shares.of_recording(t.tapir_path, file, program.comms, program.outermost, program.graph, int(SKIP_S * 1e9))
    stacks, whole, edged, wrong = (sum(getattr(found[kind], what) for kind in kinds)
                                   for what in ("stacks", "whole", "edged", "wrong"))
    detail = {kind: (found[kind].claims, found[kind].last, found[kind].wrong_edges) for kind in kinds}
    t.ok(stacks >= 50, f"{stacks} stacks: {detail}")
    t.ok(100 * whole >= WHOLE * stacks, f"{whole} of {stacks} stacks reach the thread's start: {detail}")
    t.ok(wrong <= max(1, WRONG / 100 * edged), f"{wrong} of {edged} stacks have a call that nobody makes: {detail}")
    missing = found["samples"].stacks - found["samples"].outermost
    t.ok(not has_outermost or missing <= max(1, found["samples"].stacks / 100), f"{missing} samples without {program.outermost}")
    false = sum(found[kind].claims.get("whole", [0, 0])[1] for kind in kinds)
    t.ok(100 * false <= stacks, f"{false} of {stacks} are whole by what tapir says, but not by their names: {detail}")
    return file


def test_stacks_of_go_are_whole(t):
    """Also those of the runtime's work on its thread's own stack: systemstack calls F.func1 for F, on a goroutine's stack."""
    file = judge(t, "Go")
    found = set()
    for kind in ("sample", "switch"):
        for r in t.events(file, kind):
            if r.get("stack_end") != "whole":
                continue
            names = [(frame["name"] or "?").removesuffix(".abi0") for frame in r["stack"]]
            found |= {(a, c) for a, b, c in zip(names, names[1:], names[2:]) if b == "runtime.systemstack" and ".func" in a}
    wrong = [(a, c) for a, c in found if not a.startswith(c + ".func")]
    t.ok(len(found) >= 3 and not wrong, f"{wrong} of {found}")


def test_stacks_of_rust_are_whole(t):
    judge(t, "Rust")


def test_stacks_of_rust_without_tables_but_with_frame_pointers_are_whole(t):
    judge(t, "Rust, panic=abort with frame pointers")


def test_stacks_of_cpython_are_whole(t):
    judge(t, "CPython")


def test_stacks_of_ruby_are_whole(t):
    judge(t, "Ruby")


def test_stacks_of_node_are_whole(t):
    judge(t, "Node")


def test_stacks_of_php_are_whole(t):
    judge(t, "PHP, no JIT")


def test_stacks_of_a_jvm_are_whole(t):
    """As people start it: compiled code has no frame pointers."""
    judge(t, "JVM")


def test_stacks_of_a_jvm_with_frame_pointers_are_whole(t):
    judge(t, "JVM +PreserveFramePointer")


def test_stacks_of_dotnet_are_whole(t):
    """Also through methods whose code was replaced while they ran, and through those without a frame record."""
    judge(t, ".NET", seconds=1, has_outermost=True)


def test_stacks_of_virtual_threads_are_whole_or_say_that_callers_are_in_the_heap(t):
    java = virtual_javas(t)[-1]
    virtual_threads_say_where_their_callers_are(t, java, "-cp", compiled_virtual(t, java))


def test_stacks_of_virtual_threads_of_jdk_21_say_that_callers_are_in_the_heap(t):
    virtual_threads_of_debian(t, "trixie", 21)


def test_stacks_of_virtual_threads_of_jdk_27_say_that_callers_are_in_the_heap(t):
    virtual_threads_of_debian(t, "sid", 27)


def virtual_threads_of_debian(t, suite, release):
    root = debian_root(t, suite, f"openjdk-{release}-jre-headless")
    shutil.copytree(compiled_virtual(t, virtual_javas(t)[-1]), os.path.join(root, "tmp"), dirs_exist_ok=True)
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)  # java finds its home there
    enter = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    virtual_threads_say_where_their_callers_are(t, t.need("unshare"), "-m", "sh", "-c", enter, root,
                                                f"/usr/lib/jvm/java-{release}-openjdk-amd64/bin/java", "-cp", "/tmp")


def virtual_javas(t):
    found = sorted((path for path in glob.glob("/usr/lib/jvm/*/bin/java") if jdk_release(path) >= 21), key=jdk_release)
    if not found:
        t.skip("no JDK with virtual threads")
    return found


def compiled_virtual(t, java):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Virtual.java")
    t.eq(t.run(java + "c", "--release", "21", "-d", t.path("classes"), source, timeout=60).rc, 0, "javac")
    return t.path("classes")


def virtual_threads_say_where_their_callers_are(t, *java):
    """One virtual thread never leaves its carrier: its stack is whole. Those that were away have their next callers alone, and the
    carrier's must not follow these."""
    program = t.start(*java, "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Virtual.*", "Virtual")
    program.wait_line("ready", timeout=60)
    file = t.path("virtual.tapir")
    t.tapir("record", "-F", 499, "--duration", 2 + SKIP_S, "-p", program.pid, "-f", "-o", file)
    program.kill()
    judge_virtual(t, file)


def jdk_release(java):
    """The first number of the version; 0: not said."""
    release = os.path.join(os.path.dirname(os.path.dirname(java)), "release")
    text = pathlib.Path(release).read_text(encoding="utf-8") if os.path.exists(release) else ""
    found = re.search(r'^JAVA_VERSION="(\d+)', text, re.M)
    return int(found[1]) if found else 0


def judge_virtual(t, file):
    ends = {"down": {}, "burn": {}}
    for record in shares.records(t.tapir_path, file):
        names = [frame["name"] or "" for frame in record.get("stack") or []]
        kind = next((kind for kind in ends if any(f"Virtual.{kind}(" in name for name in names)), None)
        if record["type"] == "sample" and kind:
            carrier = any("Continuation.enterSpecial" in name or "VirtualThread.runContinuation" in name for name in names)
            key = (record["stack_end"], carrier)
            ends[kind][key] = ends[kind].get(key, 0) + 1
    away, stays = ends["down"], ends["burn"]
    t.ok(away.get(("in_heap", False), 0) >= 50 and stays.get(("whole", True), 0) >= 50, f"samples by end, has the carrier's: {ends}")
    t.eq({key for key in away if key[0] == "whole" or key[1]}, set(), f"stacks without all callers: {ends}")
    t.eq({key for key in stays if key[0] == "in_heap"}, set(), f"stacks of the thread that stays: {ends}")
    t.ok("virtual thread, callers in the heap" in t.tapir("report", file, "--all").out, "the report's reason")


def test_waits_of_a_jvm_name_the_code_that_waits(t):
    """They end in Debian's libc, which has no frame pointers."""
    program = named("JVM +PreserveFramePointer")
    file, _ = record(t, program)
    waits = [r for r in shares.records(t.tapir_path, file) if shares.kind_of(r) == "waits" and r.get("stack")]
    in_libc = [w for w in waits[len(waits) // 2:] if "futex" in (w["stack"][0]["name"] or "")]
    waiting = [w for w in in_libc if any((f["name"] or "").endswith(("Graph.waiter(long)", "Graph.main(java.lang.String[])"))
                                         or "JVM_MonitorWait" in (f["name"] or "") or "Sleep" in (f["name"] or "")
                                         or "::" in (f["name"] or "") for f in w["stack"])]
    t.ok(len(in_libc) >= 50 and len(waiting) >= 0.99 * len(in_libc), f"{len(waiting)} of {len(in_libc)} waits")


def test_stacks_of_postgresql_under_load_are_whole(t):
    judge(t, "PostgreSQL, pgbench")


def test_stacks_of_nginx_are_whole(t):
    judge(t, "nginx")


def test_stacks_of_redis_are_whole(t):
    judge(t, "redis")


def test_stacks_are_those_of_gdb(t):
    """Each stack that gdb finds in a stopped thread is one that tapir saw, address by address."""
    program = t.start(programs.native(t, "graph-c-o3-witness", "-O3", *programs.NOT_FRAMES), "waits", "30")
    pid = program.wait_line("pid ").split()[1]
    file = t.path("stacks.tapir")
    tapir = t.start_tapir("record", "--no-samples", "-f", "-o", file, "-p", pid)
    tapir.wait_line("tapir: recording")
    time.sleep(SKIP_S + 2)
    by_gdb = [stack for _ in range(8) for stack in witness.by_gdb(t, pid).values()]
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "record")
    seen = {tuple(f["addr"] for f in r["stack"]) for r in t.events(file, "switch") if r.get("stack")}
    # A coroutine's stack begins in libc's __start_context; what gdb finds below is no frame.
    asleep = [stack for stack in by_gdb if "nanosleep" in (stack[0][1] or "") and all(name != "coroutine" for _, name in stack)]
    missing = [stack for stack in asleep if tuple(pc for pc, _ in stack) not in seen]
    t.ok(len(asleep) >= 5, f"{len(asleep)} of {len(by_gdb)} threads were asleep")
    t.eq(missing[:1], [], f"{len(missing)} of {len(asleep)} stacks of gdb's that tapir has not seen")


def test_calls_are_those_of_perf_with_copies_of_the_stack(t):
    """perf unwinds by the files' own tables: what the graph calls wrong, perf does not see either."""
    program = t.start(programs.native(t, "graph-c-o3-witness", "-O3", *programs.NOT_FRAMES), "cpu", "40")
    pid = program.wait_line("pid ").split()[1]
    by_perf = witness.by_perf(t, pid, 2)
    calls = {(a.split("+")[0], b.split("+")[0]) for stack in by_perf for a, b in zip(stack, stack[1:])}
    own = programs.NATIVE.functions
    calls = {(a, b) for a, b in calls if a in own and b in own}
    t.ok(len(calls) >= 10, f"perf sees calls: {calls}")
    unknown = {(a, b) for a, b in calls if a not in programs.NATIVE.calls.get(b, ())}
    t.eq(unknown, set(), "calls of perf's that the graph has not")
    file = t.path("stacks.tapir")
    t.tapir("record", "-F", 499, "--duration", SKIP_S + 2, "-f", "-o", file, "-p", pid)
    seen = {(shares.plain(a), shares.plain(b)) for r in t.events(file, "sample")
            for a, b in zip(r.get("stack") or [], (r.get("stack") or [])[1:])}
    t.eq(calls - seen, set(), "calls that perf sees and tapir does not")


# ---- stacks that lead a walker astray -----------------------------------------------------------

# tests/e2e/targets/oddstack.c: how many frames, and how the stack ends; NOT_YET until the tables are there
ODD = {"guard": (3, "fault"), "beyond": (1, "fault"), "endless": (127, "more"), "cycle": (1, "no_progress"),
       "itself": (2, "no_progress"), "kernel": (1, "fault"), "noncanonical": (1, "fault"), "null": (1, "fault"),
       "wraps": (1, "fault"), "unaligned": (1, "no_progress"), "bare": (4, "whole"), "deref": (4, "whole")}


def test_hostile_stack_ends_where_it_stops_being_one(t):
    """A stack that ends at a guard page, in a cycle, or at unmapped addresses; code without unwind data is followed."""
    file = t.path("odd.tapir")
    said = t.tapir("record", "-F", 499, "--no-sched", "-f", "-o", file, "--", t.target_path("oddstack"), SKIP_S + 1)
    lines = said.json_lines()
    name_of = {line["tid"]: line["name"] for line in lines if line["tid"]}
    impossible = {line["name"] for line in lines if not line["tid"]}  # on this machine; see oddstack.c
    t.ok(impossible <= {"noncanonical"}, f"this machine ends threads that spin as {impossible}")
    t.eq(set(name_of.values()), set(ODD) - impossible, "threads")
    seen, samples = {}, [r for r in t.events(file, "sample") if r["tid"] in name_of]
    # Until its tables are there, a stack by frame pointers alone may lack a caller in the middle: it is not called complete.
    ready_ns = max([min(r["time_ns"] for r in samples) + SKIP_S * 10**9,
                    *(r["time_ns"] for r in samples if r.get("stack_end") == "not_yet")])
    for r in samples:
        stack = r.get("stack") or [{"name": None}]
        if (stack[0]["name"] or "").startswith("spin_") and (r["time_ns"] > ready_ns or r["stack_end"] == "whole"):
            seen.setdefault(name_of[r["tid"]], []).append((len(stack), r["stack_end"]))
    wrong = {name: [end for end in ends if end != ODD[name]][:3] for name, ends in seen.items() if set(ends) != {ODD[name]}}
    t.eq(wrong, {}, "frames and ends")
    t.eq(set(seen), set(ODD) - impossible, "threads with samples")


# ---- where stacks are incomplete -----------------------------------------------------------------


def test_first_page_says_that_stacks_lack_callers(t):
    """PHP's JIT: its code has no frame pointers, and nothing says how large its frames are."""
    program = named("PHP, JIT")
    file, said = record(t, program)
    t.ok(re.search(r"; stacks of \d+% of samples lack callers", said), f"record's last lines: {said}")
    remedy = re.compile(r"callers: lost in \d+% of samples, most in generated code of PHP: "
                        r"[^\n]*opcache\.jit")
    for view in ("cpu", "offcpu"):
        t.ok(remedy.search(t.tapir("report", file, "--view", view).out), f"view {view}")
    t.ok(remedy.search(said), f"record's last lines: {said}")
    text = t.tapir("report", file, "--all").out
    t.ok(re.search(r"^stacks: complete in .*% of samples", text, re.M), text[:1500])
    t.ok(re.search(r"generated code +generated code without frame pointers +[^\n]*opcache\.jit", text),
         text[:2500])
    ends = t.report(file)["stack_ends"]
    row = next(row for row in ends["lost"] if row["end"] == "jit_no_fp")
    t.ok(row["samples"] > 0.5 * ends["samples"]["known"], f"most samples: {ends}")
    t.ok(ends["samples"]["known"] - ends["samples"]["whole"] == sum(row["samples"] for row in ends["lost"]), f"sums: {ends}")
    lost = "[callers lost: generated code without frame pointers]"
    for form in ("folded", "perfscript", "speedscope"):
        out = t.path(form)
        t.tapir("export", "--format", form, file, "-o", out)
        with open(out, encoding="utf-8") as made:
            t.ok(lost in made.read(), f"{form} has the frame")
    svg = t.path("out.svg")
    t.tapir("flamegraph", file, "-o", svg)
    with open(svg, encoding="utf-8") as made:
        picture = made.read()
    t.ok("callers lost: generated code without frame pointers" in picture, "the flame graph has the frame")
    t.ok(remedy.search(picture), "and the remedy")
    t.ok(f"<{lost[1:-1]}>" in t.tapir("events", file).out, "events name the reason")


def checks(t, pid):
    document = json.loads(t.tapir("doctor", "-p", pid, "--json", expect=None).out)
    return {check["name"]: (check["state"], check["means"], check["remedy"]) for check in document["checks"]}


STRIPPED = {"CPython": "python3", "Ruby": "libruby", "PHP, no JIT": "php"}  # as Debian has them


def package_of(t, pid, file):
    """Of the symbols of a file whose name begins so, as dpkg knows it; None: the process has none such."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if file and f"/{file}" in line and " r-xp " in line]
    if not paths or not os.path.exists(paths[0]):
        return None
    owner = t.run(t.need("dpkg"), "-S", paths[0]).out.partition(":")[0]
    return re.sub(r"-(minimal|stdlib)$", "", owner).removeprefix("lib") + "-dbg" if "python" in owner else owner and f"{owner}-dbgsym"


def test_doctor_says_what_stacks_and_names_there_will_be(t):
    for name, stacks, names, remedy in (
            ("JVM", "ok", "ok", None), ("JVM +PreserveFramePointer", "ok", "ok", None),
            ("CPython", "ok", "ok", None), ("PHP, no JIT", "ok", "ok", None),
            ("PHP, JIT", "limited", "ok", "opcache.jit"), ("Go", "ok", "ok", None), ("Ruby", "ok", "ok", None),
            ("Node", "ok", "ok", None),
            ("Node --perf-basic-prof", "ok", "ok", None), (".NET", "ok", "ok", None)):
        with named(name).running(t, 10) as targets:
            owner = package_of(t, targets[1], STRIPPED.get(name))
            found = checks(t, targets[1])
        t.eq((found["process_stacks"][0], found["process_names"][0]), (stacks, names), f"{name}: {found}")
        remedies = [found[key][2] for key in ("process_stacks", "process_names") if found[key][2]]
        t.eq([remedy in text for text in remedies], [True] * len(remedies), f"{name}: {remedies}")
        symbols = found["process_symbols"]
        if owner and symbols[0] != "ok":
            t.ok(symbols[2].startswith(f"install package {owner}, or name them later"), f"{name}: {symbols}")


NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


def test_doctor_says_where_stacks_of_a_native_program_end(t):
    """Without a runtime, a file's own tables decide; crt1.o has some in each program."""
    for name, flags, stacks in (("graph-c-o3-witness", ["-O3"], "ok"), ("graph-c-no-tables", ["-O2", *NO_TABLES], "limited")):
        path = programs.native(t, name, *flags, *programs.NOT_FRAMES)
        process = t.start(path, "waits", "20")
        pid = process.wait_line("pid ").split()[1]
        state, means, remedy = checks(t, pid)["process_stacks"]
        process.kill()
        t.eq((state, "has no unwind table" in means), (stacks, stacks == "limited"), f"{name}: {means}")
        t.eq("-fasynchronous-unwind-tables" in (remedy or ""), stacks == "limited", f"{name}: {remedy}")


def test_remedies_are_those_of_the_runtime(t):
    """Where names or callers are missing, record's last lines and the first page name the flag, or the package with symbols."""
    for name, callers, names, file in (
            ("CPython", None, None, STRIPPED["CPython"]),  # its functions are found without a flag
            ("Ruby", None, None, STRIPPED["Ruby"]),
            ("Node", None, None, None),
            ("PHP, JIT", "start php with -d opcache.jit=off", None, None)):
        with named(name).running(t, 4) as targets:
            owner = package_of(t, targets[1], file)
        recording, said = record(t, named(name), 1)
        first_page = t.tapir("report", recording, "--all").out
        for text in (said, first_page):
            t.eq(bool(re.search(r"names: \d+% of \S+'s stacks name none of its functions: .*" + re.escape(names or ""), text)), bool(names),
                 f"{name}: {text}")
        t.ok(not callers or re.search(r"callers: lost in \d+% of samples, most in generated code of PHP: " + re.escape(callers), said),
             f"{name}: {said}")
        t.ok(callers or "callers: " not in said, f"{name}: {said}")
        t.ok(not owner or re.search(rf"without a name in {file}\S*: its symbols are in package {owner}", said), f"{name}: {owner}: {said}")


def test_no_remedy_where_a_runtime_runs_no_function_of_its_language(t):
    """Most waits of Node are its event loop's: no option names a function there."""
    recording, said = record(t, named("Node --perf-basic-prof"), 1)
    text = t.tapir("report", recording, "--all").out
    t.ok("name none of its functions" not in said + text, f"{said} {text[:1500]}")


def test_probes_that_have_their_option_do_not_ask_for_it(t):
    """By the command line and by the environment; another option is another probe's."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Convoy.java")
    jvm = t.start(t.need("java"), "-Xmx64m", "-XX:+DTraceMethodProbes", source, "100000",
                  env={**os.environ, "JAVA_TOOL_OPTIONS": "-Xss1m -XX:+DTraceAllocProbes"})
    time.sleep(2)
    for said in (t.tapir("list", "-p", jvm.pid, "hotspot:*").err,
                 t.tapir("record", "hotspot:method__entry,object__alloc,monitor__wait", "--no-samples", "--no-sched", "--duration", 0.2, "-f",
                         "-o", t.path("jvm.tapir"), "-p", jvm.pid).err):
        t.ok("DTraceMethodProbes" not in said and "DTraceAllocProbes" not in said, said)
        t.ok("fires only in a JVM started with -XX:+DTraceMonitorProbes" in said, said)
    jvm.kill()
    php = t.start(t.need("php"), "-r", "sleep(60);", env={**os.environ, "USE_ZEND_DTRACE": "1"})
    time.sleep(0.5)
    if "function__entry" in t.tapir("list", "-p", php.pid, expect=None).out:
        said = t.tapir("record", "php:function__entry", "--no-samples", "--no-sched", "--duration", 0.2, "-f", "-o", t.path("php.tapir"),
                       "-p", php.pid).err
        t.ok("fires only" not in said, said)


def test_probes_that_need_an_option_say_so(t):
    with named("JVM").running(t, 12) as targets:
        said = t.tapir("record", "hotspot:method__entry,object__alloc,monitor__wait", "--no-samples", "--no-sched",
                       "--duration", 1, "-f", "-o", t.path("jvm.tapir"), *targets).err
    for probe, option in (("method__entry", "Method"), ("object__alloc", "Alloc"), ("monitor__wait", "Monitor")):
        t.ok(f"hotspot:{probe} fires only in a JVM started with -XX:+DTrace{option}Probes" in said, said)
    with named("PHP, no JIT").running(t, 8) as targets:
        if "function__entry" in t.tapir("list", *targets, expect=None).out:
            said = t.tapir("record", "php:function__entry", "--no-samples", "--no-sched", "--duration", 1, "-f", "-o",
                           t.path("php.tapir"), *targets).err
            t.ok("php:function__entry fires only in a PHP started with USE_ZEND_DTRACE=1 in its environment" in said, said)
    with named("JVM").running(t, 8) as targets:
        said = t.tapir("list", *targets, "hotspot:monitor__*").err
        t.eq(said.count("hotspot:monitor__contended__enter fires only in a JVM started with -XX:+DTraceMonitorProbes"), 1, said)
        said = t.tapir("list", *targets, "hotspot:gc__*").err
        t.ok("fires only" not in said, said)
    with named("CPython").running(t, 8) as targets:
        if "function__entry" not in t.tapir("list", *targets, expect=None).out:
            return
        said = t.tapir("record", "python:function__entry", "--no-samples", "--no-sched", "--duration", 1, "-f", "-o",
                       t.path("python.tapir"), *targets).err
    t.ok("python:function__entry fires only while python:line is attached too" in said, said)
