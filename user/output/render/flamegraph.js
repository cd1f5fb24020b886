// SPDX-License-Identifier: GPL-2.0-or-later
// The picture's own script: as wide as the window, zoom, search, the line about the frame under
// the pointer. Sizes come from data-at, "start weight depth", in what a stack counts; texts of
// the traced program are only ever set as textContent.
"use strict";

const LEFT = 10, CHAR = 7.25, LEAST = 0.3;
const svg = document.querySelector("svg"); // the document, or in a page
const byId = id => document.getElementById(id);
const unit = svg.dataset.unit;

const frames = [...document.querySelectorAll("g.f")].map(g => {
	const [start, weight, depth] = g.dataset.at.split(" ").map(Number);
	const [title, rect, text] = g.children;
	const said = title.textContent, end = said.indexOf("\n");
	return {g, rect, text, start, weight, depth, end: start + weight,
		name: said.slice(0, end), said: said.slice(end + 1)};
});
const all = frames[0];
let width = 1200, shown = all, pattern = null;

const thousands = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (part, of) => (100 * part / of).toFixed(2) + " %";
const counted = (n, what) => thousands(n) + " " + (n === 1 ? what.replace(/s$/, "") : what);
const columns = c => c.codePointAt(0) > 0x10ff ? 2 : 1;

// As much of the name as there is room for; an ellipsis where something is missing.
function label(name, px) {
	const room = Math.floor((px - 6) / CHAR), chars = [...name];
	let used = 0, kept = 0;
	if (room < 2)
		return "";
	for (let i = 0; i < chars.length; i++) {
		used += columns(chars[i]);
		if (used > room)
			return chars.slice(0, kept).join("") + "\u2026";
		if (used < room)
			kept = i + 1;
	}
	return name;
}

function place(f, scale) {
	const from = Math.max(f.start, shown.start), until = Math.min(f.end, shown.end);
	const px = (until - from) * scale;
	if (px < LEAST) {
		f.g.style.display = "none";
		return;
	}
	const x = LEFT + (from - shown.start) * scale;
	f.g.style.display = "";
	f.g.classList.toggle("above", f.depth < shown.depth);
	f.rect.setAttribute("x", x.toFixed(2));
	f.rect.setAttribute("width", Math.max(LEAST, px > 3 ? px - 0.5 : px).toFixed(2));
	f.text.setAttribute("x", (x + 3).toFixed(2));
	f.text.textContent = label(f.name, px);
}

function draw() {
	const scale = (width - 2 * LEFT) / shown.weight;
	for (const f of frames)
		place(f, scale);
	byId("reset").style.display = shown === all ? "none" : "";
	mark();
}

function zoom(f) {
	shown = f;
	draw();
}

// A function below itself is matched once: spans are joined.
function mark() {
	const hits = frames.filter(f => {
		const hit = pattern !== null && f !== all && pattern.test(f.name);
		f.g.classList.toggle("hit", hit);
		return hit && f.end > shown.start && f.start < shown.end;
	});
	let sum = 0, reached = shown.start;
	for (const f of hits.sort((a, b) => a.start - b.start)) {
		const end = Math.min(f.end, shown.end);
		if (end > reached) {
			sum += end - Math.max(f.start, reached);
			reached = end;
		}
	}
	byId("found").textContent = pattern === null ? "" :
		`matched: ${percent(sum, shown.weight)} of ${shown === all ? "all" : "this frame"}, ` +
		`${counted(sum, unit)} in ${counted(hits.length, "frames")}`;
}

// Small letters match capitals too, as in an editor.
function search(text) {
	let bad = false;
	try {
		pattern = text ? new RegExp(text, /[A-Z]/.test(text) ? "" : "i") : null;
	} catch {
		pattern = null;
		bad = true;
	}
	byId("query").classList.toggle("bad", bad);
	mark();
}

const hint = byId("about").textContent;

function tell(f) {
	const narrow = width < 640, name = f && label(f.name, narrow ? width - 150 : (width - 420) * 1.1);
	const text = !f ? hint : `${name} \u00b7 ${f.said}` +
		(shown === all || f.depth < shown.depth ? "" : `, ${percent(f.weight, shown.weight)} of the zoomed frame`);
	byId("about").textContent = narrow ? label(text, width - 20) : text;
}

// Lines of the header end where the window does; all of one is in its title.
const lines = [...document.querySelectorAll("#head text[y]")].filter(e => !e.closest("#tools") && e.id !== "about" &&
	!e.classList.contains("legend")).map(e => ({e, last: e.lastChild, all: e.lastChild ? e.lastChild.textContent : ""}));

function fit() {
	for (const line of lines)
		line.last.textContent = label(line.all, width - 20);
}

function resize() {
	width = Math.max(320, document.documentElement.clientWidth || innerWidth);
	svg.classList.toggle("narrow", width < 640);
	svg.setAttribute("viewBox", `0 0 ${width} ${svg.dataset.height}`);
	svg.setAttribute("width", width);
	for (const e of document.querySelectorAll(".wide"))
		e.setAttribute("width", width);
	byId("tools").setAttribute("transform", `translate(${width - 10},0)`);
	fit();
	tell(null);
	draw();
}

// The header stays in sight.
function scrolled() {
	byId("head").setAttribute("transform", `translate(0,${scrollY})`);
}

const of = new Map(frames.map(f => [f.g, f]));
const under = e => of.get(e.target.closest("g.f"));
const query = byId("query");

svg.addEventListener("click", e => under(e) && zoom(under(e)));
svg.addEventListener("mouseover", e => tell(under(e)));
byId("reset").addEventListener("click", () => zoom(all));
query.addEventListener("input", () => search(query.value));
addEventListener("resize", resize);
addEventListener("scroll", scrolled);
addEventListener("keydown", e => {
	const typing = e.target === query;
	if ((e.key === "/" && !typing) || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
		e.preventDefault();
		query.focus();
		query.select();
	} else if (e.key === "Escape" && typing) {
		query.value = "";
		query.blur();
		search("");
	} else if (e.key === "Escape") {
		zoom(all);
	}
});
byId("tools").style.display = "inline";
resize();
scrolled();
