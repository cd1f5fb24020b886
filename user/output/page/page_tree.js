// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of stacks added up as a tree of calls, also from the innermost function outwards, with
// frames of kernel and runtime folded, and beside those of another recording.

// What can be added up by stack. weight(row, share) is in the unit.
function stackSources(recording) {
	const {samples, events, waits, intervals, names, kinds} = recording;
	const sources = [];
	const marks = (id, title, unit, rows, is) => sources.push({id, title, unit, rows,
		weight: i => is(i) ? rows.weight[i] : 0});
	if (samples.cnt)
		marks("cpu", "CPU samples", "samples", samples, () => true);
	if (waits.cnt)
		sources.push({id: "waits", title: "waits: time off the CPU", unit: "ns", rows: waits, isSlices: true,
			weight: (i, share) => waits.took_ns[i] * share});
	const found = [...new Set(events.kind)].sort((a, b) => names[a] < names[b] ? -1 : 1);
	const like = pattern => new Set(found.filter(kind => pattern.test(names[kind])));
	for (const [id, title, pattern] of [["allocations", "allocations", /alloc/i], ["exceptions", "exceptions", /exception|throw/i]]) {
		const set = like(pattern);
		if (set.size)
			marks(id, title, "events", events, i => set.has(events.kind[i]));
	}
	if (events.cnt)
		marks("events", "all events", "events", events, () => true);
	for (const kind of found)
		marks(`event ${names[kind]}`, `event ${names[kind]}`, "events", events, i => events.kind[i] === kind);
	for (const kind of new Set(intervals.kind))
		sources.push({id: `interval ${kinds[kind].name}`, title: `interval ${kinds[kind].name}: where it began`, unit: "ns",
			rows: intervals, isSlices: true, weight: (i, share) => intervals.kind[i] === kind ? intervals.took_ns[i] * share : 0});
	return sources;
}

// The weight of each node itself, of what is in scope.
function nodeWeights(recording, source, scope) {
	const self = new Float64Array(recording.nodes.cnt), {rows} = source;
	if (source.isSlices)
		scope.eachSlice(rows, (i, share) => self[rows.node[i]] += source.weight(i, share));
	else
		scope.eachMark(rows, i => self[rows.node[i]] += source.weight(i, 1));
	return self;
}

const FOLDED = {[KIND_KERNEL]: "[kernel]", [KIND_RUNTIME]: "[runtime]"};

class Call {
	constructor(name, kind, parent) {
		Object.assign(this, {name, kind, parent, depth: parent ? parent.depth + 1 : 0, self: 0, total: 0, other: 0});
		this.children = new Map();
	}

	child(name, kind) {
		let call = this.children.get(name);
		if (!call)
			this.children.set(name, call = new Call(name, kind, this));
		return call;
	}

	// The frame of a node that it calls; folded frames in a row are one.
	step(name, kind, folds) {
		const group = folds && FOLDED[kind];
		return !group ? this.child(name, kind) : this.name === group ? this : this.child(group, kind);
	}

	add(weight, side) {
		for (let call = this; call; call = call.parent)
			call[side] += weight;
	}
}

function addFromRoot(root, recording, self, folds, side) {
	const {parent, name, kind, cnt} = recording.nodes, calls = new Array(cnt), total = self.slice();
	for (let n = cnt - 1; n > 0; n--)
		total[parent[n]] += total[n];
	calls[0] = root;
	for (let n = 1; n < cnt; n++)
		if (total[n]) {
			calls[n] = calls[parent[n]].step(recording.names[name[n]] || "?", kind[n], folds);
			if (side === "total")
				calls[n].self += self[n];
			if (self[n])
				calls[n].add(self[n], side);
		}
}

function addFromLeaf(root, recording, self, folds, side) {
	const {parent, name, kind, cnt} = recording.nodes;
	for (let n = 1; n < cnt; n++) {
		if (!self[n])
			continue;
		let call = root;
		for (let at = n; at; at = parent[at])
			call = call.step(recording.names[name[at]] || "?", kind[at], folds);
		call.add(self[n], side);
		if (side === "total")
			call.self += self[n];
	}
}

// options: isInverted, folds; other: {recording, source, scope} or null.
function callTree(recording, source, scope, options, other) {
	const root = new Call("all", 0, null), add = options.isInverted ? addFromLeaf : addFromRoot;
	const self = nodeWeights(recording, source, scope);
	root.bare = self[0];
	add(root, recording, self, options.folds, "total");
	if (other)
		add(root, other.recording, nodeWeights(other.recording, other.source, other.scope), options.folds, "other");
	return root;
}

// Each function once: self where it is innermost, total where it occurs, once a stack.
function functionsOf(recording, self) {
	const {parent, name, kind, cnt} = recording.nodes, found = new Map(), total = self.slice();
	const functionOf = n => {
		let f = found.get(name[n]);
		if (!f)
			found.set(name[n], f = {name: recording.names[name[n]] || "?", kind: KINDS[kind[n]], self: 0, total: 0});
		return f;
	};
	const isBelowItself = n => {
		for (let at = parent[n]; at; at = parent[at])
			if (name[at] === name[n])
				return true;
		return false;
	};
	for (let n = cnt - 1; n > 0; n--)
		total[parent[n]] += total[n];
	for (let n = 1; n < cnt; n++)
		if (total[n]) {
			const f = functionOf(n);
			f.self += self[n];
			f.total += isBelowItself(n) ? 0 : total[n];
		}
	return [...found.values()];
}
