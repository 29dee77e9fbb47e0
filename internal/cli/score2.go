package cli

import (
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/answer"
)

// judge draws the candidate from a reply and judges it. The outcome is p's.
func (e *extractor) judge(p *posed) *outcome {
	was := &p.outcome
	was.id, was.judged, was.Extraction = p.id, true, e.extract(p)
	was.Verdict = e.task.Validate(was.Candidate, p.problem)
	return was
}

// appendOutcome appends the object of a reply; without an id there is no such key.
func appendOutcome(dst, id []byte, was *outcome) []byte {
	return append(appendVerdict(appendExtraction(dst, id, was.Extraction), was.Verdict), '}')
}

// badGold is the error of a reply that cannot be judged.
func badGold(was *outcome) error {
	switch {
	case was.Reason != answer.BadGold:
		return nil
	case was.Detail == "":
		return errors.New("the gold cannot be read")
	}
	return fmt.Errorf("the gold cannot be read: %s", was.Detail)
}

// idOf returns what stands for a line's id.
func idOf(p *posed) []byte {
	if p.id == nil {
		return []byte("null")
	}
	return p.id
}
