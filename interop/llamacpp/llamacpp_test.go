// Package llamacpp_test has llama.cpp say the replies of the corpus, and compares what node-llama-cpp, which
// separates thoughts itself, reads in them with what Sotto reads.
package llamacpp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/interop/gguf"
	"github.com/sotto-llm/sotto/interop/internal/displays"
)

var update = flag.Bool("update", false, "write the table to docs/conformance.md")

// A wrapper is a class of node-llama-cpp that knows the template and the markers of some models.
type wrapper struct {
	name string
	cue  string // the end of its prompts, by which a scripted model knows that it is to reply
}

// wrappers are those that read thoughts, by the dialect that their models write. Those of Harmony and of Muse are not
// among them: they put tokens of their own into a reply, and what a scripted model says depends on the last token.
var wrappers = map[string]wrapper{
	"default":  {"DeepSeek", "<｜Assistant｜>"},
	"qwen3":    {"Qwen", "assistant\n"},
	"seed_oss": {"Seed", "assistant\n"},
	"gemma4":   {"Gemma4", "model\n"},
}

// rules are what the replies of the corpus are about, and why the two readers differ there. The first words of a reply's
// name say of which rule it is.
var rules = []struct{ prefix, name, why string }{
	{"g01", "G1, the form of tags", "It finds its own tag only, letter for letter. Sotto is right: models write `<THINK>`, `</ think>` and attributes too."},
	{"g02", "G2, names of tags", "It knows the tag of one family. Sotto reads the tags of all families here, because the model is not known; with `--dialect deepseek_r1` it reads that one too."},
	{"g03", "G3, several blocks", ""},
	{"g04", "G4, code and quotes", "It takes a tag that the text quotes for the beginning of a thought, and hides what follows. Sotto is right."},
	{"g05", "G5, closes", "A close of another name, or a quoted one, does not count for it or counts too early. Sotto is right: the rest would be hidden or the thought shown."},
	{"g06", "G6, nested blocks", "The first close ends its thought, and the rest of the thought is shown. Sotto is right."},
	{"g07", "G7, doubts", "An opener in the middle of a sentence hides the rest for it. Sotto is right: it is text if no close comes. `<scratch_pad>` is no tag for it."},
	{"g08", "G8", ""},
	{"g09", "G9, closes alone", "It shows them. Sotto is right: they are markup."},
	{"g10", "G10, output blocks", "`<output>` is no tag for it. With models that do not write it, both are right."},
	{"g11", "G11, calls", "Its tag is `<think>` with a line end: without it, the thought is shown. Sotto is right. Calls without tools in the request are text for it."},
	{"g12", "G12, narration", "`<narrate>` is no tag for it. With models that do not write it, both are right."},
	{"g13", "G13, white space", "`<output>` and `<narrate>` are no tags for it."},
	{"g14", "G14, the whole", ""},
	{"header", "headers of Gemma 4", "It shows a channel that it does not know, a call and an unfinished header. Sotto is right: an unknown channel is not the answer."},
	{"shape", "several rules at once", "As above."},
}

// A corpusLine is a reply of the kit.
type corpusLine struct {
	ID, Raw, Dialect, Start string
	Deltas                  []string
}

// A reading is what a reader has found in a reply, without white space.
type reading struct{ thought, text string }

// TestCorpus compares the readings of the corpus with those that docs/conformance.md has.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("SOTTO_LLAMACPP")
	if folder == "" {
		t.Skip("SOTTO_LLAMACPP is not set: run it as SOTTO_LLAMACPP=$(interop/llamacpp/install)")
	}
	lines, unsaid := scripted(corpus(t))
	theirs := said(t, folder, lines)
	type counts struct{ all, same, more, less int }
	by := map[string]*counts{}
	for i, line := range lines {
		prefix, _, _ := strings.Cut(line.ID, "-")
		c := by[prefix]
		if c == nil {
			c = &counts{}
			by[prefix] = c
		}
		ours := read(t, line)
		c.all++
		switch {
		case theirs[i] == ours:
			c.same++
		case len(theirs[i].text) > len(ours.text):
			c.more++
		default:
			c.less++
		}
		if theirs[i] != ours {
			t.Logf("%s: %q\n  node-llama-cpp %q\n  Sotto          %q", line.ID, line.Raw, theirs[i], ours)
		}
	}
	var b strings.Builder
	b.WriteString("| replies about | replies | the same | it shows more | it hides more | why, and who is right |\n| --- | ---: | ---: | ---: | ---: | --- |\n")
	known, all, same := 0, 0, 0
	for _, rule := range rules {
		c := by[rule.prefix]
		if c == nil {
			continue
		}
		known++
		all, same = all+c.all, same+c.same
		if (c.same == c.all) != (rule.why == "") {
			t.Errorf("%s: %d of %d are the same, and the reason is %q", rule.name, c.same, c.all, rule.why)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", rule.name, c.all, c.same, c.more, c.less, rule.why)
	}
	fmt.Fprintf(&b, "| all | %d | %d |  |  |  |\n\n%d replies cannot be said: a scripted model says no piece of a text twice.\n", all, same, unsaid)
	if known != len(by) {
		t.Errorf("%d rules of %d have a reason", known, len(by))
	}
	displays.CheckDocument(t, "../../docs/conformance.md", "node-llama-cpp, from: go test ./llamacpp -update", b.String(), *update)
}

// longest is the length of the longest reply that the context of a model takes, in bytes.
const longest = 1000

// scripted returns the replies that a scripted model can say and a wrapper reads, and how many it cannot.
func scripted(all []corpusLine) (lines []corpusLine, unsaid int) {
	for _, line := range all {
		w, ok := wrappers[line.Dialect]
		switch {
		case !ok || line.Start != "outside":
		case len(line.Raw) > longest || gguf.Write(&bytes.Buffer{}, script(line, w)) != nil:
			unsaid++
		default:
			lines = append(lines, line)
		}
	}
	return lines, unsaid
}

func script(line corpusLine, w wrapper) gguf.Script {
	var cut gguf.Cutter
	return gguf.Script{Name: line.ID, Replies: []gguf.Reply{{Cue: w.cue, Pieces: cut.Cut(line.Raw)}}}
}

// said has llama.cpp say the replies, and returns what node-llama-cpp reads in them.
func said(t *testing.T, folder string, lines []corpusLine) (all []reading) {
	t.Helper()
	dir := t.TempDir()
	var ask bytes.Buffer
	for _, line := range lines {
		w := wrappers[line.Dialect]
		var model bytes.Buffer
		if err := gguf.Write(&model, script(line, w)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, line.ID+".gguf")
		if err := os.WriteFile(file, model.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&ask, "{\"id\":%q,\"wrapper\":%q,\"file\":%q}\n", line.ID, w.name, file)
	}
	node := exec.CommandContext(t.Context(), "node", "read.js")
	node.Dir, node.Stdin, node.Stderr = folder, &ask, os.Stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	answers := bufio.NewScanner(bytes.NewReader(out))
	for _, line := range lines {
		var a struct {
			ID, Streamed, StopReason string
			Parts                    []struct{ Kind, Text string }
		}
		if !answers.Scan() || json.Unmarshal(answers.Bytes(), &a) != nil || a.ID != line.ID || a.StopReason != "eogToken" {
			t.Fatalf("%s: %s", line.ID, answers.Bytes())
		}
		var r reading
		var whole string
		for _, p := range a.Parts {
			if whole += p.Text; p.Kind == "text" {
				r.text += p.Text
			} else {
				r.thought += p.Text
			}
		}
		if squeezed(whole) != squeezed(a.Streamed) {
			t.Errorf("%s: streamed %q, and %q in the end", line.ID, a.Streamed, whole)
		}
		all = append(all, reading{squeezed(r.thought), squeezed(r.text)})
	}
	return all
}

// read is Sotto's reading.
func read(t *testing.T, line corpusLine) reading {
	t.Helper()
	g, err := sotto.Named(line.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.ParseWith(line.Raw, sotto.Options{Start: sotto.BeginOutside}, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	return reading{squeezed(strings.Join(r.Reasoning(), "")), squeezed(r.Visible())}
}

// squeezed returns a text without white space.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

func corpus(t *testing.T) (lines []corpusLine) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/conformance.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(text) {
		var line corpusLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		line.Raw += strings.Join(line.Deltas, "")
		lines = append(lines, line)
	}
	return lines
}
