# SPDX-License-Identifier: GPL-2.0-or-later
"""The flame graph: well-formed, complete, as wide as the events say; and what it does in a browser."""
import re
import xml.etree.ElementTree as xml

from browser import open_browser
from harness import EVENTS_ONLY

CHECK_LONG = {"test_picture_is_bounded_when_stacks_are_deep_and_many",
              "test_header_and_root_are_in_sight_when_the_page_opens_and_is_scrolled",
              "test_search_marks_what_matches_and_says_the_share_when_typed",
              "test_text_fits_its_frame_when_the_window_is_1200_wide"}

SVG = "{http://www.w3.org/2000/svg}"


def record(t, *options):
    file = t.path("trace.tapir")
    t.tapir("record", "depth:hit", *EVENTS_ONLY, "-f", "-o", file, *options, "--", t.target_path("depth"), 10, 50)
    return file


def frames(text):
    """Function -> (events, percent) as the picture's tooltips say."""
    found = {}
    for group in xml.fromstring(text).iter(f"{SVG}g"):
        if group.get("class") == "f":
            name, said = group.find(f"{SVG}title").text.split("\n")
            cnt, share = re.match(r"([\d,]+) \w+ \(([\d.]+) %\)", said).groups()
            found[name] = (int(cnt.replace(",", "")), float(share))
    return found


def made(t, *options):
    """A recording that nobody recorded; tests/bench/make_trace says what is in it."""
    file = t.path("made.tapir")
    t.eq(t.run(f"{t.build}/tests/bench/make_trace", file, *options).rc, 0, "make_trace")
    return file


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
    t.eq(frames(t.tapir("flamegraph", "--pid", file).out)[f"depth ({pid})"], (50, 100.0), "a frame a process")
    for options, reason in ((("--event", "nothing"), "has no stacks"), (("--pid", 1), "process 1 is not in")):
        result = t.tapir("flamegraph", file, *options, expect=1)
        t.ok(reason in result.err, result.err)


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


# ---- in a browser ---------------------------------------------------------------------------

FACTS = """
return [...document.querySelectorAll("g.f")].map(g => {
    const [title, rect, text] = g.children, [name, said] = title.textContent.split("\\n");
    const [start, weight, depth] = g.dataset.at.split(" ").map(Number), box = rect.getBoundingClientRect();
    return {name, said, start, weight, depth, label: text.textContent, hit: g.classList.contains("hit"),
            shown: getComputedStyle(g).display !== "none", x: box.x, y: box.y, width: box.width,
            colour: getComputedStyle(rect).fill, text_width: text.getComputedTextLength()};
});
"""


def open_graph(t, file, *options):
    svg = t.path("graph.svg")
    t.tapir("flamegraph", file, "-f", "-o", svg, *options)
    browser = open_browser(t)
    browser.open(svg)
    return browser


def click(browser, frame):
    browser.click(frame["x"] + frame["width"] / 2, frame["y"] + 8)


PLACES = """
const [head, all] = [document.getElementById("head"), document.querySelector("g.f rect")].map(e => e.getBoundingClientRect());
return {scrolled: scrollY, window: innerHeight, page: document.documentElement.scrollHeight, head: head.top, foot: head.bottom,
        all: all.top, last: Math.max(...[...document.querySelectorAll("g.f rect")].map(r => r.getBoundingClientRect().bottom))};
"""


def test_header_and_root_are_in_sight_when_the_page_opens_and_is_scrolled(t):
    svg = t.path("graph.svg")
    t.tapir("flamegraph", made(t, "--samples", 3000, "--stacks", 40, "--depth", 60), "-o", svg)
    for width, height in (1400, 900), (1000, 600):
        browser = open_browser(t, width, height)
        browser.open(svg)
        seen = browser.js(PLACES)
        t.ok(seen["page"] > seen["window"], f"there is more than a page: {seen}")
        t.eq((seen["scrolled"], seen["head"]), (0, 0), f"the page opens at its top, with the header: {seen}")
        t.ok(seen["foot"] <= seen["all"] <= seen["foot"] + 20, f"the root is right below it: {seen}")
        browser.js("scrollTo(0, 1e6); dispatchEvent(new Event('scroll'))")
        seen = browser.js(PLACES)
        t.ok(abs(seen["head"]) < 1 and seen["window"] - 40 < seen["last"] <= seen["window"], f"scrolled to the end: {seen}")
        browser.close()


def test_click_zooms_in_and_escape_out_when_it_is_open_in_a_browser(t):
    browser = open_graph(t, made(t, "--samples", 3000, "--stacks", 40, "--depth", 10))
    before = browser.js(FACTS)
    full = before[0]["width"]
    t.eq((before[0]["name"], before[0]["weight"]), ("all", 3000), "the root")
    t.ok(1170 < full <= 1200, f"the root is as wide as the window: {full}")
    for frame in before:
        t.ok(not frame["shown"] or abs(frame["width"] - full * frame["weight"] / 3000) < 1.5, f"width of {frame}")
    chosen = max((f for f in before if f["depth"] == 6 and f["weight"] < 2000), key=lambda f: f["weight"])
    end = chosen["start"] + chosen["weight"]
    click(browser, chosen)
    after = browser.js(FACTS)
    for old, frame in zip(before, after):
        inside = frame["start"] < end and frame["start"] + frame["weight"] > chosen["start"]
        above = frame["depth"] < chosen["depth"] and inside
        if frame["depth"] <= chosen["depth"]:
            t.eq(frame["shown"], inside, f"{frame['name']} shown")
        elif not inside:
            t.eq(frame["shown"], False, f"{frame['name']} of another caller")
        if above or (frame["start"], frame["depth"]) == (chosen["start"], chosen["depth"]):
            t.ok(abs(frame["width"] - full) < 1, f"{frame['name']} has the whole width: {frame['width']}")
        elif frame["shown"]:
            t.ok(frame["width"] >= old["width"] - 1, f"{frame['name']} grew")
    t.ok(sum(f["shown"] for f in after) < sum(f["shown"] for f in before), "siblings are hidden")
    browser.keys("\ue00c")  # Escape
    t.eq(browser.js(FACTS), before, "all again")
    browser.close()


def test_search_marks_what_matches_and_says_the_share_when_typed(t):
    browser = open_graph(t, made(t, "--samples", 3000, "--stacks", 40, "--depth", 10))
    browser.keys("/method[0-9]*[05]$")
    after = browser.js(FACTS)
    hits = [f for f in after if f["hit"]]
    t.eq([f["name"] for f in after if re.search(r"method[0-9]*[05]$", f["name"])], [f["name"] for f in hits], "marked")
    t.ok(hits and len({f["colour"] for f in hits}) == 1, "in one colour")
    t.ok(hits[0]["colour"] not in {f["colour"] for f in after if not f["hit"]}, "which no other frame has")
    covered = set()
    for f in hits:
        covered.update(range(f["start"], f["start"] + f["weight"]))
    said = browser.js("return document.getElementById('found').textContent")
    t.eq(said, f"matched: {100 * len(covered) / 3000:.2f} % of all, {len(covered):,} samples in {len(hits)} frames", "said")
    browser.keys("[")
    t.ok(browser.js("return document.getElementById('query').classList.contains('bad')"), "no regular expression")
    browser.keys("\ue00c")
    t.eq(sum(f["hit"] for f in browser.js(FACTS)), 0, "marked after Escape")
    browser.close()


def test_text_fits_its_frame_when_the_window_is_1200_wide(t):
    browser = open_graph(t, made(t, "--samples", 3000, "--stacks", 40, "--depth", 10))
    seen = browser.js(FACTS)
    labelled = [f for f in seen if f["label"]]
    t.ok(len(labelled) > 20, f"{len(labelled)} frames with a label")
    for f in labelled:
        t.ok(f["text_width"] <= f["width"] - 3, f"{f['label']!r} is {f['text_width']:.0f} px in {f['width']:.0f}")
        t.ok(f["name"].startswith(f["label"].rstrip("\u2026")), f"{f['label']!r} of {f['name']!r}")
    browser.move(seen[1]["x"] + 5, seen[1]["y"] + 8)
    about = browser.js("return document.getElementById('about').textContent")
    t.ok(seen[1]["name"] in about and seen[1]["said"] in about, f"the line about the frame: {about}")
    t.ok(len(browser.screenshot(t.path("shot.png"))) > 10000, "a screenshot")
    browser.close()


LOOKS = """
const style = e => getComputedStyle(e), all = document.querySelector("g.f rect").getBoundingClientRect();
return {inner: innerWidth, page: document.documentElement.scrollWidth, all: all.right,
        back: style(document.querySelector("svg > .wide")).fill, head: style(document.querySelector("#head > .wide")).fill,
        texts: [...document.querySelectorAll("#head text")].filter(e => e.getBoundingClientRect().width)
            .map(e => [e.textContent, e.getBoundingClientRect().right, style(e).fill]),
        query: document.getElementById("query").getBoundingClientRect().left};
"""


def test_picture_is_dark_and_narrow_where_its_reader_is(t):
    browser = open_graph(t, made(t, "--samples", 3000, "--stacks", 40, "--depth", 10))

    def light(colour):
        return sum(map(int, re.findall(r"[0-9]+", colour)[:3])) / 3

    for width, scheme in (375, "dark"), (1100, "dark"), (375, "light"):
        browser.emulate(width, 700, scheme)
        browser.js("dispatchEvent(new Event('resize'))")
        seen = browser.js(LOOKS)
        t.eq((seen["inner"], seen["page"]), (width, width), f"{width} {scheme}: its width: {seen}")
        t.ok(width - 12 < seen["all"] <= width and seen["query"] >= 0, f"{width} {scheme}: the root and the search: {seen}")
        for text, right, colour in seen["texts"]:
            t.ok(right <= width, f"{width} {scheme}: {text!r} ends at {right}")
            t.ok((light(colour) > 128) == (scheme == "dark"), f"{width} {scheme}: {text!r} is {colour}")
        for part in "back", "head":
            t.ok((light(seen[part]) < 60) == (scheme == "dark"), f"{width} {scheme}: {part} is {seen[part]}")
    browser.close()


def test_hostile_names_are_only_text_when_drawn(t):
    file, svg = made(t, "--samples", 3000, "--stacks", 200, "--depth", 12, "--hostile"), t.path("graph.svg")
    t.tapir("flamegraph", file, "--pid", "-o", svg)
    names = frames(open(svg, encoding="utf-8").read())
    for name in ("<script>alert(1)</script>", "]]>", "a\"b'c&d", "\ufffdreversed", "\ufffd" * 4, "\u6f22\u5b57" * 2):
        t.ok(name in names, f"{name!r} in {list(names)[:40]}")
    t.eq(max(map(len, names)), 512, "the longest name")
    browser = open_graph(t, file, "--pid")
    t.eq(browser.js("return [document.querySelectorAll('script').length, document.images.length]"), [1, 0], "elements")
    t.eq(browser.js("return performance.getEntriesByType('resource').length"), 0, "what was fetched")
    for f in browser.js(FACTS):
        t.ok(not f["shown"] or f["text_width"] <= f["width"], f"{f['label']!r} fits")
    browser.close()


def test_picture_is_bounded_when_stacks_are_deep_and_many(t):
    svg = t.path("graph.svg")
    t.tapir("flamegraph", made(t, "--samples", 100000, "--stacks", 100000, "--depth", 127), "-o", svg)
    text = open(svg, encoding="utf-8").read()
    cnt = text.count('<g class="f"')
    t.ok(1 < cnt <= 20000, f"{cnt} frames")
    t.ok(len(text) < 20e6, f"{len(text)} bytes")
    t.ok(re.search(r"[\d,]{6,} narrow frames left out", text), "and says what is left out")
    browser = open_browser(t)
    browser.open(svg)
    t.eq(browser.js("return document.querySelectorAll('g.f').length"), cnt, "frames in the browser")
    browser.close()
