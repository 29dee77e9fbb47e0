package record_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// proofDoc reads the table in docs/explanation/record.md that says what is proved: its columns, and of
// each row the cells.
func proofDoc(t *testing.T) (columns []string, rows map[string][]string) {
	t.Helper()
	data, err := os.ReadFile("../docs/explanation/record.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "| done to the record |")
	if !ok {
		t.Fatal("the table is gone")
	}
	text = "| done to the record |" + text
	rows = map[string][]string{}
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch i {
		case 0:
			columns = cells[1:]
		case 1:
		default:
			rows[cells[0]] = cells[1:]
		}
	}
	return columns, rows
}

// lined is a record in one segment, by lines, and what was kept of it.
type lined struct {
	t     *testing.T
	dir   string
	lines [][]byte
	head  record.Head
	id    string
}

func (l *lined) write() {
	name := filepath.Join(l.dir, "00000000000000000001.jsonl")
	if err := os.WriteFile(name, bytes.Join(l.lines, nil), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lined) edit(i int, old, new string) {
	c := bytes.Replace(l.lines[i], []byte(old), []byte(new), 1)
	if bytes.Equal(c, l.lines[i]) {
		l.t.Fatalf("nothing to edit in %s", l.lines[i])
	}
	l.lines[i] = c
}

// rewrite writes another record in the place of this one.
func (l *lined) rewrite(o record.Options) {
	if err := os.RemoveAll(l.dir); err != nil {
		l.t.Fatal(err)
	}
	w := open(l.t, l.dir, o)
	for i := range 12 {
		put(l.t, w, "r", i, said("m", "<think>x</think>y"))
	}
	shut(l.t, w)
}

// tampered says how to do what a row of the table says, to a record of nine
// events with a checkpoint after the fifth and at the end.
var tampered = map[string]func(l *lined){
	"an event edited":  func(l *lined) { l.edit(4, "b!", "c!"); l.write() },
	"an event deleted": func(l *lined) { l.lines = append(l.lines[:3], l.lines[4:]...); l.write() },
	"two events swapped": func(l *lined) {
		l.lines[3], l.lines[4] = l.lines[4], l.lines[3]
		l.write()
	},
	"an event repeated": func(l *lined) {
		l.lines = append(l.lines[:4:4], append([][]byte{l.lines[2]}, l.lines[4:]...)...)
		l.write()
	},
	"an event with a false number": func(l *lined) { l.edit(4, `"seq":5`, `"seq":5000`); l.write() },
	"a false batch put between": func(l *lined) {
		line := fmt.Sprintf(`{"v":2,"seq":5,"last":900,"time":"2026-01-02T03:04:05Z","run":"","cycle":0,"type":"SEALED","payload":{"age":"YWdl"},"prev":"%064d"}`+"\n", 0)
		l.lines = append(l.lines[:4:4], append([][]byte{[]byte(line)}, l.lines[4:]...)...)
		l.write()
	},
	"a line put between that is not an event": func(l *lined) {
		l.lines = append(l.lines[:4:4], append([][]byte{[]byte("{}\n")}, l.lines[4:]...)...)
		l.write()
	},
	"the last event edited, and the checkpoint after it removed": func(l *lined) {
		l.lines = l.lines[:len(l.lines)-1]
		l.edit(len(l.lines)-1, "b!", "c!")
		l.write()
	},
	"the checkpoint at the end edited": func(l *lined) { l.edit(len(l.lines)-1, `"run":""`, `"run":"x"`); l.write() },
	"the end cut off, at a line":       func(l *lined) { l.lines = l.lines[:7]; l.write() },
	"all rewritten, with another key": func(l *lined) {
		l.rewrite(record.Options{SigningKey: ed25519.NewKeyFromSeed(make([]byte, 32))})
	},
	"all rewritten, without checkpoints":                           func(l *lined) { l.rewrite(record.Options{}) },
	"another record of the same key put in its place":              func(l *lined) { l.rewrite(record.Options{SigningKey: key()}) },
	"the end replaced by that of another record of the same key":   func(l *lined) { l.mix(true) },
	"a segment replaced by that of another record of the same key": func(l *lined) { l.mix(false) },
	"a segment deleted": func(l *lined) {
		l.segmented()
		os.Remove(segments(l.t, l.dir)[1])
	},
	"a segment deleted, with a tombstone that no key signed": func(l *lined) {
		l.segmented()
		if _, err := record.Prune(l.dir, record.PruneOptions{Keep: 1}); err != nil {
			l.t.Fatal(err)
		}
	},
	"an index forged": func(l *lined) {
		name := filepath.Join(l.dir, "00000000000000000001.index")
		forgeIndex(l.t, name, func(rows []byte) { rows[3*56+44] ^= 1 }) // the run of a row
	},
}

// segmented makes it a record in segments of two lines.
func (l *lined) segmented() {
	os.RemoveAll(l.dir)
	w := open(l.t, l.dir, record.Options{SigningKey: key(), SegmentSize: 1})
	for range 4 {
		put(l.t, w, "", 0, record.CycleStart{})
	}
	l.id = w.ID()
	shut(l.t, w)
	l.head = sound(l.t, l.dir, record.VerifyOptions{Keys: public()}).Head
}

// mix puts segments of one record into another of the same numbers.
func (l *lined) mix(end bool) {
	other := &lined{t: l.t, dir: l.t.TempDir()}
	other.segmented()
	l.segmented()
	for i, s := range segments(l.t, other.dir) {
		if i == 2 || end && i > 2 {
			data, _ := os.ReadFile(s)
			os.WriteFile(segments(l.t, l.dir)[i], data, 0o600)
		}
	}
}

// The table in docs/explanation/record.md of what is proved holds, row by row and column by
// column.
func TestProofTable(t *testing.T) {
	columns, rows := proofDoc(t)
	wantColumns := []string{"without keys or head", "with the public key", "with a kept head", "with the public key and the identity"}
	if strings.Join(columns, "|") != strings.Join(wantColumns, "|") {
		t.Fatalf("columns %q, want %q", columns, wantColumns)
	}
	for name := range tampered {
		if rows[name] == nil {
			t.Errorf("the table has no row %q", name)
		}
	}
	cell := regexp.MustCompile("^(?:found: `([a-z]+)`|not found)$")
	for name, cells := range rows {
		do := tampered[name]
		if do == nil || len(cells) != len(columns) {
			t.Errorf("row %q has no test, or not %d cells", name, len(columns))
			continue
		}
		l := &lined{t: t, dir: t.TempDir()}
		w := open(t, l.dir, record.Options{SigningKey: key(), CheckpointEvery: 5})
		l.id = w.ID()
		for i := range 9 {
			put(t, w, "r", i, said("m", "<think>a</think>b"+strings.Repeat("!", i)))
		}
		shut(t, w)
		l.head = sound(t, l.dir, record.VerifyOptions{Keys: public(), ID: l.id}).Head
		data, _ := os.ReadFile(segments(t, l.dir)[0])
		l.lines = bytes.SplitAfter(data, []byte("\n"))
		l.lines = l.lines[:len(l.lines)-1]
		do(l)
		for i, o := range []record.VerifyOptions{{}, {Keys: public()}, {Head: &l.head}, {Keys: public(), ID: l.id}} {
			m := cell.FindStringSubmatch(cells[i])
			if m == nil {
				t.Errorf("%s, %s: the cell says %q", name, columns[i], cells[i])
				continue
			}
			r, got := verify(t, l.dir, o), ""
			if len(r.Findings) > 0 {
				got = string(r.Findings[0].Fault)
			}
			if got != m[1] {
				t.Errorf("%s, %s: found %v, the table says %q", name, columns[i], r.Findings, cells[i])
			}
		}
	}
}

// forgeIndex changes the rows of an index, so that nothing in it contradicts them.
func forgeIndex(t *testing.T, name string, change func(rows []byte)) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rows, _ := bytes.Cut(data, []byte("\n"))
	old := record.DigestOf(string(rows)).String()
	change(rows)
	if now := record.DigestOf(string(rows)).String(); now != old {
		head = bytes.Replace(head, []byte(old), []byte(now), 1)
	} else {
		t.Fatal("nothing was forged")
	}
	if err := os.WriteFile(name, slices.Concat(head, []byte("\n"), rows), 0o600); err != nil {
		t.Fatal(err)
	}
}
