package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

// A figure is measured in rounds of BASE, HEAD and BASE.
type figure struct {
	name      string
	unit      string
	tolerance float64 // how much HEAD may be above BASE, as a part of it
	short     bool    // also in a short run
	rounds    int     // between two starts of the processes; other starts lie elsewhere in memory
	abreast   bool    // all three at once
	open      func(g *guard, t *tree) (session, error)
}

// A session measures one tree again and again.
type session struct {
	measure func() (float64, error)
	close   func()
}

// Where a figure depends on how the compiler places a loop in memory, some per cent come and
// go with any change: these figures have a tolerance of a tenth.
func figures() []figure {
	const reply = 1 << 20
	return []figure{
		{name: "reading, reasoning in deltas of 4", unit: "µs", tolerance: 0.1, short: true, rounds: 4,
			open: probing([]string{"deltas", "4", "40", "4"}, "<think>\n"+replies.Reasoning(64<<10))},
		{name: "reading, plain text in deltas of 4", unit: "µs", tolerance: 0.1, rounds: 4,
			open: probing([]string{"deltas", "4", "40", "4"}, replies.Prose(64<<10))},
		{name: "reading, Markdown in deltas of 4", unit: "µs", tolerance: 0.1, short: true, rounds: 4,
			open: probing([]string{"deltas", "4", "40", "2"}, replies.Text(64<<10))},
		{name: "reading, 1 MiB whole", unit: "µs", tolerance: 0.1, short: true, rounds: 4,
			open: probing([]string{"whole", "60", "2"}, replies.Whole(reply, 0.5))},
		{name: "strip --jsonl, a line of 2 kB", unit: "µs", tolerance: 0.05, rounds: 4, open: stripping},
		{name: "gateway, a frame one by one", unit: "µs", tolerance: 0.05, short: true, rounds: 4,
			open: serving(traffic.OneByOne, "frame", "-interval", "2ms", "-events", "60")},
		{name: "gateway, a frame in bursts", unit: "µs", tolerance: 0.05, short: true, rounds: 4,
			open: serving(traffic.Bursts(100*time.Millisecond), "frame", "-events", "1000")},
		{name: "gateway, a stream of 144 frames", unit: "µs", tolerance: 0.05, short: true, rounds: 4,
			open: serving(traffic.Short(150*time.Millisecond), "stream")},
		{name: "gateway, most memory of a slow stream", unit: "KiB", tolerance: 0.05, short: true, rounds: 1, abreast: true,
			open: serving(settled(traffic.Many(200, 50*time.Millisecond)), "most", "-interval", "50ms", "-events", "12")},
		{name: "record, an exchange of 2 kB appended", unit: "µs", tolerance: 0.05, short: true, rounds: 4, open: appending},
		{name: "record, an exchange of 2 kB read back", unit: "µs", tolerance: 0.05, rounds: 4, open: readingBack},
	}
}

// file makes a file once, and returns its path.
func (g *guard) file(name string, content func() []byte) (string, error) {
	if path, ok := g.made[name]; ok {
		return path, nil
	}
	path := filepath.Join(g.dir, fmt.Sprint("file", len(g.made)))
	if g.made == nil {
		g.made = map[string]string{}
	}
	g.made[name] = path
	return path, os.WriteFile(path, content(), 0o600)
}

// probed runs a probe that prints nanoseconds, and returns microseconds.
func probed(t *tree, args ...string) (float64, error) {
	cmd := exec.Command(t.probe, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return ns / 1e3, err
}

// probing runs the probe on a text, whose path follows the first argument.
func probing(args []string, text string) func(*guard, *tree) (session, error) {
	return func(g *guard, t *tree) (session, error) {
		path, err := g.file(text, func() []byte { return []byte(text) })
		full := append([]string{args[0], path}, args[1:]...)
		return session{measure: func() (float64, error) { return probed(t, full...) }}, err
	}
}

// serving measures a gateway in turns, and takes one of their figures.
func serving(turn traffic.Turn, id string, upstream ...string) func(*guard, *tree) (session, error) {
	return func(g *guard, t *tree) (session, error) {
		b, err := traffic.NewBench(upstream...)
		if err != nil {
			return session{}, err
		}
		b.Judges["gateway"] = &traffic.Judge{Want: b.Script.Gateway}
		p, err := traffic.Run("gateway", t.probe, "gateway", "http://"+b.Up.Addr)
		if err != nil {
			b.Up.Stop()
			return session{}, err
		}
		s := session{close: func() { p.Stop(); b.Up.Stop() }}
		if err := b.Warm(p); err != nil {
			s.close()
			return session{}, err
		}
		s.measure = func() (float64, error) {
			figures, err := turn(b, p)
			if err != nil {
				return 0, err
			}
			for _, f := range figures {
				if f.ID == id {
					return f.Value, nil
				}
			}
			return 0, fmt.Errorf("a turn has no figure %q", id)
		}
		return s, nil
	}
}

// settled returns a turn that begins without garbage.
func settled(turn traffic.Turn) traffic.Turn {
	return func(b *traffic.Bench, p *traffic.Process) ([]traffic.Figure, error) {
		if err := p.Settle(); err != nil {
			return nil, err
		}
		return turn(b, p)
	}
}

// aReply is one of two kilobytes.
func aReply() []byte { return []byte(replies.Whole(2<<10, 0.5)) }

// exchanges is how many a turn appends.
const exchanges = 1500

func appending(g *guard, t *tree) (session, error) {
	path, err := g.file("reply", aReply)
	return session{measure: func() (float64, error) {
		dir, err := os.MkdirTemp(g.dir, "record")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		return probed(t, "append", path, dir, strconv.Itoa(exchanges))
	}}, err
}

// readingBack reads a record that the same tree wrote.
func readingBack(g *guard, t *tree) (session, error) {
	path, err := g.file("reply", aReply)
	if err != nil {
		return session{}, err
	}
	dir, err := os.MkdirTemp(g.dir, "record")
	if err != nil {
		return session{}, err
	}
	s := session{close: func() { os.RemoveAll(dir) }}
	if _, err := probed(t, "append", path, dir, strconv.Itoa(exchanges)); err != nil {
		s.close()
		return session{}, err
	}
	s.measure = func() (float64, error) {
		all, err := probed(t, "readback", dir, "6", "1")
		return all / exchanges, err
	}
	return s, nil
}

// lines is how many lines strip reads in a turn.
const lines = 8000

// stripped are lines of which half have a thought.
func stripped() []byte {
	var out []byte
	for i := range lines {
		reply := replies.Whole(2<<10, 0.5)
		if i%2 == 1 {
			reply = replies.Text(2 << 10)
		}
		line, err := json.Marshal(map[string]any{"id": i, "reply": reply})
		if err != nil {
			panic(err)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// stripping runs the whole command, its start included.
func stripping(g *guard, t *tree) (session, error) {
	path, err := g.file("lines", stripped)
	return session{measure: func() (float64, error) {
		if t.sotto == "" {
			return 0, errors.New("the command is built only without -short")
		}
		cmd := exec.Command(t.sotto, "strip", "--jsonl", "--field", "reply", path)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		return float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / 1e3 / lines, nil
	}}, err
}
