// Package compare compares arms on the same problems: models, prompts, settings or
// versions by how many problems they solve, and judges by how far they agree.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Verdict is what one reply was worth.
type Verdict struct {
	Arm, Task string
	// Problem is the same for all replies to one problem, of all arms.
	Problem string
	// Cluster is the same for problems that are alike, such as the questions about one text.
	// If it is empty, the problem is a cluster of its own.
	Cluster string
	Score   float64 // from 0 to 1; NaN if only Label counts
	// Label is the verdict as it stands, for the agreement of judges.
	Label string
	// Failed says that there is no verdict, for example because the request failed.
	Failed bool
}

// Bounds of what is compared.
const (
	maxArms     = 100
	maxTasks    = 2000
	maxVerdicts = 20_000_000
	maxName     = 200 // bytes
	maxLabel    = 80  // bytes
)

// A Set is verdicts by arm, task and problem. Its zero value is empty.
type Set struct {
	arms, tasks []string // in the order in which they came
	cells       map[place]*cell
	labels      map[string]string // one copy of each
	n           int
	clustered   bool
	unscored    bool // labels are not scores
}

type place struct{ arm, task string }

// A cell holds the verdicts on one arm in one task.
type cell struct {
	problems map[string]*problem
	failed   int
}

// A problem is the verdicts on all replies of one arm to a problem.
type problem struct {
	cluster string
	n       int
	sum     float64
	part    bool // a score is neither 0 nor 1
	labels  []string
}

func (p *problem) mean() float64 { return p.sum / float64(p.n) }

var errTooMany = errors.New("there are too many verdicts to compare")

// Add adds a verdict.
func (s *Set) Add(v Verdict) error {
	if s.n++; s.n > maxVerdicts {
		return errTooMany
	}
	v.Arm, v.Task = shorttext.Ellipsis(v.Arm, maxName), shorttext.Ellipsis(v.Task, maxName)
	c, err := s.cell(place{v.Arm, v.Task})
	if err != nil {
		return err
	}
	if v.Failed {
		c.failed++
		return nil
	}
	p := c.problems[v.Problem]
	if p == nil {
		p = &problem{cluster: v.Cluster}
		c.problems[strings.Clone(v.Problem)] = p
	}
	s.clustered = s.clustered || v.Cluster != ""
	s.unscored = s.unscored || math.IsNaN(v.Score)
	p.n++
	p.sum += v.Score
	p.part = p.part || v.Score != 0 && v.Score != 1
	p.labels = append(p.labels, s.label(v.Label))
	return nil
}

func (s *Set) cell(at place) (*cell, error) {
	if c := s.cells[at]; c != nil {
		return c, nil
	}
	if s.cells == nil {
		s.cells, s.labels = map[place]*cell{}, map[string]string{}
	}
	if !slices.Contains(s.arms, at.arm) {
		if len(s.arms) == maxArms {
			return nil, fmt.Errorf("there are more than %d arms", maxArms)
		}
		s.arms = append(s.arms, at.arm)
	}
	if !slices.Contains(s.tasks, at.task) {
		if len(s.tasks) == maxTasks {
			return nil, fmt.Errorf("there are more than %d tasks", maxTasks)
		}
		s.tasks = append(s.tasks, at.task)
	}
	c := &cell{problems: map[string]*problem{}}
	s.cells[at] = c
	return c, nil
}

func (s *Set) label(text string) string {
	text = shorttext.Ellipsis(text, maxLabel)
	if known, ok := s.labels[text]; ok {
		return known
	}
	if len(s.labels) < 10_000 {
		s.labels[strings.Clone(text)] = strings.Clone(text)
	}
	return text
}

// Arms returns the names of the arms, in the order in which they came.
func (s *Set) Arms() []string { return s.arms }

// AllTasks is the name of all tasks together.
const AllTasks = "all"

// in returns the verdicts on an arm in a task, or in all tasks.
func (s *Set) in(arm, task string) *cell {
	if task != AllTasks {
		return s.cells[place{arm, task}]
	}
	all := &cell{problems: map[string]*problem{}}
	for _, task := range s.tasks {
		c := s.cells[place{arm, task}]
		if c == nil {
			continue
		}
		all.failed += c.failed
		for id, p := range c.problems {
			own := *p
			if own.cluster != "" {
				own.cluster = task + "\x00" + own.cluster
			}
			all.problems[task+"\x00"+id] = &own
		}
	}
	return all
}
