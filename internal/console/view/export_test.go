package view

import "time"

// Lists is how many pages were read.
func (s *Source) Lists() int64 { return s.reads.Load() }

// KeepFor sets how long a page that was read serves others.
func (s *Source) KeepFor(d time.Duration) { s.fresh = d }
