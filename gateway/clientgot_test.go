package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// digestKey is the key of the digests in the record.
const digestKey = "sixteen bytes or more"

// modelSays returns a reply that a model may make: thoughts, answers, calls and narration in any
// order, with words that come again.
func modelSays(rnd *rand.Rand) string {
	pieces := []string{
		"<think>\nIs it four? Four it is.\n</think>", "<think>So, four.\n\n  So be it.</think>", "<think></think>", "<think>never closed ",
		"It is four.", " So be it.\n", "\n\n", " ", "é世", "```\n<think>\n```\n", "</think>", "<details type=\"reasoning\"><summary>Thought</summary>So be it.</details>",
		callMarkup, strings.Replace(callMarkup, `"f"`, `"h"`, 1), "<narrate>Looking it up.</narrate>", "<output>\nFour.\n</output>", "<",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(7) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

// routeOf returns settings that decide what a client gets, and a guard that now and then
// cuts or ends a reply, or does not judge it.
func routeOf(rnd *rand.Rand, s speaker) routing.Route {
	r := routing.Route{
		Display:    routing.Displays()[rnd.IntN(len(routing.Displays()))],
		Narration:  routing.Narrations()[rnd.IntN(len(routing.Narrations()))],
		OnNoAnswer: routing.NoAnswerActions()[rnd.IntN(len(routing.NoAnswerActions()))],
		Calls:      routing.CallsText,
	}
	if s.codec.Capabilities().Calls && r.Display != routing.DisplayKeep && rnd.IntN(2) == 0 {
		r.Calls = routing.CallsField
	}
	if r.Display == routing.DisplayHide && r.OnNoAnswer == routing.NoAnswerPromote { // is refused
		r.OnNoAnswer = routing.NoAnswerEmpty
	}
	if rnd.IntN(2) == 0 {
		return r
	}
	on, action := rnd.IntN(5), guard.Actions()[rnd.IntN(3)]
	n := 0
	r.Guard = guard.Rule{Every: 1 + rnd.IntN(30), Guard: &judgeFunc{judge: func(guard.Piece) (guard.Verdict, error) {
		if n++; n > on {
			return guard.Verdict{Action: action}, nil
		}
		return guard.Verdict{Action: guard.Pass}, nil
	}}}
	if rnd.IntN(4) == 0 {
		r.Guard.Every = -1
	}
	return r
}

// recordNames returns what the record says that the client got at a place.
func recordNames(t *testing.T, e *record.Exchange, place string) string {
	t.Helper()
	var b strings.Builder
	for i := range e.Delivered.Texts {
		d := &e.Delivered.Texts[i]
		if d.Place != place {
			continue
		}
		text, ok := e.Text(d)
		if !ok || len(text) != d.Bytes || !d.Confirms([]byte(digestKey), text) || d.Confirms([]byte("another key of some bytes"), text) || d.Confirms([]byte(digestKey), text+".") {
			t.Errorf("the text %q of %d bytes is named %v", text, d.Bytes, d.Spans)
		}
		b.WriteString(text)
	}
	return b.String()
}

// TestClientGot: over displays, answers to replies without an answer, calls, narration,
// guards, APIs, streams and whole replies, the text that the record names is what the
// client received, to the byte.
func TestClientGot(t *testing.T) {
	t.Parallel()
	seeds := []uint64{27, 34, 176, 195, 472} // each has found a fault that the first ones do not
	n := 20
	if !effort.Brief() {
		seeds, n = nil, 500*effort.Times()
	}
	for seed := range uint64(n) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		for _, s := range speakers {
			rnd := rand.New(rand.NewPCG(seed, 77))
			raw, stream, route := modelSays(rnd), rnd.IntN(2) == 0, routeOf(rnd, s)
			w, dir := openRecord(t, record.Options{DigestKey: []byte(digestKey)})
			v := converse(t, s, gateway.Config{Recorder: w, Default: route})
			v.raw, v.cut = raw, inPieces(raw, 1+rnd.IntN(20))
			more := ""
			if s.codec.Capabilities().Calls {
				more = s.declares(declared)
			}
			resp := ask(v, s.path, v.request("m", stream, more))
			e := only(t, w, dir)
			where := fmt.Sprintf("seed %d, %s, stream %v, display %s, narration %s, no answer %s, calls %s, guard %v: %q", seed, s.name(), stream, route.Display, route.Narration, route.OnNoAnswer, route.Calls, route.Guard.Guard != nil, raw)
			if e.Delivered == nil {
				t.Fatalf("%s: nothing is said about what the client got", where)
			}
			h := &heard{}
			switch {
			case stream:
				h = v.s.listen(t, resp.Body.Bytes())
			case resp.Code == http.StatusOK:
				h = v.s.listenWhole(t, resp.Body.Bytes())
			}
			for place, got := range map[string][]byte{record.PlaceText: h.text, record.PlaceField: h.thought, record.PlaceNarration: h.narration} {
				if text := recordNames(t, &e, place); text != string(got) {
					t.Errorf("%s:\n%s: the record names %q\nthe client got %q", where, place, text, got)
				}
			}
			checkDelivery(t, where, &e, route)
			if t.Failed() {
				return
			}
		}
	}
}

// checkDelivery checks what else the record says about a delivery.
func checkDelivery(t *testing.T, where string, e *record.Exchange, route routing.Route) {
	t.Helper()
	d := e.Delivered
	if d.Display != string(route.Display) || (d.Guard != "") != (route.Guard.Guard != nil && e.Guard != nil) {
		t.Errorf("%s: the delivery is %+v", where, d)
	}
	promoted := false
	for _, r := range e.Replies {
		for _, x := range r.Diagnostics {
			promoted = promoted || x.Code == "answer_promoted"
		}
	}
	if promoted && !d.Promoted {
		t.Errorf("%s: the record does not say that the thought became the answer", where)
	}
	for _, x := range d.Texts {
		for _, s := range x.Spans {
			if strings.Trim(s.Put, " \n\t\r") != "" && !strings.Contains("<think>\n</think>\n\n", s.Put) {
				t.Errorf("%s: the gateway is said to have put %q there", where, s.Put)
			}
		}
	}
}

// TestClientGotBeside: the same for thoughts that the upstream sends in members of their own,
// also twice, and beside thoughts in the text.
func TestClientGotBeside(t *testing.T) {
	thoughts := []string{
		`"reasoning_content":"\n So it is. "`, `"reasoning":"Four.\n"`, `"reasoning_details":[{"type":"reasoning.text","text":"Is it? "}]`,
		`"reasoning_content":"One.","reasoning":"One."`,
	}
	texts := []string{`"content":"It is four. "`, `"content":"<think>So it is. </think>"`, `"content":"\n"`}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 78))
		route := routeOf(rnd, speakers[0])
		stream := rnd.IntN(2) == 0
		var list []string
		for range 1 + rnd.IntN(5) {
			list = append(list, thoughts[rnd.IntN(len(thoughts))])
		}
		for range rnd.IntN(4) {
			list = append(list, texts[rnd.IntN(len(texts))])
		}
		body, kind := `{"choices":[{"index":0,"message":{"role":"assistant",`+list[0]+`,"content":"Four."},"finish_reason":"stop"}]}`, "application/json"
		if stream {
			body, kind = "", "text/event-stream"
			for _, delta := range list {
				body += chatFrame("{"+delta+"}", "null")
			}
			body += chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
		}
		w, dir := openRecord(t, record.Options{DigestKey: []byte(digestKey)})
		g := handler(t, gateway.Config{Recorder: w, Default: route}, answering(func(*http.Request) *http.Response { return response(kind, strings.NewReader(body)) }))
		resp := ask(g, "/v1/chat/completions", fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"x"}]}`, stream))
		e := only(t, w, dir)
		h := &heard{}
		switch {
		case stream:
			h = speakers[0].listen(t, resp.Body.Bytes())
		case resp.Code == http.StatusOK:
			h = speakers[0].listenWhole(t, resp.Body.Bytes())
		}
		where := fmt.Sprintf("seed %d, display %s, no answer %s, guard %v: %s", seed, route.Display, route.OnNoAnswer, route.Guard.Guard != nil, body)
		for place, got := range map[string][]byte{record.PlaceText: h.text, record.PlaceField: h.thought} {
			if route.Display == routing.DisplayKeep && place == record.PlaceField {
				continue // the members pass as they are, each under its own name
			}
			if text := recordNames(t, &e, place); text != string(got) {
				t.Errorf("%s:\n%s: the record names %q\nthe client got %q", where, place, text, got)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestClientGotWords: what a display does to a thought is where the record says that the
// client got it, as a place of the thought.
func TestClientGotWords(t *testing.T) {
	const raw = "<think>Hm.</think>It is four."
	thought, answer := record.DeliveredSpan{Start: 7, End: 10}, record.DeliveredSpan{Start: 18, End: 29}
	put := func(text string) record.DeliveredSpan { return record.DeliveredSpan{Put: text} }
	for _, c := range []struct {
		route    routing.Route
		raw      string
		want     map[string][]record.DeliveredSpan
		promoted bool
	}{
		{routing.Route{Display: routing.DisplayHide}, raw, map[string][]record.DeliveredSpan{"text": {answer}}, false},
		{routing.Route{Display: routing.DisplayField}, raw, map[string][]record.DeliveredSpan{"text": {answer}, "field": {thought}}, false},
		{routing.Route{Display: routing.DisplayTags}, raw, map[string][]record.DeliveredSpan{"text": {put("<think>\n"), thought, put("\n</think>\n\n"), answer}}, false},
		{routing.Route{Display: routing.DisplayKeep}, raw, map[string][]record.DeliveredSpan{"text": {{End: len(raw)}}}, false},
		{routing.Route{OnNoAnswer: routing.NoAnswerPromote}, raw[:18], map[string][]record.DeliveredSpan{"text": {thought}, "field": {thought}}, true},
	} {
		for _, stream := range []bool{true, false} {
			w, dir := openRecord(t, record.Options{})
			v := converse(t, speakers[0], gateway.Config{Recorder: w, Default: c.route})
			v.hear(t, c.raw, stream, "")
			d := only(t, w, dir).Delivered
			got := map[string][]record.DeliveredSpan{}
			for _, x := range d.Texts {
				got[x.Place] = x.Spans
			}
			if diff := cmp.Diff(c.want, got); diff != "" || d.Promoted != c.promoted {
				t.Errorf("%+v, stream %v: promoted %v: %s", c.route, stream, d.Promoted, diff)
			}
		}
	}
}

// TestClientGotChoices: what a client got of each choice is named with the reply that it is.
func TestClientGotChoices(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	g := handler(t, gateway.Config{Recorder: w}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>One.</think>First."},"finish_reason":"stop"},`+
			`{"index":1,"message":{"role":"assistant","content":"Second.","reasoning_content":"Two."},"finish_reason":"stop"}]}`))
	}))
	ask(g, "/v1/chat/completions", `{"model":"m","n":2,"messages":[{"role":"user","content":"x"}]}`)
	e := only(t, w, dir)
	for i, want := range []string{"First.", "Second."} {
		if got, ok := e.ClientText(i); got != want || !ok || e.Thought(i) != record.ThoughtInField {
			t.Errorf("reply %d: the client got %q, the thought is %q", i, got, e.Thought(i))
		}
	}
}
