package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// together runs one goroutine per client, and joins some of the errors.
func together(clients []*client, do func(c *client) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []error
	for _, c := range clients {
		wg.Go(func() {
			if err := do(c); err != nil {
				mu.Lock()
				all = append(all, err)
				mu.Unlock()
			}
			c.close()
		})
	}
	wg.Wait()
	if len(all) > 3 {
		all = append(all[:3], fmt.Errorf("%d clients failed", len(all)))
	}
	return errors.Join(all...)
}

func (b *bench) clients(p *process, n int) []*client {
	var all []*client
	for range n {
		all = append(all, newClient(p.addr, b.judges[p.name], ""))
	}
	return all
}

// perFrame is a proxy's processor time per frame of the upstream.
func perFrame(taken time.Duration, frames int, want float64) figure {
	return figure{name: "processor time a frame", unit: "µs", value: float64(taken) / float64(frames) / 1e3, want: want}
}

// oneByOne reads streams whose frames arrive one by one.
func oneByOne(b *bench, p *process) ([]figure, error) {
	const streams = 64
	clients := b.clients(p, streams)
	from := p.cpu()
	if err := together(clients, (*client).exchange); err != nil {
		return nil, err
	}
	frames := streams * len(b.script.frames)
	reads := 0
	for _, c := range clients {
		reads += c.reads
	}
	return []figure{
		perFrame(p.cpu()-from, frames, 1.15),
		{name: "reads of the client a frame", value: float64(reads) / float64(frames)},
	}, nil
}

// bursts reads few long streams at full speed, one after the other.
func bursts(b *bench, p *process) ([]figure, error) {
	taken, answers, _, err := again(b, p, 8)
	return []figure{perFrame(taken, answers*len(b.script.frames), 1.8)}, err
}

// streams reads short streams at full speed, of which the gateway should manage the
// wanted share.
func streams(want float64) func(b *bench, p *process) ([]figure, error) {
	return func(b *bench, p *process) ([]figure, error) {
		taken, answers, lasted, err := again(b, p, 32)
		return []figure{
			{name: "streams a second", value: float64(answers) / lasted.Seconds(), want: want, more: true},
			{name: "processor time a stream", unit: "µs", value: float64(taken) / float64(answers) / 1e3},
		}, err
	}
}

// again reads as many answers as it can in the time, over n connections.
func again(b *bench, p *process, n int) (taken time.Duration, answers int, lasted time.Duration, err error) {
	var mu sync.Mutex
	began, from := time.Now(), p.cpu()
	err = together(b.clients(p, n), func(c *client) error {
		own := 0
		for time.Since(began) < *period {
			if err := c.exchange(); err != nil {
				return err
			}
			own++
		}
		mu.Lock()
		answers += own
		mu.Unlock()
		return nil
	})
	return p.cpu() - from, answers, time.Since(began), err
}

// delays measures how long frames take through a proxy, by the time that the
// upstream wrote into each.
func delays(b *bench, p *process) ([]figure, error) {
	var mu sync.Mutex
	var all, thoughts, answers []time.Duration
	err := together(b.clients(p, 64), func(c *client) error {
		var own []time.Duration
		read := 0
		c.sees = func(body []byte) {
			now := time.Now()
			for {
				end := bytes.Index(body[read:], []byte("\n\n"))
				if end < 0 {
					return
				}
				own = readStamps(own, body[read:read+end], now)
				read += end + 2
			}
		}
		if err := c.exchange(); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, own...)
		thoughts, answers = append(thoughts, own[0]), append(answers, own[b.script.thoughts])
		return nil
	})
	if err != nil {
		return nil, err
	}
	at := func(list []time.Duration, part float64) float64 {
		slices.Sort(list)
		return float64(list[int(part*float64(len(list)-1))]) / 1e3
	}
	return []figure{
		{name: "delay of a frame, median", unit: "µs", value: at(all, 0.5)},
		{name: "delay of a frame, p99", unit: "µs", value: at(all, 0.99), want: 1.5},
		{name: "delay of the thought's first byte, median", unit: "µs", value: at(thoughts, 0.5)},
		{name: "delay of the answer's first byte, median", unit: "µs", value: at(answers, 0.5)},
	}, nil
}

// readStamps appends the age of the stamps in a frame, and blanks the stamps.
func readStamps(ages []time.Duration, frame []byte, now time.Time) []time.Duration {
	for {
		at := bytes.IndexByte(frame, stamp[0])
		if at < 0 || at+len(stamp) > len(frame) {
			return ages
		}
		sent, err := strconv.ParseInt(string(frame[at+1:at+len(stamp)]), 10, 64)
		if err == nil {
			ages = append(ages, now.Sub(time.Unix(0, sent)))
		}
		copy(frame[at:], stamp)
		frame = frame[at+len(stamp):]
	}
}

// many reads many slow streams at once, and measures how much the proxy's memory
// grows.
func many(b *bench, p *process) ([]figure, error) {
	n := *streamsUp
	clients := b.clients(p, n)
	for _, c := range clients {
		c.buf = c.buf[:2<<10]
	}
	before, _ := p.memory()
	from := p.cpu()
	measured := make(chan int, 1)
	dial := make(chan bool, 64)
	go func() {
		time.Sleep(time.Duration(len(b.script.frames)) * 500 * time.Millisecond * 4 / 5)
		now, _ := p.memory()
		measured <- now
	}()
	err := together(clients, func(c *client) error {
		dial <- true
		err := c.dial()
		<-dial
		if err != nil {
			return err
		}
		return c.exchange()
	})
	if err != nil {
		return nil, err
	}
	now := <-measured
	_, most := p.memory()
	each := func(bytes int) float64 { return float64(bytes-before) / float64(n) / 1024 }
	return []figure{
		{name: fmt.Sprintf("memory a stream of %d", n), unit: "KiB", value: each(now), want: 1.25},
		{name: "… at most", unit: "KiB", value: each(most)},
		perFrame(p.cpu()-from, n*len(b.script.frames), 0),
	}, nil
}
