// Package cohere is the codec of Cohere's chat API, version 2.
//
// A reply of this API is a list of parts, of text and of thinking. If a text turns out
// to hold reasoning, its part becomes several, in the order of the reading, and the
// indices of the parts after it shift, as do those that citations name. The positions
// of citations in their text stay as they came.
//
// A model that calls tools writes a plan first, in a member of its own (tool_plan).
// Cohere describes it as a chain of thought, so it is reasoning here: it stays in its
// member, is hidden where reasoning is hidden, and goes into the text where the client
// wants reasoning there.
//
// Parts of thinking have no signature. One that was made here looks like one of the
// provider's, so it is taken back only if the upstream is known to write its reasoning
// into the text.
//
// If a stream breaks, it ends with the held text, the end of the open part, and the end
// of a message whose reason is an error.
package cohere
