package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire"
)

// A withoutProofs is a transport that sends a request once more if the upstream refuses its reasoning:
// a signature that is not the upstream's, or encrypted reasoning that it cannot read. A client would
// send it again with each turn, and its conversation would have come to an end. The second request has
// no reasoning. If it is refused too, the client gets the first answer, which says what is wrong.
type withoutProofs struct{ next http.RoundTripper }

// maxRefusedProof bounds the body of a response that is read to see what was refused, in bytes.
const maxRefusedProof = 64 << 10

// whyProof is why a request without its reasoning is sent again, for metrics and the record.
const whyProof = "reasoning"

func (t withoutProofs) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	x := exchangeOf(r.Context())
	if err != nil || x == nil || resp.StatusCode != http.StatusBadRequest || !x.refusedProof(r, resp) {
		return resp, err
	}
	body, thoughts, err := x.withoutThoughts()
	if err != nil || thoughts == 0 {
		return resp, nil
	}
	x.engine.resent(r, x.to, whyProof)
	before := x.body
	x.body = body
	again := *r
	again.Header = r.Header.Clone()
	second, err := t.next.RoundTrip(x.upstreamRequest(&again))
	if err != nil || second.StatusCode == http.StatusBadRequest {
		if err == nil {
			second.Body.Close()
		}
		x.body = before
		return resp, nil
	}
	resp.Body.Close()
	if x.engine.recorder != nil && x.original == nil {
		x.original = before
	}
	x.plan.Foreign += thoughts
	return second, nil
}

// refusedProof reports whether a response refuses the reasoning of a request that may be sent without it.
// The response can still be read from its beginning.
func (x *exchange) refusedProof(r *http.Request, resp *http.Response) bool {
	codec, ok := x.codec.(wire.ProofRefuser)
	if !ok || x.stored || x.route.History == history.Preserve || x.engine.config.HistoryDryRun {
		return false
	}
	if p := endpoints.Provider(x.codec); p != nil && p.Refuses != nil && p.Refuses(r) != nil { // an edited body would be refused
		return false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusedProof))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = &peeked{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return codec.RefusesProof(head)
}

// A failing reader has the error of the reader before it.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// withoutThoughts returns the body of the request without its reasoning, and how many thoughts that were.
func (x *exchange) withoutThoughts() ([]byte, int, error) {
	q, err := x.codec.Request(x.body)
	if err != nil {
		return nil, 0, err
	}
	changes, thoughts := history.WithoutThoughts(q)
	if thoughts == 0 {
		return nil, 0, nil
	}
	if err := x.charge.Take(int64(len(x.body))); err != nil {
		return nil, 0, err
	}
	body, err := x.codec.Edit(nil, x.body, changes)
	if err != nil {
		return nil, 0, fmt.Errorf("history: %w", err)
	}
	return body, thoughts, nil
}
