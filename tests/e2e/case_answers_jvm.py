# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a JVM. programs/JvmDefects.java has a defect per mode; all of them run at once,
as people start them (no flags), one recording with the default profile takes them all, and each report is compared with what its
JVM counts itself (java.lang.management, its own clocks)."""
import contextlib
import json
import os
import pathlib
import subprocess

ALONE = True  # it measures time
TIMEOUT = 120
SECONDS = 3
MODES = ("convoy", "lock", "deadlock", "systemgc", "humongous", "leak", "metaspace", "slow", "idle")
SOURCE = pathlib.Path(__file__).parent / "programs" / "JvmDefects.java"


class Jvm:
    def __init__(self, classes, *args):
        self.child = subprocess.Popen(["java", "-Xmx512m", "-XX:+UseG1GC", "-cp", classes, "JvmDefects", *args], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    def first(self):
        return self.child.stdout.readline().split()[1]

    def ask(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def answer(self):
        """A JVM that is too busy to see in time that SIGQUIT means an attach prints its threads before."""
        line = self.child.stdout.readline()
        while line and not line.startswith("{"):
            line = self.child.stdout.readline()
        return json.loads(line)

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


def compiled(t):
    classes = t.path("classes")
    os.makedirs(classes)
    t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, str(SOURCE)).rc, 0, "javac")
    return classes


def count(jvms):
    for jvm in jvms.values():
        jvm.ask()
    return {mode: jvm.answer() for mode, jvm in jvms.items()}


def start(t, stack):
    classes = compiled(t)

    def started(*args):
        jvm = Jvm(classes, *args)
        stack.callback(jvm.end)
        return jvm

    database = started("database")
    port = database.first()
    jvms = {mode: started(mode, port) for mode in MODES}
    return jvms, {mode: jvm.first() for mode, jvm in jvms.items()}


def recorded(t):
    """mode -> (the report of its process, what it counted in between)."""
    t.need_others()
    t.need("java")
    file = t.path("answers.tapir")
    with contextlib.ExitStack() as stack:
        jvms, pids = start(t, stack)
        count(jvms)  # it has begun, and this code runs the second time when it matters
        recorder = t.start_tapir("record", "-p", ",".join(pids.values()), "-d", str(SECONDS), "-f", "-o", file)
        recorder.wait_ready(timeout=30)
        count(jvms)
        recorder.wait(60)
        said = count(jvms)
    reports = {}
    for mode, pid in pids.items():
        reports[mode] = json.loads(t.tapir("report", file, "-p", pid, "--json").out)
        if t.verbose:
            print(f"      {mode}: {reports[mode]['headline']}\n        {said[mode]}", flush=True)
    return reports, said


def leads(t, report, kind, *words):
    first = report["findings"][0]
    t.eq(first["kind"], kind, f"{[(f['kind'], round(f['severity'], 1), f['text']) for f in report['findings']]}")
    for word in words:
        t.ok(word in first["text"], f"{word} in: {first['text']}")
    return first["magnitude"]


def near(t, said, witness, what, share=0.15):
    t.ok(abs(said - witness) <= share * witness, f"{what}: {said}, its own count is {witness}")


def test_first_line_names_the_defect_of_each_jvm(t):
    reports, said = recorded(t)
    seconds = {mode: counted["seconds"] for mode, counted in said.items()}
    near(t, leads(t, reports["convoy"], "locks", "for a monitor", "clerk-*"), said["convoy"]["waited_s"] / seconds["convoy"], "threads")
    near(t, leads(t, reports["lock"], "locks", "for a java.util.concurrent lock", "cashier-*"), said["lock"]["waited_s"] / seconds["lock"],
         "threads")
    t.eq(leads(t, reports["deadlock"], "deadlock", "transfer-*", "for a monitor throughout"), 2, "threads")
    near(t, leads(t, reports["systemgc"], "induced-gc", "System.gc()"), said["systemgc"]["gcs"] / seconds["systemgc"], "collections a second",
         0.3)
    near(t, leads(t, reports["humongous"], "humongous"), said["humongous"]["gcs"] / seconds["humongous"], "collections a second", 0.3)
    near(t, leads(t, reports["leak"], "heap-growth", "the old generation grows"), said["leak"]["count"] / 1e6 / seconds["leak"], "MB/s", 0.5)
    near(t, leads(t, reports["metaspace"], "class-growth", "metaspace"), said["metaspace"]["count"] / seconds["metaspace"], "classes a second", 0.3)
    t.ok(3 < leads(t, reports["slow"], "waits", "for a socket", "client-*") <= 4.05, "four threads wait nearly all the time")
    idle = leads(t, reports["idle"], "idle", "s of CPU in ")
    t.ok(idle >= 98 and len(reports["idle"]["findings"]) == 1, f"{reports['idle']['findings']}")
