// Package gemini is the codec of Google's Gemini API, generateContent and
// streamGenerateContent, as Google's two services and compatible servers implement
// it.
//
// A reply has candidates, and the content of each is a list of parts. A part with
// "thought": true is reasoning. Every event of a stream is an object like a whole
// reply, and its parts continue those before it. If the text of a part turns out to
// hold reasoning, the part becomes several, in the order of the reading. A call of a
// tool that the model wrote into it may be one of them. Nothing else of an event
// changes.
//
// # Parts of the upstream
//
//	a text         read; left out while nothing of it is certain
//	a thought      as it came
//	a call         as it came, with its signature
//	any other      as it came: images, code, results, what is not known
//
// In a reply that is written from events, parts keep their order, and what shown.go names of
// them. Where reasoning is hidden, thoughts are left out.
//
// # Signatures
//
// Google signs its reasoning in a member of a part, thoughtSignature, and wants the
// part back with it. A part that has one is never left out. It loses its text
// instead, as Google itself sends such parts. No signature is ever made up: a thought
// that is made here has none, and neither have most of Google's. So a thought without
// one is taken for Sotto's own only if the upstream is known to send reasoning in the
// text (see package history).
//
// # Streams
//
// With alt=sse a stream has server-sent events, without names and without an event
// that says that it is over. Otherwise it is one JSON array of the same objects, which
// [wire.Carrier] describes. Google's clients take a comment for an error, so the remarks
// on a reply are not in its stream, and a keep-alive is the beginning of the next event:
// its field name, and spaces before the JSON. In an array it is an object without
// candidates.
//
// A stream without a finishReason, and without a reason why the prompt was blocked,
// is one that broke off. It ends with an error object in place of a reply.
package gemini
