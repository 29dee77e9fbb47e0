package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// A treeModel is what a person means by sending, stopping, reloading, editing, asking again
// and going to another branch: messages with the one that each follows.
type treeModel struct {
	parent []int // of message i+1
	text   []string
	role   []model.Role
	leaf   int // the last message that the person sees
}

func (m *treeModel) add(role model.Role, text string, parent int) {
	m.parent, m.text, m.role = append(m.parent, parent), append(m.text, text), append(m.role, role)
	m.leaf = len(m.parent)
}

// branch is what the person sees, first to last.
func (m *treeModel) branch() (list []int) {
	for n := m.leaf; n > 0; n = m.parent[n-1] {
		list = append(list, n)
	}
	slices.Reverse(list)
	return list
}

// newest is the message below n that was added last.
func (m *treeModel) newest(n int) (last int) {
	last = n
	below := map[int]bool{n: true}
	for i := n + 1; i <= len(m.parent); i++ {
		if below[m.parent[i-1]] {
			below[i], last = true, i
		}
	}
	return last
}

// pick returns a random message of the branch with a role; 0 if there is none.
func (m *treeModel) pick(r *rand.Rand, role model.Role) int {
	list := slices.DeleteFunc(m.branch(), func(n int) bool { return m.role[n-1] != role })
	if len(list) == 0 {
		return 0
	}
	return list[r.IntN(len(list))]
}

// treePerson is somebody who uses the chat by its requests.
type treePerson struct {
	*treeModel
	t     *testing.T
	base  string
	id    string
	sends int
	// lost says that the page does not show the reply to the last question: it was left while
	// the reply came.
	lost bool
}

// ask sends a question and ends as how says: whole, stopped, or left.
func (p *treePerson) ask(q map[string]any, how string) {
	p.t.Helper()
	ctx, leave := context.WithCancel(p.t.Context())
	defer leave()
	q["id"], q["model"] = p.id, how
	body, _ := json.Marshal(q)
	r, _ := http.NewRequestWithContext(ctx, "POST", p.base+"chat/send", strings.NewReader(string(body)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var e struct {
			K, ID, Stop, S string
			User, N        int
		}
		if err := lines.Decode(&e); err != nil {
			p.t.Fatalf("%d: the stream ended with %v", resp.StatusCode, err)
		}
		switch {
		case e.K == "begin":
			p.id = e.ID
			if how == "stop" {
				defer postJSON(p.t, p.base+"chat/stop", "{}")
				if _, text := postJSON(p.t, p.base+"chat/stop", `{"stop":"`+e.Stop+`"}`); !strings.Contains(text, "true") {
					p.t.Fatal(text)
				}
			}
		case e.K == "text" && how == "leave":
			return
		case e.K == "end":
			return
		}
	}
}

// say is a question after the last message, an edit of a question, or the same one again.
func (p *treePerson) say(r *rand.Rand, what string) {
	how := []string{"whole", "whole", "stop", "leave"}[r.IntN(4)]
	p.sends++
	text, reply := fmt.Sprintf("question %d", p.sends), "It began."
	if how == "whole" {
		reply = "It began. It ended."
	}
	if how == "stop" {
		reply = ""
	}
	question := 0
	switch what {
	case "send":
		parent, after := p.leaf, p.leaf
		if p.lost {
			after = p.parent[p.leaf-1] // the page has the question alone
		}
		p.ask(map[string]any{"after": after, "text": text}, how)
		p.add(model.User, text, parent)
		question = p.leaf
	case "edit":
		of := p.pick(r, model.User)
		p.ask(map[string]any{"after": of, "edits": true, "text": text}, how)
		p.add(model.User, text, p.parent[of-1])
		question = p.leaf
	case "again":
		question = p.parent[p.pick(r, model.Assistant)-1]
		p.ask(map[string]any{"after": question, "again": true}, how)
	}
	p.add(model.Assistant, reply, question)
	p.lost = how == "leave"
}

// see reloads the page, and compares it with the model.
func (p *treePerson) see() {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		at := p.leaf
		if p.lost {
			at = p.parent[at-1] // the question, which the page shows last
		}
		now := tree(p.t, p.base, fmt.Sprintf("chat/%s?format=json&at=%d", p.id, at))
		var got, want []string
		for _, m := range now.Messages {
			got = append(got, fmt.Sprintf("%d>%d %s %s", m.N, m.Parent, m.Role, m.Text))
		}
		for _, n := range p.branch() {
			want = append(want, fmt.Sprintf("%d>%d %s %s", n, p.parent[n-1], p.role[n-1], p.text[n-1]))
		}
		want = want[max(0, len(want)-40):]
		if len(want) == 40 && p.parent[p.branch()[len(p.branch())-40]-1] > 0 {
			want[0], got[0] = "", "" // the page does not have the message before
		}
		if slices.Equal(got, want) {
			p.lost = false
			return
		}
		if !p.lost || time.Now().After(end) {
			p.t.Fatalf("the page has\n%s\nand the person means\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Whatever a person does in whatever order, the conversation is the tree that was meant: what
// is sent follows what was seen, a question whose reply was left is followed by way of that
// reply, and edits and repetitions stand beside what they replace.
func TestChatTree(t *testing.T) {
	config := chatConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.Header().Set("Content-Type", "text/event-stream")
		put := func(text, finish string) {
			delta, _ := json.Marshal(map[string]any{"id": "r", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}, "finish_reason": finish}}})
			fmt.Fprintf(w, "data: %s\n\n", strings.Replace(string(delta), `"finish_reason":""`, `"finish_reason":null`, 1))
			_ = http.NewResponseController(w).Flush()
		}
		if q.Model == "stop" {
			<-r.Context().Done()
			return
		}
		put("It began.", "")
		if q.Model == "leave" {
			<-r.Context().Done()
			return
		}
		put(" It ended.", "stop")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	base := serve(t, config, "/")
	seeds, steps := 8, 30
	if effort.Brief() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 42))
			p := &treePerson{treeModel: &treeModel{}, t: t, base: base, id: "new"}
			p.say(r, "send")
			for range steps {
				switch what := []string{"send", "send", "edit", "again", "reload", "branch"}[r.IntN(6)]; what {
				case "reload":
					p.see()
				case "branch":
					p.see()
					all := p.branch()
					n := all[r.IntN(len(all))]
					var beside []int
					for other := range p.parent {
						if p.parent[other] == p.parent[n-1] {
							beside = append(beside, other+1)
						}
					}
					p.leaf = p.newest(beside[r.IntN(len(beside))])
					p.see()
				case "send":
					p.say(r, what)
				default: // the page shows what is edited, and whether it was answered
					p.see()
					p.say(r, what)
				}
			}
			p.see()
			_, text := get(t, base+"chat/"+p.id+"/export?as=json")
			var kept struct {
				Messages []struct {
					Text   string
					Role   model.Role
					Parent int
				}
			}
			if err := json.Unmarshal([]byte(text), &kept); err != nil || len(kept.Messages) != len(p.parent) {
				t.Fatalf("%d messages are kept, %d are meant (%v)", len(kept.Messages), len(p.parent), err)
			}
			for i, m := range kept.Messages {
				if m.Text != p.text[i] || m.Parent != p.parent[i] || m.Role != p.role[i] {
					t.Errorf("message %d is %+v, meant was %q after %d", i+1, m, p.text[i], p.parent[i])
				}
			}
		})
	}
}
