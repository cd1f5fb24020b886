# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of the Model Context Protocol with a test program: each tool's result is the command's own."""
import json
import subprocess


def session(t, *messages):
    """Answers by id."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    done = subprocess.run([t.tapir_path, "mcp"], input=lines, capture_output=True, text=True, timeout=60, check=False)
    t.eq((done.returncode, done.stderr), (0, ""), "status and stderr")
    return {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}


def tool(nr, name, **arguments):
    return {"id": nr, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def text(answer):
    return answer["result"]["content"][0]["text"]


def test_a_session_finds_what_a_program_does(t):
    program = t.target("burner", 20000)
    answers = session(
        t, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                        "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"}, tool(2, "processes"),
        tool(3, "record", pid=program.pid, seconds=1), tool(4, "report", recording="r1"),
        tool(5, "view", view="cpu"), tool(6, "stacks", pid=program.pid), tool(7, "record", pid=2**22 + 5),
        tool(8, "view", view="nonsense"))
    t.eq(answers[1]["result"]["serverInfo"]["name"], "tapir", "initialize")
    ours = [row for row in map(json.loads, text(answers[2]).splitlines()) if row["pid"] == program.pid]
    t.ok(len(ours) <= 1, f"a line a process: {ours}")
    brief, report = json.loads(text(answers[3])), json.loads(text(answers[4]))
    t.eq((brief["recording"], brief["findings"]), ("r1", report["findings"]), "findings are the report's")
    t.ok(report["functions"] and report["processes"][0]["pid"] == program.pid, f"it burns a CPU: {report['headline']}")
    t.ok(json.loads(text(answers[5])), "a view")
    t.ok(json.loads(text(answers[6]))["groups"], "stacks")
    t.ok(answers[7]["result"]["isError"] and "does not exist" in text(answers[7]), text(answers[7]))
    t.ok(answers[8]["result"]["isError"] and "'nonsense' is not one of cpu, gc" in text(answers[8]), text(answers[8]))
    program.kill()
