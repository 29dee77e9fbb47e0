// Package talk asks the models of a gateway in the same process, for a person in front
// of a page: it streams a reply as events with times, and lists the models.
package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Caller is the name by which a gateway's log and record know the console. With tokens,
// the name of the token follows it.
const Caller = "console"

// What a reply may hold. The rest of a longer reply is not waited for.
const (
	maxAnswer  = 1 << 20
	maxThought = 8 << 20
	maxAside   = 64 << 10 // of narration, of a call, of an error
	maxCalls   = 64
	maxModels  = 1000
	maxName    = 256
	maxList    = 4 << 20 // bytes of a list of models
)

// A Client asks the models of a gateway.
type Client struct {
	// Gateway is the gateway's own handler, so that its record, its display policy and
	// its limits apply as for any client.
	Gateway http.Handler
	Now     func() time.Time
}

// Thinking says whether a model is asked to think.
type Thinking string

const (
	AsUsual Thinking = ""    // the model's default
	On      Thinking = "on"  //
	Off     Thinking = "off" //
)

// A Question is what a model is asked.
type Question struct {
	Caller   string
	Model    string
	Thinking Thinking
	Messages []model.Message
	// Person, if set, is who answers the questions of an agent.
	Person *pending.Person
}

// body is the request for a chat completion. The switch of thinking is in the words of OpenAI's API and
// in those that chat templates read: servers ignore the one that they do not know.
func (q *Question) body() ([]byte, error) {
	counts := true
	t := &turn.Request{Model: q.Model, Stream: true, Usage: &counts}
	for _, m := range q.Messages {
		t.Messages = append(t.Messages, turn.Message{Role: turn.Role(m.Role), Parts: []turn.Part{{Text: m.Text}}})
	}
	modes := map[Thinking]switches.Mode{On: switches.On, Off: switches.Off}
	t.Thinking.Mode = modes[q.Thinking]
	said, err := switches.Members(openai.Chat.Name(), switches.ChatTemplateKwargs, t.Thinking.Setting, 0)
	if err != nil {
		return nil, err
	}
	t.Extra.API = openai.Chat.Name()
	for _, m := range jsonedit.Members(jsonedit.Parse(said)) {
		t.Extra.Members = append(t.Extra.Members, turn.Member{Key: m.Key, Value: m.Value.Raw})
	}
	return openai.Chat.WriteTurn(nil, t)
}

// request makes a request to the gateway in this process.
func request(ctx context.Context, caller, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.RequestURI, r.RemoteAddr = path, "127.0.0.1:0"
	r.Header.Set("User-Agent", "sotto-console")
	r.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	token, _ := strings.CutPrefix(caller, Caller+".")
	if token == caller {
		token = ""
	}
	return access.Inside(r, caller, token), nil
}

// serve lets the gateway answer. A gateway whose upstream breaks off panics, as
// net/http wants it.
func (c *Client) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			err = errors.New("the connection to the model server broke off")
		} else if v != nil {
			panic(v)
		}
	}()
	c.Gateway.ServeHTTP(w, r)
	return nil
}

// Models lists the names of the gateway's models.
func (c *Client) Models(ctx context.Context, caller string) ([]string, error) {
	r, err := request(ctx, caller, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	w := &whole{header: http.Header{}}
	if err := c.serve(w, r); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.status != http.StatusOK {
		return nil, refusal(w.status, w.body.Bytes())
	}
	root, err := foreignjson.Parse(w.body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the list of models %w", err)
	}
	var list []string
	for _, m := range root.Get("data").Array() {
		if name := m.Get("id").Str; name != "" && len(name) <= maxName && len(list) < maxModels {
			list = append(list, strings.Clone(name))
		}
	}
	return list, nil
}

// refusal is the error of a request that the gateway or the model server refused.
func refusal(status int, body []byte) error {
	return fmt.Errorf("%d: %s", status, reason(body, http.StatusText(status)))
}

// reason returns what the JSON of an error says; otherwise it is what is known.
func reason(body []byte, known string) string {
	if root, err := foreignjson.Parse(body); err == nil {
		for _, path := range []string{"error.message", "error", "message", "detail"} {
			if text := root.Get(path).Str; text != "" {
				return shorttext.Escape(text, 1<<10)
			}
		}
	}
	return known
}

// A whole response is one that is read at its end.
type whole struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *whole) Header() http.Header { return w.header }

func (w *whole) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

func (w *whole) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > maxList {
		return 0, fmt.Errorf("the response is longer than %d bytes", maxList)
	}
	return w.body.Write(p)
}

var _ io.Writer = (*whole)(nil)
