package dialect

import "cmp"

// Defaults and bounds of a dialect's limits.
const (
	defaultMaxMarker = 128
	defaultMaxHold   = 256 << 10
	defaultMaxHeader = 1 << 10

	leastMaxMarker, mostMaxMarker = 16, 4 << 10
	leastMaxHeader, mostMaxHeader = 16, 64 << 10
)

// WithDefaults returns the dialect with its defaults filled in. AfterTool stays empty
// for RoleText.
func (d Dialect) WithDefaults() Dialect {
	d.Placement = cmp.Or(d.Placement, PlacementAnywhere)
	if d.Start == "" && d.PreOpens == PreOpensYes {
		// The first bytes of such a reply are most likely reasoning. A stream that
		// began outside would show them before the close reveals it.
		d.Start = startAuto
	}
	d.Start = cmp.Or(d.Start, startOutside)
	d.Output = cmp.Or(d.Output, PlacementLeading)
	d.Close = cmp.Or(d.Close, CloseOwn)
	d.OnDoubt = cmp.Or(d.OnDoubt, DoubtWithhold)
	if d.AfterTool == RoleText {
		d.AfterTool = ""
	}
	for _, sw := range []**bool{&d.Code, &d.Stray} {
		if *sw == nil {
			on := d.hasTags() && (sw == &d.Stray || d.Header == nil)
			*sw = &on
		}
	}
	if d.MaxMarker == 0 {
		d.MaxMarker = defaultMaxMarker
	}
	if d.MaxHold == 0 {
		d.MaxHold = defaultMaxHold
	}
	if d.Header != nil {
		h := *d.Header
		h.Between = cmp.Or(h.Between, RoleAside)
		if h.MaxHeader == 0 {
			h.MaxHeader = defaultMaxHeader
		}
		d.Header = &h
	}
	return d
}

// longestMarker returns the bound of a marker, in bytes.
func (d Dialect) longestMarker() int {
	if d.MaxMarker > 0 {
		return d.MaxMarker
	}
	return defaultMaxMarker
}
