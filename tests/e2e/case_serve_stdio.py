# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir serve --stdio: the agent of one program, which has started it and speaks with it by frames."""
import json
import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stdio_agent.py")


def test_agent_of_a_program_serves_it_alone_and_ends_with_its_input(t):
    ran = t.run(sys.executable, PROGRAM, os.path.join(t.build, "tapir-static"), timeout=90)
    t.eq(ran.rc, 0, ran.err)
    t.eq(json.loads(ran.out), {
        "root": [303, True], "links": ["debug"], "script root": True, "strange root": True, "others": [404], "others listed": True,
        "no token": 403, "another site": 403, "begun": [201, True], "beside it": 200, "cancelled": True, "after it": 200,
        "processes": True, "exit": 0, "left": [], "no frame": 0}, "what the program saw")


def test_other_options_are_refused_beside_it(t):
    for option in ("--listen", "127.0.0.1:0"), ("--state", "memory"), ("--continuous", "8"), ("--config", "/nowhere"):
        said = t.run(t.tapir_path, "serve", "--stdio", *option)
        t.ok(said.rc == 2 and "--stdio" in said.err, f"{option}: {said.rc} {said.err}")
