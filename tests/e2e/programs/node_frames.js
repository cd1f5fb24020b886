// SPDX-License-Identifier: GPL-2.0-or-later
// node_frames.js: functions of all kinds that compute, and a thread of their own that waits. Prints "pid N". Called by nobody else, each has one
// caller: compute is called by weigh, by count (through Array.prototype.map, which is built in) and by a function made of text.
'use strict';

const { Worker, isMainThread } = require('worker_threads');

function compute(n) {
  let sum = n;
  for (let i = 0; i < 3000; i++) sum = (Math.imul(sum, 31) + (sum >>> 7) + i) | 0;
  return sum;
}

class Shop {
  get größe() { return compute(1); }

  weigh(n) { return compute(n) + this.größe; }
}

const shop = new Shop();

function weighAll() {
  let sum = 0;
  for (let i = 0; i < 20; i++) sum += shop.weigh(i);
  return sum;
}

function countAll() {
  return [1, 2, 3, 4, 5, 6, 7, 8].map(function count(n) { return compute(n); }).length;
}

// It runs once each: it is interpreted.
function runCold(made) {
  return new Function('compute', `/* ${made} */ let sum = 0; for (let i = 0; i < 300; i++) sum += i % 7; return compute(sum);`)(compute);
}

function collect(made) {
  const kept = [];
  for (let i = 0; i < 2000; i++) kept.push({ made, i });
  return kept.length;
}

function main() {
  for (let made = 0; ; made++) {
    weighAll();
    countAll();
    runCold(made);
    collect(made);
  }
}

function waitForever() {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (;;) Atomics.wait(cell, 0, 0, 20);
}

if (isMainThread) {
  new Worker(__filename).on('online', () => {
    console.log(`pid ${process.pid}`);
    main();
  });
} else {
  waitForever();
}
