package studyreport

import (
	"errors"
	"html/template"
	"io/fs"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/memorygraph"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
)

const (
	// mostMemories bounds the memories of the page.
	mostMemories = 6
	// mostRemembered bounds the problems of a stream whose memory is drawn: it is read a
	// second time, and whole.
	mostRemembered = 5000
)

// A memoryGraph is what a stream learned.
type memoryGraph struct {
	Title    string
	Fragment template.HTML
}

// findMemories chooses the streams whose memories the page draws.
func (r *Report) findMemories(streams map[string]*stream) {
	found := 0
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, c := range r.counted(g) {
			if s := streams[c.ID]; s != nil && s.memory && len(s.problems) <= mostRemembered && found < mostMemories {
				g.remembers = c
				found++
				break
			}
		}
	}
}

// memoryGraphs draws the memories. An output that was there for the tables, and is not
// any more, has none.
func (r *Report) memoryGraphs() (list []memoryGraph, err error) {
	for i := range r.Groups {
		c := r.Groups[i].remembers
		if c == nil {
			continue
		}
		f, err := r.study.Stream(c.ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, results, err := solvereport.ReadResults(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		fragment, err := memorygraph.OfResults(results).Fragment()
		if err != nil {
			return nil, err
		}
		name := r.groupName(r.Groups[i].Values)
		list = append(list, memoryGraph{strings.TrimSpace(name + ", " + c.ID), fragment})
	}
	return list, nil
}
