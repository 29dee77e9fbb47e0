// Package loglevel has the levels of the log by their names, and changes the level of a log
// that is in use.
package loglevel

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// levels are the levels by their names.
var levels = []struct {
	name  string
	level slog.Level
}{{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError}}

// Names says in a message which names there are.
const Names = "debug, info, warn or error"

// Name returns the name of a level.
func Name(level slog.Level) string {
	for _, l := range levels {
		if l.level == level {
			return l.name
		}
	}
	return strings.ToLower(level.String())
}

// Parse returns the level that a word names.
func Parse(word string) (slog.Level, error) {
	for _, l := range levels {
		if l.name == strings.ToLower(word) {
			return l.level, nil
		}
	}
	return 0, fmt.Errorf("%q: want %s", word, Names)
}

// A Switch is the level of a log, which can change while the log is used. It is the Level
// of the log's [slog.HandlerOptions]. It is safe for concurrent use.
type Switch struct {
	slog.LevelVar
	configured slog.Level

	mu sync.Mutex
}

// NewSwitch returns a switch at a level, which is the configured one.
func NewSwitch(level slog.Level) *Switch {
	s := &Switch{configured: level}
	s.LevelVar.Set(level)
	return s
}

// Change sets the level, and says so in the log, with fields that say who asked.
func (s *Switch) Change(level slog.Level, log *slog.Logger, fields ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(level, log, fields...)
}

// Configure sets the level as Change does, and makes it the configured one.
func (s *Switch) Configure(level slog.Level, log *slog.Logger, fields ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configured = level
	s.change(level, log, fields...)
}

// Toggle sets the level to debug, or back to the configured one if it is debug. If debug is
// the configured one, the other is info.
func (s *Switch) Toggle(log *slog.Logger, fields ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	level := slog.LevelDebug
	if s.Level() == slog.LevelDebug {
		if level = s.configured; level == slog.LevelDebug {
			level = slog.LevelInfo
		}
	}
	s.change(level, log, fields...)
}

// change is Change under the lock. Its line is written whatever the level is: who reads the
// log must see why it has more or fewer lines from here on.
func (s *Switch) change(level slog.Level, log *slog.Logger, fields ...any) {
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "the log level is changed", 0)
	line.Add(append([]any{"from", Name(s.Level()), "to", Name(level)}, fields...)...)
	s.Set(level)
	_ = log.Handler().Handle(context.Background(), line) // as a Logger does
}
