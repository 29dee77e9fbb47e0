// Package panel lets several models rate the same texts, blind to one another and to who
// wrote what, and says how far they agree.
//
// A rater is a judge of package judge with a record of its own. It gets a text, the criteria
// of a rubric in an order of chance, and nothing else. [Collector] takes the texts from the
// events of a record: one for each cycle of a run, or for each reply that belongs to no
// cycle. [NewResult] makes the tables of what the raters gave.
//
// Texts that are the same are rated once: they are one unit of the agreement.
package panel

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/model"
)

// A Rater is a model that rates.
type Rater struct {
	Name    string
	Model   model.Config
	Dialect string // of its replies; "" means that of the model's name
	// Temperature, MaxTokens and Think replace those of the rubric, if they are set.
	Temperature *float64
	MaxTokens   int
	Think       string
}

// maxRaters bounds a panel.
const maxRaters = 50

// raterName is a name that is a folder on every system.
var raterName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

type raterRow struct {
	Name  string `yaml:"name"`
	Model struct {
		Provider string `yaml:"provider"`
		Name     string `yaml:"name"`
		URL      string `yaml:"url"`
		KeyEnv   string `yaml:"key-env"`
		KeyFile  string `yaml:"key-file"`
		Script   string `yaml:"script"`
	} `yaml:"model"`
	Dialect     string   `yaml:"dialect"`
	Temperature *float64 `yaml:"temperature"`
	MaxTokens   int      `yaml:"max-tokens"`
	Think       string   `yaml:"think"`
}

// ReadRaters reads the raters of a panel:
//
//	v: 1
//	raters:
//	  - name: a
//	    model: {provider: ollama, name: qwen3:8b, url: "http://localhost:11434"}
//	    dialect: qwen3          # optional: that of the model's name
//	    temperature: 0.7        # optional: the rubric's; so are max-tokens and think
//	  - name: b
//	    model: {provider: openai, name: gpt-4o-mini, key-file: key.txt}
//
// Files are relative to the folder of the file. The error joins all faults, each with its
// place.
func ReadRaters(name string, data []byte, getenv func(string) string) ([]Rater, error) {
	d := yamlfile.Document{Name: name}
	n := d.Read(data)
	if n == nil {
		if err := d.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: the file is empty", name)
	}
	var file struct {
		V      int        `yaml:"v"`
		Raters []raterRow `yaml:"raters"`
	}
	d.Decode(n, "", &file)
	if file.V != 1 {
		d.FaultAt("v", "want 1, the version of this form")
	}
	if len(file.Raters) == 0 || len(file.Raters) > maxRaters {
		d.FaultAt("raters", "want 1 to %d raters", maxRaters)
	}
	beside := func(file string) string {
		if file == "" || filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(filepath.Dir(name), file)
	}
	var list []Rater
	seen := map[string]bool{}
	for i, row := range file.Raters {
		at := fmt.Sprintf("raters[%d]", i)
		key := strings.ToLower(row.Name) // some file systems do not tell cases apart
		switch {
		case !raterName.MatchString(row.Name):
			d.FaultAt(yamlfile.Join(at, "name"), "want a name of letters, digits, dots, _ and -, at most 64")
		case seen[key]:
			d.FaultAt(yamlfile.Join(at, "name"), "%s is taken", row.Name)
		}
		seen[key] = true
		if err := row.check(); err != nil {
			d.FaultAt(at, "%w", err)
		}
		r := Rater{Name: row.Name, Dialect: row.Dialect, Temperature: row.Temperature, MaxTokens: row.MaxTokens, Think: row.Think}
		r.Model = model.Config{Provider: row.Model.Provider, Model: row.Model.Name, URL: row.Model.URL, KeyFile: beside(row.Model.KeyFile), Script: beside(row.Model.Script)}
		if env := row.Model.KeyEnv; env != "" {
			if r.Model.Key = model.Secret(getenv(env)); r.Model.Key == "" {
				d.FaultAt(yamlfile.Join(at, "model.key-env"), "the environment has no variable with this name")
			}
		}
		list = append(list, r)
	}
	return list, d.Err()
}

func (r *raterRow) check() error {
	if r.Temperature != nil && !(*r.Temperature >= 0 && *r.Temperature <= 10) {
		return errors.New("temperature: want 0 to 10")
	}
	switch r.Think {
	case "", "true", "false", "low", "medium", "high":
	default:
		return errors.New("think: want true, false, low, medium or high")
	}
	switch {
	case r.MaxTokens < 0:
		return errors.New("max-tokens: want 1 or more")
	case r.Model.KeyEnv != "" && r.Model.KeyFile != "":
		return errors.New("model.key-file: key-env is set too: keep one of them")
	case r.Model.Provider == "":
		return errors.New("model.provider: want scripted, ollama, openai or anthropic")
	}
	return nil
}

// Rubric returns the rubric with the settings of the rater.
func (r *Rater) Rubric(of *judge.Rubric) *judge.Rubric {
	own := *of
	if own.Of == "" {
		own.Of = judge.OfReply
	}
	if r.Temperature != nil {
		own.Temperature = r.Temperature
	}
	if r.MaxTokens > 0 {
		own.MaxTokens = r.MaxTokens
	}
	if r.Think != "" {
		own.Think = r.Think
	}
	return &own
}
