package scoring

import (
	"errors"
	"strconv"
	"sync"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// A Result says what was found in one line, and how it was judged.
type Result struct {
	answer.Extraction
	answer.Verdict
	ID     []byte
	Judged bool   // there is a verdict
	noGold bool   // there was no right answer to judge by
	place  string // where it was looked for; "" for none
	Line   int    // of a line that failed; if it has only a byte, that plus one
}

// outcomePaths are the paths that are read from an object, in order.
var outcomePaths = func() (paths [][]jsonpath.Step) {
	for _, name := range []string{"id", "line", "candidate", "method", "span.0", "span.1", "status", "ok", "reason", "detail", "by", "byte"} {
		steps, _ := jsonpath.Parse(name)
		paths = append(paths, steps)
	}
	return paths
}()

var outcomeFinders = sync.Pool{New: func() any { return new(jsonpath.Finder) }}

var errNoObjectOfOurs = errors.New("not an object of extract or score")

// ReadResult reads an object written by extract or score.
func ReadResult(object []byte) (*Result, error) {
	f := outcomeFinders.Get().(*jsonpath.Finder)
	defer outcomeFinders.Put(f)
	if err := f.Find(object, outcomePaths...); err != nil {
		return nil, err
	}
	text := func(i int) string { return jsonpath.TextOr(f.Last(i), "") }
	number := func(i int) int { n, _ := strconv.Atoi(string(f.Last(i))); return n }
	if f.Last(1) != nil || f.Last(11) != nil && f.Last(2) == nil {
		return &Result{Line: max(1, number(1), number(11)+1)}, nil
	}
	if f.Last(0) == nil || f.Last(2) == nil || f.Last(3) == nil {
		return nil, errNoObjectOfOurs
	}
	x := &Result{ID: f.Last(0), Judged: f.Last(7) != nil}
	x.Candidate, x.Method, x.Status = text(2), text(3), answer.Status(text(6))
	if f.Last(5) != nil {
		x.Span = &answer.Span{Start: number(4), End: number(5)}
	}
	x.OK, x.Reason, x.Detail, x.By = text(7) == "true", answer.Reason(text(8)), text(9), text(10)
	return x, nil
}
