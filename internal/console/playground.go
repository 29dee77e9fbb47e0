package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/holdreason"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
)

func playgroundScreen() Screen {
	return Screen{
		Path: "playground", Key: "p", Icon: "M3 5h14M3 10h6M3 15h9M13 8v4M11.500 10h3",
		Routes: map[string]Handler{"": playground, "POST read": playground},
		shown:  func(*Config) bool { return true },
	}
}

// An example is a reply to begin with.
type example struct{ name, title, text, dialect, start string }

// examples are replies of which some bytes wait, each for another reason.
func examples() []example {
	return []example{
		{"doubt", Word("example.doubt"), "<think>\nThe user asks which tower is taller. I must not write </think> too early.\n</think>\nToronto's is taller: 553 metres.", "", ""},
		{"plain", Word("example.plain"), "<think>The CN Tower has 553 metres, the Peace Tower 92.</think>\n\nThe one in **Toronto** is taller.", "", ""},
		{"orphan", Word("example.orphan"), "They ask about towers. The CN Tower it is.\n</think>\n\nThe one in Toronto.", "qwen3", "auto"},
		{"output", Word("example.output"), "Let me see: 553 is more than 92.\n<output>Toronto</output>\nI hope this helps!", "output", ""},
		{"code", Word("example.code"), "Write `<think>` before it, and `</think>` after it.\n\n```\n<think>a</think>\n```\nDone.", "", ""},
		{"prose", Word("example.prose"), "If a < b and <b>bold</b> is set, then <thinking is hard> applies. I <think this is text.", "", ""},
	}
}

// playData is what the playground shows.
type playData struct {
	*view.Play
	Text     string                       `json:"-"`
	Again    view.Reread                  `json:"-"` // the dialect and start that were chosen
	Ended    string                       `json:"-"`
	Dialects []string                     `json:"-"`
	Ends     []string                     `json:"-"`
	Examples []example                    `json:"-"`
	Example  string                       `json:"-"` // the one that is shown
	Base     string                       `json:"-"` // the relative way to this screen
	Alone    bool                         `json:"-"` // there is no record
	Reasons  map[holdreason.Reason]string `json:"reasons"`
}

// Name and Title are for the template.
func (e example) Name() string  { return e.name }
func (e example) Title() string { return e.title }

// maxHoldRows bounds the table of what waited.
const maxHoldRows = 50

// FirstHolds are the waits that the page lists, and MoreHolds how many more there are.
func (d playData) FirstHolds() []view.Hold { return d.Holds[:min(len(d.Holds), maxHoldRows)] }
func (d playData) MoreHolds() int          { return len(d.Holds) - len(d.FirstHolds()) }

// playground reads a reply that a reader gives: an example, or the text of a form.
// Nothing of it is kept.
func playground(c *Console, r *http.Request) (Answer, error) {
	d := playData{Ends: ends(), Examples: examples(), Dialects: c.config.Dialects, Base: "playground", Alone: c.config.Record == nil, Reasons: reasons()}
	if err := d.choose(r); err != nil {
		return Answer{}, BadRequest{err}
	}
	var end sotto.Ending
	if err := end.UnmarshalText([]byte(d.Ended)); err != nil {
		return Answer{}, BadRequest{fmt.Errorf("end: %s: want %s", shorttext.Quote(d.Ended), strings.Join(ends(), ", "))}
	}
	named := c.config.Named
	if named == nil {
		named = sotto.Named
	}
	g, err := named(cmp.Or(d.Again.Dialect, sotto.Default().Dialect().Name))
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	if d.Play, err = view.PlayReply(g, d.Text, sotto.Beginning(d.Again.Start), end); err != nil {
		return Answer{}, BadRequest{err}
	}
	return Answer{
		Template: "playground", Title: Word("screen.playground"), Crumbs: []Crumb{{Name: Word("screen.playground")}}, Data: d,
		Script: "playground.js",
	}, nil
}

// choose reads what is to be read, and how.
func (d *playData) choose(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return errors.New("the form is longer than 1 MiB, or not a form")
	}
	d.Again = view.Reread{Dialect: shorttext.Cut(r.Form.Get("dialect"), maxReread), Start: shorttext.Cut(r.Form.Get("start"), maxReread)}
	d.Ended = cmp.Or(shorttext.Cut(r.Form.Get("end"), maxReread), sotto.EndStopped.String())
	if r.Method == http.MethodPost {
		d.Base = "../playground"
		d.Text = strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n") // as a form sends the newlines of a text
		return nil
	}
	list := examples()
	i := slices.IndexFunc(list, func(e example) bool { return e.name == cmp.Or(r.Form.Get("example"), list[0].name) })
	if i < 0 {
		return fmt.Errorf("example: %s: there is no such example", shorttext.Quote(r.Form.Get("example")))
	}
	d.Example, d.Text, d.Again.Start = list[i].name, list[i].text, cmp.Or(d.Again.Start, list[i].start)
	d.Again.Dialect = cmp.Or(d.Again.Dialect, list[i].dialect)
	return nil
}

// ends are the ways in which a reply can end.
func ends() []string {
	return []string{sotto.EndStopped.String(), sotto.EndCut.String(), sotto.EndAborted.String(), sotto.EndUnknown.String()}
}

// reasons say why bytes wait.
func reasons() map[holdreason.Reason]string {
	return map[holdreason.Reason]string{
		holdreason.Marker: Word("hold.marker"), holdreason.Quote: Word("hold.quote"), holdreason.Start: Word("hold.start"), holdreason.Output: Word("hold.output"),
		holdreason.Pad: Word("hold.pad"), holdreason.Line: Word("hold.line"), holdreason.Family: Word("hold.family"), holdreason.Opener: Word("hold.opener"),
		holdreason.Code: Word("hold.code"), holdreason.Stray: Word("hold.stray"), holdreason.Tool: Word("hold.tool"), holdreason.Blank: Word("hold.blank"),
	}
}
