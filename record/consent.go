package record

// A Consent is the receipt of a person's answer to the question whether a call may be
// made. It is recorded before the call.
type Consent struct {
	// Question is the id of the question. No other question has it.
	Question string `json:"question"`
	// Number is the call that waited: see [ToolCall]. Tool is what the person was asked
	// about: the tool of the call, or that of an agent below, whose question it passed on.
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	// Digest is that of the call that was asked about, with its arguments, keyed by For. It
	// is left out where a level withholds arguments.
	Digest string `json:"digest,omitempty"`
	Agreed bool   `json:"agreed"`
	// Dismissed says that the person decided nothing. Values are what the person gave, if the
	// question asked for more than a yes or no: a JSON object.
	Dismissed bool     `json:"dismissed,omitempty"`
	Values    *Content `json:"values,omitempty"`
	// By is who answered: the name of a token, or "terminal" or "operator", or in a console
	// "console" or "console." and the name of a token. Way is how: "terminal", "page", "a2a" or
	// "responses". Person is who answered an agent that passed the answer
	// on, as that agent says.
	By     string `json:"by,omitempty"`
	Way    string `json:"way"`
	Person string `json:"person,omitempty"`
	// For is the caller for whom the agent works.
	For string `json:"for,omitempty"`
}

// Type returns TypeConsent.
func (Consent) Type() Type { return TypeConsent }

func (Consent) facts() facts { return facts{} }

// guarded leaves out the digest if arguments are withheld: it would betray them.
func (x Consent) guarded(g *guard) Payload {
	if x.Values != nil {
		x.Values = new(g.content(*x.Values, said))
	}
	if g.levels[said] > Full {
		x.Digest = ""
	}
	x.Tool = g.message(x.Tool)
	x.Person = g.message(x.Person)
	return x
}
