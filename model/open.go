package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/history"
)

// A Config says which model to call, and how. Only Provider and Model must be set.
type Config struct {
	// Provider is the API: ollama, openai or chat (which many servers speak), anthropic
	// or messages, or scripted.
	Provider string
	// Model is the model's name as the server spells it. A script needs none.
	Model string
	// URL is the server's. If empty, it is http://localhost:11434,
	// https://api.openai.com/v1 or https://api.anthropic.com. The API's path below
	// it is added. If an openai URL has no path, /v1 is added too.
	URL string
	// Key is the API key, KeyFile a file that holds it. Set at most one of them.
	Key     Secret
	KeyFile string
	// Script is the file of a scripted model.
	Script string

	// MaxTokens is the limit of replies whose request has none. If zero, the
	// server's limit applies; for anthropic, whose API requires one, it is 8192.
	MaxTokens int
	// Extra is a JSON object that is merged into the body of every chat request,
	// member by member. Use it for settings that a server has in addition to its
	// API's standard, such as {"options":{"num_ctx":16384}} or
	// {"chat_template_kwargs":{"enable_thinking":false}}.
	Extra json.RawMessage
	// History says what happens to the reasoning of earlier messages. If empty,
	// history.Auto: what the model's family requires.
	History history.Policy

	// Retries is how often a request is sent again if nothing of its reply has
	// come. If zero, 3; if negative, never.
	Retries int
	// Backoff is the longest wait before the first retry. It doubles with each
	// further one, up to MaxWait; each wait is random, at least half as long. If
	// Backoff is zero, it is half a second; if MaxWait is zero, a minute. If a
	// server asks for a longer wait, it gets that. If it asks for more than
	// MaxWait, the error is returned at once, and says how long.
	Backoff, MaxWait time.Duration
	// RetryTime is the longest time from the first request to the start of the last
	// retry. If zero, ten minutes.
	RetryTime time.Duration
	// Silence is how long a server may send nothing; if zero, ten minutes.
	Silence time.Duration
	Limits  Limits

	// Transport reaches the server. If nil, a transport that all clients share.
	Transport http.RoundTripper
	// Log gets a line for each request that is sent again. If nil, nothing is
	// logged.
	Log *slog.Logger
}

// A Secret is a string that is never shown: whenever it is printed or encoded, the
// result is "[secret]".
type Secret string

const hidden = "[secret]"

// Format writes a word in the secret's place.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		io.WriteString(f, hidden)
	}
}

// MarshalText returns a word in the secret's place.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Append(nil, s), nil }

// providers are the APIs, and each one's default URL.
var providers = map[string]struct {
	url string
	api func(c *Config) api
}{
	"ollama":    {"http://localhost:11434", newOllama},
	"openai":    {"https://api.openai.com/v1", newOpenAI},
	"anthropic": {"https://api.anthropic.com", newAnthropic},
}

// otherNames are the names by which a gateway's settings call the APIs of some providers.
var otherNames = map[string]string{"chat": "openai", "messages": "anthropic"}

// provider returns the name in providers.
func provider(name string) string { return cmp.Or(otherNames[name], name) }

// API returns the name of the codec that reads a provider's API, or "" if the
// provider has none. It says what reasoning the provider requires back.
func API(name string) string {
	p, ok := providers[provider(name)]
	if !ok {
		return ""
	}
	return p.api(&Config{}).codec().Name()
}

// Open returns the model that a configuration describes. Nothing is sent yet.
// The model is an [Embedder] too, unless its API has no embeddings, as
// Anthropic's. An error names the setting that is wrong.
func Open(c Config) (Model, error) {
	c.Provider = provider(c.Provider)
	if c.Provider == "scripted" {
		return openScripted(c)
	}
	p, ok := providers[c.Provider]
	if !ok {
		return nil, fmt.Errorf("model: provider %q: want ollama, openai (or chat), anthropic (or messages), or scripted", c.Provider)
	}
	if c.Script != "" {
		return nil, fmt.Errorf("model: script %s: only the provider scripted has a script", c.Script)
	}
	if c.Model == "" {
		return nil, errors.New("model: the name of the model is missing")
	}
	if c.History != "" && !slices.Contains(history.Policies(), c.History) {
		return nil, fmt.Errorf("model: history %q: want auto, preserve, strip, strip-all or restore", c.History)
	}
	if c.Extra != nil && !isObject(string(c.Extra)) {
		return nil, errors.New("model: extra: is not a JSON object")
	}
	if c.MaxTokens < 0 {
		return nil, fmt.Errorf("model: max tokens %d: is negative", c.MaxTokens)
	}
	if err := c.readKey(); err != nil {
		return nil, err
	}
	if c.URL == "" {
		c.URL = p.url
	}
	base, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	switch folder := strings.TrimRight(base.Path, "/"); {
	case c.Provider == "openai" && folder == "":
		base = base.JoinPath("v1")
	case c.Provider == "anthropic" && strings.HasSuffix(folder, "/v1"):
		base = base.JoinPath("..")
	}
	c.fill()
	m := newClient(c, base, p.api(&c))
	if m.embeds() {
		return &embedder{m}, nil
	}
	return m, nil
}

func openScripted(c Config) (Model, error) {
	if c.Script == "" {
		return nil, errors.New("model: provider scripted: no script")
	}
	if c.URL != "" {
		return nil, errors.New("model: url: a scripted model has no server")
	}
	f, err := os.Open(c.Script)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	s, err := ReadScript(f, filepath.ToSlash(c.Script))
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return NewScripted(c.Model, s), nil
}

// maxKey is far above the length of any key.
const maxKey = 16 << 10

func (c *Config) readKey() error {
	if c.KeyFile != "" {
		if c.Key != "" {
			return errors.New("model: a key and a key file are set: want one of them")
		}
		f, err := os.Open(c.KeyFile)
		if err != nil {
			// The name is not quoted: it may be the key, in the wrong place.
			if p, ok := errors.AsType[*fs.PathError](err); ok {
				err = p.Err
			}
			return fmt.Errorf("model: the key file cannot be read: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
		if err != nil {
			return fmt.Errorf("model: key file: %w", err)
		}
		c.Key = Secret(strings.TrimSpace(string(b)))
		if c.Key == "" || len(b) > maxKey {
			return fmt.Errorf("model: key file %s: is empty", c.KeyFile)
		}
	}
	for _, r := range c.Key {
		if r <= ' ' || r > '~' {
			return errors.New("model: key: has a character that no HTTP header may have")
		}
	}
	return nil
}

// parseURL does not quote a URL that it refuses: it may contain a key.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("model: url: want a URL such as http://localhost:11434 or https://host/v1")
	case u.User != nil:
		return nil, errors.New("model: url: has a user name or password: use the setting for keys")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("model: url: has a query or fragment")
	}
	return u, nil
}

func (c *Config) fill() {
	switch {
	case c.Retries == 0:
		c.Retries = 3
	case c.Retries < 0:
		c.Retries = 0
	}
	if c.Backoff <= 0 {
		c.Backoff = 500 * time.Millisecond
	}
	if c.MaxWait <= 0 {
		c.MaxWait = time.Minute
	}
	if c.RetryTime <= 0 {
		c.RetryTime = 10 * time.Minute
	}
	if c.Silence <= 0 {
		c.Silence = 10 * time.Minute
	}
	c.Limits = c.Limits.orDefaults()
	if c.Transport == nil {
		c.Transport = transport()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
