// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the data and makes the panels.

function addOverview(place, recording) {
	place.append(element("pre", {id: "screen", tabIndex: 0}, recording.first_screen));
	if (recording.left_out.length)
		place.append(element("details", {open: true, id: "left-out"}, element("summary", {}, "What this page leaves out"),
			element("ul", {}, ...recording.left_out.map(text => element("li", {}, text)))));
	// Their facts are for who changes a rule: 'tapir report --explain KIND'.
	const findings = (recording.report?.findings ?? []).map(({facts, shown_by, ...finding}) => finding);
	if (findings.length)
		new Table(place, "Findings", "findings").show(findings, "");
}

// Returns an array with 1 for each thread that "all", "pid 12" or "thread 7" chooses.
function chooseThreads(recording, value) {
	const [what, number] = value.split(" "), {threads} = recording, has = new Uint8Array(threads.cnt);
	for (let i = 0; i < threads.cnt; i++)
		has[i] = what === "all" || (what === "pid" ? threads.pid[i] === Number(number) : i === Number(number));
	return has;
}

function addThreads(select, recording) {
	const {threads, names} = recording, byPid = new Map();
	for (let i = 1; i < threads.cnt; i++) {
		if (!byPid.has(threads.pid[i]))
			byPid.set(threads.pid[i], []);
		byPid.get(threads.pid[i]).push(i);
	}
	select.append(new Option("all", "all"));
	for (const [pid, list] of [...byPid].sort((a, b) => a[0] - b[0]))
		select.append(element("optgroup", {label: `${names[threads.process[list[0]]] || "?"} ${pid}`},
			new Option(`all threads of ${pid}`, `pid ${pid}`),
			...list.sort((a, b) => threads.tid[a] - threads.tid[b]).map(i => new Option(recording.threadName(i), `thread ${i}`))));
}

// Small letters match capitals, too, as in an editor.
function search(scope, input) {
	let pattern = null;
	input.setCustomValidity("");
	try {
		pattern = input.value ? new RegExp(input.value, /[A-Z]/.test(input.value) ? "" : "i") : null;
	} catch {
		input.setCustomValidity("not a regular expression");
	}
	scope.change({pattern});
}

function connect(scope, recording) {
	const input = byId("search"), from = byId("from"), until = byId("until");
	const show = () => {
		from.value = (scope.from / 1e9).toFixed(6);
		until.value = (scope.until / 1e9).toFixed(6);
		byId("whole").disabled = scope.isWhole;
	};
	const take = () => {
		const a = Number(from.value) * 1e9, b = Number(until.value) * 1e9;
		if (b > a)
			scope.change({from: Math.round(a), until: until.value === (scope.whole.until / 1e9).toFixed(6) ? scope.whole.until : Math.round(b)});
		show();
	};
	input.addEventListener("input", () => search(scope, input));
	byId("threads").addEventListener("change", e => scope.change({has: chooseThreads(recording, e.target.value)}));
	from.addEventListener("change", take);
	until.addEventListener("change", take);
	byId("whole").addEventListener("click", () => scope.change({...scope.whole}));
	byId("scope").addEventListener("submit", e => e.preventDefault());
	scope.listeners.push(show);
	show();
	addEventListener("keydown", e => {
		if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
			e.preventDefault();
			input.focus();
			input.select();
		} else if (e.key === "Escape" && document.activeElement === input) {
			input.value = "";
			search(scope, input);
			input.blur();
		}
	});
}

function start() {
	const read = id => byId(id) && new Recording(parseData(byId(id).textContent));
	const recording = read("data"), another = read("other");
	const scope = new Scope(recording);
	const other = another && {recording: another, scope: new Scope(another), sources: stackSources(another)};
	document.querySelector("h1").textContent = recording.file + (other ? ` compared with ${another.file}` : "");
	addThreads(byId("threads"), recording);
	connect(scope, recording);
	addOverview(byId("overview"), recording);
	new Timeline(byId("timeline"), recording, scope);
	new HeatMap(byId("heat"), recording, scope);
	new FlamePanel(byId("stacks"), recording, scope, other);
	new ScopeTables(byId("tables"), recording, scope);
	addViews(byId("tables"), recording, byId("changes"));
	document.documentElement.dataset.ready = "yes";
}

start();
