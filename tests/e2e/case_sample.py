# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU samples: as many as time was burnt, in the functions that burnt it."""
import re
import subprocess

HZ = 997


def record(t, *options, target=("burner", 800, 2)):
    file = t.path("trace.tapir")
    name, *args = target
    said = t.tapir("record", "-F", HZ, "-f", "-o", file, *options, "--", t.target_path(name), *args).witness()
    return file, said


def names(sample):
    """Functions, innermost first: the kernel's, then the program's."""
    return [f["name"] for key in ("kernel_stack", "stack") for f in sample.get(key, [])]


def near(t, actual, expected, share, what):
    t.ok(abs(actual - expected) <= expected * share, f"{what}: {actual}, expected {expected:.0f} +-{share:.0%}")


def time_is_where_it_was_spent(t, samples, said):
    user = [s for s in samples if "burn" in names(s)]
    much = sum("burn_much" in names(s) for s in user)
    near(t, len(user), said["user_ms"] * HZ / 1000, 0.25, "samples of the threads")
    near(t, much / len(user), 0.75, 0.1, "share of burn_much")
    t.ok(all(names(s)[-1] in ("start_thread", "__clone3", "clone3") for s in user), "stacks reach the thread's start")


def kernel_stack_is_on_the_user_stack(t, samples, said):
    # libc's read() has no frame of its own: behind it comes main, burn_kernel is passed over.
    kernel = [s for s in samples if "main" in names(s) and "read_zero" in names(s)]
    near(t, len(kernel), said["kernel_ms"] * HZ / 1000, 0.35, "samples in the kernel")
    named = [s for s in kernel if all(f["name"] for f in s["kernel_stack"])]
    t.ok(len(named) >= 0.95 * len(kernel), f"{len(named)} of {len(kernel)} kernel stacks have all names")
    t.ok(all("do_syscall_64" in names(s) for s in named if "entry_SYSCALL_64_after_hwframe" in names(s)),
         "kernel stacks begin at the system call")


def report_counts_samples_and_their_functions(t, file, samples):
    report = t.report(file)
    t.eq(report["samples"]["captured"], len(samples), "samples")
    t.eq(report["samples"]["lost"], 0, "lost samples")
    t.eq(sum(f["samples"] for f in report["functions"]), len(samples), "samples of all functions")
    t.eq(report["functions"][0]["name"], "burn_much", "hottest function")


def test_samples_are_where_the_time_was_spent(t):
    """One recording, several questions."""
    file, said = record(t)
    samples = t.events(file, "sample")
    time_is_where_it_was_spent(t, samples, said)
    report_counts_samples_and_their_functions(t, file, samples)
    if t.run("grep", "-qv", "^0000000000000000", "/proc/kallsyms").rc:
        t.skip("the kernel shows no addresses of its functions")
    kernel_stack_is_on_the_user_stack(t, samples, said)


def test_only_asked_processes_are_sampled(t):
    file = t.path("trace.tapir")
    other, target = t.target("burner", 600), t.target("burner", "--wait", 300)
    tapir = t.start_tapir("record", "-F", HZ, "-p", target.pid, "-o", file)
    tapir.wait_ready()
    target.go()
    target.wait()
    t.eq(tapir.wait().rc, 0, "exit")
    other.wait()
    t.eq({s["pid"] for s in t.events(file, "sample")}, {target.pid}, "whose samples")


def test_too_high_a_frequency_is_refused(t):
    result = t.tapir("record", "-F", 20001, "--", "true", expect=2)
    t.ok("20000" in result.err, result.err)


def vdso_functions(t):
    """What the kernel's library exports, by readelf from a copy of this process's own: {name: (begin, end)}."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        line = next(line for line in maps if line.rstrip().endswith("[vdso]"))
    begin, end = (int(address, 16) for address in line.split()[0].split("-"))
    copy = t.path("vdso.so")
    with open("/proc/self/mem", "rb") as memory, open(copy, "wb") as out:
        memory.seek(begin)
        out.write(memory.read(end - begin))
    rows = subprocess.run(["readelf", "-W", "--dyn-syms", copy], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.findall(r"^ *\d+: ([0-9a-f]+) +(\d+) FUNC .* (\w+)(?:@\S*)?$", rows, re.M)
    return {name: (int(value, 16), int(value, 16) + int(size)) for value, size, name in found}


def test_kernels_own_library_has_names(t):
    """Its functions that the kernel does not export have none: with some clocks most samples are in one of these."""
    file, functions = t.path("trace.tapir"), vdso_functions(t)
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", t.target_path("clockwatch"), 2000)
    leaves = [s["stack"][0] for s in t.events(file, "sample") if s.get("stack")]
    inside = [f for f in leaves if f["module"] == "[vdso]"]
    t.ok(len(inside) >= 0.3 * len(leaves), f"{len(inside)} of {len(leaves)} samples in the vdso")
    names = {f["name"] for f in inside if f["name"]}
    t.ok(names and all(name.startswith("__vdso_") and name in functions for name in names), f"{names} of {functions}")
    missed = [f["offset"] for f in inside if not f["name"] and any(begin <= f["offset"] < end for begin, end in functions.values())]
    t.ok(len(missed) <= 0.01 * len(inside), f"{len(missed)} of {len(inside)} in exported functions without names: {missed[:5]}")
