package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

// crowdEvents and crowdInterval make streams that last until all have begun, on a busy machine too.
const (
	crowdEvents   = 16
	crowdInterval = 10 * time.Second
)

// crowd holds many streams open at once, checks every byte of each, and prints what the gateways'
// memory grew by. A gateway needs two descriptors for a stream: if the system allows one process
// too few, several share the streams. So do upstreams and clients, which need one for each.
func crowd(n int) (err error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	room := int(limit.Cur) - 500
	processes := func(files int) int { return max(1, (files+room-1)/room) }
	var running []*traffic.Process
	defer func() {
		for _, p := range running {
			p.Stop()
		}
	}()
	gateways, clients := processes(2*n), processes(n)
	share := func(i, of int) int { return n*(i+1)/of - n*i/of }
	var servers []*traffic.Process
	before := 0
	for range gateways { // each has an upstream
		b, err := traffic.NewBench("-variant", "tags", "-interval", crowdInterval.String(), "-events", strconv.Itoa(crowdEvents))
		if err != nil {
			return err
		}
		running = append(running, b.Up)
		b.Judges["gateway"] = &traffic.Judge{Want: b.Script.Gateway}
		g, err := proxy(b, "gateway")
		if err != nil {
			return err
		}
		running, servers = append(running, g), append(servers, g)
		now, _ := g.Memory()
		before += now
	}
	// Each gateway's streams have clients of their own.
	groups := max(gateways, clients)
	crowds := make([]*traffic.Process, groups)
	failed := make([]error, groups)
	var wg sync.WaitGroup
	for i := range groups {
		wg.Go(func() {
			crowds[i], failed[i] = traffic.Start("crowd", "-to", servers[i%gateways].Addr, "-many", strconv.Itoa(share(i, groups)))
		})
	}
	wg.Wait()
	for _, c := range crowds {
		if c != nil {
			running = append(running, c)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	grown := -before
	for _, g := range servers {
		now, _ := g.Memory()
		grown += now
	}
	var begun, ended []int64
	for _, c := range crowds {
		line, err := c.Line()
		if err != nil {
			return fmt.Errorf("the clients: %w", err)
		}
		first, err := strconv.ParseInt(line, 10, 64)
		all, bad := strconv.ParseInt(c.Addr, 10, 64)
		if err := errors.Join(err, bad); err != nil {
			return err
		}
		begun, ended = append(begun, all), append(ended, first)
	}
	if slices.Max(begun) >= slices.Min(ended) {
		return fmt.Errorf("the first stream ended %v before the last had begun", time.Duration(slices.Max(begun)-slices.Min(ended)))
	}
	fmt.Printf("%d streams were open at once for %v, through %d gateways; every byte was right; %.1f KiB of memory a stream\n",
		n, time.Duration(slices.Min(ended)-slices.Max(begun)).Round(time.Second), gateways, float64(grown)/float64(n)/1024)
	return nil
}

// joinCrowd is a process of clients. It prints the time when all of its streams had begun, and,
// when each has ended and was right, the time of the first end.
func joinCrowd() error {
	script, err := traffic.NewScript("tags", crowdEvents, false)
	if err != nil {
		return err
	}
	judge := &traffic.Judge{Want: script.Gateway}
	var clients []*traffic.Client
	for range *streamsUp {
		c := traffic.NewClient(*to, judge, "")
		c.Buf = c.Buf[:2<<10]
		clients = append(clients, c)
	}
	var begun atomic.Int64
	var first atomic.Int64
	dial := make(chan bool, 64)
	err = traffic.Together(clients, func(c *traffic.Client) error {
		dial <- true
		err := c.Dial()
		<-dial
		if err != nil {
			return err
		}
		got := false
		c.Sees(func(body []byte) {
			if !got && len(body) > 0 {
				got = true
				if begun.Add(1) == int64(len(clients)) {
					fmt.Println(time.Now().UnixNano())
				}
			}
		})
		err = c.Exchange()
		first.CompareAndSwap(0, time.Now().UnixNano())
		return err
	})
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	fmt.Println(first.Load())
	return nil
}
