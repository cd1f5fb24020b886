// SPDX-License-Identifier: GPL-2.0-or-later
// deep.js SECONDS FRAMES: a function that calls itself FRAMES deep and burns there, so that samples have frames of generated
// code above those of Node and libc.
'use strict';

const end = Date.now() + Number(process.argv[2]) * 1000;
let sink = 0;

function burn() {
  let sum = sink | 0;
  for (let i = 0; i < 200000; i++) {
    sum = (Math.imul(sum, 31) + (sum >>> 7) + i) | 0;
  }
  return sum;
}

function descend(frames) {
  if (frames) {
    return descend(frames - 1) + 1;
  }
  while (Date.now() < end) {
    sink = burn();
  }
  return 1;
}

console.log(`pid ${process.pid}`);
descend(Number(process.argv[3]));
