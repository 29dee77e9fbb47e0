package message

import (
	"strings"

	"github.com/sotto-llm/sotto/wire/turn"
)

// MediaOf reads a URL, which may hold the data itself: "data:image/png;base64,…".
func MediaOf(url string) turn.Media {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if kind, data, ok := strings.Cut(rest, ";base64,"); ok && kind != "" && data != "" && !strings.ContainsAny(kind, ";,") {
			return turn.Media{Type: kind, Data: data}
		}
	}
	return turn.Media{URL: url}
}

// URLOf is the URL of a media, with its data if it has any.
func URLOf(m *turn.Media) string {
	if m.Data == "" {
		return m.URL
	}
	kind := m.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	return "data:" + kind + ";base64," + m.Data
}
