# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of real runtimes have their names, those compiled before and those compiled later."""
import os
import re
import signal
import time

from dotnet_program import build_dotnet
from harness import PATIENCE, wait_cpu

CHECK_LONG = {"test_java_addresses_bear_the_name_of_their_time", "test_shares_are_those_perf_sees"}
HZ = 997


def program(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", name)


def compile_java(t, name):
    javac, _ = t.need("javac", "java")
    t.run(javac, "-d", t.tmp, program(f"{name}.java"), timeout=60)
    return t.tmp


def names(sample):
    return [f["name"] or "" for f in sample.get("stack", [])]


def share(part, whole):
    return len(part) / max(1, len(whole))


def record_running(t, process, seconds=0.8, during=None):
    """Its samples until it has used that much CPU time: there are as many on a busy machine. during: called when it is recorded."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", HZ, "-p", process.pid, "-f", "-o", file)
    tapir.wait_ready(timeout=30)
    if during:
        during()
    process.wait_cpu(seconds, 60)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit")
    return [s for s in t.events(file, "sample") if s.get("stack")]


def start_java(t, *args, flags=()):
    classes = compile_java(t, "Hot")
    java = t.start("java", "-XX:+PreserveFramePointer", "-XX:-Inline", *flags, "-cp", classes, "Hot", *args)
    java.wait_line("pid ")
    return java


def test_java_methods_compiled_before_have_their_names(t):
    java = start_java(t, 200)
    java.wait_cpu(1.2)
    perf_map = f"/tmp/perf-{java.pid}.map"
    samples = record_running(t, java)
    # Tables of the JVM's files are made during the recording: until then a stack says that its callers are not known yet.
    hot = [s for s in samples if names(s) and names(s)[0] == "long Hot.leaf(int)" and s.get("stack_end") != "not_yet"]
    t.ok(len(hot) >= 100, f"{len(hot)} samples in Hot.leaf of {len(samples)}")
    main = [s for s in hot if names(s)[1] == "long Hot.middle(int)" and "JavaMain" in names(s)]
    t.ok(share(main, hot) >= 0.99, f"{len(main)} of {len(hot)} stacks reach main, which is interpreted, not "
         f"{[names(s)[:6] for s in hot if s not in main][:4]}")
    t.ok(all("void Hot.main(java.lang.String[])" in names(s) and "Interpreter" not in names(s) and "" not in names(s) for s in main),
         "all frames have names")
    end = time.monotonic() + 5 * PATIENCE  # a map that was asked for at the end is removed when the JVM has written it
    while os.path.exists(perf_map) and time.monotonic() < end:
        time.sleep(0.02)
    t.ok(not os.path.exists(perf_map), f"{perf_map} was left behind")
    t.ok(java.child.poll() is None, "the JVM runs on")


def test_java_methods_compiled_later_have_their_names(t):
    java, file = start_java(t, 200), t.path("trace.tapir")
    java.wait_cpu(0.5)
    samples = record_running(t, java, during=java.go)
    late = [s for s in samples if names(s) and "Hot.lateLeaf" in names(s)[0]]
    t.ok(len(late) >= 50, f"{len(late)} samples in Hot.lateLeaf of {len(samples)}")
    unnamed = [s for s in samples if s["comm"] == "java" and not names(s)[0]]
    t.ok(share(unnamed, samples) <= 0.01, f"{len(unnamed)} of {len(samples)} have no name: "
         f"{[(s['time_ns'] - samples[0]['time_ns'], s['stack'][0]) for s in unnamed[:5]]}")
    t.eq([e for e in t.events(file) if e["event"].startswith("compiled__method")], [], "events nobody asked for")


def test_methods_of_a_java_started_by_tapir_are_named(t):
    """It cannot be asked before it listens, nor read before it has made its interpreter, a moment after its library was mapped."""
    classes, file = compile_java(t, "Hot"), t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", HZ, "--no-sched", "-f", "-o", file, "--", "java", "-XX:+PreserveFramePointer",
                          "-Xint", "-cp", classes, "Hot", 200)
    pid = int(tapir.wait_line("pid ", 30).split()[1])
    wait_cpu(pid, 3, 60)  # what it does at its start is a small part of that
    os.kill(pid, signal.SIGKILL)
    tapir.wait()
    samples = [s for s in t.events(file, "sample") if "JavaMain" in names(s)]
    inside = [s for s in samples if names(s)[0] in ("Interpreter", "long Hot.leaf(int)")]
    t.ok(share(inside, samples) >= 0.9, f"{len(inside)} of {len(samples)} in the interpreter")
    late = [s for s in samples if s["time_ns"] > samples[0]["time_ns"] + 2e9]
    named = [s for s in late if names(s)[0] == "long Hot.leaf(int)"]
    t.ok(share(named, late) >= 0.9, f"{len(named)} of {len(late)} in Hot.leaf, once it could be read")


def test_node_functions_have_their_names(t):
    node = t.need("node")
    process = t.start(node, "--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining", program("hot.js"), 200)
    process.wait_line("pid ")
    process.wait_cpu(0.7)
    samples = record_running(t, process)
    busy = [s for s in samples if s["tid"] == process.pid]
    leaf = [s for s in busy if any(re.search(r"\bleaf\b", n) for n in names(s)[:2])]
    t.ok(share(leaf, busy) >= 0.95, f"{len(leaf)} of {len(busy)} in leaf")  # main also asks what time it is
    chain = [s for s in leaf if all(any(re.search(rf"\b{f}\b", n) for n in names(s)) for f in ("middle", "main"))]
    t.ok(share(chain, leaf) >= 0.99, f"{len(chain)} of {len(leaf)} reach main")


def perf_shares(t, perf, data):
    """Function -> share of the samples whose innermost frame it is, by perf."""
    out = t.run(perf, "script", "-i", data, "-F", "tid,ip,sym", "--no-inline").out
    counts, expect = {}, False
    for line in out.splitlines():
        if re.match(r"\s+[0-9a-f]+ ", line) and expect:
            name = line.split(None, 1)[1].strip()
            counts[name] = counts.get(name, 0) + 1
            expect = False
        elif line.strip() and not line.startswith("\t"):
            expect = True
    total = sum(counts.values())
    return {name: cnt / total for name, cnt in counts.items()}


def test_shares_are_those_perf_sees(t):
    perf = t.need("perf")
    target = t.target("burner", "--wait", 1200, 2)
    data, file = t.path("perf.data"), t.path("trace.tapir")
    peer = t.start(perf, "record", "-q", "-F", HZ, "-g", "-p", target.pid, "-o", data)
    tapir = t.start_tapir("record", "-F", HZ, "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready()
    time.sleep(0.5)
    target.go()
    target.wait()
    t.eq(tapir.wait().rc, 0, "exit")
    peer.wait()
    theirs = perf_shares(t, perf, data)
    samples = [s for s in t.events(file, "sample")]
    ours = {}
    for s in samples:
        frames = s.get("kernel_stack", []) + s.get("stack", [])
        name = frames[0]["name"] if frames else None
        ours[name] = ours.get(name, 0) + 1 / len(samples)
    hot = [name for name, part in theirs.items() if part >= 0.05]
    t.ok("burn_much" in hot and len(hot) >= 2, f"perf sees {theirs}")
    for name in hot:
        t.ok(abs(ours.get(name, 0) - theirs[name]) <= 0.03,
             f"{name}: {ours.get(name, 0):.1%}, perf says {theirs[name]:.1%}")


WORK = """public class Work%d {
    static long burn(int n) {
        long s = n;
        for (int i = 0; i < 2000; i++) s = s * 3%d + (s >>> 7) + i;
        return s;
    }
    public static long spin(long ns) {
        long end = System.nanoTime() + ns, s = 0;
        for (int n = 0; System.nanoTime() < end; n++) s += burn(n);
        return s;
    }
}
"""

# A small code cache that is swept all the time: addresses are used again soon.
REUSING = ["-Xbatch", "-XX:-TieredCompilation", "-XX:-Inline", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions",
           "-XX:-SegmentedCodeCache", "-XX:ReservedCodeCacheSize=2500k", "-XX:StartAggressiveSweepingAt=100",
           "-XX:SweeperThreshold=0.001", "-XX:+LogCompilation"]


def logged_code(log):
    """(address, method) of all the JVM says it has compiled of the Work classes."""
    with open(log, encoding="utf-8", errors="replace") as file:
        found = re.findall(r"<nmethod [^>]*entry='(0x[0-9a-f]+)'[^>]*method='(Work\d \w+)", file.read())
    return [(int(address, 16), method) for address, method in found]


def record_reuse(t, classes, work, log):
    """Names by address, of what was sampled; which address is sampled under which name is chance."""
    file = t.path("trace.tapir")
    said = t.tapir("record", "-F", HZ, "--no-sched", "-f", "-o", file, "--", "java", "-XX:+PreserveFramePointer",
                   *REUSING, f"-XX:LogFile={log}", "-cp", classes, "Churn", work, 48, 70)
    code = set(logged_code(log))
    by_address, by_method = {}, {}
    for address, method in code:
        by_address.setdefault(address, set()).add(method)
        by_method.setdefault(method, set()).add(address)
    if max(map(len, by_address.values())) < 3:
        t.skip("this JVM used no address three times")
    t.ok(max(map(len, by_method.values())) >= 3, "a method was compiled at three addresses")
    periods = [(name, int(begin), int(end)) for name, begin, end in
               re.findall(r"^period (\w+) (\d+) (\d+)$", said.out, re.M)]
    t.eq(len(periods), 48, "periods")
    samples = [s for s in t.events(file, "sample") if s.get("stack")]
    wrong, right, seen = [], 0, {}
    for name, begin, end in periods:
        for s in (s for s in samples if begin < s["time_ns"] < end):
            for frame in s["stack"][:2]:
                found = re.search(r"(Work\d)\.(\w+)", frame["name"] or "")
                if found:
                    seen.setdefault(frame["addr"] - frame["offset"], set()).add(found.group(0))
                    right += found.group(1) == name
                    if found.group(1) != name:
                        wrong.append((s["time_ns"] - begin, frame, name))
    t.ok(right >= 48 * 0.07 * HZ * 0.1, f"{right} frames in the classes of their period")
    t.ok(len(wrong) <= 0.002 * right, f"{len(wrong)} of {right} with another name: {wrong[:3]}")
    return seen


def test_java_addresses_bear_the_name_of_their_time(t):
    classes, work, log = compile_java(t, "Churn"), t.path("work"), t.path("compilation.log")
    os.mkdir(work)
    for i in range(3):
        with open(f"{work}/Work{i}.java", "w", encoding="ascii") as source:
            source.write(WORK % (i, i))
    t.run("javac", "-d", work, *(f"{work}/Work{i}.java" for i in range(3)), timeout=60)
    most = 0
    for _ in range(3):
        most = max(most, *map(len, record_reuse(t, classes, work, log).values()))
        if most >= 3:
            break
    t.ok(most >= 3, f"an address bore three names in a recording: {most}")

def test_dotnet_methods_have_their_names(t):
    hot = build_dotnet(t, "Hot")
    for kind, left in ("3", "perf-%d.map"), ("2", "jit-%d.dump"):
        # Without the granularity, .NET 10.0's jitdump ends at its first large stub.
        env = {**os.environ, "DOTNET_PerfMapEnabled": kind, "DOTNET_PerfMapStubGranularity": "2"}
        process = t.start(hot, 200, env=env)
        process.wait_line("pid ")
        process.wait_cpu(0.7)
        samples = record_running(t, process)
        os.unlink("/tmp/" + left % process.pid)
        process.kill()
        busy = [s for s in samples if s["tid"] == process.pid]
        leaf = [s for s in busy if re.search(r"Hot\.Leaf\(int\)", names(s)[0])]
        t.ok(len(leaf) >= 100, f"{len(leaf)} samples in Leaf")
        t.ok(share(leaf, busy) >= 0.95, f"{len(leaf)} of {len(busy)} in Leaf")
        # Middle has no frame record when it is optimised.
        chain = [s for s in leaf if "Hot.Middle" in names(s)[1] and "Hot.Main" in names(s)[2] and "coreclr_execute_assembly" in names(s)]
        t.ok(share(chain, leaf) >= 0.99, f"{len(chain)} of {len(leaf)} stacks reach the start of the program by Main")


PHP_OPTIONS = ["-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1", "-d", "opcache.jit=function",
               "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.jit_debug=0x10"]


def test_php_functions_have_their_names(t):
    php = t.need("php")
    process = t.start(php, *PHP_OPTIONS, program("hot.php"), 200)
    process.wait_line("pid ")
    process.wait_cpu(0.5)
    perf_map = f"/tmp/perf-{process.pid}.map"
    if not os.path.exists(perf_map):
        t.skip("this PHP has no JIT that writes perf maps")
    samples = record_running(t, process)
    os.unlink(perf_map)
    leaf = [s for s in samples if names(s)[0].endswith("leaf")]
    t.ok(share(leaf, samples) >= 0.9, f"{len(leaf)} of {len(samples)} in leaf: {samples[0]}")


def test_functions_of_a_child_whose_parent_has_gone_have_their_names(t):
    """The names are in a file of the parent's number, which the child has open."""
    php = t.need("php")
    process = t.start(php, *PHP_OPTIONS, program("heir.php"), 20)
    child, parent = re.fullmatch(r"child (\d+) of (\d+)", process.wait_line("child ").strip()).groups()
    perf_map = f"/tmp/perf-{parent}.map"
    if not os.path.exists(perf_map):
        os.kill(int(child), signal.SIGKILL)
        t.skip("this PHP has no JIT that writes perf maps")
    file = t.path("heir.tapir")
    t.tapir("record", "-p", child, "-d", 1.5, "--no-sched", "-f", "-o", file)
    os.kill(int(child), signal.SIGKILL)
    os.unlink(perf_map)
    samples = [s for s in t.events(file, "sample") if s.get("stack")]
    leaf = [s for s in samples if names(s)[0] == "JIT$leaf"]
    t.ok(share(leaf, samples) >= 0.9, f"{len(leaf)} of {len(samples)} in leaf: {samples[0]}")


def test_functions_of_a_text_that_was_moved_to_huge_pages_have_their_names(t):
    """node --use-largepages=on copies its code into memory of no file; without it, this is the witness."""
    node, script = t.need("node"), t.path("spin.js")
    with open(script, "w", encoding="ascii") as out:
        out.write("const zlib = require('zlib'), b = Buffer.alloc(1 << 22, 'abc def');\n"
                  "const end = Date.now() + 1000 * process.argv[2];\n"
                  "const spin = () => { zlib.deflateSync(b); if (Date.now() < end) setImmediate(spin); };\n"
                  "console.log('ready', process.hrtime.bigint()); spin();\n")
    named = {}
    for way in ("off", "on", "cmd"):
        file = t.path(f"{way}.tapir")
        argv = [node, f"--use-largepages={'off' if way == 'off' else 'on'}", script]
        if way == "cmd":
            ready = t.tapir("record", "--no-sched", "-f", "-o", file, "--", *argv, 3).out
        else:
            program = t.start(*argv, 30)
            ready = program.wait_line("ready")
            with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
                lines = [line.split() for line in maps]
            # Beside its file's own code, not generated.
            is_moved = any(a[-1] == c[-1] and len(b) == 5 and b[1] == "r-xp" and a[1] == c[1] == "r-xp" and
                           a[0].split("-")[1] == b[0].split("-")[0] for a, b, c in zip(lines, lines[1:], lines[2:]))
            if way == "on" and not is_moved:
                t.skip("this node does not move its code")
            t.tapir("record", "-p", program.pid, "-d", 3, "--no-sched", "-f", "-o", file)
            program.kill()
        # Its start copies 30 MB, which the kernel does for seconds on some machines.
        ready_ns = int(re.search(r"ready (\d+)", ready)[1])
        leaves = [s["stack"][0] for s in t.events(file, "sample") if s.get("stack") and s["time_ns"] > ready_ns]
        own = [leaf for leaf in leaves if (leaf.get("module") or "").endswith("/node")]
        named[way] = (len(own), len([leaf for leaf in own if leaf.get("name")]), len(leaves))
    for way, (own, with_name, all_of_them) in named.items():
        t.ok(own >= 0.5 * all_of_them and with_name >= 0.95 * own, f"{way}: of node, with a name, in all: {named}")
