# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir ps: what can be recorded of which process."""
import json
import os

from dotnet_fire import start as start_fire


def listed(t, *args):
    """{pid: row} of tapir ps --json."""
    rows = t.tapir("ps", "--json", *args).json_lines()
    return {row["pid"]: row for row in rows}


def test_processes_are_listed_with_runtime_and_probes(t):
    python, sleep = t.need("/usr/bin/python3", "sleep")
    plain = t.start(sleep, "60")
    snake = t.start(python, "-c", "print('ready', flush=True); import time; time.sleep(60)")
    snake.wait_line("ready")
    storm = t.target("storm", "--wait", "1", "1", "1")
    ring = t.target("ringer", "--wait", "1")
    rows = listed(t)
    t.ok(plain.pid not in rows, f"a process with neither events nor probes: {rows.get(plain.pid)}")
    t.eq((rows[snake.pid]["runtime"], rows[snake.pid]["version"]), ("CPython", "3.11"), "the interpreter")
    sites = t.tapir("list", "-p", snake.pid, "python:*", "--json").json_lines()
    t.eq(rows[snake.pid]["probes"], len(sites), "its probes, by tapir list")
    t.eq((rows[storm.pid]["name"], rows[storm.pid]["runtime"]), ("storm", None), "a C program")
    t.eq(rows[storm.pid]["probes"], len(t.tapir("list", "-p", storm.pid, "storm:*", "--json").json_lines()), "its probes")
    t.ok(rows[ring.pid]["rings"], "a program with rings")
    t.eq(rows[ring.pid]["user"], "root", "its user")
    everything = listed(t, "--all")
    t.ok(plain.pid in everything and everything[plain.pid]["probes"] == 0, "--all lists the others, too")
    table = t.tapir("ps").out.splitlines()
    t.ok(table[0].split() == ["PID", "USER", "RUNTIME", "CONTAINER", "NAME", "RECORDS"], table[0])
    t.ok(any(line.split()[0] == str(snake.pid) and "CPython 3.11" in line for line in table), "\n".join(table))


def test_dotnet_and_jvm_are_recognized_by_what_they_map(t):
    java = t.need("java")
    with open(t.path("Sleeps.java"), "w", encoding="utf-8") as f:
        f.write('public class Sleeps { public static void main(String[] a) throws Exception '
                '{ System.out.println("ready"); Thread.sleep(60000); } }')
    jvm = t.start(java, "-Xmx64m", t.path("Sleeps.java"))
    fire = start_fire(t, "events=1")
    jvm.wait_line("ready", 40)
    rows = listed(t)
    release = t.run(java, "-version").err.split('"')[1]
    t.ok(rows[jvm.pid]["runtime"] == "OpenJDK" and rows[jvm.pid]["version"].startswith(release), str(rows[jvm.pid]))
    t.ok(rows[fire.pid]["runtime"] == ".NET" and rows[fire.pid]["events"], str(rows[fire.pid]))


def test_processes_of_others_are_counted_when_they_cannot_be_inspected(t):
    t.need("setpriv")
    t.need_others()
    result = t.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                   t.tapir_path, "ps", "--json")
    t.eq(result.rc, 0, result.err)
    t.ok("could not be inspected: run as root or with CAP_SYS_PTRACE" in result.err, result.err)
    t.ok(all(json.loads(line)["uid"] == 65534 for line in result.out.splitlines()), result.out[:500])
    t.ok(os.getpid() not in [json.loads(line)["pid"] for line in result.out.splitlines()], "a process of root")
