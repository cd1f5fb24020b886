// SPDX-License-Identifier: GPL-2.0-or-later
// hot.js SECONDS: main calls middle calls leaf, which burns.
'use strict';

function leaf(n) {
  let sum = n | 0;
  for (let i = 0; i < 200000; i++) {
    sum = (Math.imul(sum, 31) + (sum >>> 7) + i) | 0;
  }
  return sum;
}

function middle(n) {
  return leaf(n) + 1;
}

function main(seconds) {
  const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
  let sink = 0;
  for (let n = 0; process.hrtime.bigint() < end; n++) {
    sink ^= middle(n);
  }
  return sink;
}

console.log(`pid ${process.pid}`);
main(Number(process.argv[2]));
