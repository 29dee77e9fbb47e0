package dialecttest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// A scope is a dialect with few markers, and the tokens of its replies.
type scope struct {
	name    string
	markers []dialect.Marker
	change  func(*dialect.Dialect)
	tokens  []string
	starts  []sotto.Beginning
	more    []string // longer replies, read with every hold that they reach
}

// scopes are about the holds that end in a rewind or a change of what is pending:
// pads (G7a), output blocks (G10), undecided starts (G8), fences (G4), and the views of each.
func scopes() []scope {
	think := dialect.Marker{Role: dialect.RoleReasoning, Tag: "k"}
	pad := dialect.Marker{Role: dialect.RoleReasoning, Tag: "p", Rescue: true}
	out := dialect.Marker{Role: dialect.RoleOutput, Tag: "o"}
	other := dialect.Marker{Role: dialect.RoleOutput, Tag: "u"}
	tool := dialect.Marker{Role: dialect.RoleTool, Tag: "t"}
	narr := dialect.Marker{Role: dialect.RoleNarration, Tag: "n"}
	anywhere := func(d *dialect.Dialect) { d.Output = dialect.PlacementAnywhere }
	outside := []sotto.Beginning{sotto.BeginOutside}
	header := func(channels map[string]dialect.Role) func(d *dialect.Dialect) {
		return func(d *dialect.Dialect) {
			d.Header = &dialect.Header{Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Name: []string{"<|s|>"}, Channels: channels}
		}
	}
	on, off := true, false
	list := []scope{
		{"pad", []dialect.Marker{pad, out}, nil,
			[]string{"<p>", "</p>", "<o>", "</o>", "x", "\n", "`"}, []sotto.Beginning{sotto.BeginOutside, sotto.BeginInside("p")},
			[]string{
				"<p><o><p></p>wwww<o>x</o></p>",                   // the second opener ends where the first expires
				"<p><o>                  </o></p><p><o>x</o></p>", // the first is rescued, and its body is blank
			}},
		{"two outputs", []dialect.Marker{pad, out, other}, nil,
			[]string{"<p>x", "</p>", "<o>y", "</o>", "<u>z", "</u>"}, []sotto.Beginning{sotto.BeginInside("p")}, nil},
		{"pad and think", []dialect.Marker{pad, think, out, narr}, nil,
			[]string{"<p>x", "</p>", "<o>y", "</o>", "<k>", "</k>", "<n>s", "\n\n"}, outside, nil},
		{"pad anywhere", []dialect.Marker{pad, think, out}, anywhere,
			[]string{"<p>x", "</p>", "<o>", "</o>", "y", " ", "`"}, outside,
			[]string{
				"`x</k><p><o>y</o></p>\nz", // the line with the kept close ends before the rescue
				"`x</k><p><o>y</o></p>`z", "`x</k><p><o>y", "`x</k>\n<p><o>y</o></p>z</k>",
			}},
		{"literal pad", []dialect.Marker{
			{Role: dialect.RoleReasoning, Family: "p", Open: []string{"[p]"}, Close: []string{"[/p]"}, Rescue: true},
			{Role: dialect.RoleReasoning, Family: "p", Open: []string{"[q]"}, Close: []string{"\n[/q]"}, Rescue: true},
			{Role: dialect.RoleOutput, Open: []string{"[o]"}, Close: []string{"[/o]\n"}}}, nil,
			[]string{"[p]", "[/p]", "[/q]", "[o]x", "[/o]", "\n", "y"}, outside,
			[]string{
				"[p][o]x[/o][/q]y", "[p][o]x[/o]\n[/q]y", "[p][o]x[/o]\n[/q]", "[p][o]x[/o]\n\ny[/p]\nz", "[p][o]x[/o]\n\ny",
				"                \n[p][/p][/q]", "\n[p][/p][/q]", "x\n[p][/p][/q]", "x\n[/[p][/p]q]", // newlines before a block, and a close after it
			}},
		{"phrases", []dialect.Marker{
			{Role: dialect.RoleReasoning, Phrase: true, Open: []string{"Hm:"}, Close: []string{"So:"}}, think,
			{Role: dialect.RoleReasoning, Phrase: true, Open: []string{"Er:"}, Close: []string{"Ok:"}}},
			func(d *dialect.Dialect) { d.Placement = dialect.PlacementLeading },
			[]string{"Hm:", "So:", "<k>", "</k>", "x", "\n", "\""}, []sotto.Beginning{sotto.BeginAuto},
			[]string{"wwwwwwwwwwwwwwwwww</k>Er:x"}}, // after expiry, every phrase has been used
		{"two names", []dialect.Marker{think, {Role: dialect.RoleReasoning, Tag: "j"}}, nil,
			[]string{"<k>", "</k>", "<j>", "</j>", "\"", "\n"}, []sotto.Beginning{sotto.BeginAuto},
			[]string{"wwwwwwwwwwwwwwww \"</j>\" x</j>y"}}, // after expiry, a close of any name is the block's own
		{"anywhere", []dialect.Marker{think, out}, anywhere,
			[]string{"<k>", "</k>", "<o>", "</o>", "x", "`", "\n"}, outside, nil},
		{"code anywhere", []dialect.Marker{think, out}, anywhere,
			[]string{"x", "</k>", "<o>z", "`", "``", "```\n", "\n```", "\n"}, outside, nil},
		{"fences", []dialect.Marker{think, out}, nil,
			[]string{"```\n", "`", "``", "x", "<k>", "</k>", "<k a='`'>", "\n", "\n```"}, outside,
			[]string{ // a fence that never closes, and code in it
				"```\n`<k> ` x <k>y</k>z", "```\n` </k> `\n`<k> `", "```\n`\n</k> ` <k>", "x<k></k>\n```\n` </k> <k> </k> `",
				"```\n``\n` </k>\n` `` </k> ``", "```\nx `` </k> <k a='`'>` ``", "~~~\n` <k> `\n~~~\n` </k>", "```\n` </k> `wwwwwwwwwwwwwww<k>",
				"```\nx\n```\n" + strings.Repeat("w ", 40) + "<k>x</k>y", // much text after a fence
				"```\n\"<k a='`'>\" <k> ` z",                             // a back-tick in a marker is not a run
			}},
		{"no strays", []dialect.Marker{think, out}, func(d *dialect.Dialect) { anywhere(d); d.Stray = &off },
			[]string{"</k>", "</o>", "<o>", "x", "`", "\n"}, outside, nil},
		{"parted tags", []dialect.Marker{think, out}, anywhere,
			[]string{"x<", "k>", "o>", "<k>", "</k>", "<k/>", "\n"}, outside,
			[]string{ // set aside in the middle of a tag, and in a block there
				"xxxxxxxxxxx<<k/>k>", "x<<k><k>                <k><k></k>k>",
			}},
		{"header", nil, header(map[string]dialect.Role{"r": dialect.RoleReasoning, "t": dialect.RoleText, "n": dialect.RoleNarration}),
			[]string{"<|s|>r<|m|>", "<|s|>t<|m|>", "<|s|>n<|m|>", "<|e|>", "x", "\n"}, []sotto.Beginning{sotto.BeginAuto, sotto.BeginInside("r"), sotto.BeginInside("n")}, nil},
		{"header and output", []dialect.Marker{out}, header(map[string]dialect.Role{"t": dialect.RoleText, "n": dialect.RoleNarration}),
			[]string{"<|s|>t<|m|>", "<|e|>", "<o>", "</o>", "x", "\n"}, outside, nil},
		{"header without reasoning", nil, header(map[string]dialect.Role{"t": dialect.RoleText, "n": dialect.RoleNarration}),
			[]string{"<|s|>r<|m|>", "<|s|>t<|m|>", "<|e|>", "x"}, []sotto.Beginning{sotto.BeginAuto}, nil},
		{"body tokens", nil, func(d *dialect.Dialect) { // two that begin together, and another one that may come first
			header(map[string]dialect.Role{"r": dialect.RoleReasoning, "t": dialect.RoleText})(d)
			d.Header.Body = []string{"<|m|>", "<|l|>", "<|l|>>"}
		},
			[]string{"<|s|>r", "<|s|>t", "<|m|>", "<|l|>", ">", "<|e|>", "x"}, []sotto.Beginning{sotto.BeginAuto}, nil},
		{"markers of lines", []dialect.Marker{
			{Role: dialect.RoleReasoning, Open: []string{"k\nk:"}, Close: []string{"\n/k:"}},
			{Role: dialect.RoleReasoning, Open: []string{"j:"}, Close: []string{"/j;"}},
			{Role: dialect.RoleOutput, Open: []string{"o:"}, Close: []string{"\n/o:"}}}, func(d *dialect.Dialect) { d.Code, d.Stray = &on, &on },
			[]string{"```", "~~~", "`", "k\nk:", "\n/k:", "j:", "/j;", "\n/o:", "x", "\n"}, outside,
			[]string{ // a newline in a marker that stays text ends the line, and begins a fence
				"x\n```\n/k:j:\n```\ny", "x\n~~~\n/k: j:y\n~~~\nz", "x\n```\n/o:j:y\n```\nz",
				"`k\nk:x\n/k:y j:z`", "x `k\nk:\n/k:`o:`", // a newline in a marker ends the line of code too
			}},
		{"tools", []dialect.Marker{pad, think, out, tool}, nil, // a call ends a pad, and a block
			[]string{"<p>", "</p>", "<k>", "</k>", "<o>y", "</o>", "<t>{", "</t>", "x"}, outside,
			[]string{"<p><o>y</o><t>{}</t></p>z", "<p>x<t>{}</t><o>y</o></p>z", "<k>x<t>{}</t>y</k>z"}},
		{"auto", []dialect.Marker{think, out}, nil,
			[]string{"<k>", "</k>", "<o>", "x", "`", "\n", "```\n"}, []sotto.Beginning{sotto.BeginAuto},
			[]string{
				"x</o>y</k>z",
				"x<k>y</k> z</k>w", "x<k></k> z</k>w\n<k>y</k> z w</k>v", // white space after a marker, and text after that
				"`</k>`wwwwwwwwwwwwwwww",               // a close that was text, read again
				"```\n<k></k></k>\n```\n<o>wwwwwwwwww", // a late output that was read, read again
			}},
		{"auto anywhere", []dialect.Marker{think, pad, out}, anywhere,
			[]string{"<k>", "</k>", "<o>", "x", "</p>", "<p>", " "}, []sotto.Beginning{sotto.BeginAuto}, nil},
	}
	list = append(list, moreScopes()...)
	for _, s := range list {
		change := s.change
		s.name += ", deliver"
		s.change = func(d *dialect.Dialect) {
			if change != nil {
				change(d)
			}
			d.OnDoubt = dialect.DoubtDeliver
		}
		list = append(list, s)
	}
	return list
}

// depth is the number of tokens up to which sequences are read without exception:
// SOTTO_DEPTH, or what is given.
func depth(n int) int {
	if d, err := strconv.Atoi(os.Getenv("SOTTO_DEPTH")); err == nil && d > 0 {
		return d
	}
	return n
}

// Nothing is given too late (law 3), for all sequences of up to two tokens, or of one
// with -short. [Run] checks as many as its effort allows.
func TestNeverLate(t *testing.T) {
	byDefault := sotto.Default().Dialect()
	anywhere, family := byDefault, byDefault
	anywhere.Output, anywhere.OnDoubt = dialect.PlacementAnywhere, dialect.DoubtDeliver
	family.Close = dialect.CloseFamily
	for name, s := range map[string]*suite{
		"default": mustSuite(t, byDefault, false), "default, tight": mustSuite(t, tight(byDefault), true),
		"output anywhere, tight": mustSuite(t, tight(anywhere), true), "family closes": mustSuite(t, family, false),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 2
			if work.Brief() {
				n = 1
			}
			s.laws(t, effort{depth: depth(n)}, nil)
		})
	}
}

// All short replies of a few tokens, and some longer ones, are read as the slow
// reader reads them, whole and byte by byte, also where a hold expires.
func TestShortReplies(t *testing.T) {
	most := 3
	if work.Brief() {
		most = 2
	}
	most = depth(most)
	for n := 1; n <= most; n++ { // the quick ones first
		chosen := work.OneIn(3, "scopes")
		for _, c := range scopes() {
			if !chosen() && n > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%d/%s", n, c.name), func(t *testing.T) {
				c.readAll(t, c.suite(t), n, n == most)
			})
		}
	}
}

// suite returns the scope's dialect with bounds that short replies reach.
func (c scope) suite(t *testing.T) *suite {
	d := dialect.Dialect{Name: "scope", Markers: c.markers}
	if c.change != nil {
		c.change(&d)
	}
	return mustSuite(t, tight(d), true)
}

// trials returns all replies of n tokens, byte by byte, and some longer ones if n is
// the last number.
func (c scope) trials(s *suite, n int, last bool) iter.Seq[trial] {
	tokens := append(slices.Clone(c.tokens), strings.Repeat("w", s.d.MaxHold), strings.Repeat(" ", s.d.MaxHold))
	return func(yield func(trial) bool) {
		more := true
		read := func(raw string, holds []int) {
			for _, start := range c.starts {
				for _, hold := range holds {
					for _, end := range []sotto.Ending{sotto.EndStopped, sotto.EndUnknown, sotto.EndCut} {
						more = more && yield(trial{raw: raw, start: start, end: end, maxHold: hold, cuts: everyByte(len(raw))})
					}
				}
			}
		}
		sequences(tokens, n, "", func(raw, _ string) { read(raw, s.holds) })
		if !last {
			return
		}
		for _, raw := range c.more {
			holds := []int{-1}
			for hold := s.d.MaxHold; hold < len(raw); hold++ {
				holds = append(holds, hold)
			}
			read(raw, holds)
		}
		rnd := rand.New(rand.NewPCG(7, 7))
		random := 400 * work.Times()
		if work.Brief() {
			random = 100
		}
		for range random {
			raw := ""
			for range 4 + rnd.IntN(5) {
				raw += tokens[rnd.IntN(len(tokens))]
			}
			read(raw, s.holds)
		}
	}
}

// readAll reads the replies of n tokens as the slow reader does, whole and byte by byte.
func (c scope) readAll(t *testing.T, s *suite, n int, last bool) {
	t.Helper()
	for tr := range c.trials(s, n, last) {
		for _, l := range laws[1:3] {
			if f := s.try(l, tr); f != nil { // it is short as it is
				t.Fatalf("law %s, rule %s\n%v\n%s", l.name, f.rule, f.trial, f.says)
			}
		}
	}
}

// A doubt that expires holds nothing back any longer.
func TestExpiryReleases(t *testing.T) {
	long := strings.Repeat("w", 18)
	for name, raw := range map[string]string{"pad, deliver": "<p>a<o>" + long, "pad": "<p>a<o>" + long, "anywhere": long, "anywhere, deliver": long, "auto": long, "auto, deliver": long} {
		c := scopes()[slices.IndexFunc(scopes(), func(c scope) bool { return c.name == name })]
		s := c.suite(t)
		sp := s.splitter(trial{raw: raw, start: c.starts[0], maxHold: s.d.MaxHold})
		sp.FeedString(raw)
		if held := sp.Held(); held > 0 {
			t.Errorf("%s: %d bytes are held after %q", name, held, raw)
		}
	}
}

// A whole output block in an open pad takes the place of one in a pad before it, so
// that what stands between the two is given.
func TestALaterPadTakesOver(t *testing.T) {
	d := dialect.Dialect{Name: "pads", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "p", Rescue: true}, {Role: dialect.RoleOutput, Tag: "o"},
	}}
	s := mustSuite(t, d, false)
	const before, raw = "<p><o>x</o></p><p>", "<p><o>x</o></p><p><o>y</o>"
	sp := s.splitter(trial{raw: raw, start: sotto.BeginOutside, maxHold: -1})
	sp.FeedString(raw)
	e := &emission{s: s, tokens: []string{"<p>", "</p>", "<o>", "</o>", "x"}, start: sotto.BeginOutside, maxHold: -1}
	if given, certain := len(raw)-sp.Held(), e.future(raw, ahead).agreed; given != len(before) || certain != given {
		t.Errorf("%d bytes are given and %d certain, want %d", given, certain, len(before))
	}
}

// A byte that may begin a marker waits while it may also end another one, whose first
// bytes were given as text. Any next byte decides it.
func TestMarkerWithinAMarkerWaits(t *testing.T) {
	d := dialect.Dialect{Name: "overlap", Markers: []dialect.Marker{
		{Role: dialect.RoleOutput, Open: []string{"◁output▷"}, Close: []string{"◁/output▷"}},
	}}
	s := mustSuite(t, d, false)
	const raw = "◁/output\xe2"
	for next, held := range map[string]int{"": 1, "\x96": 0, "\x97": 0, "x": 0} {
		sp := s.splitter(trial{raw: raw, start: sotto.BeginOutside, maxHold: -1})
		sp.FeedString(raw + next)
		if got := sp.Held(); got != held {
			t.Errorf("%d bytes are held after %q, want %d", got, raw+next, held)
		}
	}
}

// What a pad holds stays held while a later close in the pad waits, although every
// continuation agrees on it: the machine has not read the opener after that close.
// Whatever decides the close also decides the hold.
func TestPadHoldsBehindAWaitingClose(t *testing.T) {
	d := dialect.Dialect{Name: "late", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "p", Rescue: true}, {Role: dialect.RoleOutput, Tag: "o"},
	}}
	s := mustSuite(t, d, false)
	const raw = "<o>x<p>y</p><o>"
	tr := trial{raw: raw, start: sotto.BeginInside("p"), maxHold: -1}
	e := &emission{s: s, tokens: []string{"<p>", "</p>", "<o>", "</o>", "x"}, start: tr.start, maxHold: -1}
	sp := s.splitter(tr)
	sp.FeedString(raw)
	if held, certain := sp.Held(), e.future(raw, ahead).agreed; held != len(raw) || certain != len("<o>x<p>y") {
		t.Errorf("%d bytes are held and %d certain, want %d and %d: law 3 names this", held, certain, len(raw), len("<o>x<p>y"))
	}
	for next, given := range map[string]int{"</p>": len(raw), "<p>": len("<o>x<p>y</p>")} {
		sp := s.splitter(tr)
		sp.FeedString(raw + next)
		if got := len(raw+next) - sp.Held(); got < given {
			t.Errorf("after %s %d bytes are given, want %d", next, got, given)
		}
	}
}
