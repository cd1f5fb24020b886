// SPDX-License-Identifier: GPL-2.0-or-later
// waits.js SECONDS: main calls middle calls leaf, which burns, at each turn of the event loop.
'use strict';

function leaf(n) {
  let sum = n | 0;
  for (let i = 0; i < 2000; i++) {
    sum = (Math.imul(sum, 31) + (sum >>> 7) + i) | 0;
  }
  return sum + JSON.stringify(JSON.parse('{"a":[1,2,3]}')).length;
}

function middle(n) {
  let sum = 0;
  for (let i = 0; i < 100; i++) {
    sum ^= leaf(n + i);
  }
  return sum + 1;
}

const end = Date.now() + Number(process.argv[2]) * 1000;
function main() {
  middle(1);
  if (Date.now() < end) {
    setTimeout(main, 1);
  }
}

console.log(`pid ${process.pid}`);
main();
