package sotto_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestDeclaredTools: a call ends an open thought only if it is whole and of a tool that the
// request declares, at every cut. Without a list of tools, each ends it.
func TestDeclaredTools(t *testing.T) {
	const secret = "SECRET"
	look, other := []string{"look", "see"}, []string{"other"}
	for _, c := range []struct {
		model, call string
	}{
		{"qwen3", "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"},
		{"glm-4.5", "<tool_call>look\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"},
		{"glm-4.5", "<tool_call>look</tool_call>"}, // the name is the call's last word
		{"qwen3-coder", "<tool_call>\n<function=look>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"},
		{"deepseek-v3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{\"city\":\"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
		{"minimax-m2", "<minimax:tool_call>\n<invoke name=\"look\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n</minimax:tool_call>"},
		{"kimi-k2-thinking", "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{\"city\":\"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>"},
	} {
		g, ok := sotto.ForModel(c.model)
		if !ok {
			t.Fatal(c.model)
		}
		for _, r := range []struct {
			name, raw string
			tools     []string
			ends      bool // the call ends the thought
		}{
			{"declared", "<think>\nI look. " + c.call + secret, look, true},
			{"unknown tools", "<think>\nI look. " + c.call + secret, nil, c.model != "minimax-m2"}, // G11 does not know its form
			{"no tools", "<think>\nI look. " + c.call + secret + "</think>It is 4.", []string{}, false},
			{"another tool", "<think>\nI look. " + c.call + secret + "</think>It is 4.", other, false},
			{"part of a name", "<think>\nI look. " + c.call + secret + "</think>It is 4.", []string{"loo", "ook"}, false},
			{"broken off", "<think>\nI look. " + c.call[:2*len(c.call)/3], look, false},
			{"closed before its end", "<think>\nI look. " + c.call[:2*len(c.call)/3] + secret + "</think>It is 4.", look, false},
			{"mentioned", "<think>\nA the tag " + c.call[:strings.IndexAny(c.call[1:], ">]")+2] + " is used to look. " + secret + "\n</think>It is 4.", look, false},
		} {
			for cut := range len(r.raw) + 1 {
				s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginOutside, Tools: r.tools})
				if err != nil {
					t.Fatal(err)
				}
				var visible, tool, thought []byte
				visible, tool, thought = collect(s.FeedString(r.raw[:cut]), visible, tool, thought)
				visible, tool, thought = collect(s.FeedString(r.raw[cut:]), visible, tool, thought)
				visible, tool, thought = collect(s.Close(sotto.EndStopped), visible, tool, thought)
				if ended := len(tool) > 0; ended != r.ends || strings.Contains(string(visible), secret) != r.ends || !r.ends && strings.Contains(r.raw, secret) != strings.Contains(string(thought), secret) {
					t.Fatalf("%s, %s, cut at %d: visible %q, tool %q, thought %q", c.model, r.name, cut, visible, tool, thought)
				}
			}
		}
	}
}

func collect(pieces []sotto.Piece, visible, tool, thought []byte) (_, _, _ []byte) {
	for _, p := range pieces {
		visible = append(visible, p.Visible...)
		switch p.Channel {
		case sotto.ChannelTool:
			tool = append(tool, p.Bytes...)
		case sotto.ChannelReasoning:
			thought = append(thought, p.Bytes...)
		}
	}
	return visible, tool, thought
}

// TestCallIsBounded: a call that does not end waits for MaxHold bytes, and is a thought then.
// Its cost is linear in its length.
func TestCallIsBounded(t *testing.T) {
	g, _ := sotto.ForModel("qwen3")
	s, err := g.NewSplitter(sotto.Options{Tools: []string{"look"}, MaxHold: 4096})
	if err != nil {
		t.Fatal(err)
	}
	thought := 0
	most := 0
	s.FeedString("<think>")
	for _, delta := range []string{"<tool_call>{\"name\":\"look\",\"arguments\":", strings.Repeat("look ", 50)} {
		for range 200 {
			for _, p := range s.FeedString(delta) {
				if p.Channel == sotto.ChannelReasoning {
					thought += len(p.Bytes)
				}
			}
			most = max(most, s.Held())
		}
	}
	if thought < 40_000 || most > 3*4096 {
		t.Errorf("%d bytes of thought, %d held", thought, most)
	}
}

// TestCallsWithoutAClose: where calls have no close, the whole name decides, and it comes
// within 512 bytes. No cut makes a name of its beginning.
func TestCallsWithoutAClose(t *testing.T) {
	g, ok := sotto.ForModel("magistral")
	if !ok {
		t.Fatal("no dialect")
	}
	const open = "[THINK]I look. [TOOL_CALLS]"
	calls := []struct {
		call string
		ends bool
	}{
		{"look[ARGS]{}", true},
		{"lookup[ARGS]{}", false},
		{"look-up[ARGS]{}", false},
		{"look", true}, // the end of the reply ends the name
		{"x", false},
		{strings.Repeat(" ", 64) + "look{", true},
		{strings.Repeat(" ", 65) + "look{", false},  // that is no form of a call
		{strings.Repeat("x", 507) + "[look{", true}, // the name ends at byte 512
		{strings.Repeat("x", 507) + "[looks{", false},
		{strings.Repeat("x", 508) + "[look{", false},
	}
	const inNames = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
	for c := range 256 {
		calls = append(calls, struct {
			call string
			ends bool
		}{"look" + string([]byte{byte(c)}), c < 0x80 && !strings.Contains(inNames, string(rune(c)))})
	}
	for _, c := range calls {
		raw := open + c.call
		for cut := range len(raw) + 1 {
			s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginOutside, Tools: []string{"look"}})
			if err != nil {
				t.Fatal(err)
			}
			var visible, tool, thought []byte
			visible, tool, thought = collect(s.FeedString(raw[:cut]), visible, tool, thought)
			visible, tool, thought = collect(s.FeedString(raw[cut:]), visible, tool, thought)
			if held := s.Held(); held > 0 && len(c.call) > 513 {
				t.Fatalf("%q, cut at %d: %d bytes are held", c.call, cut, held)
			}
			_, tool, _ = collect(s.Close(sotto.EndStopped), visible, tool, thought)
			if ended := len(tool) > 0; ended != c.ends {
				t.Fatalf("%q, cut at %d: the call ends the thought: %v, want %v", c.call, cut, ended, c.ends)
			}
		}
	}
}

// TestCallsBeforeTheStartIsKnown: while the start is undecided, a call of a declared tool is
// a call, also if the reply ends in it; any other is text.
func TestCallsBeforeTheStartIsKnown(t *testing.T) {
	g, _ := sotto.ForModel("qwen3")
	for raw, tool := range map[string]string{
		"I look. <tool_call>look</tool_call>":                  "<tool_call>look</tool_call>",
		"I look. <tool_call>look":                              "<tool_call>look",
		"I look. <tool_call>other":                             "",
		"I look. <tool_call/>":                                 "",
		"I look. <tool_call/>look":                             "",
		"I look. <tool_call>other</tool_call>":                 "",
		"I look. <tool_call>look <tool_call>other</tool_call>": "",
	} {
		for cut := range len(raw) + 1 {
			s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginAuto, Tools: []string{"look"}})
			if err != nil {
				t.Fatal(err)
			}
			var visible, got, thought []byte
			visible, got, thought = collect(s.FeedString(raw[:cut]), visible, got, thought)
			visible, got, thought = collect(s.FeedString(raw[cut:]), visible, got, thought)
			visible, got, thought = collect(s.Close(sotto.EndStopped), visible, got, thought)
			if want := strings.TrimSuffix(raw, tool); string(got) != tool || string(visible) != want || len(thought) > 0 {
				t.Fatalf("%q, cut at %d: visible %q, tool %q, thought %q", raw, cut, visible, got, thought)
			}
		}
	}
}
