# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a JVM. programs/JvmDefects.java has a defect per mode; all of them run at once,
as people start them (no flags), one recording with the default profile takes them all, and each report is compared with what its
JVM counts itself (java.lang.management, its own clocks)."""
import os
import pathlib

from answers import alone, leads, measures, near, recorded, Witness

ALONE = True  # it measures time
TIMEOUT = 120
SECONDS = 3
MODES = ("convoy", "lock", "deadlock", "systemgc", "humongous", "leak", "metaspace", "slow", "idle")
SOURCE = pathlib.Path(__file__).parent / "programs" / "JvmDefects.java"


def compiled(t):
    classes = t.path("classes")
    os.makedirs(classes)
    t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, str(SOURCE)).rc, 0, "javac")
    return classes


def recorded_jvms(t):
    """mode -> (the report of its process, what it counted in between)."""
    java = (t.need("java"), "-Xmx512m", "-XX:+UseG1GC", "-cp", compiled(t), "JvmDefects")
    database = Witness(*java, "database")
    try:
        port = database.first()
        return recorded(t, {mode: (*java, mode, port) for mode in MODES}, SECONDS)
    finally:
        database.end()


@alone
def test_first_line_names_the_defect_of_each_jvm(t):
    answers = recorded_jvms(t)
    reports = {mode: report for mode, (report, _) in answers.items()}
    said = {mode: counted for mode, (_, counted) in answers.items()}
    seconds = {mode: counted["seconds"] for mode, counted in said.items()}
    # Each program counts from before the recording until after it, as long as that takes to begin and to end: on a busy machine twice as long,
    # in which it does more or less of what it does.
    near(t, leads(t, reports["convoy"], "locks", "for a monitor", "clerk-*"), said["convoy"]["waited_s"] / seconds["convoy"], "threads", 0.15)
    near(t, leads(t, reports["lock"], "locks", "for a java.util.concurrent lock", "cashier-*"), said["lock"]["waited_s"] / seconds["lock"],
         "threads", 0.15)
    t.eq(leads(t, reports["deadlock"], "deadlock", "transfer-*", "for a monitor throughout"), 2, "threads")
    near(t, leads(t, reports["systemgc"], "induced-gc", "System.gc()"), said["systemgc"]["gcs"] / seconds["systemgc"], "collections a second",
         0.3)
    near(t, leads(t, reports["humongous"], "humongous"), said["humongous"]["gcs"] / seconds["humongous"], "collections a second", 0.3)
    near(t, leads(t, reports["leak"], "heap-growth", "the old generation grows"), said["leak"]["count"] / 1e6 / seconds["leak"], "MB/s", 0.5)
    near(t, leads(t, reports["metaspace"], "class-growth", "metaspace"), said["metaspace"]["count"] / seconds["metaspace"], "classes a second", 0.3)
    waiting = leads(t, reports["slow"], "waits", "for a socket")
    # Whose functions are interpreted at first have no names: then the threads' is told.
    t.ok(any(name in str(reports["slow"]["findings"]) for name in ("client-*", "in JvmDefects")), f"{reports['slow']['findings']}")
    measures(t, 3 < waiting <= 4.05, f"four threads wait nearly all the time: {waiting}")
    idle = leads(t, reports["idle"], "idle", "s of CPU in ")
    t.ok(idle >= 98 and len(reports["idle"]["findings"]) == 1, f"{reports['idle']['findings']}")
