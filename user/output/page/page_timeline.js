// SPDX-License-Identifier: GPL-2.0-or-later
// Threads as tracks over the chosen time: what each did, intervals as bars, events as marks, counters
// as charts, wake-ups as arrows. The time shown is that of all panels: who zooms here, zooms them.

const LEFT_PX = 170, AXIS_PX = 22, STATE_PX = 12, BAR_PX = 14, CHART_PX = 34, GAP_PX = 5;
const FIRST_TRACKS = 20, MAX_CHARTS = 6, MAX_ARROWS = 150, MAX_BARS = 5, NEAR_PX = 4;
const MAX_PX = 16000; // browsers draw no canvas of more than 32,767 dots; some screens have two a pixel
const IS_LOCK = /lock|mutex|monitor|semaphore|queue/i;

// The rows of each thread, in the order of time.
function rowsByThread(rows, cnt) {
	const lists = Array.from({length: cnt}, () => []);
	for (let i = 0; i < rows.cnt; i++)
		lists[rows.thread[i]].push(i);
	return lists;
}

class Track {
	constructor(recording, thread, lists) {
		Object.assign(this, {thread, waits: lists.waits[thread], intervals: lists.intervals[thread],
			events: lists.events[thread], samples: lists.samples[thread]});
		this.weight = this.waits.length + this.events.length + this.samples.length * 4 + this.intervals.length;
		this.stack(recording.intervals);
		this.findSpan(recording);
	}

	// Each interval into the first row where it overlaps none.
	stack({from_ns, took_ns}) {
		const ends = [];
		this.rowOf = new Map();
		for (const i of this.intervals) {
			let row = ends.findIndex(end => end <= from_ns[i]);
			row = row < 0 ? Math.min(ends.length, MAX_BARS - 1) : row;
			ends[row] = Math.max(ends[row] ?? 0, from_ns[i] + took_ns[i]);
			this.rowOf.set(i, row);
		}
		this.height = STATE_PX + ends.length * BAR_PX + GAP_PX;
	}

	// Between two waits a thread runs; before the first and after the last one as far as it is seen.
	findSpan({waits, samples, events}) {
		this.from = Infinity;
		this.until = 0;
		const see = (from, until) => {
			this.from = Math.min(this.from, from);
			this.until = Math.max(this.until, until);
		};
		for (const i of this.waits)
			see(waits.from_ns[i], waits.from_ns[i] + waits.took_ns[i]);
		for (const i of this.samples)
			see(samples.time_ns[i], samples.time_ns[i]);
		for (const i of this.events)
			see(events.time_ns[i], events.time_ns[i]);
	}
}

class Timeline {
	constructor(place, recording, scope) {
		Object.assign(this, {recording, scope, isWhole: false, drag: null, at: null, past: []});
		const lists = {};
		for (const key of ["waits", "intervals", "events", "samples"])
			lists[key] = rowsByThread(recording[key], recording.threads.cnt);
		this.tracks = Array.from({length: recording.threads.cnt}, (_, i) => new Track(recording, i, lists))
			.filter(track => track.weight).sort((a, b) => b.weight - a.weight);
		this.trackOfTid = new Map(this.tracks.map(track => [recording.threads.tid[track.thread], track]));
		this.findCharts();
		this.makeElements(place);
		scope.listeners.push(what => "pattern" in what || this.draw());
		new ResizeObserver(() => this.draw()).observe(this.canvas.parentNode);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
		this.draw();
	}

	// Counters that change, the liveliest first.
	findCharts() {
		const {counters, counter_values: values, series, names} = this.recording;
		const charts = Array.from({length: series.cnt}, (_, i) => ({name: names[series.name[i]],
			tags: names[series.tags[i]], unit: names[series.unit[i]], pid: series.pid[i], points: [], most: 0, least: 0, changes: 0}));
		for (let i = 0; i < counters.cnt; i++) {
			const chart = charts[counters.series[i]], last = chart.points.at(-1);
			chart.changes += !!last && values[last] !== values[i];
			chart.points.push(i);
			chart.most = Math.max(chart.most, values[i]);
			chart.least = Math.min(chart.least, values[i]);
		}
		this.charts = charts.filter(chart => chart.changes).sort((a, b) => b.changes - a.changes);
	}

	makeElements(place) {
		place.append(element("h2", {}, "Timeline"));
		const button = (id, text, press) => {
			const made = element("button", {type: "button", id}, text);
			made.addEventListener("click", press);
			return made;
		};
		const check = (id, text, checked) => {
			const input = element("input", {type: "checkbox", id, checked});
			input.addEventListener("change", () => this.draw());
			return element("label", {}, input, ` ${text}`);
		};
		this.back = button("back", "Back", () => this.goBack());
		this.more = button("more-tracks", "", () => {
			this.isWhole = !this.isWhole;
			this.draw();
		});
		place.append(element("div", {className: "controls"}, button("zoom-in", "Zoom in", () => this.zoom(.5)),
			button("zoom-out", "Zoom out", () => this.zoom(2)), this.back, check("arrows", "wake-ups", true),
			check("charts", "counters", true), this.more, this.legend()));
		this.canvas = element("canvas", {tabIndex: 0, role: "application", "aria-label":
			"Timeline of threads. Left and right move, plus and minus zoom, Home shows all, up and down choose a thread, " +
			"comma and period go from one thing that it did to the next."});
		this.tip = element("div", {className: "tip", hidden: true});
		this.said = element("output", {className: "about", role: "status", id: "timeline-said"}, "Drag over a time to choose it for all panels.");
		place.append(element("div", {className: "timeline"}, this.canvas, this.tip), this.said);
		for (const [event, act] of [["pointerdown", "press"], ["pointermove", "move"], ["pointerup", "release"], ["keydown", "key"]])
			this.canvas.addEventListener(event, e => this[act](e));
		this.canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
		this.canvas.addEventListener("wheel", e => this.wheel(e), {passive: false});
	}

	legend() {
		const states = [["running", "runs"], ["runnable", "waits for a CPU"], ["sleeping", "waits"], ["blocked", "waits for a lock"]];
		return element("span", {className: "legend"}, ...states.flatMap(([name, text]) =>
			[element("i", {className: name}), `${text} `]));
	}

	// ---- time and place

	get width() {
		return Math.max(this.canvas.clientWidth - LEFT_PX, 1);
	}

	x(time) {
		return LEFT_PX + (time - this.scope.from) * this.perNs;
	}

	time(x) {
		return this.scope.from + (x - LEFT_PX) / this.width * (this.scope.until - this.scope.from);
	}

	choose(from, until) {
		this.past.push({from: this.scope.from, until: this.scope.until});
		this.scope.change({from: Math.round(from), until: Math.round(until)});
	}

	goBack() {
		const last = this.past.pop();
		if (last)
			this.scope.change(last);
	}

	zoom(factor, around = (this.scope.from + this.scope.until) / 2) {
		const {from, until} = this.scope;
		this.choose(around - (around - from) * factor, around + (until - around) * factor);
	}

	pan(share) {
		const {from, until, whole} = this.scope, wide = until - from;
		const to = Math.max(0, Math.min(from + wide * share, whole.until - wide));
		this.choose(to, to + wide);
	}

	// ---- drawing

	layout() {
		this.perNs = this.width / (this.scope.until - this.scope.from); // asked of the element once
		const chosen = this.tracks.filter(track => this.scope.has[track.thread]);
		this.shown = this.isWhole ? chosen : chosen.slice(0, FIRST_TRACKS);
		this.more.hidden = chosen.length <= FIRST_TRACKS;
		this.more.textContent = this.isWhole ? `Busiest ${FIRST_TRACKS} threads` : `More of ${chosen.length} threads`;
		this.back.disabled = !this.past.length;
		this.shownCharts = byId("charts").checked ? this.charts.slice(0, MAX_CHARTS) : [];
		let y = AXIS_PX;
		for (const chart of this.shownCharts) {
			chart.y = y;
			y += CHART_PX;
		}
		this.shown = this.shown.filter(track => {
			track.y = y;
			y += track.height;
			return y <= MAX_PX;
		});
		return Math.min(y, MAX_PX);
	}

	draw() {
		const height = this.layout(), scale = devicePixelRatio || 1, {canvas} = this;
		canvas.style.height = `${height}px`;
		canvas.width = canvas.clientWidth * scale;
		canvas.height = height * scale;
		const style = getComputedStyle(document.documentElement);
		this.color = name => style.getPropertyValue(`--${name}`).trim();
		this.pen = canvas.getContext("2d");
		this.pen.scale(scale, scale);
		this.pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
		this.pen.textBaseline = "middle";
		this.drawAxis(height);
		this.shownCharts.forEach(chart => this.drawChart(chart));
		this.shown.forEach(track => this.drawTrack(track));
		if (byId("arrows").checked)
			this.drawArrows();
		this.drawSelection(height);
	}

	rect(color, x, y, width, height) {
		const from = Math.max(x, LEFT_PX), until = Math.min(x + width, LEFT_PX + this.width);
		this.pen.fillStyle = color;
		if (until > from)
			this.pen.fillRect(from, y, until - from, height);
	}

	text(text, x, y, px, color = "text") {
		this.pen.fillStyle = this.color(color);
		let shown = fitting(text, px * 1.12 + 6);
		while (shown.length > 1 && this.pen.measureText(shown).width > px)
			shown = `${shown.slice(0, -2)}\u2026`;
		this.pen.fillText(shown, x, y);
	}

	drawAxis(height) {
		const {from, until} = this.scope, wide = until - from;
		let step = Math.max(1, 10 ** Math.floor(Math.log10(wide / 4)));
		step *= wide / step > 20 ? 5 : wide / step > 8 ? 2 : 1;
		const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
		for (let time = Math.ceil(from / step) * step; time <= until; time += step) {
			this.pen.fillStyle = this.color("line");
			this.pen.fillRect(this.x(time), 0, 1, height);
			this.text(`${(time / 1e9).toFixed(digits)} s`, this.x(time) + 3, 10, 120, "soft");
		}
	}

	drawChart(chart) {
		const {counters, counter_values: values} = this.recording, bottom = chart.y + CHART_PX - GAP_PX;
		const scale = (CHART_PX - GAP_PX - 2) / (chart.most - chart.least || 1), {pen} = this;
		this.text(`${chart.name} ${chart.tags}`, 4, chart.y + 9, LEFT_PX - 10);
		this.text(`up to ${cellText("", chart.most)} ${chart.unit}`, 4, chart.y + 22, LEFT_PX - 10, "soft");
		pen.save();
		pen.beginPath();
		pen.rect(LEFT_PX, chart.y, this.width, CHART_PX);
		pen.clip();
		pen.beginPath();
		for (const i of chart.points)
			pen.lineTo(this.x(counters.time_ns[i]), bottom - (values[i] - chart.least) * scale);
		pen.strokeStyle = this.color("accent");
		pen.stroke();
		pen.restore();
	}

	drawTrack(track) {
		this.text(this.recording.threadName(track.thread), 4, track.y + STATE_PX / 2, LEFT_PX - 10,
			track === this.current ? "accent" : "text");
		this.drawStates(track);
		this.drawBars(track);
		this.drawMarks(track);
	}

	// Of each pixel the shares of its time, the one that the thread ran at the bottom.
	drawStates(track) {
		if (!track.waits.length)
			return;
		const {waits, names} = this.recording, pixels = Math.ceil(this.width), perPixel = (this.scope.until - this.scope.from) / pixels;
		const shares = {running: new Float32Array(pixels), runnable: new Float32Array(pixels),
			sleeping: new Float32Array(pixels), blocked: new Float32Array(pixels)};
		const add = (share, from, until, sign) => {
			const a = Math.max((from - this.scope.from) / perPixel, 0), b = Math.min((until - this.scope.from) / perPixel, pixels);
			for (let p = Math.floor(a); p < b; p++)
				share[p] += sign * (Math.min(b, p + 1) - Math.max(a, p));
		};
		add(shares.running, track.from, track.until, 1);
		for (const i of track.waits) {
			const from = waits.from_ns[i], woken = from + waits.part_ns[i], until = from + waits.took_ns[i];
			if (until < this.scope.from || from > this.scope.until)
				continue;
			add(IS_LOCK.test(names[waits.label[i]]) ? shares.blocked : shares.sleeping, from, woken, 1);
			add(shares.runnable, woken, until, 1);
			add(shares.running, from, until, -1);
		}
		for (let p = 0; p < pixels; p++) {
			let bottom = track.y + STATE_PX;
			for (const name in shares) {
				const high = Math.min(Math.max(shares[name][p], 0), 1) * STATE_PX;
				if (high > .3)
					this.rect(this.shade(name), LEFT_PX + p, bottom - high, 1, high);
				bottom -= high;
			}
		}
	}

	shade(name) {
		this.colors = this.colorsOf === this.color ? this.colors : {};
		this.colorsOf = this.color;
		return this.colors[name] ??= this.color(name);
	}

	drawBars(track) {
		const {intervals, kinds, names} = this.recording;
		for (const i of track.intervals) {
			const x = this.x(intervals.from_ns[i]), px = Math.max(this.x(intervals.from_ns[i] + intervals.took_ns[i]) - x, 1);
			if (x > LEFT_PX + this.width || x + px < LEFT_PX)
				continue;
			const kind = kinds[intervals.kind[i]], y = track.y + STATE_PX + 1 + track.rowOf.get(i) * BAR_PX;
			this.rect(this.shade(`cause-${kind.is_request ? "request" : kind.cause || "none"}`), x, y, px, BAR_PX - 2);
			const from = Math.max(x, LEFT_PX), room = Math.min(x + px, LEFT_PX + this.width) - from;
			if (room > 30)
				this.text(`${kind.name} ${names[intervals.label[i]]}`, from + 3, y + BAR_PX / 2 - 1, room - 6, "frame-text");
		}
	}

	// Rows are in the order of time: one mark a pixel.
	drawTicks(rows, list, color, y, height) {
		let last = -1;
		for (const i of list) {
			const x = Math.round(this.x(rows.time_ns[i]));
			if (x !== last)
				this.rect(color, x, y, 1, height);
			last = x;
		}
	}

	drawMarks(track) {
		const {events, samples} = this.recording;
		if (!track.waits.length)
			this.drawTicks(samples, track.samples, this.shade("running"), track.y, STATE_PX);
		this.drawTicks(events, track.events, this.shade("text"), track.y + STATE_PX - 5, 5);
	}

	// From the thread that ended a wait to the one that waited.
	drawArrows() {
		const {waits} = this.recording, arrows = [], shown = new Set(this.shown);
		for (const track of this.shown)
			for (const i of track.waits) {
				const time = waits.from_ns[i] + waits.part_ns[i], by = waits.other[i] && this.trackOfTid.get(waits.other[i]);
				if (by && shown.has(by) && by !== track && time >= this.scope.from && time <= this.scope.until)
					arrows.push([this.x(time), by.y + STATE_PX / 2, track.y + STATE_PX / 2]);
			}
		this.arrowCnt = arrows.length;
		if (arrows.length > MAX_ARROWS)
			return;
		this.pen.strokeStyle = this.pen.fillStyle = this.color("accent");
		for (const [x, from, to] of arrows) {
			const back = to > from ? -5 : 5;
			this.pen.beginPath();
			this.pen.moveTo(x, from);
			this.pen.lineTo(x, to);
			this.pen.stroke();
			this.pen.beginPath();
			this.pen.moveTo(x, to);
			this.pen.lineTo(x - 3, to + back);
			this.pen.lineTo(x + 3, to + back);
			this.pen.fill();
		}
	}

	drawSelection(height) {
		if (!this.drag)
			return;
		this.pen.globalAlpha = .25;
		this.rect(this.color("accent"), Math.min(this.drag.from, this.drag.until), 0, Math.abs(this.drag.until - this.drag.from), height);
		this.pen.globalAlpha = 1;
	}

	// ---- what is at a time

	aboutWait(i) {
		const {waits, names} = this.recording, by = waits.other[i] && this.trackOfTid.get(waits.other[i]);
		const label = names[waits.label[i]];
		let text = `${names[waits.kind[i]]}${label ? ` for ${label}` : ""}: ${duration(waits.took_ns[i])}`;
		if (waits.took_ns[i] > waits.part_ns[i] && waits.part_ns[i])
			text += `, ${duration(waits.took_ns[i] - waits.part_ns[i])} of it for a CPU`;
		if (waits.other[i])
			text += `, ended by ${by ? this.recording.threadName(by.thread) : waits.other[i]}`;
		return text + this.stackText(waits.node[i]);
	}

	stackText(node) {
		const {nodes, names} = this.recording, shown = [];
		for (let n = node; n && shown.length < 8; n = nodes.parent[n])
			if (nodes.kind[n] !== KIND_KERNEL)
				shown.push(`  ${names[nodes.name[n]]}`);
		return shown.length ? `\n${shown.join("\n")}` : "";
	}

	aboutInterval(i) {
		const {intervals, kinds, names} = this.recording;
		return `${kinds[intervals.kind[i]].name} ${names[intervals.label[i]]}: ${duration(intervals.took_ns[i])}, ran ${duration(intervals.part_ns[i])}`;
	}

	aboutEvent(i) {
		const {events, names, fields} = this.recording;
		const cnt = events.weight[i] > 1 ? ` \u00d7 ${events.weight[i]}` : "";
		return `${names[events.kind[i]]}${cnt} at ${(events.time_ns[i] / 1e9).toFixed(6)} s ${fields[events.text[i]] ?? ""}`;
	}

	about(track, time) {
		const {waits, intervals, events} = this.recording, lines = [this.recording.threadName(track.thread), `${(time / 1e9).toFixed(6)} s`];
		const near = (this.scope.until - this.scope.from) / this.width * NEAR_PX;
		const covers = rows => i => rows.from_ns[i] <= time && rows.from_ns[i] + rows.took_ns[i] >= time;
		const wait = track.waits.find(covers(waits));
		lines.push(...track.events.filter(i => Math.abs(events.time_ns[i] - time) < near).slice(0, 3).map(i => this.aboutEvent(i)),
			...track.intervals.filter(covers(intervals)).map(i => this.aboutInterval(i)));
		if (wait !== undefined)
			lines.push(this.aboutWait(wait));
		else if (track.waits.length && time >= track.from && time <= track.until)
			lines.push("runs");
		return lines.join("\n");
	}

	trackAt(y) {
		return this.shown.find(track => y >= track.y && y < track.y + track.height);
	}

	aboutChart(y, time) {
		const {counters, counter_values: values} = this.recording;
		const chart = this.shownCharts.find(c => y >= c.y && y < c.y + CHART_PX);
		const i = chart && chart.points.findLast(p => counters.time_ns[p] <= time);
		return i === undefined ? "" : `${chart.name} ${chart.tags}\n${(counters.time_ns[i] / 1e9).toFixed(3)} s: ${cellText("", values[i])} ${chart.unit}`;
	}

	// ---- pointer and keys

	press(e) {
		this.drag = e.offsetX >= LEFT_PX ? {from: e.offsetX, until: e.offsetX} : null;
		if (this.drag)
			this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		if (this.drag) {
			this.drag.until = Math.max(LEFT_PX, Math.min(e.offsetX, LEFT_PX + this.width));
			this.draw();
		}
		const track = this.trackAt(e.offsetY), time = this.time(e.offsetX);
		this.tip.textContent = e.offsetX < LEFT_PX ? "" : track ? this.about(track, time) : this.aboutChart(e.offsetY, time);
		this.tip.hidden = !this.tip.textContent;
		this.tip.style.left = `${Math.min(e.offsetX + 14, Math.max(0, this.canvas.clientWidth - this.tip.offsetWidth - 4))}px`;
		this.tip.style.top = `${e.offsetY + 16}px`;
	}

	release(e) {
		const {drag} = this, track = this.trackAt(e.offsetY);
		this.drag = null;
		if (drag && Math.abs(drag.until - drag.from) > NEAR_PX)
			this.choose(this.time(Math.min(drag.from, drag.until)), this.time(Math.max(drag.from, drag.until)));
		else if (track) {
			this.current = track;
			this.said.value = this.about(track, this.time(e.offsetX));
			this.draw();
		}
	}

	wheel(e) {
		if (!e.ctrlKey && !e.shiftKey)
			return;
		e.preventDefault();
		if (e.ctrlKey)
			this.zoom(e.deltaY > 0 ? 1.25 : .8, this.time(e.offsetX));
		else
			this.pan(Math.sign(e.deltaY || e.deltaX) * .1);
	}

	key(e) {
		const acts = {ArrowLeft: () => this.pan(-.2), ArrowRight: () => this.pan(.2), "+": () => this.zoom(.5), "=": () => this.zoom(.5),
			"-": () => this.zoom(2), Home: () => this.scope.change({...this.scope.whole}), Backspace: () => this.goBack(),
			ArrowUp: () => this.chooseTrack(-1), ArrowDown: () => this.chooseTrack(1), ",": () => this.step(-1), ".": () => this.step(1)};
		if (!acts[e.key] || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		acts[e.key]();
	}

	chooseTrack(by) {
		const at = this.shown.indexOf(this.current);
		this.current = this.shown[Math.max(0, Math.min(at + by, this.shown.length - 1))];
		this.at = null;
		this.draw();
		this.said.value = this.current ? `${this.recording.threadName(this.current.thread)}: ${this.current.waits.length} waits, ` +
			`${this.current.events.length} events, ${this.current.intervals.length} intervals` : "";
	}

	// To the next thing of the chosen thread: a wait, an interval or an event.
	step(by) {
		const {waits, intervals, events} = this.recording, track = this.current ?? this.shown[0];
		if (!track)
			return;
		this.current = track;
		const all = [...track.waits.map(i => [waits.from_ns[i], () => this.aboutWait(i)]),
			...track.intervals.map(i => [intervals.from_ns[i], () => this.aboutInterval(i)]),
			...track.events.map(i => [events.time_ns[i], () => this.aboutEvent(i)])]
			.filter(([time]) => time >= this.scope.from && time <= this.scope.until).sort((a, b) => a[0] - b[0]);
		this.at = this.at === null ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(this.at + by, all.length - 1));
		this.said.value = all.length ? `${(all[this.at][0] / 1e9).toFixed(6)} s: ${all[this.at][1]()}` : "nothing in this time";
	}
}
