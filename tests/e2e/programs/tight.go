// SPDX-License-Identifier: GPL-2.0-or-later
// tight WORK COUNT [PROGRAM ARG...] - a goroutine per processor counts to WORK without a call, so that the
// runtime must preempt it by SIGURG for each collection of garbage, of which there is one every 10 ms
// meanwhile. The program is run COUNT times beside. Ends with what was counted as one line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

var kept [][]byte

//go:noinline
func count(work int) (sum int) {
	for i := 0; i < work; i++ {
		sum += i & 1
	}
	return sum
}

func collect(done chan bool) (cycles int) {
	for {
		select {
		case <-done:
			return cycles
		case <-time.After(10 * time.Millisecond):
			kept = append(kept[:0], make([]byte, 1<<20))
			runtime.GC()
			cycles++
		}
	}
}

func children(times int, argv []string) (fired int) {
	for i := 0; i < times; i++ {
		var said struct{ Fired int }
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err == nil {
			for at := range out {
				if out[at] == '{' {
					err = json.Unmarshal(out[at:], &said)
					break
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fired += said.Fired
	}
	return fired
}

func main() {
	work, _ := strconv.Atoi(os.Args[1])
	times, _ := strconv.Atoi(os.Args[2])
	sums := make([]int, runtime.NumCPU())
	done := make(chan bool)
	var counting sync.WaitGroup

	for i := range sums {
		counting.Add(1)
		go func(i int) {
			sums[i] = count(work)
			counting.Done()
		}(i)
	}
	go func() {
		counting.Wait()
		done <- true
	}()
	fired := make(chan int)
	go func() { fired <- children(times, os.Args[3:]) }()
	cycles := collect(done)
	right := true
	for _, sum := range sums {
		right = right && sum == work/2
	}
	fmt.Printf("{\"right\": %v, \"collected\": %v, \"fired\": %d}\n", right, cycles > 0, <-fired)
}
