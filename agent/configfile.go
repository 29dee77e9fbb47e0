package agent

import (
	"cmp"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// ReadConfig reads the file of an agent or an experiment: YAML with the keys of
// [Config]. If an experiment names the file of its agent, that file is read too. All
// faults are in one [*ConfigError].
func ReadConfig(name string) (*Config, error) {
	data, err := yamlfile.Load(name)
	if err != nil {
		return nil, err
	}
	return ParseConfig(name, data)
}

// ParseConfig reads the bytes of a file as [ReadConfig] does. Paths in the file are
// relative to the folder of its name.
func ParseConfig(name string, data []byte) (*Config, error) {
	return (&Config{document: yamlfile.Document{Name: name}, folder: filepath.Dir(name), data: data}).parse(nil)
}

// With reads the file again, with some of its keys set to other values. If the file
// is an experiment that names the file of its agent, the agent's keys can be set too.
func (c *Config) With(set []Setting) (*Config, error) {
	return (&Config{document: yamlfile.Document{Name: c.document.Name}, folder: c.folder, data: c.data}).parse(set)
}

// A Setting is a key of a file and the value that replaces the one in the file.
type Setting struct {
	// Key is the path of the key, such as "model.name" or "tools[0].url".
	Key string
	// Value is a scalar, or a list or a mapping in YAML's flow style. "" removes the key.
	Value string
}

func (s Setting) source() string { return "--set " + s.Key }

// top returns the first part of the key.
func (s Setting) top() string { return s.Key[:len(s.Key)-len(strings.TrimLeft(s.Key, letters))] }

// parse reads the file, and that of the agent if it names one.
func (c *Config) parse(set []Setting) (*Config, error) {
	root := c.document.Read(c.data)
	hasAgent := root != nil && slices.ContainsFunc(root.Members, func(m yamlfile.Member) bool { return m.Key.Text == "agent" })
	hasAgent = hasAgent || slices.ContainsFunc(set, func(s Setting) bool { return s.Key == "agent" && s.Value != "" })
	var ours, agents []Setting
	for _, s := range set {
		if !hasAgent || slices.Contains(experimentKeys, s.top()) || slices.Contains(sharedKeys, s.top()) {
			ours = append(ours, s)
		} else {
			agents = append(agents, s)
		}
	}
	c.decode(root, ours)
	c.readAgent(agents)
	if len(c.document.Faults) > 0 {
		return nil, configError(c.document.Faults)
	}
	return c, nil
}

// parseOne reads one file. Its faults are those of its document.
func parseOne(name string, data []byte, set []Setting) *Config {
	c := &Config{document: yamlfile.Document{Name: name}, folder: filepath.Dir(name), data: data}
	c.decode(c.document.Read(data), set)
	return c
}

// decode takes the keys of one file. If root is nil, the file could not be read.
func (c *Config) decode(root *yamlfile.Node, set []Setting) {
	if root != nil {
		for _, s := range set {
			c.set(root, s)
		}
		c.document.Decode(root, "", c)
	}
	if c.V != 1 && len(c.document.Faults) == 0 {
		c.document.FaultAt("v", "want 1, the only version there is")
	}
}

// set replaces the value of a key.
func (c *Config) set(root *yamlfile.Node, s Setting) {
	var value *yamlfile.Node
	var err error
	if s.Value != "" {
		value, err = yamlfile.ParseValue(s.source(), s.Value)
	}
	if err == nil {
		err = root.Set(s.Key, value)
	}
	if err != nil {
		c.document.Faults = append(c.document.Faults, yamlfile.Fault{Place: yamlfile.Place{File: s.source()}, Key: s.Key, Err: err})
	}
}

// experimentKeys are the keys of an experiment that an agent does not have. An
// experiment that names its agent's file may also have sharedKeys; all other keys
// are the agent's.
var (
	experimentKeys = []string{"agent", "goal", "cycles", "reflection", "reflection-budget", "reflection-heading", "reflection-label", "carry-calls", "carry-budget", "advisory", "operator"}
	sharedKeys     = []string{"v", "name", "limits"}
)

// readAgent reads the file that an experiment names, and takes the agent's keys from
// it. Faults of that file are added to those of the experiment.
func (c *Config) readAgent(set []Setting) {
	if c.AgentFile == "" {
		return
	}
	name := c.file(c.AgentFile)
	for _, key := range c.keys() {
		if !slices.Contains(experimentKeys, key) && !slices.Contains(sharedKeys, key) {
			c.document.FaultAt(key, "is a key of the agent: put it into %s", name)
		}
	}
	data, err := yamlfile.Load(name)
	if err != nil {
		c.document.FaultAt("agent", "%w", err)
		return
	}
	a := parseOne(name, data, set)
	for _, key := range a.keys() {
		if slices.Contains(experimentKeys, key) {
			a.document.FaultAt(key, "is a key of an experiment: put it into %s", c.document.Name)
		}
	}
	c.document.Faults = append(c.document.Faults, a.document.Faults...)
	c.agent = a
	c.inherit(a)
}

// inherit takes the keys of the agent. The limits of the experiment take precedence.
func (c *Config) inherit(a *Config) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(a).Elem()
	for i := range to.NumField() {
		key := to.Type().Field(i).Tag.Get("yaml")
		switch {
		case key == "" || slices.Contains(experimentKeys, key):
		case key == "limits":
			over(to.Field(i), from.Field(i))
		case to.Field(i).IsZero():
			to.Field(i).Set(from.Field(i))
		}
	}
}

// over fills in the fields of a struct that are not set.
func over(to, from reflect.Value) {
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// keys returns the keys at the top of the file that have a value, in the order in
// which they stand there.
func (c *Config) keys() []string {
	places := c.document.Places()
	list := slices.Collect(maps.Keys(places))
	list = slices.DeleteFunc(list, func(path string) bool { return path == "" || strings.ContainsAny(path, ".[") })
	slices.SortFunc(list, func(a, b string) int {
		x, y := places[a], places[b]
		return cmp.Or(x.Line-y.Line, x.Column-y.Column)
	})
	return list
}

// placeOf returns where the value of a path stands: in this file, or in that of the
// agent.
func (c *Config) placeOf(path string) yamlfile.Place {
	if c.agent != nil {
		top := path[:len(path)-len(strings.TrimLeft(path, letters))]
		ours := c.has(path) || slices.Contains(experimentKeys, top)
		if shared := slices.Contains(sharedKeys, top); !ours && (!shared || c.agent.has(top)) {
			return c.agent.document.PlaceOf(path)
		}
	}
	return c.document.PlaceOf(path)
}

const letters = "abcdefghijklmnopqrstuvwxyz-"

// has reports whether the file has a value at a path.
func (c *Config) has(path string) bool { _, ok := c.document.Places()[path]; return ok }

// file resolves a path of the experiment's file against its folder.
func (c *Config) file(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.folder, name)
}

// agentFile resolves a path of the agent's file against its folder.
func (c *Config) agentFile(name string) string {
	if c.agent != nil {
		return c.agent.file(name)
	}
	return c.file(name)
}

// settings returns what the record says of the experiment: the settings that a run
// depends on, in whichever file they stand. The addresses where it is served, the
// keys it uses, what its card says, what is shown of its tools and its schedules are not
// among them.
func (c *Config) settings() map[string]any {
	k := *c
	k.AgentFile, k.Description, k.Version, k.Skills, k.Previews, k.Schedule = "", "", "", nil, false, nil
	k.Model.URL, k.Model.KeyEnv, k.Model.KeyFile = "", "", ""
	k.Operator.Listen = ""
	k.Agents = slices.Clone(c.Agents)
	for i := range k.Agents {
		m := &k.Agents[i].Model
		m.URL, m.KeyEnv, m.KeyFile = "", "", ""
	}
	k.Tools = slices.Clone(c.Tools)
	for i := range k.Tools {
		t := &k.Tools[i]
		t.HeadersEnv, t.URL, t.Command, t.Env, t.TokenEnv, t.TokenFile = nil, "", nil, nil, "", ""
	}
	return plainOf(k)
}

var durationType = reflect.TypeFor[time.Duration]()

// plainOf returns a struct of the file as keys and values, without the keys that
// are not set.
func plainOf(s any) map[string]any {
	v := reflect.ValueOf(s)
	out := map[string]any{}
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		if name == "" || f.IsZero() {
			continue
		}
		switch {
		case f.Kind() == reflect.Struct:
			out[name] = plainOf(f.Interface())
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			var list []any
			for j := range f.Len() {
				list = append(list, plainOf(f.Index(j).Interface()))
			}
			out[name] = list
		case f.Type() == durationType:
			out[name] = f.Interface().(time.Duration).String()
		default:
			out[name] = f.Interface()
		}
	}
	return out
}

// File is the name of the file.
func (c *Config) File() string { return c.document.Name }

// Files returns the files that the experiment is read from, and then those that its
// models play. Files with keys are not among them.
func (c *Config) Files() (settings, scripts []string) {
	settings = []string{c.File()}
	if c.agent != nil {
		settings = append(settings, c.agent.File())
	}
	if c.Prices != "" {
		settings = append(settings, c.agentFile(c.Prices))
	}
	for _, m := range append([]ModelConfig{c.Model}, c.agentModels()...) {
		if name := c.agentFile(m.Script); name != "" && !slices.Contains(scripts, name) {
			scripts = append(scripts, name)
		}
	}
	return settings, scripts
}

func (c *Config) agentModels() (list []ModelConfig) {
	for _, a := range c.Agents {
		list = append(list, a.Model)
	}
	return list
}
