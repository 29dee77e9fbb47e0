package screens

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/runview"
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
	crumbs := []console.Crumb{{Name: console.Word("screen.runs"), Link: "../../runs"}, {Name: shorttext.Cut(name, console.MaxCrumb), Link: "../../runs/" + console.RunToken(name)}, {Name: console.Word("run.compare")}}
	cycles, err := cyclesIn(q)
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	if q.Has("cycle") {
		crumbs[2].Link = "compare?" + url.Values{"with": {with}}.Encode()
		crumbs = append(crumbs, console.Crumb{Name: console.Word("run.cycle") + " " + shorttext.Cut(q.Get("cycle"), console.MaxCrumb)})
	} else {
		a, b, err := of.pairOfStreams(r, name, with)
		if err != nil {
			return console.Answer{}, err
		}
		if a != nil {
			return of.streamsOfRuns(r, a, b, crumbs)
		}
	}
	x, err := of.runs.Compare(r.Context(), name, with, cycles)
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
		Crumbs: crumbs,
	}, nil
}

// cyclesIn reads which cycles of two runs are compared: all from one on, or one of each.
func cyclesIn(q url.Values) (runview.Cycles, error) {
	at := map[string]int{"from": math.MinInt}
	for _, name := range []string{"from", "cycle", "beside"} {
		if text := q.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return runview.Cycles{}, fmt.Errorf("%s: %s: want the number of a cycle", name, shorttext.Quote(text))
			}
			at[name] = n
		}
	}
	cycle, one := at["cycle"]
	beside, also := at["beside"]
	switch {
	case one && also:
		return runview.OnePair(cycle, beside), nil
	case one:
		return runview.OnePair(cycle, cycle), nil
	case also:
		return runview.Cycles{}, errors.New("beside: it needs cycle, the number of a cycle of the first run")
	}
	return runview.AllFrom(at["from"]), nil
}

// pairOfStreams returns two runs if both are streams of problems; otherwise nil.
func (of *lab) pairOfStreams(r *http.Request, name, with string) (a, b *runview.Run, err error) {
	if a, err = of.runs.Run(r.Context(), name); err != nil {
		return nil, nil, err
	}
	if b, err = of.runs.Run(r.Context(), with); err != nil {
		return nil, nil, err
	}
	if !a.IsStream() || !b.IsStream() {
		return nil, nil, nil
	}
	return a, b, nil
}

// Parting is where the two runs part, as the page shows it.
func (d runData) Parting() *console.Parting { return partingOf(d.Compared, d.Root) }

// partingOf is where two runs part, as a page shows it. root is the way to the console.
func partingOf(c *runview.Comparison, root string) *console.Parting {
	return console.PartingOf(c.Parting, c.A.Run, c.B.Run, console.Trace{Root: root, Runs: true}, func(run string, event uint64, id string) string {
		to := root + "runs/" + console.RunToken(run)
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
