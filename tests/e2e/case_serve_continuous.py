# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir serve --continuous: what a trigger, a request or a signal freezes becomes a session of the agent."""
import json
import os
import signal

from serve_agent import Server, children, until, write_config
from case_serve_pages import tokens_file

CHECK_SERVE = {"test_frozen_files_are_sessions", "test_finding_is_a_trigger", "test_recorder_that_was_killed_begins_again"}


def start_server(t, *options, **members):
    config = write_config(t, {"continuous": {"comms": ["burner"], "window_s": 3, "cooldown_s": 0, **members}})
    return Server(t, "--config", config, "--continuous", "16", *options)


def sessions(server, **options):
    return server.json("/v1/sessions", **options)["sessions"]


def freeze(server, expect=202, **options):
    return server.json("/v1/continuous/freeze", expect, method="POST", **options)


def wait_recording(t, server):
    """Until the last part has something: its child can be asked."""
    until(t, lambda: server.json("/v1/continuous")["recording"], "a recording")


def test_frozen_files_are_sessions(t):
    """One per cause, at most max_files of each owner, each a recording of what the target did before; in memory as on a disk."""
    target, victim = t.target("burner", 60000), t.target("burner", 60000)
    tokens = [{"name": role, "role": role, "token": role * 8} for role in ("view", "profile", "admin")]
    path = tokens_file(t, tokens)
    # distance_s: the former name of cooldown_s, which works for a version.
    config = {"comms": ["burner"], "window_s": 3, "distance_s": 0, "max_files": 1, "frequency": 99, "triggers": ["exit=failed"]}
    for state in ("directory", "memory"):
        options = ("--state", "memory") if state == "memory" else ()
        server = Server(t, "--config", write_config(t, {"continuous": config, "tokens_file": path}), "--continuous", "16", *options)
        server.token = "admin" * 8
        until(t, lambda: os.path.exists(f"/proc/{server.pid}") and server.json("/v1/continuous")["recording"], "a recording")
        freeze(server, 403, token="view" * 8)

        def has_file(why, role="admin"):
            freeze(server, token=role * 8) if why == "HTTP" and not found(why, role) else None
            return bool(found(why, role))

        def found(why, role="admin"):
            return [s for s in sessions(server, token=role * 8) if why in s["target"]]

        until(t, lambda: has_file("HTTP", "profile"), "the file that a request asked for")
        t.eq(sessions(server, token="view" * 8), [], "the sessions of another one")
        frozen = found("HTTP", "profile")[-1]
        t.eq((frozen["owner"], frozen["state"]), ("profile", "finished"), "its owner and state")
        os.kill(server.pid, signal.SIGUSR2)
        until(t, lambda: found("SIGUSR2"), "the file of a signal")
        trace = t.path(f"{state}.tapir")
        with open(trace, "wb") as file:
            file.write(server.ask(f"/v1/sessions/{found('SIGUSR2')[-1]['id']}/trace")[2])
        rows = t.tapir("report", "--json", trace).json_lines()
        t.ok(any("burn_much" in json.dumps(row) for row in rows), "what the target did is in it")
        if state == "directory":
            victim.signal(signal.SIGKILL)
            until(t, lambda: found("exit=failed"), "the file of an exit")
            t.eq(sorted(s["owner"] for s in sessions(server)), ["", "profile"], "files that are kept: the newest of each")
            t.eq(sorted(name for name in os.listdir(server.state) if name.endswith(".tapir")),
                 sorted(s["id"] + ".tapir" for s in sessions(server)), "files of the directory")
        else:
            t.eq(sorted(name for name in os.listdir(server.state) if name.endswith(".tapir")), sorted(kept), "no file of an agent in memory")
        kept = [s["id"] + ".tapir" for s in sessions(server)] if state == "directory" else []
        server.process.signal(signal.SIGTERM)
        t.eq(server.process.wait().rc, 0, "the end of the agent")
    t.ok(os.path.exists(f"/proc/{target.pid}"), "the target is still there")


def test_finding_is_a_trigger(t):
    target = t.target("burner", 60000)
    server = start_server(t, triggers=["finding>=1"], frequency=99)
    until(t, lambda: [s for s in sessions(server) if s["target"].startswith("continuous: finding (")], "a file of a finding", seconds=40)
    t.ok(os.path.exists(f"/proc/{target.pid}"), "the target is still there")
    t.ok("no severity" in t.tapir("record", "--continuous", "16", "--trigger", "finding>3", "-p", target.pid, expect=2).err, "a wrong severity")


def test_recorder_that_was_killed_begins_again(t):
    t.target("burner", 60000)
    server = start_server(t)
    wait_recording(t, server)
    front, recorder = children(server.pid)
    os.kill(recorder, signal.SIGKILL)
    until(t, lambda: not os.path.exists(f"/proc/{recorder}"), "its end")
    until(t, lambda: [pid for pid in children(server.pid) if pid not in (front, recorder)], "another one")
    until(t, lambda: freeze(server) and sessions(server), "a file of the next one", seconds=40)


def test_nothing_is_frozen_where_nothing_is_recorded(t):
    server = Server(t)
    freeze(server, 404)
    t.eq(server.json("/v1/continuous")["recording"], False, "no recording")
    os.kill(server.pid, signal.SIGUSR2)  # of one that records: harmless here
    server.json("/healthz")
    config = write_config(t, {"continuous": {"mb": 16, "triggers": ["finding>x"]}})
    t.ok("no severity" in t.tapir("serve", "--config", config, "--listen", "127.0.0.1:0", "--state", t.path("other"), expect=2).err, "a wrong trigger")
