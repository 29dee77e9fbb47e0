package dialect

import "slices"

// A Dialect is data: which markers a model writes, on which channel they put the
// text they enclose, where they count, and how a reply begins. Its zero fields
// mean the defaults given here.
type Dialect struct {
	Name    string   `json:"name"`
	Title   string   `json:"title,omitempty"`   // one line for people: what writes this
	Sources []string `json:"sources,omitempty"` // where the row was read
	// Models are patterns of model names in lower case, * for any run of bytes,
	// matched against the name without its registry path.
	Models  []string `json:"models,omitempty"`
	Markers []Marker `json:"markers,omitempty"`
	Header  *Header  `json:"header,omitempty"`
	// PreOpens says whether the family's prompt template may open the reasoning
	// block itself; if empty, that is unknown. With PreOpensYes, a reply is read
	// from Start "auto" if nobody gives its start.
	PreOpens PreOpening `json:"pre_opens,omitempty"`
	// PreOpensSince says, for people, since when the templates do what PreOpens
	// says, and where that was read. It is empty if no source was found.
	PreOpensSince string `json:"pre_opens_since,omitempty"`
	// Prompt is the instruction text that teaches the protocol to a model.
	Prompt string `json:"prompt,omitempty"`

	Placement Placement `json:"placement,omitempty"` // if empty, PlacementAnywhere
	// Start says where a reply begins: "outside" every block, "inside" the first
	// reasoning block, "inside:NAME" in the block of a name, or "auto" if that is not
	// known. If it is empty, it is "auto" with PreOpensYes, else "outside".
	Start   string      `json:"start,omitempty"`
	Output  Placement   `json:"output,omitempty"`   // if empty, PlacementLeading
	Close   Closing     `json:"close,omitempty"`    // if empty, CloseOwn
	OnDoubt DoubtAction `json:"on_doubt,omitempty"` // if empty, DoubtWithhold
	// AfterTool says what follows tool markup that ended reasoning: RoleReasoning, or
	// RoleText, which is the default and is left out of JSON.
	AfterTool Role `json:"after_tool,omitempty"`
	// Once says that the protocol asks for exactly one block of reasoning, before anything
	// else. It changes no reading: a reply without one, with a late one, or with a further
	// one is flagged.
	Once bool `json:"once,omitempty"`

	// Code and Stray switch rules G4 and G9. If nil, they are on if a marker of
	// the dialect is a tag and off if all are literal; Code is off beside a header.
	Code  *bool `json:"code,omitempty"`
	Stray *bool `json:"stray,omitempty"`

	MaxMarker int `json:"max_marker,omitempty"` // bytes; if zero, 128
	MaxHold   int `json:"max_hold,omitempty"`   // bytes; if zero, 256 KiB; if negative, no bound
}

// A PreOpening says whether a prompt template opens the reasoning block itself.
type PreOpening string

const (
	PreOpensNo     PreOpening = "no"
	PreOpensYes    PreOpening = "yes"
	PreOpensPrompt PreOpening = "prompt" // it depends on the request
)

// A Placement says where markers count (G3), or where an output block may begin (G10).
type Placement string

const (
	// PlacementAnywhere: text before an output block is held until one begins.
	PlacementAnywhere Placement = "anywhere"
	PlacementLeading  Placement = "leading" // only before the answer has begun
)

// A Closing says which close ends a block (G5).
type Closing string

const (
	CloseOwn    Closing = "own"    // its own, and others of its family where the rule says
	CloseFamily Closing = "family" // the first close of its family
)

// A DoubtAction says what becomes of text that may be reasoning when a hold expires.
type DoubtAction string

const (
	DoubtWithhold DoubtAction = "withhold"
	DoubtDeliver  DoubtAction = "deliver"
)

// A Role says what a text is. A marker has one, which says what kind of block it opens,
// and so has the body of a header.
type Role string

const (
	RoleReasoning Role = "reasoning"
	RoleNarration Role = "narration"
	RoleTool      Role = "tool"

	// These are for markers only.
	RoleOutput  Role = "output"
	RoleWrapper Role = "wrapper" // its markers are markup, its body is text

	// These are for the bodies of headers, and for the text between them.
	RoleText  Role = "text"
	RoleAside Role = "aside"
)

// A Marker is one name of a block. It is either a tag, whose form rule G1
// gives, or a pair of literal strings.
type Marker struct {
	Role Role `json:"role"`
	// Tag is the NAME of a tag marker: "think" for <think>…</think>.
	Tag string `json:"tag,omitempty"`
	// Name names a literal marker, for Start; if empty, its first Open is the name.
	Name string `json:"name,omitempty"`
	// Family joins names whose closes may stand for one another; if empty, the name.
	Family string `json:"family,omitempty"`
	// Open and Close are the alternatives of a literal marker. Each newline at
	// either end is optional; if present, it belongs to the marker.
	Open  []string `json:"open,omitempty"`
	Close []string `json:"close,omitempty"`
	// Special says that the opener of a tool block is a special token, which
	// ends reasoning whatever comes after it.
	Special bool `json:"special,omitempty"`
	// Phrase says that the literals are words: each counts once, with leading
	// placement, and the white space after one belongs to it.
	Phrase bool `json:"phrase,omitempty"`
	// Rescue says that an output block inside this reasoning block may turn out
	// to be the answer (G7a).
	Rescue bool `json:"rescue,omitempty"`
}

// A Header is a channel grammar: a header runs from its first token to its body
// token, and names the channel on which the body is.
type Header struct {
	Begin []string `json:"begin"` // tokens that begin a header, and end an open body
	// Body are the tokens that end the header and begin the body.
	Body []string `json:"body"`
	// Lead are strings that begin a header at the very first byte of a reply, and
	// nowhere else, because the prompt ended inside a header: "<|start|>assistant"
	// in the prompt leaves " to=self<|message|>" to the reply. A Lead string that
	// is also a Body token is a whole header.
	Lead []string `json:"lead,omitempty"`
	// End are the tokens that end a body.
	End []string `json:"end,omitempty"`
	// Close are tokens of Begin whose header only ends a body.
	Close []string `json:"close,omitempty"`
	// Name are the header's tokens after which the channel's name stands, up to
	// white space or the next token.
	Name []string `json:"name,omitempty"`
	// Tokens are further tokens that a header may contain ("<|constrain|>").
	Tokens []string `json:"tokens,omitempty"`
	// Channels maps a name to the role of its body: any but RoleOutput and
	// RoleWrapper. "" is a header without a name. A name that is missing is reasoning,
	// flagged.
	Channels map[string]Role `json:"channels"`
	// Recipients does the same for "to=NAME" in the header, and takes precedence
	// over Channels; "*" is any recipient. If nil, any recipient is RoleTool.
	Recipients map[string]Role `json:"recipients,omitempty"`
	// Between is the role of text after a body, RoleAside or RoleText; if empty,
	// RoleAside.
	Between Role `json:"between,omitempty"`
	// MaxHeader bounds a header in bytes; if zero, 1 KiB.
	MaxHeader int `json:"max_header,omitempty"`
}

// Block returns the name of the marker's block: its tag, its name, or its first opener.
func (m Marker) Block() string {
	switch {
	case m.Tag != "":
		return m.Tag
	case m.Name != "":
		return m.Name
	case len(m.Open) > 0:
		return m.Open[0]
	}
	return ""
}

// hasTags reports whether a marker of the dialect is a tag.
func (d Dialect) hasTags() bool {
	return slices.ContainsFunc(d.Markers, func(m Marker) bool { return m.Tag != "" })
}
