package sidecar

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/internal/recorded/recordstats"
	"github.com/sotto-llm/sotto/record"
)

// A Number is a fact that is a number.
type Number uint8

// The numbers of an event. Numbers that an event does not have are 0.
const (
	Seq          Number = iota
	Time                // when it was recorded, in nanoseconds since 1970
	Size                // bytes of its line; 0 if the line before it in the sidecar is the same
	Odd                 // 1 if only the line shows what the event is
	Cycle               //
	Status              // of HTTP
	Streamed            // 0 or 1
	Millis              // how long it took
	FirstThought        // milliseconds to the first thought
	FirstAnswer         // and to the first visible text
	Retries             //
	Replies             //
	ReplyBytes          // of replies, and of thoughts beside them
	ThoughtBytes        // of these, thoughts
	AnswerBytes         // of these, visible text
	Leaks               // replies with thoughts in their text
	LeakedBytes         // of thoughts in texts
	LeakBytes           // of these, those that the gateway noted
	SavedBytes          // that the prompt did not have to carry
	PromptBytes         // of the prompts of a cycle
	Input               // tokens
	Output              //
	Reasoning           //
	CacheRead           //
	CacheWrite          //
	Calls               // of tools that the model asked for
	ToolFailures        // 1 for a use of a tool that failed
	Session             // a digest of the conversation's identifier: see [SessionDigest]
	Trace               // a digest of the trace's identifier
	numbers
)

// A Word is a fact that is a string.
type Word uint8

// The words of an event. Those that an event does not have are empty.
const (
	Type Word = iota
	Run
	Model
	Codes // diagnostics and the like: see [Facts.List]
	API
	Path
	Upstream // its address, or the provider of an agent's invocation
	UpstreamName
	Route
	Caller
	Outcome
	Leak    // what became of thoughts in the text
	Display // what the client was to get of thoughts
	Thought // what became of all thoughts
	Guard   // what a guard did
	Tools   // that were called: see [Facts.List]
	words
)

// names are those of the columns, in files.
var numberNames = [numbers]string{
	"seq", "time", "size", "odd", "cycle", "status", "streamed", "ms", "first_thought", "first_answer", "retries", "replies", "reply_bytes", "thought_bytes",
	"answer_bytes", "leaks", "leaked_bytes", "leak_bytes", "saved_bytes", "prompt_bytes", "input", "output", "reasoning", "cache_read", "cache_write", "calls", "tool_failures", "session", "trace",
}

var wordNames = [words]string{
	"type", "run", "model", "codes", "api", "path", "upstream", "upstream_name", "route", "caller", "outcome", "leak", "display", "thought", "guard", "tools",
}

// Facts are what a sidecar has of one event.
type Facts struct {
	Number [numbers]int64
	Word   [words]string
}

// listMark separates the words of a list.
const listMark = "\n"

// List returns the words of Codes or Tools, in order.
func (f *Facts) List(w Word) []string {
	if f.Word[w] == "" {
		return nil
	}
	return strings.Split(f.Word[w], listMark)
}

// At returns when the event was recorded.
func (f *Facts) At() time.Time { return time.Unix(0, f.Number[Time]).UTC() }

// digest returns 63 bits of the SHA-256 of an identifier, 0 of none.
func digest(id string) int64 {
	if id == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	return int64(binary.LittleEndian.Uint64(sum[:]) >> 1)
}

// SessionDigest returns the number that Session is for an identifier, as it is recorded.
func SessionDigest(id string) int64 { return digest(id) }

// FactsOf returns the facts of an event that a reader gave, except its size.
func FactsOf(e *record.Event) Facts {
	var f Facts
	f.Number[Seq], f.Number[Cycle] = int64(e.Seq), int64(e.Cycle)
	if e.Time.Before(minTime) || e.Time.After(maxTime) {
		f.Number[Odd] = 1
	} else {
		f.Number[Time] = e.Time.UnixNano()
	}
	f.Word[Type], f.Word[Run] = string(e.Type), e.Run
	var codes []string
	f.Word[Model], codes = e.Indexed()
	switch x := e.Payload.(type) {
	case record.Exchange:
		f.exchange(&x)
	case record.Invocation:
		f.Number[Trace] = digest(x.IDs[record.IDTrace])
		f.Word[Upstream], f.Word[Outcome] = x.Provider, outcomeOf(x.Error)
		f.Number[Millis], f.Number[FirstThought], f.Number[FirstAnswer] = x.Millis, x.FirstThought, x.FirstAnswer
	case record.ToolCall:
		f.Number[Millis], f.Word[Tools] = x.Millis, x.Name
		if x.Phase != "start" { // which has no outcome yet
			f.Word[Outcome] = outcomeOf(x.Error)
		}
		if x.Error != "" {
			f.Number[ToolFailures] = 1
		}
	case record.CycleEnd:
		f.Number[Millis] = x.Millis
	}
	f.replies(e)
	c := recordstats.CountOf(e)
	f.Number[Replies], f.Number[ReplyBytes], f.Number[ThoughtBytes] = int64(c.Replies), int64(c.Bytes), int64(c.ReasoningBytes)
	f.Number[Leaks], f.Number[LeakedBytes], f.Number[SavedBytes], f.Number[PromptBytes] = int64(c.Leaks), int64(c.LeakedBytes), int64(c.SavedBytes), int64(c.PromptBytes)
	f.set(Codes, codes)
	return f
}

var minTime, maxTime = time.Unix(0, -1<<62), time.Unix(0, 1<<62)

func outcomeOf(err string) string {
	if err != "" {
		return "failed"
	}
	return "answered"
}

// set sets a list. One with a mark in a word, or with an empty word, does not fit.
func (f *Facts) set(w Word, list []string) {
	for _, s := range list {
		if s == "" || strings.Contains(s, listMark) {
			f.Number[Odd] = 1
			return
		}
	}
	f.Word[w] = strings.Join(list, listMark)
}

func (f *Facts) exchange(x *record.Exchange) {
	f.Word[API], f.Word[Path], f.Word[Upstream], f.Word[UpstreamName], f.Word[Route] = x.API, x.Path, x.Upstream, x.UpstreamName, x.Route
	f.Word[Caller], f.Word[Outcome], f.Word[Leak], f.Word[Thought] = x.Caller, x.Outcome, x.Leak, x.Thought(-1)
	if d := x.Delivered; d != nil {
		f.Word[Display], f.Word[Guard] = d.Display, d.Guard
	}
	f.Number[Status], f.Number[Millis], f.Number[FirstThought], f.Number[FirstAnswer] = int64(x.Status), x.Millis, x.FirstThought, x.FirstAnswer
	f.Number[Retries], f.Number[LeakBytes] = int64(x.Retries), int64(x.LeakBytes)
	if x.Streamed {
		f.Number[Streamed] = 1
	}
	_, session := x.Session()
	f.Number[Session], f.Number[Trace] = digest(session), digest(x.IDs[record.IDTrace])
}

// replies counts tokens and calls.
func (f *Facts) replies(e *record.Event) {
	var usage *record.Usage
	var replies []record.Reply
	switch x := e.Payload.(type) {
	case record.Exchange:
		usage, replies = x.Usage, x.Replies
	case record.Invocation:
		usage, replies = x.Usage, x.Replies
	default:
		return
	}
	if usage != nil {
		f.Number[Input], f.Number[Output], f.Number[Reasoning] = usage.Input, usage.Output, usage.Reasoning
		f.Number[CacheRead], f.Number[CacheWrite] = usage.CacheRead, usage.CacheWrite
	}
	var tools []string
	for i := range replies {
		for _, part := range eventtext.SegmentsOf(&replies[i]) {
			if part.Channel == sotto.ChannelText {
				f.Number[AnswerBytes] += int64(part.End - part.Start)
			}
		}
		for _, c := range replies[i].ToolCalls {
			f.Number[Calls]++
			if c.Name != "" && !strings.Contains(c.Name, listMark) {
				tools = append(tools, c.Name)
			}
		}
	}
	f.Word[Tools] = strings.Join(slices.Compact(tools), listMark)
}

// identifiers are those by which an application knows an event: see sotto record show --id.
func identifiers(e *record.Event) (list []string) {
	add := func(id string) {
		if id != "" {
			list = append(list, id)
		}
	}
	switch x := e.Payload.(type) {
	case record.Exchange:
		add(x.ID)
		add(x.ResponseID)
		for _, id := range x.IDs {
			add(id)
		}
	case record.RunStart:
		add(x.ID)
		for _, id := range x.IDs {
			add(id)
		}
	case record.Invocation:
		for _, id := range x.IDs {
			add(id)
		}
	case record.CycleStart:
		for _, id := range x.IDs {
			add(id)
		}
	}
	return list
}

// CountWant names the facts that [Facts.Count] needs.
func CountWant() Want {
	return Want{
		Numbers: []Number{Time, Replies, ReplyBytes, ThoughtBytes, Leaks, LeakedBytes, SavedBytes, PromptBytes, Input, Output, CacheRead},
		Words:   []Word{Type, Model, Upstream, Caller, Codes},
	}
}

// Count returns what an event adds to a sum.
func (f *Facts) Count() recordstats.Count {
	n := func(k Number) int { return int(f.Number[k]) }
	c := recordstats.Count{
		Type: record.Type(f.Word[Type]), Model: f.Word[Model], Upstream: f.Word[Upstream], Caller: f.Word[Caller], Time: f.At(),
		Replies: n(Replies), Bytes: n(ReplyBytes), ReasoningBytes: n(ThoughtBytes), Leaks: n(Leaks), LeakedBytes: n(LeakedBytes), SavedBytes: n(SavedBytes),
		PromptBytes: n(PromptBytes), InputTokens: f.Number[Input], OutputTokens: f.Number[Output], CachedTokens: f.Number[CacheRead],
	}
	if c.Type == record.TypeExchange || c.Type == record.TypeInvocation {
		c.Codes = f.List(Codes)
	}
	return c
}
