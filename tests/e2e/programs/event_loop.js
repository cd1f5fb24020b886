// SPDX-License-Identifier: GPL-2.0-or-later
// event_loop.js MODE [DIR]: a service whose event loop is blocked, or not; it may write files there. It prints "pid N", and for each line of input what it saw since
// the line before, as JSON: perf_hooks' own histogram of how late the loop came, and from when until when its blocking functions ran,
// in ns of process.hrtime, which is CLOCK_MONOTONIC.
'use strict';

const { monitorEventLoopDelay, performance } = require('perf_hooks');
const { execFileSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const path = require('path');
const { Worker } = require('worker_threads');

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

function readTemplate() {
  timed(() => fs.readFileSync(path.join(process.argv[3], 'template')));
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
    fs.writeFileSync(path.join(process.argv[3], 'template'), Buffer.alloc(1 << 20));
    serve(readTemplate);
  },
  // More threads compute than there are CPUs.
  workers: () => {
    for (let i = 0; i < 12; i++) new Worker('for (;;);', { eval: true });
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
