package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// lastAnswers is how long the calls of a client that has closed its stream may still
// take.
const lastAnswers = 30 * time.Second

// ServeStdio serves one client over two streams, a message a line, until the client
// closes in and has its answers, or until ctx ends. Neither is an error.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	w := &messageWriter{to: out, answered: make(chan struct{}, 1)}
	r := &messageReader{ctx: ctx, from: bufio.NewReaderSize(in, 64<<10), closer: in, answers: w}
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: r, Writer: w, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || ctx.Err() != nil {
		err = nil
	}
	return errors.Join(w.failed(), err)
}

// A messageReader passes on the lines of a client that are JSON within the bounds.
// It refuses the others and continues, because one bad message is no reason to end
// the session of a client.
type messageReader struct {
	ctx     context.Context
	from    *bufio.Reader
	closer  io.Closer
	answers *messageWriter
	line    []byte // what is left of the line to pass on
}

// Read returns bytes of the next line.
func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		line, err := r.next()
		if len(line) > 0 {
			message, bad := decodeMessage(line)
			if bad == nil {
				r.answers.expect(message)
				r.line = append(line, '\n')
			} else if err := r.answers.refuse(bad); err != nil {
				return 0, err
			}
		}
		if err != nil && len(r.line) == 0 {
			// The protocol drops the calls under way as soon as it sees the end.
			r.answers.wait(r.ctx)
			return 0, err
		}
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// Close closes the stream of the client.
func (r *messageReader) Close() error { return r.closer.Close() }

// next reads a line, without its end. Of a line that is too long, it keeps only a
// little more than MaxMessage bytes.
func (r *messageReader) next() (line []byte, err error) {
	for {
		piece, err := r.from.ReadSlice('\n')
		if len(line) <= MaxMessage {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r'); n-- {
				line = line[:n-1]
			}
			return line, err
		}
	}
}

// decodeMessage parses a message that is within the bounds.
func decodeMessage(message []byte) (gjson.Result, error) {
	if len(message) > MaxMessage {
		return gjson.Result{}, fmt.Errorf("the message is longer than %d bytes", MaxMessage)
	}
	parsed, err := foreignjson.Parse(message)
	if err != nil {
		return gjson.Result{}, fmt.Errorf("the message %w", err)
	}
	return parsed, nil
}

// A messageWriter writes whole messages, one at a time, and counts the answers that
// the client still expects.
type messageWriter struct {
	mu       sync.Mutex
	to       io.Writer
	err      error // of the first write that failed
	expected int
	answered chan struct{} // gets a value when expected has changed
}

// Write writes a message.
func (w *messageWriter) Write(message []byte) (int, error) {
	n, err := w.write(message)
	if parsed, bad := foreignjson.Parse(message); bad == nil && !parsed.Get("method").Exists() {
		w.count(-1)
	}
	return n, err
}

func (w *messageWriter) write(message []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.to.Write(message)
	w.err = err
	return n, err
}

// expect counts a message of the client if it wants an answer.
func (w *messageWriter) expect(message gjson.Result) {
	if message.Get("method").Exists() && message.Get("id").Exists() {
		w.count(1)
	}
}

func (w *messageWriter) count(n int) {
	w.mu.Lock()
	w.expected += n
	w.mu.Unlock()
	select {
	case w.answered <- struct{}{}:
	default:
	}
}

// wait waits until the client has its answers, but not for ever: it may have
// cancelled a call, which then has no answer.
func (w *messageWriter) wait(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, lastAnswers)
	defer stop()
	for {
		w.mu.Lock()
		done := w.expected <= 0 || w.err != nil
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-w.answered:
		case <-ctx.Done():
			return
		}
	}
}

// Close does nothing: the stream belongs to the caller.
func (w *messageWriter) Close() error { return nil }

// refuse answers a message that cannot be read. Its id is not known.
func (w *messageWriter) refuse(why error) error {
	_, err := w.write(refusal(parseError, why.Error()))
	return err
}

func (w *messageWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// The codes of errors that answer a message before the protocol reads it.
const (
	parseError  = -32700 // JSON-RPC's code for what is not a message
	serverError = -32000 // its first code for what a server decides
)

// refusal is the answer to a message that the protocol does not get to read.
func refusal(code int, why string) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":`, code)
	return append(jsontext.AppendString(b, why), "}}\n"...)
}
