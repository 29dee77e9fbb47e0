package sotto

import "testing"

// TestLooks: whether a pair of runs encloses a marker, whether a line closes a fence, and whether
// a line ends after a marker are each decided at the byte that decides it, or at the end.
func TestLooks(t *testing.T) {
	g := Default()
	white := func(l *looks, at int, in *window, _ *forms, o *outcomes) (bool, bool) {
		return l.white.lineEnds(at, doubtStray, in, o)
	}
	code := func(l *looks, at int, in *window, f *forms, o *outcomes) (bool, bool) {
		var r runs
		r.pair(codeRun{size: 2})
		return l.line.encloses(token{start: at - 1, end: at}, &r, in, f, o)
	}
	fenced := func(l *looks, at int, in *window, f *forms, o *outcomes) (bool, bool) {
		closes := l.fences.closes(fence{'`', 3}, at, in, f, o.ended)
		return closes, closes
	}
	for _, c := range []struct {
		what    string
		look    func(*looks, int, *window, *forms, *outcomes) (bool, bool)
		text    string // after a marker of one byte
		decided int    // by this many bytes of the text; -1 by its end
		yes     bool
	}{
		{"white", white, " \t\nx", 3, true}, {"white", white, "  x\n", 3, false}, {"white", white, "  ", -1, true},
		{"code", code, "a `` b", 5, true}, {"code", code, "a ``` b\n``", 8, false}, {"code", code, "a <think>``", -1, true}, {"code", code, "a ` b", -1, false},
		{"fence", fenced, "a\n```\nb", 6, true}, {"fence", fenced, "a\n ````  \n", 10, true}, {"fence", fenced, "a\n``\n~~~\n```x\n", -1, false}, {"fence", fenced, "a\n```", -1, true},
	} {
		var in window
		var f forms
		var l looks
		var o outcomes
		f.reset(g)
		read := func(s string) (yes, ok bool) {
			from := in.n
			in.load([]byte(s), 0)
			f.lex.run(in.next(len(s)), from, f.add)
			in.limit = in.n
			yes, ok = c.look(&l, 1, &in, &f, &o)
			in.keep(0)
			return yes, ok
		}
		read("m")
		yes, ok, n := false, false, 0
		for ; n < len(c.text) && !ok; n++ {
			yes, ok = read(c.text[n : n+1])
		}
		if ok {
			if n != c.decided || yes != c.yes {
				t.Errorf("%s: decided after %q: %v", c.what, c.text[:n], yes)
			}
			continue
		}
		if c.decided > 0 {
			t.Errorf("%s: not decided after %q", c.what, c.text)
		}
		o.ended = true
		f.lex.end()
		in.load(nil, 0)
		if yes, _ := c.look(&l, 1, &in, &f, &o); yes != c.yes {
			t.Errorf("%s: after all of %q: %v", c.what, c.text, yes)
		}
	}
}

// TestReading: what counts as markup depends on where the reader stands.
func TestReading(t *testing.T) {
	st := reading{g: Default()}
	st.state.reset()
	outputs, thoughts := st.g.outputs.open, st.g.closes.reasoning
	if st.textHold(false)&outputs != outputs || st.textHold(false)&thoughts != thoughts {
		t.Error("at the start, an output opener or a close of reasoning does not count")
	}
	st.visible, st.outer.seen = true, true
	if st.textHold(false)&(outputs|thoughts) != 0 {
		t.Error("in the text, an output opener or a close of reasoning counts")
	}
	if st.textHold(true)&thoughts != thoughts&^st.g.closes.phrase {
		t.Error("while the start is undecided, a close of reasoning does not count")
	}
	if st.outer.afterMarker = true; st.textHold(false)&thoughts != thoughts&^st.g.closes.phrase {
		t.Error("after a marker, a stray close does not count")
	}
	if st.padClosed = true; st.textHold(false)&outputs != outputs {
		t.Error("after a scratch pad, an output opener does not count")
	}
	st.padClosed, st.anyBody = false, true
	if sp := st.textSpan(); sp.ch != ChannelAside {
		t.Errorf("after an output body, text is %s", sp.ch)
	}
	st.body.block = 4
	if sp := st.textSpan(); sp.ch != ChannelText || !sp.output || sp.block != 4 || st.stream() != &st.body.stream {
		t.Errorf("in an output body, text is %+v", sp)
	}
}
