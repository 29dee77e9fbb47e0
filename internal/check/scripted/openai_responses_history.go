package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// encrypts reports whether a model encrypts its thoughts in the Responses API.
func encrypts(m *Model) bool { return m.Wire == "openai" }

// A responsesItem holds the relevant parts of an item of the input.
type responsesItem struct {
	ID     string  `json:"id"`
	Type   string  `json:"type"`
	Role   string  `json:"role"`
	CallID string  `json:"call_id"`
	Sealed *string `json:"encrypted_content"`
}

// items returns the items of the input. A text has none.
func (q *responsesRequest) items() (items []responsesItem) {
	if json.Unmarshal(q.Input, &items) != nil {
		return nil
	}
	return items
}

// encrypted is an item with an encrypted thought, of which only a summary can be read.
func (it responseItem) encrypted(done bool) object {
	summary := array{}
	if done {
		summary = array{it.part(it.block.text())}
	}
	return object{{"id", it.id}, {"type", "reasoning"}, {"encrypted_content", it.sealed}, {"summary", summary}}
}

// responsesHistory checks the items that a request returns to a model that encrypts its thoughts: nobody else
// made one, none was changed, and a call of the turn under way stands after its thought. It returns nil, or
// the refusal in OpenAI's words.
func responsesHistory(m *Model, items []responsesItem) *fault {
	if !encrypts(m) {
		return nil
	}
	asked := 0
	for i, it := range items {
		if it.Role == "user" {
			asked = i
		}
		if it.ID != "" && !isItemID(it.ID) {
			return &fault{status: http.StatusNotFound, message: "Item with id '" + it.ID + "' not found."}
		}
		if it.Type == "reasoning" && !m.sealed(it.Sealed) {
			f := badRequest("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.ID)
			f.code = "invalid_encrypted_content"
			return f
		}
	}
	for i := asked; i < len(items); i++ {
		if items[i].Type != "function_call" {
			continue
		}
		from := i
		for from > asked && (items[from].Type == "function_call" || items[from].Type == "message") {
			from--
		}
		if items[from].Type != "reasoning" {
			return badRequest("Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", items[i].ID)
		}
	}
	return nil
}

// isItemID reports whether an id has the form of those of this server: a prefix and hexadecimal digits.
func isItemID(id string) bool {
	prefix, digits, _ := strings.Cut(id, "_")
	hex := func(c rune) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
	return slices.Contains([]string{"msg", "rs", "fc"}, prefix) && len(digits) == 48 && strings.IndexFunc(digits, func(c rune) bool { return !hex(c) }) < 0
}

// sealed reports whether the model encrypted one of its thoughts so.
func (m *Model) sealed(proof *string) bool {
	return proof != nil && slices.ContainsFunc(m.replies(), func(r *Reply) bool { return *proof == sign(m.Name, strings.Join(r.Thought, "")) })
}
