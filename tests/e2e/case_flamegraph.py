# SPDX-License-Identifier: GPL-2.0-or-later
"""The flame graph: well-formed, complete, and as wide as the events say."""
import re
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def record(t, *options):
    file = t.path("trace.tapir")
    t.tapir("record", "depth:hit", "-f", "-o", file, *options, "--", t.target_path("depth"), 10, 50)
    return file


def frames(text):
    """Function -> (events, percent) as the picture's tooltips say."""
    found = {}
    for title in xml.fromstring(text).iter(f"{SVG}title"):
        name, cnt, share = re.fullmatch(r"(.*) \((\d+) events, ([\d.]+) %\)", title.text).groups()
        found[name] = (int(cnt), float(share))
    return found


def test_every_function_is_drawn_when_the_depth_is_known(t):
    file, svg = record(t, "--stack"), t.path("out.svg")
    t.tapir("flamegraph", file, "-o", svg)
    with open(svg, encoding="utf-8") as f:
        found = frames(f.read())
    for name in ["bottom", "fire_at", "main"] + [f"d{i}" for i in range(1, 11)]:
        t.eq(found.get(name), (50, 100.0), f"events below {name}")
    t.eq(t.tapir("flamegraph", file).out, open(svg, encoding="utf-8").read(), "the same on stdout")


def test_events_and_processes_are_chosen(t):
    file = record(t, "--stack")
    pid = t.events(file)[0]["pid"]
    t.eq(frames(t.tapir("flamegraph", file, "--event", "hit", "--pid", pid).out)["all"][0], 50, "events")
    for options in (("--event", "nothing"), ("--pid", 1)):
        result = t.tapir("flamegraph", file, *options, expect=1)
        t.ok("has no stacks" in result.err, result.err)


def test_file_without_stacks_says_how_to_have_them(t):
    result = t.tapir("flamegraph", record(t), expect=1)
    t.ok("record with --stack" in result.err, result.err)


def test_script_is_valid_javascript(t):
    node = t.need("node")
    text = t.tapir("flamegraph", record(t, "--stack")).out
    script = t.path("script.js")
    with open(script, "w", encoding="utf-8") as f:
        f.write(xml.fromstring(text).find(f"{SVG}script").text)
    t.eq((t.run(node, "--check", script).rc), 0, "node --check")
