package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sotto-llm/sotto"
)

// ollamaVersion is the version that the upstream reports.
const ollamaVersion = "0.17.4"

func serveOllamaVersion(x *exchange) error {
	return x.reply(http.StatusOK, object{{"version", ollamaVersion}})
}

func serveOllamaRoot(x *exchange) error {
	x.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := x.w.Write([]byte("Ollama is running"))
	return err
}

func serveOllamaTags(x *exchange) error {
	list := array{}
	for _, m := range load() {
		digest := sha256.Sum256([]byte(m.Name))
		list = append(list, object{
			{"name", m.Name}, {"model", m.Name}, {"modified_at", modifiedAt()}, {"size", 4683075271},
			{"digest", hex.EncodeToString(digest[:])}, {"details", ollamaDetails(&m)},
		})
	}
	return x.replyWith(ollamaJSON, http.StatusOK, object{{"models", list}})
}

func modifiedAt() string { return time.Unix(modelTime, 0).UTC().Format(time.RFC3339Nano) }

func ollamaDetails(m *Model) object {
	return object{
		{"parent_model", ""}, {"format", "gguf"}, {"family", m.Dialect}, {"families", array{m.Dialect}},
		{"parameter_size", "8.0B"}, {"quantization_level", "Q4_K_M"},
	}
}

func serveOllamaShow(x *exchange) error {
	var q struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	if err := x.decode(&q); err != nil {
		return err
	}
	name := q.Model
	if name == "" {
		name = q.Name
	}
	if err := x.cast(name); err != nil {
		return err
	}
	m := x.model
	capabilities := array{"completion"}
	if m.Call != nil {
		capabilities = append(capabilities, "tools")
	}
	if m.Reply.Thought != nil {
		capabilities = append(capabilities, "thinking")
	}
	info, _ := json.Marshal(map[string]any{"general.architecture": m.Dialect, "general.parameter_count": 8030261312})
	return x.replyWith(ollamaJSON, http.StatusOK, object{
		{"modelfile", "# " + m.Caption + "\nFROM scripted\n"}, {"template", ollamaTemplate(m)},
		{"details", ollamaDetails(m)}, {"model_info", json.RawMessage(info)},
		{"capabilities", capabilities}, {"modified_at", modifiedAt()},
	})
}

// ollamaTemplate is the template of a model's prompts. It opens the thought of a model
// whose replies begin in one.
func ollamaTemplate(m *Model) string {
	template := "<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n"
	if m.Reply.Start != sotto.BeginOutside {
		template += "<think>\n"
	}
	return template
}
