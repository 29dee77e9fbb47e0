package ollama

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// https://github.com/ollama/ollama/blob/main/docs/api.md#list-local-models
var models = &wire.Models{
	Path: "/api/tags", Lists: []string{"/api/tags"},
	Read: func(list []byte) (models []wire.Model) {
		for _, entry := range jsonedit.Parse(list).Get("models").Array() {
			m := wire.Model{Name: cmp.Or(entry.Get("model").Str, entry.Get("name").Str)}
			m.Created, _ = time.Parse(time.RFC3339, entry.Get("modified_at").Str)
			models = append(models, m)
		}
		return models
	},
	Write: func(list []wire.Model) []byte {
		all := make([]listedModel, len(list))
		for i, m := range list {
			sum := sha256.Sum256([]byte(m.Name))
			all[i] = listedModel{m.Name, m.Name, m.Created, 0, hex.EncodeToString(sum[:]), details{}}
		}
		b, _ := json.Marshal(map[string]any{"models": all}) // texts and times
		return b
	},
}

// A listedModel has a digest of its name: clients show the beginning of it without looking how long it
// is.
type listedModel struct {
	Name     string    `json:"name"`
	Model    string    `json:"model"`
	Modified time.Time `json:"modified_at"`
	Size     int64     `json:"size"`
	Digest   string    `json:"digest"`
	Details  details   `json:"details"`
}

// details are those of a file with weights. Nothing is known of it.
type details struct {
	Parent       string   `json:"parent_model"`
	Format       string   `json:"format"`
	Family       string   `json:"family"`
	Families     []string `json:"families"`
	Parameters   string   `json:"parameter_size"`
	Quantization string   `json:"quantization_level"`
}

const jsonType = "application/json; charset=utf-8"

// version is that of the server whose API this is. Clients refuse older ones.
const version = "0.12.6"

func always(body, mediaType string) func([]byte, []wire.Model) ([]byte, string, bool) {
	return func([]byte, []wire.Model) ([]byte, string, bool) { return []byte(body), mediaType, true }
}

// show says what clients look for before they use a model: what it can do, and its context.
func show(body []byte, models []wire.Model) (reply []byte, mediaType string, ok bool) {
	asked := jsonedit.Parse(body)
	name := cmp.Or(asked.Get("model").Str, asked.Get("name").Str)
	i := slices.IndexFunc(models, func(m wire.Model) bool { return m.Name == name || m.Name+":latest" == name || m.Name == name+":latest" })
	if name == "" || i < 0 && len(models) > 0 {
		return nil, "", false
	}
	const architecture = "unknown"
	info := map[string]any{"general.architecture": architecture, "general.basename": name}
	var m wire.Model // nothing is known of one that no list names
	if i >= 0 {
		m = models[i]
	}
	if m.Context > 0 {
		info[architecture+".context_length"] = m.Context
	}
	can := []string{"completion"}
	for _, c := range []struct {
		name string
		is   wire.Ability
	}{{"tools", m.Tools}, {"vision", m.Pictures}, {"thinking", m.Thinking}} {
		if c.is != wire.AbilityLacks { // what is not claimed, clients do not even try
			can = append(can, c.name)
		}
	}
	reply, _ = json.Marshal(map[string]any{
		"modelfile": "", "parameters": "", "template": "", "details": details{}, "model_info": info,
		"capabilities": can, "modified_at": time.Time{},
	})
	return reply, jsonType, true
}
