# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of .NET processes that nobody prepared, with the process itself as the witness: it says
how many events it fired, exceptions it threw, locks it waited for and collections it had. It must be
as it was afterwards.

The program is tests/e2e/programs/Fire.cs.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import threading
import time

from dotnet_fire import DEMO, END, RUNTIME, count, counts_of_the_runtime, ends_as_always, exact, fire_now, record, start, stop
from dotnet_program import build_dotnet
from harness import EVENTS_ONLY, PATIENCE, READY, maps_of_us

CHECK_DOTNET = {"test_events_of_four_threads_are_captured_or_counted"}
NOBODY = "65534"
TIMEOUT = 180


def traces_of_us(pid):
    """Maps, files and threads of tapir that a process has."""
    base = pathlib.Path(f"/proc/{pid}")
    found = {file for _, file in maps_of_us(pid)}
    for fd in os.listdir(base / "fd"):
        try:
            link = os.readlink(base / "fd" / fd)
        except FileNotFoundError:
            continue
        if "tapir" in os.path.basename(link):
            found.add(link)
    for task in os.listdir(base / "task"):
        try:
            comm = (base / "task" / task / "comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        if "tapir" in comm:
            found.add(comm)
    return found | {file for file in library_files(base / "root") if os.path.basename(file) not in OLDER}


def library_files(root):
    places = [root / d for d in ("dev/shm", "tmp", "var/tmp", "run")]
    return {str(f) for d in places if d.is_dir() for f in d.glob("libtapir-coreclr-*")}


OLDER = {os.path.basename(file) for file in library_files(pathlib.Path("/"))}  # left by other tapirs


def threads_of(pid):
    """Each thread's name, state and system call: what keeps the library there."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            stat, call = (task / "stat").read_text(), (task / "syscall").read_text()
        except OSError:  # it has ended
            continue
        found.append(f"{stat[stat.index('(') + 1:stat.rindex(')') + 3]} {call.split()[0]}")
    return found


def nothing_is_left(t, pid):
    """The library leaves by itself: 1.3 s after its tracer, 11.3 s when that never opened its session (usdt/coreclr/README.md). Files of
    other tests, with other names, come and go meanwhile."""
    left, end = traces_of_us(pid), time.monotonic() + 30 * PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= traces_of_us(pid)
    t.eq(left, set(), f"what is left in process {pid}, whose threads are {threads_of(pid) if left else ''}")


def test_events_of_one_thread_are_captured_or_counted(t):
    exact(t, 1, 20000, 0.5)


def test_events_of_four_threads_are_captured_or_counted(t):
    exact(t, 4, 8000, 0.5)


def test_counts_of_the_runtime_are_the_programs(t):
    counts_of_the_runtime(t)


def test_single_events_are_named_and_others_left_out(t):
    fire = start(t, "exceptions=10", "gcs=9", "events=200")
    tapir = record(t, fire.pid, f"{RUNTIME}:GCEnd", f"{DEMO}:StockLow")
    did = fire_now(fire)
    seen, _, _ = stop(t, tapir)
    t.eq({e["event"] for e in seen}, {"GCEnd", "StockLow"}, "events")
    t.eq((count(seen, RUNTIME, "GCEnd"), count(seen, DEMO, "StockLow")), (did["gcs"][0], did["lows"]), "counts")
    ends_as_always(t, fire)


def test_keywords_and_level_of_an_event_source_choose(t):
    fire = start(t, "events=200")
    tapir = record(t, fire.pid, f"{DEMO}:0x3:Informational")
    fire_now(fire)
    seen, _, _ = stop(t, tapir)
    t.eq({e["event"] for e in seen}, {"OrderPlaced"}, "up to Informational")
    ends_as_always(t, fire)


def test_glob_finds_a_source_that_is_made_later(t):
    fire = start(t, "events=5000", "pace=1000")
    tapir = record(t, fire.pid, "MyComp*")
    did = fire_now(fire)
    seen, _, _ = stop(t, tapir)
    got = count(seen, DEMO, "OrderPlaced")
    t.ok(0.3 * did["orders"] <= got <= did["orders"], f"{got} of {did['orders']}")
    ends_as_always(t, fire)


def test_names_of_keywords_of_an_event_source_are_known(t):
    fire = start(t, "events=2000")
    tapir = record(t, fire.pid, "MyComp*:kw=Stock")
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq({e["event"] for e in seen}, {"StockLow"}, "events")
    t.eq(len(seen) + lost, did["lows"], "from the first on, of a source that was not made yet")
    wrong = t.tapir("record", f"{DEMO}:kw=Stok", "-p", fire.pid, expect=2)
    t.ok("the nearest is 'Stock'" in wrong.err, wrong.err)
    ends_as_always(t, fire)


def test_list_shows_providers_keywords_and_events(t):
    fire = start(t)
    result = t.tapir("list", "-p", fire.pid)
    t.ok(re.search(rf"process {fire.pid} runs \.NET \d+\.\d+\.\d+, CoreCLR", result.err), result.err)
    rows = {line.split()[0]: line.split()[1:] for line in re.sub(r"\n {20,}", " ", result.out).splitlines() if line.split()}
    tables = result.out.split("\n\n")
    t.ok(max(map(len, next(table for table in tables if RUNTIME in table).splitlines())) <= 100, "its lines are wrapped")
    t.eq(rows.get(DEMO), ["2", "Orders", "Stock"], "the program's own")
    t.ok({"GC", "Exception", "Contention"} <= set(rows.get(RUNTIME, [])), rows.get(RUNTIME))
    t.ok("System.Threading.Tasks.TplEventSource" in rows, "of the framework's libraries")
    events = [line.split() for line in t.tapir("list", "-p", fire.pid, "MyCompany-*").out.splitlines()][1:]
    t.eq(events, [[DEMO, "OrderPlaced", "1", "4", "Orders"], [DEMO, "StockLow", "2", "5", "Stock"]], "events")
    near = t.tapir("list", "-p", fire.pid, f"{DEMO}:OrderPlacd", expect=1)
    t.ok(f"the nearest is '{DEMO}:OrderPlaced'" in near.err, near.err)
    listed = [p for p in t.tapir("list", "-p", fire.pid, DEMO, "--json").json_lines() if p["provider"] == DEMO]
    t.eq(listed[0]["keywords"], {"Orders": 1, "Stock": 2}, "as JSON")
    fire_now(fire)
    ends_as_always(t, fire)


def test_stack_leads_to_the_caller(t):
    fire = start(t, "events=500", "pace=100")
    tapir = record(t, fire.pid, DEMO, options=())
    fire_now(fire)
    seen, _, _ = stop(t, tapir)
    orders = [e for e in seen if e["event"] == "OrderPlaced"]
    named = [e for e in orders if any("Fire.Place(int, int, int)" in (f["name"] or "") for f in e["stack"])]
    t.ok(len(named) >= 0.99 * len(orders) > 0, f"{len(named)} of {len(orders)} stacks have Place")
    ends_as_always(t, fire)


def test_thread_of_the_library_has_named_functions(t):
    fire = start(t, "events=500", "pace=100")
    tapir = record(t, fire.pid, DEMO, options=())
    found = json.loads(t.tapir("stacks", "-p", fire.pid, "--threads", "tapir", "--json").out)
    names = [frame["function"] for group in found["groups"] for frame in group["frames"] if frame["kind"] != "kernel"]
    fire_now(fire)
    stop(t, tapir)
    t.eq(names[-3:], ["run_control_thread", "start_thread", "clone3"], "where its thread begins")
    t.eq([name for name in names if name.startswith("libtapir-coreclr")], [], "functions without a name")
    ends_as_always(t, fire)


def test_trace_has_names_and_times_from_its_first_line_on(t):
    fire = start(t, "events=2000", "pace=1000")
    fire.go()
    lines = t.tapir("trace", f"{DEMO}:OrderPlaced", "-p", fire.pid, "-d", 0.3).out.splitlines()
    times = [float(line.split()[0]) for line in lines if f"{DEMO}:" in line]
    t.ok(times and times == sorted(times) and times[0] >= 0, f"{len(times)} times from {times[:1]} on")
    t.eq([line for line in lines if "[jit]+0x" in line or ".dll+0x" in line][:3], [], "frames without a name")
    fire.wait_line("{")
    ends_as_always(t, fire)


def test_nothing_is_left_behind(t):
    fire = start(t, "events=1000")
    before = len(os.listdir(f"/proc/{fire.pid}/task")), len(os.listdir(f"/proc/{fire.pid}/fd"))
    tapir = record(t, fire.pid, DEMO)
    t.ok(any("coreclr" in name or "memfd" in name for name in traces_of_us(fire.pid)), "it was there")
    stop(t, tapir)
    nothing_is_left(t, fire.pid)
    after = len(os.listdir(f"/proc/{fire.pid}/task")), len(os.listdir(f"/proc/{fire.pid}/fd"))
    t.ok(after[0] <= before[0] + 1 and after[1] <= before[1] + 2, f"threads and files {before} -> {after}")
    fire_now(fire)
    ends_as_always(t, fire)


def test_killed_tapir_leaves_nothing(t):
    fire = start(t, "events=1000")
    tapir = record(t, fire.pid, DEMO)
    tapir.signal(signal.SIGKILL)
    tapir.wait()
    nothing_is_left(t, fire.pid)
    fire_now(fire)
    ends_as_always(t, fire)


def stopped_in_mid_attach(t, fire, place):
    """A tapir that has placed the library's file for a process that is stopped and cannot load it yet."""
    for _ in range(20):
        tapir = t.start_tapir("record", DEMO, *EVENTS_ONLY, "-p", fire.pid, "-f", "-o", t.path("trace.tapir"))
        end = time.monotonic() + 10 * PATIENCE
        # Once it has attached, the file has come and gone unseen.
        while not os.listdir(place) and not any(READY in line for line in tapir.err) and time.monotonic() < end:
            pass
        fire.signal(signal.SIGSTOP)
        if os.listdir(place):
            return tapir
        fire.signal(signal.SIGCONT)  # the library was loaded in the meantime
        tapir.signal(signal.SIGINT)
        tapir.wait()
    t.ok(False, "the file was not seen")


def test_file_of_the_library_is_gone_when_tapir_is_killed_while_it_is_loaded(t):
    fire = in_namespace(t, "mount -t tmpfs -o mode=1777 x /dev/shm", "events=1000")
    place = f"/proc/{fire.pid}/root/dev/shm"
    for number in signal.SIGKILL, signal.SIGINT:
        tapir = stopped_in_mid_attach(t, fire, place)
        tapir.signal(number)
        tapir.wait()
        end = time.monotonic() + 5 * PATIENCE
        while os.listdir(place) and time.monotonic() < end:
            time.sleep(0.02)
        t.eq(os.listdir(place), [], f"what is left after signal {number}")
        fire.signal(signal.SIGCONT)
    nothing_is_left(t, fire.pid)
    fire_now(fire)
    ends_as_always(t, fire)


def test_several_recordings_at_once_get_their_own(t):
    fire = start(t, "events=5000", "exceptions=50")
    tapirs = [record(t, fire.pid, spec, file=f"{i}.tapir") for i, spec in
              enumerate((DEMO, f"{DEMO}:StockLow", f"{RUNTIME}:Exception:Error"))]
    did = fire_now(fire)
    results = [stop(t, tapir, f"{i}.tapir") for i, tapir in enumerate(tapirs)]
    both, lows, thrown = (r[0] for r in results)
    t.eq(len(both) + results[0][1], did["orders"] + did["lows"], "the first")
    t.eq(len(lows), did["lows"], "the second")
    t.eq(len(thrown), did["exceptions"], "the third")
    nothing_is_left(t, fire.pid)
    ends_as_always(t, fire)


def from_the_start(t, *command):
    """A program that fires as fast as it can from its start: (what it prints that it did, the events)."""
    file = t.path("trace.tapir")
    result = t.tapir("record", DEMO, f"{RUNTIME}:Loader,Exception:Informational", *EVENTS_ONLY, "-f", "-o", file,
                     "--", *command, "threads=2", "events=5000", "exceptions=20", "now", expect=END)
    t.ok(f"exited with status {END}" in result.err, result.err)
    lines = result.out.splitlines()
    t.eq((len(lines), lines[2]), (3, "over"), "its output")
    return json.loads(lines[1]), t.events(file), int(lines[0].split()[1])


def all_came(t, did, seen):
    t.eq(count(seen, DEMO, "OrderPlaced"), did["orders"], "orders, from the first on")
    t.eq(count(seen, DEMO, "StockLow"), did["lows"], "lows")
    t.eq(count(seen, RUNTIME, "ExceptionThrown"), did["exceptions"], "exceptions")
    t.ok(count(seen, RUNTIME, "AssemblyLoad") >= 3, "its first assemblies")


def test_program_is_recorded_from_its_start(t):
    did, seen, _ = from_the_start(t, build_dotnet(t, "Fire"))
    all_came(t, did, seen)


def test_child_of_a_program_is_recorded_from_its_start(t):
    dotnet, path = t.need("dotnet"), build_dotnet(t, "Fire")
    did, seen, pid = from_the_start(t, "sh", "-c", '"$@"; exit $?', "sh", dotnet, path + ".dll")
    all_came(t, did, [e for e in seen if e["pid"] == pid])


def test_processes_of_a_name_are_attached_to_now_and_later(t):
    path, file = build_dotnet(t, "Fire"), t.path("trace.tapir")
    name = "Fire" + str(os.getpid() % 10000)
    home = t.path("home")
    shutil.copytree(os.path.dirname(path), home)
    os.rename(os.path.join(home, "Fire"), os.path.join(home, name))
    fires = [start(t, "events=1000", path=os.path.join(home, name))]
    tapir = t.start_tapir("record", DEMO, *EVENTS_ONLY, "--comm", name, "-f", "-o", file)
    t.ok(tapir.wait_ready().startswith("tapir: .NET events"), "those there are entered at once: "
         "who maps our library is held until tapir has looked at it, and tapir waits for who is held")
    fires += [start(t, "events=1000", path=os.path.join(home, name)) for _ in range(2)]
    time.sleep(2)
    did = [fire_now(fire) for fire in fires]
    seen, lost, _ = stop(t, tapir)
    for fire, told in zip(fires, did):
        got = sum(e["pid"] == fire.pid and e["event"] == "OrderPlaced" for e in seen)
        t.eq(got + lost, told["orders"], f"of process {fire.pid}")
        ends_as_always(t, fire)


# ---- without root -----------------------------------------------------------------------------------------


def as_nobody(t):
    """What runs a program as a user without any capability, and a directory with Fire and tapir for it."""
    t.need_others()
    setpriv, home = t.need("setpriv"), t.path("home")
    shutil.copytree(os.path.dirname(build_dotnet(t, "Fire")), home)
    shutil.copy(t.tapir_path, home)
    os.chown(home, int(NOBODY), int(NOBODY))
    os.chmod(t.tmp, 0o755)
    return (setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all"), home


def record_as_nobody(t, user, home, fire, *specs):
    tapir = t.start(*user, os.path.join(home, "tapir"), "record", *specs, "-p", fire.pid, "-f", "-o",
                    os.path.join(home, "trace.tapir"))
    tapir.wait_ready(".NET events")
    return tapir


def test_own_process_is_recorded_without_a_capability(t):
    user, home = as_nobody(t)
    fire = start(t, "threads=2", "events=5000", "gcs=12", before=user, path=os.path.join(home, "Fire"))
    tapir = record_as_nobody(t, user, home, fire, DEMO, f"{RUNTIME}:GC:Informational")
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir, "home/trace.tapir")
    t.eq((lost, count(seen, DEMO, "OrderPlaced"), count(seen, RUNTIME, "GCStart")), (0, did["orders"], did["gcs"][0]), "counts")
    named = [e for e in seen if any("Place(" in (f["name"] or "") for f in e.get("stack") or [])]
    t.ok(len(named) >= 0.99 * did["orders"], f"{len(named)} stacks have Place")
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2:
        samples = t.events(t.path("home/trace.tapir"), "sample")
        t.ok(samples and {s["pid"] for s in samples} == {fire.pid}, f"{len(samples)} samples")
    doctor = t.run(*user, os.path.join(home, "tapir"), "doctor", "-p", fire.pid)
    t.eq(doctor.rc, 0, doctor.out + doctor.err)
    t.ok("ring lane" in doctor.out and "cap_bpf" in doctor.out, doctor.out)
    t.ok("loaded during recording  events of" in doctor.out, f"columns are apart: {doctor.out}")
    nothing_is_left(t, fire.pid)
    ends_as_always(t, fire)


def test_program_is_recorded_from_its_start_without_a_capability(t):
    user, home = as_nobody(t)
    result = t.run(*user, "env", f"XDG_RUNTIME_DIR={t.runtime_dir(int(NOBODY))}", os.path.join(home, "tapir"), "record", DEMO, "-f",
                   "-o", os.path.join(home, "trace.tapir"), "--", os.path.join(home, "Fire"), "events=2000", "now", timeout=60)
    t.ok(f"exited with status {END}" in result.err, result.err)
    t.eq(count(t.events(os.path.join(home, "trace.tapir")), DEMO, "OrderPlaced"), 2000, "orders")


def test_what_needs_more_than_ones_own_ends_with_3(t):
    user, home = as_nobody(t)
    tapir, file = os.path.join(home, "tapir"), os.path.join(home, "trace.tapir")
    other = start(t)
    for args in (("-a", "-d", 1), ("--comm", "Fire", "-d", 1), ("-p", other.pid, "--lane", "probe", "-d", 1)):
        result = t.run(*user, tapir, "record", DEMO, *args, "-f", "-o", file)
        t.eq(result.rc, 3, f"{args}: {result.err}")
        t.ok("CAP_BPF" in result.err, result.err)
    result = t.run(*user, tapir, "record", DEMO, "-p", other.pid, "-d", 1, "-f", "-o", file)
    t.ok(result.rc in (1, 3), f"another's process: {result.rc} {result.err}")
    nothing_is_left(t, other.pid)


def test_machine_is_entered_only_where_a_source_is_declared(t):
    """With -a, a source that tapir does not know is searched in the assemblies that processes map."""
    go, file = pathlib.Path(t.path("go")), t.path("trace.tapir")
    program = t.start(build_dotnet(t, "Declared"), go)
    program.wait_line("pid ")
    tapir = t.start_tapir("record", "Tapir-Undeclared", "-a", *EVENTS_ONLY, "-f", "-o", file)
    said = tapir.wait_ready("waiting for processes with these probes")
    t.eq(traces_of_us(program.pid), set(), "what is in the process")
    tapir.signal(signal.SIGINT)
    said += tapir.wait().err
    t.ok("declares an event source, that was requested: waiting for one" in said and "not entered)" in said, said)
    t.ok("Tapir-Undeclared: no process has such a probe, or declares such an event source" in said, said)
    tapir = t.start_tapir("record", "Tapir-Declared", "-a", *EVENTS_ONLY, "-f", "-o", file)
    tapir.wait_ready(".NET events")
    go.touch()
    t.eq(json.loads(program.wait_line("{"))["fired"], 100, "fired")
    seen, lost, _ = stop(t, tapir)
    t.eq((count(seen, "Tapir-Declared", "Happened"), lost), (100, 0), "captured and lost")
    go.unlink()
    t.eq(program.wait().rc, 0, "exit of the program")


# ---- what goes wrong -------------------------------------------------------------------------------------


def test_stopped_process_holds_nothing_up_and_is_attached_to_later(t):
    fire = start(t, "events=500")
    fire.stop()
    nothing = t.tapir("record", DEMO, "-p", fire.pid, "-d", 0.1, "-o", t.path("nothing.tapir"), expect=None)
    t.ok(nothing.rc == 1 and f"no event matched {DEMO}: the .NET process does not answer" in nothing.err, nothing.err)
    tapir = t.start_tapir("record", DEMO, "-p", fire.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready(timeout=8)
    line = tapir.wait_line("tapir: warning: process", timeout=4)
    t.ok(".NET events are not recorded yet" in line and "it is stopped (kill -CONT" in line, line)
    fire.signal(signal.SIGCONT)
    time.sleep(2)
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq(count(seen, DEMO, "OrderPlaced") + lost, did["orders"], "orders")
    ends_as_always(t, fire)


def test_stopped_while_recorded_lets_tapir_go(t):
    fire = start(t, "events=10")
    tapir = record(t, fire.pid, DEMO)
    fire.stop()
    stop(t, tapir)
    fire.signal(signal.SIGCONT)
    nothing_is_left(t, fire.pid)
    fire_now(fire)
    ends_as_always(t, fire)


def test_process_that_ends_at_any_moment_of_the_attach(t):
    path = build_dotnet(t, "Fire")
    for wait_ms in (0, 20, 40, 60, 80, 120, 200):
        fire = t.start(path, "events=1", env=dict(os.environ))
        tapir = t.start_tapir("record", DEMO, "-p", fire.pid, "-f", "-o", t.path("trace.tapir"))
        time.sleep(wait_ms / 1000)
        fire.kill()
        result, took = tapir.wait_timed(20)
        t.ok(result.rc in (0, 1), f"exit {result.rc}")
        t.ok(took < 8, f"it ends: {took:.1f} s")


def test_wrong_names_are_usage_errors(t):
    t.ok("the nearest is 'GCStart'" in t.tapir("record", f"{RUNTIME}:GCStrat", "-p", os.getpid(), expect=2).err, "hint")
    t.ok("is not one of default, gc" in t.tapir("record", "--profile", "x", "-p", os.getpid(), expect=2).err, "profile")


def test_process_that_is_no_dotnet_is_left_alone(t):
    sleeper = t.start("sleep", "60")
    result = t.tapir("record", DEMO, "-p", sleeper.pid, "-d", 1, "-f", "-o", t.path("trace.tapir"), expect=1)
    t.ok("USDT" in result.err, result.err)
    nothing_is_left(t, sleeper.pid)


def test_misspelt_source_or_event_has_a_near_miss(t):
    fire, file = start(t, "events=2500", "pace=1000"), t.path("trace.tapir")
    fire.go()
    result = t.tapir("record", "MyComp*:StokLow", *EVENTS_ONLY, "-p", fire.pid, "-d", 0.2, "-f", "-o", file, expect=1)
    t.eq(re.findall(r"the nearest is (\S*)", result.err), [f"{DEMO}:StockLow"] * 2, "at the start and at the end")
    t.ok("tapir: no event matched MyComp*:StokLow: " in result.err, result.err)
    both = t.tapir("record", "MyCompany-Demmo", DEMO, *EVENTS_ONLY, "-p", fire.pid, "-d", 0.2, "-f", "-o", file)
    t.ok("warning: no event matched MyCompany-Demmo: the nearest is" in both.err, "one of two is no failure: " + both.err)
    result = t.tapir("record", DEMO, "--lane", "probe", "-p", fire.pid, "-f", "-o", file, expect=1)
    t.ok(f"no probe matches {DEMO}: .NET events require --lane auto" in result.err, result.err)
    fire.wait_line("{")
    ends_as_always(t, fire)


def test_diagnostics_off_leaves_samples_and_a_reason(t):
    fire = start(t, env={"DOTNET_EnableDiagnostics": "0"})
    result = t.tapir("record", "-p", fire.pid, "-d", 1, "-f", "-o", t.path("trace.tapir"))
    doctor = t.tapir("doctor", "-p", fire.pid).out
    t.ok("none: the socket does not answer" in doctor and "EnableDiagnostics=0" in doctor, doctor)
    t.ok(".NET events are not recorded" in result.err and "DOTNET_EnableDiagnostics=0" in result.err, result.err)
    # A profile was named, so a file without its events would not be an answer.
    result = t.tapir("record", "--profile", "gc", "-p", fire.pid, "-d", 1, "-o", t.path("gc.tapir"), expect=3)
    t.ok("no event of the profile can be recorded" in result.err and "DOTNET_EnableDiagnostics=0" in result.err, result.err)
    t.ok(not os.path.exists(t.path("gc.tapir")), "no empty file")
    fire_now(fire)
    ends_as_always(t, fire)


def test_process_without_spare_descriptors_is_not_entered(t):
    """The runtime aborts when it runs out of them while it loads a profiler."""
    fire = start(t)
    limits = resource.prlimit(fire.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(fire.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{fire.pid}/fd")) + 8, limits[1]))
    result = t.tapir("record", DEMO, *EVENTS_ONLY, "-p", fire.pid, "-d", 1, "-f", "-o", t.path("trace.tapir"), expect=None)
    t.ok("fewer than 16 file descriptors left" in result.err, result.err)
    nothing_is_left(t, fire.pid)
    resource.prlimit(fire.pid, resource.RLIMIT_NOFILE, limits)
    fire_now(fire)
    ends_as_always(t, fire)


# ---- where the library is placed ---------------------------------------------------------------------------


def in_namespace(t, script, *args):
    """Fire in a mount namespace of its own, prepared by a shell script."""
    unshare = t.need("unshare")
    outer = start(t, *args, before=(unshare, "--mount", "sh", "-c", f'{script}; exec "$@"', "sh"))
    return outer


def records_events(t, fire):
    tapir = record(t, fire.pid, DEMO)
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq(count(seen, DEMO, "OrderPlaced") + lost, did["orders"], "orders")
    nothing_is_left(t, fire.pid)
    ends_as_always(t, fire)


def test_noexec_directories_are_passed_by(t):
    records_events(t, in_namespace(t, "mount -t tmpfs -o noexec,mode=1777 x /dev/shm", "events=500"))


def test_read_only_root_with_one_tmpfs_is_enough(t):
    script = ("for d in /dev/shm /var/tmp /run; do mount -t tmpfs -o ro x $d; done; "
              "mount --bind / /mnt && mount -o remount,bind,ro /mnt; true")
    records_events(t, in_namespace(t, script, "events=500"))


def test_no_directory_at_all_is_reported_and_the_stream_is_taken(t):
    build = os.path.abspath(t.build)  # may be below one of these directories: it stays executable
    script = (f"mount --bind {build} /mnt && for d in /dev/shm /var/tmp /run; do mount -t tmpfs -o noexec x $d; done; "
              f"mount --rbind /tmp /tmp && mount -o remount,bind,noexec /tmp; mkdir -p {build} && mount --bind /mnt {build}")
    fire = in_namespace(t, script, "events=500")
    tapir = record(t, fire.pid, DEMO)
    did = fire_now(fire)
    seen, lost, result = stop(t, tapir)
    t.ok("no directory can hold the library" in result.err and "noexec" in result.err, result.err)
    t.ok("come from the runtime's stream" in result.err, result.err)
    t.eq(count(seen, DEMO, "OrderPlaced") + lost, did["orders"], "orders, by the stream")
    ends_as_always(t, fire)


def test_full_disk_is_passed_by(t):
    script = "mount -t tmpfs -o size=4k,mode=1777 x /dev/shm"
    records_events(t, in_namespace(t, script, "events=500"))


def test_directory_that_others_may_change_is_passed_by(t):
    script = "mount -t tmpfs -o mode=0777 x /dev/shm"
    records_events(t, in_namespace(t, script, "events=500"))


def test_process_of_another_user(t):
    t.need_others()
    setpriv, home = t.need("setpriv"), t.path("home")
    shutil.copytree(os.path.dirname(build_dotnet(t, "Fire")), home)
    os.chmod(t.tmp, 0o755)
    fire = start(t, "events=500", path=os.path.join(home, "Fire"),
                 before=(setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"))
    records_events(t, fire)


def test_process_in_a_user_namespace(t):
    unshare = t.need("unshare")
    fire = start(t, "events=500", before=(unshare, "--user", "--map-root-user", "--mount"))
    records_events(t, fire)


def test_file_that_is_swapped_harms_nobody(t):
    """A process that renames what appears in its /dev/shm gains nothing; tapir continues."""
    fire = in_namespace(t, "mount -t tmpfs -o mode=1777 x /dev/shm", "events=500")
    place, over = pathlib.Path(f"/proc/{fire.pid}/root/dev/shm"), threading.Event()

    def swap():
        while not over.is_set():
            for file in place.glob("libtapir-coreclr-*"):
                try:
                    file.rename(place / "swapped")
                    file.write_text("no library")
                except OSError:
                    pass

    thread = threading.Thread(target=swap)
    thread.start()
    result = t.tapir("record", DEMO, "-p", fire.pid, "-d", 1, "-f", "-o", t.path("trace.tapir"), expect=None)
    over.set()
    thread.join()
    t.ok(result.rc in (0, 1), result.err)
    fire_now(fire)
    ends_as_always(t, fire)
