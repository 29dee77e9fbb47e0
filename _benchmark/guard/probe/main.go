// Probe is the program that the guard builds in two trees and compares. It uses only the
// public API of the module, so that it compiles in old trees too, and reads its input from
// files, so that the input is the same in both.
//
//	probe deltas FILE SIZE SLICES RUNS   reads the text in deltas of SIZE bytes
//	probe whole FILE SLICES RUNS         reads it in one delta
//	probe readback DIR SLICES RUNS       reads a record
//	probe append FILE DIR RUNS           appends an exchange with it to a new record
//	probe gateway URL                    is a gateway until its input ends; a line of it
//	                                     has it give back its garbage, which a line answers
//
// The first three print the least processor time of a run, in nanoseconds, over slices of so
// many runs; append prints the mean. The garbage collector's time is included.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("probe: see the comment of its source")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal("probe: ", err)
	}
}

func run(what string, args []string) error {
	if what == "gateway" {
		return serve(args[0])
	}
	runs, err := number(args, 1)
	if err != nil {
		return err
	}
	if what == "append" {
		return appending(args[0], args[1], runs)
	}
	slices, err := number(args, 2)
	if err != nil {
		return err
	}
	var one func() error
	switch what {
	case "deltas":
		var size int
		if size, err = number(args, 3); err == nil {
			one, err = deltas(args[0], size)
		}
	case "whole":
		one, err = whole(args[0])
	case "readback":
		one = func() error { return readBack(args[0]) }
	default:
		return fmt.Errorf("%q is not a part of the probe", what)
	}
	if err != nil {
		return err
	}
	return least(one, slices, runs)
}

// number is the nth argument from the end.
func number(args []string, n int) (int, error) {
	if len(args) < n {
		return 0, errors.New("too few arguments")
	}
	return strconv.Atoi(args[len(args)-n])
}

// least prints the least processor time of a run in several slices of runs: what else the
// machine does can only add to it. A slice is best shorter than the time for which the system
// leaves a program alone, some milliseconds.
func least(one func() error, slices, runs int) error {
	if err := one(); err != nil { // warm
		return err
	}
	runtime.GC()
	var best time.Duration
	for range slices {
		from := processorTime()
		for range runs {
			if err := one(); err != nil {
				return err
			}
		}
		if took := processorTime() - from; best == 0 || took < best {
			best = took
		}
	}
	fmt.Println(float64(best) / float64(runs))
	return nil
}

// processorTime is the kernel's clock for this process.
func processorTime() time.Duration {
	const process = 2 // CLOCK_PROCESS_CPUTIME_ID
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, process, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return time.Duration(t.Nano())
}

// outside is the beginning of the replies, written as a text: its constant has another name
// in old trees.
const outside = "outside"

// deltas reads the middle of a reply again and again: thinking or answering, as the text
// began.
func deltas(file string, size int) (func() error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := sotto.Default().NewSplitter(sotto.Options{Start: outside})
	if err != nil {
		return nil, err
	}
	const head = 64 // bytes that are read once: a marker at the start is among them
	s.Feed(text[:head])
	return func() error {
		for rest := text[head:]; len(rest) > 0; {
			n := min(size, len(rest))
			s.Feed(rest[:n])
			rest = rest[n:]
		}
		return nil
	}, nil
}

func whole(file string) (func() error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := sotto.Default().NewSplitter(sotto.Options{Start: outside})
	if err != nil {
		return nil, err
	}
	return func() error {
		s.Reset()
		s.Feed(text)
		s.Close(sotto.EndStopped)
		return nil
	}, nil
}

// appending prints what an exchange costs a writer, the last sync included.
func appending(file, dir string, runs int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	reply, err := sotto.Default().Parse(string(text), outside, sotto.EndStopped)
	if err != nil {
		return err
	}
	w, err := record.Open(dir, record.Options{Policy: record.Batch})
	if err != nil {
		return err
	}
	e := record.Event{Payload: record.Exchange{
		API: "chat", Model: "qwen3:8b", Path: "/v1/chat/completions", Status: 200, Streamed: true, Outcome: "answered", Millis: 12,
		Replies: []record.Reply{record.ReplyOf(reply)},
	}}
	from := processorTime()
	for range runs {
		if _, err := w.Append(context.Background(), e); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	fmt.Println(float64(processorTime()-from) / float64(runs))
	return nil
}

func readBack(dir string) error {
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		return err
	}
	n := 0
	for _, err := range r.Events(record.Query{}) {
		if err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return errors.New("an empty record")
	}
	return nil
}

func serve(upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Config{Upstream: u})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	go func() { log.Fatal(s.Serve(l)) }()
	fmt.Println(l.Addr())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		debug.FreeOSMemory()
		fmt.Println("settled")
	}
	return lines.Err()
}
