package screens

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
)

// compareRuns puts a run beside another one.
func (of *lab) compareRuns(c *console.Console, r *http.Request) (console.Answer, error) {
	name, err := runNamed(r)
	if err != nil {
		return console.Answer{}, err
	}
	q := r.URL.Query()
	with := q.Get("with")
	if with == "" && !console.WantsJSON(r) { // the reader has not chosen one yet
		return console.Answer{Redirect: "../" + console.RunToken(name) + "?view=reflections"}, nil
	}
	if with == "" || len(with) > console.MaxAsked {
		return console.Answer{}, console.BadRequest{Err: errors.New("with: want the name of another run")}
	}
	from := math.MinInt
	if text := q.Get("from"); text != "" {
		if from, err = strconv.Atoi(text); err != nil {
			return console.Answer{}, console.BadRequest{Err: fmt.Errorf("from: %s: want the number of a cycle", shorttext.Quote(text))}
		}
	}
	x, err := of.runs.Compare(r.Context(), name, with, from)
	if err != nil {
		return console.Answer{}, err
	}
	d := runData{
		Run: x.A, View: "compare", Now: c.Now(), Base: "../../runs/" + console.RunToken(name), Root: "../../", Head: x.Head, Compared: x, With: with,
	}
	if err := d.others(of, r, name); err != nil {
		return console.Answer{}, err
	}
	return console.Answer{
		Template: "run", Title: shorttext.Cut(name, console.MaxHead), Data: d, JSON: x,
		Crumbs: []console.Crumb{{Name: console.Word("screen.runs"), Link: "../../runs"}, {Name: shorttext.Cut(name, console.MaxCrumb), Link: d.Base}, {Name: console.Word("run.compare")}},
	}, nil
}

// Parting is where the two runs part, as the page shows it.
func (d runData) Parting() *console.Parting {
	return console.PartingOf(d.Compared.Parting, d.Run.Run, d.With, console.Trace{Root: d.Root, Runs: true}, func(run string, event uint64, id string) string {
		to := d.Root + "runs/" + console.RunToken(run)
		if id != "" {
			to += "?at=" + strconv.FormatUint(event, 10) + "#" + id
		}
		return to
	})
}

// shade is the class of a similarity: of ten, the darker the more similar.
func shade(v float64) string { return "s" + strconv.Itoa(min(9, max(0, int(v*10)))) }

// share prints a number from 0 to 1 without its first digit.
func share(v float64) string {
	if v >= 0.995 {
		return "1"
	}
	return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 2, 64), "0")
}

// NextCycle is where the rest of a comparison begins.
func (d runData) NextCycle() int { return d.Compared.Cycles[len(d.Compared.Cycles)-1].Cycle + 1 }
