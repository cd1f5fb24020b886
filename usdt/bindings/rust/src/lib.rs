// SPDX-License-Identifier: MIT
//! Events of a Rust program: typed USDT probes with semaphores, and tapir's ring lane.
//!
//! ```no_run
//! use tapir::{Event, Provider, Type, Value, INFORMATIONAL};
//!
//! let shop = Provider::new("Demo-Shop").unwrap();
//! let placed: Event = shop
//!     .define("OrderPlaced", INFORMATIONAL, 0x1, &[("Order", Type::U64), ("Customer", Type::Text)])
//!     .unwrap();
//! placed.fire(&[Value::U64(17), Value::Text("Ann")]);
//! ```
//!
//! Firing takes no lock and allocates nothing; a disabled event costs a call, a load and a
//! branch. Values are checked against the fields only in debug builds.

use std::ffi::{c_char, c_int, c_void, CString};
use std::io;
use std::marker::PhantomData;
use std::ptr;

pub const LOGALWAYS: u8 = 0;
pub const CRITICAL: u8 = 1;
pub const ERROR: u8 = 2;
pub const WARNING: u8 = 3;
pub const INFORMATIONAL: u8 = 4;
pub const VERBOSE: u8 = 5;

/// Fields of an event, as enum tapir_type of tapir/provider.h has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Type {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    U64 = 6,
    I64 = 7,
    F32 = 8,
    F64 = 9,
    Bool = 12,
    /// A u16 with its bytes, then UTF-8.
    Text = 21,
}

/// A value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    /// At most 65,535 bytes of it are in the event.
    Text(&'a str),
}

#[repr(C)]
struct RawField {
    name: *const c_char,
    members: *const RawField,
    member_cnt: u16,
    count: u16,
    kind: u8,
    repeat: u8,
    pad0: [u8; 2],
}

#[repr(C)]
struct RawAbout {
    provider: *const c_char,
    name: *const c_char,
    fields: *const RawField,
    keywords: u64,
    id: u16,
    version: u8,
    level: u8,
    field_cnt: u16,
    task: u16,
    opcode: u8,
    pad0: [u8; 7],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Piece {
    at: *const c_void,
    bytes: usize,
}

extern "C" {
    fn tapir_dynamic__new(name: *const c_char, guid: *const u8, opts: *const c_void, out: *mut *mut c_void) -> c_int;
    fn tapir_dynamic__free(dynamic: *mut c_void);
    fn tapir_dynamic__is_on(dynamic: *const c_void, level: u8, keywords: u64) -> c_int;
    fn tapir_event__define(dynamic: *mut c_void, about: *const RawAbout, out: *mut *mut c_void) -> c_int;
    fn tapir_event__is_on(event: *const c_void) -> c_int;
    fn tapir_event__emit_pieces(event: *mut c_void, pieces: *const Piece, cnt: u32);
}

const REPEAT_COUNT_U16: u8 = 3;
const MAX_FIELDS: usize = 32;

fn text(from: &str) -> io::Result<CString> {
    CString::new(from).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

fn check(err: c_int) -> io::Result<()> {
    if err == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-err))
    }
}

/// A provider and its events, which borrow it: they end before it does.
pub struct Provider {
    raw: *mut c_void,
}

unsafe impl Send for Provider {}
unsafe impl Sync for Provider {}

impl Provider {
    pub fn new(name: &str) -> io::Result<Self> {
        let name = text(name)?;
        let mut raw = ptr::null_mut();
        check(unsafe { tapir_dynamic__new(name.as_ptr(), ptr::null(), ptr::null(), &mut raw) })?;
        Ok(Provider { raw })
    }

    /// An event of the provider with that level, or a more detailed one, and one of the keywords is on.
    pub fn is_on(&self, level: u8, keywords: u64) -> bool {
        unsafe { tapir_dynamic__is_on(self.raw, level, keywords) != 0 }
    }

    /// At most 32 fields.
    pub fn define(&self, name: &str, level: u8, keywords: u64, fields: &[(&str, Type)]) -> io::Result<Event<'_>> {
        if fields.len() > MAX_FIELDS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let name = text(name)?;
        let names = fields.iter().map(|f| text(f.0)).collect::<io::Result<Vec<_>>>()?;
        let rows: Vec<RawField> = fields
            .iter()
            .zip(&names)
            .map(|(field, name)| RawField {
                name: name.as_ptr(),
                members: ptr::null(),
                member_cnt: 0,
                count: 0,
                kind: field.1 as u8,
                repeat: if field.1 == Type::Text { REPEAT_COUNT_U16 } else { 0 },
                pad0: [0; 2],
            })
            .collect();
        let about = RawAbout {
            provider: ptr::null(),
            name: name.as_ptr(),
            fields: rows.as_ptr(),
            keywords,
            id: 0,
            version: 0,
            level,
            field_cnt: rows.len() as u16,
            task: 0,
            opcode: 0,
            pad0: [0; 7],
        };
        let mut raw = ptr::null_mut();
        check(unsafe { tapir_event__define(self.raw, &about, &mut raw) })?;
        Ok(Event { raw, types: fields.iter().map(|f| f.1).collect(), owner: PhantomData })
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        unsafe { tapir_dynamic__free(self.raw) }
    }
}

/// An event that was defined; any thread may fire it.
pub struct Event<'a> {
    raw: *mut c_void,
    types: Box<[Type]>,
    owner: PhantomData<&'a Provider>,
}

unsafe impl Send for Event<'_> {}
unsafe impl Sync for Event<'_> {}

impl Event<'_> {
    pub fn is_on(&self) -> bool {
        unsafe { tapir_event__is_on(self.raw) != 0 }
    }

    /// A value for each field, in order and of its type.
    pub fn fire(&self, values: &[Value]) {
        if self.is_on() {
            self.emit(values);
        }
    }

    fn emit(&self, values: &[Value]) {
        debug_assert!(values.len() == self.types.len());
        debug_assert!(values.iter().zip(self.types.iter()).all(|(v, t)| v.kind() == *t));
        let mut numbers = [0u64; MAX_FIELDS];
        let mut pieces = [Piece { at: ptr::null(), bytes: 0 }; 2 * MAX_FIELDS];
        let mut cnt = 0;
        for (value, number) in values.iter().zip(numbers.iter_mut()) {
            let (bits, bytes) = value.bits();
            *number = bits.to_le();
            pieces[cnt] = Piece { at: (number as *const u64).cast(), bytes };
            cnt += 1;
            if let Value::Text(text) = value {
                pieces[cnt] = Piece { at: text.as_ptr().cast(), bytes: bits as usize };
                cnt += 1;
            }
        }
        unsafe { tapir_event__emit_pieces(self.raw, pieces.as_ptr(), cnt as u32) }
    }
}

impl Value<'_> {
    fn kind(&self) -> Type {
        match self {
            Value::U8(_) => Type::U8,
            Value::I8(_) => Type::I8,
            Value::U16(_) => Type::U16,
            Value::I16(_) => Type::I16,
            Value::U32(_) => Type::U32,
            Value::I32(_) => Type::I32,
            Value::U64(_) => Type::U64,
            Value::I64(_) => Type::I64,
            Value::F32(_) => Type::F32,
            Value::F64(_) => Type::F64,
            Value::Bool(_) => Type::Bool,
            Value::Text(_) => Type::Text,
        }
    }

    /// What is in the payload, and how many bytes of it; of a text its length.
    fn bits(&self) -> (u64, usize) {
        match *self {
            Value::U8(v) => (v.into(), 1),
            Value::I8(v) => (v as u64, 1),
            Value::U16(v) => (v.into(), 2),
            Value::I16(v) => (v as u64, 2),
            Value::U32(v) => (v.into(), 4),
            Value::I32(v) => (v as u64, 4),
            Value::U64(v) => (v, 8),
            Value::I64(v) => (v as u64, 8),
            Value::F32(v) => (v.to_bits().into(), 4),
            Value::F64(v) => (v.to_bits(), 8),
            Value::Bool(v) => (v.into(), 1),
            Value::Text(v) => (v.len().min(u16::MAX.into()) as u64, 2),
        }
    }
}
