package npm_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// The aspects of a client, which are the columns of the table in docs/evidence/clients.md.
const (
	text      = "text"
	reasoning = "reasoning"
	tools     = "tools"
	history   = "history"
	endings   = "endings" // aborts and errors
	bare      = "bare"    // what is sent back beside calls
	display   = "display" // the conversations under every display
)

// A verdict has what is wrong with a conversation, by aspect.
type verdict map[string][]string

func (v verdict) errorf(aspect, format string, args ...any) {
	v[aspect] = append(v[aspect], fmt.Sprintf(format, args...))
}

// same compares the readings of a turn. Two readings of the reasoning may be right.
func (v verdict) same(turn int, got, want heard, also string) {
	if got.text != want.text {
		v.errorf(text, "turn %d: text %q, want %q", turn, got.text, want.text)
	}
	if got.thought != want.thought && got.thought != also {
		v.errorf(reasoning, "turn %d: thought %q, want %q", turn, got.thought, want.thought)
	}
}

// judge returns what is wrong with a conversation.
func judge(t *testing.T, client *npmClient, c *conversation) verdict {
	t.Helper()
	m, ok := scripted.Find(c.Model)
	if !ok {
		t.Fatalf("no model %s", c.Model)
	}
	v := verdict{}
	if strings.HasPrefix(c.Check, under) {
		judgeDisplay(v, client, c)
		return v
	}
	switch c.Check {
	case "ask":
		judgeAsk(t, v, client, c, m)
	case "tools":
		judgeTools(v, client, c, m)
		judgeHistory(v, client, c, m)
	case "fault":
		judgeFault(v, c)
	case "abort":
		judgeAbort(v, c, m)
	default:
		t.Fatalf("no check %s", c.Check)
	}
	return v
}

func judgeAsk(t *testing.T, v verdict, client *npmClient, c *conversation, m *scripted.Model) {
	t.Helper()
	if client.Repeats && m.Reply.Visible == "" {
		return
	}
	if client.Parses && c.Stream && strings.Contains(m.Reply.Visible, "<think>") {
		return
	}
	if c.alone != nil && c.alone.Error != "" {
		if client.limit(text) == nil || c.Error == "" {
			v.errorf(text, "%s, and through the gateway %q", c.alone.Error, c.Error)
		}
		return
	}
	if c.Error != "" || len(c.Turns) != 1 {
		v.errorf(text, "%d turns, %s", len(c.Turns), c.Error)
		return
	}
	got, want := heard{c.Turns[0].Text, strings.TrimSpace(c.Turns[0].Thought)}, rightReading(t, *m)
	if !client.reads() || client.Leading && c.Stream && strings.Contains(m.Reply.Text(), "<narrate>") {
		want.thought = ""
	}
	if client.repeats(c.Stream) {
		want.thought += want.thought
	}
	also := want.thought
	if c.alone != nil && len(c.alone.Turns) == 1 {
		also = strings.TrimSpace(c.alone.Turns[0].Thought)
	}
	v.same(0, got, want, also)
}

// judgeTools wants a call, and an answer, in each of two turns.
func judgeTools(v verdict, client *npmClient, c *conversation, m *scripted.Model) {
	if l := client.limit(tools); l != nil && c.Stream && !m.Call.ToolCall.InText && m.Wire != "ollama" { // Ollama sends each call whole
		if c.Error == "" {
			v.errorf(tools, "the client reads a stream with calls: %q", c.Turns)
		}
		return
	}
	if c.Error != "" || len(c.Turns) != 2 {
		v.errorf(tools, "%d turns, %s", len(c.Turns), c.Error)
		return
	}
	for i, turn := range c.Turns {
		script := []*scripted.Reply{m.Call, m.Result}
		if m.Call.ToolCall.InText {
			script = script[:1]
			if len(turn.Calls) > 0 {
				v.errorf(tools, "turn %d: calls %q", i, turn.Calls)
			}
		} else if len(turn.Calls) != 1 || turn.Calls[0].Name != "get_weather" || string(turn.Calls[0].Arguments) != `{"city":"Oslo"}` {
			v.errorf(tools, "turn %d: calls %q", i, turn.Calls)
		}
		var want heard
		for _, r := range script {
			want.text += squeeze(shown(m, r))
			if client.reads() && !(client.Bare && r.ToolCall != nil && r.Thought != nil) {
				want.thought += squeeze(strings.Join(r.Reasoning, ""))
			}
			if client.repeats(c.Stream) {
				want.thought += squeeze(strings.Join(r.Reasoning, ""))
			}
		}
		also := want.thought
		if c.alone != nil && len(c.alone.Turns) == 2 {
			also = squeeze(c.alone.Turns[i].Thought)
		}
		v.same(i, heard{squeeze(turn.Text), squeeze(turn.Thought)}, want, also)
	}
}

// shown is the text that a client gets of a reply: with the call, where that is in
// the text.
func shown(m *scripted.Model, r *scripted.Reply) string {
	if r.ToolCall == nil || !r.ToolCall.InText {
		return r.Visible
	}
	g, err := sotto.Named(m.Dialect)
	if err != nil {
		return err.Error()
	}
	read, err := g.Parse(r.Text(), r.Start, r.End)
	if err != nil {
		return err.Error()
	}
	return read.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool)
}

// squeeze removes white space: clients join texts with different white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// judgeFault wants an error, unless the client does not see the upstream's own
// errors either.
func judgeFault(v verdict, c *conversation) {
	if c.Error == "" && c.alone.Error != "" && !c.deaf {
		v.errorf(endings, "no error, but %q", c.Turns)
	}
}

// judgeAbort wants the first of the text, and a request that ends early at the
// upstream too. Clients that do not end their requests without the gateway do not
// end them with it.
func judgeAbort(v verdict, c *conversation, m *scripted.Model) {
	if len(c.alone.after) != 1 || !c.alone.after[0].Canceled {
		return
	}
	if len(c.Turns) != 1 || !strings.HasPrefix(m.Reply.Visible, c.Turns[0].Text) || c.Turns[0].Text == "" || c.Turns[0].Text == m.Reply.Visible {
		v.errorf(endings, "read %q, %s", c.Turns, c.Error)
	}
	if len(c.after) != 1 || !c.after[0].Canceled {
		v.errorf(endings, "%d requests, and the upstream's was not canceled", len(c.after))
	}
}

// TestNPM drives the clients of npm against the gateway and judges what they read.
func TestNPM(t *testing.T) {
	fast, slow := newStage(t, 0), newStage(t, 20*time.Millisecond)
	clients, all := runNPM(t, fast, slow, newShows(t))
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) {
			for _, c := range all {
				if c.Client != client.Name || strings.HasSuffix(c.Check, " alone") {
					continue
				}
				way := "whole"
				if c.Stream {
					way = "streamed"
				}
				t.Run(c.Check+"/"+c.Model+"/"+way, func(t *testing.T) {
					for aspect, wrong := range judge(t, client, c) {
						t.Errorf("%s: %s", aspect, strings.Join(wrong, "\n"))
					}
				})
			}
		})
	}
	if os.Getenv("SOTTO_NPM_ONLY") == "" {
		t.Run("table", func(t *testing.T) { checkTable(t, clients) })
	}
}

// A heard is a client's reading of a reply.
type heard struct{ text, thought string }

func (h heard) String() string { return fmt.Sprintf("text %q, thought %q", h.text, h.thought) }

// rightReading returns what a client should get from a model's reply.
func rightReading(t *testing.T, m scripted.Model) heard {
	t.Helper()
	g, err := sotto.Named(m.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Parse(strings.Join(m.Reply.Deltas, ""), m.Reply.Start, m.Reply.End)
	if err != nil {
		t.Fatal(err)
	}
	return heard{r.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool), strings.Join(m.Reply.Reasoning, "\n\n")}
}
