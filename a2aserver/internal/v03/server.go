package v03

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/sse"
)

// A server answers by JSON-RPC of 0.3.
type server struct {
	handler   a2asrv.RequestHandler
	keepAlive time.Duration
}

// Handler serves clients of 0.3. The handler of its requests, and who calls it,
// bound the request's body. A stream on which nothing happens gets a comment now
// and then.
func Handler(h a2asrv.RequestHandler, keepAlive time.Duration) http.Handler {
	return &server{h, keepAlive}
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, _ := a2asrv.NewCallContext(r.Context(), serviceParams(r.Header))
	var req request
	err := error(a2a.ErrInvalidRequest)
	if r.Method == http.MethodPost {
		err = decode(json.NewDecoder(r.Body).Decode(&req))
	}
	if err == nil && (req.JSONRPC != rpcVersion || !validID(req.ID)) {
		req.ID, err = nil, a2a.ErrInvalidRequest
	}
	switch {
	case err != nil:
		reply(w, req.ID, nil, err)
	case req.Method == streamMethod || req.Method == resubscribeMethod:
		s.stream(ctx, w, req)
	default:
		result, err := s.call(ctx, req.Method, req.Params)
		reply(w, req.ID, result, err)
	}
}

// serviceParams are a request's headers, by the names that they have in 1.0.
func serviceParams(h http.Header) *a2asrv.ServiceParams {
	params := map[string][]string{}
	for name, values := range h {
		name = strings.ToLower(name)
		if name == "x-"+strings.ToLower(a2a.SvcParamExtensions) {
			name = strings.ToLower(a2a.SvcParamExtensions)
		}
		params[name] = append(params[name], values...)
	}
	return a2asrv.NewServiceParams(params)
}

// validID reports whether an id is a string, a number or null.
func validID(id json.RawMessage) bool {
	return len(id) == 0 || strings.IndexByte(`"-0123456789n`, id[0]) >= 0
}

// decode tells JSON of the wrong shape from what is not JSON.
func decode(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	return fmt.Errorf("%w: %w", a2a.ErrParseError, err)
}

// marshalResponse writes a response; an error takes the place of the result.
func marshalResponse(id json.RawMessage, result any, err error) []byte {
	res := response{JSONRPC: rpcVersion, ID: id}
	if err == nil {
		res.Result, err = json.Marshal(result)
	}
	if err != nil {
		res.Result, res.Error = nil, toRPC(err)
	}
	data, _ := json.Marshal(res) // of strings and checked JSON
	return data
}

func reply(w http.ResponseWriter, id json.RawMessage, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(marshalResponse(id, result, err))
}

// call answers a method that has one answer.
func (s *server) call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case sendMethod:
		return with(params, func(p *sendParams) (any, error) {
			req, err := p.request()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
			}
			res, err := s.handler.SendMessage(ctx, req)
			return fromEvent(res), err
		})
	case getMethod:
		return with(params, func(p *taskParams) (any, error) {
			return wire(fromTask)(s.handler.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(p.ID), HistoryLength: p.HistoryLength}))
		})
	case cancelMethod:
		return with(params, func(p *taskParams) (any, error) {
			return wire(fromTask)(s.handler.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(p.ID), Metadata: p.Metadata}))
		})
	case setConfigMethod:
		return with(params, func(p *taskPushConfig) (any, error) {
			return wire(fromPush)(s.handler.CreateTaskPushConfig(ctx, p.config()))
		})
	case getConfigMethod:
		return with(params, func(p *taskParams) (any, error) {
			return wire(fromPush)(s.handler.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: a2a.TaskID(p.ID), ID: p.ConfigID}))
		})
	case listConfigsMethod:
		return with(params, func(p *taskParams) (any, error) {
			res, err := s.handler.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: a2a.TaskID(p.ID)})
			if err != nil {
				return nil, err
			}
			return append([]*taskPushConfig{}, each(res.Configs, fromPush)...), nil
		})
	case deleteConfigMethod:
		return with(params, func(p *taskParams) (any, error) {
			return nil, s.handler.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: a2a.TaskID(p.ID), ID: p.ConfigID})
		})
	case cardMethod:
		card, err := s.handler.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
		if err != nil {
			return nil, err
		}
		data, err := CardJSON(card)
		return json.RawMessage(data), err
	case "":
		return nil, a2a.ErrInvalidRequest
	}
	return nil, a2a.ErrMethodNotFound
}

// with decodes parameters.
func with[P any](params json.RawMessage, f func(*P) (any, error)) (any, error) {
	p := new(P)
	if err := decode(json.Unmarshal(params, p)); err != nil {
		return nil, err
	}
	return f(p)
}

// wire converts a result, if there is one.
func wire[V, W any](convert func(*V) *W) func(*V, error) (any, error) {
	return func(v *V, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return convert(v), nil
	}
}

// events are those that a streaming method answers with.
func (s *server) events(ctx context.Context, req request) (iter.Seq2[a2a.Event, error], error) {
	if req.Method == resubscribeMethod {
		var p taskParams
		err := decode(json.Unmarshal(req.Params, &p))
		return s.handler.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(p.ID)}), err
	}
	var p sendParams
	if err := decode(json.Unmarshal(req.Params, &p)); err != nil {
		return nil, err
	}
	send, err := p.request()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	return s.handler.SendStreamingMessage(ctx, send), nil
}

// stream answers with server-sent events, a response each.
func (s *server) stream(ctx context.Context, w http.ResponseWriter, req request) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)

	out := &stream{w: w, rc: http.NewResponseController(w)}
	var ticking sync.WaitGroup
	defer ticking.Wait()
	defer stop()
	ticking.Go(func() { out.keepAlive(ctx, stop, s.keepAlive) })

	events, err := s.events(ctx, req)
	if err != nil {
		_ = out.write(sse.Append(nil, "", marshalResponse(req.ID, nil, err)))
		return
	}
	for e, err := range events {
		if out.write(sse.Append(nil, "", marshalResponse(req.ID, fromEvent(e), err))) != nil || err != nil {
			return
		}
	}
}

// A stream is written by who has events and by who keeps it alive.
type stream struct {
	mu sync.Mutex
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (s *stream) write(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.rc.Flush()
}

// keepAlive writes comments until the stream ends, and ends it where the client
// is gone.
func (s *stream) keepAlive(ctx context.Context, stop func(), gap time.Duration) {
	if gap <= 0 {
		return
	}
	tick := time.NewTicker(gap)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.write(sse.AppendComment(nil, "keep-alive")) != nil {
				stop()
				return
			}
		}
	}
}
