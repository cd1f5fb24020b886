// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps pages up to date: sessions that run, counters of a process, the agent's own figures.
// Everything else works without it.

const POINTS = 300;
const ROOT = document.body.dataset.root ?? ""; // where the agent is mounted

function short(value) {
	return value.toLocaleString("en", {notation: "compact", maximumFractionDigits: 2});
}

function number(value, unit) {
	const text = Math.abs(value) >= 1e6 ? short(value) : Math.abs(value) >= 1000 || Number.isInteger(value)
		? Math.round(value).toLocaleString("en") : value.toPrecision(3);
	return unit ? `${text} ${unit}` : text;
}

// "538.7 KB", as the pages have it without a script.
function bytes(value) {
	if (value < 1000)
		return `${value} bytes`;
	return value < 1e6 ? `${(value / 1e3).toFixed(1)} KB` : `${(value / 1e6).toFixed(1)} MB`;
}

// By its unit, which ends its name.
function metric(name, value) {
	if (name.endsWith("_bytes"))
		return bytes(value);
	if (/_seconds(_total)?$/.test(name))
		return `${value.toFixed(value < 10 ? 2 : 1)} s`;
	return value.toLocaleString("en");
}

function clock(time_s) {
	return new Date(time_s * 1000).toLocaleTimeString("en-GB");
}

function style(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// ---- charts: one line over time, a heading with the last value

class Chart {
	constructor(place, title, unit) {
		this.unit = unit;
		this.data = [[], []];
		this.box = document.createElement("div");
		this.box.className = "chart";
		const heading = document.createElement("h3");
		heading.append(title);
		this.output = document.createElement("output");
		heading.append(this.output);
		this.box.append(heading);
		place.append(this.box);
	}

	options() {
		const axis = {stroke: style("--soft"), grid: {stroke: style("--line"), width: 1}, ticks: {show: false}};
		return {
			width: this.box.clientWidth, height: 110,
			legend: {show: false}, cursor: {show: false},
			scales: {y: {range: (u, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1]}},
			axes: [{...axis, size: 24, space: 80, values: (u, times) => times.map(clock)},
				{...axis, size: 50, space: 30, values: (u, list) => list.map(short)}],
			series: [{}, {stroke: style("--accent"), width: 1.5, fill: style("--accent") + "22", points: {show: false}}],
		};
	}

	add(time_s, value) {
		this.data[0].push(time_s);
		this.data[1].push(value);
		if (this.data[0].length > POINTS)
			this.data.forEach(list => list.shift());
		this.output.value = number(value, this.unit);
		if (this.plot)
			this.plot.setData(this.data);
		else
			this.draw();
	}

	draw() {
		this.plot?.destroy();
		this.plot = new uPlot(this.options(), this.data, this.box);
	}
}

function redraw(charts) {
	const all = () => charts.forEach(chart => chart.plot && chart.draw());
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
	addEventListener("resize", all);
}

// ---- sessions that run

function show(row, session) {
	for (const cell of row.querySelectorAll("[data-figure]")) {
		const value = session[cell.dataset.figure];
		cell.textContent = typeof value !== "number" ? value : cell.dataset.figure === "bytes" ? bytes(value)
			: cell.dataset.figure === "seconds" ? value.toFixed(1) : value.toLocaleString("en");
	}
}

async function watchSession(row) {
	for (;;) {
		await new Promise(done => setTimeout(done, 1000));
		const answer = await fetch(`${ROOT}/v1/sessions/${row.dataset.session}`).catch(() => null);
		if (answer && answer.status !== 200)
			return location.reload();
		if (!answer)
			continue;
		const session = await answer.json();
		show(row, session);
		if (session.state !== row.dataset.state && session.state !== "stopping")
			return location.reload();
	}
}

// ---- counters, as Server-Sent Events

const CHARTS = ["cpu-usage", "gc-heap-size", "alloc-rate", "working-set", "exception-count", "time-in-gc",
	"gen-0-gc-count", "gen-1-gc-count", "gen-2-gc-count", "threadpool-thread-count",
	"threadpool-queue-length", "monitor-lock-contention-count",
	"heap-used", "old-generation", "metaspace", "collections", "gc-time", "jit-time", "contended-monitor-enters"];

async function* eventsOf(response) {
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	for (;;) {
		const {value, done} = await reader.read();
		if (done)
			return;
		text += value;
		const lines = text.split("\n");
		text = lines.pop();
		for (const line of lines)
			if (line.startsWith("data: "))
				yield JSON.parse(line.slice(6));
	}
}

class Counters {
	constructor(section) {
		this.section = section;
		this.button = section.querySelector("button");
		this.output = section.querySelector("output");
		this.charts = new Map();
		section.hidden = false;
		this.button.addEventListener("click", () => this.stop ? this.stop.abort() : this.watch());
		redraw(this.charts);
	}

	take(event) {
		if (event.type === "lost")
			this.output.value = "some values were lost";
		if (event.type !== "counter" || event.provider !== "System.Runtime" || !CHARTS.includes(event.name))
			return;
		let chart = this.charts.get(event.name);
		if (!chart) {
			chart = new Chart(this.section.querySelector(".charts"), event.name, event.unit);
			this.charts.set(event.name, chart);
		}
		chart.add(Date.parse(event.utc) / 1000, event.value);
	}

	async watch() {
		const {pid, started} = this.section.dataset;
		this.stop = new AbortController();
		this.button.textContent = "Stop watching";
		this.output.value = "waiting for the first values";
		try {
			const query = `pid=${pid}&started=${started}&counters=System.Runtime`;
			const response = await fetch(`${ROOT}/v1/events?${query}`, {signal: this.stop.signal});
			if (!response.ok)
				throw new Error((await response.json()).error);
			for await (const event of eventsOf(response)) {
				this.output.value = "";
				this.take(event);
			}
			this.output.value = "ended";
		} catch (error) {
			this.output.value = this.stop.signal.aborted ? "stopped" : error.message;
		}
		this.stop = null;
		this.button.textContent = "Watch";
	}
}

// ---- counters that the agent keeps

class Watched {
	constructor(section) {
		this.section = section;
		this.output = section.querySelector("output");
		this.charts = new Map();
		section.querySelector(".values").open = false; // the charts have them
		redraw(this.charts);
	}

	take(counter) {
		const key = `${counter.name} ${counter.tags ?? ""}`;
		const cell = this.section.querySelector(`[data-counter="${CSS.escape(key)}"] .n`);
		if (cell)
			cell.textContent = number(counter.last, "");
		if (!CHARTS.includes(counter.name) || !["System.Runtime", "hsperfdata"].includes(counter.provider))
			return;
		let chart = this.charts.get(key);
		if (!chart) {
			chart = new Chart(this.section.querySelector(".charts"), key.trim(), counter.unit === "By" ? "bytes" : counter.unit);
			this.charts.set(key, chart);
		}
		for (const point of counter.points ?? [{utc_ms: counter.utc_ms, value: counter.last}])
			if (point.utc_ms / 1000 > (chart.data[0].at(-1) ?? 0))
				chart.add(point.utc_ms / 1000, point.value);
	}

	async watch() {
		const {pid, started} = this.section.dataset;
		const query = `pid=${pid}&started=${started}&watched=true`;
		for (let path = "/v1/counters/*"; ;) {
			const answer = document.hidden ? null : await fetch(`${ROOT}${path}?${query}`).catch(() => null);
			if (answer && !answer.ok) {
				this.output.value = (await answer.json()).error;
				return;
			}
			if (answer) {
				(await answer.json()).counters.forEach(counter => this.take(counter));
				path = "/v1/counters";
			}
			await new Promise(done => setTimeout(done, 1000));
		}
	}
}

// ---- the agent's health

class Health {
	constructor(section) {
		this.section = section;
		const place = section.querySelector(".charts");
		this.cpu = new Chart(place, "CPU of the agent", "%");
		this.memory = new Chart(place, "Resident memory", "MB");
		this.requests = new Chart(place, "Requests per second", "");
		redraw([this.cpu, this.memory, this.requests]);
	}

	take(values) {
		const now_s = Date.now() / 1000;
		for (const cell of this.section.querySelectorAll("[data-metric]"))
			if (values.has(cell.dataset.metric))
				cell.textContent = metric(cell.dataset.metric, Number(values.get(cell.dataset.metric)));
		const of = name => Number(values.get(`tapir_${name}`));
		this.memory.add(now_s, of("resident_memory_bytes") / 1e6);
		if (this.last) {
			const seconds = now_s - this.last.now_s;
			this.cpu.add(now_s, 100 * (of("cpu_seconds_total") - this.last.cpu) / seconds);
			this.requests.add(now_s, (of("requests_total") - this.last.requests) / seconds);
		}
		this.last = {now_s, cpu: of("cpu_seconds_total"), requests: of("requests_total")};
	}

	async watch() {
		for (;;) {
			const answer = document.hidden ? null : await fetch(`${ROOT}/metrics`).catch(() => null);
			if (answer && answer.status === 401)
				return location.reload();
			if (answer?.ok) {
				const lines = (await answer.text()).split("\n").filter(line => line && !line.startsWith("#"));
				this.take(new Map(lines.map(line => line.split(" "))));
			}
			await new Promise(done => setTimeout(done, 2000));
		}
	}
}

for (const row of document.querySelectorAll("[data-session]"))
	if (["recording", "stopping"].includes(row.dataset.state))
		watchSession(row);
addEventListener("load", () => {
	const live = document.getElementById("live");
	if (live)
		new Counters(live);
	const watched = document.getElementById("watched");
	if (watched)
		new Watched(watched).watch();
	const health = document.getElementById("health");
	if (health)
		new Health(health).watch();
});
