package sotto

// order watches the settled spans of a reply whose protocol asks for one block of
// reasoning, before anything else ([dialect.Dialect.Once]). What is settled is never taken
// back, and so neither is what order finds.
type order struct {
	watched bool // the dialect has Once

	block, began int  // the block of the last span, and its first byte
	spoke        bool // something came that is neither a marker, reasoning nor white space
	thought      int  // the last block with reasoning that is not white space, or 0
}

// settled reports whether further bytes of a span change nothing.
func (o *order) settled(sp span) bool {
	switch {
	case !o.watched || sp.ch == ChannelMarkup:
		return true
	case sp.ch == ChannelReasoning:
		return o.thought == sp.block
	}
	return o.spoke
}

// note takes the next span, whose bytes are b.
func (o *order) note(sp span, b []byte, found *findings) {
	if !o.watched {
		return
	}
	if sp.block != o.block {
		o.block, o.began = sp.block, sp.start
	}
	if o.settled(sp) || firstNonSpace(skipMark(b, sp.start)) < 0 {
		return
	}
	if sp.ch != ChannelReasoning {
		o.spoke = true
		return
	}
	switch {
	case o.thought > 0:
		found.keep(Diagnostic{Code: CodeRepeatedReasoning, Offset: o.began})
	case o.spoke:
		found.keep(Diagnostic{Code: CodeLateReasoning, Offset: o.began})
	}
	o.thought = sp.block
}

// end is called at the reply's end.
func (o *order) end(found *findings) {
	if o.watched && o.thought == 0 {
		found.keep(Diagnostic{Code: CodeMissingReasoning})
	}
}
