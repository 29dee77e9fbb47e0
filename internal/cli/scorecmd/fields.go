package scorecmd

import (
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/scoring"
)

// fields are the flags that say which member of a line holds what. A path that you
// give must exist in every line. A default may be missing.
type fields struct {
	Field        string `default:"raw" placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field of the reply, such as raw or choices.0.message.content."`
	InputField   string `name:"input-field" placeholder:"PATH" help:"With --jsonl: the field of the question (input). A value that is not a string is used as JSON text."`
	GoldField    string `name:"gold-field" placeholder:"PATH" help:"With --jsonl: the field of the right answer (gold)."`
	OptionsField string `name:"options-field" placeholder:"PATH" help:"With --jsonl: the field with the list of options of a choice (options)."`
}

func (f *fields) reader(names *catalogue.Catalogue) (*scoring.LineReader, error) {
	return scoring.NewLineReader(names, f.Field, scoring.Placed(f.InputField, "input"), scoring.Placed(f.GoldField, "gold"), scoring.Placed(f.OptionsField, "options"))
}
