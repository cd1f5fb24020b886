# SPDX-License-Identifier: GPL-2.0-or-later
"""Attaching to real JVMs: what jcmd gets we get too, and no JVM is the worse for it.

The driver is the unit test build/tests/unit/test_jvm, given arguments.
"""
import contextlib
import glob
import os
import pathlib
import re
import resource
import shutil
import signal
import tempfile
import time

from harness import PATIENCE, Failure
from serve_agent import until

CHECK_LONG = {"test_jvms_that_end_before_they_answer_make_no_line"}
NOBODY = "65534"
TIMEOUT = 180

HOT = """public class Hot {
    static long a(int n) { long s = 0; for (int i = 0; i < n; i++) s += i ^ (s << 1); return s; }
    static long b(String[] x, long[][] y, Object o) { return x.length + y.length + o.hashCode(); }
    public static void main(String[] args) throws Exception {
        long t = 0;
        String[] x = new String[3];
        long[][] y = new long[2][2];
        Runnable r = () -> Hot.a(3);
        for (int i = 0; i < 200000; i++) { t += a(100) + b(x, y, x); r.run(); }
        System.out.println("ready");
        for (int i = 0; ; i++) {
            t += a(10000);
            Thread.sleep(20);
            if (i % 10 == 0) System.out.println("tick " + i);
        }
    }
}
"""


def javas(t):
    """One java of every JDK that is installed; the first is the default one."""
    found = [t.need("java"), *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))]
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def compiled(t):
    """A directory everybody can read, with Hot.class."""
    javac = t.need("javac")
    directory = t.path("classes")
    os.makedirs(directory)
    source = os.path.join(directory, "Hot.java")
    pathlib.Path(source).write_text(HOT)
    result = t.run(javac, "--release", "11", "-d", directory, source)
    t.eq(result.rc, 0, "javac " + result.err)
    os.chmod(t.tmp, 0o755)
    return directory


def start(t, java, *options, before=(), env=None):
    """A JVM that burns and ticks. Its pid is the child's, unless `before` puts others in front."""
    classes = t.classes if hasattr(t, "classes") else compiled(t)
    t.classes = classes
    jvm = t.start(*before, java, *options, "-cp", classes, "Hot", env=env)
    jvm.wait_line("ready", 60)
    return jvm


def drive(t, *args):
    return drive_timed(t, *args)[0]


def drive_timed(t, *args):
    """What it printed, and how long it took."""
    driver = os.path.join(t.build, "tests", "unit", "test_jvm")
    if not os.path.exists(driver):
        t.skip("tests/unit/test_jvm is not built: make unit")
    result, took = t.start(driver, *args).wait_timed()
    return result.out, took


def methods(path):
    """address -> (size, name) of a perf map."""
    lines = pathlib.Path(path).read_text("utf-8", "surrogateescape").splitlines()
    rows = [line.split(" ", 2) for line in lines]
    return {int(start_va, 16): (int(size, 16), name) for start_va, size, name in rows}


def goes_on(t, jvm, what):
    jvm.fresh.queue.clear()
    jvm.wait_line("tick", 10)
    t.eq(jvm.child.poll(), None, what + ": the JVM's exit code")


def dump(t, pid):
    """The map as it was, which must be gone from its /tmp."""
    copy = t.path("copy.map")
    out = drive(t, "map", pid, copy)
    t.ok(re.match(r"perf-\d+\.map existed=0", out), "dumped: " + out)
    t.ok(not os.path.exists(f"/proc/{pid}/root/tmp/{out.split()[0]}"), "the map was removed")
    left = [name for place in ("cwd", "root/tmp") for name in os.listdir(f"/proc/{pid}/{place}")
            if name.startswith(".attach_pid")]
    t.ok(not any(name.endswith(f"pid{pid}") for name in left), f"no trigger is left: {left}")
    return methods(copy)


# ---- what comes back ------------------------------------------------------------------------


def test_map_equals_jcmds_when_nothing_is_compiled_meanwhile(t):
    jcmd = t.need("jcmd")
    for java in javas(t):
        jvm = start(t, java)
        t.eq(t.run(jcmd, jvm.pid, "Compiler.perfmap").rc, 0, "jcmd")
        path = f"/tmp/perf-{jvm.pid}.map"
        theirs = methods(path)
        os.unlink(path)
        ours = dump(t, jvm.pid)
        common = ours.keys() & theirs.keys()
        t.ok(len(common) > 300 and len(common) >= 0.95 * len(theirs), f"{len(common)} of {len(theirs)}")
        t.eq([va for va in common if ours[va] != theirs[va]], [], f"{java}: entries that differ")
        for name in ("long Hot.a(int)", "long Hot.b(java.lang.String[], long[][], java.lang.Object)",
                     "Interpreter"):
            t.ok(any(ours[va][1] == name for va in common), f"{name} is in both")
        goes_on(t, jvm, java)
        jvm.kill()


def test_names_of_load_events_equal_the_maps(t):
    driver = os.path.join(t.build, "tests", "unit", "test_jvm_methods")
    for java in javas(t):
        file, classes = t.path("trace.tapir"), t.path("classes")
        if not os.path.isdir(classes):
            compiled(t)
        tapir = t.start_tapir("record", "hotspot:compiled__method__load", "-f", "-o", file, "--", java,
                              "-cp", classes, "Hot")
        tapir.wait_line("ready", 60)
        time.sleep(1)
        children = pathlib.Path(f"/proc/{tapir.pid}/task/{tapir.pid}/children").read_text().split()
        pid = next(p for p in children if "java" in os.readlink(f"/proc/{p}/exe"))
        in_map = {va: row for va, row in dump(t, pid).items()}
        os.kill(int(pid), signal.SIGTERM)  # its own child: known by its number
        tapir.wait(30)
        loads = {}
        for line in t.run(driver, file).out.splitlines():
            start_va, size, is_exact, name = line.split(" ", 3)
            loads[int(start_va, 16)] = (int(size, 16), name)
            t.eq(is_exact, "1", name)
        # code that was freed stays a load: its address may have been given to another method
        common = [va for va in loads if va in in_map]
        t.ok(len(common) > 40, f"{java}: {len(common)} methods in both")
        t.eq([(loads[va], in_map[va]) for va in common if loads[va][1] != in_map[va][1]], [], "names")
        t.ok(all(loads[va][0] <= in_map[va][0] for va in common), "a load's range is in the map's")
        late = {name for va, (_, name) in in_map.items() if va not in loads and name.startswith("long Hot.")}
        t.eq(late, set(), "methods of Hot that no event told")
        tapir.kill()


def has_placed(path, text):
    """A recording of the whole machine, which another case may make, has a file of its own there for a moment."""
    try:
        with open(path, "x", encoding="ascii") as file:
            file.write(text)
        return True
    except FileExistsError:
        return False


def test_map_that_exists_is_left_alone_when_the_jvm_can_write_elsewhere(t):
    for java in javas(t):
        jvm = start(t, java)
        path, copy = f"/tmp/perf-{jvm.pid}.map", t.path("copy.map")
        until(t, lambda: has_placed(path, "mine\n"), f"{path} goes", 10)
        out = drive(t, "map", jvm.pid, copy)
        t.ok("long Hot.a(int)" in {name for _, name in methods(copy).values()}, "a map came: " + out)
        if "existed=0" in out:  # JDK 22 and later
            t.eq(pathlib.Path(path).read_text(), "mine\n", "the file that was there")
            t.ok(not os.path.exists("/tmp/" + out.split()[0]), "the other one was removed")
        else:
            t.ok(os.path.exists(path), "a file that was there before stays")
        os.unlink(path)
        jvm.kill()


def test_version_comes_from_the_library_and_from_the_jvm(t):
    for java in javas(t):
        jvm = start(t, java)
        version = drive(t, "inspect", jvm.pid).split()[0]
        t.ok(f"version {version}" in drive(t, "command", jvm.pid, "VM.version"), version)
        t.ok("failed -EREMOTEIO" in drive(t, "command", jvm.pid, "No.such"), "an unknown command")
        goes_on(t, jvm, java)
        jvm.kill()


# ---- whose it is and where it runs -------------------------------------------------------------


def test_jvm_of_another_user_is_asked_as_that_user(t):
    t.need_others()
    setpriv = t.need("setpriv")
    for java in javas(t):
        jvm = start(t, java, before=(setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"))
        t.ok("long Hot.a(int)" in {name for _, name in dump(t, jvm.pid).values()}, "Hot.a is in it")
        goes_on(t, jvm, java)
        jvm.kill()


def java_below(pid):
    """The process called java among a process and its descendants."""
    if pathlib.Path(f"/proc/{pid}/comm").read_text() == "java\n":
        return int(pid)
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found = java_below(child)
        if found:
            return found
    return None


def check_namespaces(t, *before):
    # A file in the /tmp outside must not be seen inside.
    script = f'mount -t tmpfs tapir-test /mnt && cp {compiled(t)}/* /mnt && mount --move /mnt /tmp; exec "$@"'
    t.classes = "/tmp"
    jvm = start(t, javas(t)[0], before=(*before, "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
                                        "sh", "-c", script, "sh"))
    pid = java_below(jvm.pid)
    copy = t.path("copy.map")
    out = drive(t, "keep", pid, copy)
    t.ok(out.startswith("perf-1.map existed=0"), "it is pid 1 where it lives: " + out)
    t.ok(os.path.exists(f"/proc/{pid}/root/tmp/perf-1.map"), "the map lies in its own /tmp")
    t.ok("long Hot.a(int)" in {name for _, name in methods(copy).values()}, "Hot.a is in it")
    t.ok(".attach_pid1" not in os.listdir(f"/proc/{pid}/root/tmp"), "no trigger is left in /tmp")
    t.ok(".attach_pid1" not in os.listdir(f"/proc/{pid}/cwd"), "no trigger is left in its directory")
    goes_on(t, jvm, "in namespaces")
    jvm.kill()


def test_jvm_in_its_own_pid_and_mount_namespace_is_found(t):
    check_namespaces(t, t.need("unshare"))


def test_jvm_in_a_user_namespace_is_asked_with_its_user_outside(t):
    t.need_others()
    setpriv, unshare = t.need("setpriv", "unshare")
    user = (setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", unshare, "--user", "--map-root-user")
    if t.run(*user, "true").rc:
        t.skip("no user namespaces for users here")
    check_namespaces(t, *user)


# ---- leaving it alone ----------------------------------------------------------------------------


def test_stopped_jvm_is_named_and_runs_on(t):
    for java in javas(t):
        jvm = start(t, java)
        jvm.stop()
        out, took = drive_timed(t, "map", jvm.pid, t.path("copy.map"), 1000)
        # A tapir of another case that records the machine may wait for this JVM already.
        t.ok(re.search("failed -(EAGAIN|EBUSY)", out) and "it is stopped" in out, out)
        t.ok(took < 2, f"took {took:.1f} s")
        jvm.signal(signal.SIGCONT)
        goes_on(t, jvm, java)
        t.ok("Full thread dump" not in "".join(jvm.out), "no thread dump")
        dump(t, jvm.pid)
        goes_on(t, jvm, java)
        jvm.kill()


def test_jvms_that_end_before_they_answer_make_no_line(t):
    """Their names are missing in the report; that each of them ended is nothing to warn of."""
    java = t.path("shortjvm")
    os.symlink(os.path.realpath(javas(t)[0]), java)
    classes = compiled(t)
    tapir = t.start_tapir("record", "-F", 99, "--comm", "shortjvm", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    for ms in range(50, 550, 50):
        jvm = t.start(java, "-Xmx64m", "-cp", classes, "Hot")
        time.sleep(ms / 1000)
        jvm.kill()
    time.sleep(1)  # what did not listen is asked again
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.ok("warning: JVM" not in result.err, result.err)
    t.ok(any(p["comm"] == "shortjvm" for p in t.report(t.path("trace.tapir"))["processes"]), "they were recorded")


# A file system that takes requests and never answers; only the kernel's greeting is returned.
SILENT = """
import ctypes, os, struct, sys
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if ctypes.CDLL(None, use_errno=True).mount(b"tapir-test", sys.argv[1].encode(), b"fuse", 0, options):
    print("no", os.strerror(ctypes.get_errno()), flush=True)
    sys.exit(1)
print("mounted", flush=True)
while True:
    request = os.read(fd, 1 << 20)
    length, opcode, unique = struct.unpack_from("IIQ", request)
    if opcode == 26:
        os.write(fd, struct.pack("IiQ", 80, 0, unique) + struct.pack("IIIIHHI", 7, 31, 0, 0, 0, 0, 4096)
                 + bytes(40))
"""


def test_jvm_whose_file_system_never_answers_times_out(t):
    unshare, nsenter, python = t.need("unshare", "nsenter", "python3")
    if not os.path.exists("/dev/fuse"):
        t.skip("no /dev/fuse")
    jvm = start(t, javas(t)[0], before=(unshare, "--mount"))
    file_system = t.start(nsenter, "-t", jvm.pid, "-m", python, "-c", SILENT, "/tmp")
    try:
        file_system.wait_line("mounted", 10)
    except Failure as failure:
        t.skip(f"no FUSE file system can be mounted: {failure}")
    out, took = drive_timed(t, "map", jvm.pid, t.path("copy.map"), 1500)
    t.ok("failed -ETIMEDOUT" in out and "did not return" in out, out)
    t.ok(took < 2.5, f"took {took:.1f} s")
    file_system.kill()  # processes that still wait for it continue
    goes_on(t, jvm, "with a dead file system")


def test_jvm_without_signal_handlers_is_not_killed(t):
    """-Xrs: SIGQUIT would end it. It listens from its start; without its socket it is left alone."""
    for java in javas(t):
        jvm = start(t, java, "-Xrs")
        dump(t, jvm.pid)
        os.unlink(f"/tmp/.java_pid{jvm.pid}")
        out = drive(t, "map", jvm.pid, t.path("copy.map"))
        t.ok("failed -EOPNOTSUPP" in out, out)
        goes_on(t, jvm, java)
        jvm.kill()


def test_jvm_that_disables_attaching_prints_nothing(t):
    for java in javas(t):
        flag = "-XX:+DisableAttachMechanism"
        arguments = t.path("arguments")  # what only the JVM's own counters tell
        pathlib.Path(arguments).write_text(flag + "\n")
        for options, env in (((flag,), None), ((f"@{arguments}",), None),
                             (("-XX:-UsePerfData",), {**os.environ, "JAVA_TOOL_OPTIONS": flag})):
            jvm = start(t, java, *options, env=env)
            out = drive(t, "map", jvm.pid, t.path("copy.map"))
            t.ok("failed -EOPNOTSUPP" in out and "DisableAttachMechanism" in out, f"{options}: {out}")
            goes_on(t, jvm, java)
            printed = [line for line in jvm.out if not re.match(r"ready$|tick \d+$", line)]
            t.eq(printed, [], f"{options}: lines on its stdout")
            jvm.kill()


def test_process_that_is_no_jvm_gets_no_signal(t):
    sleeper = t.start(t.need("sleep"), "60")
    out = drive(t, "map", sleeper.pid, t.path("copy.map"))
    t.ok("failed -ENOEXEC" in out, out)
    t.eq(sleeper.child.poll(), None, "its exit code")


def test_program_that_maps_libjvm_but_is_no_jvm_gets_no_signal(t):
    """A process with only the library is not a JVM: it catches no signal and listens to nothing."""
    library = glob.glob(os.path.dirname(os.path.dirname(os.path.realpath(t.need("java")))) + "/lib/server/libjvm.so")
    if not library:
        t.skip("no libjvm.so beside java")
    directory = tempfile.mkdtemp(dir=t.tmp)
    source, program = os.path.join(directory, "loads.c"), os.path.join(directory, "loads")
    pathlib.Path(source).write_text('#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\n'
                                    'int main(int c, char **v) { puts(c > 1 && dlopen(v[1], RTLD_NOW) ? "ready" : '
                                    'dlerror()); fflush(stdout); pause(); return 0; }\n')
    t.eq(t.run(t.need("gcc"), source, "-o", program).rc, 0, "gcc")
    process = t.start(program, library[0])
    process.wait_line("ready", 10)
    out = drive(t, "map", process.pid, t.path("copy.map"))
    t.ok("failed -EOPNOTSUPP" in out, out)
    t.eq(process.child.poll(), None, "its exit code")
    shutil.rmtree(directory)


class Freezer:
    """A separate cgroup that is frozen, in either version of cgroups; thawed and removed at the end."""

    def __init__(self, t):
        v1, v2 = "/sys/fs/cgroup/freezer", "/sys/fs/cgroup"
        self.t, self.root = t, v1 if os.path.isdir(v1) else v2
        self.path = os.path.join(self.root, f"tapir-test-frozen-{os.getpid()}")
        self.file, self.on, self.off = ("freezer.state", "FROZEN", "THAWED") if self.root == v1 else ("cgroup.freeze", "1", "0")
        try:
            os.mkdir(self.path)
            self.write(self.file, self.off)
        except OSError as error:
            t.skip(f"cannot make a cgroup that freezes: {error}")

    def write(self, name, text, at=None):
        with open(os.path.join(at or self.path, name), "w", encoding="ascii") as file:
            file.write(str(text))

    def freeze(self, pid):
        self.write("cgroup.procs", pid)
        self.write(self.file, self.on)
        until(self.t, self.is_frozen, "a frozen cgroup", seconds=10)

    def is_frozen(self):
        with open(os.path.join(self.path, "freezer.state" if self.on == "FROZEN" else "cgroup.events"), encoding="ascii") as file:
            return any(line in ("FROZEN\n", "frozen 1\n") for line in file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write(self.file, self.off)
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as procs:
            for pid in procs.read().split():
                self.write("cgroup.procs", pid, self.root)
        os.rmdir(self.path)


def quota_root():
    """Of a hierarchy in which a cgroup can have a CPU quota, with the file of it and what it has."""
    if os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_period_us"):
        return "/sys/fs/cgroup/cpu", (("cpu.cfs_period_us", "1000000"), ("cpu.cfs_quota_us", "1000"))
    return "/sys/fs/cgroup", (("cpu.max", "1000 1000000"),)


@contextlib.contextmanager
def starved(t, pid):
    root, files = quota_root()
    path = os.path.join(root, f"tapir-test-starved-{os.getpid()}")
    try:
        os.mkdir(path)
        for name, text in files:
            pathlib.Path(path, name).write_text(text, encoding="ascii")
    except OSError as error:
        t.skip(f"cannot make a cgroup with a CPU quota: {error}")
    try:
        pathlib.Path(path, "cgroup.procs").write_text(str(pid), encoding="ascii")
        yield
    finally:
        pathlib.Path(root, "cgroup.procs").write_text(str(pid), encoding="ascii")
        os.rmdir(path)


@contextlib.contextmanager
def frozen(t, pid):
    with Freezer(t) as freezer:
        freezer.freeze(pid)
        yield


@contextlib.contextmanager
def stopped(t, pid):
    os.kill(pid, signal.SIGSTOP)
    until(t, lambda: pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "T", "a stop")
    yield
    os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def without_descriptors(_, pid):
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), before[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


HINDRANCES = ((frozen, "its cgroup is frozen"), (starved, "its cgroup's CPU quota leaves it no time"),
              (stopped, "it is stopped (kill -CONT continues it)"), (without_descriptors, "file descriptors left"))


def check_waiting(t, result, cell):
    """By what tapir -v says of its own waiting: the clock would count what a busy machine adds. Its threads wait for one stop together."""
    waited = max((int(ms) for ms in re.findall(r"process \d+: waited (\d+) ms for ", result.err)), default=0)
    t.ok(waited < 2000, f"{cell}: {waited} ms: {result.err[-2000:]}")


def check_that_it_is_named(t, pid, *commands):
    """A process that cannot answer is not waited for, and the reason is in the line."""
    for hinder, why in HINDRANCES:
        with hinder(t, pid):
            for command in commands:
                begin = time.monotonic()
                result = t.tapir("-v", *command, "-p", pid, expect=None, timeout=60)
                took = time.monotonic() - begin
                t.ok(why in result.err, f"{hinder.__name__}, {command}: why: {result.err}")
                check_waiting(t, result, f"{hinder.__name__}, {command}")
                t.ok(took < 10 * PATIENCE, f"{hinder.__name__}, {command}: hangs: {took:.1f} s")


def test_jvm_that_cannot_answer_is_named_within_two_seconds(t):
    jvm = start(t, t.need("java"))
    check_that_it_is_named(t, jvm.pid, ("heap",), ("stacks", "--jvm-locks"))
    goes_on(t, jvm, "afterwards")
    jvm.kill()


def test_frozen_jvm_is_refused_at_once_and_finds_nothing_when_it_thaws(t):
    jvm = start(t, t.need("java"))
    with Freezer(t) as freezer:
        freezer.freeze(jvm.pid)
        for command in (("heap", "-p", jvm.pid), ("stacks", "--jvm-locks", "-p", jvm.pid)):
            result = t.tapir(*command, expect=None, timeout=30)
            t.ok("its cgroup is frozen" in result.err, f"{command[0]}: why: {result.err}")
    goes_on(t, jvm, "thawed")
    goes_on(t, jvm, "a tick later: what a SIGQUIT prints would be there")
    said = "".join(jvm.out + jvm.err)
    jvm.kill()
    t.ok("Full thread dump" not in said, f"it was sent no signal: {said[-300:]}")
