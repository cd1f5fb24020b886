# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that tapir starts, and what it starts and opens, is held by ptrace: nothing of it shows.

Witnesses are the programs' own words and exit statuses, their parents, and /proc.
"""
import errno
import os
import pty
import shutil
import signal
import subprocess
import time

from harness import EVENTS_ONLY, PATIENCE, SLOWNESS, args_of, named

CHECK_LONG = {"test_nobody_stays_stopped_when_the_control_ring_is_full"}
ROUNDS = int(os.environ.get("TAPIR_SOAK_ROUNDS", "0"))  # make soak: 50
TIMEOUT = 600 if ROUNDS else 120


def state_of(pid):
    """The letter of /proc/PID/stat; None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            return comm.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def in_session(leader):
    """Processes of a session, zombies left out."""
    return with_stat(3, leader)


def in_group(leader):
    """The same of a process group."""
    return with_stat(2, leader)


def with_stat(field, leader):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                words = stat.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(words[field]) == leader and words[0] != "Z":
            found.append(int(name))
    return found


def holder_of(pid):
    """The child of a tapir that holds; None: it has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            pids = children.read().split()
    except FileNotFoundError:
        return None
    for child in pids:
        with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
            if comm.read().strip() == "tapir-holder":
                return int(child)
    return None


def copies(t, count, name="plug"):
    """count copies of a file with probes, which no process has mapped before."""
    paths = [t.path(f"{name}{i}") for i in range(count)]
    for path in paths:
        shutil.copyfile(t.target_path(name), path)
        os.chmod(path, 0o755)
    return paths


def run_recorded(t, specs, argv, *options, timeout=30):
    """Starts argv by tapir record; (result, events, report)."""
    file = t.path("trace.tapir")
    only = EVENTS_ONLY if specs else ()  # without SPECs, samples and switches are what is recorded
    result = t.run(t.tapir_path, "record", *specs, *only, *options, "-f", "-o", file, "--", *argv, timeout=timeout)
    t.eq(result.rc, 0, f"exit: {result.out}{result.err}")
    return result, t.events(file), t.report(file)


# ---- the first events are there ------------------------------------------------------------------


def test_first_events_of_program_child_and_object_are_recorded_without_a_gap(t):
    paths = copies(t, 5)
    _, events, report = run_recorded(t, ["dlopener", "launcher", "plug"],
                                     [t.target_path("launcher"), t.target_path("dlopener"), 5, 4, *paths])
    t.eq([args_of(e) for e in named(events, "plug:hit")], [[i, "from the plug"] for _ in paths for i in range(4)], "plugs")
    t.eq((len(named(events, "launcher:before")), len(named(events, "dlopener:before"))), (1, 5), "programs")
    t.eq(report["gaps"], [], "gaps")


def test_first_events_are_recorded_without_a_holder(t):
    """Events of the interpreter of a script, and of a program: both files are known before they start."""
    setpriv, script, file = t.need("setpriv"), t.path("script"), t.path("trace.tapir")
    with open(script, "w", encoding="ascii") as out:
        out.write(f"#!{t.target_path('nonleader')} 40\n")
    os.chmod(script, 0o755)
    for argv, probe, count in (([script], "nonleader:hit", 40), ([t.target_path("storm"), 0, 50, 1], "storm:hit", 50)):
        result = t.run(setpriv, "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", t.tapir_path, "record", "storm", "nonleader",
                       *EVENTS_ONLY, "-f", "-o", file, "--", *argv)
        t.eq(result.rc, 0, result.err)
        t.eq((len(named(t.events(file), probe)), t.report(file)["gaps"]), (count, []), f"{argv}: {result.err}")


def test_object_is_read_again_when_it_was_overwritten(t):
    """`cp` over a file keeps its inode; what is in it has other probes."""
    path, other = t.path("object"), t.path("plug")
    program = f"cp {t.target_path('plug')} {path}; {t.target_path('dlopener')} 1 100 {path}; " \
              f"cp {t.target_path('ringplug')} {path}; cp {t.target_path('plug')} {other}; cat {other} > {path}; " \
              f"{t.target_path('dlopener')} 1 1000 {path}"
    _, events, report = run_recorded(t, ["plug"], ["sh", "-c", program])
    t.eq((len(named(events, "plug:hit")), report["gaps"]), (1100, []), "events")


# ---- who starts programs and waits for them --------------------------------------------------------


def test_user_switchers_end_as_without_tapir(t):
    su, runuser = t.need("su", "runuser")
    script = "sleep 0.2; echo done; exit 3"
    for argv in ((su, "nobody", "-s", "/bin/sh", "-c", script), (runuser, "-u", "nobody", "--", "sh", "-c", script)):
        plain, file = t.run(*argv), t.path("trace.tapir")
        traced = t.run(t.tapir_path, "record", "-f", "-o", file, "--", *argv, timeout=10)
        t.eq(traced.out, plain.out, f"{argv[0]}: {traced.err}")
        t.eq(traced.rc, 3, f"{argv[0]}: {traced.err}")


class Terminal:
    """A program on a terminal of its own, as a person starts it."""

    def __init__(self, t, *argv):
        self.t, self.seen = t, ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT):  # a shell ignores them in what it starts in the background
                signal.signal(number, signal.SIG_DFL)
            os.environ["PS1"], os.environ["TERM"] = "ready> ", "dumb"
            os.execvp(str(argv[0]), [str(word) for word in argv])

    def say(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text, timeout=10):
        """Reads up to the end of text; what follows it is kept for the next call."""
        end = time.monotonic() + timeout * PATIENCE
        os.set_blocking(self.fd, False)
        while text not in self.seen:
            try:
                self.seen += os.read(self.fd, 4096).decode("utf-8", "replace")
            except BlockingIOError:
                time.sleep(0.01)
            except OSError as error:
                self.t.ok(error.errno == errno.EIO and text in self.seen, f"no {text!r}: {self.seen}")
            self.t.ok(time.monotonic() < end, f"no {text!r} in {timeout} s: {self.seen}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def expect_foreground(self, comm, timeout=10):
        """Waits until a program of this name sleeps in the foreground."""
        end = time.monotonic() + timeout * PATIENCE
        while not any(comm_of(pid) == comm and state_of(pid) == "S" for pid in in_group(os.tcgetpgrp(self.fd))):
            self.t.ok(time.monotonic() < end, f"{comm} is not in the foreground in {timeout} s: {self.seen}")
            time.sleep(0.01)

    def close(self):
        for pid in in_session(self.pid):
            os.kill(pid, signal.SIGKILL)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def use_job_control(terminal):
    terminal.expect("ready> ")
    terminal.say("sleep 60\n")
    terminal.expect_foreground("sleep")
    terminal.say("\x1a")
    terminal.expect("Stopped")
    terminal.say("jobs | wc -l; bg; fg\n")
    terminal.expect("1\r\n")
    terminal.expect_foreground("sleep")
    terminal.say("\x03")
    terminal.say("echo rc=$?\n")
    terminal.expect("rc=130")
    terminal.say("sh -c 'kill -TSTP $$; exit 4'\n")
    terminal.expect("Stopped")
    terminal.say("fg\n")
    terminal.say("echo rc=$?\n")
    terminal.expect("rc=4")


def test_job_control_works_in_a_shell_that_is_recorded(t):
    t.need("bash")
    terminal = Terminal(t, t.tapir_path, "record", "-q", "-o", t.path("trace.tapir"), "--", "bash", "--norc", "--noediting", "-i")
    try:
        use_job_control(terminal)
        terminal.say("exit\n")
        terminal.expect("exit")
        t.ok(os.waitpid(terminal.pid, 0)[0], "tapir ends")
        terminal.pid = os.getpid()
    finally:
        if terminal.pid != os.getpid():
            terminal.close()


def test_shell_sees_no_stop_beside_a_recording_by_name(t):
    t.need("bash")
    tapir = t.start_tapir("record", "storm", "--comm", "sleep", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    terminal = Terminal(t, "bash", "--norc", "--noediting", "-i")
    try:
        terminal.expect("ready> ")
        terminal.say("sleep 0.3; echo rc=$?\n")
        t.ok("Stopped" not in terminal.expect("rc=0"), "no job is stopped")
    finally:
        terminal.close()


def test_daemons_live_on_when_their_starter_ends_while_they_are_held(t):
    """A stopped member of a process group that becomes an orphan gets SIGHUP."""
    rounds = ROUNDS * 4 or 20
    for path in copies(t, rounds):
        pass
    script = f'i=0; while [ $i -lt {rounds} ]; do setsid sh -c \'"$0" 1 1 "$1" >"$1.said" & exit 0\' ' \
             f'{t.target_path("dlopener")} {t.tmp}/plug$i; i=$((i + 1)); done; sleep 0.5'
    run_recorded(t, ["dlopener", "plug"], ["sh", "-c", script], timeout=90)
    end = time.monotonic() + 5 * PATIENCE
    said = 0
    while said < rounds and time.monotonic() < end:
        said = sum(os.path.exists(f"{t.tmp}/plug{i}.said") and "plug_fired" in open(f"{t.tmp}/plug{i}.said", encoding="ascii").read()
                   for i in range(rounds))
    t.eq(said, rounds, "daemons that came to their end")


# ---- signals and waits -------------------------------------------------------------------------------


def test_no_wait_is_interrupted_when_another_thread_is_held(t):
    paths = copies(t, 12)
    result, _, report = run_recorded(t, ["plug"], [t.target_path("waits"), 20, *paths])
    t.eq(result.witness(), {"interrupted": 0, "short": 0}, "waits")
    t.eq(report["gaps"], [], "gaps")


def test_every_signal_is_handled_when_a_thread_is_preempted_by_one(t):
    path = copies(t, 1)[0]
    result, events, report = run_recorded(t, ["plug"], [t.target_path("preempted"), "--catch", 500, path])
    t.eq(result.witness(), {"sent": 500, "handled": 500, "fired": 20}, "what it says")
    t.eq((len(events), report["gaps"]), (20, []), "events of the object, held by the other signal")
    result, events, report = run_recorded(t, ["plug"], [t.target_path("preempted"), 500, path])
    t.eq(result.witness(), {"sent": 500, "handled": 500, "fired": 20}, "with no signal left")
    t.ok(len(events) == 20 or report["gaps"], "what may be missing is a gap")


def test_go_preempts_and_starts_children_when_it_is_recorded(t):
    """Its runtime catches SIGURG, and sends it to threads that do not call anything."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "tight.go")
    program = t.path("tight")
    env = {**os.environ, "GO111MODULE": "off", "GOCACHE": os.path.join(t.build, "tests", "gocache"), "HOME": t.tmp}
    built = t.run(t.need("go"), "build", "-o", program, source, env=env, timeout=60)
    t.eq(built.rc, 0, built.err)
    argv = [program, int(3e8), 5, t.target_path("storm"), 0, 20, 1]
    plain = t.run(*argv, timeout=60)
    result, events, report = run_recorded(t, ["storm"], argv)
    t.eq(result.out, plain.out, result.err)
    t.eq(result.witness(), {"right": True, "collected": True, "fired": 100}, "what it says")
    t.eq((len(named(events, "storm:hit")), report["gaps"]), (100, []), "events of its children, from their first")


def test_no_signal_is_read_when_all_are_blocked(t):
    path = copies(t, 1)[0]
    result, events, report = run_recorded(t, ["plug"], [t.target_path("preempted"), "--block", path])
    t.eq(result.witness(), {"strays": 0, "fired": 20}, "what it says")
    t.ok(len(events) == 20 or [gap["path"] for gap in report["gaps"]] == [path], f"a gap: {report['gaps']}")


def test_set_user_id_program_is_root_when_another_user_starts_it(t):
    t.need_others()
    path = t.path("whoami")
    shutil.copyfile(t.target_path("whoami"), path)
    os.chmod(t.tmp, 0o755)
    os.chmod(path, 0o4755)
    argv = [t.need("setpriv"), "--reuid", "65534", "--clear-groups", path]
    plain = t.run(*argv).witness()
    result, _, _ = run_recorded(t, [], argv)
    if not plain["euid"] == 0:
        t.skip("set-user-ID does not work here")
    t.ok(result.witness()["tracer"], "it is traced")
    t.eq((result.witness()["uid"], result.witness()["euid"]), (plain["uid"], plain["euid"]), "who it is")


# ---- others who trace ---------------------------------------------------------------------------------


def test_strace_works_in_a_program_that_is_recorded(t):
    strace = t.need("strace")
    argv = [strace, "-f", "-o", t.path("strace.txt"), t.target_path("spawner"), 5, 3]
    result, _, report = run_recorded(t, ["spawner"], argv)
    t.eq(result.witness()["bad_exits"], 0, result.err)
    with open(t.path("strace.txt"), encoding="utf-8", errors="replace") as lines:
        # Or "<... execve resumed>) = 0", when another process was reported in between.
        t.eq(sum("execve" in line and line.rstrip().endswith("= 0") for line in lines), 6, "programs that strace saw")
    t.ok(report["gaps"] or sum(e["captured"] for e in report["events"]) == 15, "events or gaps")


def test_strace_attaches_in_a_program_that_is_recorded(t):
    strace = t.need("strace")
    script = f"sleep {1.5 * SLOWNESS} & {strace} -qq -e trace=exit_group -p $!; echo rc=$?; wait $!; echo child=$?"
    plain = t.run("sh", "-c", script)
    result, _, _ = run_recorded(t, [], ["sh", "-c", script])
    t.eq(result.out, plain.out, result.err)
    t.eq([line for line in result.err.splitlines() if "exit_group" in line],
         [line for line in plain.err.splitlines() if "exit_group" in line], "what strace printed")


def test_gdb_works_in_a_program_that_is_recorded(t):
    gdb = t.need("gdb")
    argv = [gdb, "-nx", "-q", "-batch", "-ex", "break main", "-ex", "run", "-ex", "continue", "--args", t.target_path("storm"), 0, 50, 1]
    plain = t.run(*argv)
    if "Breakpoint 1, main" not in plain.out:
        t.skip(f"gdb does not work here: {plain.err}")
    result, _, _ = run_recorded(t, ["storm"], argv)
    t.ok("Breakpoint 1, main" in result.out and "exited normally" in result.out, result.out + result.err)


def test_recording_works_under_strace(t):
    strace = t.need("strace")
    file = t.path("trace.tapir")
    result = t.run(strace, "-f", "-qq", "-o", "/dev/null", t.tapir_path, "record", "dlopener", "plug", *EVENTS_ONLY, "-o", file, "--",
                   t.target_path("dlopener"), 1, 20, timeout=60)
    t.eq((result.rc, result.witness()["plug_fired"]), (0, 20), result.err)
    t.eq(result.err.count("CAP_SYS_PTRACE"), 1, result.err)
    t.ok(len(named(t.events(file), "plug:hit")) == 20 or t.report(file)["gaps"], "events or a gap")


def test_tracer_from_outside_gets_in_at_the_second_attempt(t):
    strace = t.need("strace")
    tapir = t.start_tapir("record", "storm", "-o", t.path("trace.tapir"), "--", t.target_path("storm"), 1000, 3000, 2)
    pid = tapir.wait_line("pid ").split()[1]
    for _ in range(20):
        attached = t.start(strace, "-f", "-qq", "-o", "/dev/null", "-p", pid)
        time.sleep(0.2)
        if attached.child.poll() is None:
            break
    t.ok(attached.child.poll() is None, "strace is attached")
    t.eq(tapir.wait().rc, 0, "exit")


def test_recording_works_inside_a_recording(t):
    inner, outer = t.path("inner.tapir"), t.path("outer.tapir")
    result = t.run(t.tapir_path, "record", "dlopener", *EVENTS_ONLY, "-o", outer, "--", t.tapir_path, "record", "dlopener", "plug",
                   *EVENTS_ONLY, "-o", inner, "--", t.target_path("dlopener"), 3, 20)
    t.eq((result.rc, result.witness()["plug_fired"]), (0, 60), result.err)
    t.eq((len(t.events(inner)), t.report(inner)["gaps"]), (63, []), "events of the inner one")
    t.ok(len(t.events(outer)) == 3 or t.report(outer)["gaps"], "events of the outer one, or gaps")


def test_two_recordings_hold_each_its_own(t):
    count = 12 if t.lacks("uprobe_multi") else 30  # without it tapir attaches 16 probes
    tapirs = [t.start_tapir("record", "dlopener", "plug", *EVENTS_ONLY, "-o", t.path(f"{i}.tapir"), "--", t.target_path("dlopener"),
                            count, 20, *copies(t, count, "plug")) for i in range(2)]
    for i, tapir in enumerate(tapirs):
        result = tapir.wait()
        t.eq((result.rc, result.witness()["plug_fired"]), (0, 20 * count), result.err)
        file = t.path(f"{i}.tapir")
        t.eq((len(t.events(file)), t.report(file)["gaps"]), (21 * count, []), f"recording {i}")


# ---- tapir does not serve, or dies --------------------------------------------------------------------


def storm_of_files(t, count):
    """A program that opens that many new files in children, and its words at the end."""
    copies(t, count)
    return f'echo begun >{t.tmp}/begun; i=0; while [ $i -lt {count} ]; do {t.target_path("dlopener")} 1 1 {t.tmp}/plug$i >/dev/null || echo bad; ' \
           f'i=$((i + 1)); done; echo all >{t.tmp}/said; exit 5'


def wait_for(t, name, timeout):
    end = time.monotonic() + timeout * PATIENCE
    while not os.path.exists(t.path(name)) and time.monotonic() < end:
        time.sleep(0.002)
    t.ok(os.path.exists(t.path(name)), f"the program is stuck: no file {name}")


def said_all(t, timeout):
    wait_for(t, "said", timeout)


def test_program_continues_when_tapir_is_stopped(t):
    """As Ctrl-Z does: the hold that is under way lasts until its limit, others do not begin."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "dlopener", "plug", *EVENTS_ONLY, "-o", file, "--", "sh", "-c", storm_of_files(t, 150))
    wait_for(t, "begun", 10)
    os.kill(tapir.pid, signal.SIGSTOP)
    said_all(t, 8)
    os.kill(tapir.pid, signal.SIGCONT)
    result = tapir.wait()
    t.ok("bad" not in result.out, "children that failed")
    missed = 300 - len(t.events(file))
    gaps = len(t.report(file)["gaps"])
    t.ok(missed <= gaps, f"what was not held is a gap: {missed} missed, {gaps} gaps, {result.err}")


def test_recording_stops_and_continues_with_ctrl_z_in_a_shell(t):
    """The terminal stops tapir and the program, but not the holder; fg continues both."""
    bash, file = t.need("bash"), t.path("trace.tapir")
    script = t.path("script")
    with open(script, "w", encoding="ascii") as out:
        out.write(storm_of_files(t, 60))
    terminal = Terminal(t, bash, "--norc", "--noediting", "-i")
    try:
        terminal.expect("ready> ")
        terminal.say(f"{t.tapir_path} record -q dlopener plug {' '.join(EVENTS_ONLY)} -o {file} -- sh {script}\n")
        wait_for(t, "begun", 10)
        terminal.say("\x1a")
        terminal.expect("Stopped")
        terminal.say("sleep 0.5; fg\n")
        said_all(t, 20)
        terminal.say("echo rc=$?\n")
        terminal.expect("rc=5", 20)
    finally:
        terminal.close()
    missed = 120 - len(t.events(file))
    t.ok(missed <= len(t.report(file)["gaps"]), f"what was not held is a gap: {missed} missed")


def test_program_continues_when_the_terminal_of_tapir_is_stopped(t):
    """Ctrl-S: tapir blocks in the line it writes."""
    script = storm_of_files(t, 60)
    terminal = Terminal(t, t.tapir_path, "record", "dlopener", "plug", "-o", t.path("trace.tapir"), "--", "sh", "-c",
                        f"exec >/dev/null 2>&1; sleep 1; {script}")
    try:
        terminal.expect("tapir: ")
        terminal.say("\x13")
        said_all(t, 12)
        terminal.say("\x11")
        terminal.expect("lost")
    finally:
        terminal.close()


def test_nobody_stays_stopped_when_the_control_ring_is_full(t):
    file = t.path("trace.tapir")
    script = f"{t.target_path('forker')} 7500 0"  # 160 bytes each, and there is room for 1 MB
    tapir = t.start_tapir("record", "plug", *EVENTS_ONLY, "-o", file, "--", "sh", "-c",
                          f"echo >{t.tmp}/begun; {script} >{t.tmp}/out; {storm_of_files(t, 20)}")
    wait_for(t, "begun", 10)
    os.kill(tapir.pid, signal.SIGSTOP)
    said_all(t, 40)
    os.kill(tapir.pid, signal.SIGCONT)
    result = tapir.wait()
    t.ok("bad" not in result.out, result.out)
    with open(f"{t.tmp}/out", encoding="ascii") as out:
        t.ok('"bad_exits": 0' in out.read(), "children of the forker")
    report = t.report(file)
    t.ok(report["incomplete"]["process_ring_full"] > 0, f"records that were lost: {report['incomplete']}")
    t.ok("nothing lost" not in report["headline"], report["headline"])


def test_program_runs_and_gaps_are_recorded_without_the_capability(t):
    setpriv = t.need("setpriv")
    t.need_others()
    if t.lacks("uprobe_multi"):
        t.skip("without uprobe_multi, probes require CAP_SYS_ADMIN")
    caps = "-all,+bpf,+perfmon,+dac_override"
    file = t.path("trace.tapir")
    result = t.run(setpriv, "--bounding-set", caps, "--inh-caps", caps, t.tapir_path, "record", "dlopener", "plug", *EVENTS_ONLY, "-o",
                   file, "--", t.target_path("dlopener"), 40, 20, *copies(t, 40))
    t.eq((result.rc, result.witness()["plug_fired"]), (0, 800), result.err)
    t.eq(result.err.count("CAP_SYS_PTRACE"), 1, result.err)
    # Each is mapped where the one before was: what tapir finds there may be the next one.
    t.eq(len({gap["path"] for gap in t.report(file)["gaps"]} & {t.path(f"plug{i}") for i in range(40)}), 40, "gaps")


def test_nobody_stays_stopped_when_tapir_and_its_holder_are_killed(t):
    for i in range(ROUNDS or 8):
        for name in set(os.listdir(t.tmp)) & {"said", "begun"}:
            os.unlink(t.path(name))
        tapir = t.start_tapir("record", "dlopener", "plug", *EVENTS_ONLY, "-f", "-o", t.path("trace.tapir"), "--", "sh", "-c",
                              storm_of_files(t, 60))
        wait_for(t, "begun", 10)
        time.sleep(0.01 * (i % 8))
        holder = holder_of(tapir.pid)
        t.ok(holder, "tapir has a holder")
        tapir.signal(signal.SIGKILL)
        try:
            os.kill(holder, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it dies with tapir
        said_all(t, 10)
        tapir.wait()
        t.eq([pid for pid in in_session(tapir.pid) if state_of(pid) in "tT"], [], f"stopped processes, round {i}")
