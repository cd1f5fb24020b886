// SPDX-License-Identifier: GPL-2.0-or-later
// Tables: sorted by a click on a column's head, filtered by a text, cut to what is looked at first.

const FIRST_ROWS = 25;

// "self_percent" is a column's key, and its unit.
function cellText(key, value) {
	if (value === null || value === undefined)
		return "";
	if (typeof value === "boolean")
		return value ? "yes" : "no";
	if (typeof value !== "number")
		return String(value);
	if (/percent$/.test(key))
		return value.toFixed(1);
	if (/(^|_)(at|from|until|begin|end|time)_ns$/.test(key))
		return `${(value / 1e9).toFixed(6)} s`;
	if (/(^|_)ns$/.test(key))
		return duration(value);
	if (/(^|_)(pid|tid|addr|id)$/.test(key))
		return String(value);
	return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(4);
}

const columnTitle = key => key === "ns" ? "time" : key.replace(/_ns$/, "").replace(/_percent$/, " %").replaceAll("_", " ");

const isStack = value => Array.isArray(value) && value.every(item => typeof item !== "object");

const SUMMARY_FRAMES = 3;

// "Inventory.book(int) < Convoy.place(int) < ...": from the program's innermost function on.
function stackSummary(stack) {
	const first = stack.findIndex(name => !foreignNames.has(name)), shown = first < 0 ? stack : stack.slice(first);
	return shown.slice(0, SUMMARY_FRAMES).join(" < ") + (shown.length > SUMMARY_FRAMES ? " < \u2026" : "");
}

// A stack, or the rows that a row has of its own.
function cellOf(key, value) {
	if (isStack(value)) {
		if (value.length < 2)
			return value.join("");
		return element("details", {}, element("summary", {}, stackSummary(value)),
			element("ol", {className: "stack"}, ...value.map(name => element("li", {}, String(name)))));
	}
	if (Array.isArray(value)) {
		const box = element("details", {}, element("summary", {}, `${value.length} ${columnTitle(key)}`));
		box.addEventListener("toggle", () => box.childElementCount > 1 || new Table(box, "", key).show(value, ""));
		return box;
	}
	if (value && typeof value === "object")
		return Object.entries(value).map(([k, v]) => `${columnTitle(k)} ${cellText(k, v)}`).join(", ");
	return cellText(key, value);
}

const textOfRow = row => JSON.stringify(Object.values(row)).toLowerCase();

class Table {
	constructor(place, title, id) {
		Object.assign(this, {rows: [], sorted: null, isUp: false, isWhole: false});
		this.box = element("div", {className: "table"});
		this.box.dataset.table = id;
		this.filter = element("input", {type: "search", placeholder: "filter rows", "aria-label": `Filter ${title || id}`});
		this.filter.addEventListener("input", () => this.draw());
		this.count = element("span", {className: "soft"});
		this.more = element("button", {type: "button"}, "All rows");
		this.more.addEventListener("click", () => {
			this.isWhole = true;
			this.draw();
		});
		this.note = element("span", {className: "soft"});
		this.table = element("table", {});
		this.head = element("div", {className: "controls"}, title ? element("h3", {}, title) : "", this.note, this.filter, this.count, this.more);
		this.box.append(this.head, element("div", {className: "wide", tabIndex: 0, role: "region", "aria-label": title || id}, this.table));
		place.append(this.box);
	}

	show(rows, note) {
		this.rows = rows;
		this.note.textContent = note;
		this.keys = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(key => rows.some(row => row[key] !== null &&
			row[key] !== undefined && !(Array.isArray(row[key]) && !row[key].length)));
		this.numbers = new Set(this.keys.filter(key => rows.every(row => row[key] === null || row[key] === undefined || typeof row[key] === "number")));
		this.draw();
	}

	sort(key) {
		this.isUp = this.sorted === key ? !this.isUp : !this.numbers.has(key);
		this.sorted = key;
		this.draw();
		this.table.querySelector(`[data-key="${CSS.escape(key)}"] button`)?.focus();
	}

	chosen() {
		const text = this.filter.value.toLowerCase();
		const rows = text ? this.rows.filter(row => textOfRow(row).includes(text)) : this.rows.slice();
		const {sorted, isUp} = this;
		if (sorted)
			rows.sort((a, b) => {
				const x = a[sorted] ?? -Infinity, y = b[sorted] ?? -Infinity;
				const order = typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : 1;
				return isUp ? order : -order;
			});
		return rows;
	}

	draw() {
		const rows = this.chosen(), shown = this.isWhole ? rows : rows.slice(0, FIRST_ROWS);
		this.box.hidden = !this.rows.length && !this.filter.value;
		this.filter.hidden = this.rows.length < 6;
		this.more.hidden = shown.length === rows.length;
		this.count.textContent = shown.length < rows.length ? `${shown.length} of ${thousands(rows.length)} rows`
			: rows.length < this.rows.length ? `${thousands(rows.length)} of ${thousands(this.rows.length)} rows` : "";
		const head = element("tr", {}, ...this.keys.map(key => this.headOf(key)));
		const body = shown.map(row => element("tr", {}, ...this.keys.map(key => element("td",
			{className: this.numbers.has(key) ? "n" : "t"}, cellOf(key, row[key])))));
		this.table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
	}

	headOf(key) {
		const button = element("button", {type: "button"}, columnTitle(key));
		button.addEventListener("click", () => this.sort(key));
		const cell = element("th", {scope: "col", className: this.numbers.has(key) ? "n" : "",
			"aria-sort": this.sorted !== key ? "none" : this.isUp ? "ascending" : "descending"}, button);
		cell.dataset.key = key;
		return cell;
	}
}

// ---- the tables of a recording

class ScopeTables {
	constructor(place, recording, scope) {
		Object.assign(this, {recording, scope});
		place.append(element("h2", {}, "Tables"));
		this.threads = new Table(place, "Threads", "threads");
		this.events = new Table(place, "Events", "events");
		this.intervals = new Table(place, "Intervals", "intervals");
		this.waits = new Table(place, "Waits", "waits");
		scope.listeners.push(what => "pattern" in what || this.count());
		this.count();
	}

	count() {
		this.showThreads();
		this.showEvents();
		this.showIntervals();
		this.showWaits();
	}

	showThreads() {
		const {recording: r, scope} = this, rows = [];
		for (let i = 0; i < r.threads.cnt; i++)
			rows.push({thread: r.names[r.threads.name[i]], pid: r.threads.pid[i], tid: r.threads.tid[i],
				process: r.names[r.threads.process[i]], samples: 0, events: 0, waits: 0, waited_ns: 0});
		scope.eachMark(r.samples, i => rows[r.samples.thread[i]].samples += r.samples.weight[i]);
		scope.eachMark(r.events, i => rows[r.events.thread[i]].events += r.events.weight[i]);
		scope.eachSlice(r.waits, (i, share) => {
			rows[r.waits.thread[i]].waits++;
			rows[r.waits.thread[i]].waited_ns += r.waits.took_ns[i] * share;
		});
		this.threads.show(rows.filter((row, i) => row.samples || row.events || row.waits || (i && scope.isWhole && scope.has[i]))
			.sort((a, b) => b.samples - a.samples || b.waits - a.waits), "");
	}

	showEvents() {
		const {recording: r, scope} = this, found = new Map();
		scope.eachMark(r.events, i => found.set(r.events.kind[i], (found.get(r.events.kind[i]) ?? 0) + r.events.weight[i]));
		this.events.show([...found].map(([kind, cnt]) => ({event: r.names[kind], count: cnt})).sort((a, b) => b.count - a.count), "");
	}

	showIntervals() {
		const {recording: r, scope} = this, found = new Map();
		scope.eachSlice(r.intervals, i => {
			const kind = r.kinds[r.intervals.kind[i]], took = r.intervals.took_ns[i];
			const key = `${kind.provider}:${kind.name} ${r.intervals.label[i]}`;
			const row = found.get(key) ?? {interval: kind.name, provider: kind.provider, label: r.names[r.intervals.label[i]],
				counts_for: kind.cause, count: 0, sum_ns: 0, worst_ns: 0, running_ns: 0};
			row.count++;
			row.sum_ns += took;
			row.worst_ns = Math.max(row.worst_ns, took);
			row.running_ns += r.intervals.part_ns[i];
			found.set(key, row);
		});
		this.intervals.show([...found.values()].sort((a, b) => b.sum_ns - a.sum_ns), "those that overlap the time");
	}

	showWaits() {
		const {recording: r, scope} = this, found = new Map();
		const byTid = this.byTid ??= new Map(Array.from(r.threads.tid, (tid, i) => [tid, i]));
		scope.eachSlice(r.waits, (i, share) => {
			const {kind, label, thread, other, took_ns, part_ns} = r.waits;
			const key = `${kind[i]} ${label[i]} ${thread[i]} ${other[i]}`;
			const row = found.get(key) ?? {thread: r.threadName(thread[i]), state: r.names[kind[i]], for: r.names[label[i]],
				ended_by: !other[i] ? "" : byTid.has(other[i]) ? r.threadName(byTid.get(other[i])) : String(other[i]),
				count: 0, waited_ns: 0, worst_ns: 0, runnable_ns: 0};
			row.count++;
			row.waited_ns += took_ns[i] * share;
			row.worst_ns = Math.max(row.worst_ns, took_ns[i]);
			row.runnable_ns += took_ns[i] - part_ns[i];
			found.set(key, row);
		});
		this.waits.show([...found.values()].sort((a, b) => b.waited_ns - a.waited_ns), "time off the CPU within the chosen time");
	}
}

// A row of 'tapir diff' has values and, as KEY_text, how they are printed: units differ from row to row.
function rowOfTexts(row) {
	const keys = Object.keys(row).filter(key => !(`${key}_text` in row) && key !== "is_changed");
	return Object.fromEntries(keys.map(key => [key.replace(/_text$/, ""), row[key]]));
}

// Views and tables of the report: of the whole recording. changes: what became slower or more since the other one, as a view.
function addViews(place, recording, changes) {
	place.append(element("h2", {}, "Views of the whole recording"));
	for (const view of changes ? [JSON.parse(changes.textContent), ...recording.views] : recording.views) {
		if (!view)
			continue;
		const {view: name, headline, notes, recorded, ...more} = view;
		const box = element("details", {className: "view"}, element("summary", {}, element("b", {}, name), ` ${headline ?? ""}`));
		const facts = Object.entries(more).filter(([, value]) => !Array.isArray(value));
		if (facts.length)
			box.append(element("dl", {className: "figures"}, ...facts.map(([key, value]) => element("div", {},
				element("dt", {}, columnTitle(key)), element("dd", {}, cellOf(key, value))))));
		for (const [key, rows] of Object.entries(more))
			if (Array.isArray(rows) && rows.length)
				new Table(box, columnTitle(key), `${name} ${key}`).show(rows.map(rowOfTexts), "");
		for (const note of notes ?? [])
			box.append(element("p", {className: "soft"}, note));
		box.id = `view-${name}`;
		place.append(box);
	}
	const box = element("details", {className: "view"}, element("summary", {}, element("b", {}, "report"), " all that was counted"));
	for (const [key, rows] of Object.entries(recording.report ?? {}))
		if (Array.isArray(rows) && rows.length && typeof rows[0] === "object")
			new Table(box, columnTitle(key), `report ${key}`).show(rows, "");
	place.append(box);
}
