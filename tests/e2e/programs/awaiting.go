// SPDX-License-Identifier: GPL-2.0-or-later

// awaiting MODE QUICK SLOW: a client of slow_peer.py, at these ports. "slow": six goroutines ask the slow one, 80 ms each; "chatty": three make
// many calls of 8 ms, one after the other; "one-slow": four ask both in parallel, of which one takes 120 ms and the others 4. Prints "pid N",
// and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

var (
	quick, slow string
	gate        sync.Mutex
	waits       = [][2]int64{}
	begun       = map[*int64]bool{}
)

func now() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func connect(port string) net.Conn {
	peer, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	return peer
}

func call(peer net.Conn, ms int) {
	answer := make([]byte, 64)
	fmt.Fprintf(peer, "%d\n", ms)
	peer.Read(answer)
}

func askRates(peer net.Conn, ms int) {
	from := now()
	gate.Lock()
	begun[&from] = true
	gate.Unlock()
	call(peer, ms)
	gate.Lock()
	delete(begun, &from)
	waits = append(waits, [2]int64{from, now()})
	gate.Unlock()
}

func work(ms int) {
	peer := connect(slow)
	for {
		askRates(peer, ms)
	}
}

func basket() {
	peers := []net.Conn{connect(quick), connect(quick), connect(quick), connect(quick)}
	rates := connect(slow)
	for {
		var all sync.WaitGroup
		all.Add(5)
		for _, peer := range peers {
			go func(peer net.Conn) { call(peer, 4); all.Done() }(peer)
		}
		go func() { askRates(rates, 120); all.Done() }()
		all.Wait()
	}
}

func report() {
	gate.Lock()
	defer gate.Unlock()
	all := waits
	for from := range begun {
		all = append(all, [2]int64{*from, now()})
	}
	text, _ := json.Marshal(map[string]any{"waits": all})
	fmt.Println(string(text))
}

func main() {
	quick, slow = os.Args[2], os.Args[3]
	for i := 0; i < map[string]int{"slow": 6, "chatty": 3, "one-slow": 4}[os.Args[1]]; i++ {
		switch os.Args[1] {
		case "slow":
			go work(80)
		case "chatty":
			go work(8)
		default:
			go basket()
		}
	}
	fmt.Println("pid", os.Getpid())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		report()
	}
}
