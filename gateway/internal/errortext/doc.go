// Package errortext takes tagged thoughts out of the texts of a provider's error.
//
// A server that fails on a reply may quote it: "Failed to parse input at pos 0:
// <think>…". Nobody knows where in the reply such a quotation begins and ends, so a text
// is read from an unknown start to an unknown end. A thought that is not closed goes to
// the end of the text, and a close without an opener makes all that comes before it a
// thought.
//
// A quotation is often escaped, for example as JSON in a string of JSON. So each text is
// read again with its escapes undone, layer by layer, and what is a thought there is cut
// out of the text as it came. A text without a thought stays byte for byte.
package errortext
