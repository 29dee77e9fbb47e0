package agent

import (
	"embed"
	"fmt"
	"path"

	"github.com/sotto-llm/sotto/model"
)

//go:embed experiments
var experiments embed.FS

// First is the configuration of the experiment that comes with the package: ten
// cycles of a scripted model. It is opened with [OpenFirst].
func First() *Config {
	data, err := experiments.ReadFile("experiments/first.yaml")
	if err != nil {
		panic(err) // it is embedded
	}
	c, err := ParseConfig("first.yaml", data)
	if err != nil {
		panic(fmt.Sprintf("agent: %v", err))
	}
	return c
}

// OpenFirst opens the scripted model of [First], and any other with [model.Open].
func OpenFirst(c model.Config) (model.Model, error) {
	if c.Provider != "scripted" || c.Script != "first.script.yaml" {
		return model.Open(c)
	}
	f, err := experiments.Open(path.Join("experiments", c.Script))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := model.ReadScript(f, c.Script)
	if err != nil {
		return nil, err
	}
	return model.NewScripted(c.Model, s), nil
}
