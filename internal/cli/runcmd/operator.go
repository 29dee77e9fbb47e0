package runcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// defaultInbox is the address of the inbox if the configuration has none. No other server
// of sotto has this port: a run goes on beside a gateway and a console.
const defaultInbox = "127.0.0.1:8387"

// operators opens the operator named by an experiment.
type operators struct {
	sh     *shell.Shell
	server *http.Server
	err    error
}

func (o *operators) of(c agent.OperatorConfig) agent.Operator {
	if c.By == "terminal" {
		return &terminalOperator{sh: o.sh}
	}
	inbox := new(agent.Inbox)
	l, err := serving.Listen("operator.listen", cmp.Or(c.Listen, defaultInbox))
	if err != nil {
		o.err = fmt.Errorf("the operator's inbox: %w", err)
		return inbox
	}
	fmt.Fprintf(o.sh.Err, "the operator's inbox is at http://%s/messages\n", l.Addr())
	o.server = serving.NewServer(serving.Bodies(inbox))
	go o.server.Serve(serving.Bound(l, serving.Bounds{}))
	return inbox
}

func (o *operators) close() {
	if o.server != nil {
		o.server.Close()
	}
}

// nobody is the operator of a check and of a replay. It gets no messages.
type nobody struct{}

func (nobody) Tell(context.Context, agent.OperatorMessage) error { return nil }
func (nobody) Ask(context.Context, agent.OperatorMessage) (string, error) {
	return "", errors.New("there is no operator")
}

// A terminalOperator shows messages on standard error and answers with a line of
// standard input.
type terminalOperator struct {
	sh    *shell.Shell
	once  sync.Once
	lines chan string
}

func (t *terminalOperator) Tell(_ context.Context, m agent.OperatorMessage) error {
	_, err := fmt.Fprintf(t.sh.Err, "message for the operator, from cycle %d of %s:\n%s\n", m.Cycle, m.Run, indented(visible.Text(m.Text)))
	return err
}

func (t *terminalOperator) Ask(ctx context.Context, m agent.OperatorMessage) (string, error) {
	if err := t.Tell(ctx, m); err != nil {
		return "", err
	}
	fmt.Fprintln(t.sh.Err, "your answer, in one line:")
	t.once.Do(func() {
		t.lines = make(chan string)
		go t.listen()
	})
	select {
	case line, ok := <-t.lines:
		if !ok {
			return "", errors.New("the operator closed the connection")
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Consent implements [agent.Consenter].
func (t *terminalOperator) Consent(ctx context.Context, u agent.Use, q consent.Question) (consent.Answer, error) {
	return q.Ask(consent.Principal{Name: agent.OperatorName, Way: consent.Terminal}, func(text string) (string, error) {
		return t.Ask(ctx, agent.OperatorMessage{ID: q.ID, Run: u.Run, Cycle: u.Cycle, Text: text})
	})
}

// listen supplies lines on request, until standard input ends.
func (t *terminalOperator) listen() {
	defer close(t.lines)
	in := bufio.NewReader(io.LimitReader(t.sh.In, 16<<20))
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			t.lines <- line[:min(len(line), agent.MaxAnswer)]
		}
		if err != nil {
			return
		}
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
