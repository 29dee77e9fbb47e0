package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/peers"
)

// atGateway is the folder below which each gateway has the pages of its own record, by the
// record's identity: at/RECORD/exchanges/12. So an address means the same whichever console
// is asked. The lists above it have the records of all.
const atGateway = "at"

// errReading is the error of a change that is asked for at a page of another gateway.
var errReading = errors.New("the pages below at/ are for reading")

type aloneKey struct{}

// fromPeer marks a request by which another console asks for a page of this record alone.
func fromPeer(r *http.Request, v viewer) *http.Request {
	r = withAlone(r)
	return v.as(r)
}

func withAlone(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), aloneKey{}, true))
}

// alone reports whether a request is for a page of this record alone.
func alone(r *http.Request) bool { return r.Context().Value(aloneKey{}) != nil }

// ticketed reports whether another console may have sent a request.
func (c *Console) ticketed(r *http.Request) bool {
	return c.config.Peers != nil && r.Header.Get(peers.Header) != ""
}

// fromTicket returns the viewer for whom another console asks. He may only read, and only what
// his token may read here.
func (c *Console) fromTicket(r *http.Request) (viewer, bool) {
	t, ok := c.config.Peers.Ticket(r)
	v := viewer{from: shorttext.Cut(t.From, MaxAsked)}
	if !ok || !c.control.Guarded() {
		return v, ok
	}
	if t.Token == nil {
		return v, false
	}
	l := login{of: *t.Token}
	v.Name, ok = c.control.OpensBy(l.fits, scopes()...)
	return v, ok
}

// ticketFor is the ticket for the one who sent a request.
func ticketFor(r *http.Request) peers.Ticket {
	return peers.Ticket{Token: viewerOf(r).token, From: addressOf(r)}
}

// Several reports whether a page is to have the records of several gateways.
func (c *Console) Several(r *http.Request) bool { return len(c.others(r)) > 0 }

// others are the consoles of the other gateways, if a page is not of one gateway alone.
func (c *Console) others(r *http.Request) []peers.Peer {
	if c.config.Peers == nil || c.config.Record == nil || alone(r) {
		return nil
	}
	list, _ := c.config.Peers.Others()
	return list
}

// atGateway serves a page of one gateway: of this one, or what its own console answers.
func (c *Console) atGateway(w http.ResponseWriter, r *http.Request) {
	all := c.config.Peers
	record, path := r.PathValue("record"), r.URL.EscapedPath()
	prefix := "/" + atGateway + "/" + record
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		c.failed(w, r, "", errReading)
		return
	}
	if record == all.Record() {
		http.StripPrefix(prefix, c.mux).ServeHTTP(w, withAlone(r))
		return
	}
	x, ok := all.Peer(record)
	if !ok {
		c.failed(w, r, "", fmt.Errorf("%s: %w", shorttext.Quote(record), errNoGateway))
		return
	}
	if err := all.Forward(w, r, x, strings.TrimPrefix(path, prefix), ticketFor(r)); err != nil {
		c.failed(w, r, "", fmt.Errorf("%s: %w", x.Name, err))
	}
}

var errNoGateway = errors.New("no gateway has told of this record in the last 24 hours")

// AtGateway is the way from the console's root to the pages of a record.
func AtGateway(record string) string { return atGateway + "/" + url.PathEscape(record) + "/" }

// A Gateway is what a list says of one of the gateways whose records it has.
type Gateway struct {
	Record string      `json:"record"`
	Name   string      `json:"name"`
	State  peers.State `json:"state"`
}

// Gathered is what the consoles of several gateways have for a page.
type Gathered struct {
	Gateways []Gateway      // of this console, and the others
	Cursor   peers.Cursor   // of the page; nil of the first one, which alone has totals
	Parts    []GatheredPart // of those that have something on the page, by their records
	Lost     bool           // there may be gateways that are not known
}

// A GatheredPart is what one of them has. Own says that it is this console.
type GatheredPart struct {
	Record string
	From   peers.Place
	Own    bool
	JSON   []byte // of another one
}

// Gather asks the others for their part of a list. path returns the address of the part of a
// record that begins at a place, from the root of its console.
func (c *Console) Gather(r *http.Request, path func(peers.Place) string) (*Gathered, error) {
	cursor, err := peers.ParseCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return nil, BadRequest{err}
	}
	all := c.config.Peers
	replies, err := all.Ask(r.Context(), ticketFor(r), func(x peers.Peer) string {
		if place, ok := cursor.In(x.Record); ok {
			return "/" + path(place)
		}
		return ""
	})
	if err != nil {
		return nil, err
	}
	g := &Gathered{Cursor: cursor, Gateways: []Gateway{{all.Record(), all.Name(), peers.Listed}}}
	others, lost := all.Others()
	g.Lost = lost
	if place, ok := cursor.In(all.Record()); ok {
		g.Parts = append(g.Parts, GatheredPart{Record: all.Record(), From: place, Own: true})
	}
	for _, reply := range replies {
		place, _ := cursor.In(reply.Record)
		g.Gateways = append(g.Gateways, Gateway{reply.Record, reply.Name, reply.State})
		g.Parts = append(g.Parts, GatheredPart{Record: reply.Record, From: place, JSON: reply.Body})
	}
	for _, x := range others {
		if cursor[x.Record].End { // it is on earlier pages, with all that it has
			g.Gateways = append(g.Gateways, Gateway{x.Record, x.Name, peers.Listed})
		}
	}
	slices.SortFunc(g.Parts, func(a, b GatheredPart) int { return cmp.Compare(a.Record, b.Record) })
	return g, nil
}

// Failed says that the answer of a gateway is of no use.
func (g *Gathered) Failed(record string, why peers.State) {
	for i := range g.Gateways {
		if g.Gateways[i].Record == record {
			g.Gateways[i].State = why
		}
	}
}

// Names are what the gateways are called, by their records.
func (g *Gathered) Names() map[string]string {
	names := map[string]string{}
	for _, x := range g.Gateways {
		names[x.Record] = x.Name
	}
	return names
}

// Say says which gateways are in the list and, one by one, which are not.
func (g *Gathered) Say() (missing []string) {
	for _, x := range g.Gateways {
		if x.State != peers.Listed {
			missing = append(missing, fmt.Sprintf(Word("gateways."+string(x.State)), x.Name))
		}
	}
	if g.Lost {
		missing = append(missing, Word("gateways.lost"))
	}
	return missing
}

// A Part of a list of several gateways, of what one of them has.
type Part[R any] struct {
	Rows    []R
	Next    peers.Place
	After   func(taken int) peers.Place
	Missing bool
}

// MergeParts makes the list of what the gateways have. own is the part of this console, and
// read that of another one, of which it returns the state if it is of no use.
func MergeParts[R any](g *Gathered, most int, before func(a, b *R) bool, own func(string, peers.Place) (Part[R], error), read func([]byte, string, peers.Place) (Part[R], error)) (rows []R, next string, err error) {
	var parts []peers.Part[R]
	for _, p := range g.Parts {
		part := Part[R]{Missing: true}
		switch {
		case p.Own:
			if part, err = own(p.Record, p.From); err != nil {
				return nil, "", err
			}
		case p.JSON != nil:
			if part, err = read(p.JSON, p.Record, p.From); err != nil {
				part = Part[R]{Missing: true}
				g.Failed(p.Record, peers.Failed)
			}
		}
		parts = append(parts, peers.Part[R]{Record: p.Record, From: p.From, Rows: part.Rows, Next: part.Next, After: part.After, Missing: part.Missing})
	}
	rows, cursor := peers.Merge(parts, most, g.Cursor, before)
	if cursor != nil {
		next = cursor.String()
	}
	return rows, next, nil
}

// elsewhere returns the record of another gateway in which an identifier is found, or "". Its
// error is err, with the gateways that did not say whether they have it.
func (c *Console) elsewhere(r *http.Request, id string, err error) (record string, _ error) {
	if !c.Several(r) {
		return "", err
	}
	replies, fault := c.config.Peers.Ask(r.Context(), ticketFor(r), func(peers.Peer) string {
		return "/exchanges/find?" + url.Values{"id": {id}, "format": {"json"}}.Encode()
	})
	if fault != nil {
		return "", fault
	}
	for _, reply := range replies {
		switch {
		case reply.Location != "":
			return reply.Record, nil
		case reply.State != peers.Failed: // that is its 404
			err = fmt.Errorf("%w. "+Word("gateways."+string(reply.State)), err, reply.Name)
		}
	}
	return "", err
}

// thoughtElsewhere returns what another gateway has of the thought of a reply, or nil.
func (c *Console) thoughtElsewhere(r *http.Request) []byte {
	if !c.Several(r) {
		return nil
	}
	replies, err := c.config.Peers.Ask(r.Context(), ticketFor(r), func(peers.Peer) string { return r.URL.RequestURI() })
	if err != nil {
		return nil
	}
	for _, reply := range replies {
		var got struct {
			V        int      `json:"v"`
			Event    uint64   `json:"event"`
			Thoughts []string `json:"thoughts"`
		}
		if json.Unmarshal(reply.Body, &got) == nil && got.Event > 0 {
			return reply.Body
		}
	}
	return nil
}

// A gatewayLink leads to the pages of a gateway.
type gatewayLink struct {
	Name, Link, Note string
	Current          bool
}

// mergedScreens are those that have the records of all gateways.
var mergedScreens = []string{"exchanges", "runs", "explore", "search", "health"}

// withoutRecord are the screens that show no record.
var withoutRecord = []string{"chat", "playground", "schedules"}

// railRoot is the way to the console's root for a screen: from a page of one gateway, its
// screens are those of that gateway, except those that show no record.
func (c *Console) railRoot(f *frame, path string) string {
	if slices.Contains(withoutRecord, path) {
		return f.Top
	}
	return f.Root
}

// showGateways says on a page whose record it shows, and leads to the others.
func (c *Console) showGateways(f *frame, r *http.Request) {
	if c.config.Peers == nil || c.config.Record == nil || slices.Contains(withoutRecord, f.Screen) || f.Screen == "" {
		return
	}
	others, _ := c.config.Peers.Others()
	if len(others) == 0 {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	query := r.URL.Query()
	for _, name := range []string{"before", "after", "at", "cursor", "done", "of", "here"} {
		query.Del(name)
	}
	if !slices.ContainsFunc(c.screens(), func(s Screen) bool { return s.Path == path }) {
		path, query = f.Screen, nil
	}
	merged := slices.Contains(mergedScreens, path)
	whole := withQuery(path, query)
	f.Shown = c.config.Peers.Name()
	top := gatewayLink{Name: fmt.Sprintf(Word("gateways.all"), len(others)+1), Link: f.Top + mergedScreens[0]}
	if merged {
		top.Link = f.Top + whole
		if top.Current = !alone(r) && !r.URL.Query().Has("here") && path == strings.TrimPrefix(r.URL.Path, "/"); top.Current {
			f.Shown = top.Name
		}
	}
	f.Gateways = append(f.Gateways, top)
	add := func(x peers.Peer, current bool) {
		f.Gateways = append(f.Gateways, gatewayLink{Name: x.Name, Link: f.Top + AtGateway(x.Record) + whole, Current: current})
	}
	add(peers.Peer{Record: c.config.Peers.Record(), Name: c.config.Peers.Name()}, !top.Current)
	for _, x := range others {
		add(x, false)
	}
}

// whereIs returns the way from a page of the chat to the record that has a reply. apart says
// that none leads there.
func (c *Console) whereIs(r *http.Request, reply *conversation.Reply) (way string, apart bool) {
	const root = "../"
	if reply == nil || reply.Record == "" || reply.Record == c.config.Chat.Record {
		return c.recordRoot(r, root), false
	}
	if slices.ContainsFunc(c.others(r), func(x peers.Peer) bool { return x.Record == reply.Record }) {
		return root + AtGateway(reply.Record), false
	}
	return root, true
}

// recordRoot is the way from root to the pages of this record that every console knows.
func (c *Console) recordRoot(r *http.Request, root string) string {
	if c.config.Peers != nil && (c.Several(r) || alone(r)) {
		return root + AtGateway(c.config.Peers.Record())
	}
	return root
}
