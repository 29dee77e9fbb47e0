package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A Checker is a model with a server that can be asked about it.
type Checker interface {
	// Check asks the server whether it serves the model, and what it knows of it.
	// The error says that nothing can be invoked now: the server cannot be reached,
	// does not know the model, or refuses the client. If the server has no place to
	// ask, Check sends a message and asks for one token.
	Check(ctx context.Context) (Info, error)
}

// Info is what is known of a model before it is invoked.
type Info struct {
	// Window is the size of the context window in tokens, for prompt and reply
	// together; 0 if it is not known.
	Window int
	// From says where Window is from, such as "num_ctx" or "the server".
	From string
	// NoTools says that the server lists what the model can do, and that tools are
	// not among it.
	NoTools bool
}

var _ Checker = (*client)(nil)

// checkTime bounds a check.
const checkTime = 30 * time.Second

// maxCheck bounds an answer to a check: a list of models can be long.
const maxCheck = 8 << 20

// Check asks the server about the model.
func (c *client) Check(ctx context.Context) (Info, error) {
	asked := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, fmt.Errorf("%w: no answer within %v", ErrSilent, checkTime))
	defer cancel()
	info, known, err := c.api.inform(ctx, c)
	if known || err != nil && !unasked(err) {
		return info, served(asked, c.worded(err))
	}
	q := Request{Messages: []Message{{Role: User, Text: "Hi"}}, MaxTokens: 1}
	body, err := c.body(&q)
	if err != nil {
		return info, err
	}
	err = c.invoke(ctx, body, &accumulator{limits: c.Limits})
	if errors.Is(err, ErrSilent) { // it is reached, and busy
		err = nil
	}
	return info, served(asked, err)
}

// unasked reports whether the error of an answer leaves it open whether the server
// serves the model: it may not have the path, or not allow it.
func unasked(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Status {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return e.Status != 0 && e.Kind() == KindRefused
}

// served returns the errors that mean that nothing can be invoked. With any other
// one, the server is there.
func served(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Kind() == KindRefused, e.Kind() == KindOutage && e.Status == 0:
		return e
	}
	return nil
}

// ask gets the JSON of a path below the URL; body is nil for a GET.
func (c *client) ask(ctx context.Context, path []string, body []byte) (root gjson.Result, err error) {
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	err = c.send(ctx, method, path, body, func(_ *http.Response, r io.Reader) error {
		b, err := readAll(r, maxCheck)
		if err == nil {
			root, err = foreignjson.Parse(b)
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return root, err
}

// positive returns the first of some numbers that can be a number of tokens.
func positive(list ...gjson.Result) int {
	for _, v := range list {
		if n := v.Int(); n > 0 && n <= maxWindow {
			return int(n)
		}
	}
	return 0
}

// maxWindow is far above any context window.
const maxWindow = 1 << 40

// inform reads what Ollama says about a model. Its context window is what the
// request asks for, or the model's file, or what the model was loaded with. Ollama
// cuts the prompt to it, and does not say so.
func (a *ollamaAPI) inform(ctx context.Context, c *client) (Info, bool, error) {
	body, err := marshal(map[string]string{"model": c.Model})
	if err != nil {
		return Info{}, false, err
	}
	show, err := c.ask(ctx, []string{"api", "show"}, body)
	if err != nil {
		return Info{}, false, err
	}
	most := 0
	show.Get("model_info").ForEach(func(key, v gjson.Result) bool {
		if strings.HasSuffix(key.Str, ".context_length") {
			most = positive(v)
		}
		return true
	})
	info := a.window(ctx, c, show)
	if info.Window == 0 {
		info = Info{Window: ollamaWindow, From: "assumed, Ollama's default; options.num_ctx sets it"}
	}
	if most > 0 && most < info.Window {
		info = Info{Window: most, From: "the model"}
	}
	can := show.Get("capabilities").Array()
	info.NoTools = len(can) > 0 && !slices.ContainsFunc(can, func(v gjson.Result) bool { return v.Str == "tools" })
	return info, true, nil
}

// ollamaWindow is the window that Ollama gives a model if nobody says otherwise.
const ollamaWindow = 4096

func (a *ollamaAPI) window(ctx context.Context, c *client, show gjson.Result) Info {
	// Open checked that Extra is an object; without one there is nothing to read.
	if extra, err := foreignjson.Parse(c.Extra); err == nil {
		if n := positive(extra.Get("options.num_ctx")); n > 0 {
			return Info{Window: n, From: "num_ctx"}
		}
	}
	for line := range strings.Lines(show.Get("parameters").Str) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 && n <= maxWindow {
				return Info{Window: n, From: "num_ctx of the model"}
			}
		}
	}
	loaded, err := c.ask(ctx, []string{"api", "ps"}, nil)
	if err != nil {
		return Info{}
	}
	info := Info{}
	_ = each(loaded.Get("models"), func(m gjson.Result) error {
		for _, name := range []string{m.Get("name").Str, m.Get("model").Str} {
			if n := positive(m.Get("context_length")); n > 0 && (name == c.Model || name == c.Model+":latest") {
				info = Info{Window: n, From: "the server"}
			}
		}
		return nil
	})
	return info
}

// inform reads the list of models, where vLLM and many others say how long a
// context may be, and the properties of llama.cpp, which serves one model under any
// name.
func (a *chatAPI) inform(ctx context.Context, c *client) (info Info, known bool, err error) {
	list, err := c.ask(ctx, []string{"models"}, nil)
	if err != nil {
		return info, false, err
	}
	llama := false
	_ = each(list.Get("data"), func(m gjson.Result) error {
		id := m.Get("id").Str
		llama = llama || m.Get("owned_by").Str == "llamacpp"
		if id == c.Model || strings.HasSuffix(id, "/"+c.Model) {
			known = true
			if n := positive(m.Get("max_model_len"), m.Get("context_length"), m.Get("context_window"), m.Get("max_context_length")); n > 0 {
				info = Info{Window: n, From: "the server"}
			}
		}
		return nil
	})
	if llama {
		known = true
		if props, err := c.ask(ctx, []string{"..", "props"}, nil); err == nil {
			if n := positive(props.Get("default_generation_settings.n_ctx"), props.Get("n_ctx")); n > 0 {
				info = Info{Window: n, From: "the server"}
			}
		}
	}
	return info, known, nil
}

// inform asks for the model.
func (a *messagesAPI) inform(ctx context.Context, c *client) (info Info, known bool, err error) {
	m, err := c.ask(ctx, []string{"v1", "models", url.PathEscape(c.Model)}, nil)
	if err != nil {
		return info, false, err
	}
	if n := positive(m.Get("max_input_tokens")); n > 0 {
		info = Info{Window: n, From: "the server"}
	}
	return info, m.Get("id").Exists(), nil
}
