package thoughtscmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// Groups of the runs of a study, beside the keys of its grid.
const (
	byCell       = "cell"
	byRepetition = "repetition"
)

// maxHead bounds the first line of a stream.
const maxHead = 1 << 20

// studyLabels returns the group of each run, if the folder is that of a study, and what
// the runs are grouped by is a key of its grid, cell or repetition. Otherwise both
// results are nil.
func studyLabels(dir, by string, identity []string) (label func(record, run string) string, keys []string, err error) {
	ids, err := recording.ReadIdentities(identity)
	if err != nil {
		return nil, nil, fmt.Errorf("--identity: %w", err)
	}
	s, err := study.OpenWhole(dir, ids...)
	if errors.Is(err, study.ErrNone) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	keys = append(slices.Clone(s.Keys), byCell, byRepetition)
	if !slices.Contains(keys, by) {
		return nil, keys, nil
	}
	of := map[string]string{}
	for i := range s.Cells {
		c := &s.Cells[i]
		run := study.RunName(c.ID, s.State(c))
		if s.Kind == study.Streams {
			run = streamRun(s, c.ID)
		}
		switch value := c.Value(by); {
		case run == "":
		case value != "":
			of[run] = value
		case by == byCell:
			of[run] = c.ID
		case by == byRepetition:
			of[run] = strconv.Itoa(c.Repetition)
		}
	}
	return func(_, run string) string {
		for {
			if value, ok := of[run]; ok {
				return value
			}
			at := strings.LastIndexByte(run, '+') // the run of an agent that it called
			if at < 0 {
				return ""
			}
			run = run[:at]
		}
	}, keys, nil
}

// streamRun returns the name that the first line of a stream gives to its run; "" if it
// was not begun.
func streamRun(s *study.Study, cell string) string {
	in, err := s.Stream(cell)
	if err != nil {
		return ""
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxHead)
	var head struct {
		Run string `json:"run"`
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil {
		return ""
	}
	return head.Run
}
