package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/visible"
)

//go:embed page.css
var styleText string

// Style returns the style sheet of pages and of the plots in them, with more rules
// after it.
func Style(more ...string) template.CSS {
	return template.CSS(styleText + strings.Join(more, ""))
}

// Policy returns the content security policy of pages with [Style] of the same rules:
// their style and nothing else.
func Policy(more ...string) string {
	hash := sha256.Sum256([]byte(Style(more...)))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'"
}

// Render makes a page, or a part of one, of a template, the functions that it uses and
// its data. In addition to what html/template escapes, no text in the page can hide or
// reorder the text around it.
func Render(text string, functions template.FuncMap, data any) ([]byte, error) {
	t, err := template.New("page").Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return []byte(visible.Text(b.String())), nil
}
