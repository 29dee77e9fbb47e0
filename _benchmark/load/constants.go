package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

var (
	sottoPath = flag.String("sotto", "", "path of the program, for the case constants")
	redisPath = flag.String("redis", "redis-server", "path of the store, for the case constants")
	output    = flag.String("o", "", "write the constants to this file")
	paced     = flag.Int("paced", 1000, "streams of the case constants")
)

// A constant is what one gateway needs of a resource, for the model in scale.
type constant struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	From  string  `json:"from"`
}

// A gauge collects constants.
type gauge struct {
	list  []constant
	dir   string
	store *traffic.Process // the Redis, while there is one
	port  string           // its port
}

func (g *gauge) add(name string, value float64, unit, from string) {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64) // the rest is noise
	g.list = append(g.list, constant{name, value, unit, from})
	fmt.Printf("%-28s %12g %-18s %s\n", name, value, unit, from)
}

// constants measures the program itself, not the handler alone: as clients reach it,
// with a record, and with a store.
func constants() error {
	dir, err := os.MkdirTemp("", "load-constants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &gauge{dir: dir}
	steps := []func() error{g.startUp, g.slow, g.short, g.recorded, g.shared}
	if *only == "together" {
		steps = []func() error{g.together}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if *output == "" {
		return nil
	}
	data, err := json.MarshalIndent(g.list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*output, append(data, '\n'), 0o644)
}

// freePort is a port that nothing uses now.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// child starts a server that ends with a signal, and waits until it is ready.
func child(addr string, ready func() bool, path string, args ...string) (*traffic.Process, error) {
	p := &traffic.Process{Name: "gateway", Addr: addr, Cmd: exec.Command(path, args...), End: func(c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGTERM) }}
	var said bytes.Buffer
	p.Cmd.Stderr = &said
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(20 * time.Second); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.Stop()
			return nil, fmt.Errorf("%s is not ready: %s", path, said.String())
		}
	}
	return p, nil
}

// sotto starts the program.
func (g *gauge) sotto(upstream string, args ...string) (*traffic.Process, error) {
	addr := "127.0.0.1:" + freePort()
	ready := func() bool {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}
	data, err := os.MkdirTemp(g.dir, "state")
	if err != nil {
		return nil, err
	}
	return child(addr, ready, *sottoPath, append([]string{"serve", "--listen", addr, "--upstream", "http://" + upstream, "--data", data}, args...)...)
}

// bench starts an upstream.
func (g *gauge) bench(args ...string) (*traffic.Bench, error) {
	b, err := traffic.NewBench(args...)
	if err != nil {
		return nil, err
	}
	b.Judges["gateway"] = &traffic.Judge{Want: b.Script.Gateway}
	return b, nil
}

// openFiles is the number of files that a process has open.
func openFiles(p *traffic.Process) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Cmd.Process.Pid))
	if err != nil {
		panic(err)
	}
	return len(list)
}

func (g *gauge) startUp() error {
	b, err := g.bench("-events", "8")
	if err != nil {
		return err
	}
	defer b.Up.Stop()
	var took, resident []float64
	for range *rounds {
		from := time.Now()
		p, err := g.sotto(b.Up.Addr)
		if err != nil {
			return err
		}
		took = append(took, time.Since(from).Seconds())
		now, _ := p.Memory()
		resident = append(resident, float64(now))
		p.Stop()
	}
	g.add("start", results.Median(took), "s", fmt.Sprintf("from exec to /readyz, median of %d", *rounds))
	g.add("memory_idle", results.Median(resident), "B", "resident, just started")
	return nil
}

// slow measures paced streams through a gateway alone, and through one with a record
// and a store.
func (g *gauge) slow() error {
	if err := g.held("", nil); err != nil {
		return err
	}
	if err := g.startStore(); err != nil {
		return err
	}
	defer g.store.Stop()
	return g.held("_full", g.full)
}

// full are the flags of a gateway with a record and the store.
func (g *gauge) full() ([]string, error) {
	secret := filepath.Join(g.dir, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 40)), 0o600); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(g.dir, "record")
	return []string{"--shared", "redis://127.0.0.1:" + g.port, "--shared-secret-file", secret, "--record", dir, "--record-policy", "batch"}, err
}

// held holds many paced streams, and measures between two moments when all are open.
// Streams begin and end evenly: what ended ones leave for the collector is memory too.
func (g *gauge) held(suffix string, flags func() ([]string, error)) error {
	const interval, events = 100 * time.Millisecond, 150
	b, err := g.bench("-interval", interval.String(), "-events", fmt.Sprint(events))
	if err != nil {
		return err
	}
	defer b.Up.Stop()
	var perStream, descriptors, frame []float64
	for range *rounds {
		var args []string
		if flags != nil {
			if args, err = flags(); err != nil {
				return err
			}
		}
		p, err := g.sotto(b.Up.Addr, args...)
		if err != nil {
			return err
		}
		if err := b.Warm(p); err != nil {
			return err
		}
		memory, _ := p.Memory()
		files := openFiles(p)
		measured := make(chan bool)
		go func() {
			defer close(measured)
			time.Sleep(events * interval * 5 / 4)
			from, began := p.CPU(), time.Now()
			time.Sleep(events * interval / 2)
			frames := time.Since(began).Seconds() / interval.Seconds() * float64(*paced)
			frame = append(frame, (p.CPU()-from).Seconds()/frames)
			now, _ := p.Memory()
			perStream = append(perStream, float64(now-memory)/float64(*paced))
			descriptors = append(descriptors, float64(openFiles(p)-files)/float64(*paced))
		}()
		err = open(b, p, *paced, 2, events*interval)
		<-measured
		p.Stop()
		if err != nil {
			return err
		}
	}
	from := fmt.Sprintf("%d streams of a frame each %s that begin and end evenly, median of %d", *paced, interval, *rounds)
	if suffix != "" {
		from = "with a record and a store, " + from
	}
	g.add("memory_stream"+suffix, results.Median(perStream), "B", "resident, "+from)
	g.add("cpu_frame"+suffix, results.Median(frame), "s", "processor time, "+from)
	if suffix != "" {
		return nil
	}
	g.add("descriptors_stream", results.Median(descriptors), "", from)
	size := 0
	for _, f := range b.Script.Frames {
		size += len(f)
	}
	g.add("bytes_frame", float64(size)/float64(len(b.Script.Frames))+8, "B", "a chunk of chat completions of about four bytes of text, on each side")
	return nil
}

// open opens n streams, evenly over some time, and reads each to its end, some times.
func open(b *traffic.Bench, p *traffic.Process, n, each int, over time.Duration) error {
	clients := b.Clients(p, n)
	for i, c := range clients {
		c.Buf = c.Buf[:2<<10]
		c.Request = traffic.Ask(c.Addr, "", question(fmt.Sprint(i)))
	}
	var begun atomic.Int64
	return traffic.Together(clients, func(c *traffic.Client) error {
		time.Sleep(time.Duration(begun.Add(1)) * over / time.Duration(n))
		var err error
		for range each {
			err = errors.Join(err, c.Exchange())
		}
		return err
	})
}

// short reads replies of few frames: what a stream costs beside its frames.
func (g *gauge) short() error {
	b, err := g.bench("-events", "8")
	if err != nil {
		return err
	}
	defer b.Up.Stop()
	var each []float64
	for range *rounds {
		p, err := g.sotto(b.Up.Addr)
		if err != nil {
			return err
		}
		taken, answers, _, err := traffic.Again(b, p, 16, *period)
		p.Stop()
		if err != nil {
			return err
		}
		each = append(each, taken.Seconds()/float64(answers))
	}
	g.add("cpu_stream", results.Median(each), "s", fmt.Sprintf("processor time of a reply of 8 frames, on connections that are kept, median of %d", *rounds))
	return nil
}

// exchanges sends n requests at full speed over some connections.
func exchanges(b *traffic.Bench, p *traffic.Process, n, connections int, body string) (time.Duration, error) {
	clients := b.Clients(p, connections)
	var mu sync.Mutex
	from := p.CPU()
	err := traffic.Together(clients, func(c *traffic.Client) error {
		if body != "" {
			c.Request = traffic.Ask(c.Addr, traffic.UnpacedHeader+": 1\r\n", body)
		}
		for {
			mu.Lock()
			n--
			left := n
			mu.Unlock()
			if left < 0 {
				return nil
			}
			if err := c.Exchange(); err != nil {
				return err
			}
		}
	})
	return p.CPU() - from, err
}

func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	return n, err
}

// recorded compares a gateway with a record with one without, for replies of two
// lengths: what an event has of its own, and what each byte of a reply adds.
func (g *gauge) recorded() error {
	const n = 1000
	type point struct{ text, record, cpu float64 }
	var points []point
	for _, events := range []string{"44", "1004"} {
		b, err := g.bench("-events", events)
		if err != nil {
			return err
		}
		var costs []float64
		var bytesEach float64
		for range *rounds {
			with, without := time.Duration(0), time.Duration(0)
			for _, record := range []bool{false, true} {
				var args []string
				dir := filepath.Join(g.dir, fmt.Sprint("record", time.Now().UnixNano()))
				if record {
					args = []string{"--record", dir, "--record-policy", "batch"}
				}
				p, err := g.sotto(b.Up.Addr, args...)
				if err != nil {
					return err
				}
				taken, err := exchanges(b, p, n, 4, "")
				if err != nil {
					return err
				}
				if record {
					with = taken
				} else {
					without = taken
				}
				p.Stop() // which writes what is left
				if record {
					all, err := size(dir)
					if err != nil {
						return err
					}
					bytesEach = float64(all) / n
				}
			}
			costs = append(costs, (with-without).Seconds()/n)
		}
		b.Up.Stop()
		points = append(points, point{float64(len(b.Script.Gateway.Content) + len(b.Script.Gateway.Reasoning)), bytesEach, results.Median(costs)})
	}
	a, z := points[0], points[1]
	slope := (z.record - a.record) / (z.text - a.text)
	from := fmt.Sprintf("%d replies of %.0f and of %.0f bytes of text, median of %d", n, a.text, z.text, *rounds)
	g.add("record_reply", a.record-slope*a.text, "B", "bytes of the record beside those of the reply, "+from)
	g.add("record_byte", slope, "B", "bytes of the record for a byte of the reply, "+from)
	cpu := max((z.cpu-a.cpu)/(z.text-a.text), 0)
	g.add("cpu_record_byte", cpu, "s", "processor time of the record for a byte of the reply, "+from)
	g.add("cpu_record_reply", max(a.cpu-cpu*a.text, 0), "s", "processor time of the record beside that, "+from)
	return nil
}

// together measures everything at once, at another rate and number of streams: what the
// model predicts from the constants is compared with it. Its figures are totals.
func (g *gauge) together() error {
	const interval, events, each = 150 * time.Millisecond, 104, 3
	if err := g.startStore(); err != nil {
		return err
	}
	defer g.store.Stop()
	b, err := g.bench("-interval", interval.String(), "-events", fmt.Sprint(events))
	if err != nil {
		return err
	}
	defer b.Up.Stop()
	args, err := g.full()
	if err != nil {
		return err
	}
	dir := args[slices.Index(args, "--record")+1]
	p, err := g.sotto(b.Up.Addr, args...)
	if err != nil {
		return err
	}
	stop := sync.OnceFunc(p.Stop)
	defer stop()
	if err := b.Warm(p); err != nil {
		return err
	}
	n := *paced * 3 / 2
	store, memory := g.info(), 0
	from, began := p.CPU(), time.Now()
	files, peak := openFiles(p), 0
	time.AfterFunc(5*events*interval/2, func() {
		memory, _ = p.Memory()
		peak = openFiles(p)
	})
	// Streams begin and end evenly, as those of many people do.
	if err := open(b, p, n, each, events*interval); err != nil {
		return err
	}
	missed, err := missed(p)
	if err != nil {
		return err
	}
	lasted := time.Since(began).Seconds()
	cpu, after := p.CPU()-from, g.info()
	stop()
	recorded, err := size(dir)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d streams of a frame each %s with a record and a store, %d replies each, one run", n, interval, each)
	g.add("together_streams", float64(n), "", how)
	g.add("together_replies", float64(n*each), "", how)
	g.add("together_frames", float64(len(b.Script.Frames)), "", "a reply, "+how)
	g.add("together_text", float64(len(b.Script.Gateway.Content)+len(b.Script.Gateway.Reasoning)), "B", "a reply, "+how)
	g.add("together_seconds", lasted, "s", how)
	g.add("together_cpu", cpu.Seconds(), "s", "processor time in all, "+how)
	g.add("together_memory", float64(memory), "B", "resident, "+how)
	g.add("together_descriptors", float64(peak-files), "", how)
	g.add("together_record", float64(recorded), "B", how)
	g.add("together_puts", after["calls"]-store["calls"], "", how)
	g.add("together_missed", missed, "", "writes to the store that failed or were left out, "+how)
	g.add("together_store_cpu", after["used_cpu_user_main_thread"]+after["used_cpu_sys_main_thread"]-store["used_cpu_user_main_thread"]-store["used_cpu_sys_main_thread"], "s", how)
	return nil
}
