package a2aserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// TestForm: a question with a form goes up a chain of agents with its schema, and the values of the
// answer go down to the tool, by every binding and also after a restart. What does not fit is an error
// that names the field, and the task goes on waiting; a bare yes does not do, and a dismissal arrives
// as one.
func TestForm(t *testing.T) {
	for i, b := range bindings {
		for depth := 1; depth <= 2; depth++ {
			t.Run(fmt.Sprint(b.name, " ", depth), func(t *testing.T) {
				got := make(chan string, 4)
				booker := erasing.Booker(t, time.Hour, got).Turn
				c := chainOf(t, depth, i, func(turn *agent.Turn) {
					if len(turn.Confirm) > 0 {
						*turn = booker
					}
				})
				var by consent.Principal // the server says who answers
				task := c.ask(person)
				q := c.asked(task)
				if f, err := q.Form(); err != nil || f == nil || len(f.Fields) != 6 {
					t.Fatalf("%s: %v", q.Schema, err)
				}
				for values, want := range map[string]string{`{"nights":2}`: "name: a value is needed", `{"name":"Ada","nights":0}`: "nights: ", `{"name":"Ada","price":0}`: `"price" is not a field`} {
					if _, err := c.answers(person, task, q.With(by, json.RawMessage(values)), true); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want %s", values, err, want)
					}
				}
				if _, err := c.answers(person, task, q.Yes(by), false); err == nil || !strings.Contains(err.Error(), "name: a value is needed") {
					t.Errorf("a text: %v", err)
				}
				if depth == 2 {
					c.restart()
				}
				if _, err := c.answers(person, task, q.With(by, json.RawMessage(`{"name":"Ada","room":"s"}`)), true); err != nil {
					t.Fatal(err)
				}
				if text, want := <-got, `{"name":"Ada","nights":2,"room":"s"}`; text != want {
					t.Errorf("%s, want %s", text, want)
				}
				task = c.ask(person)
				if _, err := c.answers(person, task, c.asked(task).Dismiss(by), true); err != nil {
					t.Fatal(err)
				}
				if text := <-got; text != "dismissed" {
					t.Error(text)
				}
			})
		}
	}
}
