// SPDX-License-Identifier: GPL-2.0-or-later
// event_loop.js MODE: a service whose event loop is blocked, or not. It prints "pid N", and for each line of input what it saw since
// the line before, as JSON: perf_hooks' own histogram of how late the loop came, and from when until when its blocking functions ran,
// in ns of process.hrtime, which is CLOCK_MONOTONIC.
'use strict';

const { monitorEventLoopDelay, performance } = require('perf_hooks');
const { execFileSync } = require('child_process');
const net = require('net');

let calls = [];

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

function renderReport() {
  return burn(200);
}

function answer(socket) {
  burn(0.5);
  socket.write('.');
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
  idle: () => setInterval(() => {}, 20),
};

modes[process.argv[2]]();
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
process.stdin.on('data', () => {
  console.log(JSON.stringify({ calls, loop_longest_ms: delay.max / 1e6 }));
  calls = [];
  delay.reset();
});
console.log(`pid ${process.pid}`);
