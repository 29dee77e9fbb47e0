package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/record"
)

// ErrMemory is in the error of a memory that belongs to another run, or to one of
// which the record has nothing left.
var ErrMemory = errors.New("the memory belongs to another run")

// The bounds of a memory.
const (
	MaxKeys     = 1000
	MaxKeyBytes = 128
	MaxValue    = 64 << 10 // bytes of one value
	MaxMemory   = 8 << 20  // bytes of all values
)

// A Memory is what an agent keeps from cycle to cycle: texts under keys. It is safe
// for concurrent use.
//
// On disk it is a log with a line for each change, synced before the change is
// acknowledged. A change has the key of the use that made it. So a use that a crash
// left open can be made again: it gives the same result, and changes nothing twice.
// As the run comes to changes that the log has, they are applied again.
//
// The record decides what happened. If a crash took the end of the record and not
// that of the log, the run may go another way. Then the changes of the log that it
// does not come to are removed.
type Memory struct {
	mu     sync.Mutex
	file   *os.File // if nil, it exists only in this process
	past   []logged // changes of the log that the run has not come to yet
	to     []age.Recipient
	values map[string]string
	size   int
}

// A change is a line of the log.
type change struct {
	Use    string `json:"use"`
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Delete bool   `json:"delete,omitempty"`
	Result string `json:"result"`
}

// A logged change is in the log, in a line that begins at an offset.
type logged struct {
	change
	at int64
}

// NewMemory returns a memory that exists only in this process.
func NewMemory() *Memory { return &Memory{values: map[string]string{}} }

// MemoryOf returns a memory of this process that begins with values.
func MemoryOf(values map[string]string) *Memory {
	m := &Memory{values: maps.Clone(values)}
	if m.values == nil {
		m.values = map[string]string{}
	}
	for _, v := range values {
		m.size += len(v)
	}
	return m
}

// Values returns a copy of what the memory holds.
func (m *Memory) Values() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.values)
}

// OpenMemory opens the memory of a run in a folder, and makes the folder if there
// is none. A line that a crash left incomplete is removed.
func OpenMemory(dir, run string) (*Memory, error) { return openMemory(dir, run, nil, nil) }

// openMemory opens a memory whose log is encrypted for recipients, if there are any. To read
// what is there, it needs an identity, as the run does to read its record.
func openMemory(dir, run string, to []age.Recipient, ids []age.Identity) (*Memory, error) {
	if err := record.CheckRun(run); err != nil || run == "" {
		return nil, fmt.Errorf("memory of run %q: %w", run, errors.Join(err, record.ErrRunName))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, run+".jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := NewMemory()
	m.file, m.to = f, to
	if err := m.load(ids); err != nil {
		return nil, errors.Join(fmt.Errorf("memory %s: %w", f.Name(), err), f.Close())
	}
	return m, nil
}

// load reads the log, and removes an incomplete line at its end.
func (m *Memory) load(ids []age.Identity) error {
	r := bufio.NewReader(m.file)
	var end int64
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		c, err := readChange(line, len(m.to) > 0, ids)
		if err != nil {
			return fmt.Errorf("line %d: %w", len(m.past)+1, err)
		}
		m.past = append(m.past, logged{c, end})
		end += int64(len(line))
	}
	if err := m.file.Truncate(end); err != nil {
		return err
	}
	_, err := m.file.Seek(end, io.SeekStart)
	return err
}

// readChange reads a line of the log.
func readChange(line []byte, sealed bool, ids []age.Identity) (c change, err error) {
	if sealed != sealing.Is(line) {
		return c, errors.New("the log is encrypted, and the record is not, or the other way round: give the run another name")
	}
	if sealed {
		l, err := sealing.Parse(line)
		if err != nil {
			return c, err
		}
		if line, err = l.Open(ids); err != nil {
			return c, errors.Join(record.ErrSealed, err)
		}
	}
	return c, json.Unmarshal(line, &c)
}

// Close closes the log.
func (m *Memory) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// Keys lists the keys, sorted.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sortedKeys(m.values)
}

// Read returns the value of a key.
func (m *Memory) Read(key string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return v, ok
}

// Write sets the value of a key.
func (m *Memory) Write(use, key, value string) (string, error) {
	return m.change(change{Use: use, Key: key, Value: strings.ToValidUTF8(value, "\uFFFD")})
}

// Delete removes a key.
func (m *Memory) Delete(use, key string) (string, error) {
	return m.change(change{Use: use, Key: key, Delete: true})
}

func (m *Memory) change(c change) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.past) > 0 {
		was := m.past[0]
		c.Result = was.Result
		if was.change == c {
			m.past = m.past[1:]
			m.apply(c)
			return c.Result, nil
		}
		if !sameRun(was.Use, c.Use) {
			return "", &ownError{fmt.Errorf("%w: the log %s has the change of %s to %q next, this is the one of %s to %q", ErrMemory, m.file.Name(), was.Use, was.Key, c.Use, c.Key)}
		}
		if err := m.cut(was.at); err != nil {
			return "", &ownError{err}
		}
		m.past = nil
	}
	result, err := m.check(c)
	if err != nil {
		return "", err
	}
	c.Result = result
	if err := m.append(c); err != nil {
		return "", &ownError{err}
	}
	m.apply(c)
	return result, nil
}

// sameRun reports whether two uses are of one run. The keys of runs that an earlier
// version recorded do not show it.
func sameRun(a, b string) bool {
	_, of, ok := strings.Cut(a, "@")
	_, of2, ok2 := strings.Cut(b, "@")
	return ok && ok2 && of == of2
}

// cut removes the log from an offset on.
func (m *Memory) cut(at int64) error {
	err := m.file.Truncate(at)
	if err == nil {
		_, err = m.file.Seek(at, io.SeekStart)
	}
	if err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("cut the memory: %w", err)
	}
	point("cut memory")
	return nil
}

// check returns what a change does, or why it is not made.
func (m *Memory) check(c change) (string, error) {
	old, there := m.values[c.Key]
	switch {
	case c.Key == "" || len(c.Key) > MaxKeyBytes || !printable(c.Key):
		return "", fmt.Errorf("want a key of 1 to %d bytes of printable text", MaxKeyBytes)
	case c.Delete && !there:
		return "", fmt.Errorf("there is no key %q", c.Key)
	case c.Delete:
		return fmt.Sprintf("deleted %q", c.Key), nil
	case len(c.Value) > MaxValue:
		return "", fmt.Errorf("the value has %d bytes: the limit is %d", len(c.Value), MaxValue)
	case !there && len(m.values) >= MaxKeys:
		return "", fmt.Errorf("there are %d keys, the limit: delete one first", MaxKeys)
	case m.size-len(old)+len(c.Value) > MaxMemory:
		return "", fmt.Errorf("the memory is full: the limit is %d bytes; delete something first", MaxMemory)
	case there:
		return fmt.Sprintf("replaced %q, %d bytes", c.Key, len(c.Value)), nil
	}
	return fmt.Sprintf("wrote %q, %d bytes", c.Key, len(c.Value)), nil
}

// append writes a change to the log, completely or not at all.
func (m *Memory) append(c change) error {
	if m.file == nil {
		return nil
	}
	at, err := m.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	line := append(encode(c), '\n')
	if len(m.to) > 0 {
		if line, err = sealing.AppendLine(nil, nil, line, m.to); err != nil {
			return err
		}
	}
	point("before memory")
	if _, err = m.file.Write(line); err == nil {
		point("in memory")
		err = m.file.Sync()
	}
	if err != nil {
		_ = m.file.Truncate(at) // if this fails, the incomplete line is cut off when the log is opened
		_, _ = m.file.Seek(at, io.SeekStart)
		return fmt.Errorf("write the memory: %w", err)
	}
	point("after memory")
	return nil
}

func (m *Memory) apply(c change) {
	m.size -= len(m.values[c.Key])
	if c.Delete {
		delete(m.values, c.Key)
		return
	}
	m.values[c.Key] = c.Value
	m.size += len(c.Value)
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

func sortedKeys(values map[string]string) []string {
	list := make([]string, 0, len(values))
	for k := range values {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// maxMatches bounds how many lines a search gives.
const maxMatches = 50

// search lists the lines that a pattern matches, as key:line: text.
func (m *Memory) search(pattern string) (string, error) {
	if len(pattern) > 1000 {
		return "", errors.New("the pattern is longer than 1000 bytes")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("the pattern is not a valid RE2 pattern: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	n := 0
	for _, key := range sortedKeys(m.values) {
		for i, line := range strings.Split(m.values[key], "\n") {
			if !re.MatchString(line) && !(i == 0 && re.MatchString(key)) {
				continue
			}
			if n++; n > maxMatches {
				return fmt.Sprintf("%s[more than %d lines match]", b.String(), maxMatches), nil
			}
			fmt.Fprintf(&b, "%s:%d: %s\n", key, i+1, shorttext.Cut(line, 500))
		}
	}
	if n == 0 {
		return "nothing matches", nil
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Tools are write, read, list, delete and pattern_search on this memory.
func (m *Memory) Tools() []Tool {
	return []Tool{
		&memoryTool{Func{
			Name: "write", Description: "Store a text under a key. It replaces the text that the key had.",
			Schema: `{"type":"object","properties":{"key":{"type":"string","description":"A short name."},"value":{"type":"string","description":"The text to keep."}},"required":["key","value"],"additionalProperties":false}`,
			Prose:  []string{"value", "key"},
			Do: func(_ context.Context, u Use) (string, error) {
				a := textsOf(u)
				return m.Write(u.Key(), a["key"], a["value"])
			},
		}},
		&memoryTool{Func{
			Name: "read", Description: "Read the text under a key.",
			Schema: keySchema,
			Prose:  []string{"key"},
			Do: func(_ context.Context, u Use) (string, error) {
				key := textsOf(u)["key"]
				if v, ok := m.Read(key); ok {
					return v, nil
				}
				return "", fmt.Errorf("there is no key %q: the tool list names the existing keys", key)
			},
		}},
		&memoryTool{Func{
			Name: "list", Description: "List all keys.",
			Do: func(context.Context, Use) (string, error) {
				keys := m.Keys()
				if len(keys) == 0 {
					return "the memory is empty", nil
				}
				return strings.Join(keys, "\n"), nil
			},
		}},
		&memoryTool{Func{
			Name: "delete", Description: "Remove a key and its text.",
			Schema: keySchema,
			Prose:  []string{"key"},
			Do: func(_ context.Context, u Use) (string, error) {
				return m.Delete(u.Key(), textsOf(u)["key"])
			},
		}},
		&memoryTool{Func{
			Name: "pattern_search", Description: "Find lines in the stored texts, with a regular expression (RE2).",
			Schema: `{"type":"object","properties":{"pattern":{"type":"string"}},"required":["pattern"],"additionalProperties":false}`,
			Prose:  []string{"pattern"},
			Do: func(_ context.Context, u Use) (string, error) {
				return m.search(textsOf(u)["pattern"])
			},
		}},
	}
}

const keySchema = `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"],"additionalProperties":false}`

// A memoryTool gives in a replay the same results as before.
type memoryTool struct{ Func }

// named returns those of its tools that are named.
func (m *Memory) named(names []string) ([]Tool, error) {
	var tools []Tool
	all := m.Tools()
	for _, name := range names {
		t := toolNamed(all, name)
		if t == nil {
			return nil, fmt.Errorf("the memory has no tool %q: choose from %s", name, strings.Join(AllMemory(), ", "))
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func (*memoryTool) replays() {}

// textsOf returns arguments that are texts by their schema.
func textsOf(u Use) map[string]string {
	var m map[string]string
	_ = json.Unmarshal(u.Arguments, &m) // they fit the schema, so this cannot fail
	return m
}
