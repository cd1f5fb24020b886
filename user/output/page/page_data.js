// SPDX-License-Identifier: GPL-2.0-or-later
// The data of a page: columns of numbers, texts, and what is chosen of them. Texts are those of
// traced programs: the scripts set them as textContent, and as nothing else.
"use strict";

const KINDS = ["", "native", "runtime", "interpreter", "JIT", "kernel", "awaiting"]; // enum tapir_frame_kind
const KIND_KERNEL = 5, KIND_RUNTIME = 2;

// A character that controls or reorders text would do so to its neighbours, unseen.
const plainText = text => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");

const parseData = text => JSON.parse(text, (key, value) => typeof value === "string" ? plainText(value) : value);

// Seven bits a byte, the lowest first. A wide column has differences, of which odd ones are negative.
// A number is that of all rows.
function readColumn(text, cnt, isWide) {
	const values = new (isWide ? Float64Array : Uint32Array)(cnt);
	if (typeof text === "number")
		return values.fill(text);
	const bytes = atob(text);
	let at = 0, last = 0;
	for (let i = 0; i < cnt; i++) {
		let value = 0, scale = 1, byte;
		do {
			byte = bytes.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		if (isWide)
			value = last += value % 2 ? -(value + 1) / 2 : value / 2;
		values[i] = value;
	}
	return values;
}

function readRows(json, wide) {
	const rows = {cnt: json.cnt};
	for (const key in json)
		if (key !== "cnt")
			rows[key] = readColumn(json[key], json.cnt, wide.includes(key));
	return rows;
}

const foreignNames = new Set(); // of functions that are not the program's, in all recordings of the page

class Recording {
	constructor(json) {
		Object.assign(this, json);
		this.names = json.names;
		this.nodes = readRows(json.nodes, []);
		this.threads = readRows(json.threads, []);
		this.series = readRows(json.series, []);
		this.heat = readRows(json.heat, []);
		this.samples = readRows(json.samples, ["time_ns"]);
		this.events = readRows(json.events, ["time_ns"]);
		this.counters = readRows(json.counters, ["time_ns"]);
		this.waits = readRows(json.waits, ["from_ns", "took_ns", "part_ns"]);
		this.intervals = readRows(json.intervals, ["from_ns", "took_ns", "part_ns"]);
		json.foreign_names.forEach(name => foreignNames.add(name));
		this.file = this.path.split("/").pop();
	}

	threadName(idx) {
		const {pid, tid, name} = this.threads;
		return idx ? `${this.names[name[idx]] || "?"} ${tid[idx]}` + (pid[idx] === tid[idx] ? "" : ` of ${pid[idx]}`) : "other threads";
	}
}

// What all panels show: a time, threads. Each hears of a change.
class Scope {
	constructor(recording) {
		this.recording = recording;
		this.listeners = [];
		this.pattern = null;
		this.whole = {from: 0, until: Math.max(recording.span_ns, 1)};
		Object.assign(this, this.whole);
		this.has = new Uint8Array(recording.threads.cnt).fill(1);
	}

	change(what) {
		Object.assign(this, what);
		this.from = Math.max(0, Math.min(this.from, this.whole.until - 1));
		this.until = Math.max(this.from + 1, Math.min(this.until, this.whole.until));
		for (const listener of this.listeners)
			listener(what);
	}

	get isWhole() {
		return this.from === 0 && this.until === this.whole.until;
	}

	// visit(row) for each mark in it. The last moment belongs to the whole recording.
	eachMark(marks, visit) {
		const until = this.until === this.whole.until ? Infinity : this.until;
		for (let i = 0; i < marks.cnt; i++)
			if (this.has[marks.thread[i]] && marks.time_ns[i] >= this.from && marks.time_ns[i] < until)
				visit(i);
	}

	// visit(row, share) for each slice that overlaps it; share: how much of it does.
	eachSlice(slices, visit) {
		for (let i = 0; i < slices.cnt; i++) {
			const from = slices.from_ns[i], took = slices.took_ns[i];
			const inside = Math.min(from + took, this.until) - Math.max(from, this.from);
			if (this.has[slices.thread[i]] && (inside > 0 || (took === 0 && from >= this.from && from <= this.until)))
				visit(i, took ? inside / took : 1);
		}
	}
}

// ---- texts and elements

const thousands = n => Math.round(n).toLocaleString("en");
const percent = (part, of) => (of ? 100 * part / of : 0).toFixed(1) + " %";

function duration(ns) {
	return ns < 1000 ? `${Math.round(ns)} ns` : ns < 1e6 ? `${(ns / 1e3).toFixed(1)} \u00b5s`
		: ns < 1e9 ? `${(ns / 1e6).toFixed(2)} ms` : `${(ns / 1e9).toFixed(3)} s`;
}

const amount = (value, unit) => unit === "ns" ? duration(value) : `${thousands(value)} ${value === 1 ? unit.replace(/s$/, "") : unit}`;

// element("p", {className: "soft"}, "text", child)
function element(name, members, ...children) {
	const made = document.createElement(name);
	for (const key in members)
		if (key.includes("-") || key === "role")
			made.setAttribute(key, members[key]);
		else
			made[key] = members[key];
	made.append(...children);
	return made;
}

const byId = id => document.getElementById(id);
