# SPDX-License-Identifier: GPL-2.0-or-later
"""The heap of a running .NET process or JVM: what tapir heap says, compared with what the program counted, and with what
TraceEvent reads out of the exported snapshot."""
import glob
import json
import os
import re
import signal
import threading
import time

from dotnet_program import build_dotnet, build_reader, publish_dotnet

TIMEOUT = 300
CHECK_LONG = {"test_ten_million_objects_with_64_mb_to_spare"}
CHECK_DOTNET = {"test_live_objects_are_those_that_stay", "test_live_objects_with_a_server_s_collector_and_net_8",
                "test_a_target_killed_while_it_is_followed_is_reported", "test_ctrl_c_ends_growth_with_a_snapshot",
                "test_a_jvm_s_leak_is_named_with_its_holder_and_allocator", "test_a_jvm_says_the_same_to_jcmd", "test_trace_event_reads_the_same_heap", "test_a_leak_is_named_with_its_holder_and_allocator",
                "test_net_8_and_9_list_their_objects", "test_net_8_names_a_leak", "test_net_9_names_a_leak", "test_ten_million_objects_are_complete_and_need_no_memory",
                "test_a_pause_that_is_over_is_incomplete", "test_two_snapshots_at_once_are_both_complete",
                "test_a_target_killed_amid_the_snapshot_is_reported", "test_ctrl_c_lets_the_target_go_on",
                "test_a_full_disk_is_reported", "test_another_user_s_process_is_refused"}


def counts_of(line):
    """What the program answers: {type: (count, bytes)}."""
    pairs = (word.rpartition("=") for word in line.split()[1:])
    return {name: tuple(map(int, value.split(":"))) for name, _, value in pairs}


def start_heap(t, orders, nodes, program=None, env=None, churn=()):
    heap = t.start(program or build_dotnet(t, "Heap"), orders, nodes, *churn, env=env)
    heap.wait_line("pid", timeout=60)
    return heap, counts_of(heap.wait_line("counts", timeout=60))


def grow(heap):
    heap.signal(signal.SIGWINCH)
    return counts_of(heap.wait_line("counts", timeout=60))


def heap_of(t, *args, **options):
    return json.loads(t.tapir("heap", *args, "--json", **options).out)


def rows(found, table="by_type"):
    return {row["type"]: row for row in found[table]}


def check_counts(t, found, counts):
    t.eq(found["complete"], 1, f"complete: {found['headline']}")
    seen = rows(found)
    for name in ("Shop.Order", "Shop.Blob", "Shop.Node"):
        t.eq((seen[name]["count"], seen[name]["bytes"]), counts[name], f"{name}: count and bytes")
    count, size = counts["System.Byte[]"]
    t.ok(count <= seen["System.Byte[]"]["count"] < count + 100, f"arrays: {seen['System.Byte[]']} of {count}")
    t.eq(found["objects"] >= sum(c for c, _ in counts.values()), True, "objects")


def path_of(found, name):
    return next(row["path"] for row in found["paths"] if row["type"] == name)


def test_counts_bytes_retained_and_paths_are_what_the_program_built(t):
    heap, counts = start_heap(t, 2000, 50000)
    found = heap_of(t, "-p", heap.pid, "-n", 1000)
    check_counts(t, found, counts)
    seen = rows(found)
    blob = seen["Shop.Blob"]["bytes"] + 2000 * 128
    t.eq(seen["Shop.Blob"]["retained_bytes"], blob, "what blobs retain: themselves and their arrays")
    t.eq(seen["Shop.Order"]["retained_bytes"], blob + seen["Shop.Order"]["bytes"], "what orders retain")
    t.eq(seen["Shop.Node"]["retained_bytes"], seen["Shop.Node"]["bytes"], "what a list retains: each node once")
    t.eq(path_of(found, "Shop.Node"), "static chain", "what holds the nodes")
    t.eq(path_of(found, "Shop.Order"),
         "Shop.Order[] <- System.Collections.Generic.List<Shop.Order> <- Shop.Cache <- static Kept", "what holds the orders")
    t.ok(any("collect all generations" in note for note in found["notes"]), f"the collection is reported: {found['notes']}")


def test_what_cannot_be_listed_is_refused_with_a_reason(t):
    sleeper = t.start("sleep", "100")
    refused = t.tapir("heap", "-p", sleeper.pid, expect=3)
    t.ok(f"cannot list the heap of process {sleeper.pid}" in refused.err, refused.err)
    live = t.tapir("heap", "-p", sleeper.pid, "--live", expect=3)
    t.eq((live.out, live.err.count("\n")), ("", 1), f"one line: {live.err}")
    t.tapir("heap", "--live", "x.tapir", expect=2)
    snake = t.start(t.need("/usr/bin/python3"), "-c", "print('ready', flush=True); import time; time.sleep(60)")
    snake.wait_line("ready")
    t.ok("it runs CPython, not .NET or a JVM; only code in the process" in t.tapir("heap", "-p", snake.pid, expect=3).err, "CPython")
    t.ok("it runs CPython; only code in the process" in t.tapir("heap", "-p", snake.pid, "--live", expect=3).err, "CPython, live")
    node = t.start(t.need("node"), "-e", "console.log('ready'); setTimeout(() => {}, 60000)")
    node.wait_line("ready")
    t.ok("it runs Node.js, not .NET or a JVM; it writes its heap itself" in t.tapir("heap", "-p", node.pid, expect=3).err, "Node.js")
    gone = t.start("sleep", "0")
    gone.wait()
    t.ok("does not exist" in t.tapir("heap", "-p", gone.pid, expect=1).err, "a pid that is gone")
    for words in ((), ("-p", "1,2"), ("-p", "1", "x.tapir"), ("-o", "x"), ("diff", "x")):
        t.tapir("heap", *words, expect=2)
    t.ok("No such file" in t.tapir("heap", t.path("none.tapir"), expect=1).err, "a file that does not exist")
    file = t.path("sleep.tapir")
    t.tapir("record", "-f", "-o", file, "--", "sleep", "0.1")
    t.ok("has no heap" in t.tapir("heap", file, expect=1).err, "a recording without a heap")


def start_java(t, count):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Kept.java")
    t.eq(t.run(t.need("javac"), "-d", t.path("classes"), source).rc, 0, "javac")
    java = t.start(t.need("java"), "-Xmx64m", "-cp", t.path("classes"), "Kept", count)
    java.wait_line("ready", timeout=60)
    return java


def test_a_jvm_counts_its_objects_by_class(t):
    java = start_java(t, 5000)
    found = heap_of(t, "-p", java.pid, "-n", 100000)
    t.eq(sum(row["count"] for row in found["by_type"]), found["objects"], "objects")
    t.eq(rows(found)["Kept$Order"]["count"], 5000, "orders, as the program made them")


def test_a_jvm_says_the_same_to_jcmd(t):
    java = start_java(t, 5000)
    seen = rows(heap_of(t, "-p", java.pid, "-n", 100000))["Kept$Order"]
    witness = re.search(r"^ *\d+: +(\d+) +(\d+) +Kept.Order", t.run(t.need("jcmd"), java.pid, "GC.class_histogram").out, re.M)
    t.eq((seen["count"], seen["bytes"]), tuple(map(int, witness.groups())), "orders, by jcmd")
    refused = t.tapir("heap", "-p", java.pid, "-o", t.path("jvm.tapir"), expect=3)
    t.ok("a JVM reports counts by class" in refused.err, refused.err)


def newest_java(t):
    """The directory of the newest JDK that is installed, and that of the default one."""
    default = os.path.dirname(os.path.realpath(t.need("javac")))
    others = sorted(path for path in glob.glob("/usr/lib/jvm/temurin-*/bin") if os.path.exists(os.path.join(path, "javac")))
    return [default, *others[-1:]]


def check_live(t, found):
    of_leak = [row for row in found["live"] if row["type"] in ("byte[]", "Leak$Order")]
    t.ok(sum(row["samples"] for row in of_leak) >= 0.8 * sum(row["samples"] for row in found["live"]) >= 4, f"what stays: {found['live']}")
    t.ok("char[]" not in [row["type"] for row in found["live"]], f"nothing that was thrown away: {found['live']}")
    t.ok("Leak.placeOrders <- Leak.main" in of_leak[0]["allocated_by"], f"who makes them: {of_leak}")
    t.ok(of_leak[0]["held_by"].endswith("java.util.ArrayList.elementData <- static Leak.KEPT"), f"what holds them: {of_leak}")


def test_a_jvm_s_leak_is_named_with_its_holder_and_allocator(t):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Leak.java")
    t.eq(t.run(newest_java(t)[0] + "/javac", "-d", t.path("classes"), source, timeout=60).rc, 0, "javac")
    for jdk in newest_java(t):
        java = t.start(jdk + "/java", "-Xmx600m", "-cp", t.path("classes"), "Leak")
        java.wait_line("ready", timeout=60)
        check_live(t, heap_of(t, "-p", java.pid, "--live", "--growth", "3", timeout=120))
        found = heap_of(t, "-p", java.pid, "--growth", "3", timeout=120)
        check_live(t, found)
        t.ok(rows(found, "by_growth")["Leak$Order"]["grown_count"] >= 2000, "orders")
        t.ok("byte[]" in found["headline"] and "Leak.placeOrders" in found["headline"] and "static Leak.KEPT" in found["headline"],
             found["headline"])
        t.ok("No available recordings" in t.run(t.need("jcmd"), java.pid, "JFR.check").out, "the JVM records nothing afterwards")
        t.ok(not os.path.exists(f"/tmp/.tapir-{java.pid}.jfr"), "the file is removed")
        java.kill()


def memory_of(pid, field):
    """In MB."""
    return int(re.search(rf"^{field}:\s+(\d+)", open(f"/proc/{pid}/status").read(), re.M).group(1)) / 1024


def test_a_file_that_is_cut_is_incomplete(t):
    heap, counts = start_heap(t, 2000, 20000)
    file = t.path("heap.tapir")
    t.tapir("heap", "-p", heap.pid, "-o", file)
    check_counts(t, heap_of(t, file, "-n", 1000), counts)
    t.tapir("heap", "-p", heap.pid, "-o", file, expect=1)  # it exists
    whole = open(file, "rb").read()
    with open(file, "wb") as cut:
        cut.write(whole[:len(whole) * 2 // 3])
    result = t.run(t.tapir_path, "heap", file)
    t.ok((result.rc == 0 and result.out.startswith("incomplete (")) or (result.rc == 1 and "has no heap" in result.err),
         f"{result.rc}: {result.out[:200]}{result.err}")


def test_trace_event_reads_the_same_heap(t):
    heap, counts = start_heap(t, 5000, 100000)
    file, out = t.path("heap.tapir"), t.path("heap.nettrace")
    t.tapir("heap", "-p", heap.pid, "-o", file)
    t.tapir("export", "--format", "nettrace", file, "-o", out)
    seen = json.loads(t.run(build_reader(t), out, "heap", timeout=120).out)["heap"]
    ours = heap_of(t, file, "-n", 100000)
    t.eq((seen["lost"], seen["edges"]), (0, seen["promised"]), "lost, references")
    t.eq((seen["objects"], seen["bytes"]), (ours["objects"], ours["bytes"]), "all objects")
    for name in ("Shop.Order", "Shop.Blob", "Shop.Node"):
        t.eq(tuple(seen["types"][name]), counts[name], name)
        t.eq((rows(ours)[name]["count"], rows(ours)[name]["bytes"]), counts[name], f"{name}, as tapir has it")
    t.ok("Kept" in seen["statics"], f"static fields: {seen['statics'][:10]}")


def while_leaking(t, heap, *args):
    """What tapir heap says of a program that leaks meanwhile."""
    done = threading.Event()

    def leak():
        while not done.wait(0.3):
            heap.signal(signal.SIGWINCH)

    leaking = threading.Thread(target=leak)
    leaking.start()
    try:
        return heap_of(t, "-p", heap.pid, *args, timeout=120)
    finally:
        done.set()
        leaking.join()


def growth_of(t, heap):
    """--growth of a program that leaks meanwhile, after what must hold for it does."""
    found = while_leaking(t, heap, "--growth", "4")
    grown = rows(found, "by_growth")
    t.ok(grown["Shop.Order"]["grown_count"] >= 20000, f"orders: {grown.get('Shop.Order')}")
    t.eq(grown["Shop.Order"]["grown_bytes"], 48 * grown["Shop.Order"]["grown_count"], "their bytes")
    t.ok(path_of(found, "Shop.Order").endswith("<- Shop.Cache <- static Kept"), "what holds them")
    by = next(row for row in found["allocations"] if row["type"] == "Shop.Order")
    t.ok(any("PlaceOrders" in json.dumps(frame) for frame in by["stack"]), f"who allocates them: {by}")
    t.ok("System.Byte[]" in found["headline"] and "Shop.Program.PlaceOrders" in found["headline"] and
         found["headline"].endswith("<- Shop.Cache <- static Kept"), found["headline"])
    return grown


def check_dotnet_live(t, heap, runtime):
    """Arrays of one type and size are made by two: for a while, many more of them, and to stay."""
    found = while_leaking(t, heap, "--live", "--growth", "4")
    live = [row for row in found["live"] if row["type"] == "System.Byte[]"]
    stay = [row for row in live if "PlaceOrders" in (row["allocated_by"] or "")]
    go = [row for row in live if "KeepForAMoment" in (row["allocated_by"] or "")]
    t.ok(sum(row["samples"] for row in stay) >= 20, f"{runtime}: arrays that stay: {live}")
    t.ok(sum(row["samples"] for row in go) <= 0.1 * sum(row["samples"] for row in stay), f"{runtime}: arrays that go: {live}")
    t.ok(stay[0]["held_by"].endswith("Shop.Order[] <- System.Collections.Generic.List<Shop.Order> <- Shop.Cache <- static Kept"),
         f"{runtime}: {stay}")
    large = [row for row in found["live"] if row["type"] == "System.Char[]"]
    t.ok(large and all("KeepLarge" in row["allocated_by"] for row in large), f"{runtime}: large arrays: {large}")
    t.ok(large[0]["held_by"].endswith("List<System.Char[]> <- static Large"), f"{runtime}: {large}")
    return found


def test_live_objects_are_those_that_stay(t):
    check_dotnet_live(t, start_heap(t, 20000, 1000, churn=["churn"])[0], "default")


def test_live_objects_with_a_server_s_collector_and_net_8(t):
    server = {**os.environ, "DOTNET_gcServer": "1"}
    check_dotnet_live(t, start_heap(t, 20000, 1000, env=server, churn=["churn"])[0], "server")
    check_dotnet_live(t, start_heap(t, 20000, 1000, program=publish_dotnet(t, "Heap", "8.0.33"), churn=["churn"])[0], "8.0")


def test_a_target_killed_while_it_is_followed_is_reported(t):
    heap, _ = start_heap(t, 1000, 1000)
    tapir = t.start_tapir("heap", "-p", heap.pid, "--live")
    time.sleep(2.0)
    heap.kill()
    result = tapir.wait(60)
    t.eq(result.rc, 1, result.out)
    t.ok("the recording ended before the collection" in result.err, result.err)


def test_ctrl_c_ends_growth_with_a_snapshot(t):
    heap, _ = start_heap(t, 1000, 1000)
    tapir = t.start_tapir("heap", "-p", heap.pid, "--growth", "60")
    time.sleep(4.0)
    tapir.signal(signal.SIGINT)
    result = tapir.wait(60)
    t.eq(result.rc, 0, result.err)
    t.ok(" objects to " in result.out.splitlines()[0], result.out)


def test_a_leak_is_named_with_its_holder_and_allocator(t):
    heap, _ = start_heap(t, 20000, 1000)
    before, after = t.path("before.tapir"), t.path("after.tapir")
    t.tapir("heap", "-p", heap.pid, "-o", before)
    grown = growth_of(t, heap)
    t.tapir("heap", "-p", heap.pid, "-o", after)
    diff = rows(heap_of(t, "diff", before, after), "by_growth")
    t.ok(diff["Shop.Order"]["grown_count"] % 20000 == 0 and diff["Shop.Order"]["grown_count"] >= grown["Shop.Order"]["grown_count"],
         f"from the first to the last snapshot: {diff['Shop.Order']}")


def test_net_8_names_a_leak(t):
    growth_of(t, start_heap(t, 20000, 1000, program=publish_dotnet(t, "Heap", "8.0.33"))[0])


def test_net_9_names_a_leak(t):
    growth_of(t, start_heap(t, 20000, 1000, program=publish_dotnet(t, "Heap", "9.0.22"))[0])


def test_net_8_and_9_list_their_objects(t):
    for runtime in ("8.0.33", "9.0.22"):
        heap, counts = start_heap(t, 2000, 50000, program=publish_dotnet(t, "Heap", runtime))
        for _ in range(2):
            found = heap_of(t, "-p", heap.pid, "-n", 1000, timeout=120)
            check_counts(t, found, counts)
            t.ok(path_of(found, "Shop.Node").startswith("static ") or "handle" in path_of(found, "Shop.Node"), runtime)
        heap.kill()


def test_ten_million_objects_are_complete_and_need_no_memory(t):
    heap, counts = start_heap(t, 1000, 10000000)
    before = memory_of(heap.pid, "VmHWM")
    found = heap_of(t, "-p", heap.pid, "-n", 1000, "--max-pause", "60", timeout=300)
    check_counts(t, found, counts)
    t.ok(memory_of(heap.pid, "VmHWM") - before <= 32, f"MB more than {before}: {memory_of(heap.pid, 'VmHWM') - before}")


def test_a_pause_that_is_over_is_incomplete(t):
    heap, _ = start_heap(t, 1000, 3000000)
    tapir = t.start_tapir("heap", "-p", heap.pid, "--max-pause", "1ms")
    for _ in range(40):  # it is too slow: the ring is full before it goes on
        tapir.signal(signal.SIGSTOP)
        time.sleep(0.06)
        tapir.signal(signal.SIGCONT)
        time.sleep(0.02)
    result = tapir.wait(120)
    t.ok(result.out.startswith("incomplete ("), result.out[:300])
    t.ok("events with objects or references were lost" in result.out.splitlines()[0], result.out[:300])
    t.ok("HELD BY" not in result.out, "no path is made up")


def test_two_snapshots_at_once_are_both_complete(t):
    heap, counts = start_heap(t, 2000, 300000)
    both = [t.start_tapir("heap", "-p", heap.pid, "--json", "-n", 1000) for _ in range(2)]
    for one in both:
        result = one.wait(120)
        t.eq(result.rc, 0, result.err)
        check_counts(t, json.loads(result.out), counts)


def test_a_target_killed_amid_the_snapshot_is_reported(t):
    heap, _ = start_heap(t, 1000, 5000000)
    tapir = t.start_tapir("heap", "-p", heap.pid)
    time.sleep(1.0)
    heap.kill()
    result = tapir.wait(120)
    t.ok(result.rc == 1 or result.out.startswith("incomplete (") or "objects of" in result.out, f"{result.rc} {result.out}{result.err}")
    t.ok(result.rc == 0 or result.err.strip(), "a reason")


def test_ctrl_c_lets_the_target_go_on(t):
    heap, counts = start_heap(t, 1000, 5000000)
    tapir = t.start_tapir("heap", "-p", heap.pid)
    time.sleep(1.0)
    tapir.signal(signal.SIGINT)
    tapir.wait(120)
    t.ok(grow(heap)["Shop.Order"][0] == 2000, "the program goes on")


def test_a_full_disk_is_reported(t):
    heap, _ = start_heap(t, 20000, 100000)
    place = t.path("small")
    os.mkdir(place)
    script = f"mount -t tmpfs -o size=64k none {place} && exec {t.tapir_path} heap -p {heap.pid} -o {place}/x.tapir"
    result = t.run(t.need("unshare"), "-m", "sh", "-c", script, timeout=120)
    t.ok(result.rc != 0 or result.out.startswith("incomplete ("), f"{result.rc}: {result.out[:300]}{result.err}")
    t.ok("No space left" in result.err, result.err)
    t.ok(grow(heap)["Shop.Order"][0] == 40000, "the program goes on")


def test_another_user_s_process_is_refused(t):
    heap, _ = start_heap(t, 1000, 1000)
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    t.need("setpriv")
    os.chmod(t.tmp, 0o755)
    result = t.run(*nobody, t.tapir_path, "heap", "-p", heap.pid)
    t.eq(result.rc, 3, f"exit code: {result.out}{result.err}")
    t.ok(str(heap.pid) in result.err, result.err)

class MemoryGroup:
    """A cgroup of our own with a limit on memory, of either version."""

    def __init__(self, t):
        self.is_v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        with open("/proc/self/cgroup", encoding="ascii") as lines:
            own = next((line.split(":", 2)[2].strip() for line in lines if (line.startswith("0::") if self.is_v2 else ":memory:" in line)), None)
        root = "/sys/fs/cgroup" + ("" if self.is_v2 else "/memory")
        self.path = f"{root}{own}/tapir-test-{os.getpid()}"
        try:
            os.mkdir(self.path)
            self.limit = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
            self.read(self.limit)
        except OSError as error:
            t.skip(f"cannot make a cgroup with a limit on memory: {error}")

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return file.read()

    def used(self):
        """Bytes that cannot be dropped."""
        stat = dict(line.split() for line in self.read("memory.stat").splitlines())
        return sum(int(stat[name]) for name in (("anon", "shmem", "kernel") if self.is_v2 else ("total_rss", "total_shmem")) if name in stat)

    def leave_bytes(self, spare):
        with open(os.path.join(self.path, self.limit), "w", encoding="ascii") as file:
            file.write(str(self.used() + spare))

    def killed(self):
        stat = dict(line.split() for line in self.read("memory.events" if self.is_v2 else "memory.oom_control").splitlines())
        return int(stat["oom_kill"])


def test_ten_million_objects_with_64_mb_to_spare(t):
    group = MemoryGroup(t)
    program = build_dotnet(t, "Heap")
    try:
        heap = t.start("sh", "-c", f'echo $$ > {group.path}/cgroup.procs && exec {program} "$@"', "sh", 1000, 10000000)
        heap.wait_line("pid", timeout=60)
        counts = counts_of(heap.wait_line("counts", timeout=120))
        group.leave_bytes(64 << 20)
        found = heap_of(t, "-p", heap.pid, "-n", 1000, "--max-pause", "60", timeout=300)
        t.eq(group.killed(), 0, "processes that the kernel killed for memory")
        if found["complete"]:
            check_counts(t, found, counts)
        else:
            lost = re.match(r"incomplete \((\d+) (?:events with objects or references|records) were lost", found["headline"])
            t.ok(lost and int(lost.group(1)) > 0, found["headline"])
            t.ok(rows(found)["Shop.Node"]["count"] <= counts["Shop.Node"][0], "no object is made up")
        t.eq(grow(heap)["Shop.Order"][0], 2000, "the program goes on")
        heap.kill()
    finally:
        for _ in range(50):
            try:
                os.rmdir(group.path)
                break
            except OSError:
                time.sleep(0.1)
