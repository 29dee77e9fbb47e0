package recording

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/record"
)

// OpenReader opens a record to read it. It refuses what CheckFolder refuses.
func OpenReader(dir string, o record.ReadOptions) (*record.Reader, error) {
	if err := CheckFolder(dir); err != nil {
		return nil, err
	}
	return record.OpenReader(dir, o)
}

// CheckFolder refuses a folder that is not a record. Otherwise an empty result would
// look as if nothing had been recorded.
func CheckFolder(dir string) error {
	ok, err := holds(dir, func(name string) bool { return name == "LOCK" || record.IsSegment(name) })
	if err != nil || ok {
		return err
	}
	return errorhint.Add(fmt.Errorf("%s is not a record", dir), "sotto serve, extract, score, solve and run write records, with --record DIR")
}

// HasEvents reports whether a folder is a record that holds events, or held them
// until they were pruned. A record that nothing was written to yet has only a lock,
// as other folders have too.
func HasEvents(dir string) (bool, error) { return holds(dir, record.IsSegment) }

// holds reports whether a folder has a file whose name is wanted.
func holds(dir string, wanted func(name string) bool) (bool, error) {
	d, err := os.Open(dir)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", dir, files.Cause(err))
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			if !e.IsDir() && wanted(e.Name()) {
				return true, nil
			}
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("open %s: %w", dir, files.Cause(err))
		}
	}
}

// ParseTime reads a time, or a duration before now. A date means midnight UTC.
func ParseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if d, err := ParseAge(text); err == nil {
		return time.Now().Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q: want a time such as 2026-11-21 or 2026-11-21T10:00:00Z, or a span before now such as 2h or 7d", text)
}
