# SPDX-License-Identifier: GPL-2.0-or-later
"""TraceEvent, the library PerfView is made of, opens what tapir exports and finds in it what the recording holds.

Made recordings come from tests/bench/make_dotnet_trace.c, whose constants are repeated below."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from dotnet_fire import most_pauses_are_those_of_the_runtime
from dotnet_program import build_dotnet, build_reader
from harness import PATIENCE

CHECK_DOTNET = {"test_many_segments_keep_their_names",
                "test_samples_with_trace_ids_are_counted"}
CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
CLR = "Microsoft-Windows-DotNETRuntime:"
BAKE = "pantry!Pantry.Bäcker::焼く();pantry!Pantry.Program::Main(string[]);libcoreclr.so!RunMain"
OVEN = "pantry!Pantry.Oven::%s();pantry!Pantry.Program::Main(string[]);libcoreclr.so!RunMain"


def export(t, file, *options):
    out = os.path.splitext(file)[0] + ".nettrace"
    t.tapir("export", "--format", "nettrace", file, "-o", out, *options)
    return out


def opened(t, file, *modes):
    """What TraceEvent says of an exported recording: as a stream, as a log."""
    result = t.run(build_reader(t), export(t, file), *modes, timeout=120)
    t.eq(result.rc, 0, f"TraceEvent opens the file: {result.err[-1000:]}")
    return json.loads(result.out)


def made(t):
    file = t.path("pantry.tapir")
    t.eq(t.run(f"{t.build}/tests/bench/make_dotnet_trace", file).rc, 0, "make_dotnet_trace")
    return file


def check_runtime_events(t, stream):
    """They keep their payload and what describes it."""
    counts, first = stream["counts"], stream["first"]
    for name, cnt in (("GC/Start", 6), ("GC/Stop", 6), ("GC/SuspendEEStart", 6), ("GC/RestartEEStop", 6),
                      ("Exception/Start", 20)):
        t.eq(counts.get(CLR + name), cnt, name)
    thrown = first[CLR + "Exception/Start"]
    t.eq((thrown["ExceptionType"], thrown["ExceptionMessage"], thrown["ExceptionHRESULT"]),
         ("Pantry.EmptyException", "no flour 0", str(0x80131500 - (1 << 32))), "an exception, decoded by TraceEvent")
    order = first["Pantry-Bäckerei:OrderPlaced"]
    t.eq([order[name] for name in ("Count", "Customer", "Digits")], ["0", "Marta", "7,8,9"], "an EventSource's event")
    t.eq([order[name] for name in ("#id", "#version", "#level", "#keywords", "#pid", "#tid", "#cpu")],
         ["3", "2", "4", "1", "700", "701", "1"], "what describes it")
    t.eq((order["#activity"], order["#related"]),
         ("04030201-0605-0807-090a-0b0c0d0e0f00", "000000fe-0000-0000-0000-000000000000"), "activity ids")
    t.eq(stream["back"], 0, "events out of order")


def check_fields_of_usdt_events(t, stream):
    query = stream["first"]["postgresql:query__start"]
    t.eq({name: value for name, value in query.items() if name[0] != "#"},
         {"rows": "-3", "bytes": str(1 << 63), "share": "0.25", "text": "select '焼く'", "key": "1,2,255",
          "arg5": "<unreadable: vector register: not among the registers a probe sees>",
          "marks": "text=cut,arg5=vector register: not among the registers a probe sees"}, "fields")


def check_lost_ranges(t, stream, log):
    t.eq((stream["lost"], log["lost"]), (41, 41), "lost events, as TraceEvent counts them")
    loss = stream["first"]["Tapir:Loss"]
    t.eq((loss["Count"], loss["Event"], loss["Kind"]), ("41", "OrderPlaced", "event"), "the range")
    t.eq(int(loss["UntilNs"]) - int(loss["FromNs"]), 1000000, "its length")


def check_names_where_addresses_are_used_again(t, log):
    stacks = log["stacks"]
    t.eq(stacks["Pantry-Bäckerei:OrderPlaced"], {BAKE: 30}, "an event's stack")
    t.eq(stacks[CLR + "Exception/Start"], {BAKE: 20}, "a runtime event's stack")
    t.eq(stacks["Universal.Events:cswitch"], {BAKE: 10}, "a switch's stack")
    t.eq(stacks["Universal.Events:cpu"], {OVEN % "Early": 100, OVEN % "Late": 100}, "samples, by name and time")


def check_names_and_samples_of_threads(t, log):
    processes = {p["pid"]: p for p in log["processes"] if p["pid"]}
    t.eq({pid: (p["name"], p["samples"]) for pid, p in processes.items()}, {700: ("pantry", 150), 800: ("厨房", 50)},
         "processes")
    for pid, p in processes.items():
        t.eq({name.split(".")[0]: cnt for name, cnt in p["threads"].items() if cnt}, {str(pid + 1): p["samples"]},
             f"threads of {pid} with samples")
        t.ok("/opt/dotnet/libcoreclr.so" in p["modules"], f"modules: {p['modules']}")


def check_analysis_of_collections(t, log):
    runtimes = log["runtimes"]
    gcs = {pid: [(gc["number"], gc["generation"], gc["pause_ms"]) for gc in runtime["gcs"]]
           for pid, runtime in runtimes.items()}
    t.eq(gcs, {"700": [(n, n % 3, n + 1.15) for n in range(1, 6)], "800": [(1, 1, 2.15)]}, "collections")


def test_made_recording_is_read_as_it_was_made(t):
    file = made(t)
    both = opened(t, file, "stream", "log")
    stream, log = both["stream"], both["log"]
    t.eq(stream["first"]["Tapir:Finding"]["Text"], t.report(file)["headline"], "it begins with the first line of a report")
    check_runtime_events(t, stream)
    check_fields_of_usdt_events(t, stream)
    check_lost_ranges(t, stream, log)
    check_names_where_addresses_are_used_again(t, log)
    check_names_and_samples_of_threads(t, log)
    check_analysis_of_collections(t, log)


def sampled_ms(samples):
    """What readers count of each process, a millisecond a sample: of each thread what it was sampled for."""
    threads, by_pid = collections.Counter(), collections.Counter()
    for sample in samples:
        threads[sample["pid"], sample["tid"]] += sample["period"]
    for (pid, _), period_ns in threads.items():
        by_pid[pid] += period_ns // 1_000_000
    return dict(by_pid)


def test_live_recording_of_two_processes_is_the_same_in_both(t):
    file = t.path("live.tapir")
    command = ["sh", "-c", f"{t.target_path('burner')} 300 1 & {t.target_path('burner')} 300 1; wait"]
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", *command)
    log = opened(t, file, "log")["log"]
    by_pid = sampled_ms(t.events(file, "sample"))
    seen = {}
    for process in log["processes"]:
        if process["samples"]:
            seen[process["pid"]] = seen.get(process["pid"], 0) + process["samples"]
    t.eq(seen, by_pid, "samples of each process")
    stacks = log["stacks"]["Universal.Events:cpu"]
    t.ok(any("burner!" in stack.split(";")[0] for stack in stacks), f"names: {list(stacks)[:5]}")
    ins = sum(switch["in_pid"] is not None for switch in t.events(file, "switch"))
    t.eq(log["counts"].get("Universal.Events:cswitch", 0), ins, "switches in")
    without = re.search(r"(\d+) switches, to threads that were not recorded", t.tapir("export", "--format", "nettrace", "-f", "-o", t.path("again.nettrace"), file).err)
    t.eq(ins + int(without.group(1) if without else 0), len(t.events(file, "switch")), "switches with a row, and those that the export counts")


def test_samples_with_trace_ids_are_counted(t):
    file = t.path("spans.tapir")
    t.tapir("record", "-F", 997, "--sched", "-o", file, "--", t.target_path("spansle"), t.path("log"), 20, 2)
    samples = t.events(file, "sample")
    t.ok(sum("trace_id" in sample for sample in samples) > 5, "samples in spans")
    both = opened(t, file, "stream", "log")
    for mode in ("stream", "log"):
        t.eq(both[mode]["counts"].get("Universal.Events:cpu"), sum(sampled_ms(samples).values()), f"samples, {mode}")


def named_frames(t, file, log):
    """Of all samples: how many frames have a name in the recording, and how many in TraceEvent."""
    ours = sum(frame["name"] is not None for sample in t.events(file, "sample")
               for frame in (sample.get("kernel_stack") or []) + (sample.get("stack") or []))
    theirs = sum(cnt * sum(not frame.endswith("!?") for frame in stack.split(";"))
                 for stack, cnt in log["stacks"]["Universal.Events:cpu"].items())
    return ours, theirs


def test_process_that_executes_another_program_keeps_its_names(t):
    file = t.path("exec.tapir")
    script = f"i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec {t.target_path('burner')} 300 1"
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", "sh", "-c", script)
    log = opened(t, file, "log")["log"]
    processes = [(p["name"], p["samples"]) for p in log["processes"] if p["samples"]]
    t.eq(processes, [("burner", sum(sampled_ms(t.events(file, "sample")).values()))], "one process, with its last name")
    ours, theirs = named_frames(t, file, log)
    t.ok(ours > 200 and theirs >= ours, f"frames with names: {ours} in the recording, {theirs} in TraceEvent")


def test_live_dotnet_process_is_analysed_as_it_counts_itself(t):
    file = t.path("fire.tapir")
    fire = t.start(build_dotnet(t, "Fire"), "events=2000", "exceptions=300", "contentions=20", "gcs=60")
    fire.wait_line("pid ")
    tapir = t.start_tapir("record", f"{CLR}GC,Exception,Contention:Informational", "MyCompany-Demo", "-p", fire.pid,
                          "-f", "-o", file)
    tapir.wait_ready(".NET events")
    fire.go()
    did = json.loads(fire.wait_line("{", timeout=60))
    time.sleep(0.3)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "record")
    both = opened(t, file, "stream", "log")
    counts, lost = both["stream"]["counts"], both["stream"]["lost"]
    t.eq(lost, sum(loss["count"] for loss in t.events(file, "loss") if loss["kind"] in ("event", "sample", "switch")),
         "lost")
    t.ok(abs(counts["MyCompany-Demo:OrderPlaced"] - did["orders"]) <= lost, f"orders: {counts}")
    t.eq(counts[CLR + "Exception/Start"], did["exceptions"], "exceptions")
    t.eq(both["stream"]["first"]["MyCompany-Demo:OrderPlaced"]["customer"], "customer-000000", "a field")
    gcs = both["log"]["runtimes"][str(fire.pid)]["gcs"]
    for generation in (0, 1, 2):
        t.eq(sum(gc["generation"] >= generation for gc in gcs), did["gcs"][generation], f"GCs of generation {generation}+")
    pause = sum(gc["pause_ms"] for gc in gcs)
    spans, begun = 0, {}
    for event in t.events(file):
        if event["event"] == "GCSuspendEEBegin":
            begun[event["tid"]] = event["time_ns"]
        elif event["event"] == "GCRestartEEEnd":
            spans += event["time_ns"] - begun.pop(event["tid"])
    t.ok(abs(pause - spans / 1e6) <= 0.001 * len(gcs), f"{pause} ms of pauses by TraceEvent, {spans / 1e6} in the recording")
    most_pauses_are_those_of_the_runtime(t, {str(gc["number"]): gc["pause_ms"] for gc in gcs}, did)
    stacks = both["log"]["stacks"]
    t.ok(any("!Fire.Throw(int32);" in stack or "!Fire::Throw(int32);" in stack
             for stack in stacks[CLR + "Exception/Start"]), f"who throws: {list(stacks[CLR + 'Exception/Start'])[:2]}")


def times_between_switches(t, file):
    """(milliseconds, how often) a thread that left its CPU came back, by process; how often also counts those seen to come alone."""
    left, times = {}, collections.defaultdict(lambda: [0, 0])
    for switch in t.events(file, "switch"):
        if switch["in_pid"] is not None:
            taken = switch["time_ns"] - left.pop(switch["in_tid"], switch["time_ns"])
            times[switch["in_pid"]] = [sum(pair) for pair in zip(times[switch["in_pid"]], (taken / 1e6, 1))]
        if switch["tid"]:
            left[switch["tid"]] = switch["time_ns"]
    return times


def test_automated_analysis_has_the_times_of_the_switches(t):
    """TraceEvent's own analysis computes the times of threads, and an analyzer finds where they waited."""
    file = t.path("starved.tapir")
    shutil.copy(CORPUS / "dotnet-pool-starved.tapir", file)
    said = opened(t, file, "analysis")["analysis"]
    pid, = (row["pid"] for row in t.report(file)["processes"])
    (title, text), = said["issues"][str(pid)]
    ms, cnt = re.fullmatch(r"(.*) ms in (\d+)", text).groups()
    want_ms, want_cnt = times_between_switches(t, file)[pid]
    t.eq(int(cnt), want_cnt, "times")
    t.ok(abs(float(ms) - want_ms) <= 0.001 * want_cnt, f"{ms} ms by TraceEvent, {want_ms} by the switches")
    t.ok(re.search(r"Defects::HandleOrder|<Starve>", title), f"where: {title}")
    t.ok(title in said["html"].replace("&lt;", "<") and said["executed"] == 1, f"its report: {said}")


def test_many_segments_keep_their_names(t):
    file = t.path("made.tapir")
    t.eq(t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 20000, "--events", 20000, "--stacks", 300).rc, 0,
         "make_trace")
    both = opened(t, file, "stream", "log")
    t.eq((both["stream"]["counts"]["Universal.Events:cpu"], both["stream"]["counts"]["hotspot:gc__begin"]),
         (sum(sampled_ms(t.events(file, "sample")).values()), 20000), "records: a sample a millisecond, whatever their period is")
    t.eq(both["stream"]["lost"], 12, "lost")
    stacks = both["log"]["stacks"]["Universal.Events:cpu"]
    names = {}
    for stack, cnt in stacks.items():
        name = ";".join(frame.split("!", 1)[1] for frame in reversed(stack.split(";")))
        names[name] = names.get(name, 0) + cnt
    lines = [line.rsplit(" ", 1) for line in t.tapir("export", "--format", "folded", file).out.splitlines()]
    ours = {stack.split(";", 1)[1]: int(cnt) for stack, cnt in lines if "+0x" not in stack}
    t.ok(sum(ours.values()) > 10000, "most stacks are all named")
    t.eq([(stack, cnt, names.get(stack, 0)) for stack, cnt in ours.items() if names.get(stack, 0) < cnt][:2], [],
         "stacks that TraceEvent has fewer of")
    t.ok(any(stack.startswith("[kernel]!sys_kernel_3;[kernel]!sys_kernel_1;")
             for stack in stacks), "kernel frames stand before the others")


def test_cut_recording_gives_a_whole_export(t):
    file = made(t)
    with open(file, "rb") as whole:
        data = whole.read()
    with open(file, "wb") as cut:
        cut.write(data[:-40])  # into the END chunk
    out = t.path("pantry.nettrace")
    result = t.tapir("export", "--format", "nettrace", file, "-o", out, expect=None)
    t.ok("is incomplete" in result.err or "is damaged" in result.err, f"it is said: {result.err}")
    stream = json.loads(t.run(build_reader(t), out, "stream", timeout=120).out)["stream"]
    t.eq(stream["counts"]["Universal.Events:cpu"], 200, "samples")


def test_no_half_output_is_under_its_name(t):
    file, out = t.path("made.tapir"), t.path("out.nettrace")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 2000000, "--stacks", 20000, timeout=120)
    with open(out, "w") as old:
        old.write("what was there")
    tapir = t.start_tapir("export", "--format", "nettrace", file, "-f", "-o", out)
    deadline = time.monotonic() + 20 * PATIENCE
    while not any(".part-" in name for name in os.listdir(t.tmp)):
        t.ok(time.monotonic() < deadline and tapir.child.poll() is None, "it has begun")
        time.sleep(0.01)
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.eq(result.rc, 1, "exit code")
    t.eq(result.err, f"tapir: interrupted: {out} was not written\n", "one line")
    with open(out) as old:
        t.eq(old.read(), "what was there", "what stands under the name")
    t.eq([name for name in os.listdir(t.tmp) if ".part-" in name], [], "rests")


def test_full_disk_is_reported(t):
    result = t.tapir("export", "--format", "nettrace", made(t), "-o", "/dev/full", expect=1)
    t.eq(result.err, "tapir: cannot write /dev/full: No space left on device\n", "one line")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([t.tapir_path, "export", "--format", "nettrace", made(t)], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=30, check=False)
    t.eq((done.returncode, done.stderr), (1, "tapir: cannot write to standard output: No space left on device\n"), "exit, one line")
    result = t.tapir("export", "--format", "nettrace", made(t), "-o", t.path("no/such/out"), expect=1)
    t.ok("its directory does not exist" in result.err, result.err)
    file = made(t)
    t.tapir("export", "--format", "nettrace", file, "-o", file, expect=2)


def functions_of(t, program):
    """(start, end, name) of each function, as linked."""
    lines = [line.split() for line in t.run(t.need("nm"), "-S", program).out.splitlines()]
    return [(int(at, 16), int(at, 16) + int(size, 16), name) for at, size, kind, name in
            (line for line in lines if len(line) == 4) if kind in "tT"]


def names_by_nm(t, program, segment, mapping, addresses):
    """{address in the process: function}, by nm and the program header alone."""
    (offset, linked), functions = segment, functions_of(t, program)
    found = {}
    for va in addresses:
        at = va - mapping["start"] + mapping["offset"] - offset + linked
        found[va] = next((name for start, end, name in functions if start <= at < end), None)
    return found


def test_names_are_looked_up_where_the_file_says(t):
    """In files whose segments are elsewhere in memory than in the file, as those of lld and of programs that are not
    relocatable. The recorder had no names: it saw the file without its symbols. TraceEvent finds them in a folder of symbol
    files, by build ID, as PerfView's users keep one."""
    gcc, objcopy, readelf = t.need("gcc", "objcopy", "readelf")
    source, program, whole = "tests/e2e/targets/burner.c", t.path("shifted"), t.path("whole")
    for flags in (("-pie", "-fPIE", "-Wl,-Ttext-segment=0x2a0000"), ("-no-pie", "-fno-pie")):
        built = t.run(gcc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fno-omit-frame-pointer", "-fno-inline", "-Iinclude", "-pthread",
                      "-Wl,--build-id", *flags, source, "-o", whole)
        t.eq(built.rc, 0, built.err)
        code = next(line.split() for line in t.run(readelf, "-lW", whole).out.splitlines()
                    if line.split()[:1] == ["LOAD"] and " R E " in line)
        segment = (int(code[1], 16), int(code[2], 16))
        t.ok(segment[0] != segment[1], f"its code is elsewhere than in the file: {code}")
        t.eq(t.run(objcopy, "--strip-all", whole, program).rc, 0, "objcopy")
        file, folder = t.path("shifted.tapir"), t.path("symbols")
        t.tapir("record", "-F", 499, "-f", "-o", file, "--", program, 300, 1)
        mapping = next(m for m in t.events(file, "mapping") if m["path"] == program)
        debug = os.path.join(folder, "_.debug", f"elf-buildid-sym-{mapping['build_id']}", "_.debug")
        os.makedirs(os.path.dirname(debug))
        t.eq(t.run(objcopy, "--only-keep-debug", whole, debug).rc, 0, "objcopy")
        out = export(t, file, "-f")
        result = t.run(build_reader(t), out, f"elf={folder}", timeout=120)
        t.eq(result.rc, 0, result.err[-1000:])
        elf = json.loads(result.out)["elf"]
        found = {int(va): name.split("!")[1] for va, name in elf["names"].items() if name.startswith("shifted!")}
        sampled = {frame["addr"] for sample in t.events(file, "sample") for frame in sample.get("stack") or []
                   if frame.get("module") == program}
        t.ok({"burn_much", "burn_little"} <= set(found.values()), f"functions that TraceEvent found: {found} {elf['said']}")
        # Return addresses are reported as the call, a byte before.
        named = {va: name for va, name in found.items() if va in sampled or va + 1 in sampled}
        t.eq(named, names_by_nm(t, whole, segment, mapping, named), "each address's function, as nm has it")
        t.ok(len(named) >= 5, f"known addresses: {named}")
        for suffix in (".nettrace", ".nettrace.etlx"):
            os.unlink(t.path("shifted" + suffix))
