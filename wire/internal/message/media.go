package message

import (
	"encoding/base64"
	"net/http"
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

// TypeOf returns the media type of data in base64, for an API that does not say it; "" if it is not
// known.
func TypeOf(data string) string {
	start := make([]byte, 512)
	n, _ := base64.StdEncoding.Decode(start[:384], []byte(data[:min(len(data), 512)/4*4]))
	if kind := http.DetectContentType(start[:n]); strings.HasPrefix(kind, "image/") {
		return kind
	}
	return ""
}
