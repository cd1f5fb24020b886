# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of the Model Context Protocol with a test program: each tool's result is the command's own, and a client that changes
its mind, goes, or says what is no message is served for what it is."""
import json
import os
import signal
import subprocess
import time

from harness import PATIENCE


def session(t, *messages):
    """Answers by id."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    done = subprocess.run([t.tapir_path, "mcp"], input=lines, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    t.eq((done.returncode, done.stderr), (0, ""), "status and stderr")
    return {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}


def tool(nr, name, **arguments):
    return {"id": nr, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def text(answer):
    return answer["result"]["content"][0]["text"]


def test_a_session_finds_what_a_program_does(t):
    program = t.target("burner", 60000)
    answers = session(
        t, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                        "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"}, tool(2, "processes"),
        tool(3, "record", pid=program.pid, seconds=1), tool(4, "report", recording="r1"),
        tool(5, "view", view="cpu"), tool(6, "stacks", pid=program.pid), tool(7, "record", pid=2**22 + 5),
        tool(8, "view", view="nonsense"), tool(9, "top", pid=program.pid, seconds=0.5), tool(10, "requests", top=3),
        tool(11, "view", view="requests", top=3))
    t.eq(answers[1]["result"]["serverInfo"]["name"], "tapir", "initialize")
    ours = [row for row in map(json.loads, text(answers[2]).splitlines()) if row["pid"] == program.pid]
    t.ok(len(ours) <= 1, f"a line a process: {ours}")
    brief, report = json.loads(text(answers[3])), json.loads(text(answers[4]))
    t.eq((brief["recording"], brief["findings"]), ("r1", report["findings"]), "findings are the report's")
    t.ok(brief["first_screen"] == report["first_screen"] and brief["first_screen"].startswith(f"burner ({program.pid}) · "), brief["first_screen"])
    t.ok(report["functions"] and report["processes"][0]["pid"] == program.pid, f"it burns a CPU: {report['headline']}")
    t.ok(json.loads(text(answers[5])), "a view")
    t.ok(json.loads(text(answers[6]))["groups"], "stacks")
    t.eq([row["pid"] for row in json.loads(text(answers[9]))["processes"]], [program.pid], "what it uses now")
    t.eq(json.loads(text(answers[10])), json.loads(text(answers[11])), "requests are their view")
    t.eq(json.loads(text(answers[10]))["view"], "requests", "requests")
    t.ok(answers[7]["result"]["isError"] and "does not exist" in text(answers[7]), text(answers[7]))
    t.ok(answers[8]["result"]["isError"] and "'nonsense' is not one of cpu, gc" in text(answers[8]), text(answers[8]))
    program.kill()


class Client:
    """Of a tapir mcp that is still running."""

    def __init__(self, t):
        self.t = t
        self.child = subprocess.Popen([t.tapir_path, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def send(self, *messages):
        for message in messages:
            self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.child.stdin.flush()

    def take(self):
        return json.loads(self.child.stdout.readline())

    def take_answer(self):
        while "id" not in (answer := self.take()):
            pass  # how far a call is
        return answer

    def commands(self):
        """Process ids of the tools that run."""
        found = []
        for tid in os.listdir(f"/proc/{self.child.pid}/task"):
            try:
                with open(f"/proc/{self.child.pid}/task/{tid}/children", encoding="ascii") as file:
                    found += file.read().split()
            except FileNotFoundError:
                pass  # a thread that has ended
        return found

    def until_recording(self):
        """Until the tool has begun to write, so that it has attached."""
        end = time.monotonic() + 30 * PATIENCE
        while not any(b"record" in _command_line(pid) for pid in self.commands()):
            self.t.ok(time.monotonic() < end, "it records")
            time.sleep(0.05)
        return self.commands()

    def close(self):
        self.child.kill()
        self.child.wait()
        for pipe in self.child.stdin, self.child.stdout, self.child.stderr:
            try:
                pipe.close()
            except OSError:
                pass  # what was not sent


def _command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def until_ended(t, pids, seconds=10):
    end = time.monotonic() + seconds * PATIENCE
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        t.ok(time.monotonic() < end, f"tools that are still running: {pids}")
        time.sleep(0.02)


def test_two_recordings_are_compared(t):
    program, client = t.target("burner", 60000), Client(t)
    try:
        for at in range(2):
            client.send(tool(at, "record", pid=program.pid, seconds=0.5))
            t.eq(json.loads(text(client.take_answer()))["recording"], f"r{at + 1}", "a recording")
        client.send(tool(2, "diff", first="r1"))
        change = json.loads(text(client.take_answer()))
        t.eq(change["view"], "diff", "the latest with an earlier one")
        t.ok(change["notes"][0].startswith("first: the first recording, ") and change["notes"][1].startswith("second: the second recording, "), change["notes"])
        t.ok(change["compared"] > 0, f"figures of both: {change}")
        client.send(tool(3, "diff", first="r2", recording="r1"))
        back = json.loads(text(client.take_answer()))
        t.eq((back["first_span_ns"], back["second_span_ns"]), (change["second_span_ns"], change["first_span_ns"]), "the other way round")
        for arguments, why in (({"first": "r9"}, "no such recording"), ({"recording": "r1"}, "first is not given"),
                               ({"first": "/etc/passwd"}, "first is not the name of a recording")):
            client.send(tool(4, "diff", **arguments))
            t.ok(why in client.take_answer()["error"]["message"], f"{arguments}: {why}")
    finally:
        client.close()


def test_others_are_answered_while_a_recording_is_made_and_cancelled(t):
    program, client = t.target("burner", 60000), Client(t)
    try:
        long = tool(1, "record", pid=program.pid, seconds=120)
        long["params"]["_meta"] = {"progressToken": "how long"}
        client.send(long)
        pids = client.until_recording()
        client.send({"id": 2, "method": "ping"}, tool(3, "stacks", pid=program.pid))
        answers, progress = [], []  # how far it is comes now and then
        while len(answers) < 2 or not progress:
            one = client.take()
            (answers if "id" in one else progress).append(one)
        t.eq(sorted(one["id"] for one in answers), [2, 3], "answers")
        t.eq({(one["method"], one["params"]["progressToken"]) for one in progress}, {("notifications/progress", "how long")}, "how far it is")
        # Two at a time, and what reads one waits for both.
        begun = time.monotonic()
        client.send(*(tool(nr, "record", pid=program.pid, seconds=0.3) for nr in (4, 5)), tool(6, "findings", recording="r2"))
        said = [client.take_answer() for _ in range(3)]
        # Once r2 is there, its reader may overtake the answer of the call that made it.
        t.ok(sorted(one["id"] for one in said) == [4, 5, 6] and said[0]["id"] != 6, f"their order: {[one['id'] for one in said]}")
        t.eq(sorted(json.loads(text(one))["recording"] for one in said), ["r1", "r2", "r2"], "which recordings")
        client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        until_ended(t, pids)
        t.ok(time.monotonic() - begun < 100, "it ended early")
        client.send({"id": 7, "method": "ping"})
        t.eq(client.take_answer()["id"], 7, "a call that was cancelled has no answer")
    finally:
        client.close()


def test_tools_end_with_their_client(t):
    program = t.target("burner", 60000)
    for how in "gone", "SIGTERM", "SIGKILL":
        client = Client(t)
        client.send(tool(1, "record", pid=program.pid, seconds=120))
        pids = client.until_recording()
        if how == "gone":
            client.child.stdin.close()
            client.child.stdout.close()
        else:
            client.child.send_signal(getattr(signal, how))
        t.eq(client.child.wait(15 * PATIENCE), {"SIGKILL": -signal.SIGKILL}.get(how, 0), how)
        until_ended(t, pids)
        t.eq(client.child.stderr.read(), "", f"stderr, {how}")
    t.ok(program.child.poll() is None, "the program is still running")


def test_long_and_many_messages_are_answered(t):
    client = Client(t)
    try:
        client.child.stdin.write("x" * 3_000_000 + "\n")
        client.send({"id": 1, "method": "ping"})
        said = [client.take(), client.take()]
        t.eq(sorted((one.get("error", {}).get("code", 0), str(one["id"])) for one in said), [(-32700, "None"), (0, "1")], "a message of 3 MB")
        client.send(*({"id": nr, "method": "ping"} for nr in range(500)))
        t.eq(sorted(client.take()["id"] for _ in range(500)), list(range(500)), "all of many")
        client.child.stdin.write('{"jsonrpc": "2.0", "id": "last", "method": "ping"}')
        client.child.stdin.close()
        t.eq((client.take()["id"], client.child.wait(10 * PATIENCE)), ("last", 0), "a last line without an end")
    finally:
        client.close()
