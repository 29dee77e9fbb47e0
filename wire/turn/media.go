package turn

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"
)

// MediaOf returns what a URL is of: a "data:" URL has its type and data in itself.
func MediaOf(url string) Media {
	if head, data, ok := strings.Cut(url, ","); ok && data != "" {
		head, isData := strings.CutPrefix(head, "data:")
		kind, isBase64 := strings.CutSuffix(head, ";base64")
		if isData && isBase64 && kind != "" {
			return Media{Type: kind, Data: data}
		}
	}
	return Media{URL: url}
}

// Link returns the URL, or a "data:" URL of the data. It is empty if there is neither, or if the type
// of the data is not known.
func (m *Media) Link() string {
	if m.Data == "" {
		return m.URL
	}
	if kind := m.Kind(); kind != "" {
		return "data:" + kind + ";base64," + m.Data
	}
	return ""
}

// extensions are the types of files that models read.
var extensions = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".heic": "image/heic",
	".pdf": "application/pdf", ".txt": "text/plain", ".mp4": "video/mp4", ".mp3": "audio/mpeg", ".wav": "audio/wav",
}

// Kind returns the type, or the one that the data or the URL look like, or nothing.
func (m *Media) Kind() string {
	switch {
	case m.Type != "":
		return m.Type
	case m.Data == "":
		name, _, _ := strings.Cut(m.URL, "?")
		return extensions[strings.ToLower(path.Ext(name))]
	}
	const enough = 512 // DetectContentType reads no more
	head := m.Data[:min(len(m.Data), enough)]
	data, err := base64.StdEncoding.DecodeString(head[:len(head)/4*4])
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if err != nil || kind == "application/octet-stream" {
		return ""
	}
	return kind
}
