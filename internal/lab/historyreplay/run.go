package historyreplay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/model"
)

// Drop is a policy of this package: no earlier reasoning at all, not even what the
// provider requires. It is what a client sends that keeps only what it shows.
const Drop history.Policy = "drop"

// Policies lists the policies that can be compared.
func Policies() []history.Policy { return append(history.Policies(), Drop) }

// A Runner asks models. It is safe for concurrent use by several conversations.
type Runner struct {
	Policies []history.Policy
	Rounds   int
	URL      string
	Key      model.Secret
	// Salt is a member that is added to every request, if it is not empty. Its value is
	// the same for requests of one policy and round, and differs between them.
	Salt string
	// Silence is how long the server may send nothing.
	Silence time.Duration
	// Done says that a row exists already. Write keeps a new one.
	Done  func(key string) bool
	Write func(*Row) error
	// Transport reaches the server; nil is that of package model.
	Transport http.RoundTripper
}

// Plan returns the requests of a case without sending any: a row for each policy.
func (r *Runner) Plan(ctx context.Context, c *Case) ([]Row, error) {
	rows := make([]Row, 0, len(r.Policies))
	for _, p := range r.Policies {
		one, err := r.plan(ctx, c, p, 1)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", c.Event, err)
		}
		if i := slices.IndexFunc(rows, func(o Row) bool { return o.Request == one.Request }); i >= 0 {
			one.As = rows[i].Policy
		}
		rows = append(rows, one)
	}
	return rows, nil
}

// plan makes the request of a policy, to know its digest.
func (r *Runner) plan(ctx context.Context, c *Case, p history.Policy, round int) (Row, error) {
	t := &capture{}
	m, err := r.open(c, p, "", t, -1)
	if err != nil {
		return Row{}, err
	}
	if _, err := m.Invoke(ctx, requestOf(c, p), nil); !errors.Is(err, errCaptured) {
		return Row{}, err
	}
	row := Row{
		Event: c.Event, Conversation: c.Conversation, Model: c.Model, Policy: p, Round: round,
		Request: t.digest, Bytes: t.size, Recorded: c.Answer,
	}
	if p == Drop {
		row.Rule = string(Drop)
	}
	return row, nil
}

// Do asks for the replies to a case that are not there yet. turn says with which
// policy to begin: a provider's cache of prompts helps those that come later.
func (r *Runner) Do(ctx context.Context, c *Case, turn int) error {
	for round := 1; round <= r.Rounds; round++ {
		var rows []*Row
		for i := range r.Policies {
			p := r.Policies[(i+turn+round)%len(r.Policies)]
			if r.Done(rowKey(c.Event, p, round)) {
				continue
			}
			row, err := r.plan(ctx, c, p, round)
			if err != nil {
				return fmt.Errorf("event %s: %w", c.Event, err)
			}
			at := slices.IndexFunc(rows, func(o *Row) bool { return o.Request == row.Request })
			if at >= 0 {
				as := *rows[at]
				as.Policy, as.As = p, rows[at].Policy
				row = as
			} else if err := r.ask(ctx, c, &row); err != nil {
				return fmt.Errorf("event %s: %w", c.Event, err)
			}
			if at < 0 {
				rows = append(rows, &row)
			}
			if err := r.Write(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask sends a request. A refusal that says something about the request is a result;
// any other failure is an error.
func (r *Runner) ask(ctx context.Context, c *Case, row *Row) error {
	salt := ""
	if r.Salt != "" {
		salt = fmt.Sprintf("sotto-%s-%d", row.Policy, row.Round)
	}
	m, err := r.open(c, row.Policy, salt, r.Transport, 0)
	if err != nil {
		return err
	}
	began := time.Now()
	reply, err := m.Invoke(ctx, requestOf(c, row.Policy), func(d model.Delta) error {
		if row.FirstText == 0 && d.Text != "" {
			row.FirstText = millis(time.Since(began))
		}
		return nil
	})
	row.Millis = millis(time.Since(began))
	if e, ok := errors.AsType[*model.Error](err); ok && refuses(e.Status) {
		row.Status, row.Error = e.Status, e.Message
		return nil
	}
	if err != nil {
		return err
	}
	row.said(&reply)
	return nil
}

// refuses reports whether a status judges the request, and not the server, the key or
// the moment.
func refuses(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

func millis(d time.Duration) int64 { return max(1, d.Milliseconds()) }

// open returns a client with a policy.
func (r *Runner) open(c *Case, p history.Policy, salt string, t http.RoundTripper, retries int) (model.Model, error) {
	if p == Drop {
		p = history.Preserve // nothing is left to preserve
	}
	extra := c.Extra
	if salt != "" {
		extra = withMember(extra, r.Salt, salt)
	}
	return model.Open(model.Config{
		Provider: c.Provider, Model: c.Model, URL: r.URL, Key: r.Key, History: p, Extra: extra,
		Transport: t, Retries: retries, Silence: r.Silence,
	})
}

// requestOf returns the request of a case. Only for Drop it differs: the client's
// history policy does the rest.
func requestOf(c *Case, p history.Policy) model.Request {
	q := c.Request
	if p != Drop {
		return q
	}
	g, _ := sotto.ForModel(c.Model)
	q.Messages = slices.Clone(q.Messages)
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.Role != model.Assistant {
			continue
		}
		m.Thoughts, m.Calls = nil, slices.Clone(m.Calls)
		for k := range m.Calls {
			m.Calls[k].Extra = nil
		}
		if r, err := g.Parse(m.Text, "", sotto.EndStopped); err == nil {
			m.Text = r.Visible()
		}
	}
	return q
}

// withMember adds a member to a JSON object, which may be nil.
func withMember(object json.RawMessage, name, value string) json.RawMessage {
	out := bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}"))
	if len(out) == 0 {
		out = []byte("{")
	} else if len(out) > 1 {
		out = append(slices.Clone(out), ',')
	}
	out = jsontext.AppendString(out, name)
	out = append(out, ':')
	out = jsontext.AppendString(out, value)
	return append(out, '}')
}

var errCaptured = errors.New("the request was not sent")

// A capture keeps the digest of a request in place of sending it.
type capture struct {
	digest string
	size   int
}

func (t *capture) RoundTrip(q *http.Request) (*http.Response, error) {
	defer q.Body.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, q.Body)
	if err != nil {
		return nil, err
	}
	t.digest, t.size = hex.EncodeToString(sum.Sum(nil)), int(n)
	return nil, errCaptured
}
