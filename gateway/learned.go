package gateway

import (
	"cmp"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/starts"
)

// A LearnedStart is what the last replies of one upstream, model and thinking
// switch showed about how they begin.
type LearnedStart struct {
	Upstream string `json:"upstream"`
	Model    string `json:"model"`
	Switch   string `json:"switch,omitempty"` // how the request turned thinking on or off
	// Caller is the name of its token; it is empty if there are no tokens, and in what all
	// callers have in common.
	Caller string `json:"caller,omitempty"`
	// Last are the last replies, oldest first, at most two: "inside" or "outside".
	// They are used only if both are the same.
	Last []string `json:"last"`
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
func (l LearnedStart) Start() string {
	if len(l.Last) == 2 && l.Last[0] == l.Last[1] {
		return l.Last[0]
	}
	return ""
}

// A Learned keeps how replies begin. With a folder, it keeps that across restarts.
// It is safe for concurrent use.
type Learned struct{ table *starts.Table }

// OpenLearned reads what was learned from the data folder. If there is nothing, it
// begins empty. An empty folder name keeps it in memory. If the limit is zero, it is that
// of [Limits].
func OpenLearned(dir string, limit int) (*Learned, error) {
	table, err := starts.Open(dir, cmp.Or(limit, Limits{}.withDefaults().Learned))
	if err != nil {
		return nil, err
	}
	return &Learned{table}, nil
}

// Starts lists what was learned, by upstream, model and switch.
func (l *Learned) Starts() []LearnedStart {
	list := []LearnedStart{}
	for _, e := range l.table.Starts() {
		s := LearnedStart{
			Upstream: e.Upstream, Model: e.Model, Switch: e.Switch, Caller: e.Caller,
			Suspect: e.Suspect, Refuted: e.Refuted, Proved: e.Proved, Native: e.Native, Natives: e.Natives, Seen: e.Seen,
		}
		for _, one := range e.Last {
			s.Last = append(s.Last, one.String())
		}
		list = append(list, s)
	}
	return list
}

// Forget removes what was learned of the models that match a pattern as dialects
// have them ("*" matches all). It returns how many entries it removed.
func (l *Learned) Forget(pattern string) (int, error) { return l.table.Forget(pattern) }
