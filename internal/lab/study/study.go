// Package study is a study on disk: which cells it has, what became of each, and
// where their outputs and records are. A cell is one run of an agent or one stream
// of problems, with its own settings. A study is a base (the settings that all cells
// share) and a grid (the settings in which they differ).
//
// A study's folder:
//
//	study.json            the manifest: all settings, versions, digests, and the cells
//	cells/CELL.json       the state of a cell, replaced as a whole when it changes
//	streams/CELL.jsonl    the output of sotto solve, where the base is a stream
//	memory/CELL.db        the memory of such a stream, if it has one
//	records/worker-N/     the record that worker N writes, with its own chain
//	records/CELL/         the encrypted record of a run
//	logs/CELL.txt         what the command of the cell wrote to standard error
//	LOCK                  the process that runs the study holds a lock on it
package study

import (
	"path/filepath"
	"time"
)

// A Kind says what the cells of a study are.
type Kind string

const (
	Runs    Kind = "run"   // agents that work in cycles: sotto run
	Streams Kind = "solve" // streams of problems: sotto solve
)

// A Manifest describes a study: everything that decides its results.
type Manifest struct {
	V    int    `json:"v"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Question is what the study is to answer, in the words of its author.
	Question string    `json:"question,omitempty"`
	Began    time.Time `json:"began"`
	// Sotto is the version of the program, and Go that of its compiler.
	Sotto string `json:"sotto,omitempty"`
	Go    string `json:"go,omitempty"`
	// Made is what else the results depend on.
	Made *Made `json:"made,omitempty"`
	// File is the text of the study's file.
	File string `json:"file"`
	// Inputs are the files that the study depends on.
	Inputs []Input `json:"inputs,omitempty"`
	// Keys are the keys of the grid, in the order of the file.
	Keys []string `json:"keys"`
	// Compare says which differences the report shows.
	Compare *Comparison `json:"compare,omitempty"`
	// Cells are all cells, in the order in which they run.
	Cells []Cell `json:"cells"`
}

// Made is what a study was made with, besides its files.
type Made struct {
	// Dialects is the SHA-256 of the table of dialects.
	Dialects string `json:"dialects"`
	// Models are the names of the models that were asked.
	Models []string `json:"models,omitempty"`
	// Seed is the key that each repetition set to another number, from First on. It is empty
	// if the study sets no seed.
	Seed        string `json:"seed,omitempty"`
	First       int64  `json:"first,omitempty"`
	Repetitions int    `json:"repetitions"`
}

// An Input is a file that a study depends on.
type Input struct {
	// Role is what the file is for: prices, instruction (a prompt), problems … It is empty
	// if the base says it.
	Role   string `json:"role,omitempty"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// A Comparison names the key whose values are compared, and the value that the
// others are compared with. Cells that agree in all other keys and in the repetition
// are pairs.
type Comparison struct {
	By       string `json:"by" yaml:"by"`
	Baseline string `json:"baseline" yaml:"baseline"`
}

// A Cell is one combination of the grid's values, and one of its repetitions.
type Cell struct {
	// ID names the cell's files, and its run in the record: letters, digits and
	// hyphens. It comes from the values and the repetition, so that a cell keeps its
	// ID when the grid grows.
	ID     string  `json:"id"`
	Values []Value `json:"values"`
	// Repetition counts from 1.
	Repetition int `json:"repetition"`
	// Settings is the SHA-256 of all settings of the cell, with those of the base.
	// If it differs from that of a finished cell, the cell has changed.
	Settings string `json:"settings"`
	// Command is what runs the cell, as a person would type it.
	Command []string `json:"command"`
}

// A Value is the value that a cell has for a key of the grid.
type Value struct {
	Key   string `json:"key"`
	Label string `json:"label"` // a short text for tables
}

// Value returns the label of the value that the cell has for key.
func (c *Cell) Value(key string) string {
	for _, v := range c.Values {
		if v.Key == key {
			return v.Label
		}
	}
	return ""
}

// A Status says how far a cell is.
type Status string

const (
	Waiting Status = "waiting" // not begun
	Running Status = "running" // begun and not finished, perhaps by a process that was killed
	Done    Status = "done"
	Failed  Status = "failed"  // it ended with an error, and is tried again by the next run of the study
	Bounded Status = "bounded" // a budget or a bound ended it
	Changed Status = "changed" // it finished with other settings than the study has now
)

// A State is what became of a cell.
type State struct {
	V        int       `json:"v"`
	Cell     string    `json:"cell"`
	Status   Status    `json:"status"`
	Settings string    `json:"settings"`         // of the cell when it ran
	Worker   int       `json:"worker,omitempty"` // from 1
	Attempts int       `json:"attempts,omitempty"`
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	// Millis is how long all attempts together took.
	Millis int64 `json:"ms,omitempty"`
	// Generation counts how often the cell was run again with other settings. The
	// name of its run depends on it; see [RunName].
	Generation int `json:"generation,omitempty"`
	// Reason says why the cell failed or which bound ended it.
	Reason string `json:"reason,omitempty"`
	// Measures are the figures of the cell by name. See [Measures] for their names
	// and units.
	Measures map[string]float64 `json:"measures,omitempty"`
}

// A Measure is a figure that cells have.
type Measure struct {
	Name, Unit, Help string
	// Higher says that more is better; Lower, that less is.
	Higher, Lower bool
}

// Measures are the figures that cells of a kind have, in the order of the tables.
func Measures(k Kind) []Measure {
	if k == Streams {
		return []Measure{
			{Name: "solved_share", Unit: "share", Help: "problems solved, of all problems", Higher: true},
			{Name: "solved", Unit: "problems", Help: "problems solved", Higher: true},
			{Name: "problems", Unit: "problems", Help: "problems finished"},
			{Name: "attempts", Unit: "calls", Help: "calls of the model", Lower: true},
			{Name: "by_template", Unit: "problems", Help: "problems that a known template solved without a call"},
			{Name: "with_paths", Unit: "problems", Help: "problems whose prompt had examples from memory"},
			{Name: "tokens", Unit: "tokens", Help: "tokens read and written", Lower: true},
			{Name: "cost", Unit: "money", Help: "what the tokens cost, in the unit of the prices", Lower: true},
			{Name: "ms", Unit: "ms", Help: "time of all problems", Lower: true},
		}
	}
	return []Measure{
		{Name: "cycles", Unit: "cycles", Help: "cycles that ended"},
		{Name: "answered_share", Unit: "share", Help: "cycles with an answer, of all cycles", Higher: true},
		{Name: "repeated_share", Unit: "share", Help: "cycles whose reflection repeats an earlier one, of all cycles", Lower: true},
		{Name: "invocations", Unit: "calls", Help: "calls of the model", Lower: true},
		{Name: "tool_calls", Unit: "calls", Help: "calls of tools"},
		{Name: "tool_errors", Unit: "calls", Help: "calls of tools that failed", Lower: true},
		{Name: "input_tokens", Unit: "tokens", Help: "tokens of the prompts", Lower: true},
		{Name: "output_tokens", Unit: "tokens", Help: "tokens of the replies", Lower: true},
		{Name: "thought_share", Unit: "share", Help: "bytes of thoughts, of all bytes of replies"},
		{Name: "saved_tokens", Unit: "tokens", Help: "tokens that the policy kept out of prompts", Higher: true},
		{Name: "ms", Unit: "ms", Help: "time in invocations and calls", Lower: true},
	}
}

// ManifestFile is the name of the manifest of the study in dir. The functions below
// name its other files and folders.
func ManifestFile(dir string) string       { return filepath.Join(dir, "study.json") }
func StateFile(dir, cell string) string    { return filepath.Join(dir, "cells", cell+".json") }
func StreamFile(dir, cell string) string   { return filepath.Join(dir, "streams", cell+".jsonl") }
func MemoryFile(dir, cell string) string   { return filepath.Join(dir, "memory", cell+".db") }
func LogFile(dir, cell string) string      { return filepath.Join(dir, "logs", cell+".txt") }
func RecordsFolder(dir string) string      { return filepath.Join(dir, "records") }
func RecordFolder(dir, name string) string { return filepath.Join(dir, "records", name) }
