# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's pages in a headless Chromium: a person signs in, watches a counter, records by a click, downloads."""
import json
import os

from serve_agent import Server
from dotnet_program import build_dotnet
from npm_package import npm_package

CHECK_SERVE = {"test_person_walks_through_the_pages"}
TIMEOUT = 300
PLAYWRIGHT = "playwright-core@1.65.1"
HERE = os.path.dirname(os.path.abspath(__file__))


def test_person_walks_through_the_pages(t):
    node, chromium = t.need("node", "chromium")
    playwright = npm_package(t, PLAYWRIGHT)
    program = t.start("sh", "-c", 'sleep 300 | "$0" exceptions', build_dotnet(t, "Defects"))
    pid = program.wait_line("ready ").split()[1]
    server = Server(t)
    shots = os.environ.get("TAPIR_SHOTS") or t.path("shots")
    os.makedirs(shots, exist_ok=True)
    result = t.run(node, os.path.join(HERE, "programs", "agent_walk.js"), playwright, chromium, server.address, server.token,
                   pid, shots, timeout=240, env={**os.environ, "HOME": t.tmp, "TMPDIR": t.tmp})
    t.eq(result.rc, 0, f"the walk: {result.err[-800:]}")
    seen = json.loads(result.out)
    t.eq(seen["problems"], [], "what the browser complained of")
    t.eq((seen["cookies"], seen["readable"]), ([{"httpOnly": True, "sameSite": "Strict"}], ""), "cookies")
    t.ok("exception-count" in seen["charts"], f"charts: {seen['charts']}")
    t.ok("System.FormatException" in seen["findings"], seen["findings"][:300])
    t.ok(seen["download"].endswith(".speedscope.json"), seen["download"])
    with open(os.path.join(shots, "download"), "rb") as file:
        t.ok(json.load(file)["$schema"].startswith("https://www.speedscope.app"), "a speedscope file")
    t.eq(seen["frame"], "SecurityError", "the flame graph's script reaches no cookie")
    t.eq({path: width for path, width in seen["widths"].items() if width > 360}, {}, "pages wider than a telephone")
