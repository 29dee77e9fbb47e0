package account

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire/openai"
)

// The revisions of a text turn what was sent back into what the client sent, whatever
// was done to it; and pieces that are only taken out are found as they are.
func TestRevisionsOfText(t *testing.T) {
	words := []string{"a", "é", "\n", "<think>", "</think>", "the answer is Ottawa and not Toronto. ", strings.Repeat("x", 40), " "}
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var client, sent strings.Builder
		removed := 0
		for range rnd.IntN(60) {
			word := words[rnd.IntN(len(words))]
			switch rnd.IntN(6) {
			case 0:
				client.WriteString(word)
				removed += len(word)
			case 1:
				if seed%2 == 0 {
					sent.WriteString(word)
					break
				}
				fallthrough
			default:
				client.WriteString(word)
				sent.WriteString(word)
			}
		}
		room := Room{Left: plenty}
		list := Revisions(
			[]record.Message{{Role: "assistant", Text: record.Say(client.String())}},
			[]record.Message{{Role: "assistant", Text: record.Say(sent.String())}}, false, &room)
		var back strings.Builder
		at, gone := 0, 0
		for _, v := range list {
			if v.At < at || v.Message != 0 || v.Field != "" {
				t.Fatalf("seed %d: %+v", seed, list)
			}
			back.WriteString(sent.String()[at:v.At] + string(v.Removed.Text))
			at = v.At + v.Added
			gone += len(v.Removed.Text)
		}
		if got := back.String() + sent.String()[at:]; got != client.String() {
			t.Fatalf("seed %d: %q, want %q", seed, got, client.String())
		}
		if client.String() == sent.String() && len(list) > 0 {
			t.Fatalf("seed %d: nothing changed, and %+v", seed, list)
		}
	}
	room := Room{Left: plenty}
	const first, second = "<think>They want the capital of Canada.</think>\n", "<think>Which one is it? </think>"
	list := Revisions(
		[]record.Message{{Role: "assistant", Text: record.Say(first + "It is a city of Ontario, on the river. " + second + "It is Ottawa.")}},
		[]record.Message{{Role: "assistant", Text: record.Say("It is a city of Ontario, on the river. It is Ottawa.")}}, false, &room)
	if len(list) != 2 || string(list[0].Removed.Text) != first || string(list[1].Removed.Text) != second || list[0].Added+list[1].Added != 0 {
		t.Errorf("%+v", list)
	}
}

// Reasoning in members and in items of its own is found, and no message is taken for
// another.
func TestRevisionsOfMessages(t *testing.T) {
	user := record.Message{Role: "user", Text: record.Say("x")}
	says := record.Message{Role: "assistant", Text: record.Say("y")}
	thought := func(s string) record.Message {
		return record.Message{Role: "assistant", Reasoning: []record.Thought{{Field: "summary", Text: record.Say(s)}}}
	}
	with := says
	with.Reasoning = thought("a").Reasoning
	for name, c := range map[string]struct {
		client, sent []record.Message
		items        bool
		want         string
	}{
		"a member is taken out":   {[]record.Message{user, with}, []record.Message{user, says}, false, "1 summary -a "},
		"a member is put in":      {[]record.Message{user, says}, []record.Message{user, with}, false, "1 summary +1 "},
		"items are taken out":     {[]record.Message{user, thought("a"), says, thought("b"), user, thought("c")}, []record.Message{user, says, thought("b"), user}, true, "1 assistant summary -a 4 assistant summary -c "},
		"an item is put in":       {[]record.Message{user, says}, []record.Message{user, thought("a"), says}, true, "1 summary +1 "},
		"other messages":          {[]record.Message{user, says}, []record.Message{says, user}, false, ""},
		"a message is missing":    {[]record.Message{user, says}, []record.Message{user}, false, ""},
		"more than the client's":  {[]record.Message{user}, []record.Message{user, says}, false, ""},
		"nothing changes, in all": {[]record.Message{user, thought("a"), with}, []record.Message{user, thought("a"), with}, true, ""},
	} {
		room := Room{Left: plenty}
		got := ""
		for _, v := range Revisions(c.client, c.sent, c.items, &room) {
			got += string(rune('0'+v.Message)) + " "
			if v.Role != "" {
				got += v.Role + " "
			}
			got += v.Field + " "
			if v.Added > 0 {
				got += "+" + string(rune('0'+v.Added)) + " "
			} else {
				got += "-" + string(v.Removed.Text) + " "
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// BenchmarkRevisions is what it takes to find what was taken out of a conversation of
// 100 messages with 2.4 kB of thought in every second one; and, to compare it with, to
// read the messages of the request for the record, which every exchange takes.
func BenchmarkRevisions(b *testing.B) {
	thought := strings.Repeat("They want to know which of the two it is, so I compare them. ", 40)
	body := func(thought string) []byte {
		var list []string
		for i := range 50 {
			list = append(list, fmt.Sprintf(`{"role":"user","content":"question %d"}`, i), `{"role":"assistant","content":`+quoted(thought+strings.Repeat("It is the first one. ", 20))+`}`)
		}
		return []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + `]}`)
	}
	client, sent := body("<think>"+thought+"</think>\n\n"), body("")
	messages := Messages(openai.Chat, sent, &Room{Left: plenty})
	b.Run("messages", func(b *testing.B) {
		b.SetBytes(int64(len(client)))
		b.ReportAllocs()
		for b.Loop() {
			Messages(openai.Chat, client, &Room{Left: plenty})
		}
	})
	b.Run("revisions", func(b *testing.B) {
		b.SetBytes(int64(len(client)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			list := Revisions(Messages(openai.Chat, client, &Room{Left: plenty}), messages, false, &Room{Left: plenty})
			if n = len(list); n != 50 {
				b.Fatal(n)
			}
		}
	})
}
