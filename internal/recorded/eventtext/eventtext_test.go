package eventtext

import (
	"errors"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// What a level withheld is shown by its length. Every recorded byte is in a stretch
// with its original channel.
func TestStretches(t *testing.T) {
	raw := "say <think>secret-1 thought</think>secret-2 answer<think>more"
	for _, level := range []record.Level{record.Full, record.Digests, record.Off} {
		read, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndCut)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{Policy: record.None, Reasoning: level, Secrets: record.NewSecrets("secret-2")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Append(t.Context(), record.Event{Payload: record.Invocation{Model: "m", Replies: []record.Reply{record.ReplyOf(read)}}})
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		rd, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range rd.Events(record.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			got := map[sotto.Channel]string{}
			at := 0
			w := Walker{Members: func(string, []Member) {}, Text: func(x Text) {
				for _, s := range x.Stretches() {
					if s.Start != at {
						t.Errorf("level %v: a stretch at %d, want %d", level, s.Start, at)
					}
					at = s.End
					got[s.Channel] += s.Text
				}
			}}
			w.Event(&e)
			thought := "secret-1 thoughtmore"
			if level != record.Full {
				thought = ""
			}
			if got[sotto.ChannelText] != "say [secret] answer" || got[sotto.ChannelReasoning] != thought || at != len(raw) {
				t.Errorf("level %v: %q up to %d", level, got, at)
			}
		}
	}
}
