package serving

import (
	"io"
	"log/slog"
	"strings"
)

// QuietLog returns a writer for package log that passes its lines to a logger
// without what they quote: net/http quotes unexpected bytes that an upstream sent.
func QuietLog(to *slog.Logger) io.Writer { return logWriter{to} }

type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Warn("proxy", "error", strings.TrimSpace(Unquoted(string(p))))
	return len(p), nil
}

// Unquoted cuts a text before the part that it quotes. Package net/http quotes a
// header's first line without quotation marks.
func Unquoted(text string) string {
	const header = "malformed MIME header"
	if i := strings.Index(text, header); i >= 0 {
		text = text[:i+len(header)]
	}
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, ": ")
}
