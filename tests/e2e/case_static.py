# SPDX-License-Identifier: GPL-2.0-or-later
"""build/tapir-static: one file that runs where there is nothing but /proc and /sys."""
import json
import os
import re
import shutil
import subprocess


def static(t):
    return os.path.join(os.path.abspath(t.build), "tapir-static")


def in_empty_root(t):
    """What goes before a command, in a root file system that has the program, /proc, /sys and an empty directory."""
    t.need("unshare", "mount", "chroot")
    root = t.path("root")
    for name in "", "proc", "sys", "out":
        os.makedirs(os.path.join(root, name), exist_ok=True)
    shutil.copy(static(t), os.path.join(root, "tapir"))
    mounts = f"mount --rbind /proc {root}/proc && mount --rbind /sys {root}/sys"
    return root, ("unshare", "-m", "sh", "-c", f'{mounts} && exec chroot {root} "$@"', "sh", "/tapir")


def test_it_has_no_interpreter_and_no_library(t):
    t.need("readelf")
    said = subprocess.run(["readelf", "-lW", "-d", static(t)], capture_output=True, text=True, check=True).stdout
    t.ok(not re.search(r"INTERP|NEEDED", said), said)


def test_events_and_samples_are_recorded_and_read_in_an_empty_root(t):
    root, before = in_empty_root(t)
    target = t.target("storm", "--wait-attached", 20000, 20000, 1)
    result = t.run(*before, "record", "storm:hit", "-g", "-p", target.pid, "-f", "-o", "/out/trace.tapir", timeout=60)
    t.eq(result.rc, 0, result.err)
    fired = json.loads(target.wait().out.splitlines()[-1])["fired"]
    t.eq(fired, 20000, "what the program fired")
    here = t.report(os.path.join(root, "out", "trace.tapir"))
    event = next(e for e in here["events"] if e["event"] == "hit")
    t.eq(event["captured"] + event["lost"], fired, "captured and lost")
    t.ok(event["captured"] > 0, f"{event}")
    there = json.loads(t.run(*before, "report", "--json", "/out/trace.tapir").out)
    for document in (there, here):
        del document["first_screen"]  # its commands name the file
    t.eq(there, here, "the same file, read by both")


def test_a_root_without_proc_is_named(t):
    root, _ = in_empty_root(t)
    for args in (("record", "-p", 1), ("ps",), ("list", "--all")):
        said = t.run("chroot", root, "/tapir", *args)
        t.ok(said.rc == 1 and said.err.startswith("tapir: cannot read /proc: No such file") and said.err.count("\n") == 1, said.err)


def test_what_it_lacks_is_reported(t):
    said = t.run(static(t), "symbolize", "--symbols", "http://127.0.0.1:9/", t.path("none.tapir"))
    t.eq(said.rc, 3, said.err)
    said_http = t.run(static(t), "serve")
    t.ok(said_http.rc == 3 and "cannot serve HTTP: requires libmicrohttpd" in said_http.err, said_http.err)
    t.ok("requires libcurl-gnutls.so.4, which a static tapir cannot load" in said.err, said.err)
