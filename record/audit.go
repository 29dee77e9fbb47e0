package record

// An Audit says that somebody looked at events of a record, in the console. It is
// written before they are shown.
type Audit struct {
	// Action is what was shown: view, export, or search; or what was changed in the gateway:
	// forget, or in a task: allow, refuse, cancel, or extend.
	Action string `json:"action"`
	// Who is the name of the token; empty if the console needs none.
	Who string `json:"who,omitempty"`
	// From is the network address that the request came from.
	From string `json:"from,omitempty"`
	Page string `json:"page,omitempty"` // its path
	// Query is what was asked of the page, such as the words of a search, or what was changed.
	// Its first 1,024 bytes are kept.
	Query string `json:"query,omitempty"`
	// Record names the record, if it is not the one that holds this event.
	Record string `json:"record,omitempty"`
	// Events are the numbers of the events.
	Events []uint64 `json:"events"`
}

// Type is TypeAudit.
func (Audit) Type() Type   { return TypeAudit }
func (Audit) facts() facts { return facts{} }

func (x Audit) guarded(g *guard) Payload {
	x.Query = g.secrets.scrub(x.Query)
	x.Who, x.From, x.Page, x.Record = g.message(x.Who), g.secrets.scrub(x.From), plainPath(g.secrets.scrub(x.Page)), g.secrets.scrub(x.Record)
	return x
}
