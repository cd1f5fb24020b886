// SPDX-License-Identifier: GPL-2.0-or-later
// graph SECONDS: main calls middle calls leaf, which burns, and allocate, for which the runtime works on its thread's own
// stack (systemstack); a goroutine sleeps and locks.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var sink uint64
var block []byte
var mutex sync.Mutex

//go:noinline
func leaf(n uint64) uint64 {
	sum := n
	for i := 0; i < 200000; i++ {
		sum = sum*31 + (sum >> 7)
	}
	return sum
}

//go:noinline
func middle(n uint64) uint64 { return leaf(n) + 1 }

//go:noinline
func allocate() {
	for i := 0; i < 20; i++ {
		block = make([]byte, 1<<20) // a span of its own, which the heap gets and clears
	}
}

//go:noinline
func sleeper(end time.Time) {
	for time.Now().Before(end) {
		mutex.Lock()
		time.Sleep(2 * time.Millisecond)
		mutex.Unlock()
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	fmt.Println("pid", os.Getpid())
	go sleeper(end)
	for time.Now().Before(end) {
		mutex.Lock()
		sink += middle(sink)
		allocate()
		mutex.Unlock()
	}
}
