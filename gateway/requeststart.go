package gateway

import "github.com/sotto-llm/sotto"

// A requestEvidence is what a request shows about where its reply begins.
type requestEvidence struct {
	start   sotto.Start // "" if it does not show it
	unusual bool        // it changes how its prompt is made
	cuts    bool        // it may end a thought before its close
	quiet   bool        // it turned thinking off
	resumed bool        // the reply goes on with a text of the client's
}

func (q requestEvidence) teaches() bool {
	return !q.unusual && !q.cuts && !q.resumed
}

func evidenceOf(x *exchange) requestEvidence {
	var q requestEvidence
	q.start, _ = promptStart(x.family.grammar, x.request)
	q.resumed = x.request.Prompt != "" || x.request.Prefill != ""
	return q
}
