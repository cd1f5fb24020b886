// SPDX-License-Identifier: MIT
//! Fires events that a listener of the same process receives (tapir/listener.h), and prints them.
use std::ffi::{c_char, c_int, c_void};
use std::{mem, ptr, slice};
use tapir::{Provider, Type, Value, INFORMATIONAL, VERBOSE};

#[repr(C)]
struct Selection {
    provider: *const c_char,
    event: *const c_char,
    filter: *const c_char,
    keywords: u64,
    level: u8,
    pad0: [u8; 7],
}

#[repr(C)]
struct Options {
    size: usize,
    buffer_bytes: u32,
    interval_ms: u32,
    flags: u32,
    pad0: u32,
}

#[repr(C)]
struct Record {
    kind: *const c_void,
    payload: *const u8,
    time_ns: u64,
    payload_bytes: u32,
    tid: u32,
}

type Seen = extern "C" fn(*const Record, *mut c_void);

extern "C" {
    fn tapir_listener__open(selections: *const Selection, cnt: u32, seen: Seen, ctx: *mut c_void, opts: *const Options, out: *mut *mut c_void) -> c_int;
    fn tapir_listener__poll(listener: *mut c_void) -> c_int;
    fn tapir_listener__close(listener: *mut c_void) -> c_int;
}

const POLLED: u32 = 1;

extern "C" fn seen(record: *const Record, _: *mut c_void) {
    let record = unsafe { &*record };
    let payload = unsafe { slice::from_raw_parts(record.payload, record.payload_bytes as usize) };
    println!("{payload:02x?}");
}

fn main() {
    let shop = Provider::new("Rust-Shop").expect("provider");
    let fields = [("Order", Type::U32), ("Customer", Type::Text), ("Paid", Type::Bool), ("Total", Type::F32)];
    let placed = shop.define("OrderPlaced", INFORMATIONAL, 0x1, &fields).expect("event");
    let values = [Value::U32(17), Value::Text("Ann"), Value::Bool(true), Value::F32(1.0)];
    assert!(!placed.is_on() && !shop.is_on(INFORMATIONAL, 0x1));
    placed.fire(&values);
    let all = Selection { provider: b"Rust-*\0".as_ptr().cast(), event: ptr::null(), filter: ptr::null(), keywords: 0, level: 0, pad0: [0; 7] };
    let opts = Options { size: mem::size_of::<Options>(), buffer_bytes: 0, interval_ms: 0, flags: POLLED, pad0: 0 };
    let mut listener = ptr::null_mut();
    assert_eq!(unsafe { tapir_listener__open(&all, 1, seen, ptr::null_mut(), &opts, &mut listener) }, 0);
    assert!(placed.is_on() && shop.is_on(INFORMATIONAL, 0x1) && !shop.is_on(VERBOSE, 0));
    placed.fire(&values);
    assert_eq!(unsafe { tapir_listener__poll(listener) }, 1);
    assert_eq!(unsafe { tapir_listener__close(listener) }, 0);
    assert!(!placed.is_on());
}
