// SPDX-License-Identifier: GPL-2.0-or-later
// trace_processor.js DIR - Perfetto's trace_processor as its page has it in DIR (engine_bundle.js, trace_processor.wasm). Requests,
// messages TraceProcessorRpc, are read from the standard input until its end; replies go to the standard output.
'use strict';
const fs = require('fs');

const requests = new Uint8Array(fs.readFileSync(0));
const port = {postMessage: (data) => fs.writeSync(1, data)};
const worker = {};
console.log = console.warn; // what it prints on its own is no reply
process.chdir(process.argv[2]); // the wasm is looked for here

// The bundle is the code of a web worker, which is given a port for requests.
new Function('self', 'require', '__dirname', fs.readFileSync('engine_bundle.js', 'utf8'))(worker, require, '.');
worker.onmessage({data: {enginePort: port}});
setImmediate(() => port.onmessage({data: requests}));
