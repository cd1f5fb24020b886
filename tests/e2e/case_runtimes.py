# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs somebody else built: what was recorded is what their own logs say."""
import glob
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

from harness import args_of, named

QUERY_CNT = 1000

# ---- PostgreSQL ---------------------------------------------------------------------------


class Server:
    """A PostgreSQL server of our own, in a directory its user can reach."""

    def __init__(self, t, *settings):
        self.settings = [word for setting in settings for word in ("-c", setting)]
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            t.skip("PostgreSQL is not installed")
        try:
            self.user = pwd.getpwnam("postgres")
        except KeyError:
            t.skip("there is no user postgres")
        self.t, self.bin = t, found[-1]
        self.dir = tempfile.mkdtemp(prefix="tapir-pg-")
        os.chown(self.dir, self.user.pw_uid, self.user.pw_gid)
        self.data, self.log = os.path.join(self.dir, "data"), os.path.join(self.dir, "log")
        self.process = None

    def __enter__(self):
        self.run("initdb", "-D", self.data, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [f"{self.bin}/postgres", "-D", self.data, "-k", self.dir, "-c", "listen_addresses=",
                 "-c", "log_statement=all", "-c", "log_line_prefix=%p ", "-c", "fsync=off",
                 "-c", "autovacuum=off", *self.settings],
                stdout=log, stderr=log, user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[],
                start_new_session=True, cwd=self.dir)
        self.run("pg_isready", "-h", self.dir, "-t", "20", tries=40)
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, program, *args, tries=1, stdin=None):
        for attempt in range(tries):
            done = subprocess.run([f"{self.bin}/{program}", *args], user=self.user.pw_uid,
                                  group=self.user.pw_gid, extra_groups=[], capture_output=True, text=True,
                                  cwd=self.dir, input=stdin, timeout=60)
            if done.returncode == 0:
                return done.stdout
            if attempt + 1 < tries:
                subprocess.run(["sleep", "0.25"], check=True)
        self.t.skip(f"{program} does not run here: {done.stderr.strip()[-200:]}")

    def logged_statements(self):
        """Texts in the server's log, in its order; a text's later lines are indented by a tab."""
        texts = []
        for line in pathlib.Path(self.log).read_text("utf-8").splitlines():
            match = re.match(r"\d+ LOG:  statement: (.*)", line)
            if match:
                texts.append(match.group(1))
            elif line.startswith("\t") and texts:
                texts[-1] += "\n" + line[1:]
        return texts

    def sessions(self):
        """Processes that ran them: other servers of this machine have the same name."""
        return {int(pid) for pid in re.findall(r"^(\d+) LOG:  statement: ", pathlib.Path(self.log).read_text("utf-8"), re.M)}


def queries():
    """Short, long, quoted, commented, of many lines and letters; each one is different."""
    for i in range(QUERY_CNT):
        yield (f"select {i}, 'naïve € 🐾 {i}'" + f" /* {'x' * (i * 3)} */"
               + ("\n  as of_two_lines" if i % 7 == 0 else "") + f" , \"current_user\"() -- {i}")


def test_query_texts_equal_the_servers_log_when_there_are_1000(t):
    with Server(t) as server:
        file = t.path("trace.tapir")
        tapir = t.start_tapir("record", "postgresql:query__start", "postgresql:query__done", "--comm",
                              "postgres", "-o", file)
        tapir.wait_ready()
        script = "".join(q.replace("-- ", "/* ").rstrip() + " */;\n" for q in queries())
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-f", "-", stdin=script)
        tapir.signal(2)
        result = tapir.wait(20)
        t.eq(result.rc, 0, "tapir exits on Ctrl-C: " + result.err[-1500:])
        logged, sessions = server.logged_statements(), server.sessions()
    events = [e for e in t.events(file) if e["pid"] in sessions]
    started = [args_of(e)[0] for e in named(events, "postgresql:query__start")]
    t.eq(len(logged), QUERY_CNT, "statements in the server's log")
    t.eq(len(set(logged)), QUERY_CNT, "different statements")
    t.eq(started, logged, "query texts")
    t.eq([args_of(e)[0] for e in named(events, "postgresql:query__done")], logged, "texts at the end")
    t.eq(t.report(file)["lost"], {}, "lost")


# ---- OpenJDK --------------------------------------------------------------------------------

GARBAGE = """public class Garbage {
    static Object[] kept = new Object[1000];
    public static void main(String[] args) {
        for (int i = 0; i < 1500000; i++)
            kept[i % 1000] = new byte[500];
        for (int i = 0; i < 3; i++)
            System.gc();
    }
}
"""


def test_collections_equal_the_jvms_log_when_it_is_g1(t):
    java = t.need("java")
    source, log, file = t.path("Garbage.java"), t.path("gc.log"), t.path("trace.tapir")
    pathlib.Path(source).write_text(GARBAGE)
    t.tapir("record", "hotspot:gc__begin", "hotspot:gc__end", "--stack", "-o", file, "--", java,
            "-XX:+UseG1GC", "-Xmx64m", f"-Xlog:gc:file={log}", source)
    pauses = [line for line in pathlib.Path(log).read_text().splitlines() if "Pause" in line]
    full_cnt = sum("Pause Full" in line for line in pauses)
    events = t.events(file)
    begins, ends = named(events, "hotspot:gc__begin"), named(events, "hotspot:gc__end")
    t.ok(len(pauses) > 3, f"the JVM collected: {len(pauses)} pauses")
    t.eq(len(begins), len(pauses), "gc__begin")
    t.eq(len(ends), len(pauses), "gc__end")
    t.eq(sum(e["args"]["is_full"] for e in begins), full_cnt, "full collections")
    for event in begins:
        names = [frame["name"] or "" for frame in event["stack"]]
        t.eq(names[0], "VM_GC_Operation::notify_gc_begin", "innermost function")
        t.ok("VMThread::run" in names and "start_thread" in names, f"stack reaches the thread's start: {names}")


def test_probes_are_on_when_the_jvm_runs_already(t):
    java = t.need("java")
    source, file = t.path("Garbage.java"), t.path("trace.tapir")
    pathlib.Path(source).write_text(GARBAGE.replace("System.gc();", "System.gc();\n        try { "
                                                    "Thread.sleep(1500); } catch (Exception e) {}"
                                                    "\n        System.gc();"))
    jvm = t.start(java, "-XX:+UseG1GC", "-Xmx64m", "-Xlog:gc", source)
    jvm.wait_line("[", 20)
    t.tapir("record", "hotspot:gc__*", "-p", jvm.pid, "-o", file)
    t.eq(jvm.wait(30).rc, 0, "the JVM's exit code")
    t.ok(any(e["args"]["is_full"] for e in named(t.events(file), "hotspot:gc__begin")),
         "the collection after the pause was recorded")


# ---- CPython --------------------------------------------------------------------------------

CALLS = """
def leaf(n):
    return n + 1

def caller(n):
    total = 0
    for i in range(n):
        total = leaf(total)
    return total

class Thing:
    def method(self):
        return caller(3)

assert caller(5) == 5
assert Thing().method() == 3
"""

# The interpreter's own word for what a script does: its trace function.
WITNESS = """
import json, sys
seen = []
def trace(frame, event, arg):
    if frame.f_code.co_filename == sys.argv[1]:
        seen.append([event, frame.f_code.co_name, frame.f_lineno])
    return trace
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
sys.settrace(trace)
exec(code, {"__name__": "__main__"})
sys.settrace(None)
print(json.dumps({"seen": seen}))
"""

PROBES = {"function__entry": "call", "function__return": "return", "line": "line"}


def test_calls_and_lines_equal_the_trace_function_when_it_is_python(t):
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        t.skip("there is no /usr/bin/python3")
    if "function__entry" not in t.tapir("list", python, expect=None).out:
        t.skip("this Python has no probes")
    script, file = t.path("calls.py"), t.path("trace.tapir")
    pathlib.Path(script).write_text(CALLS)
    seen = t.run(python, "-c", WITNESS, script).witness()["seen"]
    t.tapir("record", *(f"python:{probe}" for probe in PROBES), "-o", file, "--", python, "-S", "-E", script)
    recorded = [[PROBES[e["event"]], e["args"]["function"], e["args"]["line"]]
                for e in t.events(file) if e["args"]["filename"] == script]
    t.ok(len(seen) > 60, f"the script does something: {len(seen)} steps")
    # The trace function also sees a class body's first line, for which 3.11 fires no probe.
    seen = [step for step in seen if step != ["line", "Thing", 11]]
    t.eq(recorded, seen, "calls, lines and returns, in order")
