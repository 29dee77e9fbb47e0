package recording

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/record"
)

// event returns the event of an exchange, as it is recorded.
func (rec *Recording) event(x *Source) record.Event {
	asked := account.Room{Left: rec.to.Recorded}
	e := record.Exchange{
		ID: x.ID, API: x.API, Model: x.Model, Caller: x.Caller, Path: rec.path, Upstream: rec.upstream,
		Status: x.Status, Streamed: x.Streamed, Outcome: x.Outcome, Millis: observing.Millis(x.Took),
		FirstThought: observing.Millis(x.Since(x.FirstThought)), FirstAnswer: observing.Millis(x.Since(x.FirstAnswer)),
		ResponseID: rec.account.ID(), IDs: account.IDs(x.Body, &asked),
		Usage: x.Usage, Messages: account.Messages(x.Codec, x.Body, &asked),
	}
	replies, where := rec.replies(x)
	e.Guard = x.Judgements.Recorded()
	failed := !x.Streamed && (x.Err != nil || x.Given.Failure != nil) // the client got an error
	e.Replies, e.Delivered = replies, x.Given.Delivery(where, x.Judgements.Verdict(), failed)
	e.Switch = x.recordedSwitch(&asked)
	e.LeakBytes = x.Leaked
	if e.Leak = x.Leak(); e.Leak == observing.LeakCorrected {
		e.Leak = cmp.Or(e.Thought(-1), record.ThoughtHidden)
	}
	if x.Route != rec.to.Route {
		e.Route = x.Route
	}
	if x.Upstream != rec.to.Upstream {
		e.UpstreamName = x.Upstream
	}
	e.Retries = x.Retries
	if done := x.History.Done(); done != observing.HistoryFirst {
		e.HistoryDone = done
	}
	e.Revisions = x.revisions(e.Messages, &asked)
	if x.Client != nil {
		e.UpstreamAPI, e.LeftOut = x.UpstreamAPI, x.LeftOut
		e.IDs = account.IDs(x.Asked, &asked)
		e.Asked = account.Messages(x.Client, x.Asked, &asked)
		e.AskedParameters, _ = account.Settings(x.Asked, &account.Room{Left: asked.Left})
	}
	e.Parameters, e.Tools = account.Settings(x.Body, &asked)
	if e.IDs == nil {
		e.IDs = rec.ids
	} else {
		maps.Copy(e.IDs, rec.ids)
	}
	if x.History.Changed && !x.History.DryRun {
		e.History = x.History.Plan
	}
	e.Error = rec.remarks(x, asked.Cut, omitted(e.Replies))
	if asked.Cut || rec.room.Cut {
		rec.to.truncated.Add(1)
	}
	return record.Event{Payload: e, Secrets: rec.secrets}
}

// revisions are what the history policy did to the messages of the client. If not all
// of the messages are recorded, the rest is not compared.
func (x *Source) revisions(sent []record.Message, room *account.Room) []record.Revision {
	if x.Original == nil || room.Cut {
		return nil
	}
	client := account.Messages(x.Codec, x.Original, &account.Room{Left: math.MaxInt})
	return account.Revisions(client, sent, x.Codec.Capabilities().Items, room)
}

// omitted is how many bytes of replies are left out because of the limit.
func omitted(replies []record.Reply) (n int) {
	add := func(c record.Content) { n += c.Len() - len(c.Text) }
	for i := range replies {
		r := &replies[i]
		add(r.Raw)
		add(r.Refusal)
		for _, t := range r.Reasoning {
			add(t.Text)
		}
		for _, c := range r.ToolCalls {
			add(c.Arguments)
		}
	}
	return n
}

// remarks say what went wrong, and what is not recorded. gone is how many bytes of the reply
// that is.
func (rec *Recording) remarks(x *Source, cut bool, gone int) string {
	var list []string
	switch {
	case x.Err != nil:
		list = append(list, faults.Plain(x.Err.Error()))
	case x.Outcome == "refused":
		list = append(list, fmt.Sprintf("the upstream answered %d", x.Status))
	}
	if x.Stopped != "" {
		list = append(list, fmt.Sprintf("the gateway ended the reply (%s), and its finish reason is the gateway's", x.Stopped))
	}
	rec.account.Refused(rec.refusal)
	if fault := rec.account.Fault(); fault != "" {
		list = append(list, fault)
	}
	if cut {
		list = append(list, "the request is recorded only in part: it is larger than limits.recorded")
	}
	switch {
	case gone > 0:
		list = append(list, fmt.Sprintf("the reply is recorded without %d bytes of it: it is larger than limits.recorded", gone))
	case rec.room.Cut:
		list = append(list, "the reply is recorded only in part: it is larger than limits.recorded")
	}
	return strings.Join(list, "; ")
}

// replies are the choices as they came and as they were read. If an API does not
// number its choices, each text of the reply is one choice. What the account has is
// recorded with the text that it belongs to.
func (rec *Recording) replies(x *Source) ([]record.Reply, *reading.Whereabouts) {
	a, said := rec.account, x.Said
	spoken := said.Spoken()
	numbers, own := spoken, func(_, choice int) int { return choice }
	if said.Can.Texts {
		if len(numbers) == 0 && len(a.Choices()) > 0 {
			numbers = []int{0}
		}
		own = func(i, _ int) int { return i }
	} else {
		numbers = slices.Concat(numbers, a.Choices())
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	list := make([]record.Reply, 0, len(numbers))
	where := &reading.Whereabouts{Choices: numbers, Parts: make([]map[int]int, len(numbers))}
	for i, n := range numbers {
		r := said.Recorded(n)
		r.Dialect = x.Dialect
		belongs, last := own(i, n), i == len(numbers)-1
		where.Parts[i] = map[int]int{}
		r.Reasoning, r.ToolCalls = a.Of(func(choice int) bool {
			return choice == belongs || said.Can.Texts && last && choice > belongs
		}, where.Parts[i])
		r.Refusal = a.Refusal(func(choice int) bool { return choice == belongs })
		list = append(list, r)
	}
	return list, where
}

// recordedSwitch is what the record has of a translation.
func (x *Source) recordedSwitch(room *account.Room) *record.Switching {
	if x.Switched == "" {
		return nil
	}
	s := &record.Switching{Translated: x.Switched}
	if len(x.Switch) > room.Left {
		room.Cut = true
		return s
	}
	s.Client = record.Say(string(room.Take(x.Switch)))
	return s
}
