// Package bedrock reads and writes the streams of Amazon Bedrock's runtime API: the
// binary form application/vnd.amazon.eventstream.
package bedrock
