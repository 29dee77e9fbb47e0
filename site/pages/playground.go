package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/sotto-llm/sotto/dialect"
)

// playground adds the page on which a visitor's own text is read, and the names of the
// dialects for it.
func (s *site) playground(string) error {
	type choice struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	var list []choice
	for _, d := range dialect.All() {
		list = append(list, choice{d.Name, d.Title})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	s.data = append(s.data, file{filepath.Join("data", "dialects.json"), data})
	s.pages = append(s.pages, page{Title: "Playground", URL: "/playground.html", Source: "docs/dialects.md", Layout: "playground",
		Questions: []string{"try a reply in the browser", "playground", "which markers does my reply have", "WebAssembly"},
		body:      "# Playground\n"})
	return nil
}
