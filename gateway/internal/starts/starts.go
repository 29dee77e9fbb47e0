// Package starts keeps how replies begin: what the last replies of one upstream, model and
// thinking switch showed, in memory, in a file, and among replicas.
package starts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// Shown says how a reply began.
type Shown uint8

const (
	Outside Shown = 1 + iota
	Inside
)

func (s Shown) String() string {
	if s == Inside {
		return "inside"
	}
	return "outside"
}

func (s Shown) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *Shown) UnmarshalText(text []byte) error {
	switch string(text) {
	case "inside":
		*s = Inside
	case "outside":
		*s = Outside
	default:
		return fmt.Errorf("%q: want inside or outside", text)
	}
	return nil
}

// A Key is what replies that begin alike have in common. Replies to one caller
// prove nothing to others, who may not send what that caller sends. What all callers have
// in common has no caller: it can raise a doubt, and never ends one.
type Key struct {
	Upstream string `json:"upstream"`
	Model    string `json:"model"`
	Switch   string `json:"switch,omitempty"` // how the request turned thinking on or off
	Caller   string `json:"caller,omitempty"` // the name of its token; empty if there are no tokens
}

// common is the key of what all callers have in common.
func (k Key) common() Key {
	k.Caller = ""
	return k
}

// An Entry is what the last replies of one upstream, model and thinking
// switch showed about how they begin.
type Entry struct {
	Key
	// Last are the last replies, oldest first, at most two: "inside" or "outside".
	// They are used only if both are the same.
	Last []Shown `json:"last"`
	// Suspect says that a reply closed a block that it had not opened.
	Suspect bool `json:"suspect,omitempty"`
	// Refuted says that a reply to the caller did not begin as those to others had shown.
	Refuted bool `json:"refuted,omitempty"`
	// Proved says that only markers and fields taught it. Earlier programs also learned
	// from replies without any.
	Proved bool `json:"proved,omitempty"`
	// Native is the member in which the upstream itself sends reasoning. It is "-"
	// if the upstream leaves reasoning in the content, and "" if neither was seen.
	Native string `json:"native,omitempty"`
	// Natives are the same by API, since an upstream's APIs differ. In APIs with blocks
	// or items it is their kind.
	Natives map[string]string `json:"natives,omitempty"`
	Seen    time.Time         `json:"seen"`
}

// Start is the start that is used: "inside", "outside", or "" while the last two
// differ or one is missing.
func (l Entry) Start() string {
	if len(l.Last) == 2 && l.Last[0] == l.Last[1] {
		return l.Last[0].String()
	}
	return ""
}

// doubt drops what replies without markers may have taught: that they began outside.
func (l *Entry) doubt() {
	if !l.Proved {
		l.Last = slices.DeleteFunc(l.Last, func(one Shown) bool { return one == Outside })
		l.Proved = true
	}
}

// A Table keeps how replies begin. With a folder, it keeps that across restarts.
// It is safe for concurrent use.
type Table struct {
	max int

	mu      sync.Mutex
	entries map[Key]*Entry
	file    startsFile

	shared *sharedStarts // nil if replicas are told nothing
}

// isOwn reports whether this gateway would keep such an entry: it can be shown, and
// holds no text that a client chose freely.
func (l *Entry) isOwn() bool {
	return chatjson.IsSwitch(l.Switch) && l.Model == shorttext.Escape(l.Model, modelname.Most) &&
		l.Upstream == shorttext.Escape(l.Upstream, access.MaxPath) && l.Caller == shorttext.Escape(l.Caller, modelname.Most) && isNative(l.Native) && l.nativesAreOwn()
}

func isNative(name string) bool { return name == shorttext.Escape(name, maxNative) }

func (l *Entry) nativesAreOwn() bool {
	for api, name := range l.Natives {
		if !isAPI(api) || !isNative(name) {
			return false
		}
	}
	return true
}

func isAPI(name string) bool {
	return slices.ContainsFunc(providers.Codecs(), func(c wire.Codec) bool { return c.Name() == name })
}

// maxNative bounds the name of a member that reasoning comes in.
const maxNative = 64

// A Lore is what earlier replies say about the next one.
type Lore struct {
	Began Shown // how the last two replies to the caller began, if both showed the same
	// Others says that the last two replies to other callers began inside, and the
	// caller's own have not refuted it.
	Others  bool
	Suspect bool // a reply to any caller closed a block that it had not opened
}

// Says returns what earlier replies say.
func (l *Table) Says(key Key) (all Lore) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.entries[key]; own != nil {
		all.Suspect = own.Suspect
		if own.Start() != "" {
			all.Began = own.Last[0]
		}
		all.Others = !own.Refuted
	}
	common := l.entries[key.common()]
	if key.Caller == "" || common == nil {
		all.Others = false
		return all
	}
	inside := common.Start() == Inside.String()
	all.Suspect = all.Suspect || common.Suspect || inside
	all.Others = inside && (all.Others || l.entries[key] == nil)
	return all
}

// Native returns where the upstream itself sends reasoning in one of its APIs. If no
// reply of this API was read, an upstream that leaves reasoning in the content of
// another one does so here, too.
func (l *Table) Native(key Key, api string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key.common()]
	switch {
	case e == nil:
		return ""
	case e.Natives[api] != "":
		return e.Natives[api]
	case len(e.Natives) == 0, e.Native == history.Inline:
		return e.Native
	}
	return ""
}

// Learn notes what a reply showed. The replicas are told what is new.
func (l *Table) Learn(key Key, what Lesson) error {
	err := l.tell(key, what)
	if key.Caller == "" {
		return err
	}
	// Others learn where the upstream sends reasoning, and what speaks for a thought.
	what.Unlearn = false
	if what.Start != Inside {
		what.Start, what.Suspect = 0, false
	}
	return errors.Join(err, l.tell(key.common(), what))
}

// tell notes what a reply showed, here and for the replicas.
func (l *Table) tell(key Key, what Lesson) error {
	news, err := l.note(key, what)
	if news && l.shared != nil {
		l.shared.tell(key, what)
	}
	return err
}

// note notes what a reply showed in memory, and in the file if it is new.
func (l *Table) note(key Key, what Lesson) (news bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := Entry{Key: key}
	if e := l.entries[key]; e != nil {
		now = *e
	}
	if !now.see(what) { // as most replies
		if e := l.entries[key]; e != nil {
			*e = now
		}
		return false, nil
	}
	unlock, err := l.changing()
	defer unlock()
	e := l.entries[key] // which another process may have changed
	if e == nil {
		l.bound(l.max - 1)
		e = &Entry{Key: key, Proved: true}
		l.entries[key] = e
	}
	if !e.see(what) {
		return false, err
	}
	l.file.unsaved[key] = true
	if err == nil {
		err = l.save()
	}
	return true, err
}

// A Lesson is what a reply showed.
type Lesson struct {
	Start   Shown // 0 if it showed nothing about it
	Suspect bool  // it closed a block that it had not opened
	API     string
	Native  string
	Unlearn bool // what was learned is not so any more
}

// see notes what a reply showed, and reports whether it is new.
func (e *Entry) see(what Lesson) bool {
	before, suspect, refuted := e.Last, e.Suspect, e.Refuted
	if what.Unlearn {
		e.Last, e.Refuted = nil, true
	}
	e.Suspect = suspect || what.Suspect
	e.Refuted = e.Refuted && what.Start != Inside
	if what.Start != 0 {
		e.Last = append(slices.Clone(e.Last), what.Start)
		e.Last = e.Last[max(0, len(e.Last)-2):]
	}
	news := what.Native != "" && (what.Native != e.Native || what.Native != e.Natives[what.API])
	if news {
		e.Native, e.Natives = what.Native, maps.Clone(e.Natives)
		if e.Natives == nil {
			e.Natives = map[string]string{}
		}
		e.Natives[what.API] = what.Native
	}
	e.Seen = time.Now().UTC().Truncate(time.Second)
	return news || e.Suspect != suspect || e.Refuted != refuted || !slices.Equal(e.Last, before)
}

// bound drops the entries that were not seen for the longest time, until limit
// entries are left.
func (l *Table) bound(limit int) {
	for len(l.entries) > limit {
		var oldest *Entry
		for _, e := range l.entries {
			if oldest == nil || e.Seen.Before(oldest.Seen) {
				oldest = e
			}
		}
		delete(l.entries, oldest.Key)
		delete(l.file.unsaved, oldest.Key)
	}
}

// Starts lists what was learned, by upstream, model and switch.
func (l *Table) Starts() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sorted()
}

func (l *Table) sorted() []Entry {
	list := []Entry{}
	for _, e := range l.entries {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Caller, b.Caller))
	})
	return list
}

// Forget removes what was learned of the models that match a pattern as dialects
// have them ("*" matches all). It returns how many entries it removed.
func (l *Table) Forget(pattern string) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.changing()
	defer unlock()
	n := 0
	for key := range l.entries {
		if modelname.Match([]string{strings.ToLower(pattern)}, key.Model) >= 0 {
			delete(l.entries, key)
			l.file.unsaved[key] = true
			n++
		}
	}
	if n == 0 || err != nil {
		return n, err
	}
	return n, l.save()
}
