// Package shards divides the inputs of a batch among processes that do not know one
// another.
//
// The inputs lie one behind the other on one line of places: each byte is a place, and so
// is the end of each input. Shard i of n has the places from border i to border i+1, where
// border k is the k-th of n equal parts. A line of plain JSON Lines belongs to the shard
// that has the byte at which it begins; any other input is read whole, by the shard that
// has its first place. So each line belongs to one shard, and the shards in their order
// have all lines in their order. Which places a shard has depends on the sizes of the
// inputs and on nothing else, so each process finds out its own.
package shards

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// A Shard is one of the parts of a batch.
type Shard struct {
	Index int `json:"index"` // from 0
	Count int `json:"count"`
}

// MaxCount is the most shards that a batch can have.
const MaxCount = 99_999

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Name returns what the names of the files of a shard begin with. They sort in the order of
// the shards.
func (s Shard) Name() string { return fmt.Sprintf("part-%05d-of-%05d", s.Index, s.Count) }

// Parse reads I/N, auto/N or auto. The index of auto, and without N the count, come from
// the variables that a scheduler sets.
func Parse(text string, getenv func(string) string) (Shard, error) {
	index, count, counted := strings.Cut(text, "/")
	var s Shard
	var err error
	if index == "auto" {
		s, err = fromScheduler(getenv, counted)
	} else if !counted {
		err = errors.New("there is no number of shards")
	} else {
		s.Index, err = number(index)
	}
	if err == nil && counted {
		s.Count, err = number(count)
	}
	switch {
	case err != nil:
	case s.Count < 1 || s.Count > MaxCount:
		err = fmt.Errorf("the number of shards is %d: it can be 1 to %d", s.Count, MaxCount)
	case s.Index >= s.Count:
		err = fmt.Errorf("%d shards have the indexes 0 to %d, not %d", s.Count, s.Count-1, s.Index)
	}
	return s, err
}

func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%.20q is not a number", text)
	}
	return int(n), nil
}

// A scheduler is what sets the variables of array jobs.
type scheduler struct {
	name, index, count string // count may be ""
	// The least and the largest index. If the scheduler has them, they must be those of
	// all shards: the array may be a part of one.
	least, largest string
	rerun          string // how to number a whole array
}

var schedulers = []scheduler{
	{name: "Slurm", index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT", least: "SLURM_ARRAY_TASK_MIN", largest: "SLURM_ARRAY_TASK_MAX", rerun: "number it from 0, as in sbatch --array=0-399"},
	{name: "AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX", count: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{name: "Kubernetes", index: "JOB_COMPLETION_INDEX"},
}

// fromScheduler reads the variables of the only scheduler that has set some.
func fromScheduler(getenv func(string) string, counted bool) (Shard, error) {
	var found *scheduler
	var names []string
	for i := range schedulers {
		names = append(names, schedulers[i].index)
		if getenv(schedulers[i].index) == "" {
			continue
		}
		if found != nil {
			return Shard{}, fmt.Errorf("both %s and %s are set", found.index, schedulers[i].index)
		}
		found = &schedulers[i]
	}
	if found == nil {
		return Shard{}, fmt.Errorf("none of %s is set: this is not a task of an array", strings.Join(names, ", "))
	}
	var s Shard
	var err error
	if s.Index, err = number(getenv(found.index)); err != nil {
		return s, fmt.Errorf("%s: %w", found.index, err)
	}
	if counted {
		return s, nil
	}
	if found.count == "" {
		return s, fmt.Errorf("%s does not say how many tasks there are: write auto/N", found.name)
	}
	if s.Count, err = number(getenv(found.count)); err != nil {
		return s, fmt.Errorf("%s: %w", found.count, err)
	}
	if found.least == "" {
		return s, nil
	}
	least, err1 := number(getenv(found.least))
	largest, err2 := number(getenv(found.largest))
	if err := errors.Join(err1, err2); err != nil {
		return s, fmt.Errorf("%s and %s: %w", found.least, found.largest, err)
	}
	if least != 0 || largest != s.Count-1 {
		return s, fmt.Errorf("the array has %d tasks from %d to %d, not from 0 to %d: %s, or write auto/N if it is a part of the array", s.Count, least, largest, s.Count-1, found.rerun)
	}
	return s, nil
}

// An Input is a file or an object to read.
type Input struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Version string `json:"version"` // what changes when the content does: its ETag, or the time of its last change
}

// A Piece is what a shard reads of an input: the lines that begin in [From, To), or all of
// it if Whole is set.
type Piece struct {
	Input
	Number int   `json:"number"` // of the input, from 0
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Whole  bool  `json:"whole"`
}

var errSizes = errors.New("the sizes of the inputs add up to more than a number can hold")

// border returns where the k-th of n parts of the places begins.
func border(places int64, k, n int) int64 {
	high, low := bits.Mul64(uint64(places), uint64(k))
	at, _ := bits.Div64(high, low, uint64(n))
	return int64(at)
}

// Cut returns what a shard reads, in order. It asks splits whether an input is plain JSON
// Lines only where a border cuts the input, so that a shard opens two inputs at most that
// it does not read.
func Cut(inputs []Input, s Shard, splits func(Input) (bool, error)) ([]Piece, error) {
	places := int64(0)
	for _, in := range inputs {
		if in.Size < 0 || in.Size >= math.MaxInt64-places {
			return nil, errSizes
		}
		places += in.Size + 1
	}
	from, to := border(places, s.Index, s.Count), border(places, s.Index+1, s.Count)
	var pieces []Piece
	at, end := int64(0), int64(0)
	for i, in := range inputs {
		at, end = end, end+in.Size+1
		if end <= from || at >= to {
			continue
		}
		p := Piece{Input: in, Number: i, To: in.Size, Whole: true}
		if at < from || end > to {
			lines, err := splits(in)
			if err != nil {
				return nil, err
			}
			switch {
			case lines:
				p.From, p.To, p.Whole = max(from-at, 0), min(to-at, in.Size), false
			case at < from:
				continue
			}
		}
		if p.Whole || p.From < p.To {
			pieces = append(pieces, p)
		}
	}
	return pieces, nil
}
