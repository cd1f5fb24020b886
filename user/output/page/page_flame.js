// SPDX-License-Identifier: GPL-2.0-or-later
// The call tree as a flame graph (callers below) or icicle graph (callers above). A frame is an
// element, so that it has a name for people who do not see it, takes the focus, and is printed.

const ROW_PX = 20, CHAR_PX = 7, LEAST_PX = 1.5, MAX_FRAMES = 4000;

// As much of the name as there is room for.
function fitting(name, px) {
	const room = Math.floor((px - 6) / CHAR_PX);
	return name.length <= room ? name : room < 3 ? "" : name.slice(0, room - 1) + "\u2026";
}

class FlamePanel {
	constructor(place, recording, scope, other) {
		Object.assign(this, {recording, scope, other, shown: null});
		this.sources = stackSources(recording);
		place.append(element("h2", {}, "Stacks"));
		if (!this.sources.length) {
			place.append(element("p", {}, "This recording has no samples, waits or events."));
			return;
		}
		this.makeControls(place);
		this.about = element("output", {className: "about", role: "status"});
		this.graph = element("div", {className: "graph", role: "tree", "aria-label": "Calls"});
		place.append(this.legend(), this.about, this.graph);
		this.functions = new Table(place, "Functions", "functions");
		this.graph.addEventListener("click", e => this.zoom(e.target.call ?? e.target.parentNode.call));
		this.graph.addEventListener("mouseover", e => this.tell(e.target.call));
		this.graph.addEventListener("focusin", e => this.tell(e.target.call));
		this.graph.addEventListener("keydown", e => this.key(e));
		new ResizeObserver(() => this.draw()).observe(this.graph);
		scope.listeners.push(what => "pattern" in what ? this.draw() : this.count());
		this.count();
	}

	makeControls(place) {
		this.source = element("select", {id: "source"}, ...this.sources.map((s, i) => new Option(s.title, i)));
		const check = (id, text, checked) => {
			const input = element("input", {type: "checkbox", id, checked});
			input.addEventListener("change", () => this.count());
			return [input, element("label", {}, input, ` ${text}`)];
		};
		let labels = [];
		const add = (id, text, checked) => {
			const [input, label] = check(id, text, checked);
			labels.push(label);
			return input;
		};
		this.isIcicle = add("icicle", "icicle: callers above", false);
		this.isInverted = add("inverted", "inverted: from the innermost function", false);
		this.folds = add("folds", "fold kernel and runtime", true);
		this.reset = element("button", {type: "button"}, "Reset zoom");
		this.reset.addEventListener("click", () => this.zoom(this.root));
		this.source.addEventListener("change", () => this.count());
		place.append(element("div", {className: "controls"}, element("label", {}, "Of ", this.source), ...labels, this.reset));
	}

	legend() {
		const colors = this.other ? [["more3", "more here"], ["less3", `more in ${this.other.recording.file}`], ["same", "alike"]]
			: KINDS.map((text, kind) => [`kind${kind}`, text]).filter(([, text]) => text);
		return element("span", {className: "legend soft"}, ...colors.flatMap(([name, text]) => [element("i", {className: name}), text]));
	}

	// Adds up what is in scope.
	count() {
		const source = this.sources[this.source.value], path = this.pathOfShown();
		const like = this.other && this.other.sources.find(s => s.id === source.id);
		const other = like ? {recording: this.other.recording, source: like, scope: this.other.scope} : null;
		this.unit = source.unit;
		this.isCompared = !!other;
		this.root = callTree(this.recording, source, this.scope,
			{isInverted: this.isInverted.checked, folds: this.folds.checked}, other);
		this.shown = path.reduce((call, name) => call && call.children.get(name), this.root) ?? this.root;
		this.showFunctions(source, other);
		this.draw();
	}

	pathOfShown() {
		const path = [];
		for (let call = this.shown; call && call.parent; call = call.parent)
			path.unshift(call.name);
		return path;
	}

	showFunctions(source, other) {
		const rows = functionsOf(this.recording, nodeWeights(this.recording, source, this.scope));
		const key = name => source.unit === "ns" ? `${name}_ns` : name;
		const shown = f => ({function: f.name, kind: f.kind, [key("self")]: f.self,
			self_percent: this.root.total ? 100 * f.self / this.root.total : 0, [key("total")]: f.total,
			total_percent: this.root.total ? 100 * f.total / this.root.total : 0});
		const list = rows.map(shown);
		if (other)
			this.addOther(list, functionsOf(other.recording, nodeWeights(other.recording, other.source, other.scope)));
		list.sort((a, b) => b.self_percent - a.self_percent);
		this.functions.show(list, `${source.title}, in the time and threads that are chosen`);
	}

	addOther(list, others) {
		const byName = new Map(others.map(f => [f.name, f])), all = this.root.other || 1;
		for (const row of list) {
			const f = byName.get(row.function);
			byName.delete(row.function);
			row.other_self_percent = 100 * (f ? f.self : 0) / all;
			row.change_percent = row.self_percent - row.other_self_percent;
		}
		for (const f of byName.values())
			list.push({function: f.name, kind: f.kind, self_percent: 0, total_percent: 0,
				other_self_percent: 100 * f.self / all, change_percent: -100 * f.self / all});
	}

	// ---- drawing

	weight(call) {
		return this.isCompared ? Math.max(call.total, this.otherWeight(call)) : call.total;
	}

	// Of the other recording, as much of its whole as the same share is here.
	otherWeight(call) {
		return this.root.other ? call.other * this.root.total / this.root.other : 0;
	}

	draw() {
		if (!this.root || !this.graph.clientWidth)
			return;
		const frames = [], above = [], width = this.graph.clientWidth;
		this.elementOf = new Map();
		for (let call = this.shown.parent; call; call = call.parent)
			above.unshift(call);
		for (const call of above)
			frames.push({call, from: 0, px: width, isAbove: true});
		this.place(frames, this.shown, 0, width);
		const rows = frames.reduce((most, f) => Math.max(most, f.call.depth), 0) + 1;
		this.graph.style.height = `${rows * ROW_PX}px`;
		this.graph.replaceChildren(...frames.map(f => this.frame(f, rows)));
		this.reset.disabled = this.shown === this.root;
		this.mark(frames);
		this.tell(null);
		(this.elementOf.get(this.shown) ?? this.graph.firstChild).tabIndex = 0;
	}

	place(frames, call, from, px) {
		frames.push({call, from, px});
		const whole = Math.max(this.weight(call), [...call.children.values()].reduce((sum, c) => sum + this.weight(c), 0));
		const children = [...call.children.values()].sort((a, b) => a.name < b.name ? -1 : 1);
		for (const child of children) {
			const wide = whole ? px * this.weight(child) / whole : 0;
			if (wide >= LEAST_PX && frames.length < MAX_FRAMES)
				this.place(frames, child, from, wide);
			from += wide;
		}
	}

	frame({call, from, px, isAbove}, rows) {
		const made = element("div", {className: `frame ${this.color(call)}${isAbove ? " above" : ""}`, role: "treeitem",
			tabIndex: -1, "aria-level": call.depth + 1, "aria-label": this.text(call)}, fitting(call.name, px));
		const row = this.isIcicle.checked ? call.depth : rows - 1 - call.depth;
		made.call = call;
		made.style.left = `${from}px`;
		made.style.width = `${Math.max(px - 1, 1)}px`;
		made.style.top = `${row * ROW_PX}px`;
		this.elementOf.set(call, made);
		return made;
	}

	color(call) {
		if (!this.isCompared || !call.parent)
			return `kind${call.kind}`;
		const here = call.total / (this.root.total || 1), there = call.other / (this.root.other || 1);
		const change = here - there, large = Math.abs(change) > .05 ? 3 : Math.abs(change) > .01 ? 2 : Math.abs(change) > .002 ? 1 : 0;
		return large ? `${change > 0 ? "more" : "less"}${large}` : "same";
	}

	text(call) {
		let text = `${call.name} \u00b7 ${amount(call.total, this.unit)}, ${percent(call.total, this.root.total)}`;
		if (call.self)
			text += `, itself ${amount(call.self, this.unit)}`;
		if (this.isCompared)
			text += `; other recording ${percent(call.other, this.root.other)}`;
		if (KINDS[call.kind])
			text += ` \u00b7 ${KINDS[call.kind]}`;
		return text;
	}

	tell(call) {
		const shown = call ?? this.shown;
		this.about.value = this.text(shown) + (shown === this.root && this.root.bare
			? ` \u00b7 ${amount(this.root.bare, this.unit)} without a stack are not drawn` : "");
	}

	// A function below itself counts once: of a hit, callees are not looked at.
	mark(frames) {
		const {pattern} = this.scope, found = byId("found");
		let hits = 0, sum = 0;
		const look = call => {
			if (call.parent && pattern.test(call.name)) {
				sum += call.total;
				hits++;
			} else {
				call.children.forEach(look);
			}
		};
		if (pattern)
			look(this.shown);
		for (const {call} of frames)
			this.elementOf.get(call).classList.toggle("hit", !!pattern && !!call.parent && pattern.test(call.name));
		found.value = pattern ? `${percent(sum, this.shown.total)}: ${amount(sum, this.unit)} in ${thousands(hits)} places` : "";
	}

	// ---- moving

	zoom(call) {
		if (!call)
			return;
		this.shown = call;
		this.draw();
		if (this.graph.contains(document.activeElement) || document.activeElement === document.body)
			this.elementOf.get(call)?.focus({preventScroll: true});
	}

	key(e) {
		const call = e.target.call, all = call?.parent ? [...call.parent.children.values()].sort((a, b) => a.name < b.name ? -1 : 1)
			.filter(c => this.elementOf.has(c)) : [call];
		const up = this.isIcicle.checked ? "ArrowUp" : "ArrowDown", at = all.indexOf(call);
		const callees = call ? [...call.children.values()].filter(c => this.elementOf.has(c)) : [];
		const next = e.key === up ? call?.parent : ["ArrowUp", "ArrowDown"].includes(e.key)
			? callees.sort((a, b) => this.weight(b) - this.weight(a))[0]
			: e.key === "ArrowLeft" ? all[at - 1] : e.key === "ArrowRight" ? all[at + 1] : null;
		if (e.key === "Enter" || e.key === " ")
			this.zoom(call);
		else if (e.key === "Escape")
			this.zoom(this.root);
		else if (!next)
			return;
		e.preventDefault();
		if (next)
			this.elementOf.get(next)?.focus({preventScroll: true});
	}
}
