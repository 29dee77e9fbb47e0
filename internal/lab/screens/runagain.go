package screens

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/record"
)

// A command continues or repeats a run. Why says why there is none.
type command struct {
	What string `json:"what"`
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
	Why  string `json:"why,omitempty"`
}

// again has the commands that extend and replay the run.
func (d *runData) again(of *lab, r *http.Request, name string) (any, error) {
	t, err := of.runs.Timeline(r.Context(), name, runview.Window{From: math.MinInt, To: math.MinInt})
	if err != nil {
		return nil, err
	}
	d.Run, d.Head = t.Run, t.Head
	extend, replay := command{What: console.Word("again.extend")}, command{What: console.Word("again.replay")}
	switch {
	case t.Run.Agent == "sotto" && t.Run.Parent == "" && record.CheckRun(name) == nil:
		dir := shellWord(of.Name)
		extend.Text, extend.Note = fmt.Sprintf("sotto run --config FILE --name %s --record %s", shellWord(name), dir), console.Word("again.extend.note")
		if t.Run.Status != "done" {
			extend.What, extend.Note = console.Word("again.resume"), console.Word("again.resume.note")
		}
		replay.Text, replay.Note = fmt.Sprintf("sotto run --config FILE --name %s --replay %s", shellWord(name), dir), console.Word("again.replay.note")
	case t.Run.Parent != "":
		extend.Why, replay.Why = console.Word("again.called"), console.Word("again.called")
	default:
		extend.Why, replay.Why = console.Word("again.other"), console.Word("again.other")
	}
	d.Commands = []command{extend, replay}
	return struct {
		V        int         `json:"v"`
		Run      runview.Run `json:"run"`
		Commands []command   `json:"commands"`
	}{1, t.Run, d.Commands}, nil
}

// shellWord quotes a word for a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-:@+/", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
