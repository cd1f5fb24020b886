// SPDX-License-Identifier: GPL-2.0-or-later
// graph SECONDS: main calls middle calls leaf, which burns and sleeps; a thread waits for a channel.
use std::sync::mpsc;
use std::time::{Duration, Instant};

// std::hint's is not in Debian 12's.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn leaf(n: u64) -> u64 {
    let mut sum = n;
    for _ in 0..200_000 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(sum >> 7));
    }
    sum
}

#[inline(never)]
fn middle(n: u64) -> u64 {
    black_box(leaf(n)) + 1
}

#[inline(never)]
fn nap() {
    std::thread::sleep(Duration::from_millis(2));
    black_box(());
}

#[inline(never)]
fn receive(from: mpsc::Receiver<u64>) -> u64 {
    let mut sum = 0;
    for n in from {
        sum ^= black_box(n);
    }
    sum
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (to, from) = mpsc::channel();
    println!("pid {}", std::process::id());
    let receiver = std::thread::spawn(move || receive(from));
    let mut sum = 1;
    while Instant::now() < end {
        sum = middle(sum) | 1;
        nap();
        to.send(sum).unwrap();
    }
    drop(to);
    black_box(receiver.join().unwrap());
}
