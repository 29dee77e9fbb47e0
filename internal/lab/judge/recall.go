package judge

import (
	"encoding/json"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// A past is what a record has of the judge's work.
type past struct {
	begun     bool
	tokens    int64
	estimated bool
	of        map[string]*scored // by key
}

// A scored is what was recorded for one key.
type scored struct {
	tries  []try
	scores []float64
}

// judged reports whether all replies were read.
func (s *scored) judged() bool {
	for _, t := range s.tries {
		if !t.judged {
			return false
		}
	}
	return true
}

// A try is one reply of the judge.
type try struct {
	of     record.Ref
	raw    string // unless it was read
	start  sotto.Beginning
	end    sotto.Ending
	judged bool
	fault  string // why it could not be used
}

// recall reads the judge's run in the record.
func (j *Judge) recall() (*past, error) {
	p := &past{of: map[string]*scored{}}
	if j.Past == nil {
		return p, nil
	}
	at := map[uint64]string{} // keys of the replies that were not read
	for e, err := range j.Past {
		if err != nil {
			return nil, err
		}
		if e.Type == record.TypeSealed {
			return nil, record.ErrSealed
		}
		if e.Run != j.Run() {
			continue
		}
		switch x := e.Payload.(type) {
		case record.RunStart:
			p.begun = true
		case record.Invocation:
			if key := p.invocation(e.Seq, &x); key != "" {
				at[e.Seq] = key
			}
		case record.Extraction:
			if key := at[x.Of.Seq]; key != "" {
				p.of[key].extraction(&x, j.Rubric)
				delete(at, x.Of.Seq)
			}
		}
	}
	return p, nil
}

// invocation notes a call, and returns its key if a reply came whole.
func (p *past) invocation(seq uint64, x *record.Invocation) string {
	if u := x.Usage; u != nil {
		p.tokens += u.Input + u.Output
		p.estimated = p.estimated || u.Estimated
	}
	var set struct {
		Judge struct {
			Key string `json:"key"`
		} `json:"judge"`
	}
	if x.Error != "" || len(x.Replies) != 1 || !x.Replies[0].Raw.Whole() || json.Unmarshal([]byte(x.Parameters.Text), &set) != nil || set.Judge.Key == "" {
		return ""
	}
	key := set.Judge.Key
	if p.of[key] == nil {
		p.of[key] = &scored{}
	}
	r := &x.Replies[0]
	p.of[key].tries = append(p.of[key].tries, try{of: record.Ref{Seq: seq, Digest: r.Digest}, raw: string(r.Raw.Text), start: r.Start, end: r.End})
	return key
}

// extraction notes what was read in a reply.
func (s *scored) extraction(x *record.Extraction, r *Rubric) {
	for i := range s.tries {
		t := &s.tries[i]
		if t.of.Seq != x.Of.Seq {
			continue
		}
		t.judged, t.raw = true, ""
		if x.Verdict != nil && x.Verdict.OK && x.Candidate.Whole() {
			s.scores = r.scoresIn(string(x.Candidate.Text))
		} else if x.Verdict != nil {
			t.fault = x.Verdict.Reason
		}
	}
}
