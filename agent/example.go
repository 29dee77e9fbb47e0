package agent

import (
	"embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/model"
)

// embedded stands for the folder of the files that come with the package. No path
// of a real file can be below it.
const embedded = "\x00"

//go:embed experiments
var experiments embed.FS

// Example returns the configuration of the experiment that comes with the package: ten
// cycles of a scripted model.
func Example() *Config { return embeddedConfig("first.yaml") }

// ExampleAgent returns the configuration of the agent that comes with the package: a
// scripted one for a chat.
func ExampleAgent() *Config { return embeddedConfig("chat.yaml") }

func embeddedConfig(name string) *Config {
	data, err := experiments.ReadFile("experiments/" + name)
	if err != nil {
		panic(err) // it is embedded, so it cannot fail
	}
	c, err := ParseConfig(name, data)
	if err != nil {
		panic(fmt.Sprintf("agent: %v", err))
	}
	c.folder = embedded
	return c
}

// openModel opens the scripted model of [Example], and any other with [model.Open].
func openModel(c model.Config) (model.Model, error) {
	name, ok := strings.CutPrefix(filepath.ToSlash(c.Script), embedded+"/")
	if c.Provider != "scripted" || !ok {
		return model.Open(c)
	}
	f, err := experiments.Open("experiments/" + name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := model.ReadScript(f, name)
	if err != nil {
		return nil, err
	}
	return model.NewScripted(c.Model, s), nil
}
