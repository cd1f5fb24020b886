// SPDX-License-Identifier: GPL-2.0-or-later
// The whole recording as a map: a column for each piece of time, in it 50 cells from the top down. A
// pattern that the sum of a flame graph hides is a stripe or a hole here; cells are chosen by a drag.

const CELLS = 50, CELL_PX = 4, MAX_COLUMNS = 130, HEAT_CELL_NS = 2e7;
const COLUMN_STEPS = [.02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600];

class HeatMap {
	constructor(place, recording, scope) {
		Object.assign(this, {recording, scope, drag: null, cursor: 0});
		const {samples, events, waits} = recording;
		this.sources = [["CPU samples", "sample", samples, "time_ns"], ["events", "event", events, "time_ns"],
			["waits that begin", "wait", waits, "from_ns"]].filter(([, , rows]) => rows.cnt);
		if (!this.sources.length)
			return;
		const whole = scope.whole.until;
		this.column = (COLUMN_STEPS.find(s => whole / (s * 1e9) <= MAX_COLUMNS) ?? Math.ceil(whole / 1e9 / MAX_COLUMNS)) * 1e9;
		this.cell = this.column / CELLS;
		this.columnCnt = Math.ceil(whole / this.column);
		this.makeElements(place);
		scope.listeners.push(what => "pattern" in what || ("has" in what ? this.count() : this.draw()));
		new ResizeObserver(() => this.draw()).observe(this.canvas.parentNode);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
		this.count();
	}

	makeElements(place) {
		place.append(element("h2", {}, "Heat map"));
		this.source = element("select", {id: "heat-source"}, ...this.sources.map(([title], i) => new Option(title, i)));
		this.source.addEventListener("change", () => this.count());
		place.append(element("div", {className: "controls"}, element("label", {}, "Of ", this.source), element("span", {className: "soft"},
			`a column is ${duration(this.column)}, a cell ${duration(this.cell)}; drag to choose a time`)));
		this.canvas = element("canvas", {tabIndex: 0, role: "application", className: "heat", "aria-label":
			"Heat map of time. Arrows go from cell to cell, Enter chooses the column's time."});
		this.said = element("output", {className: "about", role: "status", id: "heat-said"});
		place.append(element("div", {className: "timeline"}, this.canvas), this.said);
		for (const [event, act] of [["pointerdown", "press"], ["pointermove", "move"], ["pointerup", "release"], ["keydown", "key"]])
			this.canvas.addEventListener(event, e => this[act](e));
	}

	// Samples that were merged by time have a count of their own for all threads together.
	count() {
		const [, , rows, time] = this.sources[this.source.value], {heat, samples} = this.recording, {has} = this.scope;
		this.counts = new Uint32Array(this.columnCnt * CELLS);
		const add = (at, cnt) => this.counts[Math.min(Math.floor(at / this.cell), this.counts.length - 1)] += cnt;
		if (rows === samples && heat.cnt && has.every(Boolean))
			for (let i = 0; i < heat.cnt; i++)
				add(i * HEAT_CELL_NS, heat.samples[i]);
		else
			for (let i = 0; i < rows.cnt; i++)
				if (has[rows.thread[i]])
					add(rows[time][i], rows.weight ? rows.weight[i] : 1);
		this.most = this.counts.reduce((most, cnt) => Math.max(most, cnt), 1);
		this.draw();
	}

	get wide() {
		return Math.max(2, Math.min(16, Math.floor(this.canvas.clientWidth / this.columnCnt)));
	}

	draw() {
		const {canvas, wide} = this, scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
		canvas.style.height = `${CELLS * CELL_PX}px`;
		canvas.width = canvas.clientWidth * scale;
		canvas.height = CELLS * CELL_PX * scale;
		const pen = canvas.getContext("2d"), {from, until} = this.scope;
		pen.scale(scale, scale);
		for (let i = 0; i < this.counts.length; i++) {
			const column = Math.floor(i / CELLS), at = i * this.cell, y = i % CELLS * CELL_PX;
			pen.globalAlpha = 1;
			pen.fillStyle = style.getPropertyValue(at + this.cell > from && at < until ? "--soft-back" : "--back");
			pen.fillRect(column * wide, y, wide - 1, CELL_PX - 1);
			if (!this.counts[i])
				continue;
			pen.globalAlpha = .15 + .85 * Math.sqrt(this.counts[i] / this.most);
			pen.fillStyle = style.getPropertyValue(at + this.cell > from && at < until ? "--heat" : "--soft");
			pen.fillRect(column * wide, y, wide - 1, CELL_PX - 1);
		}
		this.outline(pen, style);
	}

	outline(pen, style) {
		pen.globalAlpha = 1;
		pen.strokeStyle = style.getPropertyValue("--text");
		const marked = this.drag ? [this.drag.from, this.drag.until] : document.activeElement === this.canvas ? [this.cursor, this.cursor] : [];
		for (const i of marked)
			pen.strokeRect(Math.floor(i / CELLS) * this.wide - .5, i % CELLS * CELL_PX - .5, this.wide, CELL_PX);
	}

	cellAt(e) {
		const column = Math.max(0, Math.min(Math.floor(e.offsetX / this.wide), this.columnCnt - 1));
		return column * CELLS + Math.max(0, Math.min(Math.floor(e.offsetY / CELL_PX), CELLS - 1));
	}

	tell(i) {
		const [, what] = this.sources[this.source.value];
		this.said.value = `${(i * this.cell / 1e9).toFixed(3)} s: ${amount(this.counts[i], `${what}s`)}`;
	}

	press(e) {
		this.drag = {from: this.cellAt(e), until: this.cellAt(e)};
		this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		this.tell(this.cellAt(e));
		if (this.drag) {
			this.drag.until = this.cellAt(e);
			this.draw();
		}
	}

	release() {
		const {drag} = this;
		this.drag = null;
		if (drag)
			this.choose(Math.min(drag.from, drag.until), Math.max(drag.from, drag.until) + 1);
	}

	choose(from, until) {
		this.scope.change({from: from * this.cell, until: until * this.cell});
	}

	key(e) {
		const by = {ArrowUp: -1, ArrowDown: 1, ArrowLeft: -CELLS, ArrowRight: CELLS}[e.key];
		if (by) {
			this.cursor = Math.max(0, Math.min(this.cursor + by, this.counts.length - 1));
			this.tell(this.cursor);
			this.draw();
		} else if (e.key === "Enter") {
			const column = Math.floor(this.cursor / CELLS);
			this.choose(column * CELLS, (column + 1) * CELLS);
		} else {
			return;
		}
		e.preventDefault();
	}
}
