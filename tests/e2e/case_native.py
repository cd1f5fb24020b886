# SPDX-License-Identifier: GPL-2.0-or-later
"""Native memory: what a program that leaks by functions of its own counts itself."""
import json
import math
import os
import pathlib
import signal

from dotnet_program import build_dotnet

CHECK_DOTNET = {"test_method_of_dotnet_that_allocates_natively_is_named"}

QUIET = ("--no-samples", "--no-sched", "-f")
THREADS, ROUNDS = 4, 200
LEAKS = ("leak_malloc", "leak_calloc", "leak_aligned", "leak_realloc")
MEAN = 524288
SIZES = {"leak_malloc": 65536, "leak_calloc": 8192, "leak_aligned": 32768, "leak_realloc": 49152}


def record(t, *options, target=(), threads=THREADS, rounds=ROUNDS, other=None):
    """What the leaker says, the view's tables, the recording. It waits until it is traced; other: what another tracer probes in it."""
    file = t.path("native.tapir")
    leaker = t.target("leaker", "--wait", *target, threads, rounds)
    if other:
        t.start_tapir("trace", *other, "--count", "-p", leaker.pid).wait_ready()
    said = t.record_waiting(leaker, file, *options, *QUIET)
    return said, view(t, file), file


def view(t, file, *options):
    return json.loads(t.tapir("report", file, "--view", "native-memory", "--top", 0, "--json", *options).out)


def by_function(rows, functions):
    """{function: the sum of its rows}, for rows whose stack has one of the functions."""
    found = {}
    for row in rows:
        for name in row["stack"] or []:
            if name in functions:
                sums = found.setdefault(name, {"used": 0, "used_bytes": 0, "bytes": 0, "count": 0, "samples": 0})
                for key in sums:
                    sums[key] += row[key]
                break
    return found


def test_each_block_is_counted_where_all_are_sampled(t):
    said, shown, _ = record(t, "--native-memory=1")
    found = by_function(shown["malloc"], LEAKS + ("churn", "hand_over", "fail"))
    for name in LEAKS:
        t.eq((found[name]["used"], found[name]["used_bytes"]), (said[name]["count"], said[name]["bytes"]), f"in use by {name}")
    t.eq(found["leak_realloc"]["count"], 2 * THREADS * ROUNDS, "realloc's blocks, of which it freed half, by its jump to malloc and by itself")
    t.eq((found["churn"]["count"], found["churn"]["used"]), (THREADS * ROUNDS, 0), "all of churn's were freed")
    t.eq((found["hand_over"]["count"], found["hand_over"]["used"]), (THREADS * ROUNDS, 1), "other threads freed all but the last")
    t.eq((found["fail"]["count"], found["fail"]["used"]), (THREADS * ROUNDS, 0), "what failed freed nothing, and is no block")


def test_mappings_are_exact(t):
    said, shown, file = record(t, "--native-memory")
    found = by_function(shown["mapped"], ("map_some", "commit_some"))
    t.eq((found["map_some"]["used"], found["map_some"]["used_bytes"]), (said["map_some"]["count"], said["map_some"]["bytes"]),
         "mapped, less what was unmapped in its middle")
    t.eq(found["map_some"]["bytes"], 16 << 20, "mapped")
    t.eq((found["commit_some"]["used_bytes"], found["commit_some"]["bytes"]), (3 << 20, 3 << 20), "of a reservation")
    calls = {e["call"] for e in t.events(file, "native")}
    t.ok({"mmap", "munmap", "mprotect"} <= calls, f"in the events: {calls}")


def check_samples(t, said, shown):
    found = by_function(shown["malloc"], LEAKS)
    for name in LEAKS:
        count, p = said[name]["count"], -math.expm1(-SIZES[name] / MEAN)
        seen = found.get(name, {"used": 0})["used"] * p
        limit = 5 * math.sqrt(count * p * (1 - p)) + 1
        t.ok(abs(seen - count * p) <= limit, f"{name}: {seen:.1f} samples in use, {count * p:.1f} ± {limit:.1f} expected")
    return found


def test_samples_are_within_the_bound(t):
    said, shown, _ = record(t, "--native-memory", rounds=1000)
    check_samples(t, said, shown)
    t.eq(shown["mean_bytes"], MEAN, "between two samples")
    first = shown["malloc"][0]
    t.eq(first["used_bytes"], max(r["used_bytes"] for r in shown["malloc"]), "the first row has most")
    t.ok("MB in " in shown["headline"] and "from leak_malloc, " in shown["headline"]
         and shown["headline"].endswith(" blocks still in use"), shown["headline"])
    t.ok(any("before the recording are not known" in note for note in shown["notes"]), f"what is not known: {shown['notes']}")


def test_samples_are_within_the_bound_where_another_tracer_probes_returns(t):
    """Where realloc jumps to malloc, the return address is the kernel's by then."""
    libc = next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line)
    said, shown, _ = record(t, "--native-memory", rounds=1000, other=[f"uretprobe:{libc}:{name}" for name in ("malloc", "realloc", "calloc")])
    check_samples(t, said, shown)


def without(feature):
    return {**os.environ, "TAPIR_DISABLE": feature}


def test_blocks_are_counted_where_each_return_is_trapped(t):
    """As before Linux 6.13 and 6.6."""
    for feature in ("uprobe_session", "uprobe_multi"):
        file = t.path(f"{feature}.tapir")
        leaker = t.target("leaker", "--wait", 2, 50)
        tapir = t.start(t.tapir_path, "record", "--native-memory=1", *QUIET, "-p", leaker.pid, "-o", file,
                        env=without(feature))
        tapir.wait_ready(timeout=60)
        leaker.go()
        said = leaker.wait().json_lines()[0]
        t.eq(tapir.wait(timeout=90).rc, 0, f"record without {feature}")
        found = by_function(view(t, file)["malloc"], LEAKS)
        for name in LEAKS:
            t.eq((found[name]["used"], found[name]["used_bytes"]), (said[name]["count"], said[name]["bytes"]),
                 f"in use by {name} without {feature}")


def test_no_return_is_missed_where_each_is_trapped(t):
    """Of a call that another function jumps to the return address is the kernel's own: realloc(NULL, n) jumps to malloc."""
    for feature in ("uprobe_session", "uprobe_multi"):
        leaker = t.target("leaker", "--wait", THREADS, ROUNDS)
        tapir = t.start(t.tapir_path, "record", "--native-memory", *QUIET, "-p", leaker.pid, "-o", t.path(f"{feature}.tapir"), env=without(feature))
        tapir.wait_ready(timeout=60)
        leaker.go()
        said = leaker.wait().json_lines()[0]
        result = tapir.wait(timeout=90)
        t.ok(", 0 lost, " in result.err, result.err)
        check_samples(t, said, view(t, t.path(f"{feature}.tapir")))


def test_what_a_child_frees_is_still_its_parents(t):
    said, shown, _ = record(t, "--native-memory=1", "--children", target=("--fork",), rounds=50)
    found = by_function(shown["malloc"], LEAKS)
    for name in LEAKS:
        t.eq(found[name]["used"], said[name]["count"], f"in use by {name}")


def test_program_that_is_started_has_all_of_it(t):
    file = t.path("started.tapir")
    result = t.tapir("record", "--native-memory=1", *QUIET, "-o", file, "--", t.target_path("leaker"), 2, 50)
    t.ok(", 0 lost, " in result.err, result.err)
    said = next(json.loads(line) for line in result.out.splitlines() if line.startswith("{"))
    found = by_function(view(t, file)["malloc"], LEAKS)
    for name in LEAKS:
        t.eq(found[name]["used"], said[name]["count"], f"in use by {name}")


def test_probes_leave_malloc_where_it_is_called_too_often(t):
    file = t.path("often.tapir")
    churner = t.start("python3", "-S", "-E", "-c",
                      "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\n"
                      "libc.free.argtypes = [ctypes.c_void_p]\nprint('on', flush=True)\n"
                      "while True:\n    libc.free(libc.malloc(100))\n")
    churner.wait_line("on")
    tapir = t.start_tapir("record", "--native-memory", "--native-memory-rate", 100, *QUIET, "-p", churner.pid, "-o", file)
    tapir._wait_for(lambda line: "are not sampled" in line, "the end of sampling", 30)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "record")
    notes = view(t, file)["notes"]
    t.ok(any("malloc and free are not sampled" in note for note in notes), f"the view says so: {notes}")


def test_usage(t):
    t.tapir("record", "--native-memory=much", "-p", os.getpid(), expect=2)


def kept(leaker):
    """How many blocks the program says that it has, in the next line."""
    return int(leaker.wait_line("kept ", timeout=30).split()[1])


def last_kept(leaker):
    return int([line for line in leaker.out if line.startswith("kept ") and line.endswith("\n")][-1].split()[1])


def check_managed(t, leaker, method, by=None):
    """What the program keeps while it is recorded is in use: not less than between two lines that it prints meanwhile, and not
    more than between one before and one after. The method is named; by: a function of all such stacks, where some have no names."""
    file = t.path("managed.tapir")
    kept(leaker)
    before = last_kept(leaker)
    tapir = t.start_tapir("record", "--native-memory=1", "--native-memory-rate", 0, *QUIET, "-p", leaker.pid, "-o", file)
    tapir.wait_ready(timeout=60)
    first = last_kept(leaker)
    while kept(leaker) < first + 200:
        pass
    last = last_kept(leaker)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait(timeout=60).rc, 0, "record")
    after = last_kept(leaker) + 1
    leaker.kill()
    rows = view(t, file)["malloc"]
    t.ok(by_function(rows, (method,)), f"{method} is named: {rows[:3]}")
    used = sum(r["used"] for r in rows if (by or method) in r["stack"] and r["used_bytes"] >= 65536 * r["used"] > 0)
    t.ok(last - first - 1 <= used <= after - before, f"{used} blocks in use, {last - first} to {after - before} expected")


def test_method_of_dotnet_that_allocates_natively_is_named(t):
    check_managed(t, t.start(build_dotnet(t, "NativeLeak")), "NativeLeak.KeepOne()")


def test_method_of_a_jvm_that_allocates_natively_is_named(t):
    """Once it is compiled: a frame of the interpreter has no name."""
    java, javac = t.need("java", "javac")
    result = t.run(javac, "-nowarn", "-d", t.tmp, os.path.join("tests", "e2e", "programs", "NativeLeak.java"), timeout=90)
    t.eq(result.rc, 0, "javac " + result.err)
    leaker = t.start(java, "-Xmx64m", "-cp", t.tmp, "NativeLeak")
    while kept(leaker) < 2000:
        pass
    check_managed(t, leaker, "long NativeLeak.keepOne()", by="Unsafe_AllocateMemory0")
