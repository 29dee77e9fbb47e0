// Package studyreport answers the question of a study: tables, paired differences,
// curves, and a page with all of it. It reads a study's folder, also while the study
// runs, and changes nothing.
//
// Its figures depend on nothing except the folder: the same folder has the same
// report, to the byte.
package studyreport

import (
	"context"
	"fmt"
	"strings"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// A Report is what a study found, as plain values.
type Report struct {
	V        int               `json:"v"`
	Name     string            `json:"name"`
	Kind     study.Kind        `json:"kind"`
	Question string            `json:"question,omitempty"`
	Keys     []string          `json:"keys"`
	Compare  *study.Comparison `json:"compare,omitempty"`
	// Statuses count the cells, by what became of them.
	Statuses []StatusCount `json:"statuses"`
	// Groups are the cells with the same values: their repetitions.
	Groups      []Group      `json:"groups"`
	Differences []Difference `json:"differences"`
	// Same are the measures in which no cell differs from its pair. They have no
	// differences.
	Same   []string `json:"same,omitempty"`
	Curves []Curve  `json:"curves"`
	// Missing are the cells that no figure includes, and why.
	Missing []Missing `json:"missing"`
	// Faults are outputs and records that could not be read. The figures that come
	// from them are left out.
	Faults []string `json:"faults"`
	// Methods say how the figures were computed.
	Methods []string `json:"methods"`

	study *study.Study
}

// A StatusCount is how many cells have a status.
type StatusCount struct {
	Status study.Status `json:"status"`
	Cells  int          `json:"cells"`
}

// A Group is all repetitions of a combination of values.
type Group struct {
	Values []study.Value `json:"values"`
	Cells  int           `json:"cells"`
	// Counted is how many of them the figures include. Bounded is how many of these
	// were ended by a budget or a bound.
	Counted  int      `json:"counted"`
	Bounded  int      `json:"bounded,omitempty"`
	Missing  []string `json:"missing,omitempty"` // the other cells
	Measures []Figure `json:"measures"`
	// Solved counts all problems of all repetitions. Its interval is Wilson's, for
	// problems that several repetitions have.
	Solved *stats.Rate `json:"solved,omitempty"`

	cells []*study.Cell
	// remembers is the cell whose memory is drawn: the first that has one.
	remembers *study.Cell
}

// A Figure is a measure over the repetitions of a group.
type Figure struct {
	Name string  `json:"name"`
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Low and High bound the mean. They are not set if there are fewer than two
	// repetitions, or if all are the same.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	Min  float64  `json:"min"`
	Max  float64  `json:"max"`
}

// A Missing cell has no part in the figures.
type Missing struct {
	Cell       string        `json:"cell"`
	Values     []study.Value `json:"values"`
	Repetition int           `json:"repetition"`
	Status     study.Status  `json:"status"`
	Reason     string        `json:"reason,omitempty"`
}

// Options say how a study is read.
type Options struct {
	// Identities decrypt encrypted records.
	Identities []age.Identity
}

// maxKeys bounds the keys of a grid.
const maxKeys = 50

// maxText bounds the bytes of a label, a key, a name or a reason in the report.
const maxText = 200

// Build reads the study in dir and computes its report.
func Build(ctx context.Context, dir string, o Options) (*Report, error) {
	s, err := study.OpenWhole(dir, o.Identities...)
	if err != nil {
		return nil, err
	}
	if len(s.Keys) > maxKeys {
		return nil, fmt.Errorf("%s: %d keys; at most %d are read", study.ManifestFile(dir), len(s.Keys), maxKeys)
	}
	bound(s)
	r := &Report{
		V: 1, Name: s.Name, Kind: s.Kind, Question: s.Question, Keys: s.Keys, Compare: s.Compare, study: s,
		Groups: groupsOf(s), Differences: []Difference{}, Curves: []Curve{}, Missing: []Missing{}, Faults: []string{},
	}
	if r.Kind != study.Runs && r.Kind != study.Streams {
		return nil, fmt.Errorf("%s: cells of kind %q; this program knows %q and %q", study.ManifestFile(dir), shorten(string(r.Kind)), study.Runs, study.Streams)
	}
	r.countCells()
	var streams map[string]*stream
	if s.Kind == study.Streams {
		if streams, err = r.readStreams(ctx, o.Identities); err != nil {
			return nil, err
		}
		r.streamCurves(streams)
		r.findMemories(streams)
	} else if err := r.runCurves(ctx, o); err != nil {
		return nil, err
	}
	for i := range r.Groups {
		r.measure(&r.Groups[i], streams)
	}
	r.compare(streams)
	r.Methods = r.methods()
	return r, nil
}

// bound shortens what a manifest holds, which may come from others.
func bound(s *study.Study) {
	s.Name, s.Question = shorten(s.Name), shorttext.Ellipsis(s.Question, 20*maxText)
	for i := range s.Keys {
		s.Keys[i] = shorten(s.Keys[i])
	}
	if s.Compare != nil {
		s.Compare = &study.Comparison{By: shorten(s.Compare.By), Baseline: shorten(s.Compare.Baseline)}
	}
	for i := range s.Cells {
		for j := range s.Cells[i].Values {
			v := &s.Cells[i].Values[j]
			v.Key, v.Label = shorten(v.Key), shorten(v.Label)
		}
		state := s.State(&s.Cells[i])
		state.Reason, state.Status = shorten(state.Reason), study.Status(shorten(string(state.Status)))
	}
}

// groupsOf sorts the cells by their values, in the order in which these come first.
func groupsOf(s *study.Study) []Group {
	groups := []Group{}
	at := map[string]int{}
	for i := range s.Cells {
		c := &s.Cells[i]
		key := groupKey(c.Values)
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, Group{Values: c.Values})
		}
		g := &groups[n]
		g.cells = append(g.cells, c)
		g.Cells++
		switch state := s.State(c); {
		case !counts(state):
			g.Missing = append(g.Missing, c.ID)
		case state.Status == study.Bounded:
			g.Bounded++
			fallthrough
		default:
			g.Counted++
		}
	}
	return groups
}

// groupKey is the same for cells with the same values.
func groupKey(values []study.Value) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%q=%q ", v.Key, v.Label)
	}
	return b.String()
}

// counts reports whether the figures include a cell: it ended, of itself or at a
// bound.
func counts(state *study.State) bool {
	return state.Status == study.Done || state.Status == study.Bounded
}

// countCells counts the cells by status, and lists those without a result.
func (r *Report) countCells() {
	r.Statuses = Statuses(r.study)
	for i := range r.study.Cells {
		c := &r.study.Cells[i]
		if state := r.study.State(c); !counts(state) {
			r.Missing = append(r.Missing, Missing{c.ID, c.Values, c.Repetition, state.Status, state.Reason})
		}
	}
}

// Statuses counts the cells of a study by status, those with a result first.
func Statuses(s *study.Study) (list []StatusCount) {
	count := map[study.Status]int{}
	for i := range s.Cells {
		count[s.State(&s.Cells[i]).Status]++
	}
	for _, status := range []study.Status{study.Done, study.Bounded, study.Running, study.Waiting, study.Failed, study.Changed} {
		if n := count[status]; n > 0 {
			list = append(list, StatusCount{status, n})
		}
	}
	return list
}

// A Cell is a cell of a group. Run is the name of its run in the record.
type Cell struct {
	ID, Run    string
	Repetition int
	Status     study.Status
	Reason     string
}

// CellsOf lists the cells of a group.
func (r *Report) CellsOf(g *Group) (list []Cell) {
	for _, c := range g.cells {
		state := r.study.State(c)
		list = append(list, Cell{c.ID, r.study.RunName(c), c.Repetition, state.Status, state.Reason})
	}
	return list
}

// counted are the cells of a group that the figures include.
func (r *Report) counted(g *Group) (list []*study.Cell) {
	for _, c := range g.cells {
		if counts(r.study.State(c)) {
			list = append(list, c)
		}
	}
	return list
}

// measure computes the figures of a group.
func (r *Report) measure(g *Group, streams map[string]*stream) {
	cells := r.counted(g)
	for _, m := range study.Measures(r.Kind) {
		var values []float64
		for _, c := range cells {
			if v, ok := r.study.State(c).Measures[m.Name]; ok {
				values = append(values, v)
			}
		}
		if s := stats.NewSample(values); s.N() > 0 {
			g.Measures = append(g.Measures, figureOf(&m, &s))
		}
	}
	if r.Kind == study.Streams {
		g.Solved = solvedOf(cells, streams)
	}
}

func figureOf(m *study.Measure, s *stats.Sample) Figure {
	f := Figure{Name: m.Name, N: s.N(), Mean: s.Mean(), SD: s.Deviation(), Min: s.Min(), Max: s.Max()}
	if i := s.IntervalOfMean(); i != nil {
		if m.Unit == "share" {
			i = i.Within(0, 1)
		}
		f.Low, f.High = &i.Low, &i.High
	}
	return f
}

// solvedOf counts the problems of all repetitions that are solved, with an interval
// for problems that several repetitions have.
func solvedOf(cells []*study.Cell, streams map[string]*stream) *stats.Rate {
	clusters := map[problemID]stats.Cluster{}
	count, n := 0, 0
	for _, c := range cells {
		s := streams[c.ID]
		if s == nil {
			continue
		}
		for i := range s.problems {
			p := &s.problems[i]
			k := clusters[p.id]
			k.N++
			n++
			if p.solved {
				k.Right++
				count++
			}
			clusters[p.id] = k
		}
	}
	if n == 0 {
		return nil
	}
	list := make([]stats.Cluster, 0, len(clusters))
	for _, k := range clusters { // Clustered sorts them
		list = append(list, k)
	}
	rate := stats.Clustered(stats.NewRate("", count, n), list)
	return &rate
}
