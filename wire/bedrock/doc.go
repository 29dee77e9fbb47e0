// Package bedrock is the codec of the Converse API of Amazon Bedrock's runtime:
// converse, and converse-stream with its binary form application/vnd.amazon.eventstream.
//
// A reply is a list of blocks. An object's one member says what a block is: text,
// reasoningContent, toolUse. In a stream, text and reasoning have no start: the first
// piece with a new index begins the block. If a text turns out to hold reasoning, its
// block becomes several, in the order of the reading, and the indices of the blocks
// after it shift.
//
// Reasoning is signed by some models and not by others. A block without a signature
// looks like one that was made here, so it is taken back only if the upstream is known
// to write its reasoning into the text, or if its model signs all its reasoning.
//
// The stream is read as server-sent events, whose names are those of its messages: see
// [wire.Carrier]. Where a reply is written from events, a message never passes as it
// came, because it may have further headers. A stream that breaks ends with the
// held text and the exception modelStreamErrorException. A keep-alive is an event that
// clients do not know, and ignore.
//
// Requests with a signature (AWS Signature Version 4) are refused: it covers the host
// and the body. Clients use API keys.
package bedrock
