# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording .NET processes that nobody prepared: every managed frame has a name, and no process
is the worse for it.

The program is tests/e2e/programs/Busy.cs; the witness is the program itself: which thread runs
what it knows, and what it prints.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import time

from case_jvm import check_that_it_is_named
from dotnet_program import build_dotnet, download_dotnet, publish_dotnet
from harness import PATIENCE, READY, comms
from serve_agent import until

NOBODY = "65534"
TIMEOUT = 180
CHECK_DOTNET = {"test_names_come_by_the_rundown_where_no_jitdump_can_be",
                "test_names_come_from_microsofts_debug_file",
                "test_methods_of_dotnet_8_are_named",
                "test_methods_of_dotnet_9_are_named", "test_methods_of_a_single_file_app_are_named", "test_allocating_methods_are_in_the_stacks"}
HZ = 499
LEAF = r"Busy\.Leaf\(int\)"

def build(t):
    return os.path.dirname(build_dotnet(t, "Busy"))


def start(t, *args, before=(), env=None, directory=None):
    directory = directory or build(t)
    busy = t.start(*before, os.path.join(directory, "Busy"), *args, env={**os.environ, **(env or {})})
    busy.wait_line("pid ")
    time.sleep(1)
    return busy


def read_samples(t, file, pid=None):
    """Those with a stack; "thread" is what their thread is called now."""
    samples = [s for s in t.events(file, "sample") if s.get("stack")]
    for sample in samples:
        comm = pathlib.Path(f"/proc/{pid}/task/{sample['tid']}/comm")
        sample["thread"] = comm.read_text().strip() if pid and comm.exists() else ""
    return samples


def record(t, pid, seconds, *options):
    """(result, samples)"""
    file = t.path("trace.tapir")
    result = t.tapir("record", "-F", HZ, "-p", pid, "-d", seconds, "-f", "-o", file, *options)
    return result, read_samples(t, file, pid)


def of_thread(samples, name):
    return [s for s in samples if s["thread"] == name]


def is_managed(frame):
    """In memory of generated code or a managed image; an address in no mapping at all is not."""
    module = frame.get("module") or ""
    return module.endswith(".dll") or module.startswith(("[jit]", "/memfd:doublemapper"))


def names_of(samples):
    return {f["name"] for s in samples for f in s["stack"] if f["name"]}


def burner_is_named(t, samples, seconds):
    """Samples outside Leaf may be in the runtime: the thread is there while it is stopped for a snapshot, longer on a busy machine."""
    burner = of_thread(samples, "burner")
    managed = [s for s in burner if is_managed(s["stack"][0])]
    leaf = [s for s in managed if re.fullmatch(LEAF, s["stack"][0]["name"] or "")]
    t.ok(len(burner) >= 20, f"{len(burner)} samples of the burner in {seconds} s")
    t.ok(len(leaf) >= 0.5 * len(burner), f"{len(leaf)} of {len(burner)} in Leaf")
    others = [s["stack"][0] for s in managed if s not in leaf]
    t.ok(len(leaf) >= 0.99 * len(managed) - 6, f"{len(leaf)} of {len(managed)} in Leaf; others: {others[:5]}")
    # Also while a loop runs in code that replaced the method's first on the stack.
    calls = [s for s in leaf if len(s["stack"]) > 1 and "Busy.Burn()" in (s["stack"][1]["name"] or "")]
    t.ok(len(calls) >= 0.99 * len(leaf) - 1, f"{len(calls)} of {len(leaf)} stacks have Burn as Leaf's caller")


def all_is_named(t, samples):
    frames = [(f["module"], f["addr"]) for s in samples for f in s["stack"] if is_managed(f) and not f["name"]]
    managed = sum(is_managed(f) for s in samples for f in s["stack"])
    t.ok(managed > len(samples), f"{managed} managed frames")
    # A ReadyToRun image has a few cells of code between its methods that the runtime's snapshot leaves out, generated code has stubs,
    # and a method may be compiled as the recording ends. None is met often; on a busy machine there are so few samples that one counts.
    times = collections.Counter(frames)
    again = [frame for frame in frames if times[frame] > 1]
    t.ok(len(again) <= managed / 1000 and len(frames) <= managed / 100,
         f"managed frames without a name, {len(frames)} of {managed}, {len(again)} met again: {frames[:5]}")


def left_by_us(pid, ns_pid=None):
    names = os.listdir(f"/proc/{pid}/root/tmp")
    return [n for n in names if re.fullmatch(rf"(jit|perf|perfinfo)-{ns_pid or pid}\.(dump|map)", n)]


def nothing_is_left(t, pid, ns_pid=None):
    """A file that tapir could not remove in its time, which is half a second, is removed by its guard."""
    end = time.monotonic() + 5 * PATIENCE
    while left_by_us(pid, ns_pid) and time.monotonic() < end:
        time.sleep(0.02)
    t.eq(left_by_us(pid, ns_pid), [], "files left")


def open_files(pid):
    """Without the assemblies: a runtime that has little of the CPUs still opens them when a recording begins."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return sorted(link for link in links if not link.endswith(".dll"))


def threads(pid):
    """But the runtime's own: one compiles methods anew, and comes and goes; one is there since the first events."""
    return sorted(c for c in comms(pid).values() if "Tiered" not in c and "EventPipe" not in c)


def goes_on(t, busy):
    """It ticks, and printed nothing else."""
    count = len(busy.out)
    for _ in range(50):
        if len(busy.out) > count:
            break
        time.sleep(0.1)
    t.ok(len(busy.out) > count, "it ticks on")
    ticks = [line.strip() for line in busy.out if not line.startswith("pid ")]
    t.eq(ticks, [f"tick {i}" for i in range(len(ticks))], "its output")
    t.eq("".join(busy.err), "", "its stderr")


def is_as_before(t, busy, before):
    """Soon: the library leaves by itself."""
    end = time.monotonic() + 5 * PATIENCE
    while (open_files(busy.pid), threads(busy.pid)) != before and time.monotonic() < end:
        time.sleep(0.1)
    nothing_is_left(t, busy.pid)
    t.eq(open_files(busy.pid), before[0], "its files")
    t.eq(threads(busy.pid), before[1], "its threads")


def starts_are_precompiled(t, samples):
    """The first managed function of each thread runs once, and stays ReadyToRun code: by a jitdump as by a rundown, which follows where
    the jitdump does not come to its end in time."""
    tiers = {f.get("tier") for s in samples for f in s["stack"] if f["name"] == "System.Threading.Thread.StartCallback()"}
    t.eq(tiers, {"PreJIT"}, "how the start of threads was compiled")


def test_every_managed_frame_has_a_name(t):
    busy = start(t, 60, "make")
    before = open_files(busy.pid), threads(busy.pid)
    _, samples = record(t, busy.pid, 3)
    burner_is_named(t, samples, 3)
    all_is_named(t, samples)
    library = names_of(of_thread(samples, "library"))
    t.ok(any(n.startswith("System.Linq.") for n in library), "System.Linq is in the stacks")
    t.ok(any(n.startswith(("System.Collections.", "System.String", "System.Comp", "System.Span")) for n in library), "System.Private.CoreLib is in the stacks")
    starts_are_precompiled(t, samples)
    is_as_before(t, busy, before)
    goes_on(t, busy)
    busy.kill()


def test_snapshot_is_ended_when_tapir_is_killed_in_the_middle(t):
    busy = start(t, 60)
    dump = f"/tmp/jit-{busy.pid}.dump"
    for _ in range(4):
        tapir = t.start_tapir("record", "-p", busy.pid, "-f", "-o", t.path("trace.tapir"))
        end = time.monotonic() + 10 * PATIENCE
        while not os.path.exists(dump) and time.monotonic() < end:
            pass
        t.ok(os.path.exists(dump), "the runtime writes")
        tapir.signal(signal.SIGKILL)
        tapir.wait()
        end = time.monotonic() + 5 * PATIENCE
        while (os.path.exists(dump) or any("jit-" in file for file in open_files(busy.pid))) and time.monotonic() < end:
            time.sleep(0.05)
        t.ok(not os.path.exists(dump), "its file is gone")
        t.ok(not any("jit-" in file for file in open_files(busy.pid)), "it writes no more")
    goes_on(t, busy)
    busy.kill()


MAKER, WORK, RUN = r"Alloc\.Make(Node|Bytes|Box)\(", r"Alloc\.Work\(", r"Alloc\.Run\("


def managed_names(sample):
    """From the inside: what of the stack is the program's own, or a library's."""
    return [f["name"] for f in sample["stack"] if is_managed(f) and "CoreCLR]" not in (f["name"] or "")]


def is_whole(sample):
    """Every caller is there, and there once: helpers of the runtime that hide theirs or not."""
    names = managed_names(sample)
    makers = [n for n in names if re.search(MAKER, n or "")]
    at = [i for i, n in enumerate(names) if re.search(WORK, n or "")]
    return len(makers) <= 1 and len(at) == 1 and at[0] <= 2 and re.search(RUN, names[at[0] + 1] or "")


def is_in_runtime(sample):
    """Between where the thread is and its first managed frame lies libcoreclr.so."""
    for frame in sample["stack"]:
        if is_managed(frame):
            return False
        if (frame["module"] or "").endswith("/libcoreclr.so"):
            return True
    return False


def test_allocating_methods_are_in_the_stacks(t):
    alloc = t.start(build_dotnet(t, "Alloc"), 60)
    alloc.wait_line("pid ")
    time.sleep(1.5)
    _, samples = record(t, alloc.pid, 3)
    samples = of_thread(samples, "allocator")
    inside = [s for s in samples if is_in_runtime(s) and any(re.search(RUN, n or "") for n in managed_names(s))]
    t.ok(len(inside) >= 3 * HZ * 0.1, f"{len(inside)} of {len(samples)} samples in the runtime")
    made = [s for s in inside if re.search(MAKER, managed_names(s)[0] or "")]
    t.ok(len(made) >= 0.98 * len(inside), f"{len(made)} of {len(inside)} have the method that allocates as caller")
    whole = [s for s in inside if is_whole(s)]
    t.ok(len(whole) >= 0.98 * len(inside), f"{len(whole)} of {len(inside)} stacks are whole")
    barrier = [s for s in samples if (s["stack"][0]["name"] or "").startswith("write barrier")]
    called = [s for s in barrier if re.search(WORK, managed_names(s)[0] or "") or is_whole(s)]
    t.ok(len(called) >= 0.98 * len(barrier), f"{len(called)} of {len(barrier)} write barriers have their caller")
    alloc.kill()


def test_allocating_methods_are_in_the_stacks_of_allocation_events(t):
    alloc, file = t.start(build_dotnet(t, "Alloc"), 60), t.path("trace.tapir")
    alloc.wait_line("pid ")
    time.sleep(1.5)
    t.tapir("record", "-p", alloc.pid, "-d", 0.5, "-f", "-o", file, "Microsoft-Windows-DotNETRuntime:GC:Verbose")
    ticks = [e for e in t.events(file) if e["event"] == "GCAllocationTick" and e.get("stack")
             and any(re.search(RUN, n or "") for n in managed_names(e))]
    t.ok(len(ticks) >= 1000, f"{len(ticks)} allocation ticks")
    whole = [e for e in ticks if is_whole(e) and re.search(MAKER, managed_names(e)[0] or "")]
    t.ok(len(whole) >= 0.999 * len(ticks), f"{len(whole)} of {len(ticks)} have who allocates, and all callers once")
    alloc.kill()


def is_named_on(t, program):
    """The burner's and every other managed frame, at a lower rate where the machine is busy."""
    busy = start(t, 60, "make", directory=os.path.dirname(program))
    _, samples = record(t, busy.pid, 3)
    burner = of_thread(samples, "burner")
    managed = [s for s in burner if is_managed(s["stack"][0])]
    leaf = [s for s in managed if re.fullmatch(LEAF, s["stack"][0]["name"] or "")]
    t.ok(len(burner) >= 20 and len(leaf) >= max(0.95 * len(managed), 0.5 * len(burner)), f"{len(leaf)} of {len(managed)} and {len(burner)} in Leaf")
    frames = [f for s in samples for f in s["stack"] if is_managed(f)]
    unnamed = [f for f in frames if not f["name"]]
    t.ok(len(frames) > len(samples) and len(unnamed) <= 0.05 * len(frames),
         f"{len(unnamed)} of {len(frames)} managed frames have no name: {unnamed[:3]}")
    t.ok(any(f.get("tier") == "PreJIT" for s in samples for f in s["stack"]), "there is ReadyToRun code")
    nothing_is_left(t, busy.pid)
    goes_on(t, busy)
    busy.kill()


def test_methods_of_dotnet_8_are_named(t):
    is_named_on(t, publish_dotnet(t, "Busy", "8.0.33"))


def test_methods_of_dotnet_9_are_named(t):
    is_named_on(t, publish_dotnet(t, "Busy", "9.0.22"))


def test_methods_of_a_single_file_app_are_named(t):
    is_named_on(t, publish_dotnet(t, "Busy", "9.0.22", single_file=True))


def test_raw_names_are_the_runtimes_own(t):
    busy, file = start(t, 60), t.path("trace.tapir")
    _, shown = record(t, busy.pid, 2)
    raw = [json.loads(line) for line in t.tapir("events", file, "--json", "--raw-names").out.splitlines()]
    both = list(zip(shown, [s for s in raw if s["type"] == "sample" and s.get("stack")]))
    leaf = [(a["stack"][0], b["stack"][0]) for a, b in both if re.fullmatch(LEAF, a["stack"][0]["name"] or "")]
    t.ok(len(leaf) > HZ * 0.05, f"{len(leaf)} samples in Leaf")
    # The JIT's own events do not say the module; a snapshot does.
    wrong = [b["name"] for a, b in leaf
             if b["name"].replace("[Busy] ", "") != f"int64 Busy::Leaf(int32)[{a['tier']}]"]
    t.eq(wrong[:3], [], "names as the runtime gives them")
    tiers = {a["tier"] for a, _ in leaf}
    t.ok(tiers <= {"QuickJitted", "InstrumentedTier", "InstrumentedTierOptimized", "Optimized", "OptimizedTier1", "OptimizedTier1OSR"},
         f"tiers {tiers}")
    for report in (t.tapir("report", file, "--json").out, t.tapir("export", "--format", "folded", file).out):
        t.ok("Busy.Leaf(int)" in report and "Busy::Leaf" not in report, "reports know one method, of all tiers")
    report = json.loads(t.tapir("report", file, "--json").out)
    t.eq(sum("Busy.Leaf(" in f["name"] for f in report["functions"]), 1, "rows of Leaf")
    busy.kill()


def test_methods_made_while_it_is_recorded_have_names(t):
    busy = start(t, 60, "make")
    _, samples = record(t, busy.pid, 4)
    maker = of_thread(samples, "maker")
    made = [s for s in maker if re.search(r"dynamicClass\.Made\d+\(long\)", s["stack"][0]["name"] or "")]
    managed = [s for s in maker if is_managed(s["stack"][0])]  # others: see burner_is_named
    t.ok(len(made) >= max(0.95 * len(managed) - 1, 0.5 * len(maker)) and made, f"{len(made)} of {len(managed)} and {len(maker)} samples in made "
         f"methods; others: {collections.Counter(s['stack'][0]['name'] for s in maker if s not in made).most_common(4)}")
    t.ok(len({s["stack"][0]["name"] for s in made}) >= 3, "several methods")
    all_is_named(t, samples)
    busy.kill()


def test_killed_process_keeps_the_names_it_told(t):
    """Methods made between a snapshot and the kill: the JIT's own events have named them."""
    busy, file = start(t, 60, "make"), t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", HZ, "-p", busy.pid, "-d", 40, "-f", "-o", file)
    for _ in range(300):
        if READY in "".join(tapir.err):
            break
        time.sleep(0.1)
    time.sleep(5)
    tids = comms(busy.pid)
    killed_ns = time.monotonic_ns()
    busy.kill()
    t.eq(tapir.wait().rc, 0, "record")
    samples = [s for s in read_samples(t, file) if s["time_ns"] > killed_ns - 3e9]
    made = [s for s in samples if tids.get(s["tid"]) == "maker" and is_managed(s["stack"][0])]
    named = [s for s in made if re.search(r"dynamicClass\.Made\d+\(long\)", s["stack"][0]["name"] or "")]
    t.ok(len(made) > 20 and len(named) >= 0.95 * len(made), f"{len(named)} of {len(made)} samples of the maker; "
         f"others: {collections.Counter(s['stack'][0]['name'] for s in made if s not in named).most_common(4)}")
    frames = [f for s in samples for f in s["stack"] if is_managed(f)]
    unnamed = [f for f in frames if not f["name"]]
    t.ok(len(unnamed) <= 0.01 * len(frames), f"{len(unnamed)} of {len(frames)} managed frames have no name")


def test_program_that_is_started_by_us_is_named(t):
    directory, file = build(t), t.path("trace.tapir")
    result = t.tapir("record", "-F", HZ, "-f", "-o", file, "--", os.path.join(directory, "Busy"), 4)
    t.ok("over" in result.out, "it ran to its end")
    samples = read_samples(t, file)
    leaf = [s for s in samples if re.fullmatch(LEAF, s["stack"][0]["name"] or "")]
    t.ok(len(leaf) >= 4 * HZ * 0.02, f"{len(leaf)} samples in Leaf")
    managed = [f for s in samples for f in s["stack"] if is_managed(f)]
    named = [f for f in managed if f["name"]]
    t.ok(len(named) >= 0.95 * len(managed), f"{len(named)} of {len(managed)} managed frames named")


def test_two_recordings_at_once_take_turns(t):
    busy = start(t, 60)
    files = [t.path("one.tapir"), t.path("two.tapir")]
    tapirs = [t.start_tapir("record", "-F", HZ, "-p", busy.pid, "-d", 2, "-f", "-o", file) for file in files]
    for tapir in tapirs:
        t.eq(tapir.wait().rc, 0, "record")
    for file in files:
        burner_is_named(t, read_samples(t, file, busy.pid), 2)
    nothing_is_left(t, busy.pid)
    goes_on(t, busy)
    busy.kill()


def test_jitdump_of_the_process_itself_is_left_alone(t):
    """Ours would be the same file, and to switch ours off would end theirs."""
    busy = start(t, 60, "make", env={"DOTNET_PerfMapEnabled": "2", "DOTNET_PerfMapStubGranularity": "2"})
    own = f"/tmp/jit-{busy.pid}.dump"
    try:
        inode, size = os.stat(own).st_ino, os.stat(own).st_size
        _, samples = record(t, busy.pid, 3)
        leaf = [s for s in of_thread(samples, "burner") if re.fullmatch(LEAF, s["stack"][0]["name"] or "")]
        t.ok(len(leaf) > HZ * 0.1, f"{len(leaf)} samples in Leaf")
        t.ok(os.stat(own).st_ino == inode and os.stat(own).st_size >= size, "its jitdump was not begun anew")
        t.ok(own in open_files(busy.pid), "it has it open")
        size = os.stat(own).st_size
        for _ in range(50):
            if os.stat(own).st_size > size:
                break
            time.sleep(0.1)
        t.ok(os.stat(own).st_size > size, "it is written on")
        goes_on(t, busy)
    finally:
        busy.kill()
        os.unlink(own)


def test_what_the_process_writes_itself_is_left_alone(t):
    busy = start(t, 60, env={"DOTNET_PerfMapEnabled": "3"})
    own = f"/tmp/perf-{busy.pid}.map"
    try:
        inode, size = os.stat(own).st_ino, os.stat(own).st_size
        _, samples = record(t, busy.pid, 2)
        burner_is_named(t, samples, 2)
        t.ok(os.stat(own).st_ino == inode and os.stat(own).st_size >= size, "its perf map is as it was")
        t.ok(not os.path.exists(f"/tmp/jit-{busy.pid}.dump"), "no jitdump was asked for")
        goes_on(t, busy)
    finally:
        busy.kill()
        os.unlink(own)


def test_process_of_another_user_in_its_own_tmpdir(t):
    t.need_others()
    setpriv = t.need("setpriv")
    home = t.path("home")
    shutil.copytree(build(t), home)
    os.chmod(t.tmp, 0o755)
    os.makedirs(t.path("tmp"))
    os.chown(t.path("tmp"), int(NOBODY), int(NOBODY))
    busy = start(t, 60, before=(setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"),
                 env={"TMPDIR": t.path("tmp")}, directory=home)
    t.ok(any(name.endswith("-socket") for name in os.listdir(t.path("tmp"))), "its socket lies in its TMPDIR")
    _, samples = record(t, busy.pid, 2)
    burner_is_named(t, samples, 2)
    nothing_is_left(t, busy.pid)
    goes_on(t, busy)
    busy.kill()


def busy_below(pid):
    if pathlib.Path(f"/proc/{pid}/comm").read_text() == "Busy\n":
        return int(pid)
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found = busy_below(child)
        if found:
            return found
    return None


def test_process_in_its_own_namespaces(t):
    script = f'mount -t tmpfs tapir-test /mnt && cp -r {build(t)}/* /mnt && mount --move /mnt /tmp; exec "$@"'
    outer = start(t, 60, before=(t.need("unshare"), "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
                                 "sh", "-c", script, "sh"), directory="/tmp")
    pid = busy_below(outer.pid)
    _, samples = record(t, pid, 2)
    burner_is_named(t, samples, 2)
    nothing_is_left(t, pid, 1)
    goes_on(t, outer)
    outer.kill()


def own_tmp(t, options):
    """What a program of the build is started by to have a /tmp of its own, a tmpfs. The build may be below /tmp: it stays where it is."""
    script = f"""build=$1; shift; set -e
        mount -t tmpfs tapir-test /mnt; mkdir /mnt/build; mount --bind "$build" /mnt/build
        mount -t tmpfs -o {options} tapir-test /tmp
        case $build in /tmp/*) mkdir -p "$build"; mount --bind /mnt/build "$build" ;; esac
        exec "$@" """
    return t.need("unshare"), "--mount", "sh", "-c", script, "sh", t.build


def test_names_come_by_the_rundown_where_no_jitdump_can_be(t):
    for options in ("noexec,mode=1777", "size=1m,mode=1777"):
        busy = start(t, 60, before=own_tmp(t, options))
        before = open_files(busy.pid), threads(busy.pid)
        _, samples = record(t, busy.pid, 1)
        burner_is_named(t, samples, 1)
        library = names_of(of_thread(samples, "library"))
        t.ok(any(n.startswith("System.Linq.") for n in library), f"ReadyToRun code, too: {library}")
        all_is_named(t, samples)
        starts_are_precompiled(t, samples)
        is_as_before(t, busy, before)
        goes_on(t, busy)
        busy.kill()


def test_stopped_process_holds_nothing_up(t):
    busy = start(t, 60)
    busy.stop()
    result, took = t.start_tapir("record", "-F", HZ, "-p", busy.pid, "-d", 1, "-f", "-o", t.path("stopped.tapir")).wait_timed(60)
    t.eq(result.rc, 0, result.err)
    t.ok(took < 8, f"took {took:.1f} s")  # of which 1 is recorded, and 3 at most are waited for the lane
    busy.signal(signal.SIGCONT)
    goes_on(t, busy)
    nothing_is_left(t, busy.pid)
    time.sleep(1)  # while Leaf is compiled anew, some samples are in the runtime
    _, samples = record(t, busy.pid, 1)
    burner_is_named(t, samples, 1)
    busy.kill()


def test_process_without_diagnostics_has_samples_and_a_reason(t):
    busy = start(t, 60, env={"DOTNET_EnableDiagnostics": "0"})
    result, samples = record(t, busy.pid, 1)
    t.ok("its methods have no names" in result.err and "DOTNET_EnableDiagnostics=0" in result.err, result.err)
    burner = of_thread(samples, "burner")
    t.ok(len(burner) >= HZ * 0.03, f"{len(burner)} samples of the burner, {len(samples)} in all")
    listed = t.tapir("list", "-p", busy.pid).err
    t.ok(re.search(rf"process {busy.pid} runs \.NET \d+\.\d+\.\d+.*, CoreCLR: /.*/libcoreclr\.so", listed), listed)
    goes_on(t, busy)
    busy.kill()


def test_names_come_from_microsofts_debug_file(t):
    """libSystem.Native.so as apps get it, and the debug file that another package of NuGet's has for it."""
    nm = t.need("nm")
    app = os.path.dirname(publish_dotnet(t, "Busy", "8.0.33"))
    debug = download_dotnet(t, "runtime.linux-x64.Microsoft.DotNet.ILCompiler", "8.0.33", ["libSystem.Native.so.dbg"])
    home = t.path("native")
    os.makedirs(home)
    shutil.copy(os.path.join(app, "libSystem.Native.so"), home)
    shutil.copy(os.path.join(debug, "libSystem.Native.so.dbg"), home)
    exported = t.run(nm, "-D", f"{home}/libSystem.Native.so").out
    local = [line.split() for line in t.run(nm, f"{home}/libSystem.Native.so.dbg").out.splitlines() if " t " in line]
    va, _, name = next(row for row in local if row[2] == "SignalHandlerLoop")
    t.ok(name not in exported, "the library itself does not say it")
    result = t.run(os.path.join(t.build, "tests", "unit", "test_symbols"),
                   env={**os.environ, "TAPIR_DOTNET_DEBUG_DIR": home, "TAPIR_DOTNET_DEBUG_NAME": name,
                        "TAPIR_DOTNET_DEBUG_VA": va})
    t.eq(result.rc, 0, result.out + result.err)
    t.ok("names_come_from_the_debug_file" in result.out + result.err, "it ran")


def test_runtime_that_cannot_answer_is_named_within_two_seconds(t):
    busy = start(t, 60)
    check_that_it_is_named(t, busy.pid, ("heap",), ("stacks",))
    goes_on(t, busy)
    busy.kill()


def test_runtime_that_waits_for_a_tool_is_named_at_once(t):
    busy = t.start(os.path.join(build(t), "Busy"), env={**os.environ, "DOTNET_DefaultDiagnosticPortSuspend": "1"})
    maps = pathlib.Path(f"/proc/{busy.pid}/maps")
    until(t, lambda: "libcoreclr.so" in maps.read_text(), "its runtime")
    why = "waits at its start for a resume command"
    result = t.tapir("heap", "-p", busy.pid, expect=None, timeout=20)
    t.ok(result.rc and why in result.err, f"heap: {result.err}")
    t.ok(why in t.tapir("doctor", "-p", busy.pid, expect=None, timeout=20).out, "doctor")
    result = t.tapir("record", "-p", busy.pid, "-d", 2, "-f", "-o", t.path("waits.tapir"), expect=None, timeout=30)
    t.ok(why in result.err, f"record: {result.err}")


def test_program_without_event_sources_is_told_from_a_silent_one(t):
    directory = t.path("off")
    shutil.copytree(build(t), directory)
    config = pathlib.Path(directory, "Busy.runtimeconfig.json")
    options = json.loads(config.read_text())
    options["runtimeOptions"].setdefault("configProperties", {})["System.Diagnostics.Tracing.EventSource.IsSupported"] = False
    config.write_text(json.dumps(options))
    busy = start(t, 60, directory=directory)
    result = t.tapir("record", "MyCompany-Demo", "-p", busy.pid, "-d", 1, "-f", "-o", t.path("off.tapir"), expect=None, timeout=60)
    t.ok("switches EventSources off" in result.err, result.err)
    t.ok("EventSource.IsSupported" in t.tapir("doctor", "-p", busy.pid, expect=None).out, "doctor")
