package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/wire"
)

// A judge collects the texts of one reply, asks the guard about them, and keeps to what
// it decided.
type judge struct {
	x    *exchange // that delivers
	rule guard.Rule
	log  *observing.Judgements

	parts    map[reading.JudgedPart]*heardPart
	waiting  []*heardPart       // with text that is not judged, in the order in which it came
	speaking map[int]*heardPart // the part of each choice that was heard last
	touched  []*heardPart       // heard since the last frame
	ended    bool               // nothing more comes

	end    error              // why the reply must end
	cutsAt func(p *heardPart) // is called before a part is cut
}

// A heardPart is a part of a reply as it was read ahead.
type heardPart struct {
	reading.JudgedPart
	text          []byte // not judged
	before        []byte // the end of what was
	heard, judged int64  // bytes
	since         time.Time
	paused, cut   bool
}

// newJudge returns the judge of an exchange, who hears what is read ahead.
func (x *exchange) newJudge(ahead *reading.Reading) *judge {
	x.judgements = &observing.Judgements{ID: rand.Text()[:16]}
	x.reading.Allowance = &reading.Allowance{Parts: map[reading.JudgedPart]*reading.Allowed{}}
	j := &judge{x: x, rule: x.route.Guard, log: x.judgements, parts: map[reading.JudgedPart]*heardPart{}, speaking: map[int]*heardPart{}}
	ahead.Allowance = &reading.Allowance{Hear: j.hear, Close: j.close}
	return j
}

// hear takes text that the client would get.
func (j *judge) hear(at reading.JudgedPart, text []byte) {
	if !j.rule.Judges(at.Channel) {
		j.x.reading.Allowance.Of(at).All = true
		return
	}
	p := j.parts[at]
	if p == nil {
		p = &heardPart{JudgedPart: at}
		j.parts[at] = p
	}
	if last := j.speaking[at.Choice]; last != p {
		if last != nil {
			last.paused = true
		}
		j.speaking[at.Choice] = p
	}
	p.heard += int64(len(text))
	if p.cut {
		p.judged = p.heard
		return
	}
	if len(p.text) == 0 {
		p.since = time.Now()
		j.waiting = append(j.waiting, p)
	}
	p.paused = false
	p.text = append(p.text, text...)
	if !slices.Contains(j.touched, p) {
		j.touched = append(j.touched, p)
	}
}

// close notes that nothing more comes of a choice for now.
func (j *judge) close(choice int) {
	if p := j.speaking[choice]; p != nil {
		p.paused = true
	}
}

// oldest returns since when text waits that is judged in pieces.
func (j *judge) oldest() (since time.Time, waits bool) {
	if len(j.waiting) == 0 || j.rule.Every < 0 {
		return time.Time{}, false
	}
	return j.waiting[0].since, true
}

// unjudged is how many bytes wait.
func (j *judge) unjudged() (n int) {
	for _, p := range j.waiting {
		n += cap(p.text)
	}
	return n
}

// last has judged what is left of a reply that has ended.
func (j *judge) last() {
	j.ended = true
	j.ask(true)
}

// ask has judged the texts that are due: those that are long enough, that have waited
// for long enough, or whose part has ended. all says that all are.
func (j *judge) ask(all bool) {
	waiting := j.waiting
	j.waiting = nil
	for _, p := range waiting {
		ends := p.paused || j.ended
		late := all || time.Since(p.since) >= j.rule.Wait
		if j.end == nil && len(p.text) > 0 && (ends || late || len(p.text) >= j.rule.Every) {
			n := len(p.text)
			switch {
			case ends:
			case late:
				n = wholeRunes(p.text)
			default:
				n = wholeWords(p.text)
			}
			j.piece(p, n, ends)
		}
		if len(p.text) > 0 {
			j.waiting = append(j.waiting, p)
		}
	}
}

// wholeWords returns the length of a text without the word at its end, which may go on,
// unless that is long.
func wholeWords(text []byte) int {
	for n := len(text); n > len(text)/2; n-- {
		if reading.IsWhite(text[n-1]) {
			return n
		}
	}
	return wholeRunes(text)
}

// wholeRunes returns the length of a text without the character at its end, if that is
// not complete.
func wholeRunes(text []byte) int {
	for n := len(text) - 1; n >= max(len(text)-utf8.UTFMax+1, 0); n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return n
			}
			break
		}
	}
	return len(text)
}

// piece has judged the first n bytes of what waits of a part.
func (j *judge) piece(p *heardPart, n int, last bool) {
	if n == 0 {
		p.since = time.Now()
		return
	}
	began := time.Now()
	verdict, err := j.call(guard.Piece{
		Exchange: j.log.ID, API: j.x.codec.Name(), Model: j.x.model, Caller: j.x.caller, Streamed: j.x.streamed,
		Choice: p.Choice, Channel: p.Channel, Before: string(p.before), Text: string(p.text[:n]), Offset: int(p.judged), Last: last,
	})
	d := observing.Judgement{Choice: p.Choice, Channel: p.Channel, Start: p.judged, End: p.judged + int64(n), Verdict: verdict, Err: err, Took: time.Since(began)}
	if err != nil {
		d.Verdict = guard.Verdict{}
	}
	d.Verdict.Reason = shorttext.Escape(strings.ToValidUTF8(d.Verdict.Reason, "?"), maxReason)
	switch {
	case err != nil && j.gone():
		j.end = err
		return
	case err != nil:
		j.fails()
	case verdict.Action == guard.Cut && j.mayCut(p):
		j.cut(p)
	case verdict.Action == guard.Cut, verdict.Action == guard.End:
		d.Verdict.Action = guard.End
		j.stop(d.Verdict.Reason)
	}
	j.x.judged(d)
	if j.end == nil && !p.cut {
		j.allow(p, n)
	}
}

// maxReason bounds the reason of a verdict, in bytes.
const maxReason = 200

// call asks the guard, in its time.
func (j *judge) call(p guard.Piece) (guard.Verdict, error) {
	parent := j.x.ctx
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, j.rule.Timeout)
	defer cancel()
	v, err := j.rule.Guard.Judge(ctx, p)
	switch {
	case err != nil && ctx.Err() != nil && parent.Err() == nil:
		err = fmt.Errorf("no decision after %v", j.rule.Timeout)
	case err == nil && !slices.Contains(guard.Actions(), v.Action):
		err = fmt.Errorf("unknown action %.40q: want %s, %s or %s", v.Action, guard.Pass, guard.Cut, guard.End)
	}
	return v, err
}

// gone reports whether the exchange is over, so that nobody waits for a verdict.
func (j *judge) gone() bool { return j.x.ctx != nil && j.x.ctx.Err() != nil }

// allow lets a judged piece be delivered.
func (j *judge) allow(p *heardPart, n int) {
	j.x.reading.Allowance.Of(p.JudgedPart).Bytes += int64(n)
	p.judged += int64(n)
	p.before = append(p.before[:0], p.text[max(0, n-maxBefore):n]...)
	p.text = p.text[n:]
	p.since = time.Now()
	if len(p.text) == 0 {
		p.text = nil
	}
}

// maxBefore is how much a guard sees again of the piece before, in bytes.
const maxBefore = 400

// mayCut reports whether a part can be left out: what is left is still a reply of the
// API, and of the form that was asked for.
func (j *judge) mayCut(p *heardPart) bool {
	return j.x.writes() && j.x.route.Display != routing.DisplayKeep && !(j.x.request.JSON && p.Channel == guard.Answer)
}

// cut leaves out the rest of a part.
func (j *judge) cut(p *heardPart) {
	if j.cutsAt != nil {
		j.cutsAt(p)
	}
	p.cut, p.judged, p.text = true, p.heard, nil
	j.x.reading.Allowance.Cut = true
	if p.Channel == guard.Answer {
		j.x.reading.Remembers = false // what the client sends back is not what the model said
	}
}

// stop ends the reply.
func (j *judge) stop(reason string) {
	r := &j.x.reading
	r.Allowance.Ended, r.Remembers = true, false
	j.end = &guardError{http.StatusForbidden, "the guard ended the reply", reason, true}
}

// fails handles a judgement that failed.
func (j *judge) fails() {
	if j.rule.OnFailure != guard.Open {
		j.end = &guardError{http.StatusServiceUnavailable, "the guard did not judge the reply, and without it nothing is delivered", "", false}
	}
}

// judgeWhole has the texts of a reply judged that is not streamed.
func (x *exchange) judgeWhole(body []byte) error {
	if x.route.Guard.Guard == nil {
		return nil
	}
	ahead := x.readAhead()
	j := x.newJudge(&ahead.reading)
	ahead.reply.Whole(nil, body, &ahead.reading)
	j.last()
	if j.end == nil && x.reading.Allowance.Cut {
		wire.Hide(x.reply)
	}
	return j.end
}
