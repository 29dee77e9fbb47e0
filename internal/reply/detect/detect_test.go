package detect

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// replyOf returns a reply with the first reasoning of a dialect.
func replyOf(d dialect.Dialect) string {
	if h := d.Header; h != nil {
		return h.Begin[0] + "analysis" + h.Body[0] + "A" + h.End[0] + "B"
	}
	for _, m := range d.Markers {
		switch {
		case m.Role != dialect.RoleReasoning:
		case m.Tag != "":
			return "<" + m.Tag + ">A</" + m.Tag + ">B"
		default:
			return m.Open[0] + "A" + m.Close[0] + "B"
		}
	}
	return ""
}

// TestFits: a dialect fits its own replies, and no dialect fits them better. Whatever
// dialect is in use, the markers that it does not know are found, and no others.
func TestFits(t *testing.T) {
	rows := dialect.All()
	grammars := make([]*sotto.Grammar, len(rows))
	for i, row := range rows {
		var err error
		if grammars[i], err = sotto.Compile(row); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		reply := replyOf(row)
		all := New(rows)
		all.Add(reply)
		all.Add(strings.ToUpper("plain text, x < y"))
		fits := all.Fits()
		own := -1
		for i, fit := range fits {
			if fit.Dialect == row.Name {
				own = i
			}
		}
		if own < 0 || fits[own].Alone != 1 || fits[own].Replies != 1 || fits[0].Alone > 1 || all.Replies() != 2 {
			t.Errorf("%q: %s fits as %+v", reply, row.Name, fits)
		}
	}
	for i, used := range rows {
		others, hits := Foreign(rows, used), 0
		for _, row := range rows {
			reply := replyOf(row)
			read, err := grammars[i].Parse(reply, sotto.BeginOutside, sotto.EndStopped)
			if err != nil {
				t.Fatal(err)
			}
			others.Add(reply)
			found := sum(others) > hits
			hits = sum(others)
			// Two families with headers share their tokens, and differ in the names.
			leaks := len(read.Reasoning())+len(read.Narration()) == 0 && (row.Header == nil || used.Header == nil)
			if found && used.Name == row.Name || leaks && !found {
				t.Errorf("%q read in dialect %s: foreign markers %v, reasoning %q", reply, used.Name, found, read.Reasoning())
			}
		}
	}
}

// sum returns how many replies had markers.
func sum(d *Detector) (n int) {
	for _, replies := range d.sets {
		n += replies
	}
	return n
}

// TestDetectorOrder: the dialect that knows every marker is better than one that knows
// some, and a marker of words counts only as a block.
func TestDetectorOrder(t *testing.T) {
	for reply, want := range map[string]string{
		"<think>a</think>b<｜tool▁calls▁begin｜>c<｜tool▁calls▁end｜>": "deepseek_r1",
		"<think>a</think>b":                        "default",
		"<Think >a</THINK>b":                       "default",
		"[THINK]a[/THINK]b":                        "magistral",
		"<think>a\n[THINK]b":                       "magistral",
		"analysisA.assistantfinalB":                "harmony_text",
		"analysis of the data":                     "",
		"x = [THINKING] <thinker> <thin":           "",
		"Thinking... about it":                     "",
		"\nThinking...\na\n...done thinking.\n\nb": "ollama_cli",
		"<|channel|>analysis<|message|>a":          "harmony",
	} {
		d := New(dialect.All())
		d.Add(reply)
		best := ""
		if fits := d.Fits(); len(fits) > 0 {
			best = fits[0].Dialect
		}
		if best != want {
			t.Errorf("%q: best is %q, want %q", reply, best, want)
		}
	}
}
