package promptshown

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// File is the name of the file in the data folder with what sotto doctor saw.
const File = "prompts.json"

const (
	lockFile    = "prompts.lock"
	fileVersion = 1
	maxFile     = 4 << 20
	maxEntries  = 1000
	maxName     = 200
	// keptFor is how long an entry counts. A server may get another template.
	keptFor = 30 * 24 * time.Hour
)

// An Entry is what a server showed about one question.
type Entry struct {
	Upstream  string          `json:"upstream"` // host and path of the base URL
	Model     string          `json:"model"`
	Members   string          `json:"members,omitempty"`
	Tools     bool            `json:"tools,omitempty"`
	Result    bool            `json:"result,omitempty"`
	Start     sotto.Beginning `json:"start,omitempty"`
	MayOpen   bool            `json:"may_open,omitempty"`
	Separates bool            `json:"separates,omitempty"`
	Seen      time.Time       `json:"seen"`
}

// EntryOf is what an answer to a question becomes in the file.
func EntryOf(base *url.URL, q Question, e Evidence, now time.Time) Entry {
	return Entry{
		Upstream: upstreamOf(base), Model: q.Model, Members: q.Members, Tools: q.Tools, Result: q.Result,
		Start: e.Start, MayOpen: e.MayOpen, Separates: e.Separates, Seen: now.UTC().Truncate(time.Second),
	}
}

// upstreamOf names the server of a base URL, with or without the version in its path.
func upstreamOf(u *url.URL) string {
	return u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
}

// isOwn reports whether this program would write such an entry.
func (e *Entry) isOwn() bool {
	return e.Upstream == shorttext.Escape(e.Upstream, maxName) && e.Model == shorttext.Escape(e.Model, maxName) && e.Model != "" &&
		e.Members == ownMembers(e.Members) && isStart(e.Start)
}

// ownMembers writes the members again that a question may have.
func ownMembers(text string) string {
	if text == "" {
		return ""
	}
	members := object{}
	if foreignjson.Check([]byte(text)) != nil {
		return ""
	}
	gjson.Parse(text).ForEach(func(key, v gjson.Result) bool {
		if inner, ok := readKwargs(v); key.Str == kwargsMember && ok {
			members[key.Str] = inner
		} else if value, ok := simple(v); ok && slices.Contains(plain, key.Str) {
			members[key.Str] = value
		}
		return true
	})
	own, _ := json.Marshal(members)
	return string(own)
}

func isStart(s sotto.Beginning) bool {
	name, inside := strings.CutPrefix(string(s), "inside:")
	return s == "" || s == sotto.BeginOutside || inside && name == shorttext.Escape(name, 64)
}

func (e *Entry) key() Entry {
	return Entry{Upstream: e.Upstream, Model: e.Model, Members: e.Members, Tools: e.Tools, Result: e.Result}
}

// An Examined is what sotto doctor kept in a data folder. A nil one is empty. It is safe
// for concurrent use, as it does not change.
type Examined struct {
	dir     string
	limit   int
	entries map[Entry]Entry
}

// OpenExamined reads the file of a data folder. If there is none, the result is empty. It
// has at most limit entries, the newest ones; if limit is zero, 1,000.
func OpenExamined(dir string, limit int) (*Examined, error) {
	x := &Examined{dir: dir, limit: cmp.Or(limit, maxEntries), entries: map[Entry]Entry{}}
	if dir == "" {
		return x, nil
	}
	name := filepath.Join(dir, File)
	data, err := files.ReadRegular(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what sotto doctor saw: %s: %w", name, files.Cause(err))
	}
	var all struct {
		V       int
		Prompts []Entry
	}
	if err = foreignjson.Check(data); err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("what sotto doctor saw: %s: %w; to start again, remove the file", name, err)
	}
	if err := datafolder.CheckVersion(name, all.V, fileVersion); err != nil {
		return nil, fmt.Errorf("what sotto doctor saw: %w", err)
	}
	for _, e := range all.Prompts {
		if e.isOwn() {
			x.entries[e.key()] = e
		}
	}
	x.bound()
	return x, nil
}

// Reopen reads the file again. If it cannot be read, the result is what was read before.
func (x *Examined) Reopen() *Examined {
	if x == nil {
		return nil
	}
	if again, err := OpenExamined(x.dir, x.limit); err == nil {
		return again
	}
	return x
}

// bound drops the oldest entries beyond the limit.
func (x *Examined) bound() {
	all := x.sorted(func(a, b Entry) int { return b.Seen.Compare(a.Seen) })
	for _, e := range all[min(len(all), x.limit):] {
		delete(x.entries, e.key())
	}
}

func (x *Examined) sorted(by func(a, b Entry) int) []Entry {
	all := make([]Entry, 0, len(x.entries))
	for _, e := range x.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, by)
	return all
}

// Lookup returns what was kept for a question, if it is not too old. A start that the
// grammar does not have only says that the prompt may open a block.
func (x *Examined) Lookup(g *sotto.Grammar, base *url.URL, q Question, now time.Time) Evidence {
	if x == nil || len(x.entries) == 0 {
		return Evidence{}
	}
	key := EntryOf(base, q, Evidence{}, time.Time{})
	kept, ok := x.entries[key.key()]
	if age := now.Sub(kept.Seen); !ok || age > keptFor || age < -keptFor {
		return Evidence{}
	}
	e := Evidence{Start: kept.Start, MayOpen: kept.MayOpen, Separates: kept.Separates && q.Chat}
	if isInside(e.Start) {
		if _, err := g.NewSplitter(sotto.Options{Start: e.Start}); err != nil {
			e.Start, e.MayOpen = "", true
		}
	}
	a := asking{question: q}
	if !a.faithful() {
		e = Evidence{MayOpen: e.opens()}
	}
	return a.doubt(e)
}

// Keep adds entries to the file of a data folder, in place of those for the same
// questions.
func Keep(dir string, entries []Entry) error {
	defer filelock.Hold(filepath.Join(dir, lockFile))()
	x, err := OpenExamined(dir, 0)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.isOwn() {
			x.entries[e.key()] = e
		}
	}
	x.bound()
	data, err := json.MarshalIndent(struct {
		V       int     `json:"v"`
		Prompts []Entry `json:"prompts"`
	}{fileVersion, x.sorted(func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Members, b.Members),
			boolOf(a.Tools)-boolOf(b.Tools), boolOf(a.Result)-boolOf(b.Result))
	})}, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, File), append(data, '\n')); err != nil {
		return fmt.Errorf("what sotto doctor saw: %w", err)
	}
	return nil
}

// replace replaces a file, completely or not at all.
func replace(name string, data []byte) error {
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
