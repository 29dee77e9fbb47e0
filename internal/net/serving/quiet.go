package serving

import (
	"io"
	"log"
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

// ServerLog returns the log of an HTTP server. Connections that end before TLS begins
// are no warning: anyone can make any number of them, and so do the health checks of
// load balancers.
func ServerLog(to *slog.Logger) *log.Logger { return log.New(serverWriter{to}, "", 0) }

type serverWriter struct{ log *slog.Logger }

func (w serverWriter) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.HasPrefix(text, "http: TLS handshake error") {
		w.log.Debug(text)
	} else {
		w.log.Warn(text)
	}
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
