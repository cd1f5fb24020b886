// SPDX-License-Identifier: GPL-2.0-or-later
// awaiting.js MODE QUICK SLOW: a client of slow_peer.py, at these ports. "slow": six at a time ask the slow one, 80 ms each; "chatty": three
// make many calls of 8 ms, one after the other; "one-slow": four ask both in parallel, of which one takes 120 ms and the others 4. Prints
// "pid N", and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC.
const net = require("net");
const [mode, quick, slow] = process.argv.slice(2);
const waits = [], begun = new Set();
const now = () => Number(process.hrtime.bigint());

const connect = (port) => new Promise((resolve) => {
	const socket = net.connect(Number(port), "127.0.0.1", () => resolve(socket));
});

const call = (socket, ms) => new Promise((resolve) => {
	socket.once("data", resolve);
	socket.write(`${ms}\n`);
});

async function askRates(socket, ms) {
	const wait = [now()];
	begun.add(wait);
	await call(socket, ms);
	begun.delete(wait);
	waits.push([wait[0], now()]);
}

async function basket() {
	const peers = await Promise.all([1, 2, 3, 4].map(() => connect(quick)));
	const rates = await connect(slow);
	while (true)
		await Promise.all([...peers.map((peer) => call(peer, 4)), askRates(rates, 120)]);
}

async function work(ms) {
	const rates = await connect(slow);
	while (true)
		await askRates(rates, ms);
}

const modes = {
	slow: [6, () => work(80)],
	chatty: [3, () => work(8)],
	"one-slow": [4, basket],
};
const [count, task] = modes[mode];
for (let i = 0; i < count; i++)
	task();
console.log(`pid ${process.pid}`);
process.stdin.on("data", () => {
	const at = now();
	console.log(JSON.stringify({ waits: [...waits, ...[...begun].map(([from]) => [from, at])] }));
});
