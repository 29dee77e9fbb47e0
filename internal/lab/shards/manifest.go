package shards

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A Job is what the output of a shard depends on.
type Job struct {
	V        int               `json:"v"`
	Command  string            `json:"command"`
	Shard    Shard             `json:"shard"`
	Sotto    string            `json:"sotto"` // the version
	Task     string            `json:"task,omitempty"`
	Rules    string            `json:"rules,omitempty"`    // of the task
	Dialects string            `json:"dialects"`           // the digest of the rows
	Settings map[string]string `json:"settings,omitempty"` // the flags that are set; of a file, the digest of what it holds
	Inputs   Inputs            `json:"inputs"`
	Pieces   []Piece           `json:"pieces"`
}

// Inputs are all inputs of a batch.
type Inputs struct {
	Count  int    `json:"count"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of their names, sizes and versions, in order
}

// Sum describes inputs.
func Sum(list []Input) Inputs {
	all, h := Inputs{Count: len(list)}, sha256.New()
	for _, in := range list {
		all.Bytes += in.Size
		fmt.Fprintf(h, "%q %d %q\n", in.Name, in.Size, in.Version)
	}
	all.Digest = digest(h.Sum(nil))
	return all
}

func digest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// Digest returns the digest of some bytes as manifests have it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// FileDigest returns the digest of a file.
func FileDigest(name string, most int64) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return digest(h.Sum(nil)), err
}

// A Manifest says what a shard has read and written. It has no times and no names of
// machines: two runs of a shard write the same bytes.
type Manifest struct {
	Job
	Records int   `json:"records"` // that were read
	Failed  int   `json:"failed"`  // of them
	Output  File  `json:"output"`
	Groups  *File `json:"groups,omitempty"` // the replies to each problem, of sotto score --k
	// Read says in which dialects the replies were read. Manifests of earlier versions
	// have none.
	Read *dialectset.Tally `json:"read,omitempty"`
	// Scores are the counts of sotto score.
	Scores json.RawMessage `json:"scores,omitempty"`
	// Compared is what sotto score --compare counted.
	Compared *Compared `json:"compared,omitempty"`
	// Asked has a bit for each line of a file of right answers, in base64: whether a
	// reply has asked for it.
	Asked []byte `json:"asked,omitempty"`
}

// A Compared is a part of the comparison with an earlier run.
type Compared struct {
	Changes map[string]int `json:"changes"`
	Lines   int            `json:"lines"` // judged by both runs
	Gained  int            `json:"gained"`
	Lost    int            `json:"lost"`
	Earlier Earlier        `json:"earlier"`           // of the whole earlier run
	Taken   Earlier        `json:"taken"`             // those that were compared
	Repeats bool           `json:"repeats,omitempty"` // an id comes twice
}

// An Earlier counts lines of an earlier run.
type Earlier struct {
	Lines int `json:"lines"`
	Right int `json:"right"`
}

// Add counts a line.
func (e *Earlier) Add(right bool) {
	e.Lines++
	if right {
		e.Right++
	}
}

// Add adds the part of another shard.
func (c *Compared) Add(more *Compared) {
	for name, n := range more.Changes {
		c.Changes[name] += n
	}
	c.Lines, c.Gained, c.Lost = c.Lines+more.Lines, c.Gained+more.Gained, c.Lost+more.Lost
	c.Earlier = more.Earlier // that of each is whole
	c.Taken = Earlier{c.Taken.Lines + more.Taken.Lines, c.Taken.Right + more.Taken.Right}
	c.Repeats = c.Repeats || more.Repeats
}

// A File is a file that a shard has written.
type File struct {
	Name   string `json:"name"` // in the folder of the manifest
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// MaxManifest bounds a manifest, in bytes. The pieces take some 200 bytes each.
const MaxManifest = 256 << 20

// ReadManifest reads a manifest.
func ReadManifest(data []byte) (*Manifest, error) {
	if err := (foreignjson.Limits{Members: 16 * foreignjson.MaxMembers}).Check(data); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("it is not the manifest of a shard: %w", err)
	}
	s := m.Shard
	switch {
	case m.V != 1 || m.Command == "":
		return nil, errors.New("it is not the manifest of a shard")
	case s.Count < 1 || s.Count > MaxCount || s.Index < 0 || s.Index >= s.Count:
		return nil, fmt.Errorf("it is that of shard %v, which does not exist", s)
	case m.Output.Name != s.Name()+OutputEnd || m.Groups != nil && m.Groups.Name != s.Name()+GroupsEnd:
		return nil, fmt.Errorf("it names the output %.200q, which is not that of shard %v", m.Output.Name, s)
	}
	return m, nil
}

// Append returns the bytes of a manifest.
func (m *Manifest) Append(dst []byte) ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return dst, fmt.Errorf("manifest: %w", err)
	}
	return append(append(dst, text...), '\n'), nil
}

// Against returns an error that names what differs from another job: with the same
// shard, what has changed since that one ran; with another, why the two are not parts of
// one batch.
func (j *Job) Against(was *Job) error {
	for _, d := range []struct{ what, now, was string }{
		{"the command", j.Command, was.Command},
		{"the number of shards", strconv.Itoa(j.Shard.Count), strconv.Itoa(was.Shard.Count)},
		{"the version of sotto", j.Sotto, was.Sotto},
		{"the task", j.Task, was.Task},
		{"the rules of the task", j.Rules, was.Rules},
		{"the digest of the dialects", j.Dialects, was.Dialects},
	} {
		if d.now != d.was {
			return fmt.Errorf("%s is %.200q, and was %.200q", d.what, d.now, d.was)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Settings)) {
		then, ok := was.Settings[name]
		switch now := j.Settings[name]; {
		case !ok:
			return fmt.Errorf("--%s is %.200q, and was not set", name, now)
		case now != then:
			return fmt.Errorf("--%s is %.200q, and was %.200q", name, now, then)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Settings)) {
		if _, ok := j.Settings[name]; !ok {
			return fmt.Errorf("--%.100s is not set, and was %.200q", name, was.Settings[name])
		}
	}
	if j.Shard.Index == was.Shard.Index {
		if err := changedPiece(j.Pieces, was.Pieces); err != nil {
			return err
		}
	}
	if j.Inputs != was.Inputs {
		return fmt.Errorf("the inputs are %d files with %d bytes, digest %s, and were %d files with %d bytes, digest %.100s", j.Inputs.Count, j.Inputs.Bytes, j.Inputs.Digest, was.Inputs.Count, was.Inputs.Bytes, was.Inputs.Digest)
	}
	return nil
}

// changedPiece names the first input of a shard that has changed.
func changedPiece(now, was []Piece) error {
	for i := range min(len(now), len(was)) {
		switch n, w := now[i], was[i]; {
		case n.Name != w.Name:
			return fmt.Errorf("input %d is %.200q, and was %.200q", n.Number+1, n.Name, w.Name)
		case n.Input != w.Input:
			return fmt.Errorf("the input %.200q has changed: %d bytes, %s; it had %d bytes, %.100s", n.Name, n.Size, n.Version, w.Size, w.Version)
		}
	}
	return nil
}
