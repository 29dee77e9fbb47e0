package scoring

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/answer"
)

// Judge extracts the candidate from a reply and judges it. The outcome belongs to
// p.
func (e *Extractor) Judge(p *Posed) *Result {
	was := &p.outcome
	was.ID, was.Judged, was.Extraction = p.id, true, e.Extract(p)
	was.Verdict = e.Task.Validate(was.Candidate, p.Problem)
	for _, gold := range p.golds {
		if was.OK {
			break
		}
		other := p.Problem
		other.Gold = gold
		if v := e.Task.Validate(was.Candidate, other); v.OK || was.Reason == answer.BadGold {
			was.Verdict = v
		}
	}
	was.noGold = was.Reason == answer.BadGold && len(p.golds) == 0 && strings.TrimSpace(p.Problem.Gold) == ""
	if was.noGold {
		was.place = p.gold.place()
	}
	return was
}

// AppendResult appends the object for a reply. Without an id, it leaves that key
// out.
func AppendResult(dst, id []byte, was *Result) []byte { return append(appendOpen(dst, id, was), '}') }

// appendOpen appends the object without its end.
func appendOpen(dst, id []byte, was *Result) []byte {
	return AppendVerdict(AppendExtraction(dst, id, was.Extraction), was.Verdict)
}

// AppendJudged is AppendResult with what the object carries of the reply.
func (e *Extractor) AppendJudged(dst, id []byte, p *Posed, was *Result) ([]byte, error) {
	at := len(dst)
	dst, err := e.AppendCarried(appendOpen(dst, id, was), p)
	if err != nil {
		return dst[:at], err
	}
	return append(dst, '}'), nil
}

// BadGold is the error of a reply that cannot be judged.
func BadGold(was *Result) error {
	switch {
	case was.Reason != answer.BadGold:
		return nil
	case strings.HasPrefix(was.Detail, "the problem"): // the tasks that check by rules alone
		return &GoldError{fmt.Errorf("the reply cannot be judged: %s", was.Detail), "a problem that cannot be read"}
	case was.noGold && was.place != "":
		return &GoldError{fmt.Errorf("the gold is missing: field %s is not there, or empty", was.place), "a missing gold"}
	case was.noGold:
		return &GoldError{errors.New("the gold is missing"), "a missing gold"}
	case was.Detail == "":
		return &GoldError{error: errors.New("the gold cannot be parsed")}
	}
	return &GoldError{error: fmt.Errorf("the gold cannot be parsed: %s", was.Detail)}
}

// IDOf returns the id of a line, or what replaces it.
func IDOf(p *Posed) []byte {
	if p.id == nil {
		return []byte("null")
	}
	return p.id
}
