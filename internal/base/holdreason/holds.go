// Package holdreason says why a splitter holds bytes, for a page that explains it.
package holdreason

// A Reason is why bytes that were read are not settled.
type Reason string

// The reasons. Each names what the bytes may turn out to be, or what decides it.
const (
	Marker Reason = "marker" // they may begin a marker
	Quote  Reason = "quote"  // a marker; the byte after it may show that it is quoted
	Start  Reason = "start"  // a close without an opener may come, which makes them a thought
	Output Reason = "output" // an output block may come, which sets them aside
	Pad    Reason = "pad"    // an output block in a scratch pad may be the answer
	Line   Reason = "line"   // a close counts if it is alone on its line
	Family Reason = "family" // the next marker of the family decides whether a close ends the block
	Opener Reason = "opener" // an opener in the middle of a line counts if its block closes
	Code   Reason = "code"   // a marker may stand in code, which a back-tick or a fence would end
	Stray  Reason = "stray"  // a close that closes nothing may be text
	Tool   Reason = "tool"   // what follows decides whether a tool call ends the thought
	Blank  Reason = "blank"  // a blank line would end the narration
)

// Of returns why a *sotto.Splitter holds bytes after a delta, or "" if it holds
// none. Package sotto sets it.
var Of func(splitter any) Reason
