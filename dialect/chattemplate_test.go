package dialect_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

// Templates in the forms that models have, shortened to what matters.
var templates = []struct {
	name, text string
	opens      bool
}{
	{"Jinja: always", `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}`, true},
	{"Jinja: in double quotes, in its own turn token", `{%- if add_generation_prompt -%}{{ "<｜Assistant｜><think>\n" }}{%- endif -%}`, true},
	{"Jinja: text outside of actions", "<|im_start|>assistant\n<think>\n", true},
	{"Jinja: unless thinking is off", `{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- if enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- else %}{{- '<think>\n' }}{%- endif %}{%- endif %}`, true},
	{"Jinja: the same, the other way round", `{{- '<|im_start|>assistant\n' }}{%- if enable_thinking %}{{- '<think>\n' }}{%- else %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}`, true},
	{"Jinja: closes at once", `{{- '<|im_start|>assistant\n' }}{%- if enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}`, false},
	{"Jinja: no tags", `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}`, false},
	{"Jinja: writes earlier thoughts", `{{- '<|im_start|>' + m.role + '\n<think>\n' + m.reasoning_content.strip('\n') + '\n</think>\n\n' + m.content + '<|im_end|>' }}{{- '<|im_start|>assistant\n' }}`, false},
	{"Jinja: takes earlier thoughts out", `{%- set content = m.content.split('</think>')[-1].lstrip('\n') %}{{- '<|im_start|>assistant\n' + content.split('<think>')[-1] + m['<think>'] + '<|im_end|>' }}{{- '<|im_start|>assistant\n' }}`, false},
	{"Jinja: a system text that mentions the tag", `{{- '<|im_start|>system\nThink within <think> tags.<|im_end|>\n<|im_start|>assistant\n' }}`, false},
	{"Jinja: a comment", `{# <|im_start|>assistant <think> #}{{- '<|im_start|>assistant\n' }}`, false},
	{"Go: always", "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n<think>\n", true},
	{"Go: before the response", "{{ if .Prompt }}[INST]{{ .Prompt }}[/INST]<think>\n{{ end }}{{ .Response }}</s>", true},
	{"Go: no tags", "{{ if .Prompt }}[INST]{{ .Prompt }}[/INST]{{ end }}{{ .Response }}</s>", false},
	{"Go: writes earlier thoughts", `{{ if eq .Role "assistant" }}<|im_start|>assistant{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}<|im_end|>{{ end }}<|im_start|>assistant`, false},
	{"unfinished", `<|im_start|>assistant<think>{{ 'a`, true},
	{"an escape at the end", `{{ '\`, false},
	{"empty", "", false},
}

func TestTemplateOpens(t *testing.T) {
	d := dialect.All()[0]
	for _, tt := range templates {
		if got := d.TemplateOpens(tt.text); got != tt.opens {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.opens)
		}
	}
	mistral, err := dialect.Named("magistral")
	if err != nil {
		t.Fatal(err)
	}
	if !mistral.TemplateOpens("[INST]x[/INST][THINK]") || mistral.TemplateOpens("[INST]x[/INST][THINK]x[/THINK]</s>") {
		t.Error("literal markers")
	}
	// A text that is longer than any template, of what costs most.
	for _, s := range []string{"<think>", "{{", "{{'", "<|", "{"} {
		d.TemplateOpens(strings.Repeat(s, 1<<20))
	}
}
