package record_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// A program records what a model replied. A reviewer checks that nothing was changed
// since, and reads what the model thought.
func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := record.Open(dir, record.Options{})
	if err != nil {
		log.Fatal(err)
	}
	reply := sotto.Parse("<think>Six times seven.</think>Forty-two.", sotto.EndStopped)
	receipt, err := w.Append(context.Background(), record.Event{
		Run: "run-7",
		Payload: record.Invocation{
			Model:   "qwen3:8b",
			Replies: []record.Reply{record.ReplyOf(reply)},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("recorded as event", receipt.Seq)
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	report, err := record.Verify(dir, record.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("events:", report.Events, "findings:", len(report.Findings))

	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Events(record.Query{Run: "run-7", Types: []record.Type{record.TypeInvocation}}) {
		if err != nil {
			log.Fatal(err)
		}
		for _, reply := range e.Payload.(record.Invocation).Replies {
			for _, s := range reply.Segments {
				if text, whole := reply.Raw.Span(s.Start, s.End); whole && s.Channel != sotto.ChannelMarkup {
					fmt.Printf("%s: %s\n", s.Channel, text)
				}
			}
		}
	}
	// Output:
	// recorded as event 1
	// events: 1 findings: 0
	// reasoning: Six times seven.
	// text: Forty-two.
}

// A record in which no thought can be read: only its length and a keyed digest are kept.
func ExampleOptions_levels() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := record.Open(dir, record.Options{Reasoning: record.Digests, DigestKey: []byte("a key that is kept elsewhere")})
	if err != nil {
		log.Fatal(err)
	}
	reply := sotto.Parse("<think>Six times seven.</think>Forty-two.", sotto.EndStopped)
	if _, err := w.Append(context.Background(), record.Event{Payload: record.Invocation{
		Model: "qwen3:8b", Replies: []record.Reply{record.ReplyOf(reply)},
	}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Events(record.Query{NoCheckpoints: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", e.Payload.(record.Invocation).Replies[0].Raw.Text)
	}
	// Output:
	// "<think></think>Forty-two."
}
