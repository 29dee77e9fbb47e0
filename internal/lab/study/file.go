package study

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A File is a study's file. docs/study.md says what each key means.
type File struct {
	V           int              `yaml:"v"`
	Name        string           `yaml:"name"`
	Question    string           `yaml:"question"`
	Base        baseKeys         `yaml:"base"`
	Grid        *yamlfile.Node   `yaml:"grid"`
	Exclude     []*yamlfile.Node `yaml:"exclude"`
	Repetitions int              `yaml:"repetitions"`
	Seed        *SeedKey         `yaml:"seed"`
	Order       []string         `yaml:"order"`
	Workers     int              `yaml:"workers"`
	Servers     map[string]int   `yaml:"servers"`
	Budget      Budget           `yaml:"budget"`
	Prices      string           `yaml:"prices"`
	Start       string           `yaml:"start"`
	Stop        string           `yaml:"stop"`
	Outages     Outages          `yaml:"outages"`
	Compare     *Comparison      `yaml:"compare"`
	Record      Record           `yaml:"record"`
	Versions    Versions         `yaml:"versions"`

	// Kind is what the base is.
	Kind Kind `yaml:""`
	// Text is the file as it was read.
	Text string `yaml:""`

	document yamlfile.Document
	folder   string
	keys     []gridKey
	base     []Setting // of a stream, and what --set says
}

type baseKeys struct {
	Run   string         `yaml:"run"`
	Set   *yamlfile.Node `yaml:"set"`
	Solve *yamlfile.Node `yaml:"solve"`
}

// A SeedKey names the key that each repetition sets to another number.
type SeedKey struct {
	Key   string `yaml:"key"`
	First *int64 `yaml:"first"`
}

// A Budget bounds a study as a whole. A cell does not begin when one is spent. Zero
// means no bound.
type Budget struct {
	Tokens int64         `yaml:"tokens"`
	Cost   float64       `yaml:"cost"`
	Time   time.Duration `yaml:"time"` // of all cells, added up
}

// Outages says how often a cell is tried again that an outage suspended, and how
// long the first wait is. Each further wait is twice as long.
type Outages struct {
	Retries *int          `yaml:"retries"`
	Wait    time.Duration `yaml:"wait"`
}

// A Faulty error has the faults of a study's file, each with its place.
type Faulty struct{ Faults []yamlfile.Fault }

func (f *Faulty) Error() string {
	var list []error
	for _, fault := range f.Faults {
		list = append(list, fault)
	}
	return errors.Join(list...).Error()
}

const (
	maxRepetitions = MaxCells
	maxWorkers     = 256
)

// ReadFile reads a study's file. If it has faults, the error is a [*Faulty] with all
// of them.
func ReadFile(name string) (*File, error) {
	data, err := yamlfile.Load(name)
	if err != nil {
		return nil, err
	}
	return ParseFile(name, data)
}

// ParseFile reads the bytes of a file. Paths in it are relative to the folder of its
// name.
func ParseFile(name string, data []byte) (*File, error) {
	f := &File{document: yamlfile.Document{Name: name}, folder: filepath.Dir(name), Text: string(data)}
	if n := f.document.Read(data); n != nil {
		f.document.Decode(n, "", f)
	}
	if len(f.document.Faults) == 0 {
		f.check()
	}
	if len(f.document.Faults) == 0 {
		f.checkCells()
	}
	return f, f.err()
}

func (f *File) err() error {
	if len(f.document.Faults) == 0 {
		return nil
	}
	return &Faulty{f.document.Faults}
}

func (f *File) check() {
	fault := f.document.FaultAt
	if f.V != 1 {
		fault("v", "want 1, the only version there is")
	}
	if f.Name == "" {
		fault("name", "is missing")
	} else if err := checkID(f.Name); err != nil {
		fault("name", "%w", err)
	}
	f.checkBase()
	if f.Grid != nil {
		f.readGrid()
	}
	f.checkNumbers()
	f.checkRecord()
	if (f.Start == "") != (f.Stop == "") {
		fault("start", "want both start and stop, or neither")
	}
	for _, at := range []struct{ key, text string }{{"start", f.Start}, {"stop", f.Stop}} {
		if _, err := timeOfDay(at.text); at.text != "" && err != nil {
			fault(at.key, "%w", err)
		}
	}
	if f.Start != "" && f.Start == f.Stop {
		fault("stop", "is the same time as start")
	}
	if f.Seed != nil && f.Seed.Key == "" {
		fault("seed", "want {key: model.seed, first: 1}: the key that each repetition sets")
	}
	if f.Budget.Cost > 0 && f.Prices == "" && f.Kind == Runs {
		fault("budget.cost", "needs prices: FILE")
	}
}

func (f *File) checkBase() {
	switch b := f.Base; {
	case b.Run != "" && b.Solve == nil:
		f.Kind = Runs
		if b.Set != nil {
			f.readBase("base.set", b.Set)
		}
	case b.Run == "" && b.Solve != nil && b.Set == nil:
		f.Kind = Streams
		f.readBase("base.solve", b.Solve)
	default:
		f.document.FaultAt("base", "want {run: EXPERIMENT.yaml}, perhaps with set: {KEY: VALUE}, or {solve: {task: …}} with flags of sotto solve")
	}
}

func (f *File) readBase(path string, n *yamlfile.Node) {
	f.document.Keys(n, path, func(key *yamlfile.Node, path string, value *yamlfile.Node) {
		f.document.Mark(path, value)
		f.base = append(f.base, f.setting(path, key.Text, value)...)
	})
}

func (f *File) checkNumbers() {
	fault := f.document.FaultAt
	within := func(key string, n, most int) {
		if n < 0 || n > most {
			fault(key, "%d: want 1 to %d", n, most)
		}
	}
	within("repetitions", f.Repetitions, maxRepetitions)
	within("workers", f.Workers, maxWorkers)
	for _, url := range slices.Sorted(maps.Keys(f.Servers)) {
		if n := f.Servers[url]; n < 1 || n > maxWorkers {
			fault("servers", "%s: %d: want 1 to %d", url, n, maxWorkers)
		}
	}
	f.Repetitions, f.Workers = max(f.Repetitions, 1), max(f.Workers, 1)
	if b := f.Budget; b.Tokens < 0 || !(b.Cost >= 0) || b.Time < 0 {
		fault("budget", "is negative: leave it out for no bound")
	}
	if o := f.Outages; o.Wait < 0 || o.Retries != nil && *o.Retries < 0 {
		fault("outages", "is negative")
	}
}

// checkCells checks what the cells as a whole must be.
func (f *File) checkCells() {
	n := f.Repetitions
	for _, k := range f.keys {
		if n *= len(k.entries); n > MaxCells {
			f.document.FaultAt("grid", "more than %d cells", MaxCells)
			return
		}
	}
	names := f.Keys()
	for i, key := range f.Order {
		if !slices.Contains(names, key) {
			f.document.FaultAt(fmt.Sprintf("order[%d]", i), "%q is not a key of the grid", key)
		}
	}
	if c := f.Compare; c != nil {
		i := slices.Index(names, c.By)
		if i < 0 {
			f.document.FaultAt("compare.by", "%q is not a key of the grid", c.By)
		} else if !slices.ContainsFunc(f.keys[i].entries, func(e entry) bool { return e.label == c.Baseline }) {
			f.document.FaultAt("compare.baseline", "%q is not a value of %s", c.Baseline, c.By)
		}
	}
	f.checkExclude(names)
	if len(f.document.Faults) == 0 && len(f.Cases()) == 0 {
		f.document.FaultAt("exclude", "leaves no cell")
	}
}

// Path returns a path of the file, relative to the folder of the file.
func (f *File) Path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.folder, name)
}

// FileName is the name of the file.
func (f *File) FileName() string { return f.document.Name }

// Set sets a key of the base, for all cells. The grid takes precedence.
func (f *File) Set(key, value string) error {
	source := "--set " + key
	n, err := yamlfile.ParseValue(source, value)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	f.base = slices.DeleteFunc(f.base, func(s Setting) bool { return s.Key == key })
	f.base = append(f.base, Setting{Key: key, At: source, node: n, place: yamlfile.Place{File: source}})
	return nil
}

// Fault makes a fault of a setting.
func (s *Setting) Fault(err error) yamlfile.Fault {
	key := s.At
	if key == s.place.File { // a flag, which the place names
		key = s.Key
	}
	return yamlfile.Fault{Place: s.place, Key: key, Err: err}
}

// BaseFault makes a fault of the base.
func (f *File) BaseFault(err error) yamlfile.Fault {
	key := "base." + string(f.Kind)
	return yamlfile.Fault{Place: f.document.PlaceOf(key), Key: key, Err: err}
}

// timeOfDay reads a time such as 22:00 as the time since midnight.
func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q: want a time of the day such as 22:00", text)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Opens returns how long to wait from now until cells may begin; 0 if they may.
func (f *File) Opens(now time.Time) time.Duration {
	if f.Start == "" {
		return 0
	}
	start, _ := timeOfDay(f.Start)
	stop, _ := timeOfDay(f.Stop)
	at := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute +
		time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	since := (at - start + 24*time.Hour) % (24 * time.Hour)
	if since < (stop-start+24*time.Hour)%(24*time.Hour) {
		return 0
	}
	return 24*time.Hour - since
}

// isModel reports whether a key belongs to the model, so that a server that loads
// one model at a time has to load another if it changes.
func isModel(kind Kind, key string) bool {
	if kind == Streams {
		return slices.Contains([]string{"model", "url", "provider"}, key)
	}
	return key == "model" || slices.Contains([]string{"model.name", "model.url", "model.provider", "model.script"}, key) ||
		strings.HasPrefix(key, "agents[") && strings.Contains(key, ".model")
}
