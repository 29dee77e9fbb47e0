// Package traffic loads gateways and proxies: an upstream that sends one reply of chat
// completions, clients that check every answer, and turns that measure what a process took
// for them by the kernel's clock and its resident memory.
package traffic

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Bench is what the turns of a case share.
type Bench struct {
	Script *Script
	Judges map[string]*Judge // of each proxy's answers
	Up     *Process
}

// A Figure is one measurement of a turn.
type Figure struct {
	ID    string // short, and the same for ever
	Name  string
	Unit  string
	Value float64
}

// A Turn loads one process.
type Turn func(b *Bench, p *Process) ([]Figure, error)

// NewBench starts an upstream, which is this program in the role upstream, for the flags
// given: variant, events, stamped, interval and batch.
func NewBench(args ...string) (*Bench, error) {
	script, err := scriptOf(args)
	if err != nil {
		return nil, err
	}
	b := &Bench{Script: script, Judges: map[string]*Judge{}}
	b.Up, err = Start("upstream", args...)
	return b, err
}

// scriptOf makes the script that the upstream makes from the same flags.
func scriptOf(args []string) (*Script, error) {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	u := UpstreamFlags(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return u.Script()
}

// Warm opens connections, and lets a gateway learn how replies begin.
func (b *Bench) Warm(p *Process) error {
	return Together([]*Client{NewClient(p.Addr, b.Judges[p.Name], UnpacedHeader+": 1\r\n")}, func(c *Client) error {
		return errors.Join(c.Exchange(), c.Exchange(), c.Exchange())
	})
}

// Together runs one goroutine per client, and joins some of the errors.
func Together(clients []*Client, do func(c *Client) error) error {
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

// Clients returns n clients of a process.
func (b *Bench) Clients(p *Process, n int) []*Client {
	var all []*Client
	for range n {
		all = append(all, NewClient(p.Addr, b.Judges[p.Name], ""))
	}
	return all
}

// perFrame is a proxy's processor time per frame of the upstream.
func perFrame(taken time.Duration, frames int) Figure {
	return Figure{ID: "frame", Name: "processor time a frame", Unit: "µs", Value: float64(taken) / float64(frames) / 1e3}
}

// OneByOne reads streams whose frames arrive one by one.
func OneByOne(b *Bench, p *Process) ([]Figure, error) {
	const streams = 64
	clients := b.Clients(p, streams)
	from := p.CPU()
	if err := Together(clients, (*Client).Exchange); err != nil {
		return nil, err
	}
	frames := streams * len(b.Script.Frames)
	reads := 0
	for _, c := range clients {
		reads += c.reads
	}
	return []Figure{
		perFrame(p.CPU()-from, frames),
		{ID: "reads", Name: "reads of the client a frame", Value: float64(reads) / float64(frames)},
	}, nil
}

// Bursts reads few long streams at full speed, one after the other.
func Bursts(period time.Duration) Turn {
	return func(b *Bench, p *Process) ([]Figure, error) {
		taken, answers, _, err := Again(b, p, 8, period)
		return []Figure{perFrame(taken, answers*len(b.Script.Frames))}, err
	}
}

// Short reads short streams at full speed.
func Short(period time.Duration) Turn {
	return func(b *Bench, p *Process) ([]Figure, error) {
		taken, answers, lasted, err := Again(b, p, 32, period)
		return []Figure{
			{ID: "rate", Name: "streams a second", Value: float64(answers) / lasted.Seconds()},
			{ID: "stream", Name: "processor time a stream", Unit: "µs", Value: float64(taken) / float64(answers) / 1e3},
		}, err
	}
}

// Again reads as many answers as it can in the time, over n connections.
func Again(b *Bench, p *Process, n int, period time.Duration) (taken time.Duration, answers int, lasted time.Duration, err error) {
	var mu sync.Mutex
	began, from := time.Now(), p.CPU()
	err = Together(b.Clients(p, n), func(c *Client) error {
		own := 0
		for time.Since(began) < period {
			if err := c.Exchange(); err != nil {
				return err
			}
			own++
		}
		mu.Lock()
		answers += own
		mu.Unlock()
		return nil
	})
	return p.CPU() - from, answers, time.Since(began), err
}

// Delays measures how long frames take through a proxy, by the time that the
// upstream wrote into each.
func Delays(b *Bench, p *Process) ([]Figure, error) {
	var mu sync.Mutex
	var all, thoughts, answers []time.Duration
	err := Together(b.Clients(p, 64), func(c *Client) error {
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
		if err := c.Exchange(); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, own...)
		thoughts, answers = append(thoughts, own[0]), append(answers, own[b.Script.Thoughts])
		return nil
	})
	if err != nil {
		return nil, err
	}
	at := func(list []time.Duration, part float64) float64 {
		slices.Sort(list)
		return float64(list[int(part*float64(len(list)-1))]) / 1e3
	}
	return []Figure{
		{ID: "median", Name: "delay of a frame, median", Unit: "µs", Value: at(all, 0.5)},
		{ID: "p99", Name: "delay of a frame, p99", Unit: "µs", Value: at(all, 0.99)},
		{ID: "thought", Name: "delay of the thought's first byte, median", Unit: "µs", Value: at(thoughts, 0.5)},
		{ID: "answer", Name: "delay of the answer's first byte, median", Unit: "µs", Value: at(answers, 0.5)},
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

// Many reads n slow streams at once, whose frames have the interval, and measures how much the
// process's memory grows.
func Many(n int, interval time.Duration) Turn {
	return func(b *Bench, p *Process) ([]Figure, error) {
		clients := b.Clients(p, n)
		for _, c := range clients {
			c.Buf = c.Buf[:2<<10]
		}
		before, _ := p.Memory()
		from := p.CPU()
		measured := make(chan int, 1)
		dial := make(chan bool, 64)
		go func() {
			time.Sleep(time.Duration(len(b.Script.Frames)) * interval * 4 / 5)
			now, _ := p.Memory()
			measured <- now
		}()
		err := Together(clients, func(c *Client) error {
			dial <- true
			err := c.Dial()
			<-dial
			if err != nil {
				return err
			}
			return c.Exchange()
		})
		if err != nil {
			return nil, err
		}
		now := <-measured
		_, most := p.Memory()
		each := func(bytes int) float64 { return float64(bytes-before) / float64(n) / 1024 }
		return []Figure{
			{ID: "memory", Name: fmt.Sprintf("memory a stream of %d", n), Unit: "KiB", Value: each(now)},
			{ID: "most", Name: "… at most", Unit: "KiB", Value: each(most)},
			perFrame(p.CPU()-from, n*len(b.Script.Frames)),
		}, nil
	}
}
