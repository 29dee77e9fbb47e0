package sotto

// A Piece is settled bytes: a segment, or a part of one, that will not be taken
// back. Pieces come in the order of the reply; those of one segment share its number.
type Piece struct {
	Channel Channel
	Output  bool // the text of an output block
	Block   int  // the block's number, 0 outside
	Segment int  // the segment's number, from 0
	Offset  int  // of the first byte in the raw reply
	// Bytes are the piece's bytes, valid until the next call on the Splitter.
	Bytes []byte
}

// A Grammar is a compiled [Dialect]. It is safe for concurrent use.
type Grammar struct{ d Dialect }

// Compile checks a dialect and makes it readable. The error names the field.
func Compile(d Dialect) (*Grammar, error) { return &Grammar{d: d}, nil }

// Dialect returns the dialect with its defaults filled in.
func (g *Grammar) Dialect() Dialect { return g.d }

// Options are the parameters of a reading that stand beside the dialect.
type Options struct {
	Start   Start // if empty, the dialect's
	MaxHold int   // bytes; if zero, the dialect's; if negative, no bound
}

// Parse reads a reply that is whole at hand, with no bound on a hold.
// An unknown Inside name is an error.
func (g *Grammar) Parse(raw string, start Start, end End) (*Reply, error) { panic("todo") }

// NewSplitter returns a splitter for one reply.
func (g *Grammar) NewSplitter(o Options) (*Splitter, error) { panic("todo") }

// A Splitter reads a reply as it streams in.
type Splitter struct{}

// Feed reads a delta and returns what it settled, valid until the next call.
func (s *Splitter) Feed(delta []byte) []Piece { panic("todo") }

// FeedString is Feed of a string.
func (s *Splitter) FeedString(delta string) []Piece { panic("todo") }

// Visible returns the bytes of the visible text that became certain in the last
// call of Feed or Close; joined they are Reply.Visible. Valid until the next call.
func (s *Splitter) Visible() []byte { panic("todo") }

// Close ends the reply and returns the rest of its pieces.
func (s *Splitter) Close(end End) []Piece { panic("todo") }

// Diagnostics returns what was found so far, in the order of the offsets.
func (s *Splitter) Diagnostics() []Diagnostic { panic("todo") }

// Reset makes the splitter ready for the next reply, read with the same options.
func (s *Splitter) Reset() { panic("todo") }

// Held returns the number of bytes read but not yet settled.
func (s *Splitter) Held() int { panic("todo") }

// Visible, Reasoning, Narration: the views of G13.
func (r *Reply) Visible() string     { panic("todo") }
func (r *Reply) Reasoning() []string { panic("todo") }
func (r *Reply) Narration() []string { panic("todo") }
