package honest

import (
	"strconv"
	"strings"
)

// A family is a kind of models: the prompt that its chat template makes, and how its
// model writes a thought. The templates are those of the models, without tools and
// system prompts.
type family struct {
	model       string
	begin       string // of a prompt
	user, after string // around the text of a user's turn
	header      string // begins the turn of the assistant
	open, close string // markers; without them, the model does not think
	// on and off follow the header, by the switch that the template reads.
	on, off string
	kwarg   string // the member of chat_template_kwargs; empty if the template has no switch
	thinks  bool   // without a switch in the request
	unknown bool   // no dialect has the model's name
}

var families = []family{
	// deepseek-ai/DeepSeek-R1-0528, tokenizer_config.json.
	{model: "deepseek-r1", begin: "<｜begin▁of▁sentence｜>", user: "<｜User｜>", header: "<｜Assistant｜>", open: "<think>", close: "</think>", on: "<think>\n", thinks: true},
	// Qwen/Qwen3-4B-Thinking-2507: the template always opens the block.
	chatML("qwen3-4b-thinking-2507", "<think>\n", "", ""),
	// Qwen/Qwen3-8B: the model writes the opener; off is an empty block.
	chatML("qwen3-8b", "", "<think>\n\n</think>\n\n", "enable_thinking"),
	// Qwen/Qwen3.5: the template opens the block.
	chatML("qwen3.5-9b", "<think>\n", "<think>\n\n</think>\n\n", "enable_thinking"),
	// nvidia/NVIDIA-Nemotron-3-Nano: <think></think> if off.
	chatML("nemotron-3-nano", "<think>\n", "<think></think>", "enable_thinking"),
	// zai-org/GLM-4.5: the model writes the opener.
	{model: "glm-4.5-air", begin: "[gMASK]<sop>", user: "<|user|>\n", header: "<|assistant|>\n", open: "<think>", close: "</think>", off: "<think></think>\n", kwarg: "enable_thinking", thinks: true},
	// zai-org/GLM-4.7: the template opens the block, and closes it if off.
	{model: "glm-4.7", begin: "[gMASK]<sop>", user: "<|user|>", header: "<|assistant|>", open: "<think>", close: "</think>", on: "<think>", off: "</think>", kwarg: "enable_thinking", thinks: true},
	// deepseek-ai/DeepSeek-V3.1: off unless the request switches it on.
	{model: "deepseek-v3.1", begin: "<｜begin▁of▁sentence｜>", user: "<｜User｜>", header: "<｜Assistant｜>", open: "<think>", close: "</think>", on: "<think>", off: "</think>", kwarg: "thinking"},
	// Models that no dialect names: one whose template opens the block, one that reads
	// a switch of its own, and one that does not think.
	unnamed(chatML("frobnicator-thinker", "<think>\n", "", "")),
	unnamed(asked(chatML("frobnicator-hybrid", "<think>\n", "<think>\n\n</think>\n\n", "deep_thought"))),
	plain(unnamed(chatML("frobnicator-plain", "", "", ""))),
	// meta-llama/Llama-3.1-8B-Instruct does not think.
	plain(chatML("llama-3.1-8b", "", "", "")),
}

func chatML(model, on, off, kwarg string) family {
	return family{
		model: model, user: "<|im_start|>user\n", after: "<|im_end|>\n", header: "<|im_start|>assistant\n",
		open: "<think>", close: "</think>", on: on, off: off, kwarg: kwarg, thinks: true,
	}
}

func unnamed(f family) family { f.unknown = true; return f }
func asked(f family) family   { f.thinks = false; return f }
func plain(f family) family   { f.open, f.close, f.thinks = "", "", false; return f }

// find returns the family of a model.
func find(model string) family {
	for _, f := range families {
		if f.model == model {
			return f
		}
	}
	panic("no family of " + model)
}

// generation is what a template writes for the reply to begin.
func (f family) generation(thinks bool) string {
	if thinks || f.kwarg == "" {
		return f.header + f.on
	}
	return f.header + f.off
}

// A turn is a message of a conversation, as a server reads it.
type turn struct{ role, text, thought string }

// render is what the chat template makes of turns. Earlier turns of the assistant lose
// their thoughts.
func (f family) render(turns []turn) string {
	var b strings.Builder
	b.WriteString(f.begin)
	for _, t := range turns {
		if t.role == "assistant" {
			b.WriteString(f.header + t.text + f.after)
			continue
		}
		b.WriteString(f.user + t.text + f.after)
	}
	return b.String()
}

// jinja is the chat template as a server shows it.
func (f family) jinja() string {
	tail := "{{ " + literal(f.on) + " }}"
	if f.kwarg != "" {
		unset := ""
		if f.thinks {
			unset = f.kwarg + " is not defined or "
		}
		tail = "{% if " + unset + f.kwarg + " %}" + tail + "{% else %}{{ " + literal(f.off) + " }}{% endif %}"
	}
	return f.jinjaTurns() + "{% if add_generation_prompt %}{{ " + literal(f.header) + " }}" + tail + "{% endif %}"
}

func (f family) jinjaTurns() string {
	return literalText(f.begin) + "{% for m in messages %}{% if m.role == 'assistant' %}{{ " + literal(f.header) + " + m.content + " + literal(f.after) +
		" }}{% else %}{{ " + literal(f.user) + " + m.content + " + literal(f.after) + " }}{% endif %}{% endfor %}"
}

// chosenTemplate is a template that a client sends in place of the model's: the same
// turns, and then a text.
func (f family) chosenTemplate(end string) string {
	return f.jinjaTurns() + "{% if add_generation_prompt %}{{ " + literal(end) + " }}{% endif %}"
}

// endOfChosen returns the text that a template of a client ends with.
func endOfChosen(template string) string {
	_, end, _ := strings.Cut(template, "{% if add_generation_prompt %}{{ '")
	end, _, _ = strings.Cut(end, "' }}{% endif %}")
	return strings.ReplaceAll(end, `\n`, "\n")
}

func literalText(s string) string {
	if s == "" {
		return ""
	}
	return "{{ " + literal(s) + " }}"
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "\n", `\n`) + "'" }

// goTemplate is the template as Ollama shows it.
func (f family) goTemplate() string {
	tail := f.on
	if f.kwarg != "" {
		tail = "{{ if .Think }}" + f.on + "{{ else }}" + f.off + "{{ end }}"
	}
	return f.begin + "{{ range .Messages }}{{ if eq .Role \"assistant\" }}" + f.header + "{{ if .Thinking }}" + f.open + "{{ .Thinking }}" + f.close +
		"{{ end }}{{ .Content }}{{ else }}" + f.user + "{{ .Content }}" + f.after + "{{ end }}{{ end }}" + f.header + tail
}

// The vocabulary of the servers: the text of each token that has an id here.
const firstID = 151660

func (f family) vocabulary() []string {
	return []string{"Hi there.", "\n", "ok", f.open, f.close, f.begin, f.user, f.after, f.header, f.header + f.on, " "}
}

// ids is a prompt as token ids: the turn of a user, the header of the assistant, and an
// opener.
func (f family) openedIDs() []any {
	ids := []any{}
	for _, text := range []string{f.begin, f.user, "Hi there.", f.after, f.header, f.open, "\n"} {
		if text != "" {
			ids = append(ids, f.id(text))
		}
	}
	return ids
}

func (f family) id(text string) float64 {
	for i, t := range f.vocabulary() {
		if t == text {
			return float64(firstID + i)
		}
	}
	panic("no token " + strconv.Quote(text))
}

func (f family) decode(ids []any) string {
	var b strings.Builder
	for _, id := range ids {
		switch id := id.(type) {
		case string: // llama.cpp mixes texts and ids
			b.WriteString(id)
		case float64:
			if i := int(id) - firstID; i >= 0 && i < len(f.vocabulary()) {
				b.WriteString(f.vocabulary()[i])
			}
		}
	}
	return b.String()
}
