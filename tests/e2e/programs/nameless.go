// SPDX-License-Identifier: GPL-2.0-or-later
// Burns CPU time in functions that stripping leaves only in .gopclntab.
package main

import (
	"fmt"
	"os"
	"time"
)

type shop struct{ n int }

//go:noinline
func (s *shop) burn(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i * i % 7
	}
	return sum
}

//go:noinline
func work() int {
	s := &shop{}
	sum := 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		sum += s.burn(100000)
	}
	return sum
}

func main() { fmt.Fprintln(os.Stderr, work()) }
