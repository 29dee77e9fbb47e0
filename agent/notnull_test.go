package agent

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/model"
)

// TestWrittenMessages: messages that waited as JSON are as they were before, with and without
// the members that only some providers send.
func TestWrittenMessages(t *testing.T) {
	list := []model.Message{
		{Role: model.User, Text: "Hi"},
		{Role: model.Assistant, Text: "Ho", Calls: []model.Call{{ID: "1", Name: "look"}, {ID: "2", Name: "see", Extra: json.RawMessage(`{"signature":"x"}`)}}},
	}
	list[1].Thoughts = append(list[1].Thoughts, model.Thought{}, model.Thought{Raw: json.RawMessage(`{"a":1}`)})
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var read []model.Message
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, withoutNulls(read)); diff != "" {
		t.Error(diff)
	}
}
