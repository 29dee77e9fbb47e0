package v03

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/sse"
)

// Client makes clients of servers of 0.3, for [a2aclient.WithCompatTransport].
// The HTTP client bounds what a server may send.
func Client(c *http.Client) a2aclient.TransportFactory {
	return a2aclient.TransportFactoryFn(func(_ context.Context, _ *a2a.AgentCard, i *a2a.AgentInterface) (a2aclient.Transport, error) {
		return &transport{i.URL, c}, nil
	})
}

// A transport reaches one server.
type transport struct {
	url    string
	client *http.Client
}

var _ a2aclient.Transport = (*transport)(nil)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 16 << 20

// post sends a request.
func (t *transport) post(ctx context.Context, params a2aclient.ServiceParams, method string, in any) (*http.Response, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(request{JSONRPC: rpcVersion, ID: json.RawMessage("1"), Method: method, Params: data})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range params {
		if strings.EqualFold(name, a2a.SvcParamExtensions) {
			name = "X-" + name
		}
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := t.client.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("the server answered %d", res.StatusCode)
	}
	return res, nil
}

// call sends a request and decodes the result of its one answer.
func (t *transport) call(ctx context.Context, params a2aclient.ServiceParams, method string, in, out any) error {
	res, err := t.post(ctx, params, method, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	result, err := resultOf(data)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(result, out)
}

// resultOf reads a response.
func resultOf(data []byte) (json.RawMessage, error) {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, r.Error.err()
	}
	return r.Result, nil
}

// stream sends a request and gives the events of its answer. A server that
// refuses may answer with one response, without a stream.
func (t *transport) stream(ctx context.Context, params a2aclient.ServiceParams, method string, in any) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		res, err := t.post(ctx, params, method, in)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
			data, err := io.ReadAll(res.Body)
			if err == nil {
				var e a2a.Event
				if e, err = eventOf(data); err == nil {
					yield(e, nil)
					return
				}
			}
			yield(nil, err)
			return
		}
		for data, err := range frames(res.Body) {
			var e a2a.Event
			if err == nil {
				e, err = eventOf(data)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func eventOf(data []byte) (a2a.Event, error) {
	result, err := resultOf(data)
	if err != nil {
		return nil, err
	}
	return readEvent(result)
}

// frames gives the data of a stream's events.
func frames(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var s sse.Scanner
		var held []byte
		buf := make([]byte, 32<<10)
		for {
			n, err := body.Read(buf)
			held = append(held, buf[:n]...)
			for {
				f, ok := s.Next(held)
				if !ok {
					break
				}
				held = held[len(f.Raw):]
				if len(f.Data) > 0 && !yield(f.Data, nil) {
					return
				}
			}
			switch {
			case err == io.EOF:
				return
			case err == nil && len(held) > maxEvent:
				err = fmt.Errorf("an event of the stream is longer than %d bytes", maxEvent)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// SendMessage implements [a2aclient.Transport].
func (t *transport) SendMessage(ctx context.Context, p a2aclient.ServiceParams, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	var raw json.RawMessage
	if err := t.call(ctx, p, sendMethod, fromSend(req), &raw); err != nil {
		return nil, err
	}
	e, err := readEvent(raw)
	if err != nil {
		return nil, err
	}
	if res, ok := e.(a2a.SendMessageResult); ok {
		return res, nil
	}
	return nil, fmt.Errorf("%w: the answer to a message is a %T", a2a.ErrInvalidAgentResponse, e)
}

// SendStreamingMessage implements [a2aclient.Transport].
func (t *transport) SendStreamingMessage(ctx context.Context, p a2aclient.ServiceParams, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return t.stream(ctx, p, streamMethod, fromSend(req))
}

// SubscribeToTask implements [a2aclient.Transport].
func (t *transport) SubscribeToTask(ctx context.Context, p a2aclient.ServiceParams, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return t.stream(ctx, p, resubscribeMethod, taskParams{ID: string(req.ID)})
}

func (t *transport) task(ctx context.Context, p a2aclient.ServiceParams, method string, in taskParams) (*a2a.Task, error) {
	var out task
	if err := t.call(ctx, p, method, in, &out); err != nil {
		return nil, err
	}
	return out.task()
}

// GetTask implements [a2aclient.Transport].
func (t *transport) GetTask(ctx context.Context, p a2aclient.ServiceParams, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return t.task(ctx, p, getMethod, taskParams{ID: string(req.ID), HistoryLength: req.HistoryLength})
}

// CancelTask implements [a2aclient.Transport].
func (t *transport) CancelTask(ctx context.Context, p a2aclient.ServiceParams, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return t.task(ctx, p, cancelMethod, taskParams{ID: string(req.ID), Metadata: req.Metadata})
}

// ListTasks implements [a2aclient.Transport]: 0.3 has no such method.
func (t *transport) ListTasks(context.Context, a2aclient.ServiceParams, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return nil, a2a.ErrUnsupportedOperation
}

func (t *transport) config(ctx context.Context, p a2aclient.ServiceParams, method string, in any) (*a2a.PushConfig, error) {
	var out taskPushConfig
	if err := t.call(ctx, p, method, in, &out); err != nil {
		return nil, err
	}
	return out.config(), nil
}

// CreateTaskPushConfig implements [a2aclient.Transport].
func (t *transport) CreateTaskPushConfig(ctx context.Context, p a2aclient.ServiceParams, c *a2a.PushConfig) (*a2a.PushConfig, error) {
	return t.config(ctx, p, setConfigMethod, fromPush(c))
}

// GetTaskPushConfig implements [a2aclient.Transport].
func (t *transport) GetTaskPushConfig(ctx context.Context, p a2aclient.ServiceParams, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return t.config(ctx, p, getConfigMethod, taskParams{ID: string(req.TaskID), ConfigID: req.ID})
}

// ListTaskPushConfigs implements [a2aclient.Transport].
func (t *transport) ListTaskPushConfigs(ctx context.Context, p a2aclient.ServiceParams, req *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error) {
	var out []*taskPushConfig
	if err := t.call(ctx, p, listConfigsMethod, taskParams{ID: string(req.TaskID)}, &out); err != nil {
		return nil, err
	}
	var configs []*a2a.PushConfig
	for _, c := range out {
		if c != nil {
			configs = append(configs, c.config())
		}
	}
	return configs, nil
}

// DeleteTaskPushConfig implements [a2aclient.Transport].
func (t *transport) DeleteTaskPushConfig(ctx context.Context, p a2aclient.ServiceParams, req *a2a.DeleteTaskPushConfigRequest) error {
	return t.call(ctx, p, deleteConfigMethod, taskParams{ID: string(req.TaskID), ConfigID: req.ID}, nil)
}

// GetExtendedAgentCard implements [a2aclient.Transport].
func (t *transport) GetExtendedAgentCard(ctx context.Context, p a2aclient.ServiceParams, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	var raw json.RawMessage
	if err := t.call(ctx, p, cardMethod, struct{}{}, &raw); err != nil {
		return nil, err
	}
	return ReadCard(raw)
}

// Destroy implements [a2aclient.Transport].
func (t *transport) Destroy() error { return nil }
