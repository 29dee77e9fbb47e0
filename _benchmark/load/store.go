package main

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

// shared measures what a reply that is remembered costs the store and the gateway.
func (g *gauge) shared() error {
	const n = 1000
	if err := g.startStore(); err != nil {
		return err
	}
	defer g.store.Stop()
	b, err := g.bench("-events", "404")
	if err != nil {
		return err
	}
	defer b.Up.Stop()
	args, err := g.full()
	if err != nil {
		return err
	}
	args = args[:4] // no record
	secret := args[3]
	text := b.Script.Kept()
	var with, without []float64
	var before, after map[string]float64
	for r := range *rounds {
		for _, args := range [][]string{nil, args} {
			p, err := g.sotto(b.Up.Addr, args...)
			if err != nil {
				return err
			}
			if err := b.Warm(p); err != nil {
				return err
			}
			before = g.info()
			// The questions differ, as those of different conversations do.
			cost := time.Duration(0)
			for part := range 10 {
				taken, err := exchanges(b, p, n/10, 4, question(fmt.Sprint(part, " of round ", r)))
				if err != nil {
					return err
				}
				cost += taken
			}
			after = g.info()
			p.Stop()
			if args == nil {
				without = append(without, cost.Seconds()/n)
			} else {
				with = append(with, cost.Seconds()/n)
			}
		}
	}
	puts := after["calls"] - before["calls"] // a busy machine leaves writes out
	each := func(name string) float64 { return (after[name] - before[name]) / puts }
	from := fmt.Sprintf("%d remembered replies of %d bytes of raw reply and reasoning", n, text)
	g.add("store_puts", math.Round(puts/n), "", "scripts of the store, "+from)
	g.add("store_cpu_put", each("used_cpu_user_main_thread")+each("used_cpu_sys_main_thread"), "s", "processor time of its only thread, "+from)
	g.add("store_bytes_put", each("total_net_input_bytes")-float64(text), "B", "sent to the store beside these bytes, "+from)
	g.add("cpu_put", max(results.Median(with)-results.Median(without), 0), "s", "processor time of the gateway, "+from)
	return g.entries(secret)
}

// entries measures what the store needs for an entry, by the number of different
// conversations and the length of their reasoning.
func (g *gauge) entries(secret string) error {
	const n = 1000
	var text, each []float64
	for _, events := range []string{"104", "1004"} {
		b, err := g.bench("-events", events)
		if err != nil {
			return err
		}
		p, err := g.sotto(b.Up.Addr, "--shared", "redis://127.0.0.1:"+g.port, "--shared-secret-file", secret)
		if err != nil {
			b.Up.Stop()
			return err
		}
		before := g.info()
		for i := range n {
			if _, err := exchanges(b, p, 1, 1, question(events+" "+fmt.Sprint(i))); err != nil {
				return err
			}
		}
		after := g.info() // a busy machine leaves writes out
		text, each = append(text, float64(b.Script.Kept())), append(each, (after["used_memory"]-before["used_memory"])/(after["calls"]-before["calls"]))
		p.Stop()
		b.Up.Stop()
	}
	slope := (each[1] - each[0]) / (text[1] - text[0])
	from := fmt.Sprintf("%d entries each, of %.0f and of %.0f bytes of raw reply and reasoning", n, text[0], text[1])
	g.add("store_entry", each[0]-slope*text[0], "B", "memory of the store for an entry beside these bytes, "+from)
	g.add("store_entry_byte", slope, "B", "memory of the store for each of these bytes, "+from)
	return nil
}

// question is a request that offers a tool, so that its reply is remembered.
func question(text string) string {
	return fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"Question %s"}],"tools":[{"type":"function","function":{"name":"look"}}]}`, traffic.Model, text)
}

// missed counts the requests to the store that failed, or were left out after one.
func missed(p *traffic.Process) (n float64, err error) {
	resp, err := http.Get("http://" + p.Addr + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var all bytes.Buffer
	if _, err := all.ReadFrom(resp.Body); err != nil {
		return 0, err
	}
	for line := range strings.Lines(all.String()) {
		if strings.HasPrefix(line, "sotto_shared_requests_total") && !strings.Contains(line, `"ok"`) {
			f := strings.Fields(line)
			v, err := strconv.ParseFloat(f[len(f)-1], 64)
			if err != nil {
				return 0, err
			}
			n += v
		}
	}
	return n, nil
}

func (g *gauge) startStore() error {
	g.port = freePort()
	var err error
	g.store, err = child("127.0.0.1:"+g.port, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+g.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, *redisPath, "--port", g.port, "--bind", "127.0.0.1", "--save", "", "--dir", g.dir)
	return err
}

// info reads the figures of the store.
func (g *gauge) info() map[string]float64 {
	c, err := net.Dial("tcp", g.store.Addr)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("INFO everything\r\nQUIT\r\n"))
	var all bytes.Buffer
	_, _ = all.ReadFrom(c)
	found := map[string]float64{}
	for line := range strings.Lines(all.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if calls, ok := strings.CutPrefix(value, "calls="); ok && slices.Contains([]string{"cmdstat_evalsha", "cmdstat_eval"}, name) {
			calls, _, _ = strings.Cut(calls, ",")
			n, _ := strconv.ParseFloat(calls, 64)
			found["calls"] += n
			continue
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = n
		}
	}
	return found
}
