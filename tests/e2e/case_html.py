# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir html: a page in a headless Chromium shows of a recording of the corpus what the other readers print of it."""
import json
import pathlib
import re

from browser import open_browser

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
DOTNET, PYTHON = CORPUS / "dotnet-convoy-and-slow.tapir", CORPUS / "python-full-queue.tapir"
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "data" / "golden-v1.tapir"

TABLE = """
const box = document.querySelector(`[data-table="${arguments[0]}"]`), keys = [...box.querySelectorAll("th")].map(th => th.dataset.key);
const more = box.querySelector(".controls button");
if (!more.hidden)
    more.click();
return [...box.querySelectorAll("tbody tr")].map(tr => Object.fromEntries([...tr.cells].map((td, i) => [keys[i], td.textContent])));
"""
FRAMES = """
return [...document.querySelectorAll(".frame")].map(e => ({name: e.call.name, total: e.call.total, hit: e.classList.contains("hit"),
    x: e.getBoundingClientRect().x, y: e.getBoundingClientRect().y, width: e.getBoundingClientRect().width}));
"""
SET = """
const e = document.getElementById(arguments[0]);
if (e.type === "checkbox")
    e.checked = arguments[1];
else
    e.value = arguments[1];
e.dispatchEvent(new Event(e.type === "search" ? "input" : "change"));
"""


def show(t, browser, file, *options):
    out = t.path("page.html")
    t.tapir("html", file, "-f", "-o", out, *options)
    browser.open(out)
    t.eq(browser.js("return document.documentElement.dataset.ready"), "yes", "the scripts ran, so their hashes are permitted")
    return browser


def rows(t, file, sql):
    return json.loads(t.tapir("query", file, sql, "--json").out)


def number(text):
    return int(text.replace(",", ""))


def look_at_tables(t, browser):
    show(t, browser, DOTNET)
    events = {row["event"]: number(row["count"]) for row in browser.js(TABLE, "events")}
    t.eq(events, {row["name"]: row["cnt"] for row in rows(
        t, DOTNET, "SELECT provider || ':' || event AS name, count(*) AS cnt FROM events GROUP BY 1")}, "events of each kind")
    samples = {int(row["tid"]): number(row["samples"]) for row in browser.js(TABLE, "threads")}
    t.eq({tid: cnt for tid, cnt in samples.items() if cnt},
         {row["tid"]: row["cnt"] for row in rows(t, DOTNET, "SELECT tid, count(*) AS cnt FROM samples GROUP BY tid")}, "samples of each thread")
    t.eq(len(browser.js(TABLE, "findings")), len(json.loads(t.tapir("report", DOTNET, "--json").out)["findings"]), "findings")
    first = browser.js("return document.getElementById('screen').textContent")
    t.ok("waits for locks" in first and "Defects.Reserve()" in first, first)
    sql = "SELECT count(*) AS cnt FROM samples WHERE time_ns - (SELECT min(time_ns) - min(time_s) * 1e9 FROM samples) BETWEEN 5e8 AND 1e9"
    browser.js(SET, "from", "0.5")
    browser.js(SET, "until", "1")
    t.eq(browser.js(FRAMES)[0]["total"], rows(t, DOTNET, sql)[0]["cnt"], "samples from 0.5 s to 1 s")


def search_and_zoom(t, browser):
    show(t, browser, DOTNET)
    all_cnt = browser.js(FRAMES)[0]["total"]
    browser.keys("/Reserve")
    hits = [f for f in browser.js(FRAMES) if f["hit"]]
    t.eq([f["name"] for f in hits], [f["name"] for f in browser.js(FRAMES) if re.search("Reserve", f["name"])], "marked")
    t.ok(hits, "a function is found")
    found = browser.js("return document.getElementById('found').value")
    t.ok(f"{sum(f['total'] for f in hits)} samples" in found, found)
    browser.js("document.getElementById('stacks').scrollIntoView(); document.querySelector('.frame.hit').focus()")
    browser.keys("\ue007")
    frames = browser.js(FRAMES)
    zoomed = next(f for f in frames if f["name"] == hits[0]["name"])
    t.eq(zoomed["width"], frames[0]["width"], "as wide as all")
    browser.keys("\ue00c")
    browser.js(SET, "inverted", True)
    t.eq(browser.js(FRAMES)[0]["total"], all_cnt, "inverted: all samples")


def scope(browser):
    return tuple(browser.js("return ['from', 'until'].map(id => Number(document.getElementById(id).value))"))


def drag(browser, *places):
    browser.ask("POST", f"{browser.path}/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
        {"type": "pointerMove", "duration": 0, "x": int(places[0]), "y": int(places[2])}, {"type": "pointerDown", "button": 0},
        {"type": "pointerMove", "duration": 0, "x": int(places[1]), "y": int(places[2])}, {"type": "pointerUp", "button": 0}]}]})


CANVAS = """
const canvas = document.querySelector(arguments[0]);
canvas.scrollIntoView({block: "center"});
canvas.focus();
const {x, width} = canvas.getBoundingClientRect();
return {x, y: innerHeight / 2, width};
"""


def choose_times(t, browser):
    show(t, browser, DOTNET)
    whole, total = scope(browser), browser.js(FRAMES)[0]["total"]
    at = browser.js(CANVAS, "#timeline canvas")
    first = at["x"] + 170  # of the time: the names of threads are in front of it
    middle = first + (at["width"] - 170) / 2
    drag(browser, middle, first + at["width"] - 171, at["y"])
    late = browser.js(FRAMES)[0]["total"]
    t.ok(abs(scope(browser)[0] - whole[1] / 2) < .01 and scope(browser)[1] > whole[1] * .99, f"the second half: {scope(browser)} of {whole}")
    t.ok(0 < late < total, f"{late} of {total} samples")
    browser.js("document.getElementById('back').click()")
    t.eq((scope(browser), browser.js(FRAMES)[0]["total"]), (whole, total), "all of it again")
    browser.js(CANVAS, "#timeline canvas")
    browser.keys("+")
    t.ok(abs(scope(browser)[1] - scope(browser)[0] - whole[1] / 2) < .001, f"half as long: {scope(browser)}")
    browser.keys("\ue015.")  # down: the busiest thread; the first thing that it did
    said = browser.js("return document.getElementById('timeline-said').value")
    t.ok(re.match(r"0\.\d+ s: ", said), f"a screen reader hears: {said}")
    browser.js(CANVAS, "#heat canvas")
    browser.keys("\ue007")
    t.eq(scope(browser), (0, .02), "the first column of the heat map")


def compare(t, browser):
    show(t, browser, DOTNET, "--diff", CORPUS / "dotnet-idle.tapir")
    row = browser.js(TABLE, "functions")[0]
    t.ok("other_self_percent" in row and "change_percent" in row, f"columns: {sorted(row)}")
    t.ok(browser.js("return document.querySelectorAll('.frame[class*=more], .frame[class*=less]').length"), "colours of a change")
    changes = json.loads(t.tapir("diff", CORPUS / "dotnet-idle.tapir", DOTNET, "--json").out)
    kinds = {key: rows for key, rows in changes.items() if key not in ("notes", "unknown") and isinstance(rows, list) and rows}
    t.ok(kinds, f"some of it has changed: {changes}")
    open_view(browser, "diff")
    for kind, rows in kinds.items():
        t.eq([row["name"] for row in browser.js(TABLE, f"diff {kind}")], [row["name"] for row in rows][:len(browser.js(TABLE, f"diff {kind}"))], f"changes of {kind}")


def show_hostile_names(t, browser):
    file = t.path("hostile.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200, "--depth", 12, "--hostile")
    show(t, browser, file)  # a dialog would fail the next command
    t.eq(browser.js("return [document.scripts.length, document.querySelectorAll('script[src], main script').length]"), [8, 0], "scripts: the data, and seven")
    t.ok("<script>alert(1)</script>" in {f["name"] for f in browser.js(FRAMES)}, "a hostile name is a text")


def test_page_shows_what_other_readers_print_and_follows_a_reader(t):
    browser = open_browser(t, 1280, 900)
    look_at_tables(t, browser)
    search_and_zoom(t, browser)
    choose_times(t, browser)
    compare(t, browser)
    show_hostile_names(t, browser)
    browser.close()


def open_view(browser, name):
    browser.js("const view = document.getElementById(arguments[0]); view.open = true; view.scrollIntoView()", f"view-{name}")


SOLVED = [  # recording, the first screen; the view that it names: its table, and what one of its first rows has
    ("dotnet-pool-starved", ("thread pool starvation", "Defects.HandleOrder()"), "threadpool", "threadpool blocked", ("Defects.Starve (lambda",)),
    ("jvm-monitor-convoy", ("for a monitor", "JvmDefects.reserve()"), "offcpu", "offcpu waits", ("monitor", "clerk-", "JvmDefects.reserve()")),
    ("postgresql-row-lock", ("for lock transaction", "update accounts set cents"), "contention", "contention locks", ("transaction",)),
]


def test_three_investigations_are_solved_by_the_page_alone(t):
    browser = open_browser(t, 1280, 900)
    for name, first, view, table, answer in SOLVED:
        show(t, browser, CORPUS / f"{name}.tapir")
        screen = " ".join(browser.js("return document.getElementById('screen').textContent").split())
        t.ok(all(text in screen for text in first) and f"--view {view}" in screen, f"{name}: {screen}")
        open_view(browser, view)
        shown = browser.js(TABLE, table)[:10]
        t.ok(any(all(any(text in cell for cell in row.values()) for text in answer) for row in shown), f"{name}: {shown}")
        if "stack" in shown[0]:
            summaries = browser.js("return [...document.querySelectorAll(`[data-table='${arguments[0]}'] tbody summary`)].map(e => e.textContent)", table)
            t.ok(any(answer[-1] in text for text in summaries) and "__schedule" not in summaries, f"{name}: {summaries[:3]}")
        t.ok(all(re.search(r" (ns|\u00b5s|ms|s)$", row["ns"]) for row in shown), f"times are with their unit: {shown[0]}")
    browser.close()


def test_who_waited_for_whom_takes_three_clicks(t):
    """A drag over a time, a click on a column's head, a click on it again: the rows are those that SQL finds in that time."""
    file, browser = CORPUS / "jvm-monitor-convoy.tapir", open_browser(t, 1280, 900)
    show(t, browser, file)
    at = browser.js(CANVAS, "#timeline canvas")
    first, wide = at["x"] + 170, at["width"] - 170
    drag(browser, first + wide * .3, first + wide * .5, at["y"])
    since, until = scope(browser)
    for _ in range(2):
        browser.js("document.querySelector('[data-table=waits] th[data-key=ended_by] button').click()")
    pairs = {(row["thread"], row["ended_by"]) for row in browser.js(TABLE, "waits") if row["ended_by"]}
    start = "(SELECT min(begin_ns) - CAST(round(min(begin_s) * 1e9) AS INTEGER) FROM waits)"
    want = rows(t, file, f"SELECT DISTINCT tid, waker_tid FROM waits WHERE waker_tid > 0 AND begin_ns - {start} < {until} * 1e9 AND end_ns - {start} > {since} * 1e9")
    tid = lambda name: int(re.search(r" (\d+)(?: of \d+)?$", f" {name}").group(1))
    t.eq({(tid(thread), tid(by)) for thread, by in pairs}, {(row["tid"], row["waker_tid"]) for row in want}, "who waited for whom")
    t.ok(any("clerk-" in thread and "clerk-" in by for thread, by in pairs), f"clerks wait for each other: {pairs}")
    browser.close()


def test_page_is_written_of_any_recording_and_replaces_none_unasked(t):
    for file in PYTHON, GOLDEN:
        t.ok(t.tapir("html", file).out.startswith("<!DOCTYPE html>"), f"{file}: on standard output")
    out, cut = pathlib.Path(t.path("page.html")), pathlib.Path(t.path("cut.tapir"))
    out.write_text("mine", encoding="utf-8")
    t.ok("exists" in t.tapir("html", PYTHON, "-o", out, expect=1).err, "a file is there")
    cut.write_bytes(PYTHON.read_bytes()[:3000])
    result = t.tapir("html", cut, "-f", "-o", out, expect=None)
    t.ok("incomplete" in result.err, result.err)
    t.ok("cut or damaged" in out.read_text(encoding="utf-8"), "the page says that it is what could be read")
    cut.write_bytes(b"")
    t.tapir("html", cut, "-f", "-o", out, expect=1)
    t.ok(out.stat().st_size > 1000, "a failure leaves the file that was there")
