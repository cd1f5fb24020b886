// SPDX-License-Identifier: GPL-2.0-or-later
// event_loop.js MODE [DIR]: a service whose event loop is blocked, or not; it may write files there. It prints "pid N", and for each line of input what it saw since
// the line before, as JSON: perf_hooks' own histogram of how late the loop came, how long it was active, and from when until when its blocking functions ran,
// in ns of process.hrtime, which is CLOCK_MONOTONIC.
'use strict';

const { monitorEventLoopDelay, performance } = require('perf_hooks');
const { execFileSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const path = require('path');
const { Worker } = require('worker_threads');

let calls = [];
let utilization = { at_ns: [], active_ns: [] };  // performance.eventLoopUtilization(), of which tapir has no part

function timed(work) {
  const from = process.hrtime.bigint();
  work();
  calls.push([Number(from), Number(process.hrtime.bigint())]);
}

function burn(ms) {
  const until = performance.now() + ms;
  let sum = 0;
  while (performance.now() < until) {
    for (let i = 0; i < 10000; i++) sum = (Math.imul(sum, 31) + i) | 0;
  }
  return sum;
}

function until(ms, work) {
  const end = performance.now() + ms;
  while (performance.now() < end) work();
}

const orders = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, name: `order ${i}`, tags: ['a', String(i)] })));

function importOrders() {
  until(150, () => JSON.parse(orders));
}

function checkAddress() {
  until(150, () => /^([a-z]+)+$/.test('aaaaaaaaaaaaaaaaaa!'));
}

const sessions = [];

function rememberSession() {
  for (let i = 0; i < 20; i++) sessions.push(new Array(13000).fill(i + 0.5));
}

async function lookUp() {
  await null;
}

async function loadCustomers() {
  const end = performance.now() + 200;
  while (performance.now() < end) await Promise.all(Array.from({ length: 500 }, lookUp));
}

function renderReport() {
  return burn(200);
}

function answer(socket) {
  burn(0.5);
  socket.write('.');
}

// Eight clients that ask again as soon as they have an answer.
function serve(work) {
  const server = net.createServer((socket) => socket.on('data', () => { work(); socket.write('.'); }));
  server.listen(0, '127.0.0.1', () => {
    for (let i = 0; i < 8; i++) {
      const client = net.connect(server.address().port, '127.0.0.1', () => client.write('.'));
      client.on('data', () => client.write('.'));
    }
  });
}

function keepJournal() {
  const fd = fs.openSync(path.join(process.argv[3], 'journal'), 'a');
  timed(() => {
    fs.writeSync(fd, 'x'.repeat(4096));
    fs.fsyncSync(fd);
  });
  fs.closeSync(fd);
}

const page = Buffer.alloc(1 << 20);
let template;

function makeTemplate() {
  const name = path.join(process.argv[3], 'template');
  fs.writeFileSync(name, page);
  template = fs.openSync(name);
}

// All of its time is in the call: a new buffer for each would be another matter.
function readTemplate() {
  fs.readSync(template, page, 0, page.length, 0);
}

const modes = {
  // A timer computes for 200 of each 300 ms.
  report: () => setInterval(() => timed(renderReport), 300),
  // One that waits for a child, which takes no CPU.
  child: () => setInterval(() => timed(function runBackup() { execFileSync('/bin/sleep', ['0.2']); }), 300),
  // One that waits for another thread.
  sleep: () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    setInterval(() => timed(function takeTurn() { Atomics.wait(cell, 0, 0, 200); }), 300);
  },
  // Many short answers, as fast as the CPU can: busy, but never blocked.
  short: () => {
    const server = net.createServer((socket) => socket.on('data', () => answer(socket)));
    server.listen(0, '127.0.0.1', () => {
      for (let i = 0; i < 4; i++) {
        const client = net.connect(server.address().port, '127.0.0.1', () => client.write('.'));
        client.on('data', () => client.write('.'));
      }
    });
  },
  // Each request waits for the disk.
  fsync: () => serve(keepJournal),
  // Each reads a file that is in memory.
  read: () => {
    makeTemplate();
    serve(() => timed(readTemplate));
  },
  // Two defects at once: the first one of each takes more of the time.
  'parse leak': () => {
    setInterval(() => timed(importOrders), 300);
    setInterval(rememberSession, 100);
  },
  'regex read': () => {
    makeTemplate();
    setInterval(() => timed(checkAddress), 300);
    setInterval(readTemplate, 10);
  },
  // Promises without end: each of their callbacks is short.
  promises: () => setInterval(async () => {
    const from = process.hrtime.bigint();
    await loadCustomers();
    calls.push([Number(from), Number(process.hrtime.bigint())]);
  }, 300),
  // More threads compute than there are CPUs.
  workers: () => {
    for (let i = 0; i < 12; i++) new Worker('for (;;);', { eval: true });
  },
  // Short answers, with a rest after each.
  calm: () => setInterval(() => burn(2), 50),
  idle: () => setInterval(() => {}, 20),
};

modes[process.argv[2]]();
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
setInterval(() => {
  utilization.at_ns.push(Number(process.hrtime.bigint()));
  utilization.active_ns.push(performance.eventLoopUtilization().active * 1e6);
}, 10);
process.stdin.on('data', () => {
  console.log(JSON.stringify({ calls, utilization, loop_longest_ms: delay.max / 1e6 }));
  calls = [];
  utilization = { at_ns: [], active_ns: [] };
  delay.reset();
});
console.log(`pid ${process.pid}`);
