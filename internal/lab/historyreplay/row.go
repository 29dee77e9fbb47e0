package historyreplay

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/model"
)

// A Row is one reply, or one refusal, to a case under a policy.
type Row struct {
	Event        string         `json:"event"`
	Conversation string         `json:"conversation"`
	Model        string         `json:"model"`
	Policy       history.Policy `json:"policy"`
	Round        int            `json:"round"` // from 1
	// Request is the SHA-256 of the body that was sent, and Bytes its size.
	Request string `json:"request_sha256"`
	Bytes   int    `json:"request_bytes"`
	// As is the policy whose request was the same, byte for byte. It was sent once, and
	// this row repeats its reply.
	As       history.Policy `json:"same_request_as,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Removed  int            `json:"removed_bytes,omitempty"`
	Restored int            `json:"restored_bytes,omitempty"`

	Status int    `json:"status,omitempty"` // of a refusal
	Error  string `json:"error,omitempty"`
	// Millis is the time to the end of the reply, FirstText that to the first delta of
	// content.
	Millis    int64      `json:"ms"`
	FirstText int64      `json:"first_text_ms,omitempty"`
	Input     int64      `json:"input_tokens,omitempty"`
	Cached    int64      `json:"cached_tokens,omitempty"`
	Output    int64      `json:"output_tokens,omitempty"`
	Reasoning int64      `json:"reasoning_tokens,omitempty"`
	Finish    string     `json:"finish,omitempty"`
	Raw       string     `json:"raw"`
	Thought   string     `json:"reasoning,omitempty"` // that the provider separated
	Calls     []CallMade `json:"tool_calls,omitempty"`
	// Answer is the visible text, and Recorded that of the recorded reply.
	Answer   string `json:"answer"`
	Recorded string `json:"recorded_answer"`
}

// A CallMade is a tool call of a reply.
type CallMade struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Key names the reply that a row holds.
func (r *Row) Key() string { return rowKey(r.Event, r.Policy, r.Round) }

func rowKey(event string, p history.Policy, round int) string {
	return event + "\x00" + string(p) + "\x00" + strconv.Itoa(round)
}

// said fills in what the model answered.
func (r *Row) said(reply *model.Reply) {
	r.Rule, r.Removed, r.Restored = cmp.Or(r.Rule, reply.Earlier.Rule), reply.Earlier.Removed, reply.Earlier.Restored
	r.Input, r.Cached, r.Output, r.Reasoning = reply.Usage.Input, reply.Usage.CacheRead, reply.Usage.Output, reply.Usage.Reasoning
	r.Raw, r.Finish = reply.Raw, reply.Finish
	var thoughts []string
	for _, t := range reply.Thoughts {
		thoughts = append(thoughts, t.Text)
	}
	r.Thought = strings.Join(thoughts, "\n\n")
	for _, c := range reply.Calls {
		r.Calls = append(r.Calls, CallMade{c.Name, c.Arguments})
	}
	g, _ := sotto.ForModel(r.Model)
	if read, err := g.Parse(reply.Raw, "", cmp.Or(reply.End, sotto.EndStopped)); err == nil {
		r.Answer = strings.TrimSpace(read.Visible())
		if all := len(reply.Raw); r.Reasoning == 0 && all > 0 { // estimated, where the provider does not count it
			r.Reasoning = r.Output * int64(len(read.RawOf(sotto.ChannelReasoning))) / int64(all)
		}
	}
}

func sameText(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
