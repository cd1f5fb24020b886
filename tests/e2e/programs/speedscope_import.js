// SPDX-License-Identifier: GPL-2.0-or-later
// What speedscope makes of a file: its own importer, taken out of the page it ships as (the npm
// package has no other form). Usage: node speedscope_import.js PACKAGE_DIR FILE. Prints JSON:
// each profile's name, unit, weight and stacks, outermost first, with their weights.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");

function importer(dir) {
	const release = path.join(dir, "dist", "release");
	const name = fs.readdirSync(release).find((file) => /^speedscope-.*\.js$/.test(file));
	const hook = /async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfileGroupFromText/;
	const code = fs.readFileSync(path.join(release, name), "utf8");
	const found = hook.exec(code);

	if (!found)
		throw new Error("this speedscope has another form");
	const page = {
		console: { log() {}, warn() {}, error() {} }, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout,
		performance, matchMedia: () => ({ matches: false, addListener() {} }), localStorage: {},
		location: { hash: "", protocol: "file:" }, addEventListener() {}, requestAnimationFrame() {},
	};
	page.window = page.self = page.globalThis = page;
	try {
		// The page's own start fails without a browser; the importer is there before that.
		vm.runInNewContext(code.replace(found[0], `globalThis.importText=${found[1]};${found[0]}`), page);
	} catch (error) {
		if (!page.importText)
			throw error;
	}
	return page.importText;
}

function summary(profile) {
	const stacks = {};
	let samples = 0;

	for (let i = 0; i < profile.samples.length; i++) {
		const names = [];

		for (let node = profile.samples[i]; node && node.frame && node.frame.name !== "(speedscope root)"; node = node.parent)
			names.unshift(node.frame.name);
		const key = names.join(";");

		stacks[key] = (stacks[key] || 0) + profile.weights[i];
		samples++;
	}
	return { name: profile.getName(), unit: profile.getWeightUnit(), weight: profile.getTotalWeight(), samples, stacks };
}

async function main() {
	const group = await importer(process.argv[2])(path.basename(process.argv[3]), fs.readFileSync(process.argv[3], "utf8"));

	return JSON.stringify(group && { name: group.name, profiles: group.profiles.map(summary) });
}

main().then((text) => process.stdout.write(text + "\n", () => process.exit(0)), (error) => { console.error(String(error.message).slice(0, 300)); process.exit(1); });
