# SPDX-License-Identifier: GPL-2.0-or-later
"""No path that a stranger can take over is left in a process: what tapir puts into environments, directories and memory."""
import os
import pathlib
import re
import signal
import stat
import time

import case_dotnet
import case_jvm
import dotnet_fire
from dotnet_fire import DEMO, END
from dotnet_program import build_dotnet
from harness import EVENTS_ONLY, PATIENCE, maps_of_us

TIMEOUT = 240
CHECK_LONG = {"test_perf_map_of_a_jvm_goes_when_tapir_is_killed_before_its_removal",
              "test_events_are_exact_when_the_program_has_taken_all_cheap_keys",
              "test_sources_that_are_created_while_the_library_leaves_harm_nobody"}
CHECK_DOTNET = {"test_names_come_by_the_rundown_where_others_can_replace_a_jitdump"}
PROFILERS, PORTS = "CORECLR_NOTIFICATION_PROFILERS", "DOTNET_DiagnosticPorts"
VARIABLES = {"ring": PROFILERS, "stream": PORTS}


def environment(pid):
    """The environment that a process was started with."""
    text = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def path_in(value):
    """The last path of one of the two variables."""
    return re.split(r"[=,]", re.split(r";(?=.)", value)[-1])[0]


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def below(pid):
    """The process and all below it."""
    return [pid] + [each for child in children(pid) for each in below(child)]


def gone(path, seconds=3):
    end = time.monotonic() + seconds * PATIENCE
    while os.path.lexists(path) and time.monotonic() < end:
        time.sleep(0.01)
    return not os.path.lexists(path)


def start_in_a_shell(t, lane, *options, before=()):
    """tapir, the shell it started, and the .NET program that the shell started."""
    tapir = t.start(*before, t.tapir_path, "record", DEMO, *EVENTS_ONLY, "--lane", lane, *options, "-f", "-o", t.path("trace.tapir"),
                    "--", "sh", "-c", '"$@" & wait', "sh", build_dotnet(t, "Fire"), "events=50")
    fire = int(tapir.wait_line("pid ", timeout=30).split()[1])
    shell = int(pathlib.Path(f"/proc/{fire}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return tapir, shell, fire


def fire_twice(pid):
    """The program does its work, and ends."""
    for _ in range(2):
        time.sleep(0.5)
        os.kill(pid, signal.SIGUSR1)


def test_no_path_below_proc_is_left_in_a_program_or_its_children(t):
    for lane, variable in VARIABLES.items():
        tapir, shell, fire = start_in_a_shell(t, lane)
        tree = below(shell)
        t.ok(fire in tree and len(tree) > 1, f"{fire} in {tree}")
        for pid in tree:
            value = environment(pid).get(variable, "")
            t.ok(value, f"{variable} is set in {pid}")
            t.ok("/proc/" not in value, f"{variable} of {pid}: {value}")
            maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
            t.ok(f"/proc/{tapir.pid}/" not in maps, f"mappings of {pid}")
            t.ok(f"/proc/{tapir.pid}/" not in str(environment(pid)), f"environment of {pid}")
        fire_twice(fire)
        result = tapir.wait()
        t.eq(result.rc, 0, result.err)


def test_directory_belongs_to_root_and_goes_with_tapir(t):
    for lane, variable in VARIABLES.items():
        for how in signal.SIGINT, signal.SIGKILL:
            tapir, _, fire = start_in_a_shell(t, lane)
            path = path_in(environment(fire)[variable])
            home = os.path.dirname(path)
            t.ok(re.fullmatch(r"(/run|/var/lib)/tapir-[0-9a-f]{16}", home), home)
            at, status = os.lstat(home), os.lstat(path)
            t.eq((stat.S_IFMT(at.st_mode), stat.S_IMODE(at.st_mode), at.st_uid), (stat.S_IFDIR, 0o711, 0), home)
            t.eq((stat.S_IMODE(status.st_mode), status.st_uid), (0o444 if lane == "ring" else 0o600, 0), path)
            t.eq(os.listdir(home), [os.path.basename(path)], "what is in it")
            for parent in pathlib.Path(home).parents:
                t.ok(not parent.stat().st_mode & 0o022 and parent.stat().st_uid == 0, f"{parent} is root's alone")
            tapir.signal(how)
            t.ok(gone(home), f"{home} is gone after {how.name}")
            os.kill(fire, signal.SIGKILL)
            tapir.wait()


def guards_of(pid):
    return [child for child in children(pid) if pathlib.Path(f"/proc/{child}/comm").read_text() == "guard\n"]


def test_directory_of_a_tapir_that_was_killed_with_its_guard_goes_with_the_next(t):
    tapir, _, fire = start_in_a_shell(t, "ring")
    home = os.path.dirname(path_in(environment(fire)[PROFILERS]))
    guards = guards_of(tapir.pid)
    t.eq(len(guards), 1, "guards")
    for pid in guards + [tapir.pid]:
        os.kill(pid, signal.SIGKILL)
    os.kill(fire, signal.SIGKILL)
    tapir.wait()
    t.ok(os.path.isdir(home), "nobody was there to remove it")
    alive, _, fire = start_in_a_shell(t, "ring")
    t.ok(gone(home, 0), f"{home} is gone")
    kept = os.path.dirname(path_in(environment(fire)[PROFILERS]))
    t.tapir("record", *EVENTS_ONLY, DEMO, "-f", "-o", t.path("other.tapir"), "--", "true", expect=None)
    t.ok(os.path.isdir(kept), "that of a living one stays")
    alive.signal(signal.SIGINT)
    os.kill(fire, signal.SIGKILL)
    alive.wait()
    t.ok(gone(kept), kept)


def test_directory_goes_at_the_end_though_its_guard_was_killed(t):
    tapir, _, fire = start_in_a_shell(t, "ring")
    home = os.path.dirname(path_in(environment(fire)[PROFILERS]))
    for pid in guards_of(tapir.pid):
        os.kill(pid, signal.SIGKILL)
    fire_twice(fire)
    result = tapir.wait()
    t.eq((result.rc, os.path.exists(home)), (0, False), f"{home}: {result.err}")


def test_program_starts_as_always_when_the_paths_lead_to_nothing(t):
    """What a child sees that is started after tapir has ended."""
    nowhere = "/run/tapir-0123456789abcdef"
    fire = build_dotnet(t, "Fire")
    left = {PROFILERS: f"{nowhere}/libtapir-coreclr-0123456789abcdef.so={{2F8D5B1A-7C46-4E03-9A57-7461706972C1}};",
            "CORECLR_ENABLE_NOTIFICATION_PROFILERS": "1", "TAPIR_CORECLR_KEY": "0123456789abcdef"}, {PORTS: f"{nowhere}/port,nosuspend"}
    seen, took = [], []
    for variables in ({}, *left):
        result, seconds = t.start(fire, "now", "events=5", "gcs=1", env={**os.environ, **variables}).wait_timed()
        took.append(seconds)
        seen.append((result.rc, re.sub(r"pid \d+|\"pauses_ms.*", "", result.out), result.err))
    t.eq(seen[0][0], END, seen[0])
    t.eq(seen[1:], seen[:1] * 2, "status, output and messages")
    t.ok(max(took) < took[0] + 2, f"seconds: {took}")


def first_events(t, *options, before=(), env=None, program=()):
    """(numbers of the events recorded of a program that fires 500 events as soon as it runs, what tapir said)."""
    place = t.path("out")
    os.makedirs(place, exist_ok=True)
    os.chmod(place, 0o777)
    file = os.path.join(place, "trace.tapir")
    result = t.run(*before, t.tapir_path, "record", DEMO, *EVENTS_ONLY, *options, "-f", "-o", file, "--", *program,
                   build_dotnet(t, "Fire"), "now", "events=500", "pace=1000", env=env)
    t.ok("exited with status 7" in result.err, result.err)
    return [int(e["args"]["id"]) for e in t.events(file) if e["event"] == "OrderPlaced"], result.err


LATE = "because tapir attached after its start: "


def test_ordinary_user_needs_a_runtime_directory_of_his_own(t):
    t.need_others()
    t.need("setpriv", "env")
    own, shared = (os.path.dirname(t.runtime_dir(65534)) for _ in range(2))
    os.chmod(shared, 0o1777)
    os.chmod(t.tmp, 0o755)
    for place, why in (own, None), (shared, "other users can write"), (None, "XDG_RUNTIME_DIR is not set"):
        run = place and os.path.join(place, "run")
        user = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR", "HOME=/tmp",
                *([f"XDG_RUNTIME_DIR={run}"] if run else []))
        for lane in VARIABLES:
            ids, said = first_events(t, "--lane", lane, before=user)
            t.eq(ids, list(range(ids[0], 500)), "no gap")
            t.ok(LATE + why in said if why == "XDG_RUNTIME_DIR is not set" else LATE in said and why in said
                 if why else LATE not in said, f"{place}, {lane}: {said}")
            if not why and lane == "ring":  # it looks for streams 20 times a second
                t.ok(ids[0] <= 2, f"{lane}: the first event is nr {ids[0]}")
            t.eq(os.listdir(run) if run else [], [], "what is left")
            out = t.run(*user, t.tapir_path, "record", DEMO, *EVENTS_ONLY, "--lane", lane, "-f", "-o", t.path("out") + "/env.tapir",
                        "--", "env").out
            t.eq([name for name in VARIABLES.values() if f"\n{name}=" in "\n" + out], [] if why else [VARIABLES[lane]],
                 f"{place}, {lane}: variables that are set")


def test_program_in_another_mount_namespace_is_recorded(t):
    """With the real /run: from the first event on. With another /run: from the attach on, which is reported."""
    t.need("unshare", "mount")
    ids, said = first_events(t, program=("unshare", "-m"))
    t.ok(ids[0] <= 2 and LATE not in said, f"{ids[0]}: {said}")
    ids, said = first_events(t, program=("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"))
    t.eq(ids, list(range(ids[0], 500)), "no gap")
    t.ok(LATE + "its root directory does not contain tapir's library" in said, said)


def test_program_in_another_root_directory_is_recorded(t):
    t.need("unshare", "mount", "chroot")
    mounts = "mount --rbind / /mnt && mount -t tmpfs none /mnt/run"
    ids, said = first_events(t, before=("unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh"), program=("chroot", "/mnt"))
    t.eq(ids, list(range(ids[0], 500)), "no gap")
    t.ok(LATE + "its root directory does not contain tapir's library" in said, said)


def test_program_that_changes_its_user_loads_the_library(t):
    t.need_others()
    t.need("setpriv")
    ids, said = first_events(t, program=("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"))
    t.ok(ids[0] <= 2 and LATE not in said, f"{ids[0]}: {said}")


def test_library_is_elsewhere_where_run_is_noexec_and_nowhere_where_nothing_takes_it(t):
    t.need("unshare", "mount")
    run = "mount -t tmpfs -o noexec,mode=755 none /run"
    ids, said = first_events(t, before=("unshare", "-m", "sh", "-c", f'{run} && "$@"; n=$?; ls /run /var/lib >&2; exit $n', "sh"))
    t.ok(ids[0] <= 2 and LATE not in said, f"{ids[0]}: {said}")
    t.ok(not re.search(r"tapir-[0-9a-f]{16}", said.split("exited with status")[1]), f"left: {said}")
    ids, said = first_events(t, before=("unshare", "-m", "sh", "-c", f'{run} && mount -t tmpfs -o ro none /var/lib && exec "$@"', "sh"))
    t.eq(ids, list(range(ids[0], 500)), "no gap")
    t.ok(LATE in said and "noexec" in said, said)


# ---- files that a runtime writes because tapir asks ---------------------------------------------------

RACER = """import os, sys
victim, path = sys.argv[1:]
while True:
    try:
        os.symlink(victim, path)
    except FileExistsError:
        pass
    try:
        os.unlink(path)
    except OSError:
        pass
"""


def test_link_race_does_not_redirect_a_jitdump(t):
    """Where the sysctl would not stop it: 2 of 18 recordings overwrote the file before."""
    t.need_others()
    setpriv = t.need("setpriv")
    if pathlib.Path("/proc/sys/fs/protected_symlinks").read_text().strip() != "0":
        t.skip("fs.protected_symlinks is on: the kernel refuses the link")
    victim = t.path("victim")
    pathlib.Path(victim).write_text("a file of root's")
    os.chmod(victim, 0o600)
    os.chmod(t.tmp, 0o755)
    for _ in range(6):
        fire = dotnet_fire.start(t, "events=10")
        racer = t.start(setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c", RACER, victim,
                        f"/tmp/jit-{fire.pid}.dump")
        result = t.tapir("record", "-p", fire.pid, "-d", "0.3", "-f", "-o", t.path("trace.tapir"))
        racer.kill()
        t.eq(pathlib.Path(victim).read_bytes(), b"a file of root's", f"what it was: {result.err}")
        fire.kill()
        left = f"/tmp/jit-{fire.pid}.dump"
        t.ok(not os.path.lexists(left) or os.path.islink(left), f"{left} is of the racer or gone")
        if os.path.islink(left):
            os.unlink(left)


def frames(t, file):
    return [f["name"] or "" for s in t.events(file, "sample") for f in s["stack"]]


def test_names_come_by_the_rundown_where_others_can_replace_a_jitdump(t):
    """A /tmp that is not sticky, where no sysctl protects: nothing is written there."""
    busy = t.start(*case_dotnet.own_tmp(t, "mode=0777"), build_dotnet(t, "Busy"), 60)
    busy.wait_line("pid ", 30)
    time.sleep(1)
    place = f"/proc/{busy.pid}/root/tmp"
    before = os.stat(place).st_mtime_ns
    t.tapir("record", "-p", busy.pid, "-d", "1", "-f", "-o", t.path("trace.tapir"))
    named = [name for name in frames(t, t.path("trace.tapir")) if "Busy" in name]
    t.ok(len(named) > 20, f"{len(named)} frames with names of the program's")
    t.eq(os.stat(place).st_mtime_ns, before, "its /tmp was changed at")
    busy.kill()


def test_perf_map_of_a_jvm_goes_when_tapir_is_killed_before_its_removal(t):
    for java in case_jvm.javas(t):
        killed = 0
        for _ in range(4):
            jvm = case_jvm.start(t, java)
            path = f"/tmp/perf-{jvm.pid}.map"
            tapir = t.start_tapir("record", "-p", jvm.pid, "-f", "-o", t.path("trace.tapir"))
            end = time.monotonic() + 10 * PATIENCE
            while not (os.path.exists(path) and os.stat(path).st_size) and time.monotonic() < end:
                pass
            tapir.signal(signal.SIGKILL)
            killed += os.path.exists(path)
            t.ok(gone(path), f"{path} is gone")
            case_jvm.goes_on(t, jvm, java)
            jvm.kill()
        t.ok(killed, "killed while the map was there")


# ---- the library in the program ------------------------------------------------------------------------

KEYS = """#include <pthread.h>
static void __attribute__((constructor)) take(void)
{
    pthread_key_t key;
    for (int i = 0; i < 40; i++)
        pthread_key_create(&key, 0);
}
"""


def test_events_are_exact_when_the_program_has_taken_all_cheap_keys(t):
    """The library knows its threads by their ids then, and learns of no thread's end."""
    source, library = t.path("keys.c"), t.path("keys.so")
    pathlib.Path(source).write_text(KEYS)
    t.eq(t.run(t.need("gcc"), "-shared", "-fPIC", source, "-o", library).rc, 0, "gcc")
    fire = dotnet_fire.start(t, "threads=6", "events=5000", "exceptions=200", env={"LD_PRELOAD": library})
    tapir = dotnet_fire.record(t, fire.pid, DEMO, f"{dotnet_fire.RUNTIME}:Exception:Error")
    did = dotnet_fire.fire_now(fire)
    seen, lost, _ = dotnet_fire.stop(t, tapir)
    got = [dotnet_fire.count(seen, DEMO, name) for name in ("OrderPlaced", "StockLow")]
    t.eq((got[0] + got[1] + lost, dotnet_fire.count(seen, dotnet_fire.RUNTIME, "ExceptionThrown")),
         (did["orders"] + did["lows"], did["exceptions"]), f"events and exceptions; lost {lost}")
    t.ok(lost < did["orders"] / 10, f"lost {lost}")
    t.ok(leaves(fire.pid), f"left in it: {maps_of_us(fire.pid)}")
    dotnet_fire.ends_as_always(t, fire)


# ---- the library while it leaves -----------------------------------------------------------------------


def test_sources_that_are_created_while_the_library_leaves_harm_nobody(t):
    """The runtime announces each provider to the library, from any thread, also after the session has ended."""
    stop = t.path("stop")
    target = t.start(build_dotnet(t, "Sources"), 3, stop)
    target.wait_line("pid ", 30)
    driver = os.path.join(t.build, "tests", "tools", "coreclr_driver")
    cycles = int(os.environ.get("TAPIR_CYCLES", "6"))
    running = [t.start(driver, target.pid, f"cycles={cycles}", "ms=40", "quiet=1", "Tapir-Made-*", "Tapir-Storm") for _ in range(4)]
    results = [process.wait(timeout=60 + 5 * cycles) for process in running]
    t.eq([r.rc for r in results], [0] * 4, results[-1].err)
    t.eq(maps_of_us(target.pid), [], "mappings of the library")
    pathlib.Path(stop).touch()
    result = target.wait()
    t.eq((result.rc, result.err), (0, ""), "exit of the program")
    said = result.witness()
    t.eq(said["wrong"], 0, result.out)
    t.ok(said["made"] > 10_000, said)


def leaves(pid, seconds=3):
    """The library is gone from a process, within that many seconds where the machine is quiet."""
    end = time.monotonic() + seconds * PATIENCE
    while maps_of_us(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not maps_of_us(pid)


def test_library_leaves_though_a_child_of_a_killed_tapir_lives_on(t):
    """The guard is stopped and the program still runs: neither owns the session."""
    tapir, _, fire = start_in_a_shell(t, "ring")
    guards = guards_of(tapir.pid)
    end = time.monotonic() + 10 * PATIENCE
    while not maps_of_us(fire) and time.monotonic() < end:
        time.sleep(0.02)
    t.ok(guards and maps_of_us(fire), f"guards {guards}, the library is there")
    for pid in guards:
        os.kill(pid, signal.SIGSTOP)
    tapir.signal(signal.SIGKILL)
    t.ok(leaves(fire), f"left in it: {maps_of_us(fire)}")
    for pid in guards:
        os.kill(pid, signal.SIGCONT)
    fire_twice(fire)
    tapir.wait()


def test_links_of_published_probes_go_when_tapir_is_killed(t):
    fire = dotnet_fire.start(t, "events=10")
    tapir = t.start_tapir("record", DEMO, *EVENTS_ONLY, "--publish", "usdt", "-p", fire.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready(".NET events", 20)
    dotnet_fire.fire_now(fire)
    links = f"/run/tapir/{fire.pid}"
    end = time.monotonic() + 5 * PATIENCE
    while not os.path.isdir(links) and time.monotonic() < end:
        time.sleep(0.02)
    t.ok(os.listdir(links), links)
    tapir.signal(signal.SIGKILL)
    t.ok(gone(links, 6), f"left: {links}")
    dotnet_fire.ends_as_always(t, fire)


KILLER = """import os, random, signal, subprocess, sys, time
tapir, file, seed = sys.argv[1], sys.argv[2], sys.argv[3]
random.seed(seed)
for _ in range(40):
    child = subprocess.Popen([tapir, "record", "MyCompany-Demo", "--no-samples", "--no-sched", "-f", "-o", file, "--", "sleep", "0.2"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.35))
    child.kill()
    child.wait()
end = time.monotonic() + 12
while os.listdir("/run") and time.monotonic() < end:
    time.sleep(0.02)
print(sorted(os.listdir("/run")))
"""


def test_a_kill_at_any_moment_leaves_nothing_in_run(t):
    seed = str(time.time_ns())
    result = t.run(t.need("unshare"), "-m", "sh", "-c", 'mount -t tmpfs -o mode=755 none /run && exec "$@"', "sh", "/usr/bin/python3", "-c",
                   KILLER, t.tapir_path, t.path("trace.tapir"), seed, timeout=120)
    t.eq(result.out.strip(), "[]", f"left in /run, seed {seed}: {result.err}")
