package loglevel

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func TestNames(t *testing.T) {
	for _, word := range []string{"debug", "info", "warn", "error"} {
		level, err := Parse(strings.ToUpper(word))
		if err != nil || Name(level) != word {
			t.Errorf("%s: %v %v", word, level, err)
		}
	}
	for _, word := range []string{"", "warning", "info+1", "3"} {
		if _, err := Parse(word); err == nil {
			t.Errorf("%q is a level", word)
		}
	}
	if got := Name(slog.LevelInfo + 1); got != "info+1" {
		t.Errorf("%s", got)
	}
}

// TestSwitch: a change holds for the lines that follow, and is in the log at every level.
func TestSwitch(t *testing.T) {
	for _, tt := range []struct {
		configured slog.Level
		want       string // the levels after each toggle
	}{
		{slog.LevelInfo, "debug info debug"},
		{slog.LevelError, "debug error debug"},
		{slog.LevelDebug, "info debug info"},
	} {
		var out strings.Builder
		s := NewSwitch(tt.configured)
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: s}))
		var got []string
		for range 3 {
			s.Toggle(log, "signal", "usr1")
			got = append(got, Name(s.Level()))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %s, want %s", tt.configured, got, tt.want)
		}
		if n := strings.Count(out.String(), `level=INFO msg="the log level is changed"`); n != 3 || !strings.Contains(out.String(), "from="+Name(tt.configured)+" to="+got[0]+" signal=usr1") {
			t.Errorf("%v: %s", tt.configured, out.String())
		}
		out.Reset()
		s.Change(slog.LevelError, log)
		log.Warn("no more")
		if strings.Contains(out.String(), "no more") || !strings.Contains(out.String(), "to=error") {
			t.Errorf("%v: %s", tt.configured, out.String())
		}
	}
}

// TestSwitchAtOnce: changes from several sides are in the log in the order in which they
// hold, each from the level that the one before set.
func TestSwitchAtOnce(t *testing.T) {
	var out strings.Builder // the handler locks it
	s := NewSwitch(slog.LevelInfo)
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: s}))
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { s.Toggle(log) })
	}
	all.Wait()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		want := "from=info to=debug"
		if i%2 == 1 {
			want = "from=debug to=info"
		}
		if !strings.HasSuffix(line, want) {
			t.Fatalf("line %d: %s", i, line)
		}
	}
	if len(lines) != 100 || s.Level() != slog.LevelInfo {
		t.Errorf("%d lines, and the level is %v", len(lines), s.Level())
	}
}
