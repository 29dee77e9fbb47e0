package switches

import (
	"fmt"
	"slices"
)

// A Mode says whether a model is to think.
type Mode string

const (
	Unset Mode = ""
	Off   Mode = "off"
	On    Mode = "on"
	Auto  Mode = "auto" // the model decides
)

// A Level is an amount of thinking in a word.
type Level string

// The levels, from the least on.
const (
	Minimal Level = "minimal"
	Low     Level = "low"
	Medium  Level = "medium"
	High    Level = "high"
	XHigh   Level = "xhigh"
	Max     Level = "max"
)

// levels lists them with the budget of tokens that each stands for. Low, medium and high
// are as in https://ai.google.dev/gemini-api/docs/openai.
var levels = []struct {
	name   Level
	budget int
}{{Minimal, 512}, {Low, 1024}, {Medium, 8192}, {High, 24576}, {XHigh, 32768}, {Max, 32768}}

// Budget returns the tokens that a level stands for, or 0 for one that is not known.
func (l Level) Budget() int {
	for _, known := range levels {
		if known.name == l {
			return known.budget
		}
	}
	return 0
}

// LevelOf returns the level that is nearest to a budget of tokens: low, medium or high.
func LevelOf(budget int) Level {
	switch {
	case budget <= Low.Budget():
		return Low
	case budget <= Medium.Budget():
		return Medium
	}
	return High
}

// atMost returns the level, or the highest one of a list that is below it, or else the
// first of the list. The list is in order.
func (l Level) atMost(list ...Level) Level {
	rank := func(l Level) int {
		for i, known := range levels {
			if known.name == l {
				return i
			}
		}
		return -1
	}
	best := list[0]
	for _, other := range list {
		if rank(other) <= rank(l) {
			best = other
		}
	}
	return best
}

// A Setting is what a request says about thinking, in no API's words. It says nothing if
// it is zero.
type Setting struct {
	Mode   Mode
	Level  Level // if empty, it says none
	Budget int   // tokens; if zero, it says none
}

// String is the setting in a few words, for a header or a log.
func (s Setting) String() string {
	text := string(s.Mode)
	if s.Level != "" {
		text += " " + string(s.Level)
	}
	if s.Budget != 0 {
		text += fmt.Sprintf(" %d tokens", s.Budget)
	}
	return text
}

// amount reports whether the setting says how much.
func (s Setting) amount() bool { return s.Level != "" || s.Budget != 0 }

// level is the amount as a level, or empty if the setting says none.
func (s Setting) level() Level {
	if s.Level == "" && s.Budget != 0 {
		return LevelOf(s.Budget)
	}
	return s.Level
}

// budget is the amount in tokens, or 0 if the setting says none.
func (s Setting) budget() int {
	if s.Budget == 0 {
		return s.Level.Budget()
	}
	return s.Budget
}

// and joins two settings of one request. ok is false if they contradict each other.
func (s Setting) and(o Setting) (joined Setting, ok bool) {
	modes := []Mode{s.Mode, o.Mode}
	switch {
	case s.Mode == Unset:
		s.Mode = o.Mode
	case slices.Contains(modes, Off) && s.Mode != o.Mode && o.Mode != Unset:
		return s, false
	case slices.Contains(modes, Auto):
		s.Mode = Auto
	}
	switch {
	case s.Level == "":
		s.Level = o.Level
	case o.Level != "" && o.Level != s.Level:
		return s, false
	}
	switch {
	case s.Budget == 0:
		s.Budget = o.Budget
	case o.Budget != 0 && o.Budget != s.Budget:
		return s, false
	}
	return s, true
}
