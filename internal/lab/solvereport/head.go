package solvereport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// A Head is the first line of a stream's output: the manifest of the run.
type Head struct {
	V     int        `json:"v"`
	Type  string     `json:"type"` // run
	Run   string     `json:"run"`
	Time  time.Time  `json:"time,omitzero"` // when it began
	Task  string     `json:"task"`
	Mode  solve.Mode `json:"mode"`
	Model string     `json:"model"`
	// Sotto is the version of the program that began the run.
	Sotto string `json:"sotto,omitempty"`
	// Settings decide the results. Outputs of older versions have none.
	Settings *Settings `json:"settings,omitempty"`
	// Place and Bounds do not decide the results of single problems. They may be
	// others when the stream is resumed.
	Place  *Place  `json:"place,omitempty"`
	Bounds *Bounds `json:"bounds,omitempty"`
	// With names what each attempt carries: raw, reading. It may be another when the
	// stream is resumed, for the problems that are still to do.
	With []string `json:"with,omitempty"`
	// Digest is what the plain part of a sealed head has instead of all else: the SHA-256 of
	// what decides the results.
	Digest string `json:"digest,omitempty"`
}

// Figures returns what a sealed stream says of its head in plain.
func (h *Head) Figures() Head {
	all := sha256.New()
	for _, s := range h.deciding() {
		fmt.Fprintf(all, "%q %q\n", s.name, s.value)
	}
	return Head{V: h.V, Type: h.Type, Run: h.Run, Sotto: h.Sotto, Digest: hex.EncodeToString(all.Sum(nil))}
}

// Settings are all that decides the results of a stream. Files are named by the
// SHA-256 of what they hold, in hexadecimal. The names are those of the flags.
type Settings struct {
	// Problems is the digest of all problems, in order, with what is known of them.
	Problems string `json:"problems"`
	Count    int    `json:"count"` // of problems
	// Shuffle is the seed of the order of the replies to each problem. Problems has
	// the order of the problems.
	Shuffle      *uint64  `json:"shuffle,omitempty"`
	Where        []string `json:"where,omitempty"`
	TaskFile     string   `json:"task-file,omitempty"`
	Rules        string   `json:"rules"` // the version of the rules of extraction
	Replies      string   `json:"replies,omitempty"`
	Script       string   `json:"script,omitempty"`
	Audit        string   `json:"audit,omitempty"`
	Dialect      string   `json:"dialect"`
	DialectRow   string   `json:"dialect-row"` // the digest of the dialect's row
	Start        string   `json:"start"`
	Instruction  string   `json:"instruction"`
	Temperatures string   `json:"temperatures"`
	MaxTokens    int      `json:"max-tokens,omitempty"`
	Seed         *int64   `json:"seed,omitempty"`
	Think        string   `json:"think,omitempty"`
	Timeout      string   `json:"timeout,omitempty"`
	Embed        string   `json:"embed,omitempty"`
	// Memory is the identity of the memory. It and the rest are set only where the
	// mode uses memory.
	Memory     string  `json:"memory,omitempty"`
	Floor      float64 `json:"floor,omitempty"`
	Paths      int     `json:"paths,omitempty"`
	PathTokens int     `json:"path-tokens,omitempty"`
	Verify     bool    `json:"verify,omitempty"`
	Prices     string  `json:"prices,omitempty"`
}

// A Place says where a model is.
type Place struct {
	Provider string `json:"provider,omitempty"`
	URL      string `json:"url,omitempty"`
}

// Bounds say how much of a stream is done.
type Bounds struct {
	Limit  int     `json:"limit,omitempty"`
	Tokens int64   `json:"budget-tokens,omitempty"`
	Cost   float64 `json:"budget-cost,omitempty"`
	Time   string  `json:"budget-time,omitempty"`
}

// A Change is a setting that a stream cannot be resumed with.
type Change struct{ Name, Was, Is string }

func (c Change) String() string { return fmt.Sprintf("%s was %s, and is %s", c.Name, c.Was, c.Is) }

// Changes compares what decides the results of two runs, in the order of the
// output.
func (h *Head) Changes(now *Head) (list []Change) {
	was, is := h.deciding(), now.deciding()
	for i, m := range was {
		if m.value != is[i].value {
			list = append(list, Change{m.name, m.value, is[i].value})
		}
	}
	return list
}

// A setting is a member and its value, as a person reads it.
type setting struct{ name, value string }

// deciding lists what decides the results. It has the same names for every head.
func (h *Head) deciding() []setting {
	s := Settings{}
	if h.Settings != nil {
		s = *h.Settings
	}
	text := func(v any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return fmt.Sprint(v)
		}
		switch value := string(bytes.TrimSpace(b.Bytes())); value {
		case `""`, "0", "null", "false":
			return "not set"
		default:
			return value
		}
	}
	seed, shuffle := "not set", "not set"
	if s.Seed != nil {
		seed = strconv.FormatInt(*s.Seed, 10)
	}
	if s.Shuffle != nil {
		shuffle = strconv.FormatUint(*s.Shuffle, 10)
	}
	return []setting{
		{"task", text(h.Task)}, {"mode", text(h.Mode)}, {"model", text(h.Model)},
		{"problems", text(s.Problems)}, {"shuffle", shuffle}, {"where", text(strings.Join(s.Where, ", "))}, {"task-file", text(s.TaskFile)}, {"rules", text(s.Rules)},
		{"replies", text(s.Replies)}, {"script", text(s.Script)}, {"audit", text(s.Audit)},
		{"dialect", text(s.Dialect)}, {"dialect-row", text(s.DialectRow)}, {"start", text(s.Start)},
		{"instruction", text(s.Instruction)}, {"temperatures", text(s.Temperatures)}, {"max-tokens", text(s.MaxTokens)},
		{"seed", seed}, {"think", text(s.Think)}, {"timeout", text(s.Timeout)}, {"embed", text(s.Embed)},
		{"memory", text(s.Memory)}, {"floor", text(s.Floor)}, {"paths", text(s.Paths)}, {"path-tokens", text(s.PathTokens)}, {"verify", text(s.Verify)},
		{"prices", text(s.Prices)},
	}
}
