package a2aserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver/internal/v03"
	"github.com/sotto-llm/sotto/model"
)

// childProcess is what the test binary does where it is the process to be killed.
var childProcess func(dir string)

func TestMain(m *testing.M) {
	if dir := os.Getenv("A2A_CHILD"); dir != "" {
		childProcess(dir)
	}
	goleak.VerifyTestMain(m)
}

// A mindFunc is a mind of one function.
type mindFunc func(ctx context.Context, t Turn, on func(Event) error) (Outcome, error)

func (f mindFunc) Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error) {
	return f(ctx, t, on)
}

// says is a mind that answers with a text.
func says(text string) Mind {
	return mindFunc(func(context.Context, Turn, func(Event) error) (Outcome, error) {
		return Outcome{Text: text, End: sotto.EndStopped}, nil
	})
}

// scripted is a chat mind over a written script.
func scripted(t *testing.T, script string) *ChatMind {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(script), "test.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return &ChatMind{Model: model.NewScripted("scripted", s)}
}

// A house is a server that listens.
type house struct {
	*Server
	web *httptest.Server
}

func (h *house) url() string { return h.web.URL }

// close ends the server before its clients' connections, as a shutdown does.
func (h *house) close(t *testing.T) {
	t.Helper()
	if err := h.Server.Close(); err != nil {
		t.Error(err)
	}
	h.web.Close()
}

func serve(t *testing.T, c Config) *house {
	t.Helper()
	h := serveUntil(t, c)
	t.Cleanup(func() { h.close(t) })
	return h
}

// serveUntil is serve, to be closed by the test.
func serveUntil(t *testing.T, c Config) *house {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &house{s, httptest.NewServer(s)}
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "data", "a2a.db") }

// plain is a client of no shared state, which goleak would find.
func plain(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 2 * time.Minute}
}

// bindings are the ways to speak to the server.
var bindings = []struct {
	name    string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
}{
	{"jsonrpc", a2a.TransportProtocolJSONRPC, a2a.Version},
	{"rest", a2a.TransportProtocolHTTPJSON, a2a.Version},
	{"jsonrpc-0.3", a2a.TransportProtocolJSONRPC, v03.Version},
}

// card reads the card as the official client does.
func card(t *testing.T, url string) *a2a.AgentCard {
	t.Helper()
	c, err := agentcard.NewResolver(plain(t)).Resolve(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// client is the official client, held to one of the card's interfaces.
func client(t *testing.T, url string, which int, headers ...string) *a2aclient.Client {
	t.Helper()
	b, c, h := bindings[which], card(t, url), plain(t)
	var one []*a2a.AgentInterface
	for _, i := range c.SupportedInterfaces {
		if i.ProtocolBinding == b.binding && i.ProtocolVersion == b.version {
			one = append(one, i)
		}
	}
	if len(one) != 1 {
		t.Fatalf("the card has %d interfaces for %s", len(one), b.name)
	}
	c.SupportedInterfaces = one
	add := a2aclient.ServiceParams{}
	for i := 0; i < len(headers); i += 2 {
		add[headers[i]] = []string{headers[i+1]}
	}
	cl, err := a2aclient.NewFromCard(t.Context(), c,
		a2aclient.WithJSONRPCTransport(h), a2aclient.WithRESTTransport(h),
		a2aclient.WithCompatTransport(v03.Version, a2a.TransportProtocolJSONRPC, v03.Client(h)),
		a2aclient.WithCallInterceptors(adding{params: add}),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Destroy() })
	return cl
}

type adding struct {
	a2aclient.PassthroughInterceptor
	params a2aclient.ServiceParams
}

func (a adding) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	for k, v := range a.params {
		req.ServiceParams.Append(k, v...)
	}
	return ctx, nil, nil
}

func message(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// send sends a message and returns the task.
func send(t *testing.T, c *a2aclient.Client, req *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := res.(*a2a.Task)
	if !ok {
		t.Fatalf("the answer is a %T", res)
	}
	return task
}

// stream sends a message and gathers what comes.
func stream(t *testing.T, c *a2aclient.Client, req *a2a.SendMessageRequest) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for e, err := range c.SendStreamingMessage(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// answerOf returns the one artifact's text, and how the task ended.
func answerOf(t *testing.T, task *a2a.Task) (string, Ending) {
	t.Helper()
	ending, _ := task.Metadata[OutcomeKey].(string)
	if len(task.Artifacts) == 0 {
		return "", Ending(ending)
	}
	if len(task.Artifacts) > 1 || len(task.Artifacts[0].Parts) != 1 {
		t.Fatalf("%d artifacts, %d parts in the first", len(task.Artifacts), len(task.Artifacts[0].Parts))
	}
	return task.Artifacts[0].Parts[0].Text(), Ending(ending)
}
