package reading

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endsInLoop is a slow loop.repeats: every passage is compared with what stands before
// it.
func endsInLoop(window []byte) bool {
	for size := 1; size*loopTimes <= len(window); size++ {
		passage := window[len(window)-size:]
		same := size
		for same < len(window) && window[len(window)-1-same] == passage[size-1-same%size] {
			same++
		}
		if same >= loopLeast && same >= loopTimes*size {
			return true
		}
	}
	return false
}

// TestLoop compares the detector with a slow one, at every place where it looks, for
// texts that begin freely and then repeat. However a text is cut, it decides the same.
func TestLoop(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	word := func() string { return strings.Repeat(string(rune('a'+random.IntN(3))), 1+random.IntN(3)) }
	found := 0
	for range 60 {
		var b strings.Builder
		for b.Len() < random.IntN(20<<10) {
			b.WriteString(word() + " ")
		}
		var passage strings.Builder
		for size := 1 + random.IntN(4000); passage.Len() < size; {
			passage.WriteString(word() + " ")
		}
		for range random.IntN(12) {
			b.WriteString(passage.String())
		}
		b.WriteString(strings.Repeat("end ", random.IntN(3)))
		text := []byte(b.String())
		want := false
		for at := loopStep; at <= len(text) && !want; at += loopStep {
			want = endsInLoop(text[max(0, at-loopWindow):at])
		}
		whole := loop{}
		if got := whole.repeated(text); got != want {
			t.Fatalf("found %v, want %v, in %d bytes with a passage of %d", got, want, len(text), passage.Len())
		}
		pieces, got := loop{}, false
		for rest := text; len(rest) > 0 && !got; {
			n := min(len(rest), 1+random.IntN(700))
			got, rest = pieces.repeated(rest[:n]), rest[n:]
		}
		if got != want {
			t.Fatalf("in pieces: found %v, want %v", got, want)
		}
		if want {
			found++
		}
	}
	if found < 10 || found > 50 {
		t.Errorf("%d of 60 texts are loops: the test compares little", found)
	}
}

// TestLoopInWhiteSpace: a model that repeats a sentence with other breaks is in a loop;
// one that counts is not, and neither is a rule of dashes.
func TestLoopInWhiteSpace(t *testing.T) {
	var broken, counted strings.Builder
	for i := range 200 {
		broken.WriteString("Wait, let me check" + []string{" ", "\n", "\n\n  "}[i%3] + "that again.\n")
		fmt.Fprintf(&counted, "Step %d: try %d times %d.\n", i, i*7%31, i)
	}
	for text, want := range map[string]bool{
		broken.String(): true, counted.String(): false,
		strings.Repeat(counted.String()[:900]+strings.Repeat("-", 200)+"\n", 3): false,
		strings.Repeat("hm ", 2000): true,
	} {
		if got := (&loop{}).repeated([]byte(text)); got != want {
			t.Errorf("%v, want %v: %.60q", got, want, text)
		}
	}
}

// TestLoopIsBounded: what is held does not grow with the reasoning.
func TestLoopIsBounded(t *testing.T) {
	l := loop{}
	random := rand.New(rand.NewPCG(1, 2))
	piece := make([]byte, 1000)
	for range 2000 {
		for i := range piece {
			piece[i] = byte('a' + random.IntN(26))
		}
		if l.repeated(piece) {
			t.Fatal("noise is a loop")
		}
		if cap(l.window) > 2*(loopWindow+loopStep) {
			t.Fatalf("%d bytes are held", cap(l.window))
		}
	}
}

// TestLoopsOfRealThoughts: of the long texts in the data, those that a reader calls
// loops are found, and no others.
func TestLoopsOfRealThoughts(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA is not set: the real replies are not here")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	replies, loops := 0, 0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReaderSize(f, 1<<20)
		for n := 0; n < 300; n++ {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			var row map[string]any
			if json.Unmarshal(line, &row) != nil {
				continue
			}
			for _, v := range row {
				text, ok := v.(string)
				if !ok || len(text) < loopStep {
					continue
				}
				replies++
				if (&loop{}).repeated([]byte(text)) {
					loops++
					t.Logf("%s: a loop in a text of %d bytes: …%.200q", filepath.Base(name), len(text), text[max(0, len(text)-200):])
				}
			}
		}
		f.Close()
	}
	if replies != 369 || loops != 5 { // one reply stands there twice, with and without its tags
		t.Errorf("%d of %d texts are taken for loops, want 5 of 369", loops, replies)
	}
}

func BenchmarkLoop(b *testing.B) {
	text := bytes.Repeat([]byte("So the answer of the next step must be in the list that we made before. "), 3)
	random := rand.New(rand.NewPCG(1, 2))
	var all []byte
	for len(all) < 1<<20 {
		all = append(all, text[:random.IntN(len(text))]...)
	}
	b.SetBytes(int64(len(all)))
	for b.Loop() {
		(&loop{}).repeated(all)
	}
}
