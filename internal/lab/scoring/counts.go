package scoring

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A digest stands for a problem or for an answer that a reply votes for. Two that differ
// have different digests, also in different processes.
type digest [16]byte

// digestOf returns the digest of some texts, one after another.
func digestOf(texts ...string) digest {
	h := sha256.New()
	for _, text := range texts {
		_, _ = io.WriteString(h, text)
	}
	return digest(h.Sum(nil)[:len(digest{})])
}

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("%.40q is not a digest", text)
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// MarshalJSON writes how many there are, and how many of them are right.
func (s share) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{s.n, s.right}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *share) UnmarshalJSON(data []byte) error {
	var pair [2]int
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	*s = share{pair[0], pair[1]}
	if s.right < 0 || s.right > s.n || s.n > maxCount {
		return fmt.Errorf("%d of %d is not a count", s.right, s.n)
	}
	return nil
}

// maxCount bounds a count that is read, so that sums of them stay numbers.
const maxCount = 1 << 48

// counts are the scores of a part of a run, except for its problems and failures, as they
// are written down.
type counts struct {
	Lines     share                 `json:"lines"`
	Failed    int                   `json:"failed"`
	Ambiguous int                   `json:"ambiguous"`
	Methods   map[string]share      `json:"methods"`
	Reasons   map[answer.Reason]int `json:"reasons"`
	Lengths   map[int]share         `json:"lengths"` // by the number of bits of the length
	Logged    agreement             `json:"logged"`
	By        map[string]*counts    `json:"by,omitempty"`
}

func (s *Scores) counts() *counts {
	c := &counts{s.share, s.lost, s.unsure, s.methods, s.reasons, map[int]share{}, s.logged, map[string]*counts{}}
	for class, n := range s.lengths {
		if n.n > 0 {
			c.Lengths[class] = n
		}
	}
	for name, arm := range s.by {
		c.By[name] = arm.counts()
	}
	return c
}

var errCount = errors.New("it has a count that cannot be")

// scores returns the scores that c was made of.
func (c *counts) scores() (*Scores, error) {
	s := newScores()
	s.share, s.lost, s.unsure, s.logged = c.Lines, c.Failed, c.Ambiguous, c.Logged
	a := c.Logged
	for _, n := range append(slices.Collect(maps.Values(c.Reasons)), c.Failed, c.Ambiguous, a.Both, a.Neither, a.OnlyLogged, a.OnlyOurs, a.Unreadable) {
		if n < 0 || n > maxCount {
			return nil, errCount
		}
	}
	maps.Copy(s.methods, c.Methods)
	maps.Copy(s.reasons, c.Reasons)
	for class, n := range c.Lengths {
		if class < 0 || class >= len(s.lengths) {
			return nil, errCount
		}
		s.lengths[class] = n
	}
	for name, arm := range c.By {
		if arm == nil {
			return nil, errCount
		}
		var err error
		if s.by[name], err = arm.scores(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Grouped reports whether replies share problems.
func (s *Scores) Grouped() bool { return len(s.problems) > 0 }

// Counts returns the scores as JSON, without the problems.
func (s *Scores) Counts() ([]byte, error) { return json.Marshal(s.counts()) }

// A group is the replies to one problem, on a line.
type group struct {
	By      *string          `json:"by,omitempty"` // the value of --by-field
	Problem digest           `json:"problem"`
	Replies share            `json:"replies"`
	Votes   map[digest]share `json:"votes,omitempty"`
}

// maxGroup bounds the line of a problem: a vote takes some 50 bytes.
const maxGroup = 64 << 20

// WriteGroups writes the problems, each on a line, in the order of their digests.
func (s *Scores) WriteGroups(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, arm := range slices.Sorted(maps.Keys(s.by)) {
		if err := s.by[arm].writeProblems(out, &arm); err != nil {
			return err
		}
	}
	if len(s.by) == 0 {
		if err := s.writeProblems(out, nil); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (s *Scores) writeProblems(w io.Writer, by *string) error {
	less := func(a, b digest) int { return bytes.Compare(a[:], b[:]) }
	for _, problem := range slices.SortedFunc(maps.Keys(s.problems), less) {
		g := s.problems[problem]
		line, err := json.Marshal(group{by, problem, g.share, g.votes})
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// AddPart adds the scores of a part of the run that another process has made: what Counts
// and WriteGroups wrote. groups may be nil.
func (s *Scores) AddPart(data []byte, groups io.Reader) error {
	var c *counts
	if err := foreignjson.Check(data); err != nil {
		return fmt.Errorf("the scores: %w", err)
	}
	err := json.Unmarshal(data, &c)
	if err == nil && c == nil {
		err = errCount
	}
	var part *Scores
	if err == nil {
		part, err = c.scores()
	}
	if err == nil && groups != nil {
		err = part.readGroups(groups)
	}
	if err != nil {
		return fmt.Errorf("the scores: %w", err)
	}
	s.merge(part)
	return nil
}

func (s *Scores) readGroups(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var g group
		if err == nil && len(line) > maxGroup {
			err = errors.New("it is too long")
		}
		if err == nil {
			err = cmp.Or(foreignjson.Check(batch.TrimLine(line)), json.Unmarshal(line, &g))
		}
		if err == nil {
			err = s.addGroup(&g)
		}
		if err != nil {
			return fmt.Errorf("line %d of the groups: %w", number, err)
		}
	}
}

// addGroup adds a problem to the scores and to those of its arm. The two are added up
// further, so they share nothing.
func (s *Scores) addGroup(g *group) error {
	votes := 0
	for _, n := range g.Votes {
		votes += n.n
	}
	if votes < 0 || votes > g.Replies.n {
		return errCount
	}
	sets := []*Scores{s}
	if g.By != nil {
		arm := s.by[*g.By]
		if arm == nil {
			return errors.New("there are no scores of its value")
		}
		sets = append(sets, arm)
	}
	for _, set := range sets {
		one := &samples{g.Replies, maps.Clone(g.Votes)}
		if one.votes == nil {
			one.votes = map[digest]share{}
		}
		set.mergeSamples(g.Problem, one)
	}
	return nil
}

// NewScores returns scores of nothing, to which parts are added.
func NewScores() *Scores { return newScores() }
